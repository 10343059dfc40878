"""Captions of the Train page: who still rises, and who has fallen below its best."""

from collections.abc import Iterator

from rbmviz.session import TrainingSetup
from rbmviz.session.training import climb_of
from rbmviz_app.captions import Named, all_of


def captions(panels: Named, setup: TrainingSetup) -> Iterator[str]:
    """Yield what may be said about trainers."""
    climbs = {name: found for name, shown in panels if (found := climb_of(shown.likelihoods)) is not None}
    if not climbs or len(climbs) < len(panels):
        return
    best = max(climbs, key=lambda name: climbs[name][0])
    fallen = [name for name, (_, below, _) in climbs.items() if below]
    rising = [name for name, (_, _, rises) in climbs.items() if rises]
    if fallen:
        said = "have fallen below their best" if len(fallen) > 1 else "has fallen below its best"
        yield f"{_joined(fallen)} {said}; {best} is highest."
    if len(rising) == len(climbs):
        yield f"{all_of(rising)} still rise{'s' * (len(rising) == 1)}."
    if rising:
        yield f"{_joined(rising)} still rise{'s' * (len(rising) == 1)}; no other does."
    yield f"No curve rises any more; {best} is highest."


def _joined(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
