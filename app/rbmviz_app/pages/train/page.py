"""The Train page: trainers on one data set, judged by the exact likelihood where it can be computed."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.datasets import Dataset
from rbmviz.knobs import values_of
from rbmviz.models import list_models
from rbmviz.pages import PAGES
from rbmviz.rbm import RBM
from rbmviz.rbm.files import model_bytes
from rbmviz.registry import trainers
from rbmviz.session import Panel, TrainingPlan, TrainingRun, TrainingSetup, WarmStart
from rbmviz.trainers import list_trainers, make_trainer
from rbmviz.trainers.checkpoint import load_checkpoint
from rbmviz.trainers.likelihood import MAX_UNITS_EXACT_LIKELIHOOD
from rbmviz_app import controls, links, messages, pages, session, uploads
from rbmviz_app.code import training_code
from rbmviz_app.controls import Download
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import LivePage, downloads, origin_of, places
from rbmviz_app.pages.train.captions import captions
from rbmviz_app.pages.train.charts import curves_of_trainers, units_of
from rbmviz_app.pages.train.drawing import draw_charts, levels_of
from rbmviz_app.pages.train.panel import Settings, fresh_starts, train_grid
from rbmviz_app.pages.train.presets import PRESETS
from rbmviz_app.race import PageRace
from rbmviz_app.session import RACES, Entry
from rbmviz_app.shared import data, own_data, own_models, pretrained, title_of_model
from rbmviz_app.transport import Transport

OPENED_CHECKPOINT: Entry[str] = Entry("opened checkpoint", str)
"""The uploaded checkpoint for which a panel was opened."""

DRAWN_TRAINERS: Entry[dict[int, str]] = Entry("drawn trainers", dict)
"""Names of the panels, by key, in the last drawn row."""


TITLE, ICON, PLACE = "Train", "school", 3
READING_NOTES = (
    "**The filters** are the weights of each hidden unit, blue if negative, orange if positive; below, a "
    "diagnostic of this trainer.",
    "**The dashed lines** are the best possible model, where it is known, and the best model with "
    "independent pixels, which every trainer should pass.",
    "**Try** a learning rate ten times as large; or *Branch*, to continue from here with another trainer.",
)


PAGE: LivePage[TrainingSetup] = LivePage(
    PAGES["train"],
    Settings,
    question="Which trainer keeps improving?",
    about="Each panel shows a model as it learns: images drawn from it, and its filters, the patterns that "
    "its hidden units detect. A **model** is a network of pixels and hidden units that learns how likely "
    "each image is. A **sweep** draws all hidden units given the pixels, then all pixels given the hidden "
    "units; trainers use sweeps to see what their model prefers. Watch in the chart which curve climbs "
    "highest and which one falls again, then change a learning rate.",
    linkable=fresh_starts,  # the address cannot hold learned initial weights
    presets=PRESETS,
    captions=captions,
    transport=Transport(
        play_help="Pause or continue all trainers. Those that keep up with the speed stop together.",
        step_help="One more update of every trainer, then pause.",
        reset_help="Restart all trainers with the same seed: the same updates come again.",
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading(notes=READING_NOTES)
    with PAGE.toolbar():
        setup, begin_file, refused = choose_setup()
        PAGE.menu()
        cost_unit = controls.choose(Settings.train_axis)
    race = PAGE.open(setup)
    race.cost_unit = cost_unit
    with PAGE.notes():
        if not refused:  # a checkpoint continues with its own data: open it once they are loaded
            refused = open_checkpoint(race, begin_file)
        messages.alert("data", refused)
        if refused:
            offer_download(Settings.train_data.value, "train")
    left, right = places()
    chosen = None if present else draw_results(race)  # before the panels, which check the drawn names
    with left:
        offer = "trainer", "grid_view", lambda: draw_adders(race, begin_file)
        PAGE.draw_panels(race, "train_grid", grid, offer)
    with right:
        draw_charts(race, levels_of(race.setup.dataset))
    if not present:
        st.caption(messages.plain(data_line(race.setup)))
    if chosen is not None:
        draw_downloads(race, chosen)


BEGIN_AT = "begin"


def choose_setup() -> tuple[TrainingSetup, Any, str]:
    """Draw the settings, and load the data.

    Returns the trainers' common setup, the file of a model to begin at or of a checkpoint, and why the chosen
    data cannot be loaded ("" if they can).
    """
    refused = ""
    data_box = st.container(width="content")  # names the training data, which may be a file from Settings
    with controls.settings("train"):
        n_hidden = controls.number(Settings.hidden)
        controls.upload_data(
            Settings.train_data,
            uploads.TRAINING_DATA,
            "Train on your own data",
            " Other pages can score against them.",
        )
        controls.choose(
            Settings.rule,
            format_func=lambda rule: {"bernoulli": rule, "127": "above 127 of 255"}.get(
                rule, f"above {rule}"
            ),
        )
        begin_file = st.file_uploader(
            "Start from a model, or continue a checkpoint",
            type=[*uploads.MODEL_SUFFIXES, "checkpoint"],
            key=BEGIN_AT,
            help="A model becomes a choice where you add a trainer; a checkpoint continues in its own panel.",
        )
        seed = controls.number(Settings.train_seed)
        replicates = controls.number(Settings.replicates)
        controls.choose(Settings.show)
        controls.choose(Settings.train_pixels)
        controls.choose(Settings.train_cells)
    with data_box:
        name = controls.data_set(Settings.train_data, width=180, label_visibility="collapsed")
    try:
        dataset = data(name)
    except BadInput as error:  # the page lives on with its previous data
        refused, opened = str(error), RACES.value.get("train")
        dataset = opened.setup.dataset if opened else data(Settings.train_data.default)
    return TrainingSetup(dataset, n_hidden, seed, replicates), begin_file, refused


def data_line(setup: TrainingSetup) -> str:
    """Return a sentence on the training data and how models are judged."""
    dataset, n_hidden, units = setup.dataset, setup.n_hidden, units_of(setup.dataset)
    if dataset.name in own_data():
        return f"All panels train on your file '{dataset.name}': {dataset.binarisation}."
    judged = "exact" if min(dataset.n_visible, n_hidden) <= MAX_UNITS_EXACT_LIKELIHOOD else "estimated"
    return (
        f"{dataset.name}: {len(dataset.train):,} examples of {dataset.n_visible} {units}; models with "
        f"{n_hidden} hidden units; log-likelihood {judged}."
    )


def open_checkpoint(race: PageRace[TrainingSetup], begin_file: Any) -> str:
    """Open a panel for an uploaded checkpoint, once; return a message if this fails."""
    if begin_file is None or not begin_file.name.endswith(".checkpoint"):
        return ""
    if begin_file.file_id == OPENED_CHECKPOINT.value:
        return ""
    dataset, content = race.setup.dataset, begin_file.getvalue()
    try:
        checkpoint = load_checkpoint(content, dataset.train)
        n_hidden = checkpoint.state.theta.W.shape[1]
        race.add(checkpoint.trainer, TrainingPlan(dataset, n_hidden, race.setup.seed, checkpoint=content))
    except BadInput as error:
        return str(error)
    OPENED_CHECKPOINT.set(begin_file.file_id)  # a refused checkpoint may fit data chosen later
    return ""


def beginnings(dataset: Dataset, begin_file: Any) -> dict[str, RBM | None]:
    """Return the starting points of a new trainer, by name: None for small random weights, or a model.

    Models have as many visible units as the data: pretrained models, the uploaded model, and models that
    this page sent to other pages.
    """
    starts: dict[str, RBM | None] = {"small random weights": None}
    if begin_file is None:
        uploads.drop_upload(BEGIN_AT)
    elif not begin_file.name.endswith(".checkpoint"):
        try:
            own = uploads.own_model(BEGIN_AT, begin_file)
            starts |= {} if own is None else {own.name: own.content.rbm}
        except BadInput as error:
            messages.error(error)
    starts |= {name: pretrained(name).rbm for name in list_models()}
    starts |= {name: model.rbm for name, model in own_models().items()}
    return {name: rbm for name, rbm in starts.items() if rbm is None or rbm.n_visible == dataset.n_visible}


def grid(race: PageRace[TrainingSetup], **mounted: Any) -> None:
    """Draw the live panels."""
    train_grid(
        race,
        view=Settings.show.value,
        pixels=Settings.train_pixels.value,
        side=Settings.train_cells.value,
        **mounted,
    )
    if not mounted["present"] and names_of(race) != DRAWN_TRAINERS.value:
        st.rerun()  # the results row, drawn with the whole page, shows the old names


def draw_adders(race: PageRace[TrainingSetup], begin_file: Any) -> None:
    """Draw the choice of a new trainer's starting point, and a button for each trainer."""
    starts = beginnings(race.setup.dataset, begin_file)
    begin_at = st.selectbox(
        "Starts from",
        list(starts),
        format_func=title_of_model,
        width=240,
        label_visibility="collapsed",
        key="begins at",
        help="Start from random weights, or continue with what another trainer has learned.",
    )

    def add(name: str) -> None:
        plan, rbm = race.setup.plan(), starts[begin_at]
        if rbm is not None:
            plan = race.setup.plan_from(WarmStart((rbm,) * plan.replicates, 0, 0.0, ((begin_at, 0),)))
        race.add(make_trainer(name), plan)

    controls.adders("train", {name: trainers[name].label for name in list_trainers()}, add)


