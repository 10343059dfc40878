"""The Sample page: samplers running side by side on one model."""

from functools import partial
from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts import Chart
from rbmviz.charts.style import titles
from rbmviz.datasets import Dataset
from rbmviz.files.metadata import data_name
from rbmviz.knobs import knobs_of, write_knobs
from rbmviz.metrics.numbers import SCORED_EXAMPLES
from rbmviz.models import data_label, describe_model, training_set_score
from rbmviz.pages import AUTOMATIC, PAGES
from rbmviz.samplers.target_likelihood import TARGET_STRIDE
from rbmviz.session import Race, SamplingRun, SamplingSetup, TrainingSetup, WarmStart
from rbmviz.session.training import MAX_HIDDEN
from rbmviz.sweeps.scores import front_numbers, range_around, spacing_of
from rbmviz.trainers import make_trainer
from rbmviz.view.live import Live, is_playable, play_html, starts_of
from rbmviz.view.replay import FASTEST
from rbmviz.view.specs import shape_of
from rbmviz_app import controls, links, messages, pages
from rbmviz_app.code import runs_of, sampling_code
from rbmviz_app.compared import curves_of
from rbmviz_app.component import while_running
from rbmviz_app.controls import Download
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import LivePage, catch_up_settings, downloads, live_chart, places
from rbmviz_app.pages.sample.charts import isl_chart, plane_chart, reference_label
from rbmviz_app.pages.sample.panel import change_text, sample_grid
from rbmviz_app.panel import algorithms_of
from rbmviz_app.presets import Preset
from rbmviz_app.session import PageSettings
from rbmviz_app.shared import training_part_isl
from rbmviz_app.stream.socket import picture_path
from rbmviz_app.transport import Transport

TITLE, ICON, PLACE = "Sample", "grid_view", 1
BANDS = (
    "ISL minus the ISL of the panel that is best at the last point all panels have reached; higher is "
    "better. Bands are ±2 standard errors, paired over the test images (in at most 100 groups): they cover "
    "the choice of test images, not another run of the chains. If you change a knob, that panel is scored "
    "on its samples since then, and the others on the same number of samples from their start."
)
YARDSTICK = (
    "The dashed line is the score of the training images themselves: a sampler near it covers the test "
    "images about as well as they do."
)
PLANE = (
    "Grey: training images. In colour: the newest samples of each panel. The axes are the two directions in "
    "which the training images vary most (principal components). A sampler that is stuck fills a corner."
)
NOTES = {"ISL": YARDSTICK, "difference to the best": BANDS, "PCA": PLANE}
SECONDS_CAPTION = (
    "Seconds are the computing time of each sampler on this machine. They depend on its load: two identical "
    "runs may differ by a third. Samples and sweeps do not."
)
SPEC = PAGES["sample"]
FOUR = ("gibbs", "rates_fpcd", "rates_herding", "sample_penalization")
Settings = PageSettings(SPEC.settings)


