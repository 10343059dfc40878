"""The chart of the Sample page: ISL curves, or differences from the best curve, at equal points."""

import math
from collections.abc import Sequence

import numpy as np

from rbmviz.charts import Chart, Rows, catalogue
from rbmviz.charts.ends import end_rows
from rbmviz.datasets import Dataset
from rbmviz.metrics import Kernel, principal_plane
from rbmviz.models import TrainingSetScore
from rbmviz.session import SamplingSnapshot
from rbmviz.session.equal_points import Compared, CostUnit
from rbmviz.session.isl_points import best, differences
from rbmviz.view.curves import MIN_CURVE_SAMPLES, CurveKind, isl_plot, score_rows
from rbmviz_app.compared import Curve, common_rows

DIFFERENCE_SPAN = 10
"""Differences begin at 1 / DIFFERENCE_SPAN of the common point: large early differences would flatten the
later ones and their bands."""

PLANE_SAMPLES = 300
"""Maximum number of each panel's samples, and of examples, in the plane of principal directions."""


def plane_chart(curves: Sequence[Curve], dataset: Dataset) -> Chart:
    """Return the chart of the newest samples of all curves, and of the data, in two directions."""
    drawn = []
    for curve in curves:
        newest = curve.snapshot.newest_samples
        v = np.unpackbits(newest.v, axis=1, count=newest.n_visible)[-PLANE_SAMPLES:]
        drawn.append((curve.name, v, np.arange(curve.snapshot.n - len(v), curve.snapshot.n)))
    rows = catalogue.plane_rows(dataset, drawn, PLANE_SAMPLES)
    return catalogue.plane([curve.style for curve in curves], principal_plane(dataset).shares).of(rows)


def reference_label(dataset: str, score: TrainingSetScore) -> str:
    """Return the label of the line at the training set's own score."""
    what = "the training set" if score.of_model else f"the training part of {dataset}"
    return f"{what}{', as means' if score.means else ''} ({score.n:,})"


def isl_chart(
    curves: Sequence[Curve],
    compared: Sequence[Compared],
    line: tuple[str, float] | None,
    cost_unit: CostUnit,
    kind: CurveKind,
    kernel: Kernel,
    present: bool = False,
) -> Chart:
    """Return the chart of all curves; ``compared`` is the common point of each.

    line : label and height of the training set's score, if known
    present : whether the chart is for a projector, beside the panels

    The plot does not depend on the rows, so that a live chart keeps its zoom while rows arrive.
    """
    rows: Rows = []
    both = list(zip(curves, compared, strict=True))
    if kind == "ISL":
        for curve in curves:
            rows += score_rows(curve.name, curve.snapshot, cost_unit, anew=True)
        point = next((panel.point for curve, panel in both if not curve.snapshot.past), None)
    else:
        line = None
        raced = [curve for curve, panel in both if not panel.catching_up]
        point = min((panel.point for _, panel in both if panel.point and not panel.catching_up), default=None)
        first = None if point is None else best([curve.snapshot for curve in raced], cost_unit, point)
        if first is not None:
            for curve in raced:
                rows += _difference_rows(curve, raced[first].snapshot, point, cost_unit)
    rows += end_rows(
        [(curve.name, curve.label) for curve in curves],
        rows,
        "sampler",
        catalogue.ISL_PLOT_HEIGHT,
        [line[1]] if line else [],
    )
    # After a turn of a knob, a panel's numbers are its own.
    with_turn = kind == "ISL" and any(curve.snapshot.past for curve in curves)
    who = "panels without a turn" if with_turn else "all"
    rows += common_rows(point, cost_unit, rows, log=True, who=who)
    return isl_plot(tuple(curve.style for curve in curves), cost_unit, kind, kernel, line, present).of(rows)


def _difference_rows(
    curve: Curve, against: SamplingSnapshot, common: float | None, cost_unit: CostUnit
) -> Rows:
    reliable = [
        difference
        for difference in differences(curve.snapshot, against, cost_unit)
        if min(difference.samples, difference.other_samples) >= MIN_CURVE_SAMPLES
    ]
    end = min(reliable[-1].point, common or math.inf) if reliable else 0.0
    return [
        {
            "kind": "point",
            "sampler": curve.name,
            "x": difference.point,
            "y": difference.difference,
            "low": difference.difference - 2 * difference.std_error,
            "high": difference.difference + 2 * difference.std_error,
            "n": difference.samples,
            "std_error": difference.std_error,
        }
        for difference in reliable
        if difference.point * DIFFERENCE_SPAN >= end
    ]
