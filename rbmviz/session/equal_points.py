"""Runs of samplers compared at equal points: after equally many samples, sweeps or seconds of computing.

A run keeps its scores at about 125 numbers of samples, 14 % apart, each with its sweeps and its seconds. A
point of sweeps or seconds lies between two of these: its sample number is that of the last sample that was
complete by then, and its scores are read off between the two neighbours, linearly in the logarithm of the
number of samples. So all three kinds of points cost one computation of the scores, and a point that a run has
passed has the same scores for good.
"""

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rbmviz.metrics import paired_error
from rbmviz.metrics.isl import CURVE_COUNTS
from rbmviz.session.sampling import SamplingSnapshot
from rbmviz.session.snapshot import Counts, Point, Spent

CostUnit = Literal["samples", "sweeps", "seconds"]
"""What runs are compared at equal numbers of; a field of ``Spent``."""

COST_UNITS: tuple[CostUnit, ...] = get_args(CostUnit)

POINTS: Mapping[CostUnit, Sequence[float]] = {
    "samples": CURVE_COUNTS.tolist(),
    "sweeps": np.unique(np.rint(np.geomspace(1, 1e9, 145)).astype(np.int64)).tolist(),
    # Two digits each, from 0.1 ms to three hours.
    "seconds": [float(f"{10 ** (i / 16 - 4):.1e}") for i in range(129)],
}
"""The points at which runs can be compared, about 125 in what a run reaches in ten minutes."""

SAMPLE_ROUNDING = 1e-9
"""Share of a sample that rounding may take from a sum of sweeps or seconds."""

BEHIND = 0.8
"""The last panel is behind if it has spent less than this share of what the first has."""


class ScoresAtPoint(NamedTuple):
    """The scores of one run at a point: those of the samples that were complete by then."""

    isl: Point
    counts: Counts


def _between(a: Any, b: Any, weight: Any) -> Any:
    return a + weight * (b - a)


def passed(shown: SamplingSnapshot, cost_unit: CostUnit) -> float:
    """Return up to which number of samples, sweeps or seconds the scores of a run are known."""
    return getattr(shown.curve[len(shown.counts) - 1].spent, cost_unit) if shown.counts else 0


def scores_at(shown: SamplingSnapshot, cost_unit: CostUnit, point: float) -> ScoresAtPoint | None:
    """Return the scores of a run at a point; None if it has not passed it, or had no sample by then."""
    known = len(shown.counts)
    i = bisect.bisect_right(shown.curve, point, hi=known, key=lambda one: getattr(one.spent, cost_unit)) - 1
    if i < 0 or point > passed(shown, cost_unit):
        return None
    a, counts = shown.curve[i], shown.counts[i]
    if point == getattr(a.spent, cost_unit):
        return ScoresAtPoint(a, counts)
    b, counts_after = shown.curve[i + 1], shown.counts[i + 1]
    spent = _spent_at(shown, a.spent, b.spent, cost_unit, point)
    weight = math.log(spent.samples / a.n) / math.log(b.n / a.n)

    def between(name: str, first: Any = a, second: Any = b) -> Any:
        return _between(getattr(first, name), getattr(second, name), weight)

    shares = {name: between(name, counts, counts_after) for name in ("class_coverage", "blank", "spurious")}
    switches = (
        counts.switches if counts.switches is None else round(between("switches", counts, counts_after))
    )
    return ScoresAtPoint(
        Point(spent, between("isl"), between("std_error"), a.beta, between("groups")),
        counts._replace(n=spent.samples, switches=switches, **shares),
    )


def _spent_at(shown: SamplingSnapshot, begin: Spent, end: Spent, cost_unit: CostUnit, point: float) -> Spent:
    """Return what was spent on the samples that were complete at a point between two points of the curve.

    A sample takes equally many sweeps and seconds from one of the two to the other; between them lies at
    most one change of knobs, of which both are known.
    """
    i = bisect.bisect_right(shown.changes, begin.samples, key=lambda change: change.spent.samples)
    if i < len(shown.changes) and shown.changes[i].spent.samples < end.samples:
        turned = shown.changes[i].spent
        if getattr(turned, cost_unit) <= point:
            begin = turned
        else:
            end = turned
    first, last = getattr(begin, cost_unit), getattr(end, cost_unit)
    made = (point - first) / (last - first) * (end.samples - begin.samples)
    samples = begin.samples + int(made + SAMPLE_ROUNDING)
    share = (samples - begin.samples) / (end.samples - begin.samples)
    return Spent(
        samples,
        round(_between(begin.sweeps, end.sweeps, share)),
        _between(begin.seconds, end.seconds, share),
    )


def common_point(runs: Iterable[SamplingSnapshot], cost_unit: CostUnit) -> float | None:
    """Return the last of POINTS that all runs have passed; None if there is none."""
    least = min((passed(shown, cost_unit) for shown in runs), default=0)
    i = bisect.bisect_right(POINTS[cost_unit], least)
    return POINTS[cost_unit][i - 1] if i else None


