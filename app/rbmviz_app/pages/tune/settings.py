"""The plan of a sweep: what the address of the Tune page says, and the controls that set it."""

from collections.abc import Sequence
from typing import Any, Literal

import streamlit as st

from rbmviz.knobs import Knob, knobs_of
from rbmviz.metrics import Kernel
from rbmviz.models import data_of, list_models
from rbmviz.pages import PAGES
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers
from rbmviz.session import SamplingSetup, Start
from rbmviz.session.sweep_view import front_numbers, range_around
from rbmviz.sweeps import list_measures, measures
from rbmviz.sweeps.from_settings import AUTOMATIC_DATA, KIND_OF, NO_AXIS, PARTS_OF_AXIS, algorithms_of
from rbmviz.sweeps.measures import DEFAULT_MEASURES
from rbmviz.sweeps.plan import TABLES, Kind
from rbmviz.trainers import list_trainers
from rbmviz_app import controls, links
from rbmviz_app.session import ALLOWANCE, AXES_PUT_AWAY, PageSettings, Setting, is_stale, keep_hidden
from rbmviz_app.shared import data, pretrained_line

Scale = Literal["log", "linear"]


Settings = PageSettings(PAGES["tune"].settings)


MORE_MEASURES = [
    name for name in list_measures("sampler") if name not in (*DEFAULT_MEASURES["sampler"], "beta")
]
"""What is measured beside the ISL and the blank samples, if somebody wants it."""


def several(
    setting: Setting[list[str]], label: str, options: Sequence[str], help: str, **more: Any
) -> list[str]:
    """Draw a list from which several can be chosen."""
    return st.multiselect(label, options, default=setting.default, help=help, **setting.bound, **more)


def number_knobs(algorithms: Sequence[type]) -> dict[str, Knob]:
    """Return the knobs that are numbers of these algorithms by name, those in front first."""
    found = {knob.name: knob for one in algorithms[::-1] for knob in front_numbers(one)}
    found.pop("iterations", None)  # of trainers: the length of a run gives it
    return dict(sorted(found.items(), key=lambda item: item[0] != "learning_rate"))


OF_SAMPLERS = (
    *(Settings.tune_models, Settings.tune_samplers, Settings.tune_n, Settings.tune_unit, Settings.tune_data),
    *(Settings.tune_kernel, Settings.tune_start, Settings.tune_measures),
)
OF_TRAINERS = (Settings.tune_trainers, Settings.tune_train_data, Settings.tune_updates, Settings.tune_hidden)
"""Settings that are drawn only while samplers, or trainers, are tuned."""


KNOBS_OF_KIND = (
    *(getattr(Settings, f"tune_{axis}{part}") for axis in "xy" for part in PARTS_OF_AXIS),
    *(Settings.tune_z, Settings.tune_z_values, Settings.tune_knobs),
)
"""Settings that name knobs, and so mean another thing for trainers than for samplers."""


def exchange_axes() -> None:
    """Put away the axes of what was tuned; bring back those that what is tuned now had, or the defaults.

    A callback of the choice.
    """
    now = Settings.tune_what.value
    [before] = [what for what in KIND_OF if what != now]
    AXES_PUT_AWAY.ensure()[before] = {setting.key: setting.value for setting in KNOBS_OF_KIND}
    had = AXES_PUT_AWAY.value.get(now, {})
    for setting in KNOBS_OF_KIND:
        setting.set(had.get(setting.key, setting.default))


def choose_what() -> tuple[Kind, list[str]]:
    """Draw the choice of what is tuned, and on which models or data; return its kind, and names."""
    what = controls.choose(Settings.tune_what, on_change=exchange_axes)
    kind = KIND_OF[what]
    keep_hidden(OF_SAMPLERS if kind == "trainer" else OF_TRAINERS)
    if kind == "trainer":
        controls.select(Settings.tune_train_data, width=150)
        known = {name: TABLES[kind][name].label for name in list_trainers()}
        setting = Settings.tune_trainers
    else:
        shipped = sorted(list_models(), key=lambda name: (name != "mnist_fpcd", name))
        lines = [f"- **{name}**: {pretrained_line(name)}" for name in shipped]
        several(
            Settings.tune_models,
            "Models",
            shipped,
            "\n".join(["The trained RBMs that are sampled; several are side by side.", "", *lines]),
            width=190,
            placeholder="Choose a model",
        )
        known = {name: samplers[name].label for name in list_samplers()}
        setting = Settings.tune_samplers
    labels = [f"- **{name}**: {label}" for name, label in known.items()]
    chosen = several(
        setting,
        what.title(),
        list(known),
        "\n".join(["What is tuned; several are side by side, with one colour scale.", "", *labels]),
        width=190,
        placeholder=f"Choose a {kind}",
    )
    return kind, chosen


