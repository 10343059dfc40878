"""Compare runs at equal points: after equal numbers of samples, updates, sweeps, or seconds of computing.

A snapshot gives the last point with known scores, and the scores at earlier points.
The common point of several runs is the last of POINTS that all have passed.
A sampler's counts start at the last turn of a knob or, without turns, at the start of the run. A turned run
is shown at its own last point, so that the others keep their numbers; its difference to another is taken at
equal points nevertheless (``isl_points.differences``).
A sampler's scores at a passed point never change; a trainer's may change a little when its curve is thinned.
"""

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from rbmviz.metrics import effort
from rbmviz.session.snapshot import FEWEST_SCORED, Snapshot

CostUnit = effort.Unit
"""Unit of comparison; runs are compared after equal numbers of these units."""

SAMPLER_UNITS: tuple[CostUnit, ...] = ("samples", "sweeps", "seconds")
TRAINER_UNITS: tuple[CostUnit, ...] = ("updates", "sweeps", "seconds")
"""Units for comparing samplers, and for comparing trainers."""

POINTS: Mapping[CostUnit, Sequence[float]] = {
    **effort.EFFORT_POINTS,
    "samples": sorted({*effort.EFFORT_POINTS["samples"], FEWEST_SCORED}),
}
"""Points at which runs can be compared, about 15 % apart."""

BEHIND = 0.8
"""A panel is behind if it has spent less than this share of the cost of the panel furthest ahead."""


def common_point(runs: Iterable[Snapshot], cost_unit: CostUnit) -> float | None:
    """Return the last of POINTS that all runs have passed; None if there is none.

    Runs that do not count this unit are ignored.
    """
    reached = [passed for snapshot in runs if (passed := snapshot.passed(cost_unit)) is not None]
    i = bisect.bisect_right(POINTS[cost_unit], min(reached, default=0))
    return POINTS[cost_unit][i - 1] if i else None


class Compared(NamedTuple):
    """One panel's progress in a race.

    point : the common point, or the last point of a turned run; None before there is one
    scores : scores of the panel's run at that point; None if there are none
    passed : the last point at which the panel's own scores are known; None if its run does not count this
        unit
    most_passed, least_passed : ``passed`` of the panel furthest ahead, and of the panel that holds the common
        point back
    seconds_left : approximate seconds until a panel that started late counts towards the common point; 0 if
        it already counts
    failed : whether its run has failed; such a panel makes no progress and holds nothing back
    """

    cost_unit: CostUnit
    point: float | None
    scores: Any
    passed: float | None
    most_passed: float
    least_passed: float
    seconds_left: float
    failed: bool = False

    @property
    def catching_up(self) -> bool:
        """Whether the panel is catching up after a late start, and does not count yet."""
        return self.seconds_left > 0

    @property
    def behind(self) -> bool:
        """Whether the panel is far behind the fastest one, and holds the common point back."""
        if self.passed is None:
            return False
        return self.passed < BEHIND * self.most_passed and self.passed * BEHIND <= self.least_passed

    @property
    def held_back(self) -> bool:
        """Whether another panel, far behind this one, holds the common point back."""
        return self.passed is not None and not self.catching_up and self.passed * BEHIND > self.least_passed


S = TypeVar("S", bound=Snapshot)


def at_one_point(runs: Sequence[tuple[S, float]], cost_unit: CostUnit) -> list[S]:
    """Return the snapshots with their scores at the last point that all runs have passed.

    runs : sequence of (snapshot, seconds_left); see ``Compared``. Runs that are catching up do not count. A
        failed run is shown at the common point if it got that far, and does not hold it back; a turned run
        is shown at its own last point.
    """
    counted = [
        snapshot
        for snapshot, seconds_left in runs
        if not (seconds_left or snapshot.scored_from or snapshot.status == "failed")
    ]
    counted = [snapshot for snapshot in counted if not snapshot.ended] or counted
    reached = [passed for snapshot in counted if (passed := snapshot.passed(cost_unit)) is not None] or [0.0]
    most, least, common = max(reached), min(reached), common_point(counted, cost_unit)

    def compared(snapshot: S, seconds_left: float) -> Compared:
        alone = bool(snapshot.scored_from) and not seconds_left
        point = common_point([snapshot], cost_unit) if alone else common
        scores = None if point is None else snapshot.scores_at(cost_unit, point)
        passed = snapshot.passed(cost_unit)
        ends = (passed, passed) if alone and passed is not None else (most, least)
        return Compared(
            cost_unit, point, scores, passed, *ends, seconds_left, failed=snapshot.status == "failed"
        )

    return [snapshot.with_compared(compared(snapshot, seconds_left)) for snapshot, seconds_left in runs]
