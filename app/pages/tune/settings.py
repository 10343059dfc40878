"""The plan of a sweep: what the address of the Tune page says, and the controls that set it."""

from collections.abc import Sequence
from typing import Any, Literal

import streamlit as st

from rbmviz import BadInput
from rbmviz.datasets import list_datasets
from rbmviz.knobs import Knob, knobs_of
from rbmviz.metrics import Kernel
from rbmviz.models import list_models
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers
from rbmviz.session import Start
from rbmviz.session.sweep_view import front_numbers, range_around
from rbmviz.session.sweeps import MAX_SAMPLES_OF_CELL
from rbmviz.sweeps import Axis, Budget, SweepPlan, list_measures, measures
from rbmviz.sweeps.measures import DEFAULT_MEASURES
from rbmviz.sweeps.plan import Unit, knob_named
from rbmviz_app import controls, links
from rbmviz_app.session import Setting
from rbmviz_app.shared import pretrained_line

AUTOMATIC_DATA = "automatic"
NO_AXIS = "none"
RUN_UNITS: tuple[Unit, ...] = ("samples", "sweeps", "seconds")
SCALES = ("log", "linear")
MAX_SIDE = 40
"""Values of one axis."""
MAX_SEEDS_OF_SWEEP = 20

Scale = Literal["log", "linear"]


class Settings:
    """What the address of this page says besides the sweep on the screen and its chains."""

    tune_models: Setting[list[str]] = Setting(["mnist_fpcd"])
    tune_samplers: Setting[list[str]] = Setting(["rates_fpcd"])
    tune_data = Setting(AUTOMATIC_DATA)
    tune_x = Setting("eps")
    tune_x_from = Setting(0.001)
    tune_x_to = Setting(1.0)
    tune_x_n = Setting(7)
    tune_x_scale: Setting[Scale] = Setting("log")
    tune_y = Setting("alpha")
    tune_y_from = Setting(0.8)
    tune_y_to = Setting(1.0)
    tune_y_n = Setting(5)
    tune_y_scale: Setting[Scale] = Setting("linear")
    tune_n = Setting(10_000)
    tune_unit: Setting[Unit] = Setting("samples")
    tune_seeds = Setting(5)
    tune_kernel: Setting[Kernel] = Setting("binary")
    tune_start: Setting[Start] = Setting("data")
    tune_measures: Setting[list[str]] = Setting([])
    tune_knobs = Setting("")
    tune_speed: Setting[float] = Setting(60)


MORE_MEASURES = [
    name for name in list_measures("sampler") if name not in (*DEFAULT_MEASURES["sampler"], "beta")
]
"""What is measured beside the ISL and the blank samples, if somebody wants it."""


def several(
    setting: Setting[list[str]], label: str, options: Sequence[str], help: str, **more: Any
) -> list[str]:
    """Draw a list from which several can be chosen."""
    return st.multiselect(label, options, default=setting.default, help=help, **setting.bound, **more)


def number_knobs(names: Sequence[str]) -> dict[str, Knob]:
    """Return the knobs that are numbers of these samplers by name, those in front first."""
    return {knob.name: knob for name in names[::-1] for knob in front_numbers(samplers[name])}


def choose_what() -> list[str]:
    """Draw the choice of models and samplers; return the samplers."""
    shipped = sorted(list_models(), key=lambda name: (name != "mnist_fpcd", name))
    lines = [f"- **{name}**: {pretrained_line(name)}" for name in shipped]
    labels = [f"- **{name}**: {samplers[name].label}" for name in list_samplers()]
    several(
        Settings.tune_models,
        "Models",
        shipped,
        "\n".join(["The trained RBMs that are sampled; several are side by side.", "", *lines]),
        width=190,
        placeholder="Choose a model",
    )
    return several(
        Settings.tune_samplers,
        "Samplers",
        list_samplers(),
        "\n".join(["What is tuned; several are side by side, with one colour scale.", "", *labels]),
        width=190,
        placeholder="Choose a sampler",
    )


def choose_axes(names: Sequence[str]) -> None:
    """Draw the choice of the two axes, the length of a run, and the seeds."""
    known = number_knobs(names)
    _choose_axis("x", "Across", list(known), known)
    _choose_axis("y", "Up", [NO_AXIS, *known], known)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        controls.number(
            Settings.tune_n,
            "Length of a run",
            1,
            MAX_SAMPLES_OF_CELL,
            "Of each setting with each seed. The map can be seen at every shorter length.",
            width=150,
        )
        controls.choose(
            Settings.tune_unit,
            "Unit",
            RUN_UNITS,
            "Equal samples; or equal sweeps, if samplers spend several on a sample; or seconds of computing.",
        )
        controls.number(
            Settings.tune_seeds,
            "Seeds",
            1,
            MAX_SEEDS_OF_SWEEP,
            "Each setting runs once with each seed, from the same starts: only differences over seeds say "
            "what can be told apart. Five are few, one says nothing.",
            width=110,
        )


