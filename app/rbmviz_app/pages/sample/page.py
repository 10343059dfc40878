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
from rbmviz.models import data_label, describe_model, training_set_score
from rbmviz.pages import AUTOMATIC, PAGES
from rbmviz.pages.sample import held_units
from rbmviz.session import SamplingSetup
from rbmviz.sweeps.scores import front_numbers, range_around, spacing_of
from rbmviz.view.live import Live, check_playable, play_html, starts_of
from rbmviz.view.replay import FASTEST
from rbmviz.view.specs import HELD, shape_of
from rbmviz_app import controls, links, messages, pages
from rbmviz_app.code import runs_of, sampling_code
from rbmviz_app.compared import curves_of
from rbmviz_app.controls import Download
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import LivePage, catch_up_settings, downloads, live_chart, places
from rbmviz_app.pages.sample import pen
from rbmviz_app.pages.sample.captions import captions
from rbmviz_app.pages.sample.charts import isl_chart, plane_chart, reference_label
from rbmviz_app.pages.sample.inside import draw_inside, free_units
from rbmviz_app.pages.sample.panel import change_text, sample_grid
from rbmviz_app.pages.sample.presets import PRESETS
from rbmviz_app.panel import algorithms_of
from rbmviz_app.race import PageRace
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
PEN = (
    "makes room for a pen. What you draw is held in every sample, ink and the paper in the box around it; "
    "the samplers draw the rest. Rates are then those of the 20 training images nearest to the drawing."
)
NOTES = {"ISL": YARDSTICK, "difference to the best": BANDS, "PCA": PLANE, "draw": PEN}
SECONDS_CAPTION = (
    "Seconds are the computing time of each sampler on this machine. They depend on its load: two identical "
    "runs may differ by a third. Samples and sweeps do not."
)
SPEC = PAGES["sample"]
Settings = PageSettings(SPEC.settings)


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
    captions=captions,
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
        name = controls.model_name(Settings.model, on_change=free_units)
        with controls.settings("sample"):
            controls.own_model(Settings.model, "sample_own", "Sample a model file of your own")
            controls.scored_data(Settings.data)
            controls.choose(Settings.kernel)
            controls.choose(Settings.ink)
            controls.choose(Settings.start)
            controls.number(Settings.seed)
            controls.choose(Settings.view)
            controls.choose(Settings.pixels)
            controls.choose(Settings.cells)
            setup, reason = PAGE.setup_now()
            pen.choose_words(setup)
            line = st.container()
        PAGE.menu()
        cost_unit = controls.choose(Settings.axis)
    race = PAGE.open(setup, shown=(name, setup.model))
    shown_name, shown_model = race.shown_model
    with line:
        controls.model_line(shown_name, shown_model)
    race.cost_unit = cost_unit
    messages.alert("drawing", held_units(Settings.clamp.value, setup.model)[1])
    PAGE.notes()
    left, right = places()
    with left:
        PAGE.draw_panels(
            race,
            "grid",
            grid,
            ("sampler", "grid_view", lambda: controls.sampler_adders(race, "sample")),
        )
    with right:
        if reason:  # in the place of the scores
            messages.note(f"Nothing is scored: {reason} Choose other data in Settings.")
            asked = Settings.data.value
            offer_download(data_name(setup.model.meta) if asked == AUTOMATIC else asked, "sample")
        charts(race, race.setup.dataset)
    if not present:
        if race.cost_unit == "seconds":
            st.caption(SECONDS_CAPTION)
        with controls.fold(Settings.inside, "Inside the model") as is_open:
            if is_open:
                draw_inside(race)
        data_choice = Settings.data.value
        if race.setup != setup and race.setup.dataset is not None:  # the limits refused ``setup``
            data_choice = race.setup.dataset.name
        with st.container(horizontal=True):
            draw_tuning(race, shown_name, data_choice)
            exports(race, shown_name)


