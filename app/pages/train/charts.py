"""Charts of the Train page: curves of trainers, with bands."""

import math
from collections.abc import Iterable, Sequence

import altair as alt
import pandas as pd

from app.charts.style import (
    Chart,
    Rows,
    Spec,
    kept_spec,
    legend_columns,
    level,
    live_spec,
    series,
    stroke_legend,
    tooltips,
)
from rbmviz.session import TrainingSnapshot

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


def training_chart(
    rows: Rows,
    algorithms: Sequence[tuple[str, str]],
    against: str,
    title: str,
    best: float | None = None,
    log: bool = False,
) -> Chart:
    """Return the chart of curves with bands, one colour a trainer.

    algorithms : (name of the panel, registered name of its trainer), in order
    against : "update" or "seconds"
    best : a line that no curve can pass
    """
    if log:
        rows = [row for row in rows if row["low"] > 0]
    spec = _training_spec(tuple(algorithms), against, title, best, log)
    return pd.DataFrame(rows, columns=list(TRAINING_COLUMNS)), spec


@kept_spec
def _training_spec(
    algorithms: tuple[tuple[str, str], ...], against: str, title: str, best: float | None, log: bool
) -> Spec:
    count = alt.Axis(format="~s", tickCount=8, grid=False, labelExpr="datum.value ? datum.label : '0'")
    x = alt.X(
        f"{against}:Q", title="Updates" if against == "update" else "Seconds in the trainer", axis=count
    )
    y = alt.Scale(type="log") if log else alt.Scale(zero=False)
    tone, dash = series(
        "trainer",
        [name for name, _ in algorithms],
        [trainer for _, trainer in algorithms],
        stroke_legend(legend_columns(4)),
    )
    base = alt.Chart(alt.NamedData("curves")).encode(x=x, color=tone)
    band = base.mark_area(opacity=0.2, clip=True).encode(y=alt.Y("low:Q", title=title, scale=y), y2="high:Q")
    line = base.mark_line(strokeWidth=2, clip=True).encode(
        y=alt.Y("value:Q", title=title, scale=y),
        strokeDash=dash,
        tooltip=tooltips(
            ("trainer", "Trainer", ""),
            ("update", "Updates", ","),
            ("value", title, ".4~g"),
            ("low", "Lowest", ".4~g"),
            ("high", "Highest", ".4~g"),
            ("seconds", "Seconds in the trainer", ".2f"),
        ),
    )
    layers = [band, line, *(level("value", best, UPPER_BOUND_LABEL) if best is not None else [])]
    return live_spec(layers, 280)
