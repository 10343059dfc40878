"""The map of the Tune page: the scores of a sweep's settings at one point of all curves."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rbmviz.knobs import Knob, knobs_of, value_text
from rbmviz.metrics.effort import Unit
from rbmviz.sweeps import Choice, SweepPlan, answer, measures
from rbmviz.sweeps.choose import MOSTLY_BLANK, undirected
from rbmviz.sweeps.plan import TABLES, GridSetting
from rbmviz.sweeps.scores import SweepScores, units_of
from rbmviz_app.component import component
from rbmviz_app.session import sent_by

ABOUT_MAP = (
    "Each cell is one setting; its colour is the mean score of its runs, one per seed, at the slider’s "
    "number of samples (or updates, sweeps, seconds). Crossed out: more than half of the samples are blank. "
    "The star marks the best mean. Hatched: tied with it, which means that with 95 % confidence they differ "
    "by no more than 1 % of the best score. A question mark: it cannot be told yet whether the cell is as "
    "good, and more seeds would decide. All others are worse: cells are judged together, by an analysis of "
    "variance of settings and seeds at 95 %. A gap separates the value 1 from those that approach it."
)

IS_KNOWN, IS_TIED, IS_BEST, IS_MOSTLY_BLANK, IS_UNSURE = 1, 2, 4, 8, 16
"""Bits of the state of a setting."""

NUMBERS_OF_CELLS = (
    *("mean", "std_dev", "difference", "std_error", "test", "test_std_dev", "blank", "seconds", "n"),
)
"""Numbers of each setting, as in ``ScoredSetting``."""

DIGITS_OF = {"isl": 1, "log_likelihood": 2, "switches": 0, "ess": 0}
"""Decimal places of a measure, by the prefix of its name; other measures are shares, with three places."""


class MapView(NamedTuple):
    """What the map shows: settings compared at ``point`` (a number of ``effort``) by a measure.

    setting : index of the setting that the page points at; None: of none
    """

    point: float
    effort: Unit
    by: str
    setting: int | None


def asked_view(scores: SweepScores, key: str) -> MapView:
    """Return what the map shows: what the visitor has asked for, or else all runs at their end.

    The point is moved by hand only: while cells fill, the scores are those at the end of the runs.
    """
    plan = scores.plan
    try:
        asked: dict[str, Any] = sent_by(key, "asked") or {}
    except (KeyError, AttributeError):  # not drawn yet
        asked = {}
    units = units_of(plan.kind)
    usual = plan.budget.unit if plan.budget.unit in units else units[0]
    effort: Any = asked.get("cost_unit", usual)
    effort = effort if effort in units else usual
    by: Any = asked.get("by")
    by = by if by in plan.metrics else plan.first_measure
    point, setting = asked.get("point"), asked.get("setting")
    ends = scores.range(effort)
    if not isinstance(point, int | float) or not math.isfinite(point) or point <= 0 or ends is None:
        point = scores.end(effort)
    elif ends is not None:
        point = min(max(float(point), ends[0]), max(ends[1], scores.end(effort)))
    known = isinstance(setting, int) and 0 <= setting < len(scores.settings)
    return MapView(point, effort, by, setting if known else None)


def axis_label(knob: Knob) -> str:
    """Return the title of an axis: the knob's label with its unit."""
    return f"{knob.label} ({knob.unit})" if knob.unit else knob.label


def facet_title(plan: SweepPlan, setting: GridSetting) -> str:
    """Describe the values that all cells of a facet share: sampler, model, and the knobs of further axes."""
    algorithm = TABLES[plan.kind].read(setting.algorithm)
    names = [text.partition(":")[0] for text in plan.algorithms]
    parts = [algorithm.label] if len(plan.algorithms) > 1 else []
    if names.count(algorithm.name) > 1:
        on_axis = [axis.knob for axis in plan.axes]
        knobs = knobs_of(algorithm)
        others = [name for name in plan.differing_knobs() if name in knobs and name not in on_axis]
        parts += [f"{knobs[name].label} {value_text(getattr(algorithm, name))}" for name in others]
        if not others:
            parts[0] += f" {names[: setting.number + 1].count(algorithm.name)}"
    parts += [setting.model] if len(plan.models) > 1 else []
    for axis, at in list(zip(plan.axes, setting.at, strict=True))[2:]:  # a plan of the command line
        if at >= 0:
            parts.append(f"{plan.knob(axis.knob).label} {value_text(axis.values[at])}")
    return ", ".join(parts)


