"""The comparison: samplers side by side on one model, live."""

import math
from typing import NamedTuple

import streamlit as st

from app import messages, views
from app.links import read_panels, write_panel
from app.pages.sample.panel import sample_grid
from app.panel import shape_of
from app.state import allowance, comparison_of, data, pretrained, trained_models, training_reference
from app.stream.socket import live_path
from app.widgets import (
    Speed,
    adders,
    edits,
    every_second,
    open_panels,
    own_model,
    preset_menu,
    transport,
    visit,
)
from rbmviz import BadInput, Model
from rbmviz.datasets import Dataset, list_datasets
from rbmviz.metrics import Kernel
from rbmviz.models import list_models
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers, make_sampler
from rbmviz.session import Comparison, SamplingSetup, Start

GRIDS = (6, 8, 10, 12)
KERNELS: tuple[Kernel, ...] = ("binary", "mean")
STARTS: tuple[Start, ...] = ("data", "random")
AUTOMATIC = "automatic"
DEFAULT_MODEL = "mnist_fpcd"
DEFAULT_PANELS = ["gibbs", "rates_fpcd", "rates_herding", "sample_penalization"]
SPEED = Speed(
    "Samples per second",
    (5, 20, 60, 200, 1000, 5000, math.inf),
    default=60,
    key="speed",
    help="Slow to follow single samples by eye, full speed to see where the ISL curves end.",
    width=230,
)


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
        "Twenty sweeps a sample, or heat, leave Gibbs in few classes; a small step size visits all ten.",
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


def main() -> None:
    """Draw the page."""
    present = st.query_params.get("present") == "1"
    if not present:
        st.markdown(
            "##### One model, several ways to sample it: which chain walks through all the classes, "
            "and which one sticks?"
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left = st.container(horizontal=True, vertical_alignment="bottom", width="content")
        model_name = choose_model()
        with st.popover("Settings", icon=":material/tune:"):
            own_name, model = own_model(model_name, "sample_own", "Sample a model file of your own")
            setup, reason = choose_setting(model)
        preset_menu("sample", PRESETS, apply_preset)
    comparison, token = visit("sample", setup, st.session_state.get("speed", 60), fill)
    if "p" not in st.query_params:  # back from another page
        write_link(comparison)
    with left:
        transport(
            "sample",
            comparison,
            SPEED,
            play="Stop all chains at the same sample, or let them go on: nothing is lost by looking closely.",
            step="One more sample in every panel, then pause: look for the pixels that change.",
            reset="All chains back to their first state with the same seed: the same samples come again.",
        )
    # Always there, empty or not: were the panels to move to another place of the page, they would be
    # built again, and blink.
    with st.container():
        if own_name != model_name:
            own, chosen = messages.plain(own_name), messages.plain(model_name)
            st.caption(f"All panels sample your file '{own}'; without it they sample {chosen}.")
        elif caption := st.session_state.get("preset"):
            st.caption(caption)
        if reason:
            messages.note(reason)
    panels(comparison, token, present)
    charts(comparison, comparison.setup.dataset)
    if not present:
        exports(comparison, own_name)


def fill(comparison: Comparison) -> None:
    """Give a new comparison the panels of the link, or the default ones, and start it."""
    open_panels(comparison, samplers, st.query_params.get_all("p"), DEFAULT_PANELS)
    write_link(comparison)


def write_link(comparison: Comparison) -> None:
    """Put the panels into the page's address; the other controls put themselves there."""
    st.query_params["p"] = [write_panel(panel.worker.algorithm) for panel in comparison.panels]


def choose_model() -> str:
    """Return the name of the chosen model, a pretrained one or one from the Train page."""
    shipped = sorted(list_models(), key=lambda name: (name != DEFAULT_MODEL, name))
    return st.selectbox(
        "Model",
        [*shipped, *trained_models()],
        key="model",
        bind="query-params",
        width=180,
        help="The trained RBM that all panels sample: compare one trained by CD-1 with one by FPCD.",
    )


def choose_setting(model: Model) -> tuple[SamplingSetup, str]:
    """Return what all panels share, and a sentence where nothing can be scored."""
    choice = st.selectbox(
        "Score against",
        [AUTOMATIC, *list_datasets()],
        key="data",
        bind="query-params",
        help="Held-out images for ISL and nearest examples for classes; automatic takes the model's own.",
    )
    kernel = st.segmented_control(
        "ISL kernel",
        KERNELS,
        default="binary",
        required=True,
        key="kernel",
        bind="query-params",
        help="Kernels on the 0/1 samples, or on their means: smoother, higher, and slow to compute.",
    )
    start = st.segmented_control(
        "Start from",
        STARTS,
        default="data",
        required=True,
        key="start",
        bind="query-params",
        help="A held-out example, or random bits: watch how long a chain remembers where it began.",
    )
    seed = st.number_input(
        "Seed",
        min_value=0,
        max_value=2**31 - 1,
        value=0,
        step=1,
        key="seed",
        bind="query-params",
        help="Same seed, same samples; all panels share it, so differences come from the samplers alone.",
    )
    st.segmented_control(
        "View",
        ["sequence", "single"],
        default="sequence",
        required=True,
        key="view",
        bind="query-params",
        help="Consecutive samples row by row, the newest framed; or the newest large, beside its mean.",
    )
    st.segmented_control(
        "Pixels",
        ["binary", "mean"],
        default="binary",
        required=True,
        key="pixels",
        bind="query-params",
        help="The drawn bits, or the probabilities they were drawn from: easier to read, less honest.",
    )
    st.segmented_control(
        "Rows and columns",
        GRIDS,
        default=10,
        required=True,
        key="cells",
        bind="query-params",
        help="How many consecutive samples a panel shows: fewer are larger.",
    )
    dataset, reason = scoring(model, choice)
    return SamplingSetup(model, dataset, int(seed), start, kernel, allowance()), reason


def scoring(model: Model, choice: str) -> tuple[Dataset | None, str]:
    """Return the data set to score against; None with the reason where there is none that fits."""
    own = model.meta.get("scored_on") or model.meta.get("dataset")
    name = own if choice == AUTOMATIC else choice
    if name is None:
        return (
            None,
            "This model does not say what it was trained on: choose data to score against in Settings.",
        )
    try:
        dataset = data(name)
    except BadInput as error:
        return None, f"Nothing is scored: {error}"
    if dataset.n_visible != model.rbm.n_visible:
        return None, (
            f"Nothing is scored: {name} has {dataset.n_visible} units and this model {model.rbm.n_visible}; "
            f"choose other data in Settings."
        )
    return dataset, ""


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    comparison, model = comparison_of("sample"), pretrained(preset.model)
    setup = comparison.setup._replace(model=model, dataset=scoring(model, st.session_state.data)[0])
    comparison.replace(setup, read_panels(samplers, preset.panels)[0])
    st.session_state.model = preset.model
    st.session_state.speed = preset.speed
    st.session_state.cells = 10
    st.session_state.preset = preset.caption
    comparison.set_rate(preset.speed)
    comparison.resume()
    write_link(comparison)


@st.fragment
def panels(comparison: Comparison, token: str, present: bool) -> None:
    """Draw the live panels, and the way to add one."""
    edited, removed = edits(comparison, "grid", write_link)

    def add(name: str) -> None:
        comparison.add(make_sampler(name))
        write_link(comparison)

    sample_grid(
        comparison,
        live_path() + token,
        view=st.session_state.view,
        pixels=st.session_state.pixels,
        cells=st.session_state.cells,
        present=present,
        on_edit=edited,
        on_remove=removed,
        key="grid",
    )
    if not comparison.panels:
        st.info("No panel is open: add a sampler.", icon=":material/grid_view:")
    if not present:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("Add a panel:", width="content")
            adders("sample", {name: samplers[name].label for name in list_samplers()}, add)


@every_second
def charts(comparison: Comparison, dataset: Dataset | None) -> None:
    """ISL curves; read once a second, without renewing the lease of a hidden page."""
    if dataset is None or not comparison.panels:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**How much of the unseen data have the samples covered?** Test part of "
            f"{messages.plain(dataset.name)}."
        )
        axis = st.segmented_control(
            "Against",
            ["samples", "seconds"],
            default="samples",
            required=True,
            key="axis",
            bind="query-params",
            label_visibility="collapsed",
            help="Per sample drawn, or per second that the sampler has worked.",
        )
    rows, spec = views.isl_chart(
        named(comparison), isl_reference(comparison.setup), "n" if axis == "samples" else "seconds"
    )
    if rows.empty:
        st.caption("The curves begin with the fifth sample.")
    else:
        st.vega_lite_chart(
            rows, spec, key="isl", width="stretch", alt="ISL against samples, one curve a sampler"
        )


