"""Charts of the Coupling page, as rows and Vega-Lite specs; nothing here calls Streamlit."""

from collections.abc import Sequence
from typing import Literal

import altair as alt
import numpy as np
import pandas as pd

from rbmviz.coupling import ALGORITHM_LABELS, STATISTICS
from rbmviz.session import Results
from rbmviz.session.coupling import PairStatistics
from rbmviz_app.charts.style import (
    GREY,
    Chart,
    Rows,
    Spec,
    colour,
    kept_spec,
    legend_columns,
    live_spec,
    stroke_legend,
    tooltips,
)

NAMES = {name: label.capitalize() for name, label in ALGORITHM_LABELS.items()}
EXACT = "exact"
POINT_COLUMNS = ("series", "x", "value", "low", "high")
CURVE_POINTS = 60
HEIGHT = 300

STYLES = {
    "Algorithm 3": (colour("rbm"), [1, 0]),
    "Algorithm 1": (colour("general"), [6, 3]),
    "Half-step": (colour("half_step"), [10, 3]),
    "UCD, algorithm 3": (colour("rbm"), [1, 0]),
    "UCD, algorithm 1": (colour("general"), [6, 3]),
    "UCD, half-step": (colour("half_step"), [10, 3]),
    "CD": (colour("cd"), [2, 2]),
    EXACT: (GREY, [9, 2, 2, 2]),
}
"""Colour and dashes of the series: an entry for each of NAMES, and one "UCD, ..." for its estimates.

Bars have no dashes: within a bin they follow the order of the legend, and their tooltips name them.
"""


def style(series: str) -> tuple[str, list[int]]:
    """Return colour and dashes of a series; CD-1, CD-2, ... are all CD."""
    return STYLES["CD" if series.startswith("CD-") else series]


def tau_rows(pairs: Sequence[PairStatistics]) -> Rows:
    """Return the histogram of meeting times: shares of pairs that met at sweeps x to x2, inclusive.

    The last bin holds the pairs that were cut off before they met: it starts at x, and x2 is "".
    """
    rows: Rows = []
    for counted in pairs:
        edges, shares = counted.tau_shares()
        name = NAMES[counted.algorithm]
        for low, high, share in zip(edges.tolist(), edges[1:].tolist(), shares.tolist(), strict=False):
            label = f"τ = {low}" if high == low + 1 else f"τ from {low:,} to {high - 1:,}"
            rows.append({"series": name, "x": low, "x2": high - 1, "value": share, "label": label})
        cut = f"not met in {counted.max_sweeps:,} sweeps"
        share = counted.truncated_share
        rows.append({"series": name, "x": counted.max_sweeps + 1, "x2": "", "value": share, "label": cut})
    return rows


def tau_chart(pairs: Sequence[PairStatistics], log: bool) -> Chart:
    """Return the chart of meeting times."""
    names = [NAMES[counted.algorithm] for counted in pairs]
    rows = []
    for row in tau_rows(pairs):
        begin, end = row["x"], row["x2"]
        # A small gap separates the bin of the pairs that were cut off.
        low, high = (begin, end + 1) if end else (1.1 * begin, 1.6 * begin)
        # The algorithms' bars are side by side in a bin, with a small gap to the next bin.
        i = names.index(row["series"])
        x, x2 = (low * (high / low) ** (0.92 * part / len(pairs)) for part in (i, i + 1))
        rows.append(row | {"x": x, "x2": x2})
    floor = 10.0 ** np.floor(np.log10(1 / max([1, *(counted.n for counted in pairs)]))) if log else 0.0
    data = pd.DataFrame(rows, columns=["series", "x", "x2", "value", "label"])
    return data[data["value"] > 0].assign(floor=floor), _tau_spec(tuple(names), log)


@kept_spec
def _tau_spec(names: tuple[str, ...], log: bool) -> Spec:
    bars = (
        alt.Chart(alt.NamedData("curves"))
        .mark_rect(clip=True)
        .encode(
            x=alt.X("x:Q", title="Meeting time τ (sweeps)", scale=alt.Scale(type="log", nice=False)).axis(
                format="~s", grid=False, tickCount=6
            ),
            x2="x2:Q",
            y=alt.Y("value:Q", title="Share of pairs", scale=alt.Scale(type="log" if log else "linear")).axis(
                **({"values": [10.0**-i for i in range(6)]} if log else {"tickCount": 5}), format="~%"
            ),
            y2="floor:Q",
            color=_colour(names, "square"),
            tooltip=tooltips(
                ("series", "Coupling", ""), ("label", "Pairs with", ""), ("value", "Share", ".3~%")
            ),
        )
    )
    return live_spec([bars], HEIGHT)


