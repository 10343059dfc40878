"""Samplers side by side on one model, live."""

import math
from typing import NamedTuple, get_args

import streamlit as st

from app import controls, messages
from app.charts.samples import mosaics_png, samples_help, samples_npz
from app.controls import Download, data_or_reason
from app.page import LivePage, Transport, below_panels, draw_chart
from app.pages.sample.charts import View, curves_of, isl_chart, pinned_name, pins_of, reference_label
from app.pages.sample.exports import curves_csv, snippet
from app.pages.sample.panel import sample_grid
from app.panel import shape_of
from app.session import ALLOWANCE, Setting
from app.shared import data, pretrained, training_part_isl
from app.timer import every_second
from rbmviz import Model
from rbmviz.datasets import Dataset, list_datasets
from rbmviz.metrics import Kernel
from rbmviz.models import data_of, training_set_score
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers, make_sampler
from rbmviz.session import Comparison, SamplingSetup, Start
from rbmviz.session.equal_points import EFFORTS, Effort

TITLE, ICON, PLACE = "Sample", "grid_view", 1
AUTOMATIC = "automatic"
GRIDS = (6, 8, 10, 12)
KERNELS: tuple[Kernel, ...] = ("binary", "mean")
VIEWS: tuple[View, ...] = get_args(View)
BANDS = (
    "ISL minus that of the panel that is best at the common point; higher is better. Bands are two standard "
    "errors of the difference, paired over the test images (in 100 groups): they say what other test images "
    "could change, not what another run of the chains could."
)
"""What the difference says, below its chart."""
STARTS: tuple[Start, ...] = ("data", "random")
DEFAULT_PANELS = ["gibbs", "rates_fpcd", "rates_herding", "sample_penalization"]


class Settings:
    """What the address of this page says besides its panels, by name, with today's defaults."""

    model = Setting("mnist_fpcd")
    data = Setting(AUTOMATIC)
    kernel: Setting[Kernel] = Setting("binary")
    start: Setting[Start] = Setting("data")
    seed = Setting(0)
    view = Setting("sequence")
    pixels = Setting("binary")
    cells = Setting(10)
    axis: Setting[Effort] = Setting("samples")  # what panels are compared at equal numbers of
    curve: Setting[View] = Setting("ISL")
    speed: Setting[float] = Setting(60)


class Preset(NamedTuple):
    """A preset: a model, panels and a speed that show one thing, and what to look for."""

    label: str
    caption: str
    model: str
    panels: list[str]
    speed: float = 60


PRESETS = [
    Preset(
        "The comparison",
        "One model, four samplers: Gibbs stays with one digit, rates-FPCD walks through the classes.",
        "mnist_fpcd",
        DEFAULT_PANELS,
    ),
    Preset(
        "Gibbs sticks",
        "Twenty sweeps per sample, or a higher temperature, leave Gibbs in few classes; a small step size "
        "visits all ten.",
        "mnist_fpcd",
        ["gibbs", "gibbs:k=20", "gibbs:temperature=1.5", "rates_fpcd"],
    ),
    Preset(
        "CD digs holes",
        "On a model trained by CD-1 the Gibbs chain hardly leaves its first digit; rates-FPCD does.",
        "mnist_cd1",
        DEFAULT_PANELS,
    ),
    Preset(
        "Decay hurts",
        "Decay that is good for training is bad for sampling: decay 0.95 forgets where the chain has been.",
        "mnist_fpcd",
        ["rates_fpcd", "rates_fpcd:alpha=0.99", "rates_fpcd:alpha=0.95", "rates_fpcd:alpha=0.8"],
    ),
    Preset(
        "Penalization skews",
        "Without the rates nothing pulls back to the data: penalties wipe the ink away, bit by bit.",
        "mnist_fpcd",
        [
            "rates_fpcd",
            "sample_penalization",
            "sample_penalization:eps=0.003",
            "sample_penalization:alpha=1",
        ],
    ),
    Preset(
        "A hundred chains",
        "In the last three each cell is a chain, begun at its own digit. Gibbs chains drain into the empty "
        "image; a push of its own keeps each moving; one push for all keeps the crowd like the data.",
        "mnist_cd1",
        ["gibbs", "gibbs:n_chains=100", "rates_fpcd:n_chains=100", "rates_fpcd:n_chains=100,share=true"],
        1000,
    ),
]


