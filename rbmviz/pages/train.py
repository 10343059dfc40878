"""Train: trainers side by side on one data set."""

import math
from collections.abc import Mapping
from typing import Any

from rbmviz.datasets import list_datasets
from rbmviz.metrics.numbers import Number, own_numbers
from rbmviz.pages.settings import SettingSpec, Whole, seed_setting
from rbmviz.pages.spec import PageSpec, Sources
from rbmviz.registry import trainers
from rbmviz.session import TrainingSetup
from rbmviz.session.equal_points import TRAINER_UNITS
from rbmviz.session.training import YARDSTICKS
from rbmviz.trainers import STATS, Trainer, list_trainers


def statistics() -> list[str]:
    """Return the trainers' statistics that the lower chart can show."""
    own = [name for trainer in list_trainers() for name in trainers[trainer].own_stats]
    return list(dict.fromkeys([*own, *STATS]))


def setup(values: Mapping[str, Any], sources: Sources) -> TrainingSetup:
    """Return the data and the model size shared by all panels."""
    data = sources.data(values["train_data"])
    return TrainingSetup(data, values["hidden"], values["train_seed"], values["replicates"])


def trainers_numbers(trainer: Trainer | None) -> list[Number]:
    """Return the numbers for a trainer's own statistics (None: of all trainers)."""
    made_by = map(trainers.__getitem__, list_trainers()) if trainer is None else [type(trainer)]
    return [number for cls in made_by for number in own_numbers(cls)]


_RATE = "learning_rate=0.1,schedule=constant"

SPEC = PageSpec(
    name="train",
    panels_key="t",
    algorithms=trainers,
    default_panels=(f"cd:{_RATE}", f"pcd:{_RATE}", f"pop_cd:{_RATE}", f"ucd:{_RATE},t_max=50"),
    settings={
        "train_data": SettingSpec(
            "bas",
            list_datasets,
            "Data",
            "Training data of all panels. Bars and Stripes is small enough for the exact likelihood.",
            makes_samples=True,
        ),
        "hidden": SettingSpec(
            16,
            Whole(1, 2000),
            "Hidden units",
            "With at most 16 hidden units or 16 pixels the likelihood is exact; otherwise it is estimated.",
            makes_samples=True,
        ),
        "rule": SettingSpec(
            "0.5",
            ("0.3", "0.5", "0.7", "127", "bernoulli"),
            "Binarise grey values",
            "Threshold at this share of full ink, or draw each bit once with its grey value as "
            "the probability.",
        ),
        "train_seed": seed_setting(
            "Seed of the weights, mini-batches and chains: the same seed repeats every update.",
        ),
        "replicates": SettingSpec(
            1,
            Whole(1, 100),
            "Replicates",
            "Each panel trains this many models with consecutive seeds. Numbers and curves are "
            "means, bands hold the middle 95 %. Images, filters and warnings are of the first "
            "model.",
            makes_samples=True,
        ),
        "show": SettingSpec(
            "both",
            ("samples", "filters", "both"),
            "Show",
            "Samples of the model, the filters of its hidden units, or both.",
        ),
        "train_pixels": SettingSpec(
            "binary",
            ("binary", "mean"),
            "Pixels",
            "The sampled bits, or the probabilities they were drawn from, which are easier to read.",
        ),
        "train_cells": SettingSpec(
            8,
            (4, 6, 8, 10, 12),
            "Rows and columns",
            "Size of the grid of samples and filters in each panel.",
        ),
        "part": SettingSpec(
            "train",
            tuple(YARDSTICKS),
            "Likelihood of",
            "The training examples, or examples held out from training: a model that memorises its examples "
            "gains on the first and loses on the second. (In Bars and Stripes both are the same.) The Monte "
            "Carlo average, over chains that start at training examples, also punishes such a model.",
        ),
        "train_axis": SettingSpec(
            "updates",
            tuple(TRAINER_UNITS),
            "Curves against",
            "The axis of both charts. Each panel has its own newest numbers. Seconds depend on this machine "
            "and its load.",
        ),
        "train_equal": SettingSpec(
            False,
            (False, True),
            "Compare at the same point",
            "Mark the last number of updates, sweeps or seconds that every panel has reached, and rank the "
            "panels there.",
            left_alone=True,
        ),
        "statistic": SettingSpec(
            "", statistics, "Statistic", "A number that trainers report. Trainers without it are left out."
        ),
        "log": SettingSpec(False, (False, True), "Log scale"),
        "pace": SettingSpec(
            500,
            (1, 10, 50, 200, 500, 2000, math.inf),
            "Updates per second",
            "Slow to see single updates; fast to see where the curves end.",
        ),
    },
    setup=setup,
    own_numbers=trainers_numbers,
    steps="updates",
    speed="pace",
)
