"""Charts of the Train page: curves of trainers, with bands."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd

from rbmviz.session import TrainingSnapshot
from rbmviz.session.equal_points import Compared, CostUnit
from rbmviz.session.training import Likelihood, Trace
from rbmviz_app.charts.ends import common_layers, common_rows, end_layers, end_rows
from rbmviz_app.charts.style import (
    Chart,
    Rows,
    Spec,
    count_axis,
    kept_spec,
    level,
    live_spec,
    series,
    tooltips,
)
from rbmviz_app.compared import AXIS_TITLES

TRAINING_COLUMNS = ("trainer", "update", "sweeps", "seconds", "value", "low", "high")
FIELDS: dict[CostUnit, str] = {"updates": "update", "sweeps": "sweeps", "seconds": "seconds"}
"""Column of x for each unit in which trainers are compared."""
CHART_COLUMNS = (
    *("kind", "trainer", "x", "y", "low", "high", "value", "mark", "label", "label_y", "note", "side"),
    *("update", "sweeps", "seconds"),
)
"""Columns of the chart's data; kind: "point" of a curve, "end" of a curve with its label, "common" point."""
TRAINING_HEIGHT = 300
PLOT_HEIGHT_OF_TRAINING = 220
"""Approximate height of the area between the axes of that chart, in pixels."""
UPPER_BOUND_LABEL = "the data themselves"
"""Label of the line that no curve can pass."""
Level = tuple[str, float]
"""Label and height of a reference line."""


