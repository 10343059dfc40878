"""Samplers side by side on one model, live."""

import streamlit as st

from rbmviz import Model
from rbmviz.datasets import Dataset
from rbmviz.metadata import data_name
from rbmviz.models import data_of, training_set_score
from rbmviz.origin import origin
from rbmviz.pages import AUTOMATIC, PAGES
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers, make_sampler
from rbmviz.session import Comparison, SamplingSetup
from rbmviz_app import controls, links, messages
from rbmviz_app.charts.samples import mosaics_png, samples_help, samples_npz
from rbmviz_app.controls import Download, data_or_reason
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import (
    LivePage,
    Transport,
    algorithms_of,
    catch_up_page,
    catch_up_settings,
    draw_chart,
    offer_panels,
)
from rbmviz_app.pages.sample.charts import (
    curves_of,
    isl_chart,
    pinned_name,
    pins_of,
    reference_label,
)
from rbmviz_app.pages.sample.exports import curves_csv, replay_file, runs_of, snippet
from rbmviz_app.pages.sample.improvement import draw_improvement
from rbmviz_app.pages.sample.panel import sample_grid
from rbmviz_app.pages.sample.tuning import draw_tuning, setting_text
from rbmviz_app.panel import shape_of
from rbmviz_app.presets import Preset
from rbmviz_app.session import ALLOWANCE, PageSettings
from rbmviz_app.shared import data, training_part_isl
from rbmviz_app.stream.socket import picture_path
from rbmviz_app.timer import as_curves_grow

TITLE, ICON, PLACE = "Sample", "grid_view", 1
BANDS = (
    "ISL minus that of the panel that is best at the last point that all have reached; higher is better. "
    "Bands are two standard errors of the difference, paired over the test images (in at most 100 groups): "
    "they say what other test images could change, not what another run of the chains could. A panel whose "
    "knob was turned counts from there; the others are taken after equally many of their first samples."
)
"""Explanation of the difference, below its chart."""
YARDSTICK = (
    "What is a good ISL? The dashed line: what the training examples themselves score, taken for samples. A "
    "sampler that comes near it covers the test part about as well as they do."
)
"""Reference for the curves, below their chart."""
SECONDS_CAPTION = (
    "Seconds are those that this machine has spent in each sampler, so they also depend on what else it "
    "does: the same settings twice may differ by a third. Samples and sweeps do not."
)
"""Explanation of a comparison at equal seconds, below its chart."""
SPEC = PAGES["sample"]
Settings = PageSettings(SPEC.settings)


