"""Captions of the Train page: who still rises, and who has fallen below its best."""

import statistics
from collections.abc import Iterator

import numpy as np

from rbmviz.session import TrainingSetup
from rbmviz.session.training import Likelihood
from rbmviz_app.captions import Named, all_of

LEAST_CHANGE, SURE_ERRORS = 0.05, 3
"""Nats, and standard errors of an estimate, from which on a curve has fallen or risen."""

SMOOTHED, FEWEST_SCORES = 3, 5
"""Likelihoods whose median counts, because single ones jump, and of each panel before anything is said."""


def captions(panels: Named, setup: TrainingSetup) -> Iterator[str]:
    """Yield what may be said about trainers."""
    scored = {name: [x for x in shown.likelihoods if np.isfinite(x.train).all()] for name, shown in panels}
    if not scored or min(map(len, scored.values())) < FEWEST_SCORES:
        return
    climbs = {name: _climb(points) for name, points in scored.items()}
    best = max(climbs, key=lambda name: climbs[name][0])
    fallen = [name for name, (_, below, _) in climbs.items() if below]
    rising = [name for name, (_, _, rises) in climbs.items() if rises]
    if fallen:
        said = "have fallen below their best" if len(fallen) > 1 else "has fallen below its best"
        rest = (
            f"{max(rising, key=lambda name: climbs[name][0])} still rises" if rising else f"{best} is highest"
        )
        yield f"{_joined(fallen)} {said}; {rest}."
    if len(rising) == len(climbs):
        yield f"{all_of(rising)} still rise{'s' * (len(rising) == 1)}."
    if rising:
        yield f"{_joined(rising)} still rise{'s' * (len(rising) == 1)}; no other does."
    yield f"No curve rises any more; {best} is highest."


def _climb(likelihoods: list[Likelihood]) -> tuple[float, float, bool]:
    """Return the newest log-likelihood, how far it is below the best (0: hardly), and whether it still rises.

    It rises if it is higher than after half of the updates.
    """
    means = [float(point.train.mean()) for point in likelihoods]
    values = [statistics.median(means[i : i + SMOOTHED]) for i in range(len(means) - SMOOTHED + 1)]
    points = likelihoods[SMOOTHED - 1 :]
    halfway = next(
        y for point, y in zip(points, values, strict=True) if 2 * point.update >= points[-1].update
    )
    least = max(LEAST_CHANGE, SURE_ERRORS * float(points[-1].std_error.max()))
    below = max(values) - values[-1]
    return values[-1], below if below > least else 0.0, below <= least < values[-1] - halfway


def _joined(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
