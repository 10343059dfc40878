"""Sample: samplers side by side on one model."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from rbmviz.datasets import list_datasets
from rbmviz.errors import BadInput
from rbmviz.metrics import Kernel
from rbmviz.metrics.live import live_metrics_of
from rbmviz.metrics.numbers import Number
from rbmviz.models import AUTOMATIC, list_models
from rbmviz.pages.settings import FreeText, SettingSpec, seed_setting
from rbmviz.pages.spec import PageSpec, Sources
from rbmviz.rbm import Model
from rbmviz.rbm.clamp import as_clamp
from rbmviz.registry import samplers
from rbmviz.samplers import Sampler
from rbmviz.samplers.interleave import MAX_CHAINS
from rbmviz.session import SamplingSetup, SamplingSnapshot, Start
from rbmviz.session.equal_points import SAMPLER_UNITS


def scored_data() -> list[str]:
    """Return the choices of data to score samples against."""
    return [AUTOMATIC, *list_datasets()]


def setup(values: Mapping[str, Any], sources: Sources) -> SamplingSetup:
    """Return the model and the data shared by all panels."""
    model = sources.model(values["model"])
    dataset = sources.data_of(model, None if values["data"] == AUTOMATIC else values["data"])
    held, _ = held_units(values["clamp"], model)
    own = {"clamp": held, "ink": values["ink"]}
    return SamplingSetup(model, dataset, values["seed"], values["start"], values["kernel"], **own)


def held_units(drawing: str, model: Model) -> tuple[str, str]:
    """Return a drawing (``Clamp.text``), "" if nothing of it can be held in the model, and then why not."""
    if not drawing:
        return "", ""
    try:
        clamp = as_clamp(drawing, *model.rbm.W.shape)
    except BadInput as error:
        return "", f"Nothing is held: {str(error).removeprefix('clamp: ')}"
    return (drawing, "") if clamp.holds else ("", "")


def live_numbers(sampler: Sampler | None) -> list[Number]:
    """Return the numbers of a sampler's live metrics (None: of any sampler)."""
    metrics = live_metrics_of(MAX_CHAINS if sampler is None else sampler.n_chains)
    return [number for metric in metrics for number in metric.numbers]


def first_samples(snapshot: SamplingSnapshot, n: int) -> SamplingSnapshot:
    """Return a snapshot whose score is that of the last point of its curve within n samples."""
    before = [point for point in snapshot.curve if point.n <= n - snapshot.scored_from]
    newest = before[-1] if before else None
    return snapshot if newest is snapshot.newest else replace(snapshot, newest=newest)


SPEC = PageSpec(
    name="sample",
    panels_key="p",
    algorithms=samplers,
    # At step size 0, rates-FPCD is the same chain as Gibbs, until a visitor's first drag sets it free.
    default_panels=("gibbs", "rates_fpcd:eps=0", "rates_herding", "sample_penalization"),
    settings={
        "model": SettingSpec(
            "mnist_fpcd",
            list_models,
            "Model",
            "The trained RBM that every panel samples. Compare one trained by CD-1 with one trained by FPCD.",
            makes_samples=True,
        ),
        "data": SettingSpec(
            AUTOMATIC,
            scored_data,
            "Score against",
            "Test images for the ISL, training images for the classes. *automatic* takes the data that the "
            "model was trained on.",
            makes_samples=True,
        ),
        "kernel": SettingSpec(
            "binary",
            get_args(Kernel),
            "ISL kernel",
            "Centre the kernels on the 0/1 samples or on their means. Means give smoother, higher "
            "scores and take longer. For rates-herding they are the same: its means are its bits.",
            makes_samples=True,
        ),
        "start": SettingSpec(
            "data",
            get_args(Start),
            "Start from",
            "A validation image, or random bits.",
            makes_samples=True,
        ),
        "seed": seed_setting(
            "The same seed gives the same samples. All panels share it, so differences come from the "
            "samplers alone.",
        ),
        "clamp": SettingSpec("", FreeText(r"[A-Za-z0-9_.-]{0,4000}"), makes_samples=True),
        "ink": SettingSpec(
            1,
            (1, 0),
            "Ink is",
            "The value that stands for ink. With 0 the model is recoded: a unit that is on is paper. Gibbs "
            "draws from the same distribution; samplers that push away from their samples change.",
            makes_samples=True,
        ),
        "inside": SettingSpec(False, (False, True), left_alone=True),
        "view": SettingSpec(
            "sequence",
            ("sequence", "single"),
            "View",
            "All recent samples, row by row; or only the newest, large, beside its mean.",
        ),
        "pixels": SettingSpec(
            "binary",
            ("binary", "mean"),
            "Pixels",
            "The sampled bits, or the probabilities they were drawn from, which are easier to read.",
        ),
        "cells": SettingSpec(
            7,
            (6, 7, 8, 10, 12),
            "Rows and columns",
            "Size of the grid of samples in each panel.",
        ),
        "axis": SettingSpec(
            "samples",
            tuple(SAMPLER_UNITS),
            "Compare by",
            "Compare scores at the largest number of samples, sweeps or seconds of computing that every "
            "panel has reached. All other numbers are of the newest samples. It does not change the speed. "
            "Seconds depend on this machine and its load.",
        ),
        "curve": SettingSpec(
            "ISL",
            ("ISL", "difference to the best", "PCA", "draw"),
            "Curves",
            "The ISL itself, its difference to the best panel (below 0 is worse), or the newest samples and "
            "the training data in the two directions in which the data vary most. Or draw a part of an "
            "image: the samplers complete it.",
        ),
        "speed": SettingSpec(
            60,
            (5, 20, 60, 200, 1000, 5000, math.inf),
            "Samples per second",
            "Slow to follow single samples by eye; fast to see where the ISL curves end.",
        ),
    },
    setup=setup,
    own_numbers=live_numbers,
    first=first_samples,
    steps="samples",
    speed="speed",
)
