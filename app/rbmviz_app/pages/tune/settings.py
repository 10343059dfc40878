"""The plan of a sweep: the address of the Tune page, and the controls that set it."""

from collections.abc import Sequence
from typing import Any, Literal

import streamlit as st

from rbmviz.knobs import Knob
from rbmviz.pages import PAGES, SettingSpec
from rbmviz.pages.settings import FreeText
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers
from rbmviz.sweeps import list_measures, measures
from rbmviz.sweeps.from_settings import KIND_OF, NO_AXIS, PARTS_OF_AXIS
from rbmviz.sweeps.measures import DEFAULT_MEASURES
from rbmviz.sweeps.plan import TABLES, Kind
from rbmviz.sweeps.scores import front_numbers, range_around, spacing_of
from rbmviz.trainers import list_trainers
from rbmviz_app import controls, session
from rbmviz_app.session import Entry, PageSettings

AXES_PUT_AWAY: Entry[dict[str, dict[str, Any]]] = Entry("axes put away", dict)
"""Values of the settings that name knobs, for the kind not tuned now, by kind (samplers, trainers)."""


Settings = PageSettings(
    {
        **PAGES["tune"].settings,
        "sweep": SettingSpec(
            "",
            FreeText(r"[\w.-]{0,100}"),
            "Sweep",
            "All sweeps of this server, the newest first. Sweeps stay on the server. Only the browser that "
            "started one can resume or delete it. Sweeps of your own files are visible to you only, and are "
            "deleted with the files.",
        ),
        "on": SettingSpec("", FreeText()),
    }
)
"""Settings of the plan; the displayed sweep ("" for the plan itself); the model of the last clicked cell."""


MORE_MEASURES = [
    name for name in list_measures("sampler") if name not in (*DEFAULT_MEASURES["sampler"], "beta")
]
"""Optional measures besides the ISL and the share of blank samples."""


def number_knobs(algorithms: Sequence[type]) -> dict[str, Knob]:
    """Return the numeric knobs of these algorithms by name, front knobs first."""
    knobs = {knob.name: knob for algorithm in algorithms[::-1] for knob in front_numbers(algorithm)}
    knobs.pop("iterations", None)  # for trainers, the length of a run sets it
    return dict(sorted(knobs.items(), key=lambda item: item[0] != "learning_rate"))


KNOBS_OF_KIND = (
    *(getattr(Settings, f"tune_{axis}{part}") for axis in "xy" for part in PARTS_OF_AXIS),
    Settings.tune_knobs,
)
"""Settings that name knobs, which differ between trainers and samplers."""


def exchange_axes() -> None:
    """Store the axes of the previous kind; restore the earlier axes of the new kind, or the defaults."""
    now = Settings.tune_what.value
    [before] = [what for what in KIND_OF if what != now]
    AXES_PUT_AWAY.ensure()[before] = {setting.key: setting.value for setting in KNOBS_OF_KIND}
    had = AXES_PUT_AWAY.value.get(now, {})
    session.show({setting.key: had.get(setting.key, setting.default) for setting in KNOBS_OF_KIND})
    fit_axes()


def choose_what() -> Kind:
    """Draw the choices of algorithms and of models or data to tune on; return the algorithms' kind."""
    kind = KIND_OF[controls.choose(Settings.tune_what, on_change=exchange_axes, label_visibility="collapsed")]
    if kind == "trainer":
        controls.data_set(Settings.tune_train_data, width=150, label_visibility="collapsed")
        labels = {name: TABLES[kind][name].label for name in list_trainers()}
        setting = Settings.tune_trainers
    else:
        controls.model_names(
            Settings.tune_models, width=292, placeholder="Choose a model", label_visibility="collapsed"
        )
        labels = {name: samplers[name].label for name in list_samplers()}
        setting = Settings.tune_samplers
    controls.several(
        setting,
        list(labels),
        width=182,
        placeholder=f"Choose a {kind}",
        label_visibility="collapsed",
        format_func=labels.__getitem__,
        on_change=fit_axes,
    )
    return kind


