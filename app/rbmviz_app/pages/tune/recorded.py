"""Sweeps that the page shows at once: computed in advance by ``.ci/record-sweep``, and shipped."""

import functools
from pathlib import Path

from rbmviz.sweeps import Store, SweepPlan

RECORDINGS = Path(__file__).parent / "recordings"


@functools.cache
def recorded() -> list[tuple[SweepPlan, Store]]:
    """Return the recorded sweeps with their plans."""
    stores = [Store(folder) for folder in sorted(RECORDINGS.iterdir()) if folder.is_dir()]
    return [(store.plan(), store) for store in stores]


def recording_of(plan: SweepPlan | None) -> Store | None:
    """Return the recording of a plan; None if there is none."""
    return next((store for known, store in recorded() if known == plan), None)
