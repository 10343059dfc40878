"""Charts shared by pages and ``rbmviz.plot``, each with the plot of its rows."""

from collections.abc import Mapping, Sequence

import numpy as np

from rbmviz.charts.axes import ChartAxis, Legend, Style
from rbmviz.charts.bars import Bars
from rbmviz.charts.curves import Curves, Kind, Level
from rbmviz.charts.plot import Chart, Rows
from rbmviz.charts.style import GREY
from rbmviz.datasets import Dataset
from rbmviz.metrics.numbers import ISL_OF_SAMPLES, NUMBERS
from rbmviz.metrics.pca import evenly, principal_plane

ISL_PLOT_HEIGHT, TRAINING_PLOT_HEIGHT = 240, 220
"""Approximate height of the area between the axes, in pixels."""

SCORE_TIPS = (
    ("sampler", "Sampler", ""),
    ("n", "Samples", ","),
    ("n_scored", "Samples scored", ","),
    ("sweeps", "Sweeps", ","),
    ("isl", ISL_OF_SAMPLES.titled(), ".2f"),
    ("std_error", "Standard error", ".2f"),
    ("beta", NUMBERS["sample"]["beta"].label, ".3f"),
    ("seconds", "Seconds in the sampler", ".3f"),
)

UPPER_BOUND_LABEL = "the data themselves"
"""Label of the line that no likelihood curve can cross."""

DATA = Style("data", GREY)
"""Style of the examples behind samples."""


def isl_curves(
    x: ChartAxis,
    y: str,
    styles: tuple[Style, ...],
    tips: tuple[tuple[str, str, str], ...] = SCORE_TIPS,
    kinds: tuple[Kind, ...] = ("past", "mark", "common", "end"),
    band: tuple[str, str] | None = None,
    line: tuple[str, float] | None = None,
) -> Curves:
    """Return the plot of ISL curves; y : title; line : label and height of the training set's score."""
    levels = () if line is None else (Level(line[1], line[0]),)
    return Curves(
        *(x, ChartAxis("y", y), "sampler", styles, tips, kinds),
        line="monotone",
        band=band,
        levels=levels,
        height=320,
    )


def training_curves(
    x: ChartAxis,
    styles: tuple[Style, ...],
    title: str,
    levels: Sequence[tuple[str, float]] = (),
    log: bool = False,
) -> Curves:
    """Return the plot of trainers' curves, with bands; levels : label and height of reference lines."""
    return Curves(
        x,
        ChartAxis("y", title, "log" if log else "linear", nice=True),
        "trainer",
        styles,
        (
            ("trainer", "Trainer", ""),
            ("update", "Updates", ","),
            ("value", title, ".4~g"),
            ("low", "Band from", ".4~g"),
            ("high", "to", ".4~g"),
            ("sweeps", "Sweeps of all chains", ",.0f"),
            ("seconds", "Seconds in the trainer", ".2f"),
        ),
        ("mark", "common", "end"),
        band=("low", "high"),
        # Curves rise from the line of independent pixels to the other line.
        levels=tuple(Level(height, label, label != UPPER_BOUND_LABEL) for label, height in levels),
    )


def distributions(
    styles: tuple[Style, ...],
    x: str,
    y: str,
    series: str,
    whole: bool = False,
    legend: Legend | None = None,
    height: int = 200,
) -> Curves:
    """Return the plot of histograms, one outline for each series.

    x, y : titles; whole : whether values are whole numbers that span decades
    """
    return Curves(
        ChartAxis("x", x, "log" if whole else "linear", "~s", nice=False, ticks=6),
        ChartAxis("share", y, form="~%", zero=True, ticks=4),
        series,
        styles,
        (
            (series, series.capitalize(), ""),
            ("x", "From", ".4~g"),
            ("x2", "to below" if whole else "to", ".4~g"),
            ("share", "Share", ".3~%"),
        ),
        line="step-after",
        band=("floor", "share"),
        legend=legend,
        height=height,
    )


