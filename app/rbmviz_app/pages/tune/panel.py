"""The map of the Tune page: the scores of a sweep's settings at one point of all curves."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbmviz.charts.style import RAMP
from rbmviz.knobs import Knob, knobs_of, value_text
from rbmviz.metrics.numbers import Number
from rbmviz.session.sweep_view import MAP_ARRAYS, MAP_KEY, MapSnapshot, SweepView, units_of
from rbmviz.sweeps import SweepPlan, measures
from rbmviz.sweeps.plan import TABLES, GridSetting
from rbmviz.view.formulas import prose
from rbmviz_app.messages import without_commands
from rbmviz_app.panel import Canvas, OnEvent
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.requests import FrameRequest

ABOUT_MAP = (
    "Each cell is one setting; its colour is the mean score of its runs, one per seed, at the slider’s "
    "number of samples (or updates, sweeps, seconds). In crossed-out cells more than half of the samples "
    "are blank. Hatched cells are statistically tied with the best: the 95 % interval of the difference, "
    "paired over the seeds, contains zero. The star marks the best mean; chance may have picked it among the "
    "hatched cells. The grid is wide enough if the best setting is inside it or at the limit of a knob. A "
    "gap separates the value 1 from those that approach it. A dot marks running cells."
)

VALUES_OF_MAP = (
    *("sweep_status", "seconds_left", "cost_unit", "by", "point", "ends", "telling", "moved", "seeds"),
    "border",
)
"""Fields of the snapshot that are entries of ``MapHead`` in panel.js."""

DIGITS_OF = {"isl": 1, "log_likelihood": 2, "switches": 0, "ess": 0}
"""Decimal places of a measure, by the prefix of its name; other measures are shares, with three places."""


def readouts(algorithm: Any, plan: Any) -> Sequence[Number]:
    """Return no readouts: the map draws its own numbers."""
    return ()


@frame_encoder(MapSnapshot, readouts, ("map",))
def encode(snapshot: MapSnapshot, request: FrameRequest, client: ClientState) -> PanelContent:
    """Encode all numbers of all settings; a frame is made only if something has changed."""
    values = {name: getattr(snapshot, name) for name in VALUES_OF_MAP}
    values |= {"error": without_commands(snapshot.error or ""), "progress": round(snapshot.progress, 4)}
    blocks = {name: getattr(snapshot, name) for name in MAP_ARRAYS} | {"state": snapshot.state}
    return PanelContent(values, blocks, client)


_canvas = Canvas(Path(__file__).parent)


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
    for axis, at in list(zip(plan.axes, setting.at, strict=True))[2:]:
        if at >= 0:
            parts.append(f"{plan.knob(axis.knob).label} {value_text(axis.values[at])}")
    return ", ".join(parts)


def map_spec(
    plan: SweepPlan,
    settings: Sequence[GridSetting],
    open_settings: Sequence[int | None],
) -> dict[str, Any]:
    """Return the description of the map for the page, as JSON values; see ``MapSpec`` in panel.js."""

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
        "measures": [measure_spec(name) for name in plan.metrics],
        "blank": measures["blank"].number.label,
        "cost_units": list(units_of(plan.kind)),
        "seeds": len(plan.seeds),
        "runs": plan.size,
        "open_settings": list(open_settings),
    }


def short_label(by: str) -> str:
    """Return the label of a measure without the unit and the part of the data."""
    return measures[by].number.label


def measure_spec(name: str) -> dict[str, Any]:
    """Return the format of a measure: label, short label, which values are better, digits."""
    measure = measures[name]
    digits = next((digits for begin, digits in DIGITS_OF.items() if name.startswith(begin)), 3)
    return {
        "name": name,
        "label": measure.label,
        "short": short_label(name),
        "help": measure.number.help,
        "better": measure.best,
        "digits": digits,
    }


def sweep_map(
    view: SweepView,
    url: str,
    *,
    title: str,
    open_settings: Sequence[int | None],
    present: bool,
    key: str,
    on_edit: OnEvent,
) -> None:
    """Draw the map of a sweep; a click on a cell is an edit, ``{"setting": index}``.

    open_settings : indices of the settings open beside the map; None for a setting without a cell
    """
    plan = view.sweep.plan
    spec = {
        "key": MAP_KEY,
        "label": title,
        "about": prose(ABOUT_MAP),
        "equation": [],
        "colour": RAMP[0],
        "dash": [],
        "knobs": [],
        "values": {},
        "readouts": [],
        "multiples": [],
    }
    _canvas.mount(
        [spec],
        url=url,
        view="map",
        n_visible=1,
        shape=(1, 1),
        present=present,
        key=key,
        on={"edit": on_edit},
        map=map_spec(plan, view.sweep.scores.settings, open_settings),
    )
