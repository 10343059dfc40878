"""Settings of the Coupling page: the model, the start and seed, and the settings of the charts."""

from collections.abc import Mapping
from typing import Any

from rbmviz.metadata import data_name
from rbmviz.models import data_of
from rbmviz.pages import PAGES, RANDOM_MODEL
from rbmviz.rbm import Model
from rbmviz.session import CouplingSetup, random_rbm
from rbmviz_app import controls
from rbmviz_app.controls import data_or_reason
from rbmviz_app.session import PageSettings
from rbmviz_app.shared import data, model_called, once

Settings = PageSettings(PAGES["coupling"].settings)


def knob_labels(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the panel's label of its scale, the standard deviation of a random model's parameters."""
    is_random = values["coupling_model"] == RANDOM_MODEL
    return {"scale": "Standard deviation" if is_random else "Scale (1: as trained)"}


def choose_setup() -> tuple[str, Model, str, int]:
    """Draw the settings of the model, its size and the starts.

    Returns
    -------
    name, model
        A random model, a pretrained one, or one from the Train page.
    start : "random" or "data"
    seed : int
    """
    name = controls.model_name(Settings.coupling_model, before=[RANDOM_MODEL], width=288)
    with controls.settings("coupling"):
        sizes = None
        if name == RANDOM_MODEL:
            sizes = controls.number(Settings.coupling_visible), controls.number(Settings.coupling_hidden)
        start = controls.choose(
            Settings.coupling_start,
            format_func=lambda start: "random bits" if start == "random" else "training data",
        )
        seed = controls.number(Settings.coupling_seed)
    if sizes is None:
        return name, model_called(name), start, seed
    model = once(("random", (*sizes, seed)), lambda: Model(random_rbm(*sizes, seed)))
    return name, model, start, seed


def make_setup(model: Model, start: str, seed: int) -> tuple[CouplingSetup, str]:
    """Return the setup, and a message if the chosen starts cannot be loaded."""
    if start == "random":
        return CouplingSetup(model.rbm, None, seed), ""
    if data_name(model.meta) is None:
        sentence = "Pairs start from random bits: this model names no training data."
        return CouplingSetup(model.rbm, None, seed), sentence
    dataset, reason = data_or_reason(data_of, model, None, data)
    return CouplingSetup(
        model.rbm, dataset, seed
    ), f"Pairs start from random bits: {reason}" if reason else ""
