"""The Weights page: CD samples weighted by the model's probabilities; effects on bias and variance."""

from collections.abc import Sequence

import streamlit as st

from rbmviz.charts import Chart
from rbmviz.files.metadata import data_name
from rbmviz.ledger import STORED_FOLDER, figure_name, stored, verdict_text
from rbmviz.pages import PAGES
from rbmviz.session import WeightSetup
from rbmviz.session.importance_weights import MAX_WEIGHTS
from rbmviz.trainers import make_trainer
from rbmviz_app import controls, messages
from rbmviz_app.code import weights_code
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import FOLDED_HEIGHT, LivePage, downloads, live_chart, places
from rbmviz_app.pages.weights import charts as figures
from rbmviz_app.pages.weights.captions import captions
from rbmviz_app.pages.weights.panel import WEIGHT_KNOBS, weights_grid
from rbmviz_app.pages.weights.presets import PRESETS
from rbmviz_app.panel import algorithms_of
from rbmviz_app.race import PageRace
from rbmviz_app.session import PageSettings
from rbmviz_app.transport import Transport

TITLE, ICON, PLACE = "Weights", "balance", 6
Settings = PageSettings(PAGES["weights"].settings)
READING_NOTES = (
    f"**The chart** shows the newest samples (at most {MAX_WEIGHTS:,}), heaviest first, and their cumulative "
    "share of the weight. See how steeply the curve rises; at its left end is the single heaviest sample. "
    "CD weighs all samples the same and is biased (sections 3, 3.2).",
    "**Even weights can lie** On Bars and Stripes each hidden state covers one of 30 patterns, so log Z is "
    "log 30 = 3.4 nats too low: samples that would show the other patterns come once in 10¹⁶.",
    "**One weight takes all** Of a hundred digits one holds three quarters of the weight on average, of a "
    "thousand still more than half: the paper’s limit (section 4.2). A mixture of ten hidden states does not "
    "help.",
    "**Try** the preset *An even batch can lie*.",
)


PAGE: LivePage[WeightSetup] = LivePage(
    PAGES["weights"],
    Settings,
    question="Who holds the weight?",
    about="Each panel shows the heaviest and lightest samples of a batch of pop-CD, which reweights the "
    "samples of CD, and below them how its weight is distributed. A **model** is a network of pixels and "
    "hidden units that says how likely each image is. The weight of a sample is its probability under the "
    "model, relative to the **proposal** that it was drawn from: the distribution of the pixels given some "
    "hidden units. A **sweep** draws all hidden units, then all pixels. Compare the large numbers, then "
    "drag the sweeps or the batch size of one panel.",
    only_knobs=tuple(WEIGHT_KNOBS),
    title=figures.population_titles,
    knob_labels=lambda values: {name: label for name, (label, _) in WEIGHT_KNOBS.items()},
    presets=PRESETS,
    captions=captions,
    transport=Transport(
        play_help="Pause or continue all panels. Those that keep up with the speed stop at the same batch.",
        step_help="Draw one more batch in every panel, then pause.",
        reset_help="Restart all panels with the same seed: the same weights come again.",
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading(notes=READING_NOTES)
    with PAGE.toolbar():
        name = controls.model_name(Settings.weights_model, width=288)
        with controls.settings("weights"):
            controls.own_model(Settings.weights_model, "weights_own", "Weigh with a model file of your own")
            controls.choose(Settings.weights_start)
            controls.number(Settings.weights_seed)
            setup, reason = PAGE.setup_now()
            line = st.container()
        PAGE.menu()
    race = PAGE.open(setup, shown=(name, setup.model))
    shown_name, shown_model = race.shown_model
    with line:
        controls.model_line(shown_name, shown_model)
    with PAGE.notes():
        if reason and setup.start_from == "data":
            messages.note(f"The chains begin at random bits: {reason}")
            offer_download(data_name(setup.model.meta), "weights")
    left, right = places()
    with left:
        offer = "population", "balance", lambda: draw_adders(race)
        PAGE.draw_panels(race, "weights_grid", weights_grid, offer)
    with right:
        live_chart(
            race,
            "weights shares",
            lambda: (figures.shares_chart(PAGE.named(race), race.slots), ()),
            PAGE.question,
        )
    if not present:
        with controls.fold(Settings.weights_more, "More charts") as is_open:
            if is_open:
                draw_more(race)
                draw_stored()
        setup = race.setup
        starts_at = setup.dataset.name if setup.dataset is not None and setup.start_from == "data" else None

        def code() -> str:
            return weights_code(shown_name, starts_at, algorithms_of(race), setup.seed)

        # The code draws other random numbers.
        downloads(race, {shown_name: shown_model}, code, by_link=True)


def draw_adders(race: PageRace[WeightSetup]) -> None:
    """Draw the buttons that add a panel."""
    controls.adders(
        "weights",
        {name: name for name in ("visible", "joint", "mixture")},
        lambda proposal: race.add(make_trainer("pop_cd", n_chains=100, proposal=proposal)),
    )


BIAS_AND_VARIANCE = "population_cd_bias_variance"
"""The entry of the ledger with bias and variance of CD and pop-CD on trained models."""

CAPTIONS = {
    "sizes": "**See** how far the curve stays below the line: that is the effective share of a batch. "
    "**Try** more sweeps, or ten times the samples. Where the curve bends away, large batches contain the "
    "rare heavy weights (section 3.3).",
    "log_z": "The expected mean weight is Z for every k and proposal (section 3). **Look** for jumps: while "
    "rare heavy weights are missing, the estimate is too low and its band too narrow. **Try** the mixture "
    "proposal.",
}


def draw_more(race: PageRace[WeightSetup]) -> None:
    """Draw effective sizes and estimates of log Z."""
    drawn = {
        "sizes": (
            "What is a batch worth?",
            lambda: (figures.sizes_chart(PAGE.named(race), race.slots), ()),
        ),
        "log_z": ("Is the mean weight Z?", lambda: make_log_z(race)),
    }
    for column, (name, (title, make)) in zip(st.columns(2, gap="large"), drawn.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            live_chart(race, f"weights {name}", make, title, height=FOLDED_HEIGHT)
            st.caption(CAPTIONS[name])


def make_log_z(race: PageRace[WeightSetup]) -> tuple[Chart, Sequence[str]]:
    """Return the chart of the estimates of log Z, and a warning of a doubtful reference."""
    named = PAGE.named(race)
    references = [snapshot.reference for _, snapshot in named if snapshot.reference]
    warning = f"⚠ AIS: {references[0].warning}" if references and references[0].warning else ""
    return figures.log_z_chart(named, race.slots), [warning]


def draw_stored() -> None:
    """Draw the stored figure of bias and variance by estimator, with the verdicts on the paper's claims."""
    result = stored(BIAS_AND_VARIANCE)
    if result is None:
        return
    st.markdown("**Less bias, more noise: CD and pop-CD on trained models**")
    st.image((STORED_FOLDER / figure_name(result)).read_text("utf-8"))
    claims = (f"- *{verdict_text(claim)}*: {messages.plain(claim['text'])}" for claim in result["claims"])
    st.markdown("\n".join(claims))
    st.caption(
        f"{messages.plain(result['source'])}, measured here in advance. [Papers](./papers?ledger_search="
        f"{BIAS_AND_VARIANCE}) says how."
    )


if __name__ == "__main__":
    main()