PRESETS = (
    Preset(
        "Set it free",
        "At step size 0 rates-FPCD sticks like Gibbs: drag it up.",
        SPEC.default_panels,
        claims=(
            "panel1.largest_class > 70 at 1800 samples, not of panel3",
            "panel2.largest_class > 70 at 1800 samples, not of panel3",
            "panel3.visited > 9 at 1800 samples, not of panel2",
            "panel5.visited > 9 at 1800 samples, not of panel2",
            "panel5.isl > panel2.isl + 50 at 1800 samples",
        ),
        variants=("rates_fpcd",),
    ),
    Preset(
        "The comparison",
        "Gibbs is stuck on a few digits, mostly one. rates-FPCD and rates-herding soon reach all ten. Sample "
        "penalization is in between.",
        FOUR,
        claims=(
            "panel1.largest_class > 70 at 1800 samples, not of panel2",
            "panel2.visited > 9 at 1800 samples, not of panel1",
            "panel3.visited > 9 at 1800 samples, not of panel1",
            "panel2.isl > panel1.isl + 50 at 1800 samples",
            "panel3.isl > panel1.isl + 50 at 1800 samples",
            "panel4.isl > panel1.isl + 5 at 1800 samples",
            "panel4.isl < panel2.isl - 20 at 1800 samples",
        ),
    ),
    Preset(
        "Gibbs sticks",
        "Even with 20 sweeps per sample or a higher temperature, Gibbs covers the unseen digits far worse "
        "than rates-FPCD, which visits all ten with one sweep per sample. Compare the ISL.",
        ("gibbs", "gibbs:k=20", "gibbs:temperature=1.5", "rates_fpcd"),
        claims=(
            "panel1.visited < 6 at 1800 samples, not of panel4",
            "panel3.visited < 10 at 1800 samples, not of panel4",
            "panel4.visited > 9 at 1800 samples, not of panel3",
            "panel2.switches > panel1.switches + 20 at 1800 samples",
            "panel3.switches > panel1.switches + 20 at 1800 samples",
            "panel4.isl > panel2.isl + 20 at 1800 samples",
            "panel4.isl > panel3.isl + 20 at 1800 samples",
        ),
    ),
    Preset(
        "CD digs holes",
        "CD-1 training left a trap at the blank image. Gibbs and sample penalization fall into it: most of "
        "their samples are blank. (With two of nine seeds Gibbs sticks to spurious images instead.) The "
        "other two reach all ten digits, because the data statistics pull them back.",
        FOUR,
        {"model": "mnist_cd1"},
        (
            "panel1.blank > 50 at 1800 samples, not of panel2",
            "panel4.blank > 50 at 1800 samples, not of panel2",
            "panel2.blank < 5 at 1800 samples, not of panel1",
            "panel3.blank < 5 at 1800 samples, not of panel1",
            "panel2.visited > 9 at 1800 samples, not of panel1",
            "panel3.visited > 9 at 1800 samples, not of panel1",
        ),
    ),
    Preset(
        "Decay hurts",
        "FPCD uses decay in training, but it is bad for sampling. The chain changes digit even more often, "
        "yet forgets where it has been: the ISL gets worse from decay 1 to 0.99, 0.95 and 0.8.",
        ("rates_fpcd", "rates_fpcd:alpha=0.99", "rates_fpcd:alpha=0.95", "rates_fpcd:alpha=0.8"),
        claims=(
            "panel2.isl < panel1.isl - 5 at 1800 samples",
            "panel3.isl < panel2.isl - 5 at 1800 samples",
            "panel4.isl < panel3.isl - 5 at 1800 samples",
            "panel4.switches > panel1.switches + 100 at 1800 samples",
        ),
    ),
    Preset(
        "Penalization skews",
        "Without the rates nothing pulls the chain back to the data: stronger penalties, or penalties that "
        "do not decay, wipe the ink away until most samples are *blank*. rates-FPCD draws no blanks and "
        "scores best.",
        ("rates_fpcd", "sample_penalization", "sample_penalization:eps=0.003", "sample_penalization:alpha=1"),
        claims=(
            "panel1.blank < 1 at 1800 samples, not of panel3",
            "panel3.blank > 90 at 1800 samples, not of panel1",
            "panel4.blank > 60 at 1800 samples, not of panel1",
            "panel1.isl > panel2.isl + 30 at 1800 samples",
            "panel1.isl > panel3.isl + 30 at 1800 samples",
            "panel1.isl > panel4.isl + 30 at 1800 samples",
        ),
    ),
    Preset(
        "A hundred chains",
        "In the last three panels each tile is a chain, started at its own digit. More and more Gibbs "
        "chains sink into the blank image. With fast parameters of their own, chains keep moving, but some "
        "images look like no digit. Fast parameters shared by all chains score best.",
        ("gibbs", "gibbs:n_chains=100", "rates_fpcd:n_chains=100", "rates_fpcd:n_chains=100,share=true"),
        {"model": "mnist_cd1", "speed": 200, "cells": 10},
        (
            "panel2.blank_now > 10 at 6000 samples, not of panel3",
            "panel2.blank_now > panel2.blank_now@1500 + 5 at 6000 samples",
            "panel3.switches > panel2.switches + 1000 at 6000 samples",
            "panel3.spurious_not_blank > panel4.spurious_not_blank + 4 at 6000 samples",
            "panel4.blank_now < 8 at 6000 samples, not of panel2",
            "panel4.isl > panel2.isl + 4 at 6000 samples",
            "panel4.isl > panel3.isl + 4 at 6000 samples",
        ),
    ),
)


