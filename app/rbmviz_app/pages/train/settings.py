"""Settings of the Train page: the data, the starting points of trainings, and the display."""

from typing import Any, NamedTuple

import streamlit as st

from rbmviz import BadInput
from rbmviz.datasets import Dataset, list_datasets
from rbmviz.models import data_label, list_models
from rbmviz.pages import PAGES
from rbmviz.rbm import RBM
from rbmviz.session import Race, TrainingPlan, TrainingSetup
from rbmviz.session.training import MAX_UNITS_EXACT_LIKELIHOOD
from rbmviz.trainers.checkpoint import load_checkpoint
from rbmviz_app import controls, messages, uploads
from rbmviz_app.session import COMPARISONS, OPENED_CHECKPOINT, PageSettings
from rbmviz_app.shared import data, own_models, pretrained

DATA_WIDTH = 180
OWN_DATA, BEGIN_AT = uploads.TRAINING_DATA, "begin"


Settings = PageSettings(PAGES["train"].settings)


class Chosen(NamedTuple):
    """The values of the settings.

    setup : the trainers' common setup
    begin_file : a model to begin at, or a checkpoint to continue
    caption : description of the training data, if they are the visitor's own file
    refused : a message if the chosen data cannot be loaded
    """

    setup: TrainingSetup
    begin_file: Any
    caption: str
    refused: str


def choose_setup() -> Chosen:
    """Draw the settings, and load the data."""
    caption = refused = ""
    data_box = st.container(width="content")  # names the training data, which may be a file from Settings
    with controls.settings("train"):
        n_hidden = controls.number(Settings.hidden)
        file = uploads.uploader(
            OWN_DATA,
            "Train on your own data",
            uploads.DATA_SUFFIXES,
            "Rows of 0 and 1 or of grey values (.npz, .npy, .csv), images (.zip), one text per line (.txt). "
            "Other pages can score against them.",
        )
        rule = controls.choose(
            Settings.rule,
            format_func=lambda rule: {"bernoulli": rule, "127": "above 127 of 255"}.get(
                rule, f"above {rule}"
            ),
        )
        offer = st.container()
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
    dataset, is_own, setting = None, file is not None, Settings.train_data
    look: dict[str, Any] = {"width": DATA_WIDTH, "label_visibility": "collapsed"}
    try:
        own = uploads.own_data(OWN_DATA, file, rule)
        if own is None:
            names = sorted(list_datasets(), key=lambda name: (name != setting.default, name))
            options = list(dict.fromkeys([*names, setting.value]))  # a preset or link may ask for a variant
            with data_box:
                dataset = data(controls.select(setting, options, format_func=data_label, **look))
        else:
            dataset, is_own = own.content, True
            caption = f"All panels train on your file '{own.name}': {dataset.binarisation}."
    except BadInput as error:
        refused = str(error)
    # Keep the page alive with its previous data.
    if dataset is None:
        opened = COMPARISONS.value.get("train")
        dataset = opened[0].setup.dataset if opened else data(setting.default)
    if is_own:  # its name, instead of the choice
        name = data_label(dataset.name)
        help = caption or "Your file was refused; training continues on the previous data."
        key = f"data shown {dataset.name}"
        data_box.selectbox(setting.label, [name], disabled=True, key=key, help=help, **look)
        with offer:
            uploads.offer_to_leave(OWN_DATA, file)
    return Chosen(TrainingSetup(dataset, n_hidden, seed, replicates), begin_file, caption, refused)


def units_of(dataset: Dataset) -> str:
    """Return what the visible units of these data represent."""
    return "words" if dataset.vocabulary else "pixels"


def data_line(setup: TrainingSetup) -> str:
    """Return a sentence on the training data and how models are judged."""
    dataset, n_hidden, units = setup.dataset, setup.n_hidden, units_of(setup.dataset)
    judged = "exact" if min(dataset.n_visible, n_hidden) <= MAX_UNITS_EXACT_LIKELIHOOD else "estimated"
    return (
        f"{dataset.name}: {len(dataset.train):,} examples of {dataset.n_visible} {units}; models with "
        f"{n_hidden} hidden units; log-likelihood {judged}."
    )


def open_checkpoint(comparison: Race[TrainingSetup], begin_file: Any) -> str:
    """Open a panel for an uploaded checkpoint, once; return a message if this fails."""
    if begin_file is None or not begin_file.name.endswith(".checkpoint"):
        return ""
    if begin_file.file_id == OPENED_CHECKPOINT.value:
        return ""
    dataset, content = comparison.setup.dataset, begin_file.getvalue()
    try:
        checkpoint = load_checkpoint(content, dataset.train)
        n_hidden = checkpoint.state.theta.W.shape[1]
        comparison.add(
            checkpoint.trainer, TrainingPlan(dataset, n_hidden, comparison.setup.seed, checkpoint=content)
        )
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