def map_spec(plan: SweepPlan, settings: Sequence[GridSetting]) -> dict[str, Any]:
    """Return the cells of the map for the page, as JSON values; see ``MapData`` in panel.js."""

    def axis(i: int) -> dict[str, Any] | None:
        if i >= len(plan.axes):
            return None
        knob, values = plan.knob(plan.axes[i].knob), plan.axes[i].values
        before = values[-2:][0]
        apart = values[-1] == 1 and isinstance(before, float) and 0.99 <= before < 1
        return {"label": axis_label(knob), "values": [value_text(value) for value in values], "apart": apart}

    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, setting in enumerate(settings):
        groups.setdefault((setting.number, setting.model, setting.at[2:]), []).append(i)
    keys = sorted(groups, key=lambda key: (key[0], plan.models.index(key[1]) if key[1] else 0, key[2]))
    positions: list[tuple[int, int, int]] = [(0, 0, 0)] * len(settings)
    facets = []
    for facet, key in enumerate(keys):
        own = [(*settings[i].at[:2], 0, 0)[:2] for i in groups[key]]
        for i, (column, row) in zip(groups[key], own, strict=True):
            positions[i] = facet, column, row
        facets.append(
            {
                "title": facet_title(plan, settings[groups[key][0]]),
                "columns": sorted({column for column, _ in own}),
                "rows": sorted({row for _, row in own}),
            }
        )
    return {
        "x": axis(0) or {"label": "", "values": [""], "apart": False},
        "y": axis(1),
        "facets": facets,
        "positions": positions,
        "measures": [
            {
                "name": name,
                "label": measures[name].label,
                "short": measures[name].number.label,  # without the unit and the part of the data
                "help": measures[name].number.help,
                "better": measures[name].best,
                "digits": next((digits for begin, digits in DIGITS_OF.items() if name.startswith(begin)), 3),
            }
            for name in plan.metrics
        ],
        "blank": measures["blank"].number.label,
        "cost_units": list(units_of(plan.kind)),
    }


def verdict(scores: SweepScores, choices: Mapping[str, Choice], over: bool) -> str:
    """Say which settings are best, after how many samples, and how sure that is."""
    plan = scores.plan
    if not choices:
        return "" if over else "The best setting will be named here."
    parts = []
    for model, choice in choices.items():
        where = f"{model}: " if len(choices) > 1 else ""
        unit = "Gibbs sweeps" if choice.effort == "sweeps" else choice.effort
        n = len(choice.seeds)
        if n < 2:
            few = (
                "One seed cannot" if len(plan.seeds) == 1 else f"{n or 'No'} common seed so far: this cannot"
            )
            parts.append(f"{where}After {choice.point:,.6g} {unit}: {few} tell settings apart.")
            continue
        most = max(len(each.by_seed) for each in choice.settings)
        some = f" ({n}{f' to {most}' * (most > n)} of {len(plan.seeds)} seeds)" * (n < len(plan.seeds))
        sentence = answer(choice)
        parts.append(f"{where}After {choice.point:,.6g} {unit}{some}: {sentence[:1].lower()}{sentence[1:]}")
        if math.isfinite(choice.best.test) and "validation" in choice.by:
            label = measures[choice.by].number.label
            spread = f" ± {choice.best.test_std_dev:.1f}" if math.isfinite(choice.best.test_std_dev) else ""
            parts.append(f"Test {label} {choice.best.test:.1f}{spread}.".replace("-", "−"))
        parts += choice.border
    caveat = undirected(next(iter(choices.values())).by)
    return " ".join(filter(None, (caveat, *parts)))


def sweep_map(
    scores: SweepScores,
    view: MapView,
    choices: Mapping[str, Choice],
    *,
    title: str,
    status: str,
    progress: float,
    over: bool,
    telling: float | None,
    open_settings: Sequence[int | None],
    key: str,
    on_open: Callable[[int], None],
) -> None:
    """Draw the map of a sweep.

    choices : the comparison on each model at the map's point
    status, progress, over : a line on the state of the sweep, the share of its runs that have ended, and
        whether all have
    open_settings : indices of the settings open beside the map; None for a setting without a cell
    on_open : called with the index of a setting that is clicked
    """
    numbers: dict[str, list[float | None]] = {
        name: [None] * len(scores.settings) for name in NUMBERS_OF_CELLS
    }
    state = [0] * len(scores.settings)
    for choice in choices.values():
        for scored in choice.settings:
            i = scores.index_of(scored)
            for name in NUMBERS_OF_CELLS:
                value = float(getattr(scored, name))
                numbers[name][i] = float(f"{value:.6g}") if math.isfinite(value) else None
            state[i] = IS_KNOWN
            state[i] |= IS_TIED if scored.tied else 0
            state[i] |= IS_UNSURE if scored.unsure and (over or len(choice.seeds) > 1) else 0
            state[i] |= IS_BEST if scored is choice.best else 0
            state[i] |= IS_MOSTLY_BLANK if scored.blank > MOSTLY_BLANK else 0

    def opened() -> None:
        sent = sent_by(key, "open")
        if isinstance(sent, dict) and isinstance(i := sent.get("setting"), int) and 0 <= i < len(state):
            on_open(i)

    _map(
        key=key,
        data={
            **map_spec(scores.plan, scores.settings),
            **{"label": title, "about": ABOUT_MAP, "verdict": verdict(scores, choices, over)},
            **{"status": status, "progress": progress, "over": over, "telling": telling},
            **{
                "cost_unit": view.effort,
                "by": view.by,
                "point": view.point,
                "ends": scores.range(view.effort),
            },
            **{"open_settings": list(open_settings), "state": state, "numbers": numbers},
        },
        on_asked_change=lambda: None,
        on_open_change=opened,
    )


_map = component("tune", ["pages/tune/panel.js"], ["pages/tune/panel.css"])