def named(comparison: Comparison) -> list[tuple[str, views.SamplingSnapshot]]:
    """Return the snapshots of all panels by name, no two names alike."""
    shown = [snapshot for _, snapshot in comparison.peek()]
    return list(zip(views.titles([snapshot.algorithm for snapshot in shown]), shown, strict=True))


def isl_reference(setup: SamplingSetup) -> views.Reference | None:
    """Return the training set's own score: stored with the model, or computed from the data at hand."""
    meta, dataset = setup.model.meta, setup.dataset
    assert dataset is not None
    own = meta.get("scored_on") or meta.get("dataset")
    stored = meta.get("reference", {}).get(setup.kernel)
    if dataset.name == own and stored is not None:
        return views.Reference(f"the training set itself ({stored['n']:,} examples)", stored["isl"])
    if not len(dataset.train):
        return None
    score = training_reference(dataset.name, setup.kernel)
    return views.Reference(f"the training part of {dataset.name} ({len(dataset.train):,} examples)", score)


def exports(comparison: Comparison, model_name: str) -> None:
    """Offer downloads, built when they are clicked, and code that repeats the run."""
    model = comparison.setup.model
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"), comparison.setup.dataset)
    cells, pixels = st.session_state.cells, st.session_state.pixels
    with st.container(horizontal=True):
        st.download_button(
            "Samples",
            data=lambda: views.samples_npz(comparison, [name for name, _ in named(comparison)]),
            file_name="samples.npz",
            icon=":material/download:",
            on_click="ignore",
            help=views.samples_help(allowance(), model.rbm.n_visible, len(comparison.panels)),
        )
        st.download_button(
            "Curves",
            data=lambda: views.curves_csv(named(comparison)),
            file_name="isl.csv",
            icon=":material/download:",
            on_click="ignore",
            help="The ISL curves with standard errors and kernel beta (.csv).",
        )
        st.download_button(
            "Mosaic",
            data=lambda: views.mosaics_png(
                [(name, shown.frames) for name, shown in named(comparison)], shape, cells, pixels
            ),
            file_name="mosaic.png",
            icon=":material/download:",
            on_click="ignore",
            help="The newest samples of all panels as one picture (.png).",
        )
        with st.popover("Code", icon=":material/code:"):
            dataset = comparison.setup.dataset
            from_data = comparison.setup.first_state() is not None
            st.code(
                views.snippet(
                    model_name,
                    [panel.worker.algorithm for panel in comparison.panels],
                    comparison.setup.seed,
                    dataset.name if dataset and from_data else None,
                )
            )


main()
