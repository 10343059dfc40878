"""Charts of the Train page: curves of trainers, with bands."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.charts import Chart, Rows, catalogue
from rbmviz.charts.ends import end_rows
from rbmviz.datasets import Dataset
from rbmviz.session import TrainingPlan, TrainingSetup, TrainingSnapshot
from rbmviz.session.equal_points import Compared, CostUnit
from rbmviz.session.training import Likelihood, Trace
from rbmviz.view.curves import cost_axis
from rbmviz_app.compared import Curve, common_rows, curves_of
from rbmviz_app.race import PageRace


def units_of(dataset: Dataset) -> str:
    """Return what the visible units of these data represent."""
    return "words" if dataset.vocabulary else "pixels"


def warm_start_text(plan: TrainingPlan) -> str:
    """Describe a training run's start: "", `` from CD at 1,200``, `` from mnist_cd1``, or `` resumed``."""
    if plan.warm_start is None:
        return " resumed" if plan.checkpoint else ""
    at = f" at {plan.warm_start.update:,}" if plan.warm_start.update else ""
    return f" from {plan.warm_start.path[-1][0]}{at}"


def curves_of_trainers(race: PageRace[TrainingSetup]) -> list[Curve]:
    """Return each panel's curve, without renewing the lease."""
    snapshots = [snapshot for _, snapshot in race.peek()]
    return curves_of(snapshots, race.slots, [warm_start_text(panel.plan) for panel in race.panels])


def named(curves: Sequence[Curve]) -> list[tuple[str, TrainingSnapshot]]:
    """Return the snapshots of panels by unique name."""
    return [(curve.name, curve.snapshot) for curve in curves]


TRAINING_COLUMNS = ("trainer", "update", "sweeps", "seconds", "value", "low", "high")
FIELDS: dict[CostUnit, str] = {"updates": "update", "sweeps": "sweeps", "seconds": "seconds"}
"""Column of x values for each unit in which trainers are compared."""


def likelihood_rows(named: Iterable[tuple[str, TrainingSnapshot]], yardstick: str) -> Rows:
    """Return all points of the log-likelihood curves, by one of YARDSTICKS, with mean and band."""
    return [
        _row(name, point, band)
        for name, snapshot in named
        for point in snapshot.likelihoods
        if all(map(math.isfinite, band := point.band(yardstick)))
    ]


def statistic_rows(named: Iterable[tuple[str, TrainingSnapshot]], statistic: str) -> Rows:
    """Return all points of the curves of one statistic, with the middle 95 % of the replicates."""
    return [
        _row(name, point, band)
        for name, snapshot in named
        for point in snapshot.traces
        if all(map(math.isfinite, band := point.band(statistic)))
    ]


def _row(name: str, point: Likelihood | Trace, band: tuple[float, float, float]) -> dict[str, Any]:
    return dict(zip(TRAINING_COLUMNS, (name, point.update, point.sweeps, point.seconds, *band), strict=True))


def likelihood_floor(rows: Rows) -> float | None:
    """Return the lower end of the likelihood axis, so that a collapsing curve does not flatten the others.

    It is below the lowest first value by half the best curve's gain over that value, or by a tenth of the
    best value if that is more. The result is None if no curve falls that far.
    """
    if not rows:
        return None
    begin = min({row["trainer"]: row["value"] for row in reversed(rows)}.values())
    top = max(row["value"] for row in rows)
    floor = begin - max((top - begin) / 2, abs(top) / 10)
    return floor if min(row["value"] for row in rows) < floor else None


def in_sight(level: float, rows: Rows, floor: float | None) -> bool:
    """Return whether a line leaves the curves two thirds of the height; ``floor`` is the axis's lower end."""
    values = [row["value"] if floor is None else max(row["value"], floor) for row in rows]
    return bool(values) and level >= min(values) - (max(values) - min(values)) / 2


def training_chart(
    rows: Rows,
    curves: Sequence[Curve],
    cost_unit: CostUnit,
    title: str,
    levels: Sequence[tuple[str, float]] = (),
    log: bool = False,
    floor: float | None = None,
    compared: Sequence[Compared] = (),
    present: bool = False,
) -> Chart:
    """Return the chart of curves with bands, each labelled at its end.

    levels : label and height of reference lines
    floor : lower end of the axis, or None; marks show a curve's first and newest points below this end
    compared : common point of the panels, which is marked
    present : whether the chart is for a projector, beside the panels
    """
    point = compared[0].point if compared else None
    log_x = cost_unit == "sweeps"  # trainers differ by powers of ten, so the axis is logarithmic
    points: Rows = []
    if log:  # clip bands that reach below zero to the end of the axis
        rows = [row for row in rows if row["value"] > 0]
        floor = min((x for row in rows for x in (row["low"], row["value"]) if x > 0), default=None)
    for row in rows:
        x = row[FIELDS[cost_unit]]
        if log_x and x <= 0:
            continue
        held = row if floor is None else row | {key: max(row[key], floor) for key in ("low", "high")}
        y = row["value"] if floor is None else max(row["value"], floor)
        points.append({"kind": "point", "x": x, "y": y} | held)
    marks: Rows = []
    for curve in curves if floor is not None else ():
        below = [row for row in points if row["trainer"] == curve.name and row["value"] < floor]
        marks += [row | {"kind": "mark", "mark": "triangle-down"} for row in (*below[:1], *below[-1:])]
    ends = end_rows(
        [] if present else [(curve.name, curve.label) for curve in curves],
        points,
        "trainer",
        catalogue.TRAINING_PLOT_HEIGHT,
        [height for _, height in levels] if points else [],
        log,
    )
    return catalogue.training_curves(
        cost_axis(cost_unit, "log" if log_x else "linear"),
        tuple(curve.style for curve in curves),
        title,
        levels,
        log,
    ).of([*points, *marks, *ends, *common_rows(point, cost_unit, points, log=log_x)])


DISTRIBUTION_COLUMNS = ("trainer", "x", "x2", "middle", "share")


def distribution_rows(named: Iterable[tuple[str, TrainingSnapshot]], label: str) -> Rows:
    """Return each panel's histogram of one quantity over the chains of the last update, if it has any."""
    rows = []
    for name, snapshot in named:
        edges, shares = snapshot.distribution(label) or ((), ())
        for low, high, share in zip(edges, edges[1:], shares, strict=False):
            middle = (low + high) / 2
            rows.append(dict(zip(DISTRIBUTION_COLUMNS, (name, low, high, middle, share), strict=True)))
    return rows


def distribution_chart(rows: Rows, curves: Sequence[Curve], label: str) -> Chart:
    """Return the chart of a quantity's distributions, one outline per panel."""
    whole = all(float(row["x"]).is_integer() for row in rows)  # meeting times spread over decades
    # An outline ends at the end of its last bin.
    ends = {row["trainer"]: row | {"x": row["x2"]} for row in rows}
    drawn = [row | {"floor": 0.0} for row in (*rows, *ends.values())]
    styles = tuple(curve.style for curve in curves)
    return catalogue.distributions(
        styles, label, "Share of the chains of the last update", "trainer", whole
    ).of(drawn)