def rejected_rows(pairs: Sequence[PairStatistics]) -> Rows:
    """Return the shares of pairs by number of rejected proposals of each chain."""
    rows = []
    for counted in pairs:
        edges, shares = counted.rejected_shares()
        for low, high, both in zip(edges, edges[1:], shares, strict=False):
            label = f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}"
            rows += [
                {
                    "series": NAMES[counted.algorithm],
                    "chain": chain,
                    "x": label,
                    "order": low,
                    "value": value,
                }
                for chain, value in zip(("ξ", "η"), both, strict=True)
            ]
    return rows


def rejected_chart(pairs: Sequence[PairStatistics]) -> Chart:
    """Return the chart of rejected proposals per chain."""
    rows = [row | {"who": f"{row['series']}, {row['chain']}"} for row in rejected_rows(pairs)]
    data = pd.DataFrame(rows, columns=["series", "chain", "x", "order", "value", "who"])
    return data, _rejected_spec(tuple(NAMES[counted.algorithm] for counted in pairs))


@kept_spec
def _rejected_spec(names: tuple[str, ...]) -> Spec:
    bars = (
        alt.Chart(alt.NamedData("curves"))
        .mark_bar()
        .encode(
            # Not by the sum of "order", the default for bars: not all couplings have all bins.
            x=alt.X(
                "x:N",
                title="Rejected proposals of a chain",
                sort=alt.EncodingSortField("order", op="min"),
            ).axis(labelAngle=0, grid=False),
            xOffset=alt.XOffset("who:N", sort=[f"{name}, {chain}" for name in names for chain in "ξη"]),
            y=alt.Y("value:Q", title="Share of pairs").axis(format="~%", tickCount=5),
            color=_colour(names, "square"),
            opacity=alt.Opacity(
                "chain:N", sort=["ξ", "η"], scale=alt.Scale(domain=["ξ", "η"], range=[0.45, 1.0])
            ).legend(orient="top", title=None, symbolType="square", symbolFillColor=GREY),
            tooltip=tooltips(
                ("who", "Chain", ""), ("x", "Rejected proposals", ""), ("value", "Share of pairs", ".3~%")
            ),
        )
    )
    return live_spec([bars], HEIGHT)


def distance_rows(pairs: Sequence[PairStatistics]) -> Rows:
    """Return the mean and middle 80 % of all pairs' Hamming distances over time."""
    rows = []
    for counted in pairs:
        if counted.n:
            low, high = counted.distance_quantiles((0.1, 0.9)).T
            rows += _rows(NAMES[counted.algorithm], counted.times, counted.mean_distance(), low, high)
    return rows


def bound_rows(results: Results, log: bool = False) -> Rows:
    """Return the bound on the total variation distance with two standard errors, and the exact curve."""
    rows: Rows = []
    last = max([20, *(int(c.tau.max()) for c in results.lagged if c.n)])
    times = np.unique(np.rint(np.geomspace(1, last, CURVE_POINTS)).astype(int))
    times = np.array([0, *times])
    if len(results.exact):
        known = times[times < len(results.exact)]
        exact = results.exact[known]
        rows += _rows(EXACT, known, exact, exact, exact)
    for counted in results.lagged:
        if counted.n:
            t = times[times <= counted.last_bound]
            bound, error = counted.bound(t)
            low, high = np.maximum(bound - 2 * error, 0), np.minimum(bound + 2 * error, 1)
            rows += _rows(NAMES[counted.algorithm], t, np.minimum(bound, 1), np.minimum(low, 1), high)
    if log:
        least = min([row["value"] for row in rows if row["value"] > 0], default=1e-4)
        rows = [row | {"low": max(row["low"], least / 2)} for row in rows if row["value"] > 0]
    return rows


