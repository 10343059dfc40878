"""Tune: a grid of settings as a map, with chains beside it."""

import math
from collections.abc import Mapping
from typing import Any, get_args

from rbmviz.datasets import list_datasets
from rbmviz.metrics import Kernel
from rbmviz.models import AUTOMATIC, list_models
from rbmviz.pages.sample import scored_data
from rbmviz.pages.settings import FreeText, RealNumber, SettingSpec, Several, Whole
from rbmviz.pages.spec import PageSpec, Sources
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers
from rbmviz.session import SamplingSetup, Start
from rbmviz.sweeps.axis import SCALES
from rbmviz.sweeps.from_settings import KIND_OF, plan_of
from rbmviz.sweeps.measures import MAX_UNITS_EACH_POINT, list_measures
from rbmviz.trainers import list_trainers

MAX_SAMPLES_OF_CELL = 1_000_000
"""Maximum budget of a cell of a sweep on a server, in samples or updates."""

SPACING = (
    "*log*: equal ratios. *linear*: equal steps. *log1m*: equal ratios of 1 − x, for values close to 1, such "
    "as 0.9, 0.99, 0.999; 1 itself comes last."
)


def setup(values: Mapping[str, Any], sources: Sources) -> SamplingSetup:
    """Return the setup of the chains beside a map of samplers."""
    model = sources.model((values["tune_models"] or SPEC.settings["tune_models"].default)[0])
    dataset = sources.data_of(model, None if values["tune_data"] == AUTOMATIC else values["tune_data"])
    return SamplingSetup(model, dataset, 0, values["tune_start"], values["tune_kernel"])


SPEC = PageSpec(
    name="tune",
    panels_key="m",
    algorithms=samplers,
    default_panels=("rates_fpcd",),
    settings={
        "tune_what": SettingSpec(
            "samplers",
            tuple(KIND_OF),
            "Tune",
            "Samplers on trained models, scored by the ISL; or trainers on data, scored by the "
            "log-likelihood of the model they learn.",
        ),
        "tune_models": SettingSpec(
            ["mnist_fpcd"],
            Several(list_models),
            "Models",
            "The trained RBMs that are sampled; several are side by side. A model file uploaded on another "
            "page, or a model of the Train page, is listed here as well.",
        ),
        "tune_samplers": SettingSpec(["rates_fpcd"], Several(list_samplers), "Samplers"),
        "tune_data": SettingSpec(
            AUTOMATIC,
            scored_data,
            "Score against",
            "The best setting is chosen on validation data and reported on test data. (In Bars and Stripes "
            "they are the same.) *automatic*: the data that the model was trained on.",
        ),
        "tune_trainers": SettingSpec(["cd"], Several(list_trainers), "Trainers"),
        "tune_train_data": SettingSpec("bas", list_datasets, "Data", "Training data."),
        "tune_hidden": SettingSpec(
            16,
            Whole(1, MAX_UNITS_EACH_POINT),
            "Hidden units",
            "Of every trained model; few enough to enumerate the likelihood.",
        ),
        "tune_updates": SettingSpec(
            3000, Whole(1, MAX_SAMPLES_OF_CELL), "Updates of a run", "Of each setting with each seed."
        ),
        "tune_x": SettingSpec("eps", FreeText(), "Across"),
        "tune_x_from": SettingSpec(0.001, RealNumber(0, 1e4), "From"),
        "tune_x_to": SettingSpec(1.0, RealNumber(0, 1e4), "To"),
        "tune_x_n": SettingSpec(
            7, Whole(1, 40), "Values", "Number of values on this axis; whole numbers may give fewer."
        ),
        "tune_x_scale": SettingSpec("log", SCALES, "Spacing", SPACING),
        "tune_y": SettingSpec("alpha", FreeText(), "Up"),
        "tune_y_from": SettingSpec(0.8, RealNumber(0, 1e4), "From"),
        "tune_y_to": SettingSpec(1.0, RealNumber(0, 1e4), "To"),
        "tune_y_n": SettingSpec(
            6, Whole(1, 40), "Values", "Number of values on this axis; whole numbers may give fewer."
        ),
        "tune_y_scale": SettingSpec("log1m", SCALES, "Spacing", SPACING),
        "tune_n": SettingSpec(
            10_000,
            Whole(1, MAX_SAMPLES_OF_CELL),
            "Length of a run",
            "For each setting and seed. The map can be viewed at every shorter length.",
        ),
        "tune_unit": SettingSpec(
            "samples",
            ("samples", "sweeps", "seconds"),
            "Unit",
            "Equal samples, equal Gibbs sweeps (samplers may spend several per sample), or equal seconds "
            "of computing.",
        ),
        "tune_seeds": SettingSpec(
            5,
            Whole(1, 20),
            "Seeds",
            "Each setting runs once with each seed, from the same starts. Differences over seeds tell "
            "settings apart: five seeds are few, one is not enough.",
        ),
        "tune_kernel": SettingSpec(
            "binary",
            get_args(Kernel),
            "ISL kernel",
            "Centre the kernels on the 0/1 samples or on their means: smoother, higher, slower to compute.",
        ),
        "tune_start": SettingSpec(
            "data",
            get_args(Start),
            "Start from",
            "Validation images, the same for all settings with one seed; or random bits.",
        ),
        "tune_measures": SettingSpec([], Several(lambda: list(list_measures("sampler"))), "Measure also"),
        "tune_knobs": SettingSpec("", FreeText(), "Other knobs"),
        "tune_speed": SettingSpec(
            60,
            (5, 20, 60, 200, 1000, 5000, math.inf),
            "Steps per second",
            "Samples of the chains beside the map. The sweep runs at low priority.",
        ),
    },
    setup=setup,
    steps="runs",
    speed="tune_speed",
    sweep=plan_of,
    count=lambda scores: int(scores.n_done),  # complete runs
    own_parts={"sweep": "a sweep", "on": "a sweep"},
)
