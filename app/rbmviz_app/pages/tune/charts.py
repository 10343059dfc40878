"""Charts and tables of the Tune page: curves of cells, slices through the best cell, the map as a file."""

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from rbmviz.session.equal_points import CostUnit
from rbmviz.session.sweep_scores import SweepScores
from rbmviz.sweeps import Choice, ScoredSetting, measures
from rbmviz.sweeps.choose import MOSTLY_BLANK
from rbmviz.sweeps.plan import TABLES, GridSetting
from rbmviz_app.charts.style import (
    DASHES,
    GREY,
    RAMP,
    Chart,
    Rows,
    Spec,
    count_axis,
    kept_spec,
    live_spec,
    tooltips,
)
from rbmviz_app.pages.tune.panel import axis_label, facet_title, knob_of_plan, short_label, value_text

CURVE_HEIGHT = 300
SLICE_HEIGHT = 240

TABLE_COLUMNS = {
    "cannot_be_told_from_the_best": "Like the best",
    "mean": "Mean",
    "std_dev": "Spread over seeds",
    "difference": "Minus the best",
    "difference_error": "Standard error",
    "difference_lo": "95 % from",
    "difference_hi": "95 % to",
    "test": "Test part",
    "test_std_dev": "Test spread",
    "test_point_error": "Error over test points",
    "blank": measures["blank"].label,
    "n": "Samples",
    "sweeps": "Gibbs sweeps",
    "seconds": "Seconds",
    "seeds": "Seeds",
}
"""Columns after the knobs in the table of all settings, with their titles for a sweep of samplers.

Columns that compare with the best have the same names as in ``rbmviz sweep show --csv``."""


def name_of(scores: SweepScores, index: int) -> str:
    """Describe a setting: what its facet has in common, and its knobs along the first two axes."""
    setting, plan = scores.settings[index], scores.plan
    parts = [facet_title(plan, setting)] if facet_title(plan, setting) else []
    for axis, at in list(zip(plan.axes, setting.at, strict=True))[:2]:
        if at >= 0:
            parts.append(f"{knob_of_plan(plan, axis.knob).label} {value_text(axis.values[at])}")
    return ", ".join(parts)


def table_rows(scores: SweepScores, choice: Choice) -> Rows:
    """Return a row for each setting that has reached the point, best first."""
    return [_table_row(scores, one, scores.index_of(one)) for one in choice.settings]


def _table_row(scores: SweepScores, one: ScoredSetting, index: int) -> dict[str, Any]:
    setting = scores.settings[index]
    row: dict[str, Any] = {"algorithm": setting.algorithm.partition(":")[0]}
    row |= {"model": setting.model} if setting.model else {}
    row |= _knob_columns(scores, setting)
    own = {name: getattr(one, name) for name in TABLE_COLUMNS if hasattr(one, name)}
    low, high = one.interval
    own |= {
        "cannot_be_told_from_the_best": one.in_region,
        "difference_error": one.std_error,
        "difference_lo": low,
        "difference_hi": high,
        "seeds": len(one.by_seed),
    }
    return row | {name: own[name] for name in TABLE_COLUMNS}


def _knob_columns(scores: SweepScores, setting: GridSetting) -> dict[str, Any]:
    """Return the values that distinguish settings of one algorithm: along the axes, and of other knobs."""
    axes = zip(scores.plan.axes, setting.at, strict=True)
    algorithm = TABLES[scores.plan.kind].read(setting.algorithm)
    others = {name: getattr(algorithm, name, None) for name in scores.others}
    return {axis.knob: axis.values[at] for axis, at in axes if at >= 0} | others


def robust_rows(scores: SweepScores, point: float, cost_unit: CostUnit, by: str) -> Rows:
    """Return a row for each setting that all models have: mean and spread over models, and each value."""
    settings = {one.algorithm: one for one in reversed(scores.settings)}
    rows: Rows = []
    for one in scores.robustness(point, cost_unit, by):
        setting = settings[one.setting]
        row: dict[str, Any] = {"algorithm": setting.algorithm.partition(":")[0]}
        row |= _knob_columns(scores, setting)
        row |= {"mean": one.mean, "spread": one.spread, "worst": one.worst}
        rows.append(row | dict(zip(one.models, one.by_model, strict=True)))
    return rows


def curves_chart(
    scores: SweepScores, named: Mapping[int, str], cost_unit: CostUnit, by: str, point: float
) -> Chart:
    """Return the curves of some settings: means over seeds, with bands of one standard deviation.

    named : label of each setting, by its index
    """
    rows: Rows = []
    for index, name in named.items():
        for one in scores.mean_curve(index, cost_unit, by):
            rows.append(
                {
                    "setting": name,
                    "x": one.spent,
                    "y": one.mean,
                    "low": one.mean - one.std_dev if one.seeds > 1 else None,
                    "high": one.mean + one.std_dev if one.seeds > 1 else None,
                    "seeds": one.seeds,
                    "point": point,
                }
            )
    data = pd.DataFrame(rows, columns=["setting", "x", "y", "low", "high", "seeds", "point"])
    return data, _curves_spec(tuple(named.values()), cost_unit, by)


X_WORDS = {
    "samples": "Samples",
    "updates": "Updates",
    "sweeps": "Gibbs sweeps of all chains",
    "seconds": "Seconds of computing, a seed",
}


