"""Captions of the Weights page: how few samples hold the weight, and whether even weights can be trusted."""

from collections.abc import Iterator

from rbmviz.session import WeightSetup, WeightSnapshot
from rbmviz_app.captions import Named

FEWEST_BATCHES = 5
"""Batches of each panel before anything is said."""

HALF = 0.5
"""Share of the weight that is too much for one sample, and effective share of even weights."""

TOO_LOW = 1.0
"""Nats by which an estimate of log Z must be too low for samples to be missing."""


def captions(panels: Named, setup: WeightSetup) -> Iterator[str]:
    """Yield what may be said about weights; the largest batch that one sample dominates says most."""
    if any(shown.n < FEWEST_BATCHES or shown.batch is None for _, shown in panels):
        return
    for _, shown in sorted(panels, key=lambda panel: -len(panel[1].batch.v)):
        if shown.max_share >= HALF:
            said = f"holds {shown.max_share:.0%} of the weight: {_effective(shown)}"
            yield f"On average one of {len(shown.batch.v):,} samples {said}."
    for name, shown in panels:
        if shown.ess_share >= HALF and shown.reference is not None and shown.newest is not None:
            low = shown.reference.log_z - shown.newest.log_z
            if low > TOO_LOW:
                said = f"even weights, yet log Z is {low:.1f} nats too low"
                yield f"{name}: {said}. Rare heavy samples are missing."
    if panels:
        name, shown = min(panels, key=lambda panel: panel[1].ess_share)
        yield f"The least even weights: {_effective(shown)} ({name})."


def _effective(shown: WeightSnapshot) -> str:
    assert shown.batch is not None
    size = len(shown.batch.v)
    effective = shown.ess_share * size
    return (
        f"{effective:.2g} effective samples in {size:,}"
        if effective < 10
        else f"{effective:,.0f} effective samples in {size:,}"
    )