def grid(race: PageRace[SamplingSetup], **mounted: Any) -> None:
    """Draw the live panels."""
    # As opened without a query in the address.
    is_default = algorithms_of(race) == PAGE.read(SPEC.default_panels)[0] and all(
        setting.value == setting.default for setting in PAGE.settings.values()
    )
    recorded = picture_path() if not mounted["present"] and is_default else ""
    is_untouched = not any(snapshot.scored_from for _, snapshot in race.peek())
    sample_grid(
        race,
        view=Settings.view.value,
        pixels=Settings.pixels.value,
        side=Settings.cells.value,
        recorded=recorded,
        names_parts=bool(recorded) and is_untouched,
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
def charts(race: PageRace[SamplingSetup], dataset: Dataset | None) -> None:
    """Draw the place of the ISL curves, which come with the frames, and the choice of the curves.

    Their place is also that of the pen, the only choice without data.
    """
    if not race.panels:
        return
    present = links.presenting()
    if dataset is None or Settings.curve.value == "draw":
        st.markdown("**Draw a part, see it completed**")
        pen.draw_pen(race)
    else:
        draw_curves(race, dataset, present)
    if dataset is not None and not present:
        controls.choose(
            Settings.curve,
            label_visibility="collapsed",
            format_func=lambda kind: kind.partition(" ")[0],
        )
    catch_up_settings(race)


def draw_curves(race: PageRace[SamplingSetup], dataset: Dataset, present: bool) -> None:
    """Draw the place of the chosen curves; while units are held, the samples have no ISL."""
    images = messages.plain(data_label(dataset.name).partition(" (")[0])
    kind = Settings.curve.value
    if kind != "PCA" and race.setup.clamp:
        messages.note(HELD)
        return
    if kind == "PCA":
        st.markdown("**Newest samples in the plane of the data** (grey: training examples)")
    else:
        st.markdown(f"**ISL: coverage of unseen {images}**")
    said = f"{kind} against {race.cost_unit}, one curve per panel, each labelled at its end"
    if kind == "PCA":
        said = "Newest samples and data in two principal directions"
    make = partial(make_chart, race, dataset, kind, present)
    live_chart(race, "isl", make, said, "The curves begin with the fifth sample.")


def make_chart(
    race: PageRace[SamplingSetup], dataset: Dataset, kind: Any, present: bool
) -> tuple[Chart, list[str]]:
    """Return the chart of this kind, and the sentence about the newest turn of a knob."""
    setup = race.setup
    snapshots: list[tuple[int, Any]] = race.peek()
    compared = [snapshot.compared for _, snapshot in race.at_common_point(snapshots)]
    curves = curves_of([snapshot for _, snapshot in snapshots], race.slots)
    notes = [change_text(PAGE.named(race))] if not setup.clamp else []
    if kind == "PCA":
        return plane_chart(curves, dataset), notes
    score = training_set_score(setup.model, dataset, setup.kernel, training_part_isl)
    line = None
    if score is not None:  # while presenting, text is large and the chart may be narrow
        short = "the training set" + ", as means" * score.means
        line = short if present else reference_label(data_label(dataset.name), score), score.isl
    unit = race.cost_unit
    return isl_chart(curves, compared, line, unit, kind, setup.kernel, present), notes


def exports(race: PageRace[SamplingSetup], model_name: str) -> None:
    """Offer the data of the charts, code that repeats the runs, and a page in which they run."""
    setup, side, preset = race.setup, Settings.cells.value, PAGE.shown_preset(race)
    caption = preset.caption if preset else ""
    starts_at = setup.dataset.name if setup.dataset is not None and setup.first_state() is not None else None

    def code() -> str:
        return sampling_code(model_name, runs_of(race), setup.seed, starts_at, setup.clamp, setup.ink)

    page = Download(
        "Live page",
        lambda: live_file(race, model_name, caption, side),
        "live.html",
        "A web page in which these samplers run, offline, with their knobs; it contains the model and up to "
        "6,000 examples of the data (.html).",
    )
    missing = ""
    try:
        check_playable(algorithms_of(race), setup.model)
    except BadInput as error:
        missing = f"No live page of these panels: {error}"
    more = [page] if not setup.clamp and setup.ink and not missing else []
    downloads(race, {model_name: setup.model}, code, more, missing=missing)


def live_file(race: PageRace[SamplingSetup], model_name: str, caption: str, side: int) -> bytes:
    """Return an HTML file whose panels run in the browser; caption : of the preset, or ""."""
    setup = race.setup
    model, dataset = setup.model, setup.dataset
    if not race.panels:
        raise BadInput("There is no panel whose samples could move: add a sampler.")
    live = Live(
        model_name,
        caption or f"{describe_model(model)}. Seed {setup.seed}.",
        model,
        algorithms_of(race),
        dataset,
        shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset),
        starts_of(setup),
        side,
        min(race.rate, FASTEST),
    )
    return play_html(live)


def draw_tuning(race: PageRace[SamplingSetup], model_name: str, data_choice: str) -> None:
    """Draw the menu of sweeps around a panel's knobs."""
    # Opening it reruns the page for the newest names: releasing a knob redraws only the panels.
    with st.popover("Tuning", icon=":material/tune:", key="sample tuning", on_change="rerun"):
        st.caption("Open Tune with a grid around the knobs of one panel, on the same model and data:")
        with st.container(horizontal=True):
            for name, panel in zip(titles(algorithms_of(race)), race.panels, strict=True):
                if st.button(messages.plain(name), key=f"sweep around {panel.key}"):
                    sweep_around(race, panel.algorithm, model_name, data_choice)


def sweep_around(race: PageRace[SamplingSetup], algorithm: Any, model_name: str, data_choice: str) -> None:
    """Open the Tune page with a plan around one panel's knobs."""
    setup, knobs = race.setup, knobs_of(algorithm)
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
    pages.live_page("tune").open_with(setup._replace(seed=0, clamp="", ink=1), [algorithm], settings)


if __name__ == "__main__":
    main()