PAGE: LivePage[SamplingSetup, Preset] = LivePage(
    name="sample",
    question="One model, several ways to sample it: which chain walks through all the classes, and which one "
    "sticks?",
    about="Each panel shows the pictures that one way of sampling draws from the same model, one after "
    "another, row by row: the newest is framed, and the strip below says which class each of them had. A "
    "**model** is a network of pixels and hidden units that has learned from examples how likely every "
    "picture is; a **sweep** draws all hidden units anew from the pixels and then all pixels from the "
    "hidden units, which makes the next picture; a **class** is the kind of a picture, mostly the digit "
    "that it shows. First wait until the large numbers differ, then drag a step size and watch how the "
    "pictures and the numbers answer.",
    link="p",
    table=samplers,
    presets=PRESETS,
    speed=Settings.speed,
    transport=Transport(
        "Samples per second",
        (5, 20, 60, 200, 1000, 5000, math.inf),
        speed_help="Slow to follow single samples by eye, full speed to see where the ISL curves end.",
        play_help="Stop all chains at the same sample, or let them go on: nothing is lost by looking "
        "closely.",
        step_help="One more sample in every panel, then pause: look for the pixels that change.",
        reset_help="All chains back to their first state with the same seed: the same samples come again.",
        width=230,
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading()
    with PAGE.toolbar():
        chosen = controls.model_name(
            Settings.model,
            "The trained RBM that all panels sample: compare one trained by CD-1 with one by FPCD.",
        )
        with st.popover("Settings", icon=":material/tune:"):
            name, model = controls.own_model(chosen, "sample_own", "Sample a model file of your own")
            setup, reason = choose_setup(model)
        PAGE.menu(apply_preset)
        effort = controls.choose(
            Settings.axis,
            "Compare at equal",
            EFFORTS,
            "All numbers of all panels are those at the last number of samples, of sweeps, or of seconds of "
            "computing that every panel has passed. It changes what is compared, not the pace.",
        )
    comparison = PAGE.open(setup)
    comparison.effort = effort
    with PAGE.notes():
        if name != chosen:
            own, without = messages.plain(name), messages.plain(chosen)
            st.caption(f"All panels sample your file '{own}'; without it they sample {without}.")
        if reason:
            messages.note(reason)
    panels(comparison, name, present)
    charts(comparison, comparison.setup.dataset)
    if not present:
        exports(comparison, name)


def choose_setup(model: Model) -> tuple[SamplingSetup, str]:
    """Draw the settings; return what all panels share, and a sentence where nothing can be scored."""
    choice = controls.select(
        Settings.data,
        "Score against",
        [AUTOMATIC, *list_datasets()],
        "Held-out images for ISL and nearest examples for classes; automatic takes the model's own.",
    )
    kernel = controls.choose(
        Settings.kernel,
        "ISL kernel",
        KERNELS,
        "Kernels on the 0/1 samples, or on their means: smoother, higher, and slow to compute.",
    )
    start = controls.choose(
        Settings.start,
        "Start from",
        STARTS,
        "A held-out example, or random bits: watch how long a chain remembers where it began.",
    )
    seed = controls.seed(
        Settings.seed,
        "Same seed, same samples; all panels share it, so differences come from the samplers alone.",
    )
    controls.choose(
        Settings.view,
        "View",
        ["sequence", "single"],
        "Consecutive samples row by row, the newest framed; or the newest large, beside its mean.",
    )
    controls.choose(
        Settings.pixels,
        "Pixels",
        ["binary", "mean"],
        "The drawn bits, or the probabilities they were drawn from: easier to read, less honest.",
    )
    controls.choose(
        Settings.cells,
        "Rows and columns",
        GRIDS,
        "How many consecutive samples a panel shows: fewer are larger.",
    )
    dataset, reason = scored_against(model, choice)
    if reason:
        reason = f"Nothing is scored: {reason} Choose other data in Settings."
    return SamplingSetup(model, dataset, seed, start, kernel, ALLOWANCE.begin()), reason


def scored_against(model: Model, choice: str) -> tuple[Dataset | None, str]:
    """Return the data that were chosen, or None and the reason why they do not fit the model."""
    return data_or_reason(data_of, model, None if choice == AUTOMATIC else choice, data)


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    model = pretrained(preset.model)
    dataset, _ = scored_against(model, Settings.data.value)
    setup = PAGE.comparison().setup._replace(model=model, dataset=dataset)
    PAGE.show_preset(setup, preset.panels, preset.speed)
    Settings.model.set(preset.model)
    Settings.cells.set(10)


@st.fragment
def panels(comparison: Comparison[SamplingSetup], model_name: str, present: bool) -> None:
    """Draw the live panels, and the way to add one."""
    PAGE.preset_caption(lambda preset: preset.model == model_name and PAGE.shows(comparison, preset.panels))
    sample_grid(
        comparison,
        PAGE.socket(),
        view=Settings.view.value,
        pixels=Settings.pixels.value,
        cells=Settings.cells.value,
        present=present,
        key="grid",
        **PAGE.callbacks(comparison, "grid"),
    )
    labels = {name: samplers[name].label for name in list_samplers()}
    below_panels(
        comparison,
        "sampler",
        "grid_view",
        "Add a panel:",
        lambda: controls.adders("sample", labels, lambda name: comparison.add(make_sampler(name))),
    )
    PAGE.write_address(PAGE.algorithms(comparison))


@every_second
def charts(comparison: Comparison[SamplingSetup], dataset: Dataset | None) -> None:
    """Draw the ISL curves; runs every second, and does not renew the lease of a hidden page."""
    if dataset is None or not comparison.panels:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**How much of the unseen data have the samples covered?** Test part of "
            f"{messages.plain(dataset.name)}."
        )
        view = controls.choose(
            Settings.curve,
            "Curves",
            VIEWS,
            "ISL itself, or what each panel has less than the best one.",
            label_visibility="collapsed",
        )
        pin_menu(comparison)
    setup = comparison.setup
    score = training_set_score(
        setup.model, dataset, setup.kernel, lambda dataset, kernel: training_part_isl(dataset.name, kernel)
    )
    line = None if score is None else (reference_label(dataset.name, score), score.isl)
    shown = comparison.peek()
    compared = [one.compared for _, one in comparison.at_common_point(shown)]
    draw_chart(
        isl_chart(curves_of(comparison, [one for _, one in shown]), compared, line, comparison.effort, view),
        "isl",
        f"{view} against {comparison.effort}, one curve per panel, each labelled at its end",
        "The curves begin with the fifth sample.",
    )
    if view != "ISL":
        st.caption(BANDS)


def pin_menu(comparison: Comparison[SamplingSetup]) -> None:
    """Draw the menu of pinned curves: one button pins the curve of a panel, another drops it again."""

    def pin(key: int) -> None:
        for (other, shown), (name, _) in zip(comparison.peek(), PAGE.named(comparison), strict=True):
            if other == key:
                comparison.pin(key, pinned_name(name, shown))

    with st.popover("Pin a curve", icon=":material/keep:", help="Keep a curve to compare later runs with."):
        for (key, _), (name, _) in zip(comparison.peek(), PAGE.named(comparison), strict=True):
            label = messages.plain(name)
            st.button(
                label, icon=":material/keep:", key=f"pin {key}", on_click=pin, args=(key,), type="tertiary"
            )
        for i, pinned in enumerate(pins_of(comparison), start=1):
            st.button(
                f"Drop {i}: {messages.plain(pinned.name)}",
                icon=":material/close:",
                key=f"unpin {pinned.number}",
                on_click=comparison.unpin,
                args=(pinned.number,),
                type="tertiary",
            )


def exports(comparison: Comparison[SamplingSetup], model_name: str) -> None:
    """Offer downloads, built when they are clicked, and code that repeats the run."""
    setup = comparison.setup
    model, dataset = setup.model, setup.dataset
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset)
    cells, pixels = Settings.cells.value, Settings.pixels.value

    with st.container(horizontal=True):
        controls.downloads(
            "sample",
            [
                Download(
                    "Samples",
                    lambda: samples_npz(comparison, [name for name, _ in PAGE.named(comparison)]),
                    "samples.npz",
                    samples_help(ALLOWANCE.value, model.rbm.n_visible, len(comparison.panels)),
                ),
                Download(
                    "Curves",
                    lambda: curves_csv(PAGE.named(comparison)),
                    "isl.csv",
                    "The ISL curves with standard errors and kernel beta (.csv).",
                ),
                Download(
                    "Mosaic",
                    lambda: mosaics_png(
                        [(name, shown.frames) for name, shown in PAGE.named(comparison)], shape, cells, pixels
                    ),
                    "mosaic.png",
                    "The newest samples of all panels as one picture (.png).",
                ),
            ],
        )
        from_data = dataset is not None and setup.first_state() is not None
        starts_at = dataset.name if dataset is not None and from_data else None
        controls.code("sample", snippet(model_name, PAGE.algorithms(comparison), setup.seed, starts_at))


if __name__ == "__main__":
    main()
