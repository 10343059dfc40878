"""The chart of the Sample page: ISL curves, or differences from the best curve, at equal points."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import altair as alt
import pandas as pd

from rbmviz.metrics import Kernel
from rbmviz.metrics.numbers import ISL_OF_SAMPLES, NUMBERS
from rbmviz.models import TrainingSetScore
from rbmviz.session import Comparison, SamplingSetup, SamplingSnapshot
from rbmviz.session.comparison import Pin
from rbmviz.session.equal_points import Compared, CostUnit
from rbmviz.session.isl_points import best, differences
from rbmviz.session.snapshot import Segment
from rbmviz_app.charts.ends import common_layers, common_rows, end_layers, end_rows
from rbmviz_app.charts.style import (
    DASHES,
    GREY,
    Chart,
    Rows,
    Spec,
    colours,
    count_axis,
    dashes,
    kept_spec,
    labels,
    level,
    live_spec,
    titles,
    tooltips,
)
from rbmviz_app.compared import AXIS_TITLES, amount_text
from rbmviz_app.pages.sample.panel import knobs_text

CURVE_COLUMNS = (
    *("sampler", "n", "seconds", "isl", "std_error", "beta", "sweeps"),
    *("change", "n_scored"),
)
"""Columns of a point: cost of the whole run, turns of knobs so far, samples scored since the last turn."""
MIN_CURVE_SAMPLES = 5
"""Number of the sample at which a curve begins."""

DIFFERENCE_SPAN = 10
"""Differences begin at 1 / DIFFERENCE_SPAN of the common point: large early differences would flatten the
later ones and their bands."""

CurveKind = Literal["ISL", "difference to the best"]
"""ISL itself, or ISL minus the best panel's."""

ISL_HEIGHT = 320
PLOT_HEIGHT = 240
"""Approximate height of the area between the axes of that chart, in pixels."""
DATA_COLUMNS = (
    *("kind", "sampler", "x", "y", "low", "high", "label", "label_y", "note", "side"),
    *("n", "sweeps", "seconds", "isl", "std_error", "beta", "change", "n_scored"),
)
"""Columns of the chart's data. kind: "point" of a curve since the last turn of a knob, "past" point before
it, "end" of a curve with its label, "change" of knobs, "common" point."""


class Curve(NamedTuple):
    """One curve of the chart: its full and short name, its style, and the run; pinned or live."""

    name: str
    label: str
    colour: str
    dash: tuple[int, ...]
    shown: SamplingSnapshot
    pinned: bool = False


def pinned_name(setting: str, model: str, seed: int, shown: SamplingSnapshot) -> str:
    """Return the name for a newly pinned run; runs on other models of the same data may appear beside it."""
    return f"{setting}, {model}, seed {seed}, pinned at {amount_text('samples', shown.n)}"


def pins_of(comparison: Comparison[SamplingSetup]) -> list[Pin]:
    """Return the pinned runs that were scored in the same way as the page's runs."""
    now = comparison.setup
    return [
        pin
        for pin in comparison.pins
        if pin.setup.dataset is now.dataset and pin.setup.kernel == now.kernel and pin.snapshot.curve
    ]


def curves_of(comparison: Comparison[SamplingSetup], shown: Sequence[SamplingSnapshot]) -> list[Curve]:
    """Return the curves of all panels, given their snapshots, and of pinned runs."""
    algorithms = [one.algorithm for one in shown]
    styles = zip(
        titles(algorithms),
        labels(algorithms),
        colours(algorithms),
        dashes([one.name for one in algorithms]),
        shown,
        strict=True,
    )
    live = [Curve(name, label, tone, tuple(dash), one) for name, label, tone, dash, one in styles]
    pinned = [
        Curve(pin.name, f"pinned {i}", GREY, tuple(DASHES[i % len(DASHES)]), pin.snapshot, True)
        for i, pin in enumerate(pins_of(comparison), start=1)
    ]
    return live + pinned


