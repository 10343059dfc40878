"""Captions of the landscape: which chain leaves its valley, and whose visits are right."""

from collections.abc import Iterator

from rbmviz.session import LandscapeSetup
from rbmviz_app.captions import Named, at_least

STAYED_AFTER = 100
"""Samples, five seconds at the usual speed, before a chain that has stayed in its valley is called stuck."""


def captions(panels: Named, setup: LandscapeSetup) -> Iterator[str]:
    """Yield what may be said about walks."""
    if not panels or min(shown.n for _, shown in panels) < STAYED_AFTER:
        return
    name, least = min(panels, key=lambda panel: panel[1].crossings)
    other, most = max(panels, key=lambda panel: panel[1].crossings)
    if not most.crossings:
        yield f"No chain has left its valley in {at_least(most.n)} samples."
    if not least.crossings:
        said = f"{name} has not left its valley in {at_least(least.n)} samples"
        yield f"{said}; {other} has crossed {most.crossings:,} time{'s' * (most.crossings != 1)}."
    best, shown = min(panels, key=lambda panel: panel[1].curve[-1].visits)
    said = f"{other} has crossed most often, {most.crossings:,} times"
    whose = ", and its visits" if best == other else f". The visits of {best}"
    yield f"{said}{whose} are closest to the model: off by {shown.curve[-1].visits:.1g}."
