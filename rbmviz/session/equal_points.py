"""Runs compared at equal points: after equally many samples or updates, sweeps, or seconds of computing.

Whatever a run makes, its snapshots say up to which point its scores are known and what they were at a point
that it has passed (``Scored``). The common point of several runs is the last of POINTS that all have passed.
A sampler's run counts from the last turn of a knob on: runs that were not turned are taken at their own
beginning, after equally many samples.
A point that a sampler has passed has the same scores for good; of a trainer they may move a little, when its
curve is thinned out.
"""

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from rbmviz.metrics.isl import CURVE_COUNTS
from rbmviz.session.snapshot import FEWEST_SCORED, Status

CostUnit = Literal["samples", "updates", "sweeps", "seconds"]
"""What runs are compared at equal numbers of."""

SAMPLER_UNITS: tuple[CostUnit, ...] = ("samples", "sweeps", "seconds")
TRAINER_UNITS: tuple[CostUnit, ...] = ("updates", "sweeps", "seconds")
"""What samplers, and what trainers, can be compared at equal numbers of."""

_SWEEPS = np.unique(np.rint(np.geomspace(1, 1e12, 193)).astype(np.int64)).tolist()

POINTS: Mapping[CostUnit, Sequence[float]] = {
    "samples": sorted({*CURVE_COUNTS.tolist(), FEWEST_SCORED}),
    "updates": CURVE_COUNTS.tolist(),
    "sweeps": _SWEEPS,
    # Two digits each, from 0.1 ms to three hours.
    "seconds": [float(f"{10 ** (i / 16 - 4):.1e}") for i in range(129)],
}
"""The points at which runs can be compared, some 15 % apart."""

BEHIND = 0.8
"""The last panel is behind if it has spent less than this share of what the first has."""


class Scored(Protocol):
    """A snapshot of a run whose scores can be told at a point that it has passed."""

    @property
    def status(self) -> Status: ...  # noqa: D102

    @property
    def too_few(self) -> bool:
        """Whether a knob was turned so lately that the run has no scores: nobody waits for it."""

    @property
    def ended(self) -> bool:
        """Whether the run has made all of its steps and keeps its last scores: nobody waits for it."""

    def passed(self, cost_unit: CostUnit) -> float | None:
        """Return up to which number its scores are known; None if the run spends nothing of this kind."""

    def scores_at(self, cost_unit: CostUnit, point: float) -> Any:
        """Return its scores at a point; None if it has not passed it, or had none by then."""

    def at_common_point(self, compared: "Compared") -> Self:
        """Return the snapshot with the scores that it had at the common point."""


def common_point(runs: Iterable[Scored], cost_unit: CostUnit) -> float | None:
    """Return the last of POINTS that all runs have passed; None if there is none.

    Runs that spend nothing of this kind do not count.
    """
    reached = [passed for shown in runs if (passed := shown.passed(cost_unit)) is not None]
    i = bisect.bisect_right(POINTS[cost_unit], min(reached, default=0))
    return POINTS[cost_unit][i - 1] if i else None


class Compared(NamedTuple):
    """Where one panel of a comparison stands.

    Parameters
    ----------
    cost_unit : CostUnit
    point : float or None
        The common point; None before there is one.
    scores : Any
        The panel's scores there, of the kind of its run; None: it has none there.
    passed : float or None
        How far the panel's own scores reach; None if its run spends nothing of this kind: it makes no sweeps.
    most_passed, least_passed : float
        How far the scores of the panel reach that is ahead of all others, and those of the panel that holds
        the common point back.
    seconds_left : float
        If the panel makes up for a late start: in about how many seconds it will count for the common point;
        0: it counts.
    failed : bool
        Whether its run has failed: it goes no further, and holds nothing back.
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
        """Whether the panel makes up for a late start, and does not count for the common point yet."""
        return self.seconds_left > 0

    @property
    def behind(self) -> bool:
        """Whether the panel is far behind the first one, and holds the common point back."""
        if self.passed is None:
            return False
        return self.passed < BEHIND * self.most_passed and self.passed * BEHIND <= self.least_passed

    @property
    def held_back(self) -> bool:
        """Whether another panel, far behind this one, holds the common point back."""
        return self.passed is not None and not self.catching_up and self.passed * BEHIND > self.least_passed


S = TypeVar("S", bound=Scored)


def compare(
    runs: Sequence[tuple[Scored, float]], cost_unit: CostUnit, point: float | None = None
) -> list[Compared]:
    """Compare runs at the last point that all of them have passed, except those that are catching up.

    Parameters
    ----------
    runs : sequence of (snapshot, seconds_left)
        See ``Compared``. A run that has failed is shown at the common point if it got so far, and does not
        hold it back.
    cost_unit : CostUnit
    point : float, optional
        Compare there, if these runs have passed it; None (the default): at the last such point.
    """
    counted = [
        shown
        for shown, seconds_left in runs
        if not (seconds_left or shown.too_few or shown.status == "failed")
    ]
    counted = [shown for shown in counted if not shown.ended] or counted
    reached = [passed for shown in counted if (passed := shown.passed(cost_unit)) is not None] or [0.0]
    if point is None or min(reached) < point:
        point = common_point(counted, cost_unit)
    return [
        Compared(
            cost_unit,
            point,
            None if point is None else shown.scores_at(cost_unit, point),
            shown.passed(cost_unit),
            max(reached),
            min(reached),
            seconds_left,
            shown.status == "failed",
        )
        for shown, seconds_left in runs
    ]


def at_common_point(
    runs: Sequence[tuple[S, float]], cost_unit: CostUnit, point: float | None = None
) -> list[S]:
    """Return the snapshots with the scores that each run had at the common point; see ``compare``."""
    return [
        shown.at_common_point(compared)
        for (shown, _), compared in zip(runs, compare(runs, cost_unit, point), strict=True)
    ]