def curve_rows(named: Iterable[tuple[str, SamplingSnapshot]]) -> Rows:
    """Return all points of all ISL curves, with each run's newest value at the end."""
    return [row for name, snapshot in named for row in _rows_of(name, snapshot.segments)]


def _rows_of(name: str, segments: Sequence[Segment]) -> Iterator[dict[str, Any]]:
    for change, segment in enumerate(segments):
        for point in segment.curve:
            spent = segment.begin.plus(point.spent)
            yield {
                "sampler": name,
                "n": spent.samples,
                "seconds": spent.seconds,
                "isl": point.isl,
                "std_error": point.std_error,
                "beta": point.beta,
                "sweeps": spent.sweeps,
                "change": change,
                "n_scored": point.n,
            }


def reference_label(dataset: str, score: TrainingSetScore) -> str:
    """Return the label of the line at the training set's own score."""
    what = "the training set itself" if score.of_model else f"the training part of {dataset}"
    return f"{what} ({score.n:,} examples)"


def isl_chart(
    curves: Sequence[Curve],
    compared: Sequence[Compared],
    line: tuple[str, float] | None,
    cost_unit: CostUnit,
    kind: CurveKind,
    kernel: Kernel,
    present: bool = False,
) -> Chart:
    """Return the chart of all curves; ``compared`` is the common point of the live ones, which come first.

    line : label and height of the training set's score, if known
    present : whether the chart is for a projector, beside the panels

    The spec does not depend on the rows, so that a live chart keeps its zoom while rows arrive.
    """
    first = best(compared) if kind != "ISL" else None
    if kind == "ISL":
        rows = [row for curve in curves for row in _score_rows(curve, cost_unit)]
    else:
        rows, line = [], None
        if first is not None:
            late = {curve.name for curve, one in zip(curves, compared, strict=False) if one.catching_up}
            against = curves[first].shown, compared[first].point
            for curve in curves:
                if curve.name not in late:
                    rows += _difference_rows(curve, *against, cost_unit)
    rows += end_rows(
        [(curve.name, curve.label) for curve in curves],
        rows,
        "sampler",
        PLOT_HEIGHT,
        [line[1]] if line else [],
    )
    if kind == "ISL":  # over all samples of a run; curves of turned panels begin elsewhere
        unturned = [one for one, curve in zip(compared, curves, strict=False) if not curve.shown.past]
        who = "all" if len(unturned) == len(compared) else "panels without a turn"
        rows += common_rows(unturned, rows, log=True, who=who)
    else:
        rows += common_rows(compared, rows, log=True)
    data = pd.DataFrame(rows, columns=list(DATA_COLUMNS))
    styles = tuple((curve.name, curve.label, curve.colour, curve.dash, curve.pinned) for curve in curves)
    return data, _isl_spec(styles, line, cost_unit, kind, kernel, present)


def _score_rows(curve: Curve, cost_unit: CostUnit) -> Rows:
    """Return the points of a curve over all samples of its run, with a mark at each turn of a knob."""
    segments, x = curve.shown.segments, "n" if cost_unit == "samples" else cost_unit
    rows: Rows = []
    for row in _rows_of(curve.name, segments):
        if row["n_scored"] >= MIN_CURVE_SAMPLES:
            kind = "past" if row["change"] < len(curve.shown.past) else "point"
            rows.append({"kind": kind, "x": row[x], "y": row["isl"], **row})
    ends = {row["change"]: row for row in rows}  # the last point before each turn
    for change, segment in enumerate(segments[1:]):
        if change in ends:
            note = f"from here on: {knobs_text(curve.shown.algorithm, segment.turned)}"
            rows.append({**ends[change], "kind": "change", "n": segment.begin.samples, "note": note})
    return rows