@kept_spec
def _curves_spec(names: tuple[str, ...], cost_unit: CostUnit, by: str) -> Spec:
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X("x:Q", title=X_WORDS[cost_unit], scale=alt.Scale(type="log", nice=False)).axis(
            count_axis(cost_unit == "seconds")
        ),
        color=_tones(names, "setting"),
    )
    y = alt.Y("y:Q", title=short_label(by), scale=alt.Scale(zero=False))
    line = base.mark_line(strokeWidth=2, interpolate="monotone").encode(
        y=y,
        strokeDash=alt.StrokeDash(
            "setting:N",
            title=None,
            sort=list(names),
            scale=alt.Scale(domain=list(names), range=_dashes(names)),
        ),
        tooltip=tooltips(
            ("setting", "Setting", ""),
            ("x", X_WORDS[cost_unit], "," if cost_unit != "seconds" else "~g"),
            ("y", measures[by].label, ".2f"),
            ("seeds", "Seeds", ""),
        ),
    )
    band = base.mark_area(opacity=0.15, interpolate="monotone").encode(y=alt.Y("low:Q"), y2="high:Q")
    rule = (
        alt.Chart(alt.NamedData("curves"))
        .transform_aggregate(point="max(point)")
        .mark_rule(color=GREY, strokeDash=[2, 3])
        .encode(x="point:Q")
    )
    return live_spec([rule, band, line], CURVE_HEIGHT)


def _dashes(names: Sequence[str]) -> list[list[int]]:
    return [list(DASHES[i % len(DASHES)]) for i in range(len(names))]


TONES = ("#0a67ce", "#bf6a0c", "#2c8a57", "#b0417f", "#6b6fc5", "#808080")
"""Colours of the compared settings; with their dashes, distinguishable with colour blindness."""


LEGEND_LETTERS = 36
"""Characters in a line of a legend that fit a chart on a phone."""


def _broken(names: Sequence[str]) -> str:
    """Return an expression that wraps the labels of a legend."""
    lines = {name: textwrap.wrap(name, LEGEND_LETTERS) for name in names}
    return f"({json.dumps(lines)})[datum.label]"


def _tones(names: Sequence[str], field: str) -> alt.Color:
    scale = alt.Scale(domain=list(names), range=[TONES[i % len(TONES)] for i in range(len(names))])
    legend = alt.Legend(
        orient="top",
        columns=1,
        labelExpr=_broken(names),
        labelLimit=0,
        symbolType="stroke",
        symbolOpacity=1,
        symbolStrokeWidth=3,
        symbolSize=600,
    )
    return alt.Color(f"{field}:N", title=None, sort=list(names), scale=scale, legend=legend)


def slice_chart(scores: SweepScores, choice: Choice, axis: int) -> Chart | None:
    """Return the slice through the best cell along one axis: differences from it, with 95 % intervals.

    None if the sweep has no such numeric axis, or the best cell's sampler lacks this knob.
    """
    plan, best = scores.plan, scores.settings[scores.index_of(choice.best)]
    if axis >= len(plan.axes) or best.at[axis] < 0:
        return None
    values = plan.axes[axis].values
    if any(isinstance(value, str | bool) for value in values) or len(values) < 2:
        return None
    rows: Rows = []
    for one in choice.settings:
        setting = scores.settings[scores.index_of(one)]
        alike = setting.number == best.number and setting.model == best.model
        if alike and all(at == best.at[i] for i, at in enumerate(setting.at) if i != axis):
            low, high = one.interval
            rows.append(
                {
                    "x": float(values[setting.at[axis]]),
                    "y": one.difference if math.isfinite(one.difference) else one.mean - choice.best.mean,
                    "low": None if math.isnan(low) else low,
                    "high": None if math.isnan(high) else high,
                    "mean": one.mean,
                    "best": one is choice.best,
                    "blank": one.blank > MOSTLY_BLANK,
                }
            )
    knob = knob_of_plan(plan, plan.axes[axis].knob)
    log = knob.scale == "log" and min(float(value) for value in values) > 0
    data = pd.DataFrame(sorted(rows, key=lambda row: row["x"]))
    return data, _slice_spec(axis_label(knob), log, choice.by)


@kept_spec
def _slice_spec(label: str, log: bool, by: str) -> Spec:
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X(
            "x:Q",
            title=label,
            scale=alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=False),
            axis=alt.Axis(format="~g", grid=False, tickCount=8),
        )
    )
    y = alt.Y("y:Q", title=[f"{short_label(by)},", "minus the best"], scale=alt.Scale(zero=True))
    known = tooltips(("x", label, "~g"), ("mean", measures[by].label, ".2f"), ("y", "Minus the best", "+.2f"))
    known += tooltips(("low", "95 % from", "+.2f"), ("high", "to", "+.2f"))
    return live_spec(
        [
            base.mark_area(opacity=0.18, color=RAMP[0], interpolate="monotone").encode(
                y=alt.Y("low:Q"), y2="high:Q"
            ),
            base.mark_line(color=RAMP[0], strokeWidth=2, interpolate="monotone").encode(y=y),
            base.mark_point(color=RAMP[0], filled=True, size=50, opacity=1).encode(
                y=y,
                shape=alt.condition("datum.best", alt.value("diamond"), alt.value("circle")),
                tooltip=known,
            ),
        ],
        SLICE_HEIGHT,
    )


def chosen_names(scores: SweepScores, shown: Iterable[tuple[str, int | None]]) -> dict[int, str]:
    """Return the label of each setting in a chart, by index; a setting with two roles has both labels."""
    found: dict[int, str] = {}
    for word, index in shown:
        if index is not None:
            found[index] = f"{found[index]}, {word}" if index in found else word
    return {index: f"{words}: {name_of(scores, index)}" for index, words in found.items()}
