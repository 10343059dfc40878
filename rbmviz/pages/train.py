"""Train: trainers side by side on one data set."""

import math
from collections.abc import Mapping
from typing import Any

from rbmviz.datasets import list_datasets
from rbmviz.metrics.numbers import NUMBERS, Number, own_numbers
from rbmviz.pages.settings import SettingSpec, Whole
from rbmviz.pages.spec import PageSpec, Sources
from rbmviz.registry import trainers
from rbmviz.session import TrainingSetup
from rbmviz.session.equal_points import TRAINER_UNITS
from rbmviz.trainers import STATS, Trainer, list_trainers


def statistics() -> list[str]:
    """Return the statistics of trainers that the lower chart can show."""
    own = [name for trainer in list_trainers() for name in trainers[trainer].own_stats]
    return list(dict.fromkeys([*own, *STATS]))


def setup(values: Mapping[str, Any], sources: Sources) -> TrainingSetup:
    """Return the data and the size of model that all panels share."""
    data = sources.data(values["train_data"])
    return TrainingSetup(data, values["hidden"], values["train_seed"], values["replicates"])


def numbers(trainer: Trainer | None) -> dict[str, Number]:
    """Return the numbers of a trainer (None: of any), its own statistics included."""
    made_by = map(trainers.__getitem__, list_trainers()) if trainer is None else [type(trainer)]
    own = (number for cls in made_by for number in own_numbers(cls))
    return {**NUMBERS["train"], **{number.name: number for number in own}}


_RATE = "learning_rate=0.1,schedule=constant"

SPEC = PageSpec(
    name="train",
    panels_key="t",
    algorithms=trainers,
    default_panels=(f"cd:{_RATE}", f"pcd:{_RATE}", f"pop_cd:{_RATE}", f"ucd:{_RATE},t_max=50"),
    settings={
        "train_data": SettingSpec("bas", list_datasets, "Data", makes_samples=True),
        "hidden": SettingSpec(16, Whole(1, 2000), "Hidden units", makes_samples=True),
        "rule": SettingSpec("0.5", ("0.3", "0.5", "0.7", "bernoulli")),
        "train_seed": SettingSpec(0, Whole(0, 2**31 - 1), "Seed", makes_samples=True),
        "replicates": SettingSpec(1, Whole(1, 100), "Replicates", makes_samples=True),
        "show": SettingSpec("both", ("both", "samples", "filters")),
        "train_pixels": SettingSpec("binary", ("binary", "mean")),
        "train_cells": SettingSpec(8, (4, 6, 8, 10, 12)),
        "part": SettingSpec("train", ("train", "test")),
        "train_axis": SettingSpec("updates", tuple(TRAINER_UNITS), "Compare at equal"),
        "statistic": SettingSpec("", statistics),
        "log": SettingSpec(False, (False, True)),
        "pace": SettingSpec(500, (1, 10, 50, 200, 500, 2000, math.inf), "Updates per second"),
    },
    setup=setup,
    numbers=numbers,
    steps="updates",
    speed="pace",
)