def _difference_rows(
    curve: Curve, against: SamplingSnapshot, common: float | None, cost_unit: CostUnit
) -> Rows:
    found = [
        one
        for one in differences(curve.shown, against, cost_unit)
        if min(one.samples, one.other_samples) >= MIN_CURVE_SAMPLES
    ]
    # A pinned run may have ended much earlier.
    end = min(found[-1].point, common or math.inf) if found else 0.0
    return [
        {
            "kind": "point",
            "sampler": curve.name,
            "x": one.point,
            "y": one.difference,
            "low": one.difference - 2 * one.std_error,
            "high": one.difference + 2 * one.std_error,
            "n": one.samples,
            "std_error": one.std_error,
        }
        for one in found
        if one.point * DIFFERENCE_SPAN >= end
    ]


@kept_spec
def _isl_spec(
    styles: tuple[tuple[str, str, str, tuple[int, ...], bool], ...],
    line: tuple[str, float] | None,
    cost_unit: CostUnit,
    kind: CurveKind,
    kernel: Kernel,
    present: bool,
) -> Spec:
    names = [name for name, *_ in styles]
    tone = alt.Color("sampler:N", legend=None, sort=names)
    tone = tone.scale(domain=names, range=[colour for _, _, colour, _, _ in styles])
    dash = alt.StrokeDash("sampler:N", legend=None, sort=names)
    dash = dash.scale(domain=names, range=[list(dash) for _, _, _, dash, _ in styles])
    x = alt.X("x:Q", title=AXIS_TITLES[cost_unit], scale=alt.Scale(type="log", nice=False))
    x = x.axis(count_axis(cost_unit == "seconds"))
    title = ISL_OF_SAMPLES.label if kernel == "binary" else f"{ISL_OF_SAMPLES.label} of means"
    title += " (nats per test example)" if kind == "ISL" else " minus the best (nats)"
    y = alt.Y("y:Q", title=title, scale=alt.Scale(zero=False))

    def of(kind: str) -> alt.Chart:
        return alt.Chart(alt.NamedData("curves")).transform_filter(f"datum.kind == '{kind}'").encode(x=x)

    score = [
        ("sampler", "Sampler", ""),
        ("n", "Samples", ","),
        ("n_scored", "Samples scored", ","),
        ("sweeps", "Sweeps", ","),
        ("isl", ISL_OF_SAMPLES.titled(), ".2f"),
        ("std_error", "Standard error", ".2f"),
        ("beta", NUMBERS["sample"]["beta"].label, ".3f"),
        ("seconds", "Seconds in the sampler", ".3f"),
    ]
    difference = [
        ("sampler", "Sampler", ""),
        ("x", AXIS_TITLES[cost_unit], "," if cost_unit != "seconds" else "~g"),
        ("y", "Difference (nats)", "+.2f"),
        ("std_error", "Its standard error", ".2f"),
    ]
    curves = of("point").mark_line(interpolate="monotone", strokeWidth=2)
    known = tooltips(*(score if kind == "ISL" else difference))
    curves = curves.encode(y=y, color=tone, strokeDash=dash, tooltip=known)
    changes = of("change").mark_point(shape="diamond", filled=True, opacity=1, size=90)
    change = tooltips(("sampler", "Sampler", ""), ("note", "Knobs", ""), ("n", "Samples", ","))
    changes = changes.encode(y=y, color=tone, tooltip=change)
    past = of("past").mark_line(interpolate="monotone", strokeWidth=2, opacity=0.6)
    past = past.encode(y=y, color=alt.value(GREY), strokeDash=dash, detail="change:N", tooltip=known)
    layers: list[Any] = [*common_layers(of), curves, past, changes]
    if not present:  # the panels beside it show the same strokes, and large names
        layers += end_layers(of, y, tone, "Sampler")
    if kind != "ISL":
        band = of("point").mark_area(interpolate="monotone", opacity=0.15, tooltip=None)
        layers.insert(0, band.encode(y=alt.Y("low:Q"), y2="high:Q", color=tone))
    if line is not None:
        layers += level("isl", line[1], line[0])
    return live_spec(layers, ISL_HEIGHT)
