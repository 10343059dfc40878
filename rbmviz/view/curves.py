"""The ISL curves of a page: their points, marks and plot."""

from collections.abc import Mapping
from typing import Literal

from rbmviz.charts import ChartAxis, Curves, Rows, Style, catalogue
from rbmviz.charts.curves import Kind
from rbmviz.knobs import Value, knobs_of, value_text
from rbmviz.metrics import Kernel
from rbmviz.samplers import Sampler
from rbmviz.session import RunHistory, SamplingSnapshot
from rbmviz.session.equal_points import CostUnit

MIN_CURVE_SAMPLES = 5
"""Number of samples at a curve's first point."""

AXIS_TITLES: dict[CostUnit, str] = {
    "samples": "Samples",
    "updates": "Updates",
    "sweeps": "Sweeps of all chains",
    "seconds": "Seconds of computing",
}
"""Title of a chart's x axis, by the unit in which runs are compared."""

CurveKind = Literal["ISL", "difference to the best"]
"""ISL itself, or ISL minus the best panel's."""


def cost_axis(cost_unit: CostUnit, scale: Literal["linear", "log"], title: str = "") -> ChartAxis:
    """Return the axis of the cost of runs; title : "" (the default): the usual one."""
    unit = "s" if cost_unit == "seconds" else ""
    title = title or AXIS_TITLES[cost_unit]
    return ChartAxis("x", title, scale, "~s", unit, zero=scale == "linear", ticks=8)


def isl_plot(
    styles: tuple[Style, ...],
    cost_unit: CostUnit = "samples",
    kind: CurveKind = "ISL",
    kernel: Kernel = "binary",
    line: tuple[str, float] | None = None,
    present: bool = False,
) -> Curves:
    """Return the plot of the curves; see ``isl_chart`` of the Sample page."""
    of_means = " of means" if kernel == "mean" else ""
    what = f"Indirect sampling likelihood{of_means} (nats)"
    if kind != "ISL":
        what = f"ISL{of_means} minus the best (nats)"
    # In presentations, the panels beside the chart show the same strokes, and large names.
    ends: tuple[Kind, ...] = () if present else ("end",)
    return catalogue.isl_curves(
        cost_axis(cost_unit, "log"),
        what,
        styles,
        catalogue.SCORE_TIPS if kind == "ISL" else difference_tips(cost_unit),
        ("past", "mark", "common", *ends),
        None if kind == "ISL" else ("low", "high"),
        line,
    )


def difference_tips(cost_unit: CostUnit) -> tuple[tuple[str, str, str], ...]:
    """Return the tooltip of a difference from the best."""
    return (
        ("sampler", "Sampler", ""),
        ("x", AXIS_TITLES[cost_unit], "," if cost_unit != "seconds" else "~g"),
        ("y", "Difference (nats)", "+.2f"),
        ("std_error", "Its standard error", ".2f"),
    )


def score_rows(
    name: str, run: SamplingSnapshot | RunHistory, cost_unit: CostUnit = "samples", anew: bool = False
) -> Rows:
    """Return the points of a run's curve, one piece for each setting of its knobs.

    anew : whether each piece begins at its own first sample, as its scores do, and the ends of earlier pieces
        say their settings; else the pieces follow each other, with a mark at each turn
    """
    segments = run.segments
    rows: Rows = []
    for change, segment in enumerate(segments):
        for point in segment.curve:
            if point.n >= MIN_CURVE_SAMPLES:
                spent = segment.begin.plus(point.spent)
                costs = {"n": spent.samples, "sweeps": spent.sweeps, "seconds": spent.seconds}
                at = getattr(point.spent if anew else spent, cost_unit)
                kind = "past" if change < len(segments) - 1 else "point"
                scores = {"isl": point.isl, "std_error": point.std_error, "beta": point.beta}
                row = {"kind": kind, "x": at, "y": point.isl, "sampler": name, "change": change}
                rows.append(row | costs | scores | {"n_scored": point.n})
    ends = {row["change"]: row for row in rows}  # the last point before each turn
    for change, segment in enumerate(segments[1:]):
        if change not in ends:
            continue
        if anew:
            ends[change]["setting"] = knobs_text(run.algorithm, segment.before)
        else:
            note = f"from here on: {knobs_text(run.algorithm, segment.turned)}"
            rows.append(
                {**ends[change], "kind": "mark", "mark": "diamond", "n": segment.begin.samples, "note": note}
            )
    return rows


def knobs_text(algorithm: Sampler, turned: Mapping[str, Value]) -> str:
    """Describe the new values of turned knobs."""
    knobs = knobs_of(algorithm)
    if not turned:
        return "all knobs as before"
    return ", ".join(f"{knobs[name].label} {value_text(value)}" for name, value in turned.items())