def energies(styles: Sequence[Style], named: Mapping[str, np.ndarray]) -> tuple[Chart | None, list[str]]:
    """Return histograms of free energies (n,), by name, with the outer 1 % in the outer bins, and medians."""
    named = {name: found for name, found in named.items() if len(found)}
    if not named:
        return None, []
    lo, hi = np.quantile(np.concatenate(list(named.values())), (0.005, 0.995))
    edges, rows = np.linspace(lo, max(hi, lo + 1e-6), 41), []
    for name, found in named.items():
        shares = [*np.histogram(found.clip(lo, hi), edges)[0] / len(found), 0.0]
        for x, x2, share in zip(edges, [*edges[1:], edges[-1]], shares, strict=True):
            rows.append({"series": name, "x": x, "x2": x2, "share": share, "floor": 0.0})
    plot = distributions(tuple(styles), "Free energy (nats)", "Share", "series", legend=Legend())
    medians = (f"{name} {np.median(found):.1f}".replace(" -", " −") for name, found in named.items())
    return plot.of(rows), [f"Median free energy (the lower, the likelier an image): {'; '.join(medians)}."]


def meeting_time_rows(name: str, edges: np.ndarray, shares: np.ndarray, cut: float, max_sweeps: int) -> Rows:
    """Return a histogram of meeting times: shares of pairs that met at sweeps x to x2, inclusive.

    The last bin holds the share ``cut`` of pairs cut off before they met: it starts at x, and x2 is "".
    """
    rows: Rows = []
    for low, high, share in zip(edges.tolist(), edges[1:].tolist(), shares.tolist(), strict=False):
        label = f"τ = {low}" if high == low + 1 else f"τ from {low:,} to {high - 1:,}"
        rows.append({"series": name, "x": low, "x2": high - 1, "value": share, "label": label})
    label = f"not met in {max_sweeps:,} sweeps"
    return [*rows, {"series": name, "x": max_sweeps + 1, "x2": "", "value": cut, "label": label}]


def meeting_times(rows: Rows, styles: tuple[Style, ...], pairs: int, log: bool, legend: Legend) -> Chart:
    """Return the chart of these rows (``meeting_time_rows``); pairs : maximum number in a series."""
    names, drawn = [style.name for style in styles], []
    for row in rows:
        begin, end = row["x"], row["x2"]
        # A small gap separates the bin of the pairs that were cut off.
        low, high = (begin, end + 1) if end else (1.1 * begin, 1.6 * begin)
        # The bars of the series are side by side in a bin, with a small gap to the next bin.
        i = names.index(row["series"])
        x, x2 = (low * (high / low) ** (0.92 * part / len(names)) for part in (i, i + 1))
        drawn.append(row | {"x": x, "x2": x2})
    floor = 10.0 ** np.floor(np.log10(1 / max(1, pairs))) if log else 0.0
    return Bars(
        ChartAxis("x", "Meeting time τ (sweeps)", "log", "~s", ticks=6),
        ChartAxis(
            *("value", "Share of pairs", "log" if log else "linear", "~%"),
            nice=True,
            zero=True,
            ticks=tuple(10.0**-i for i in range(6)) if log else 5,
        ),
        "series",
        styles,
        (("series", "Coupling", ""), ("label", "Pairs with", ""), ("value", "Share", ".3~%")),
        legend,
    ).of([row | {"y2": floor} for row in drawn if row["value"] > 0])


def plane_rows(data: Dataset, named: Sequence[tuple[str, np.ndarray, np.ndarray]], n: int) -> Rows:
    """Return at most n examples of the data, and samples (name, bits, numbers), in the plane of the data."""
    examples = evenly(len(data.train), n)
    drawn = [(DATA.name, data.train[examples], examples), *named]
    to_plane, rows = principal_plane(data).project, []
    for name, v, numbers in drawn:
        for (x, y), number in zip(to_plane(v).tolist(), numbers.tolist(), strict=True):
            rows.append({"sampler": name, "x": x, "y": y, "n": number, "sampled": name is not DATA.name})
    return rows


def plane(styles: Sequence[Style], shares: np.ndarray, legend: Legend | None = None) -> Curves:
    """Return the plot of rows in the first two principal directions, above the data.

    shares : share of the data's variance in each direction
    """
    x, y = (
        ChartAxis(field, f"Component {number} ({share:.0%} of variance)", "linear", "~g", ticks=6)
        for field, number, share in zip("xy", (1, 2), shares, strict=True)
    )
    return Curves(
        *(x, y, "sampler", (DATA, *styles)),
        tips=(("sampler", "Sampler", ""), ("n", "Sample", ",")),
        line="",
        points=22,
        pale="sampled",
        legend=legend,
        height=320,
    )