OTHER_PAGES = {
    "sample": ("Sample", "grid_view", "All samplers on this model, side by side."),
    "weights": ("Weights", "balance", "Importance weights of this model in pop-CD."),
    "coupling": ("Coupling", "join_inner", "How soon two chains of this model meet."),
    "tune": ("Tune", "tune", "Which settings of the samplers are best on this model."),
}
"""Title, icon and help of the pages that accept a model."""


def draw_results(race: PageRace[TrainingSetup]) -> int | None:
    """Offer to branch from a trained model, or to send it to other pages; return the chosen panel, if any."""
    if not race.panels:
        DRAWN_TRAINERS.set({})
        return None
    names = names_of(race)
    DRAWN_TRAINERS.set(names)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="results"):
        st.caption("Use the model trained by", width="content")
        key = st.selectbox(
            "Use the model trained by",
            list(names),
            format_func=lambda key: names.get(key, "a panel that has gone"),
            width=220,
            label_visibility="collapsed",
            help="The model of this panel at the moment you click.",
            key="learned by",  # without a key, a changed name would reset the choice to the first panel
        )
        panel = race[key]
        branch(race, key)
        for page, (title, icon, help_text) in OTHER_PAGES.items():
            if st.button(f"To the {title} page", icon=f":material/{icon}:", help=help_text):
                send(names[key], panel, page)
    return key