def estimate_rows(results: Results, statistic: str) -> Rows:
    """Return the running estimates of one statistic with two standard errors, and its exact value."""
    rows: Rows = []
    most = 10
    for counted in results.pairs:
        unbiased, plain = counted.running(statistic)
        shown = {f"UCD, {NAMES[counted.algorithm].lower()}": unbiased}
        if counted.algorithm == "rbm":  # CD-k uses the first chain alone, whose law is the same for all
            shown[f"CD-{counted.k}"] = plain
        for name, running in shown.items():
            late = running.pairs >= 10
            pairs, mean, error = (x[late] for x in running)
            rows += _rows(name, pairs, mean, mean - 2 * error, mean + 2 * error)
            most = max([most, *pairs])
    if results.truth is not None:
        value = np.full(2, results.truth[STATISTICS.index(statistic)])
        rows += _rows(EXACT, np.array([10, most]), value, value, value)
    return rows


def _rows(series: str, *columns: np.ndarray) -> Rows:
    return [
        dict(zip(POINT_COLUMNS, (series, *(float(y) for y in values)), strict=True))
        for values in zip(*columns, strict=True)
    ]


def line_chart(
    rows: Rows,
    names: Sequence[str],
    x: str,
    y: str,
    *,
    kind: Literal["log", "symlog"] = "log",
    log: bool = False,
    domain: tuple[float, float] | None = None,
) -> Chart:
    """Return the chart of lines with bands.

    names : all series that may appear, in order, so that the spec stays the same when one appears
    x, y : titles; kind : scale of x, "log" or "symlog" (which has a zero)
    log : whether y has a log scale; domain : range of y, None: the range of the curves
    """
    return pd.DataFrame(rows, columns=list(POINT_COLUMNS)), _line_spec(tuple(names), x, y, kind, log, domain)


@kept_spec
def _line_spec(
    names: tuple[str, ...],
    x: str,
    y: str,
    kind: Literal["log", "symlog"],
    log: bool,
    domain: tuple[float, float] | None,
) -> Spec:
    across = alt.X("x:Q", title=x, scale=alt.Scale(type=kind, nice=False))
    across = across.axis(format="~s", grid=False, tickCount=6)
    if kind == "symlog":
        across = across.axis(
            format=",d", grid=False, values=[0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000]
        )
    up = alt.Scale(type="log") if log else alt.Scale(zero=False, domain=domain or alt.Undefined)
    base = alt.Chart(alt.NamedData("curves"))
    dashes = alt.Scale(domain=list(names), range=[style(name)[1] for name in names])
    band = base.mark_area(opacity=0.2, clip=True).encode(
        x=across, y=alt.Y("low:Q", title=y, scale=up), y2="high:Q", color=_colour(names, "stroke")
    )
    line = base.mark_line(strokeWidth=2, clip=True).encode(
        x=across,
        y=alt.Y("value:Q", title=y, scale=up),
        color=_colour(names, "stroke"),
        strokeDash=alt.StrokeDash("series:N", title=None, sort=list(names), scale=dashes),
        tooltip=tooltips(
            ("series", "Curve", ""),
            ("x", x, ",.0f"),
            ("value", y, ".4~g"),
            ("low", "Band from", ".4~g"),
            ("high", "to", ".4~g"),
        ),
    )
    return live_spec([band, line], HEIGHT)


def _colour(names: Sequence[str], symbol: str) -> alt.Color:
    legend = stroke_legend(legend_columns(4, 2), label_limit=200)
    legend.symbolType = symbol
    if symbol == "square":
        legend.symbolSize = 150
    scale = alt.Scale(domain=list(names), range=[style(name)[0] for name in names])
    return alt.Color("series:N", title=None, sort=list(names), scale=scale).legend(legend)


def all_rows(results: Results, statistic: str) -> list[tuple[str, Rows]]:
    """Return the points of all charts, by quantity."""
    return [
        ("meeting time", tau_rows(results.pairs)),
        (f"total variation bound, lag {results.lagged[0].lag}", bound_rows(results)),
        (f"mean of {statistic}, k = {results.pairs[0].k}", estimate_rows(results, statistic)),
        ("Hamming distance", distance_rows(results.pairs)),
        ("rejected proposals", rejected_rows(results.pairs)),
    ]
