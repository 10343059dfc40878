"""Charts of the Train page: curves of trainers, with bands."""

import math
from collections.abc import Iterable, Sequence

import altair as alt
import pandas as pd

from rbmviz.session import TrainingSnapshot
from rbmviz_app.charts.style import (
    Chart,
    Rows,
    Spec,
    count_axis,
    kept_spec,
    legend_columns,
    level,
    live_spec,
    series,
    stroke_legend,
    tooltips,
)

TRAINING_COLUMNS = ("trainer", "update", "seconds", "value", "low", "high")
UPPER_BOUND_LABEL = "the data themselves"
"""What the line is called that no curve can pass."""


def likelihood_rows(named: Iterable[tuple[str, TrainingSnapshot]], part: str) -> Rows:
    """Return all points of the log-likelihood curves of the "train" or "test" part: mean, and its band."""
    return [
        _row(name, point.update, point.seconds, band)
        for name, snapshot in named
        for point in snapshot.likelihoods
        if all(map(math.isfinite, band := point.band(part)))
    ]


def statistic_rows(named: Iterable[tuple[str, TrainingSnapshot]], statistic: str) -> Rows:
    """Return all points of the curves of one statistic, with the range of the replicates."""
    return [
        _row(name, point.update, point.seconds, band)
        for name, snapshot in named
        for point in snapshot.traces
        if all(map(math.isfinite, band := point.band(statistic)))
    ]


def _row(name: str, update: int, seconds: float, band: tuple[float, float, float]) -> dict[str, object]:
    return dict(zip(TRAINING_COLUMNS, (name, update, seconds, *band), strict=True))


def likelihood_floor(rows: Rows) -> float | None:
    """Return where the axis of likelihoods ends, so that a collapse leaves the other curves their height.

    It lies below all first values, by half of what the best curve has gained on the lowest of them, or by a
    tenth of its value if that is more; None: no curve falls so far.
    """
    if not rows:
        return None
    begin = min({row["trainer"]: row["value"] for row in reversed(rows)}.values())
    top = max(row["value"] for row in rows)
    floor = begin - max((top - begin) / 2, abs(top) / 10)
    return floor if min(row["value"] for row in rows) < floor else None


def training_chart(
    rows: Rows,
    algorithms: Sequence[tuple[str, str]],
    against: str,
    title: str,
    best: float | None = None,
    log: bool = False,
    floor: float | None = None,
) -> Chart:
    """Return the chart of curves with bands, one colour a trainer.

    algorithms : (name of the panel, registered name of its trainer), in order
    against : "update" or "seconds"
    best : a line that no curve can pass
    floor : curves end there, with a mark where one falls below it and at its newest point; None: nowhere
    """
    if log:
        rows = [row for row in rows if row["low"] > 0]
    data = pd.DataFrame(rows, columns=list(TRAINING_COLUMNS)).assign(mark=False)
    data["shown"] = data["value"]
    if floor is not None:
        below = data["value"] < floor
        trainers = data.loc[below, "trainer"]
        data.loc[trainers[~trainers.duplicated("first") | ~trainers.duplicated("last")].index, "mark"] = True
        data[["shown", "low", "high"]] = data[["shown", "low", "high"]].clip(lower=floor)
    return data, _training_spec(tuple(algorithms), against, title, best, log)


@kept_spec
def _training_spec(
    algorithms: tuple[tuple[str, str], ...], against: str, title: str, best: float | None, log: bool
) -> Spec:
    if against == "update":
        x = alt.X("update:Q", title="Updates", axis=count_axis(labelExpr="datum.value ? datum.label : '0'"))
    else:
        x = alt.X("seconds:Q", title="Seconds in the trainer", axis=count_axis(True))
    y = alt.Scale(type="log") if log else alt.Scale(zero=False)
    tone, dash = series(
        "trainer",
        [name for name, _ in algorithms],
        [trainer for _, trainer in algorithms],
        stroke_legend(legend_columns(4)),
    )
    base = alt.Chart(alt.NamedData("curves")).encode(x=x, color=tone)
    band = base.mark_area(opacity=0.2, clip=True).encode(y=alt.Y("low:Q", title=title, scale=y), y2="high:Q")
    values = tooltips(
        ("trainer", "Trainer", ""),
        ("update", "Updates", ","),
        ("value", title, ".4~g"),
        ("low", "Lowest", ".4~g"),
        ("high", "Highest", ".4~g"),
        ("seconds", "Seconds in the trainer", ".2f"),
    )
    line = base.mark_line(strokeWidth=2, clip=True).encode(
        y=alt.Y("shown:Q", title=title, scale=y), strokeDash=dash, tooltip=values
    )
    mark = (
        base.transform_filter("datum.mark")
        .mark_point(shape="triangle-down", filled=True, size=90, opacity=1, yOffset=-5)
        .encode(y=alt.Y("shown:Q", title=title, scale=y), tooltip=values)
    )
    layers = [band, line, mark, *(level("shown", best, UPPER_BOUND_LABEL) if best is not None else [])]
    return live_spec(layers, 280)