def names_of(race: PageRace[TrainingSetup]) -> dict[int, str]:
    """Return the name of each panel by its key."""
    return {panel.key: curve.name for panel, curve in zip(race.panels, curves_of_trainers(race), strict=True)}


def draw_downloads(race: PageRace[TrainingSetup], key: int) -> None:
    """Offer the data of the charts, code, the model and checkpoint of one panel."""
    panel = race[key]
    files = [
        Download(
            "Model",
            lambda: model_file(panel.read(TrainingRun.model), origin_of(race, code_of(race))),
            "model.safetensors",
            "Parameters, rates and provenance (.safetensors), to sample or to continue from; from the first "
            "update on. With replicates, the first.",
        ),
        Download(
            "Checkpoint",
            lambda: checkpoint_file(panel),
            "training.checkpoint",
            "The training itself, from the first update on: upload it in Settings to continue as if it had "
            "never stopped. With replicates, the first.",
            icon="bookmark",
        ),
    ]
    downloads(race, code=lambda: code_of(race), more=files)
    st.caption("A reload ends these trainings: *Checkpoint* continues one later.")


def model_file(model: Model | None, origin: Mapping[str, Any]) -> bytes:
    """Return a model as a file that names its ``origin``; raise BadInput if there is no model yet."""
    if model is None:
        raise BadInput("There is no model yet: let the trainer make its first update.")
    return model_bytes(Model(model.rbm, model.rates, {**model.meta, "origin": dict(origin)}))


def checkpoint_file(panel: Panel) -> bytes:
    """Return the checkpoint of a training; raise BadInput before there is one."""
    content = panel.read(TrainingRun.checkpoint)
    if not content:
        raise BadInput("There is no checkpoint yet: let the trainer make its first update.")
    return content


def code_of(race: PageRace[TrainingSetup]) -> str:
    """Return code that repeats the panels that need no file and names the other panels."""
    fresh, names = fresh_starts(race), names_of(race)
    others = [names[panel.key] for panel in race.panels if panel.plan != race.setup.plan()]
    return training_code(race.setup, fresh, others)


def branch(race: PageRace[TrainingSetup], key: int) -> None:
    """Offer to continue from a panel's weights with another trainer."""

    def begin(name: str) -> None:
        panel = race[key]
        try:
            plan = race.setup.plan_from(panel.read(TrainingRun.warm_start))
            # Herding's learning rate is the length of a step towards the data, and polishing's is small.
            of_its_own = {"herding", "polish"} & {name, panel.algorithm.name}
            same = ("batch_size",) if of_its_own else ("learning_rate", "batch_size")
            values = values_of(panel.algorithm)
            race.add(make_trainer(name, **{knob: values[knob] for knob in same}), plan)
        except BadInput as error:
            messages.refused(error)
        session.close_popover("branches")

    with st.popover("Branch", icon=":material/call_split:", key=session.popover_key("branches")):
        st.caption("Continue from here with another trainer, beside this one (UCD paper, figure 9):")
        for name in list_trainers():
            st.button(
                trainers[name].label, key=f"branch {name}", on_click=begin, args=(name,), type="tertiary"
            )


def send(name: str, panel: Panel, page: str) -> None:
    """Open another page with the model that a run has learned."""
    try:
        model = panel.read(TrainingRun.model)
    except BadInput as error:
        messages.refused(error)
        return
    if model is None:
        st.toast("There is no model yet: let the trainer make its first update.")
        return
    updates = model.meta["updates"]
    title = f"{name} on {model.meta['dataset']}, {updates:,} update{'s' if updates != 1 else ''}"
    try:
        title = uploads.send_model(title, model)
    except BadInput as error:
        messages.error(error)
        return
    setting = links.MODEL_CHOICES[page]
    on_tune = {setting: [title], "tune_what": "samplers", "sweep": "", "on": ""}
    session.show(on_tune if page == "tune" else {setting: title})
    st.switch_page(pages.file_of(page))


if __name__ == "__main__":
    main()
