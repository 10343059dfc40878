"""Rates-FPCD, section 5.1: what a sweep of rates-FPCD costs, in sweeps of Gibbs."""

import time
from typing import Any

import numpy as np

from rbmviz.links import link_to
from rbmviz.models import load_model
from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Piece, Recipe, Work
from rbmviz.reproduce.run import seeds
from rbmviz.reproduce.tables import dots
from rbmviz.samplers import make_sampler

MODELS = ("usps_fpcd", "mnist_fpcd")


def seconds(model: str, n: int, seed: int) -> dict[str, Any]:
    """Return seconds of processor time of a sample, of each sampler; they take turns."""
    loaded = load_model(model)
    samplers = {name: make_sampler(name) for name in ("gibbs", "rates_fpcd", "rates_herding")}
    states = {name: one.init(loaded, seed) for name, one in samplers.items()}
    spent = dict.fromkeys(samplers, 0.0)
    sweeps = dict.fromkeys(samplers, 0)
    for name, one in samplers.items():  # compiled, and past the first samples
        one.step(states[name], n // 10)
    for _ in range(10):
        for name, one in samplers.items():
            begin = time.thread_time()
            made = one.step(states[name], n // 10)
            spent[name] += time.thread_time() - begin
            sweeps[name] += int(made.info["sweeps"].sum())
    return {name: spent[name] / n for name in samplers} | {
        f"{name} a sweep": spent[name] / sweeps[name] for name in samplers
    }


def work(size: Size) -> list[Work]:
    """Return the work: some short runs on each model."""
    n = 2000 if size == "quick" else 20_000
    return [
        Piece(f"{model}-{seed}", seconds, {"model": model, "n": n, "seed": seed})
        for model in MODELS
        for seed in seeds(size, quick=5, full=10)
    ]


def ratios(found: Found, model: str) -> Number:
    """Return how many times as long rates-FPCD takes for a sample as Gibbs."""
    return Number.of([one["rates_fpcd"] / one["gibbs"] for one in found.each(model)])


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return the ratio of both data sets."""
    return dict(zip(("usps", "mnist"), (ratios(found, model) for model in MODELS), strict=True))


def drawing(found: Found, size: Size) -> Drawing:
    """Return microseconds of a sweep."""
    rows = []
    for name in ("gibbs", "rates_fpcd", "rates_herding"):
        each = [
            (model, Number.of(1e6 * np.array([one[f"{name} a sweep"] for one in found.each(model)])))
            for model in MODELS
        ]
        rows += dots(each, name)
    return Drawing(rows, "", "Processor time of a sweep (µs)", mark="bar")


RECIPE = Recipe(
    paper="rates_fpcd",
    place=50,
    title="Speed at equal k",
    source="Section 5.1",
    claims=(
        PaperClaim(
            "gibbs_faster",
            "At equal k a sample of rates-FPCD costs about two (USPS) to seven (MNIST) times one of Gibbs.",
            "About 2 (USPS) to 7 (MNIST; cache or paging may be the reason), called an overestimate",
            (
                Part("usps", "time of a sample, rates-FPCD over Gibbs, USPS", 1.3, 3),
                Part("mnist", "time of a sample, rates-FPCD over Gibbs, MNIST", 4, 12),
            ),
        ),
    ),
    about=(
        "Processor time of one thread in the samplers alone, k = 1, in turns, so that other load slows both "
        "alike. The ratio is one of two implementations: here the fast parameters are stored as what has "
        "been added to them, so that a sample does not touch all of them."
    ),
    cost={"quick": 0.1, "full": 0.8},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link=link_to("sample", ("gibbs", "rates_fpcd"), model="mnist_fpcd", axis="seconds"),
)