class Compared(NamedTuple):
    """Where one panel of a comparison stands.

    Parameters
    ----------
    cost_unit : CostUnit
    point : float or None
        The common point; None before there is one.
    scores : ScoresAtPoint or None
        The panel's scores there.
    passed : float
        How far the panel's own scores reach.
    most_passed, least_passed : float
        How far the scores of the panel reach that is ahead of all others, and those of the panel that holds
        the common point back.
    catching_up : bool
        Whether the panel makes up for a late start, and does not count for the common point yet.
    """

    cost_unit: CostUnit
    point: float | None
    scores: ScoresAtPoint | None
    passed: float
    most_passed: float
    least_passed: float
    catching_up: bool

    @property
    def behind(self) -> bool:
        """Whether the panel is far behind the first one, and holds the common point back."""
        return self.passed < BEHIND * self.most_passed and self.passed * BEHIND <= self.least_passed

    @property
    def held_back(self) -> bool:
        """Whether another panel, far behind this one, holds the common point back."""
        return not self.catching_up and self.passed * BEHIND > self.least_passed


def compare(
    runs: Sequence[tuple[SamplingSnapshot, bool]], cost_unit: CostUnit, point: float | None = None
) -> list[Compared]:
    """Compare runs at the last point that all of them have passed, except those that are catching up.

    Parameters
    ----------
    runs : sequence of (snapshot, catching_up)
        A run that has failed is shown at the common point if it got so far, and does not hold it back.
    cost_unit : "samples", "sweeps" or "seconds"
    point : float, optional
        Compare there, if these runs have passed it; None (the default): at the last such point.
    """
    counted = [shown for shown, catching_up in runs if not catching_up and shown.status != "failed"]
    if point is None or any(passed(shown, cost_unit) < point for shown in counted):
        point = common_point(counted, cost_unit)
    reached = [passed(shown, cost_unit) for shown in counted] or [0.0]
    return [
        Compared(
            cost_unit,
            point,
            None if point is None else scores_at(shown, cost_unit, point),
            passed(shown, cost_unit),
            max(reached),
            min(reached),
            catching_up,
        )
        for shown, catching_up in runs
    ]


def at_common_point(
    runs: Sequence[tuple[SamplingSnapshot, bool]], cost_unit: CostUnit, point: float | None = None
) -> list[SamplingSnapshot]:
    """Return the snapshots with the scores that each run had at the common point; see ``compare``."""
    return [
        replace(shown, compared=compared, **_scores_of(compared.scores))
        for (shown, _), compared in zip(runs, compare(runs, cost_unit, point), strict=True)
    ]


def _scores_of(scores: ScoresAtPoint | None) -> dict[str, Any]:
    names = [name for name in Counts._fields if name != "n"]
    if scores is None:
        return {"newest": None, **dict.fromkeys(names)}
    return {"newest": scores.isl, **{name: getattr(scores.counts, name) for name in names}}


class Difference(NamedTuple):
    """ISL of a run minus that of another at a point, in nats, with the standard error of the difference.

    samples, other_samples: how many the two had made by then.
    """

    point: float
    samples: int
    other_samples: int
    difference: float
    std_error: float


def best(compared: Sequence[Compared]) -> int | None:
    """Return the index of the panel with the highest ISL at the common point; None if there is none."""
    known = [(one.scores.isl.isl, -i) for i, one in enumerate(compared) if one.scores is not None]
    return -max(known)[1] if known else None


def differences(shown: SamplingSnapshot, other: SamplingSnapshot, cost_unit: CostUnit) -> list[Difference]:
    """Return the ISL of a run minus that of another at all points that both have passed."""
    end = min(passed(shown, cost_unit), passed(other, cost_unit))
    points = np.array(POINTS[cost_unit][: bisect.bisect_right(POINTS[cost_unit], end)])
    if not len(points):
        return []
    (n, isl, groups), (n_other, isl_other, groups_other) = (
        _isl_at(run, cost_unit, points) for run in (shown, other)
    )
    both, errors = (n > 0) & (n_other > 0), paired_error(groups, groups_other)
    found = zip(points[both], n[both], n_other[both], (isl - isl_other)[both], errors[both], strict=True)
    return [Difference(*one) for one in found]


def _isl_at(
    shown: SamplingSnapshot, cost_unit: CostUnit, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples (0: none), ISL, and mean log densities of the groups at points that a run has passed.

    What ``scores_at`` says of each point, for all at once.
    """
    curve = shown.curve[: len(shown.counts)]
    reached = np.array([getattr(point.spent, cost_unit) for point in curve])
    at = np.searchsorted(reached, points, side="right") - 1
    spent = sorted([point.spent for point in curve] + [change.spent for change in shown.changes])
    known = np.array([(one.samples, getattr(one, cost_unit)) for one in spent])
    n = np.where(at < 0, 0, np.floor(np.interp(points, known[:, 1], known[:, 0]) + SAMPLE_ROUNDING))
    ns = np.array([point.n for point in curve])
    a, b = np.maximum(at, 0), np.minimum(at + 1, len(curve) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where((at < 0) | (a == b), 0, np.log(n / ns[a]) / np.log(ns[b] / ns[a]))
    isl, groups = np.array([point.isl for point in curve]), np.array([point.groups for point in curve])
    return (
        n.astype(np.int64),
        _between(isl[a], isl[b], weights),
        _between(groups[a], groups[b], weights[:, None]),
    )
