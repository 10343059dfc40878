"""Sample: samplers side by side on one model."""

import math
from collections.abc import Mapping
from typing import Any, get_args

from rbmviz.datasets import list_datasets
from rbmviz.metrics import Kernel
from rbmviz.metrics.live import live_metrics_of
from rbmviz.metrics.numbers import NUMBERS, Number
from rbmviz.models import list_models
from rbmviz.pages.settings import SettingSpec, Whole
from rbmviz.pages.spec import AUTOMATIC, PageSpec, Sources
from rbmviz.registry import samplers
from rbmviz.samplers import Sampler
from rbmviz.samplers.interleave import MAX_CHAINS
from rbmviz.session import SamplingSetup, Start
from rbmviz.session.equal_points import SAMPLER_UNITS


def scored_data() -> list[str]:
    """Return the choices of data to score samples against."""
    return [AUTOMATIC, *list_datasets()]


def setup(values: Mapping[str, Any], sources: Sources) -> SamplingSetup:
    """Return the model and the data that all panels share."""
    model = sources.model(values["model"])
    dataset = sources.data_of(model, None if values["data"] == AUTOMATIC else values["data"])
    return SamplingSetup(model, dataset, values["seed"], values["start"], values["kernel"], sources.allowance)


def numbers(sampler: Sampler | None) -> dict[str, Number]:
    """Return the numbers of a sampler (None: of any), those of live metrics included."""
    metrics = live_metrics_of(MAX_CHAINS if sampler is None else sampler.n_chains)
    live = (number for metric in metrics for number in metric.numbers)
    return {**NUMBERS["sample"], **{number.name: number for number in live}}


SPEC = PageSpec(
    name="sample",
    panels_key="p",
    algorithms=samplers,
    default_panels=("gibbs", "rates_fpcd", "rates_herding", "sample_penalization"),
    settings={
        "model": SettingSpec("mnist_fpcd", list_models, "Model", makes_samples=True),
        "data": SettingSpec(AUTOMATIC, scored_data, "Score against", makes_samples=True),
        "kernel": SettingSpec("binary", get_args(Kernel), "ISL kernel", makes_samples=True),
        "start": SettingSpec("data", get_args(Start), "Start from", makes_samples=True),
        "seed": SettingSpec(0, Whole(0, 2**31 - 1), "Seed", makes_samples=True),
        "view": SettingSpec("sequence", ("sequence", "single"), "View"),
        "pixels": SettingSpec("binary", ("binary", "mean"), "Pixels"),
        "cells": SettingSpec(10, (6, 8, 10, 12), "Rows and columns"),
        "axis": SettingSpec("samples", tuple(SAMPLER_UNITS), "Compare at equal"),
        "curve": SettingSpec("ISL", ("ISL", "difference to the best"), "Curves"),
        "speed": SettingSpec(60, (5, 20, 60, 200, 1000, 5000, math.inf), "Samples per second"),
        "improvement": SettingSpec(False, (False, True), left_alone=True),
    },
    setup=setup,
    numbers=numbers,
    steps="samples",
    speed="speed",
)