def tuned() -> list[type]:
    """Return the classes of the tuned algorithms."""
    kind = KIND_OF[Settings.tune_what.value]
    setting = Settings.tune_samplers if kind == "sampler" else Settings.tune_trainers
    return [TABLES[kind][name] for name in setting.value or setting.default]


def ends_of(axis: str, knob: Knob) -> dict[str, Any]:
    """Return the settings of an axis that depend on its knob, by name: its ends and spacing."""
    lo, hi = range_around(knob, float(knob.default))
    return {
        f"tune_{axis}_from": float(lo),
        f"tune_{axis}_to": float(hi),
        f"tune_{axis}_scale": spacing_of(knob),
    }


def fitting_axes() -> dict[str, Any]:
    """Return new settings, by name, for axes whose knob the algorithms lack; empty if nothing is wrong.

    Axes and algorithms may disagree after a change of algorithms, or in a wrong link.
    """
    algorithms = tuned()
    knobs = number_knobs(algorithms)
    front = [name for name, knob in knobs.items() if knob.front]
    # A sampler without the knob of the second axis gets one axis; trainers have two knobs that matter.
    is_trainer = KIND_OF[Settings.tune_what.value] == "trainer"
    second = front[1] if is_trainer and len(front) > 1 else NO_AXIS
    fitted: dict[str, Any] = {}
    if Settings.tune_x.value not in knobs:
        first = next(iter(knobs))
        fitted |= {"tune_x": first, **ends_of("x", knobs[first])}
    if Settings.tune_y.value not in (NO_AXIS, *knobs):
        fitted |= {"tune_y": second} | ({} if second == NO_AXIS else ends_of("y", knobs[second]))
    return fitted


def fit_axes() -> None:
    """Change axes whose knobs the tuned algorithms lack; called in callbacks."""
    if fitted := fitting_axes():
        session.show(fitted)


def choose_axes(kind: Kind) -> None:
    """Draw the choice of the axes, the length of a run, and the seeds."""
    knobs = number_knobs(tuned())
    _choose_axis("x", list(knobs), knobs)
    _choose_axis("y", [NO_AXIS, *knobs], knobs)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if kind == "trainer":
            controls.number(Settings.tune_updates, width=150)
            controls.number(Settings.tune_hidden, width=130)
        else:
            controls.number(Settings.tune_n, width=150)
            controls.choose(Settings.tune_unit)
        controls.number(Settings.tune_seeds, width=110)


def _choose_axis(axis: Literal["x", "y"], options: list[str], knobs: dict[str, Knob]) -> None:
    """Draw one axis: its knob, its ends, the number of its values, and how they are spaced."""
    knob, lo, hi, n, scale = (getattr(Settings, f"tune_{axis}{part}") for part in PARTS_OF_AXIS)

    def chosen() -> None:
        if knob.value in knobs:
            session.show(ends_of(axis, knobs[knob.value]))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = controls.select(
            knob,
            options,
            format_func=lambda name: knobs[name].label if name in knobs else name,
            help="The knob along this axis.",
            on_change=chosen,
            width=140,
        )
        off = name == NO_AXIS
        for end in (lo, hi):
            controls.number(end, disabled=off, width=90)
        controls.number(n, width=105, disabled=off)
        controls.choose(scale, disabled=off)


def choose_rest(kind: Kind) -> None:
    """Draw the rarely used settings."""
    controls.text(
        Settings.tune_knobs,
        placeholder="k=2,n_chains=10" if kind == "sampler" else "schedule=constant,batch_size=50",
        help=f"Fixed values of the other knobs, for all {kind}s that have them.",
    )
    if kind == "trainer":
        return
    controls.scored_data(Settings.tune_data)
    controls.choose(Settings.tune_kernel)
    controls.choose(Settings.tune_start)
    lines = [f"- **{name}**: {measures[name].label}. {measures[name].number.help}" for name in MORE_MEASURES]
    controls.several(
        Settings.tune_measures,
        MORE_MEASURES,
        help="\n".join(["Besides the ISL and the share of blank samples; each takes time.", "", *lines]),
        placeholder="nothing more",
    )
