"""Charts of the populations of the Weights page."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from rbmviz.metrics.numbers import NUMBERS
from rbmviz.session import WeightSnapshot
from rbmviz.trainers.batches import USUAL_BATCH
from rbmviz.trainers.pop_cd import PopCD
from rbmviz_app.charts.style import (
    GREY,
    Chart,
    Rows,
    Spec,
    colours,
    dashes,
    kept_spec,
    legend_columns,
    level,
    live_spec,
    named_apart,
)

Named = Sequence[tuple[str, WeightSnapshot]]


def population_titles(algorithms: Sequence[PopCD]) -> list[str]:
    """Name populations by sweeps and proposal, plus any other distinguishing knobs."""
    sizes = {algorithm.n_chains for algorithm in algorithms}
    mixtures = {algorithm.mixture for algorithm in algorithms if algorithm.proposal == "mixture"}
    names = []
    for algorithm in algorithms:
        name = f"pop-CD-{algorithm.k}"
        if algorithm.proposal == "mixture" and len(mixtures) > 1:
            name += f", mixture {algorithm.mixture}"
        elif algorithm.proposal != "visible":
            name += f", {algorithm.proposal}"
        size = f"{algorithm.n_chains:,}" if algorithm.n_chains else f"at most {USUAL_BATCH}"
        names.append(name + (f", {size} samples" if len(sizes) > 1 else ""))
    return named_apart(names)


Styles = tuple[tuple[str, str], ...]
"""Name and colour of each panel."""


def _styles(named: Named) -> Styles:
    """Return the name and colour of each panel, as in the panel itself."""
    tones = colours([snapshot.algorithm for _, snapshot in named])
    return tuple((name, tone) for (name, _), tone in zip(named, tones, strict=True))


def _scales(styles: Styles, more: Styles = (), columns: int = 1) -> tuple[alt.Color, alt.StrokeDash]:
    """Return colour and dash of each panel; ``more``: reference lines with their colours.

    columns : columns of the legend; one on a phone
    """
    strokes = alt.Scale(
        domain=[name for name, _ in (*styles, *more)],
        range=[*dashes(["pop_cd"] * len(styles)), *[[5, 4]] * len(more)],
    )
    # Below the chart, so that it is part of a saved picture.
    legend = alt.Legend(
        orient="bottom",
        columns=legend_columns(columns),
        symbolType="stroke",
        symbolStrokeWidth=2.5,
        symbolSize=500,
        symbolOpacity=1,
        labelLimit=330,
    )
    tones = alt.Scale(domain=strokes.domain, range=[tone for _, tone in (*styles, *more)])
    return (
        alt.Color("panel:N", title=None, sort=strokes.domain, scale=tones).legend(legend),
        alt.StrokeDash("panel:N", title=None, sort=strokes.domain, scale=strokes),
    )


def _tall(lines: int) -> int:
    """Return the height of a chart with this many lines in its legend, in pixels."""
    return 270 + 22 * lines


EFFECTIVE_SHARE = NUMBERS["weights"]["ess_share"].label

EQUAL = ("all weights equal (CD)", GREY)


def share_rows(named: Named) -> Rows:
    """Return the points of the Lorenz curves, from the heavy end."""
    return [
        {"panel": name, "samples": x, "held": y}
        for name, snapshot in named
        if snapshot.summary is not None
        for x, y in zip(snapshot.summary.samples, snapshot.summary.held, strict=True)
    ]


def shares_chart(named: Named) -> Chart:
    """Return data and spec: share of the total weight in the heaviest samples."""
    rows = share_rows(named)
    least = min((row["samples"] for row in rows), default=0.01)
    rows += [{"panel": EQUAL[0], "samples": x, "held": x} for x in np.geomspace(least, 1, 40)]
    return pd.DataFrame(rows, columns=["panel", "samples", "held"]), _shares_spec(_styles(named))


@kept_spec
def _shares_spec(styles: Styles) -> Spec:
    tone, dash = _scales(styles, (EQUAL,), columns=3)
    curves = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "samples:Q",
                title="Share of the samples, heaviest first",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~%", tickCount=5, grid=False),
            ),
            y=alt.Y(
                "held:Q",
                title="Share of the weight that they hold",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=tone,
            strokeDash=dash,
            tooltip=[
                alt.Tooltip("panel:N", title="Population"),
                alt.Tooltip("samples:Q", title="The heaviest", format=".3~%"),
                alt.Tooltip("held:Q", title="hold", format=".1%"),
            ],
        )
    )
    return live_spec([curves], _tall(len(styles) + 1))


def size_rows(named: Named) -> Rows:
    """Return effective sample sizes by batch size, with two standard errors.

    A size with a single batch has no error and is left out here, but not from files.
    """
    return [
        {
            "panel": name,
            "size": size.size,
            "ess": size.ess,
            "share": size.ess / size.size,
            "low": max(size.ess - 2 * size.std_error, 1.0) / size.size,
            "high": min(size.ess + 2 * size.std_error, size.size) / size.size,
            "batches": size.batches,
        }
        for name, snapshot in named
        for size in (snapshot.summary.sizes if snapshot.summary else ())
        if size.batches > 1
    ]


SIZE_COLUMNS = ("panel", "size", "ess", "share", "low", "high", "batches")


def sizes_chart(named: Named) -> Chart:
    """Return data and spec: effective share of a batch against batch size."""
    rows = size_rows(named)
    most = max((row["size"] for row in rows), default=128)
    rows += [{"panel": EQUAL[0], "size": x, "ess": x, "share": 1, "low": 1, "high": 1} for x in (1, most)]
    return pd.DataFrame(rows, columns=list(SIZE_COLUMNS)), _sizes_spec(_styles(named))


@kept_spec
def _sizes_spec(styles: Styles) -> Spec:
    tone, dash = _scales(styles, (EQUAL,))
    title, scale, axis = f"{EFFECTIVE_SHARE} of the batch", alt.Scale(domain=[0, 1]), alt.Axis(format="%")
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X(
            "size:Q",
            title="Samples in a batch",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(format="~s", tickCount=5, grid=False),
        ),
        color=tone,
    )
    band = base.mark_area(opacity=0.15).encode(
        y=alt.Y("low:Q", title=title, scale=scale, axis=axis), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("share:Q", title=title, scale=scale),
        strokeDash=dash,
        tooltip=[
            alt.Tooltip("panel:N", title="Population"),
            alt.Tooltip("size:Q", title="Samples in a batch", format=","),
            alt.Tooltip("ess:Q", title="are worth", format=".4~g"),
            alt.Tooltip("share:Q", title=EFFECTIVE_SHARE, format=".1%"),
            alt.Tooltip("batches:Q", title="Batches", format=","),
        ],
    )
    return live_spec([band, line], _tall(len(styles) + 1))


def estimate_rows(named: Named) -> Rows:
    """Return the estimates of log Z with bands of two standard errors."""
    rows = []
    for name, snapshot in named:
        points = list(snapshot.estimates)
        if snapshot.newest is not None and points and snapshot.newest.n > points[-1].n:
            points.append(snapshot.newest)
        rows += [
            {
                "panel": name,
                "n": point.n,
                "log_z": point.log_z,
                "std_error": point.std_error,
                "low": point.log_z - 2 * np.nan_to_num(point.std_error),
                "high": point.log_z + 2 * np.nan_to_num(point.std_error),
            }
            for point in points
        ]
    return rows


def log_z_chart(named: Named) -> Chart:
    """Return data and spec: log mean weight against the number of weights, beside the true value."""
    rows = estimate_rows(named)
    truth = next((snapshot.reference for _, snapshot in named if snapshot.reference is not None), None)
    spec = _log_z_spec(_styles(named), truth and (truth.method, truth.log_z, truth.std_error))
    return pd.DataFrame(rows, columns=["panel", "n", "log_z", "std_error", "low", "high"]), spec


@kept_spec
def _log_z_spec(styles: Styles, truth: tuple[str, float, float] | None) -> Spec:
    """Return the spec of estimates; truth: method, log Z and standard error, if known."""
    tone, dash = _scales(styles)
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X(
            "n:Q",
            title="Samples weighed",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(format="~s", tickCount=5, grid=False),
        ),
        color=tone,
    )
    title, y = NUMBERS["weights"]["truth"].titled(), alt.Scale(zero=False)
    layers: list[Any] = [
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=title, scale=y), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(
            y=alt.Y("log_z:Q", title=title, scale=y),
            strokeDash=dash,
            tooltip=[
                alt.Tooltip("panel:N", title="Population"),
                alt.Tooltip("n:Q", title="Samples", format=","),
                alt.Tooltip("log_z:Q", title="log Z, estimated", format=".3f"),
                alt.Tooltip("std_error:Q", title="Standard error", format=".3f"),
            ],
        ),
    ]
    if truth is not None:
        method, log_z, error = truth
        label = "log Z, exact" if method == "exact" else "log Z by AIS, ± 2 errors"
        line = level("value", log_z, label, low=log_z - 2 * error, high=log_z + 2 * error)
        layers += [alt.Chart(line[0].data).mark_rect(opacity=0.15, color=GREY).encode(y="low:Q", y2="high:Q")]
        layers += line
    return live_spec(layers, _tall(len(styles)))
