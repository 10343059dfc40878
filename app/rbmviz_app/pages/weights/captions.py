"""Captions of the Weights page: how few samples hold the weight, and whether even weights can be trusted."""

from collections.abc import Iterator

from rbmviz.session import WeightSetup, WeightSnapshot
from rbmviz_app.captions import Named, two_digits

FEWEST_BATCHES = 5
"""Batches of each panel before anything is said."""

HALF, TOO_LOW = 0.5, 1.0
"""Share of a batch that is most of it, and nats by which log Z comes out too low if samples are missing."""


def captions(panels: Named, setup: WeightSetup) -> Iterator[str]:
    """Yield what may be said about weights; the largest batch that one sample dominates says most."""
    if any(shown.n < FEWEST_BATCHES or shown.batch is None for _, shown in panels):
        return
    for _, shown in sorted(panels, key=lambda panel: -len(panel[1].batch.v)):
        if shown.max_share >= HALF:
            # Bounds: the numbers below change with every batch, this sentence more seldom.
            size = len(shown.batch.v)
            said = f"fewer than {int(shown.ess_share * size) + 1} effective samples in {size:,}"
            yield f"On average one of {size:,} samples holds most of the weight: {said}."
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
    size = len(shown.batch.v) if shown.batch is not None else 0
    return f"{two_digits(shown.ess_share * size)} effective samples in {size:,}"
