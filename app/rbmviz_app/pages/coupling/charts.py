"""Charts of the Coupling page; nothing here calls Streamlit."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rbmviz.charts import Bars, Chart, ChartAxis, Curves, Legend, Rows, Style, catalogue
from rbmviz.charts.style import GREY, colour
from rbmviz.coupling import ALGORITHM_LABELS, STATISTICS
from rbmviz.session import Results
from rbmviz.session.coupling import PairStatistics

NAMES = {name: label.capitalize() for name, label in ALGORITHM_LABELS.items()}
EXACT = "exact"
POINT_COLUMNS = ("series", "x", "value", "low", "high")
CURVE_POINTS = 60

BAR_MARGIN = 0.1
"""Gap on each side of a bin's bars, as a share of its width."""

STYLES = {
    style.name: style
    for style in (
        Style("Algorithm 3", colour("rbm")),
        Style("Algorithm 1", colour("general"), (6, 3)),
        Style("Half-step", colour("half_step"), (10, 3)),
        Style("UCD, algorithm 3", colour("rbm")),
        Style("UCD, algorithm 1", colour("general"), (6, 3)),
        Style("UCD, half-step", colour("half_step"), (10, 3)),
        Style("CD", colour("cd"), (2, 2)),
        Style(EXACT, GREY, (9, 2, 2, 2)),
    )
}
"""Styles of the series: one for each of NAMES, and one, "UCD, ...", for its estimates."""


def styles(names: Sequence[str]) -> tuple[Style, ...]:
    """Return the styles of series; CD-1, CD-2, ... are all CD."""
    return tuple(STYLES["CD" if name.startswith("CD-") else name]._replace(name=name) for name in names)


def tau_rows(pairs: Sequence[PairStatistics]) -> Rows:
    """Return the histogram of meeting times; see ``catalogue.meeting_time_rows``."""
    rows: Rows = []
    for counted in pairs:
        cut = counted.truncated_share, counted.max_sweeps
        rows += catalogue.meeting_time_rows(NAMES[counted.algorithm], *counted.tau_shares(), *cut)
    return rows


def tau_chart(pairs: Sequence[PairStatistics], log: bool) -> Chart:
    """Return the chart of meeting times."""
    named, most = styles([NAMES[counted.algorithm] for counted in pairs]), max(counted.n for counted in pairs)
    return catalogue.meeting_times(tau_rows(pairs), named, most, log, Legend())


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
                    "order": int(low),
                    "value": float(value),
                }
                for chain, value in zip(("ξ", "η"), both, strict=True)
            ]
    return rows


def rejected_chart(pairs: Sequence[PairStatistics]) -> Chart:
    """Return the chart of rejected proposals: in each bin, a bar for each chain of each coupling."""
    rows = rejected_rows(pairs)
    # Not all couplings have all bins.
    bins = tuple(label for _, label in sorted({(row["order"], row["x"]) for row in rows}))
    names = [NAMES[counted.algorithm] for counted in pairs]
    wide, drawn = (1 - 2 * BAR_MARGIN) / max(2 * len(names), 1), []
    for row in rows:
        bar = 2 * names.index(row["series"]) + "ξη".index(row["chain"])
        x = bins.index(row["x"]) + BAR_MARGIN + wide * bar
        who = f"{row['series']}, {row['chain']}"
        drawn.append(row | {"x": x, "x2": x + wide, "y2": 0.0, "bin": row["x"], "who": who})
    return Bars(
        ChartAxis("x", "Rejected proposals: pale ξ, dark η", names=bins),
        ChartAxis("value", "Share of chains", form="%", zero=True),
        "series",
        styles(names),
        (("who", "Chain", ""), ("bin", "Rejected proposals", "")),
        None,  # the histogram above has the legend
        ("chain", (("ξ", 0.45), ("η", 1.0))),
    ).of(drawn)


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
        t = times[times < len(results.exact)]
        exact = results.exact[t]
        rows += _rows(EXACT, t, exact, exact, exact)
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
        estimates = {f"UCD, {NAMES[counted.algorithm].lower()}": unbiased}
        if counted.algorithm == "rbm":  # CD-k uses only the first chain, whose law all couplings share
            estimates[f"CD-{counted.k}"] = plain
        for name, running in estimates.items():
            late = running.pairs >= 10
            pairs, mean, error = (x[late] for x in running)
            rows += _rows(name, pairs, mean, mean - 2 * error, mean + 2 * error)
            most = max([most, *pairs])
    if results.truth is not None:
        value = np.full(2, results.truth[STATISTICS.index(statistic)])
        rows += _rows(EXACT, np.array([10, most]), value, value, value)
    return rows


def bound_chart(results: Results, log: bool = False) -> Chart:
    """Return the chart of ``bound_rows``."""
    names = [*NAMES.values(), *([EXACT] if results.exact_possible else [])]
    title = "Total variation distance, at most"
    return line_chart(bound_rows(results, log), names, "Gibbs sweeps", title, kind="symlog", log=log)


def estimate_chart(results: Results, statistic: str) -> Chart:
    """Return the chart of ``estimate_rows``."""
    names = [*(f"UCD, {name.lower()}" for name in NAMES.values()), f"CD-{results.pairs[0].k}"]
    names += [EXACT] if results.truth is not None else []
    rows = estimate_rows(results, statistic)
    return line_chart(rows, names, "Pairs", f"Mean of: {statistic}", domain=(0, 1))


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
    """Return a chart of lines with bands.

    names : all series that may appear, in order, so that the spec stays the same when one appears
    x, y : axis titles; kind : scale of x, "log" or "symlog" (which has a zero)
    log : whether y has a log scale; domain : range of y, or None for the range of the curves
    """
    counts = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)
    return Curves(
        ChartAxis("x", x, kind, ticks=counts if kind == "symlog" else 0),
        ChartAxis("value", y, "log" if log else "linear", domain=domain),
        "series",
        styles(names),
        band=("low", "high"),
        legend=Legend(),
    ).of(rows)
