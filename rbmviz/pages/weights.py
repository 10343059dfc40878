"""Weights: the importance weights of pop-CD's samples."""

import math
from collections.abc import Mapping
from typing import Any, get_args

from rbmviz.models import list_models
from rbmviz.pages.settings import SettingSpec, seed_setting
from rbmviz.pages.spec import PageSpec, Sources
from rbmviz.registry import trainers
from rbmviz.session import Start, WeightSetup


def setup(values: Mapping[str, Any], sources: Sources) -> WeightSetup:
    """Return the model that weights the samples, and the data at which chains start."""
    model = sources.model(values["weights_model"])
    return WeightSetup(model, sources.data_of(model), values["weights_seed"], values["weights_start"])


SPEC = PageSpec(
    name="weights",
    panels_key="w",
    algorithms=trainers,
    default_panels=(
        "pop_cd:n_chains=10",
        "pop_cd:n_chains=100",
        "pop_cd:n_chains=1000",
        "pop_cd:n_chains=100,proposal=mixture",
    ),
    settings={
        "weights_model": SettingSpec(
            "mnist_fpcd",
            list_models,
            "Model",
            "The RBM that weighs the samples. Small ones have an exact log Z; large ones show the limits.",
            makes_samples=True,
        ),
        "weights_start": SettingSpec(
            "data",
            get_args(Start),
            "Start from",
            "Training images, as in pop-CD, or random bits. The mean weight is right for any start.",
            makes_samples=True,
        ),
        "weights_seed": seed_setting(
            "The same seed gives the same batches. All panels share it.",
        ),
        "weights_pace": SettingSpec(
            10,
            (1, 3, 10, 30, 100, 300, math.inf),
            "Batches per second",
            "Slow to look at single batches; fast to find the rare heavy weights.",
        ),
        "weights_more": SettingSpec(False, (False, True), left_alone=True),
    },
    setup=setup,
    steps="batches",
    speed="weights_pace",
    only="pop_cd",
)