def choose_axes(kind: Kind, names: Sequence[str]) -> None:
    """Draw the choice of the axes, the length of a run, and the seeds."""
    default = Settings.tune_samplers.default if kind == "sampler" else Settings.tune_trainers.default
    algorithms = list(algorithms_of(kind, names or default).values())
    known = number_knobs(algorithms)
    front = [name for name, knob in known.items() if knob.front]
    _choose_axis("x", "Across", list(known), known, next(iter(known)))
    # A sampler without the knob of the second axis has one; trainers have two that matter.
    second = front[1] if kind == "trainer" and len(front) > 1 else NO_AXIS
    _choose_axis("y", "Up", [NO_AXIS, *known], known, second)
    _choose_facets([name for one in algorithms for name in knobs_of(one)])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if kind == "trainer":
            controls.number(Settings.tune_updates, width=150)
            controls.number(Settings.tune_hidden, width=130)
        else:
            controls.number(Settings.tune_n, width=150)
            controls.choose(Settings.tune_unit)
        controls.number(Settings.tune_seeds, width=110)


def _choose_facets(names: Sequence[str]) -> None:
    """Draw the third axis: a knob whose values are maps side by side."""
    options = [NO_AXIS, *dict.fromkeys(name for name in names if name != "iterations")]
    asked = Settings.tune_z.chosen
    if asked is not None and asked not in options:  # another sampler has been chosen
        Settings.tune_z.set(NO_AXIS)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Side by side",
            options,
            help="A third knob: a map for each of its values.",
            width=140,
            **Settings.tune_z.bound,
        )
        st.text_input(
            "Its values",
            max_chars=200,
            placeholder="1,5,25",
            disabled=Settings.tune_z.value == NO_AXIS,
            help="Listed, as 1,5,25; or from, to and how many, as 0.01:1:3.",
            width=220,
            **Settings.tune_z_values.bound,
        )


def _choose_axis(
    axis: Literal["x", "y"], label: str, options: list[str], known: dict[str, Knob], fallback: str
) -> None:
    """Draw one axis: its knob, its ends, the number of its values, and how they are spaced.

    fallback : knob of the axis where the chosen algorithms do not have the one that was set
    """
    knob, lo, hi, n, scale = (getattr(Settings, f"tune_{axis}{part}") for part in PARTS_OF_AXIS)

    def chosen() -> None:
        if is_stale(knob.key):  # no choice: the browser does not know yet of the one that a preset has made
            return
        now = known.get(knob.value)
        if now is not None:
            ends = range_around(now, float(now.default))
            lo.set(float(ends[0]))
            hi.set(float(ends[1]))
            scale.set(now.scale)

    asked = knob.chosen if knob.chosen is not None else next(iter(links.values(knob.key)), knob.default)
    if asked not in options:  # another sampler has been chosen, which does not have this knob
        knob.set(fallback)
        chosen()
    # Streamlit writes what the list says into the address: names, not labels.
    lines = [f"- **{name}**: {one.label}" for name, one in known.items()]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            label,
            options,
            index=options.index(knob.default) if knob.default in options else 0,
            help="\n".join(["The knob along this axis.", "", *lines]),
            on_change=chosen,
            width=140,
            **knob.bound,
        )
        off = knob.value == NO_AXIS
        for end, word in ((lo, "From"), (hi, "To")):
            st.number_input(
                word, value=end.default, format="%g", step=None, disabled=off, width=90, **end.bound
            )
        controls.number(n, width=105, disabled=off)
        controls.choose(scale, disabled=off)


def choose_rest(kind: Kind) -> None:
    """Draw what changes rarely."""
    st.text_input(
        "Other knobs",
        max_chars=200,
        placeholder="k=2,n_chains=10" if kind == "sampler" else "schedule=constant,batch_size=50",
        help=f"Values of knobs that are no axis, for all {kind}s that have them.",
        **Settings.tune_knobs.bound,
    )
    if kind == "trainer":
        return
    controls.select(Settings.tune_data)
    controls.choose(Settings.tune_kernel)
    controls.choose(Settings.tune_start)
    lines = [f"- **{name}**: {(one := measures[name]).label}. {one.number.help}" for name in MORE_MEASURES]
    several(
        Settings.tune_measures,
        "Measure also",
        MORE_MEASURES,
        "\n".join(["Beside the ISL and the share of blank samples; each takes time.", "", *lines]),
        placeholder="nothing more",
    )


def chains_setup(model_name: str, data_choice: str, start: Start, kernel: Kernel, seed: int) -> SamplingSetup:
    """Return the setup of chains: those of the page are runs of the cells, from the same starts."""
    model = controls.model_called(model_name)
    chosen = None if data_choice in (AUTOMATIC_DATA, "") else data_choice
    dataset, _ = controls.data_or_reason(data_of, model, chosen, data)
    return SamplingSetup(model, dataset, seed, start, kernel, ALLOWANCE.ensure())