def likelihood_rows(named: Iterable[tuple[str, TrainingSnapshot]], part: str) -> Rows:
    """Return all points of the log-likelihood curves on the "train" or "test" part: mean and band."""
    return [
        _row(name, point, band)
        for name, snapshot in named
        for point in snapshot.likelihoods
        if all(map(math.isfinite, band := point.band(part)))
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
    values = (name, point.update, point.sweeps, point.seconds, *band)
    return dict(zip(TRAINING_COLUMNS, values, strict=True))


def likelihood_floor(rows: Rows) -> float | None:
    """Return the lower end of the likelihood axis, so that a collapsing curve does not flatten the others.

    It is below all first values: by half the best curve's gain over the lowest of them, or by a tenth of the
    best value if that is more; None: no curve falls that far.
    """
    if not rows:
        return None
    begin = min({row["trainer"]: row["value"] for row in reversed(rows)}.values())
    top = max(row["value"] for row in rows)
    floor = begin - max((top - begin) / 2, abs(top) / 10)
    return floor if min(row["value"] for row in rows) < floor else None


def in_sight(level: float, rows: Rows, floor: float | None) -> bool:
    """Return whether a line leaves the curves two thirds of the height; floor: lower end of their axis."""
    values = [row["value"] if floor is None else max(row["value"], floor) for row in rows]
    return bool(values) and level >= min(values) - (max(values) - min(values)) / 2


def training_chart(
    rows: Rows,
    styles: Sequence[tuple[str, str, str]],
    cost_unit: CostUnit,
    title: str,
    levels: Sequence[Level] = (),
    log: bool = False,
    floor: float | None = None,
    compared: Sequence[Compared] = (),
    present: bool = False,
) -> Chart:
    """Return the chart of curves with bands, each labelled at its end.

    styles : (full name of the panel, short name, colour), in order
    cost_unit : unit of the x axis
    levels : reference lines
    floor : lower end of curves, with marks where a curve falls below it and at its newest point; None: no end
    compared : the common point of the panels, which is marked
    present : whether the chart is for a projector, beside the panels
    """
    log_x = cost_unit == "sweeps"  # trainers differ by powers of ten: a logarithmic axis
    shown: Rows = []
    if log:  # clip bands that reach below zero at the end of the axis
        rows = [row for row in rows if row["value"] > 0]
        floor = min((x for row in rows for x in (row["low"], row["value"]) if x > 0), default=None)
    for row in rows:
        x = row[FIELDS[cost_unit]]
        if log_x and x <= 0:
            continue
        held = row if floor is None else row | {key: max(row[key], floor) for key in ("low", "high")}
        y = row["value"] if floor is None else max(row["value"], floor)
        shown.append({"kind": "point", "x": x, "y": y, "mark": False} | held)
    if floor is not None:
        for name, *_ in styles:
            below = [row for row in shown if row["trainer"] == name and row["value"] < floor]
            for row in (*below[:1], *below[-1:]):
                row["mark"] = True
    also = [height for _, height in levels] if shown else []
    ends = end_rows(
        [(name, label) for name, label, _ in styles], shown, "trainer", PLOT_HEIGHT_OF_TRAINING, also, log
    )
    common = common_rows(compared, shown, log=log_x)
    data = pd.DataFrame([*shown, *ends, *common], columns=list(CHART_COLUMNS))
    return data, _training_spec(tuple(styles), cost_unit, title, tuple(levels), log, present)


@kept_spec
def _training_spec(
    styles: tuple[tuple[str, str, str], ...],
    cost_unit: CostUnit,
    title: str,
    levels: tuple[Level, ...],
    log: bool,
    present: bool,
) -> Spec:
    x = alt.X("x:Q", title=AXIS_TITLES[cost_unit])
    if cost_unit == "seconds":
        x = x.axis(count_axis(True))
    elif cost_unit == "sweeps":
        x = x.axis(count_axis()).scale(alt.Scale(type="log", nice=False))
    else:
        x = x.axis(count_axis(labelExpr="datum.value ? datum.label : '0'"))
    scale = alt.Scale(type="log") if log else alt.Scale(zero=False)
    y = alt.Y("y:Q", title=title, scale=scale)
    names = [name for name, *_ in styles]
    tone, dash = series("trainer", names, [tone for *_, tone in styles], None)

    def of(kind: str) -> alt.Chart:
        return alt.Chart(alt.NamedData("curves")).transform_filter(f"datum.kind == '{kind}'").encode(x=x)

    points = of("point")
    band = points.mark_area(opacity=0.2, clip=True).encode(
        y=alt.Y("low:Q", title=title, scale=scale), y2="high:Q", color=tone
    )
    values = tooltips(
        ("trainer", "Trainer", ""),
        ("update", "Updates", ","),
        ("value", title, ".4~g"),
        ("low", "Band from", ".4~g"),
        ("high", "to", ".4~g"),
        ("sweeps", "Sweeps of all chains", ",.0f"),
        ("seconds", "Seconds in the trainer", ".2f"),
    )
    line = points.mark_line(strokeWidth=2, clip=True).encode(y=y, color=tone, strokeDash=dash, tooltip=values)
    mark = (
        points.transform_filter("datum.mark")
        .mark_point(shape="triangle-down", filled=True, size=90, opacity=1, yOffset=-5)
        .encode(y=y, color=tone, tooltip=values)
    )
    layers = [*common_layers(of), band, line, mark, *end_layers(of, y, tone, "Trainer", present)]
    for label, height in levels:
        # Curves begin at the line of independent pixels and end at the other line.
        layers += level("y", height, label, at_end=label != UPPER_BOUND_LABEL)
    return live_spec(layers, TRAINING_HEIGHT)


DISTRIBUTION_COLUMNS = ("trainer", "x", "x2", "middle", "share")
DISTRIBUTION_HEIGHT = 200


def distribution_rows(named: Iterable[tuple[str, TrainingSnapshot]], label: str) -> Rows:
    """Return each panel's histogram of one quantity over the chains of the last update, if it has any."""
    rows = []
    for name, snapshot in named:
        found = snapshot.distribution(label)
        for low, high, share in zip(*(found[0], found[0][1:], found[1]), strict=False) if found else ():
            middle = (low + high) / 2
            rows.append(dict(zip(DISTRIBUTION_COLUMNS, (name, low, high, middle, share), strict=True)))
    return rows


def distribution_chart(rows: Rows, styles: Sequence[tuple[str, str, str]], label: str) -> Chart:
    """Return the chart of a quantity's distributions, one outline per panel.

    styles : (full name of the panel, short name, colour), in order
    """
    whole = all(float(row["x"]).is_integer() for row in rows)  # meeting times spread over decades
    # An outline ends where its last bin does.
    ends = {row["trainer"]: row | {"x": row["x2"]} for row in rows}
    data = pd.DataFrame([*rows, *ends.values()], columns=list(DISTRIBUTION_COLUMNS))
    return data, _distribution_spec(tuple(styles), label, whole)


@kept_spec
def _distribution_spec(styles: tuple[tuple[str, str, str], ...], label: str, whole: bool) -> Spec:
    names = [name for name, *_ in styles]
    tone, dash = series("trainer", names, [tone for *_, tone in styles], None)
    scale = alt.Scale(type="log", nice=False) if whole else alt.Scale(nice=False, zero=False)
    x = alt.X("x:Q", title=label, scale=scale)
    y = alt.Y("share:Q", title="Share of chains").axis(format="~%", tickCount=4)
    base = alt.Chart(alt.NamedData("curves")).encode(x=x.axis(grid=False, tickCount=6, format="~s"), y=y)
    area = base.mark_area(interpolate="step-after", opacity=0.15).encode(color=tone)
    line = base.mark_line(interpolate="step-after", strokeWidth=2).encode(
        color=tone,
        strokeDash=dash,
        tooltip=tooltips(
            ("trainer", "Trainer", ""),
            ("x", "From", ".4~g"),
            ("x2", "to below" if whole else "to", ".4~g"),
            ("share", "Share", ".3~%"),
        ),
    )
    return live_spec([area, line], DISTRIBUTION_HEIGHT)
