"""The chart of the Sample page: ISL curves."""

from collections.abc import Iterable, Sequence
from typing import Any

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
from rbmviz.models import TrainingSetScore
from rbmviz.session import SamplingSnapshot

CURVE_COLUMNS = ("sampler", "n", "seconds", "isl", "std_error", "beta")
MIN_CURVE_SAMPLES = 5
"""Samples before a curve begins."""


def curve_rows(named: Iterable[tuple[str, SamplingSnapshot]]) -> Rows:
    """Return all points of all ISL curves, the newest value of each run at its end."""
    rows = []
    for name, snapshot in named:
        points = list(snapshot.curve)
        if snapshot.newest is not None and (not points or snapshot.newest.n > points[-1].n):
            points.append(snapshot.newest)
        rows += [
            {
                "sampler": name,
                "n": p.n,
                "seconds": p.clock.seconds,
                "isl": p.isl,
                "std_error": p.std_error,
                "beta": p.beta,
            }
            for p in points
        ]
    return rows


def reference_label(dataset: str, score: TrainingSetScore) -> str:
    """Return the label of the line at the score of the training set itself."""
    what = "the training set itself" if score.of_model else f"the training part of {dataset}"
    return f"{what} ({score.n:,} examples)"


def isl_chart(
    named: Sequence[tuple[str, SamplingSnapshot]], line: tuple[str, float] | None, against: str
) -> Chart:
    """Return the chart of the ISL curves.

    line : label and height of the score of the training set, where it is known
    against : "n" or "seconds"

    The spec changes only when panels, names or the axis change, so that a live chart keeps its zoom.
    """
    rows = [row for row in curve_rows(named) if row["n"] >= MIN_CURVE_SAMPLES and row["seconds"] > 0]
    names = tuple(name for name, _ in named)
    algorithms = tuple(snapshot.algorithm.name for _, snapshot in named)
    return pd.DataFrame(rows, columns=list(CURVE_COLUMNS)), _isl_spec(names, algorithms, line, against)


@kept_spec
def _isl_spec(
    names: tuple[str, ...], algorithms: tuple[str, ...], line: tuple[str, float] | None, against: str
) -> Spec:
    tone, dash = series("sampler", names, algorithms, stroke_legend(legend_columns(2)))
    x = alt.X(
        f"{against}:Q",
        title="Samples" if against == "n" else "Seconds in the sampler",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~s", tickCount=8, grid=False),
    )
    curves = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(interpolate="monotone", strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y("isl:Q", title="ISL (nats per test example)", scale=alt.Scale(zero=False)),
            color=tone,
            strokeDash=dash,
            tooltip=tooltips(
                ("sampler", "Sampler", ""),
                ("n", "Samples", ","),
                ("isl", "ISL (nats)", ".2f"),
                ("std_error", "Standard error", ".2f"),
                ("beta", "Kernel beta", ".3f"),
                ("seconds", "Seconds in the sampler", ".3f"),
            ),
        )
    )
    layers: list[Any] = [curves]
    if line is not None:
        label, isl = line
        layers += level("isl", isl, label)
    return live_spec(layers, 300)
