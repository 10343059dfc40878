"""Scores of a sampler's run, ISL and counts, at any point passed since the last turn of a knob.

A run stores its scores at the numbers of samples in POINTS, 14 % apart, with the sweeps and seconds of each.
A point in sweeps or seconds lies between two of these. Only complete samples count there, and the scores are
interpolated linearly in the logarithm of the number of samples. Thus the scores are computed only once
for all three units.
"""

import bisect
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from rbmviz.metrics import paired_error
from rbmviz.session.equal_points import POINTS, CostUnit
from rbmviz.session.snapshot import Counts, Point, Spent

SAMPLE_ROUNDING = 1e-9
"""Share of a sample by which rounding may lower a number computed from sweeps or seconds."""


class ScoreCurve(Protocol):
    """The source of scores: the points of a curve, and the counts there (``SamplingSnapshot``)."""

    @property
    def curve(self) -> Sequence[Point]:
        """ISL and cost at each point."""

    @property
    def counts(self) -> Sequence[Counts]:
        """The other scores, at the points for which they are complete."""


class ScoresAtPoint(NamedTuple):
    """Scores of one run at a point, from the samples that were complete by then."""

    isl: Point
    counts: Counts


def _between(a: Any, b: Any, weight: Any) -> Any:
    return a + weight * (b - a)


def passed(run: ScoreCurve, cost_unit: CostUnit) -> float:
    """Return the number of samples, sweeps or seconds up to which the scores of a run are known."""
    return getattr(run.curve[len(run.counts) - 1].spent, cost_unit) if run.counts else 0


def scores_at(run: ScoreCurve, cost_unit: CostUnit, point: float) -> ScoresAtPoint | None:
    """Return the scores of a run at a point; None if the run has not passed it, or had no sample by then."""
    spent_on = operator.attrgetter(f"spent.{cost_unit}")
    i = bisect.bisect_right(run.curve, point, hi=len(run.counts), key=spent_on) - 1
    if i < 0 or point > passed(run, cost_unit):
        return None
    a, counts = run.curve[i], run.counts[i]
    if point == getattr(a.spent, cost_unit):
        return ScoresAtPoint(a, counts)
    b, counts_after = run.curve[i + 1], run.counts[i + 1]
    spent = _spent_at(a.spent, b.spent, cost_unit, point)
    weight = math.log(spent.samples / a.n) / math.log(b.n / a.n)

    def between(name: str, first: Any = a, second: Any = b) -> Any:
        return _between(getattr(first, name), getattr(second, name), weight)

    shares = {
        name: between(name, counts, counts_after) for name in ("class_coverage", "blank", "spurious", "ink")
    }
    switches = (
        counts.switches if counts.switches is None else round(between("switches", counts, counts_after))
    )
    return ScoresAtPoint(
        Point(spent, between("isl"), between("std_error"), a.beta, between("groups")),
        counts._replace(n=spent.samples, switches=switches, **shares),
    )


def _spent_at(begin: Spent, end: Spent, cost_unit: CostUnit, point: float) -> Spent:
    """Return the cost of the samples that were complete at a point between two points of the curve.

    Between the two, every sample costs the same sweeps and seconds, because no knob is turned.
    """
    first, last = getattr(begin, cost_unit), getattr(end, cost_unit)
    n_since = (point - first) / (last - first) * (end.samples - begin.samples)
    samples = begin.samples + int(n_since + SAMPLE_ROUNDING)
    share = (samples - begin.samples) / (end.samples - begin.samples)
    return Spent(
        samples,
        round(_between(begin.sweeps, end.sweeps, share)),
        _between(begin.seconds, end.seconds, share),
    )


class Difference(NamedTuple):
    """The difference in ISL between two runs at a point, in nats, with its standard error.

    samples, other_samples : number of samples of each run at that point
    """

    point: float
    samples: int
    other_samples: int
    difference: float
    std_error: float


def best(runs: Sequence[ScoreCurve], cost_unit: CostUnit, point: float) -> int | None:
    """Return the index of the run with the highest ISL at a point; None if none has passed it."""
    scores = [(at.isl.isl, -i) for i, run in enumerate(runs) if (at := scores_at(run, cost_unit, point))]
    return -max(scores)[1] if scores else None


def differences(run: ScoreCurve, other: ScoreCurve, cost_unit: CostUnit) -> list[Difference]:
    """Return the ISL of a run minus the ISL of another, at all points that both have passed."""
    end = min(passed(run, cost_unit), passed(other, cost_unit))
    points = np.array(POINTS[cost_unit][: bisect.bisect_right(POINTS[cost_unit], end)])
    if not len(points):
        return []
    (n, isl, groups), (n_other, isl_other, groups_other) = (
        _isl_at(curve, cost_unit, points) for curve in (run, other)
    )
    both, errors = (n > 0) & (n_other > 0), paired_error(groups, groups_other)
    rows = zip(points[both], n[both], n_other[both], (isl - isl_other)[both], errors[both], strict=True)
    return [Difference(*row) for row in rows]


def _isl_at(
    run: ScoreCurve, cost_unit: CostUnit, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples (0: none), ISL, and mean log densities of the groups at points that a run has passed.

    This is the vectorised form of ``scores_at``.
    """
    curve = run.curve[: len(run.counts)]
    reached = np.array([getattr(point.spent, cost_unit) for point in curve])
    at = np.searchsorted(reached, points, side="right") - 1
    ns = np.array([point.n for point in curve])
    n = np.where(at < 0, 0, np.floor(np.interp(points, reached, ns) + SAMPLE_ROUNDING))
    a, b = np.maximum(at, 0), np.minimum(at + 1, len(curve) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where((at < 0) | (a == b), 0, np.log(n / ns[a]) / np.log(ns[b] / ns[a]))
    isl, groups = np.array([point.isl for point in curve]), np.array([point.groups for point in curve])
    return (
        n.astype(np.int64),
        _between(isl[a], isl[b], weights),
        _between(groups[a], groups[b], weights[:, None]),
    )