def _choose_axis(axis: Literal["x", "y"], label: str, options: list[str], known: dict[str, Knob]) -> None:
    """Draw one axis: its knob, its ends, the number of its values, and how they are spaced."""
    knob, lo, hi, n, scale = (getattr(Settings, f"tune_{axis}{part}") for part in PARTS_OF_AXIS)

    def chosen() -> None:
        now = known.get(knob.value)
        if now is not None:
            ends = range_around(now, float(now.default))
            lo.set(float(ends[0]))
            hi.set(float(ends[1]))
            scale.set(now.scale)

    asked = knob.chosen if knob.chosen is not None else next(iter(links.values(knob.key)), knob.default)
    if asked not in options:  # another sampler has been chosen, which does not have this knob
        knob.set(options[0])
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
        controls.number(n, "Values", 1, MAX_SIDE, "Number of values on this axis.", width=105, disabled=off)
        controls.choose(scale, "Spacing", SCALES, "Equal ratios, or equal steps.", disabled=off)


PARTS_OF_AXIS = ("", "_from", "_to", "_n", "_scale")


def choose_rest() -> None:
    """Draw what changes rarely."""
    st.text_input(
        "Other knobs",
        max_chars=200,
        placeholder="k=2,n_chains=10",
        help="Values of knobs that are no axis, for all samplers that have them.",
        **Settings.tune_knobs.bound,
    )
    controls.select(
        Settings.tune_data,
        "Score against",
        [AUTOMATIC_DATA, *list_datasets()],
        "Settings are chosen on its validation part, and the best one is reported on its test part; "
        "automatic takes the model's own.",
    )
    controls.choose(
        Settings.tune_kernel,
        "ISL kernel",
        ("binary", "mean"),
        "Kernels on the 0/1 samples, or on their means: smoother, higher, and slow to compute.",
    )
    controls.choose(
        Settings.tune_start,
        "Start from",
        ("data", "random"),
        "Held-out examples, the same for all settings with one seed; or random bits.",
    )
    lines = [f"- **{name}**: {measures[name].label}" for name in MORE_MEASURES]
    several(
        Settings.tune_measures,
        "Measure also",
        MORE_MEASURES,
        "\n".join(["Beside the ISL and the share of blank samples; each takes time.", "", *lines]),
        placeholder="nothing more",
    )


def with_knobs(names: Sequence[str], text: str) -> list[str]:
    """Return each sampler with those of these knobs, ``k=2,n_chains=10``, that it has.

    Raises
    ------
    BadInput
        If no sampler has a knob.
    """
    pairs = [pair.strip() for pair in text.split(",") if pair.strip()]
    for pair in pairs:
        knob_named(pair.partition("=")[0].strip(), [samplers[name] for name in names])
    own = {
        name: [p for p in pairs if p.partition("=")[0].strip() in knobs_of(samplers[name])] for name in names
    }
    return [f"{name}:{','.join(own[name])}".removesuffix(":") for name in names]


def plan_of() -> SweepPlan:
    """Return the plan that the controls say.

    Raises
    ------
    BadInput
        If there is none, in one sentence.
    """
    names = Settings.tune_samplers.value
    chosen = [samplers[name] for name in names]
    if not names or not Settings.tune_models.value:
        raise BadInput("Choose at least one model and one sampler.")
    axes = []
    for axis in ("x", "y"):
        knob, lo, hi, n, scale = (getattr(Settings, f"tune_{axis}{part}").value for part in PARTS_OF_AXIS)
        if knob != NO_AXIS:
            axes.append(Axis.spaced(knob_named(knob, chosen), lo, hi, n, scale))
    unit, data = Settings.tune_unit.value, Settings.tune_data.value
    return SweepPlan(
        algorithms=tuple(with_knobs(names, Settings.tune_knobs.value)),
        axes=tuple(axes),
        models=tuple(Settings.tune_models.value),
        data="" if data == AUTOMATIC_DATA else data,
        seeds=tuple(range(Settings.tune_seeds.value)),
        budget=Budget(unit, Settings.tune_n.value),
        metrics=(*DEFAULT_MEASURES["sampler"], *Settings.tune_measures.value),
        kernel=Settings.tune_kernel.value,
        start=Settings.tune_start.value,
    )
