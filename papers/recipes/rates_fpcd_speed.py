"""Rates-FPCD, section 5.1: what a sweep of rates-FPCD costs, in sweeps of Gibbs."""

import time
from typing import Any

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_sample, per_seed, seeds
from papers.tables import dots
from rbmviz.models import load_model
from rbmviz.samplers import make_sampler

MODELS = ("usps_fpcd", "mnist_fpcd")


def seconds(model: str, n: int, seed: int) -> dict[str, Any]:
    """Return processor seconds per sample of each sampler; they take turns."""
    loaded = load_model(model)
    samplers = {name: make_sampler(name) for name in ("gibbs", "rates_fpcd", "rates_herding")}
    states = {name: sampler.init(loaded, seed) for name, sampler in samplers.items()}
    spent = dict.fromkeys(samplers, 0.0)
    sweeps = dict.fromkeys(samplers, 0)
    for name, sampler in samplers.items():  # compiled, and past the first samples
        sampler.step(states[name], n // 10)
    for _ in range(10):
        for name, sampler in samplers.items():
            begin = time.thread_time()
            samples = sampler.step(states[name], n // 10)
            spent[name] += time.thread_time() - begin
            sweeps[name] += int(samples.info["sweeps"].sum())
    return {name: spent[name] / n for name in samplers} | {
        f"{name} a sweep": spent[name] / sweeps[name] for name in samplers
    }


def work(size: Size) -> list[Work]:
    """Return short runs on each model."""
    jobs = []
    for model in MODELS:
        arguments = {"model": model, "n": 2000 if size == "quick" else 20_000}
        jobs += per_seed(model, seconds, arguments, seeds(size, quick=5, full=10))
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    return {
        model.partition("_")[0]: measured.mean(model, lambda run: run["rates_fpcd"] / run["gibbs"])
        for model in MODELS
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for name in ("gibbs", "rates_fpcd", "rates_herding"):
        key = f"{name} a sweep"
        each = {model: [1e6 * run[key] for run in measured.each(model)] for model in MODELS}
        rows += dots([(model, Estimate.of(values)) for model, values in each.items()], name)
    return Drawing(rows, "", "Processor time of a sweep (µs)", mark="bar")


RECIPE = Recipe(
    paper="rates_fpcd",
    place=50,
    title="Speed at equal k",
    source="Section 5.1",
    claims=(
        claim(
            "gibbs_faster",
            "At equal k a sample of rates-FPCD costs about two (USPS) to seven (MNIST) times one of Gibbs.",
            "About 2 (USPS) to 7 (MNIST; cache or paging may be the reason), called an overestimate",
            Bound("usps", "time of a sample, rates-FPCD over Gibbs, USPS", 1.3, 3),
            Bound("mnist", "time of a sample, rates-FPCD over Gibbs, MNIST", 4, 12),
            timed=True,
        ),
    ),
    about=(
        "Processor time of one thread in the samplers alone, k = 1, in turns, so that other load slows both "
        "alike. The ratio is one of two implementations: here the fast parameters are stored as what has "
        "been added to them, so that a sample does not touch all of them."
    ),
    cost={"quick": 0.1, "full": 0.8},
    live_link=on_sample("mnist_fpcd", "gibbs", "rates_fpcd", axis="seconds"),
)