PRESETS = (
    Preset(
        "The comparison",
        "One model, four samplers. Gibbs stays with a few digits, and one of them has most of its samples; "
        "rates-FPCD and rates-herding have soon walked through all ten; sample penalization comes in "
        "between.",
        SPEC.default_panels,
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
        "Twenty sweeps per sample, or a higher temperature, help Gibbs along, and still its samples cover "
        "the unseen digits far worse than those of rates-FPCD, which with one sweep per sample visits all "
        "ten digits: look at the ISL.",
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
        "CD-1 has left this model a deep hole at the blank image: Gibbs and sample penalization fall into "
        "it, and most of their samples are blank. (With two of nine random seeds Gibbs sticks at spurious "
        "images instead.) The rates pull the other two out again, to all ten digits.",
        SPEC.default_panels,
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
        "Decay, as FPCD has it in training, is bad for sampling. The chain changes its digit even more "
        "often, but forgets where it has been: the ISL gets worse from 1 to 0.99, to 0.95, and to 0.8.",
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
        "Without the rates nothing pulls back to the data: stronger penalties, or penalties that do not "
        "decay, wipe the ink away, until most of their samples count as *Blank*: nearly empty, or empty. Of "
        "rates-FPCD none does, and its ISL is the best.",
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
        "In the last three each cell is a chain, begun at a digit of its own. More and more Gibbs chains "
        "drain into the blank image; a push of its own keeps each moving, and images like no digit appear; "
        "one push for all keeps the crowd like the data, with the best ISL.",
        ("gibbs", "gibbs:n_chains=100", "rates_fpcd:n_chains=100", "rates_fpcd:n_chains=100,share=true"),
        {"model": "mnist_cd1", "speed": 200},
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
    question="One model, several ways to sample it: which chain walks through all the classes, and which one "
    "sticks?",
    about="Each panel shows the pictures that one way of sampling draws from the same model, one after "
    "another, row by row: the newest is framed, and the strip below says which class each of them had. A "
    "**model** is a network of pixels and hidden units that has learned from examples how likely every "
    "picture is; a **sweep** draws all hidden units anew from the pixels and then all pixels from the "
    "hidden units, which makes the next picture; a **class** is the kind of a picture, mostly the digit "
    "that it shows; the **rates** are mean statistics of the training examples, with which rates-FPCD and "
    "rates-herding pull their chains back. First wait until the large numbers differ, then drag a step size "
    "and watch how the pictures and the numbers answer.",
    presets=PRESETS,
    transport=Transport(
        play_help="Stop all chains, or let them go on: nothing is lost by looking closely. Chains that keep "
        "up with the speed stop at the same sample.",
        step_help="One more sample in every panel, then pause: look for the pixels that change.",
        reset_help="All chains back to their first state with the same seed: the same samples come again.",
        width=230,
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading()
    with PAGE.toolbar():
        chosen = controls.model_name(Settings.model)
        with controls.settings("sample"):
            name, model = controls.own_model(chosen, "sample_own", "Sample a model file of your own")
            setup, reason = choose_setup(model)
        PAGE.menu()
        cost_unit = controls.choose(Settings.axis)
    comparison = PAGE.open(setup)
    shown_name, shown_model = PAGE.shown_model(comparison, setup, name, model)
    comparison.cost_unit = cost_unit
    with PAGE.notes():
        if name != chosen and shown_name == name:  # replaces the other line, so that no panel moves
            own, without = messages.plain(name), messages.plain(chosen)
            st.caption(f"All panels sample your file '{own}'; without it they sample {without}.")
        elif not present:
            controls.model_line(shown_name, shown_model)
        if reason:
            messages.note(reason)
            asked = Settings.data.value
            offer_download(data_name(model.meta) if asked == AUTOMATIC else asked, "sample")
    panels(comparison, present)
    if not present:
        reading_help()
    charts(comparison, comparison.setup.dataset, shown_name)
    if not present:
        draw_improvement(PAGE, comparison, Settings.improvement)
        data_choice = Settings.data.value
        if comparison.setup != setup and comparison.setup.dataset is not None:  # the limits refused it
            data_choice = comparison.setup.dataset.name
        draw_tuning(comparison, shown_name, data_choice)
        exports(comparison, shown_name)


def is_default(comparison: Comparison[SamplingSetup]) -> bool:
    """Return whether the page is in its default state, as opened without a query in the address."""
    default = [make_sampler(name) for name in SPEC.default_panels]
    return algorithms_of(comparison) == default and all(
        one.value == one.default for one in PAGE.settings.values()
    )


def choose_setup(model: Model) -> tuple[SamplingSetup, str]:
    """Draw the settings; return the panels' common setup, and a message if nothing can be scored."""
    choice = controls.select(Settings.data)
    kernel = controls.choose(Settings.kernel)
    start = controls.choose(Settings.start)
    seed = controls.number(Settings.seed)
    controls.choose(Settings.view)
    controls.choose(Settings.pixels)
    controls.choose(Settings.cells)
    dataset, reason = scored_against(model, choice)
    if reason:
        reason = f"Nothing is scored: {reason} Choose other data in Settings."
    return SamplingSetup(model, dataset, seed, start, kernel, ALLOWANCE.ensure()), reason


def scored_against(model: Model, choice: str) -> tuple[Dataset | None, str]:
    """Return the chosen data, or None and the reason why they do not fit the model."""
    return data_or_reason(data_of, model, None if choice == AUTOMATIC else choice, data)


@st.fragment
def panels(comparison: Comparison[SamplingSetup], present: bool) -> None:
    """Draw the live panels and the buttons that add one."""
    PAGE.preset_caption(comparison)
    sample_grid(
        comparison,
        PAGE.socket(),
        view=Settings.view.value,
        pixels=Settings.pixels.value,
        side=Settings.cells.value,
        present=present,
        key="grid",
        looks_back=True,
        recorded=picture_path() if not present and is_default(comparison) else "",
        on_multiply=PAGE.multiply_callback(comparison, "grid"),
        **PAGE.callbacks(comparison, "grid"),
    )
    labels = {name: samplers[name].label for name in list_samplers()}
    offer_panels(
        comparison,
        "sampler",
        "grid_view",
        "Add a panel:",
        lambda: controls.adders("sample", labels, lambda name: comparison.add(make_sampler(name))),
    )
    catch_up_page(comparison)
    PAGE.write_address(comparison)


def reading_help() -> None:
    """Draw the notes on how to read the panels and what to try."""
    st.caption(
        "**What you see** the newest samples of each chain, row by row, the last one framed; below them a "
        "strip of the class of each sample over time, that of the nearest training example (blank ones "
        "have none), and at the right the share of each class so far, with a tick where the data have it. "
        "A chain that mixes changes class often, and ends with the shares of the data. **Try** a step size "
        "of 0 and press Reset: rates-FPCD is then Gibbs sampling (without Reset it keeps the push that it "
        "has). Then try a large one, and watch the spurious samples come. After a turn of a knob all numbers "
        "are of the samples since; what came before is grey. rates-FPCD paper, section 5."
    )


@as_curves_grow
def charts(comparison: Comparison[SamplingSetup], dataset: Dataset | None, model_name: str) -> None:
    """Redraw the ISL curves repeatedly, without renewing the lease of a hidden page."""
    if dataset is None or not comparison.panels:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**How much of the test part of {messages.plain(dataset.name)} have the samples covered?**"
        )
        kind = controls.choose(Settings.curve, label_visibility="collapsed")
        pin_menu(comparison, model_name)
    setup = comparison.setup
    score = training_set_score(
        setup.model, dataset, setup.kernel, lambda dataset, kernel: training_part_isl(dataset.name, kernel)
    )
    present = links.presenting()
    line = None
    if score is not None:  # while presenting, text is large and the chart may be narrow
        line = "the training set" if present else reference_label(dataset.name, score), score.isl
    shown = comparison.peek()
    compared = [one.compared for _, one in comparison.at_common_point(shown, newest=True)]
    curves = curves_of(comparison, [one for _, one in shown])
    with st.container(key="isl place"):  # while presenting, presenting.css fits it to the window
        draw_chart(
            isl_chart(curves, compared, line, comparison.cost_unit, kind, setup.kernel, present),
            "isl",
            f"{kind} against {comparison.cost_unit}, one curve per panel, each labelled at its end",
            "The curves begin with the fifth sample.",
            height="stretch" if present else "content",
        )
    if kind != "ISL":
        st.caption(BANDS)
    elif line is not None and not present:
        st.caption(YARDSTICK)
    if comparison.cost_unit == "seconds":
        st.caption(SECONDS_CAPTION)
    catch_up_settings(PAGE.name)


def pin_menu(comparison: Comparison[SamplingSetup], model_name: str) -> None:
    """Draw the menu of pinned curves: buttons pin the curve of a panel, or drop it."""

    def pin(key: int) -> None:
        for (other, shown), (name, _) in zip(comparison.peek(), PAGE.named(comparison), strict=True):
            if other == key:
                setting = setting_text(name, shown)
                comparison.pin(key, pinned_name(setting, model_name, comparison.setup.seed, shown))

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
    """Offer downloads, built on click, and code that repeats the run."""
    setup = comparison.setup
    model, dataset = setup.model, setup.dataset
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset)
    side, pixels, caption = Settings.cells.value, Settings.pixels.value, PAGE.shown_caption()
    starts_at = dataset.name if dataset is not None and setup.first_state() is not None else None

    def code() -> str:
        return snippet(model_name, runs_of(comparison), setup.seed, starts_at)

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
                    lambda: curves_csv(PAGE.named(comparison), setup.kernel),
                    "isl.csv",
                    "The ISL curves with standard errors, the kernel and its beta (.csv); change "
                    "counts the turns of knobs so far, n_scored the samples since, which are scored.",
                ),
                Download(
                    "Mosaic",
                    lambda: mosaics_png(
                        [(name, shown.newest_samples) for name, shown in PAGE.named(comparison)],
                        shape,
                        side,
                        pixels,
                    ),
                    "mosaic.png",
                    "The newest samples of all panels as one picture (.png).",
                ),
                Download(
                    "Replay file",
                    lambda: replay_file(comparison, model_name, caption, side),
                    "replay.html",
                    "A page that plays these samples again, with no server and no network: for slides, a "
                    "learning platform, or whoever has not installed this (.html).",
                ),
            ],
            lambda: origin(code(), models={model_name: model}, data=[dataset], seeds=[setup.seed]),
        )
        controls.code("sample", code)


if __name__ == "__main__":
    main()