PAGE: LivePage[SamplingSetup] = LivePage(
    SPEC,
    Settings,
    question="Which sampler gets stuck?",
    about="Each panel shows the images that one sampler draws from the same model, row by row; the newest "
    "is framed. A **model** is a network of pixels and hidden "
    "units that has learned how likely each image is. A **sweep** draws all hidden units given the pixels, "
    "then all pixels given the hidden units: that is the next image. A **class** is the kind of image, here "
    "mostly the digit. The **rates** are the mean statistics of the training data; rates-FPCD and "
    "rates-herding use them to pull their chains back to the data. Drag a step size and watch the images "
    "change.",
    presets=PRESETS,
    transport=Transport(
        play_help="Pause or continue all chains. Chains that keep up with the speed stop at the same sample.",
        step_help="Draw one more sample in every panel, then pause.",
        reset_help="Restart all chains with the same seed: the same samples come again.",
        width=230,
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading(notes=reading_notes())
    with PAGE.toolbar():
        name = controls.model_name(Settings.model)
        with controls.settings("sample"):
            controls.own_model(Settings.model, "sample_own", "Sample a model file of your own")
            controls.scored_data(Settings.data)
            controls.choose(Settings.kernel)
            controls.choose(Settings.start)
            controls.number(Settings.seed)
            controls.choose(Settings.view)
            controls.choose(Settings.pixels)
            controls.choose(Settings.cells)
            setup, reason = PAGE.setup_now()
            line = st.container()
        PAGE.menu()
        cost_unit = controls.choose(Settings.axis)
    comparison = PAGE.open(setup)
    shown_name, shown_model = PAGE.shown_model(comparison, setup, name, setup.model)
    with line:
        controls.model_line(shown_name, shown_model)
    comparison.cost_unit = cost_unit
    PAGE.notes()
    left, right = places()
    with left:
        PAGE.draw_panels(
            comparison,
            "grid",
            grid,
            ("sampler", "grid_view", lambda: controls.sampler_adders(comparison, "sample")),
        )
    with right:
        if reason:  # in the place of the scores
            messages.note(f"Nothing is scored: {reason} Choose other data in Settings.")
            asked = Settings.data.value
            offer_download(data_name(setup.model.meta) if asked == AUTOMATIC else asked, "sample")
        charts(comparison, comparison.setup.dataset)
    if not present:
        if comparison.cost_unit == "seconds":
            st.caption(SECONDS_CAPTION)
        data_choice = Settings.data.value
        if comparison.setup != setup and comparison.setup.dataset is not None:  # the limits refused ``setup``
            data_choice = comparison.setup.dataset.name
        with st.container(horizontal=True):
            draw_tuning(comparison, shown_name, data_choice)
            exports(comparison, shown_name)
        draw_improvement(comparison, shown_name)


def grid(comparison: Race[SamplingSetup], **mounted: Any) -> None:
    """Draw the live panels."""
    # As opened without a query in the address.
    is_default = algorithms_of(comparison) == PAGE.read(SPEC.default_panels)[0] and all(
        setting.value == setting.default for setting in PAGE.settings.values()
    )
    recorded = picture_path() if not mounted["present"] and is_default else ""
    sample_grid(
        comparison,
        view=Settings.view.value,
        pixels=Settings.pixels.value,
        side=Settings.cells.value,
        recorded=recorded,
        **mounted,
    )


def reading_notes() -> list[str]:
    """Return notes on reading the panels and the chart, and suggestions to try."""
    return [
        "**The strip** shows the class of each sample over time, from its nearest training image (blank "
        "samples have none). Bars on the right are class shares so far; the tick is the share in the data. "
        "A chain that mixes well changes class often and visits each as often as the data do.",
        f"**The curve** {NOTES[Settings.curve.value]}",
        "**Try** step size 0: press Reset, and rates-FPCD is Gibbs sampling (without Reset the old fast "
        "parameters remain). Then try a large step: garbled images appear. After you change a knob, the "
        "numbers count from there; earlier samples turn grey. rates-FPCD paper, section 5.",
    ]


@st.fragment
def charts(comparison: Race[SamplingSetup], dataset: Dataset | None) -> None:
    """Draw the place of the ISL curves, which come with the frames, and the choice of the curves."""
    if dataset is None or not comparison.panels:
        return
    images = messages.plain(data_label(dataset.name).partition(" (")[0])
    kind, present = Settings.curve.value, links.presenting()
    if kind == "PCA":
        st.markdown("**Newest samples in the plane of the data** (grey: training examples)")
    else:
        st.markdown(f"**ISL on unseen {images}** (higher is better)")
    said = f"{kind} against {comparison.cost_unit}, one curve per panel, each labelled at its end"
    if kind == "PCA":
        said = "Newest samples and data in two principal directions"
    make = partial(make_chart, comparison, dataset, kind, present)
    live_chart(comparison, "isl", make, said, "The curves begin with the fifth sample.")
    if not present:
        controls.choose(
            Settings.curve,
            label_visibility="collapsed",
            format_func=lambda kind: kind.partition(" ")[0],
        )
    catch_up_settings(PAGE.name)


def make_chart(
    comparison: Race[SamplingSetup], dataset: Dataset, kind: Any, present: bool
) -> tuple[Chart, list[str]]:
    """Return the chart of this kind, and the sentence about the newest turn of a knob."""
    setup = comparison.setup
    snapshots: list[tuple[int, Any]] = comparison.peek()
    compared = [snapshot.compared for _, snapshot in comparison.at_common_point(snapshots)]
    curves = curves_of([snapshot for _, snapshot in snapshots], comparison.slots)
    notes = [change_text(PAGE.named(comparison))]
    if kind == "PCA":
        return plane_chart(curves, dataset), notes
    score = training_set_score(setup.model, dataset, setup.kernel, training_part_isl)
    line = None
    if score is not None:  # while presenting, text is large and the chart may be narrow
        line = "the training set" if present else reference_label(data_label(dataset.name), score), score.isl
    unit = comparison.cost_unit
    return isl_chart(curves, compared, line, unit, kind, setup.kernel, present), notes


def exports(comparison: Race[SamplingSetup], model_name: str) -> None:
    """Offer the data of the charts, code that repeats the runs, and a page in which they run."""
    setup, side, preset = comparison.setup, Settings.cells.value, PAGE.shown_preset()
    caption = preset.caption if preset else ""
    starts_at = setup.dataset.name if setup.dataset is not None and setup.first_state() is not None else None

    def code() -> str:
        return sampling_code(model_name, runs_of(comparison), setup.seed, starts_at)

    page = Download(
        "Live page",
        lambda: live_file(comparison, model_name, caption, side),
        "live.html",
        "A web page in which these samplers run, offline, with their knobs; it contains the model and up to "
        "6,000 examples of the data (.html).",
    )
    more = [page] if is_playable(algorithms_of(comparison), setup.model) else []
    downloads(comparison, {model_name: setup.model}, code, more)


def live_file(comparison: Race[SamplingSetup], model_name: str, caption: str, side: int) -> bytes:
    """Return an HTML file whose panels run in the browser; caption : of the preset, or ""."""
    setup = comparison.setup
    model, dataset = setup.model, setup.dataset
    if not comparison.panels:
        raise BadInput("There is no panel whose samples could move: add a sampler.")
    live = Live(
        model_name,
        caption or f"{describe_model(model)}. Seed {setup.seed}.",
        model,
        algorithms_of(comparison),
        dataset,
        shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset),
        starts_of(setup),
        side,
        min(comparison.rate, FASTEST),
    )
    return play_html(live)


def draw_tuning(comparison: Race[SamplingSetup], model_name: str, data_choice: str) -> None:
    """Draw the menu of sweeps around a panel's knobs."""
    # Opening it reruns the page for the newest names: releasing a knob redraws only the panels.
    with st.popover("Tuning", icon=":material/tune:", key="sample tuning", on_change="rerun"):
        st.caption("Open Tune with a grid around the knobs of one panel, on the same model and data:")
        with st.container(horizontal=True):
            for name, panel in zip(titles(algorithms_of(comparison)), comparison.panels, strict=True):
                if st.button(messages.plain(name), key=f"sweep around {panel.key}"):
                    sweep_around(comparison, panel.algorithm, model_name, data_choice)


def sweep_around(comparison: Race[SamplingSetup], algorithm: Any, model_name: str, data_choice: str) -> None:
    """Open the Tune page with a plan around one panel's knobs."""
    setup, knobs = comparison.setup, knobs_of(algorithm)
    axes = front_numbers(algorithm)[:2]
    others = [name for name in knobs if name not in [axis.name for axis in axes]]
    settings: dict[str, Any] = {
        "sweep": "",
        "on": "",
        "tune_what": "samplers",
        "tune_models": [model_name],
        "tune_samplers": [algorithm.name],
        "tune_data": data_choice,
        "tune_kernel": setup.kernel,
        "tune_start": setup.start_from,
        "tune_knobs": write_knobs(
            algorithm, [name for name in others if getattr(algorithm, name) != knobs[name].default]
        ),
        "tune_y": "none",
    }
    for axis, knob in zip("xy", axes, strict=False):
        lo, hi = range_around(knob, getattr(algorithm, knob.name))
        settings |= {f"tune_{axis}": knob.name, f"tune_{axis}_from": float(lo), f"tune_{axis}_to": float(hi)}
        settings |= {f"tune_{axis}_scale": spacing_of(knob)}
    try:
        pages.live_page("tune").show(comparison.setup._replace(seed=0), [algorithm], settings)
    except BadInput as error:
        messages.note(error)
        return
    st.switch_page(pages.file_of("tune"))


def draw_improvement(comparison: Race[SamplingSetup], name: str) -> None:
    """Draw the fold, about the model of this name; its content is computed only while it is open."""
    with controls.fold(Settings.improvement, "Improving the model") as is_open:
        if is_open:
            while_running(partial(draw_likelihoods, comparison), True)
            if comparison.setup.dataset is not None and st.button(
                "Polish this model",
                icon=":material/auto_awesome:",
                help="On Train: the improved model is kept, and scored on training and held-out examples. It "
                "stops when the gradient has fallen to a tenth.",
            ):
                polish(comparison.setup, comparison.setup.dataset, name)
            return
    for panel in comparison.panels:
        try:
            panel.read(SamplingRun.stop_improvement)
        except BadInput:  # a run has no averages while it is rebuilt
            continue


def polish(setup: SamplingSetup, dataset: Dataset, name: str) -> None:
    """Open the Train page with one panel that polishes the model."""
    rbm, page = setup.model.rbm, pages.live_page("train")
    n_hidden = min(rbm.n_hidden, MAX_HIDDEN)  # for further panels; a polished model keeps its size
    trained = TrainingSetup(dataset, n_hidden, setup.seed)
    values = {"train_data": dataset.name, "hidden": n_hidden, "train_seed": setup.seed, "replicates": 1}
    try:
        plan = trained.plan_from(WarmStart((rbm,), 0, 0.0, ((name, 0),)))
        page.show(trained, [make_trainer("polish", stop_at=0.1)], values, plan)
    except BadInput as error:
        messages.note(error)
        return
    st.switch_page(pages.file_of("train"))


def draw_likelihoods(comparison: Race[SamplingSetup]) -> None:
    """Draw the table of likelihoods; it does not renew the lease."""
    dataset = comparison.setup.dataset
    if dataset is None:
        st.caption("There are no data to score on: choose some in Settings.")
        return

    def text(value: tuple[float, float] | None) -> str:
        if value is None:
            return "…"
        return f"{value[0]:.3f}" + (f" ± {value[1]:.2g}" if value[1] else "")

    rows = []
    for (name, _), panel in zip(PAGE.named(comparison), comparison.panels, strict=True):
        try:
            likelihood = panel.read(SamplingRun.request_improvement)
        except BadInput:
            likelihood = None
        shown = (None,) * 3 if likelihood is None else (likelihood.model, likelihood.now, likelihood.averaged)
        names = "The model", "θ + θF now", "mean of θ + θF"
        row = {"Panel": name} | dict(zip(names, map(text, shown), strict=True))
        rows.append(row | {"over samples": "" if likelihood is None else f"{likelihood.samples:,}"})
    st.dataframe(rows, hide_index=True, key="improvement table")
    st.caption(
        f"**What you see** The mean log-likelihood of the training examples (at most {SCORED_EXAMPLES:,}), "
        "in nats, ± the error of log Z where it is estimated: of the model, of the current θ + θF, and of "
        f"the mean of θ + θF after every {TARGET_STRIDE}th sample since this was opened or a knob changed. "
        "For Gibbs sampling at temperature T, θ + θF is θ / T. At any moment θ + θF is far from the model. "
        "According to the paper, its average improves a model that has not converged, and leaves a "
        "converged one unchanged. **Try** bas_cd1 and bas_pcd with step size 0.003, then 0.03. rates-FPCD "
        "paper, section 4."
    )


if __name__ == "__main__":
    main()
