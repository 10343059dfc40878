"""Captions of the Train page: who still rises, and who has fallen below its best."""

import math
import statistics
from collections.abc import Iterator
from typing import NamedTuple

from rbmviz.session import TrainingSetup, TrainingSnapshot
from rbmviz_app.captions import Named, all_of

LEAST_CHANGE, ERRORS = 0.05, 3
"""Nats, and standard errors of an estimate, from which on a curve has fallen or risen."""

SMOOTHED = 3
"""Likelihoods of which the median counts, because single ones jump."""

FEWEST_POINTS = 5
"""Likelihoods of each panel before anything is said."""


class Climb(NamedTuple):
    """A trainer's curve: its newest log-likelihood, and how far it is below its best (0: hardly at all).

    It rises if it is higher than after half of the updates.
    """

    name: str
    newest: float
    below: float
    rises: bool


def captions(panels: Named, setup: TrainingSetup) -> Iterator[str]:
    """Yield what may be said about trainers."""
    if not panels or min(len(shown.likelihoods) for _, shown in panels) < FEWEST_POINTS:
        return
    climbs = [_climb(name, shown) for name, shown in panels]
    best = max(climbs, key=lambda each: each.newest)
    fallen, rising = [x for x in climbs if x.below], [x for x in climbs if x.rises]
    if fallen:
        by, one = max(each.below for each in fallen), len(fallen) == 1
        amount = f"{by:.1g}".lstrip("0") if by < 1 else f"{by:.0f}"
        said = (
            f"has fallen {amount} nats below its best"
            if one
            else f"have fallen up to {amount} nats below their best"
        )
        highest = max(rising, key=lambda each: each.newest, default=None)
        rest = f"{highest.name} still rises" if highest else f"{best.name} is highest"
        yield f"{_joined(fallen)} {said}; {rest}."
    if len(rising) == len(climbs):
        yield f"{all_of([each.name for each in climbs])} still rise{'s' * (len(climbs) == 1)}."
    if rising:
        yield f"{_joined(rising)} still rise{'s' * (len(rising) == 1)}; no other does."
    yield f"No curve rises any more; {best.name} is highest."


def _climb(name: str, snapshot: TrainingSnapshot) -> Climb:
    means = [float(point.train.mean()) for point in snapshot.likelihoods]
    means = [mean if math.isfinite(mean) else -math.inf for mean in means]
    values = [statistics.median(means[i : i + SMOOTHED]) for i in range(len(means) - SMOOTHED + 1)]
    points = snapshot.likelihoods[SMOOTHED - 1 :]
    newest, last, best = values[-1], points[-1], max(values)
    halfway = next(y for point, y in zip(points, values, strict=True) if 2 * point.update >= last.update)
    least = max(LEAST_CHANGE, ERRORS * float(last.std_error.max()))
    below = best - newest if best - newest > least else 0.0
    return Climb(name, newest, below, not below and newest - halfway > least)


def _joined(climbs: list[Climb]) -> str:
    *most, last = (climb.name for climb in climbs)
    return f"{', '.join(most)} and {last}" if most else last
