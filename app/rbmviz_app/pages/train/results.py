"""Uses of a trained model: branch from it, send it to other pages, download it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.knobs import values_of
from rbmviz.rbm.files import model_bytes
from rbmviz.registry import trainers
from rbmviz.session import Panel, Race, TrainingRun, TrainingSetup
from rbmviz.trainers import list_trainers, make_trainer
from rbmviz_app import messages, pages, session, uploads
from rbmviz_app.code import training_code
from rbmviz_app.controls import Download
from rbmviz_app.page import downloads, origin_of
from rbmviz_app.pages.train.charts import curves_of_trainers
from rbmviz_app.pages.train.panel import fresh_starts

OTHER_PAGES = (
    ("Sample", "grid_view", "All samplers on this model, side by side.", "sample", "model"),
    (
        "Weights",
        "balance",
        "Importance weights of this model in pop-CD.",
        "weights",
        "weights_model",
    ),
    (
        "Coupling",
        "join_inner",
        "How soon two chains of this model meet.",
        "coupling",
        "coupling_model",
    ),
    ("Tune", "tune", "Which settings of the samplers are best on this model.", "tune", "tune_models"),
)
"""Title, icon, help and folder of the pages that accept a model, and their setting that chooses the model."""


def draw_results(comparison: Race[TrainingSetup]) -> int | None:
    """Offer to branch from a trained model, or to send it to other pages; return the chosen panel.

    Return None if there is no panel.
    """
    if not comparison.panels:
        session.DRAWN_TRAINERS.set({})
        return None
    names = names_of(comparison)
    session.DRAWN_TRAINERS.set(names)
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
        panel = comparison[key]
        branch(comparison, key)
        for title, icon, help_text, page, setting in OTHER_PAGES:
            if st.button(f"To the {title} page", icon=f":material/{icon}:", help=help_text):
                send(names[key], panel, page, setting)
    return key


def names_of(comparison: Race[TrainingSetup]) -> dict[int, str]:
    """Return the name of each panel by its key."""
    return {
        panel.key: curve.name
        for panel, curve in zip(comparison.panels, curves_of_trainers(comparison), strict=True)
    }


def draw_downloads(comparison: Race[TrainingSetup], key: int) -> None:
    """Offer the data of the charts, code, the model and checkpoint of one panel."""
    panel = comparison[key]
    files = [
        Download(
            "Model",
            lambda: model_file(panel.read(TrainingRun.model), origin_of(comparison, code_of(comparison))),
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
    downloads(comparison, code=lambda: code_of(comparison), more=files)
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


def code_of(comparison: Race[TrainingSetup]) -> str:
    """Return code that repeats the panels that need no file and names the other panels."""
    fresh, names = fresh_starts(comparison), names_of(comparison)
    others = [names[panel.key] for panel in comparison.panels if panel.plan != comparison.setup.plan()]
    return training_code(comparison.setup, fresh, others)


def branch(comparison: Race[TrainingSetup], key: int) -> None:
    """Offer to continue from a panel's weights with another trainer."""

    def begin(name: str) -> None:
        panel = comparison[key]
        try:
            plan = comparison.setup.plan_from(panel.read(TrainingRun.warm_start))
            # Herding's learning rate is the length of a step towards the data, and polishing's is small.
            of_its_own = {"herding", "polish"} & {name, panel.algorithm.name}
            same = ("batch_size",) if of_its_own else ("learning_rate", "batch_size")
            values = values_of(panel.algorithm)
            comparison.add(make_trainer(name, **{knob: values[knob] for knob in same}), plan)
        except BadInput as error:
            messages.refused(error)
        session.close_popover("branches")

    with st.popover("Branch", icon=":material/call_split:", key=session.popover_key("branches")):
        st.caption("Continue from here with another trainer, beside this one (UCD paper, figure 9):")
        for name in list_trainers():
            st.button(
                trainers[name].label, key=f"branch {name}", on_click=begin, args=(name,), type="tertiary"
            )


def send(name: str, panel: Panel, page: str, setting: str) -> None:
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
    on_tune = {setting: [title], "tune_what": "samplers", "sweep": "", "on": ""}
    session.show(on_tune if page == "tune" else {setting: title})
    st.switch_page(pages.file_of(page))
