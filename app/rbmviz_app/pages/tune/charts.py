"""Charts and tables of the Tune page: curves of cells, slices through the best cell, the map as a file."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rbmviz.charts import Chart, ChartAxis, Curves, Legend, Rows, Style, styled
from rbmviz.charts.style import RAMP
from rbmviz.knobs import value_text
from rbmviz.metrics.effort import Unit
from rbmviz.sweeps import Choice, ScoredSetting, measures
from rbmviz.sweeps.plan import TABLES, GridSetting
from rbmviz.sweeps.scores import SweepScores
from rbmviz.view.curves import cost_axis
from rbmviz_app.pages.tune.panel import axis_label, facet_title

SLICE_HEIGHT = 240

TABLE_COLUMNS = {
    "in_region": "Not told apart from the best",
    "tied": "Tied with the best",
    "mean": "Mean",
    "std_dev": "Spread over seeds",
    "difference": "Difference from the best",
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

Columns have the same names as in ``rbmviz sweep show --csv``."""


def name_of(scores: SweepScores, index: int) -> str:
    """Describe a setting: the values common to its facet, and its knobs along the first two axes."""
    setting, plan = scores.settings[index], scores.plan
    parts = [facet_title(plan, setting)] if facet_title(plan, setting) else []
    for axis, at in list(zip(plan.axes, setting.at, strict=True))[:2]:
        if at >= 0:
            parts.append(f"{plan.knob(axis.knob).label} {value_text(axis.values[at])}")
    return ", ".join(parts)


def table_rows(scores: SweepScores, choice: Choice) -> Rows:
    """Return a row for each setting that has reached the point, best first."""
    return [_table_row(scores, scored) for scored in choice.settings]


def _table_row(scores: SweepScores, scored: ScoredSetting) -> dict[str, Any]:
    setting = scores.settings[scores.index_of(scored)]
    row: dict[str, Any] = {"algorithm": setting.algorithm.partition(":")[0]}
    row |= {"model": setting.model} if setting.model else {}
    row |= _knob_columns(scores, setting)
    own = {name: getattr(scored, name) for name in TABLE_COLUMNS if hasattr(scored, name)}
    low, high = scored.interval
    own |= {
        "difference_error": scored.std_error,
        "difference_lo": low,
        "difference_hi": high,
        "seeds": len(scored.by_seed),
    }
    return row | {name: own[name] for name in TABLE_COLUMNS}


def _knob_columns(scores: SweepScores, setting: GridSetting) -> dict[str, Any]:
    """Return the knob values that distinguish settings of one algorithm: on the axes, and of other knobs."""
    axes = zip(scores.plan.axes, setting.at, strict=True)
    algorithm = TABLES[scores.plan.kind].read(setting.algorithm)
    others = {name: getattr(algorithm, name, None) for name in scores.plan.differing_knobs()}
    return {axis.knob: axis.values[at] for axis, at in axes if at >= 0} | others


def robust_rows(scores: SweepScores, point: float, cost_unit: Unit, by: str) -> Rows:
    """Return a row for each setting that all models have: mean and spread over models, and value by model."""
    settings = {setting.algorithm: setting for setting in reversed(scores.settings)}
    rows: Rows = []
    for robustness in scores.robustness(point, cost_unit, by):
        setting = settings[robustness.setting]
        row: dict[str, Any] = {"algorithm": setting.algorithm.partition(":")[0]}
        row |= _knob_columns(scores, setting)
        row |= {"mean": robustness.mean, "spread": robustness.spread, "worst": robustness.worst}
        rows.append(row | dict(zip(robustness.models, robustness.by_model, strict=True)))
    return rows


def curves_chart(
    scores: SweepScores, named: Mapping[int, str], cost_unit: Unit, by: str, point: float
) -> Chart:
    """Return the curves of some settings: means over seeds, with bands of one standard deviation.

    named : label of each setting, by its index
    """
    rows: Rows = []
    for index, name in named.items():
        for mean_point in scores.mean_curve(index, cost_unit, by):
            rows.append(
                {
                    "setting": name,
                    "x": mean_point.spent,
                    "y": mean_point.mean,
                    "low": mean_point.mean - mean_point.std_dev if mean_point.seeds > 1 else None,
                    "high": mean_point.mean + mean_point.std_dev if mean_point.seeds > 1 else None,
                    "kind": "point",
                }
            )
    rows.append({"kind": "common", "x": point, "note": "", "label": "", "side": "left"})
    return Curves(
        cost_axis(cost_unit, "log", X_WORDS[cost_unit]),
        ChartAxis("y", measures[by].number.label, domain=_range(rows)),
        "setting",
        styled(list(named.values()), [TONES[i % len(TONES)] for i in range(len(named))]),
        kinds=("common",),
        band=("low", "high"),
        legend=Legend(),
    ).of(rows)


def _range(rows: Rows) -> tuple[float, float] | None:
    """Return the range of the values and the ends of their bands."""
    ends = [row[name] for row in rows for name in ("y", "low", "high") if row.get(name) is not None]
    return (min(ends), max(ends)) if ends else None


X_WORDS = {
    "samples": "Samples",
    "updates": "Updates",
    "sweeps": "Gibbs sweeps of all chains",
    "seconds": "Seconds of computing per seed",
}


TONES = ("#0a67ce", "#bf6a0c", "#2c8a57", "#b0417f", "#6b6fc5", "#808080")
"""Colours of the compared settings; together with the dashes, they are safe for colour blindness."""


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
    for scored in choice.settings:
        setting = scores.settings[scores.index_of(scored)]
        alike = setting.number == best.number and setting.model == best.model
        if alike and all(at == best.at[i] for i, at in enumerate(setting.at) if i != axis):
            change, (low, high) = scored.difference, scored.interval
            rows.append(
                {
                    "x": float(values[setting.at[axis]]),
                    "y": change if math.isfinite(change) else scored.mean - choice.best.mean,
                    "low": None if math.isnan(low) else low,
                    "high": None if math.isnan(high) else high,
                    "kind": "point",
                    "best": scored is choice.best,
                }
            )
    rows += [row | {"kind": "mark", "mark": "diamond", "note": "the best"} for row in rows if row["best"]]
    knob = plan.knob(plan.axes[axis].knob)
    log, label, by = knob.scale == "log" and min(map(float, values)) > 0, axis_label(knob), choice.by
    return Curves(
        ChartAxis("x", label, "log" if log else "linear"),
        ChartAxis("y", f"{measures[by].number.label},\ndifference from the best", domain=_range(rows)),
        styles=(Style("", RAMP[0]),),
        kinds=("mark",),
        points=50,
        band=("low", "high"),
    ).of(sorted(rows, key=lambda row: float(row["x"])))


def chosen_names(scores: SweepScores, roles: Iterable[tuple[str, int | None]]) -> dict[int, str]:
    """Return the label of each setting in a chart, by index; a setting with two roles has both labels."""
    labels: dict[int, str] = {}
    for word, index in roles:
        if index is not None:
            labels[index] = f"{labels[index]}, {word}" if index in labels else word
    return {index: f"{words}: {name_of(scores, index)}" for index, words in labels.items()}
