"""Rates-FPCD, section 4: the parameters hover at a distance that grows as the root of the step size."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_sample, per_seed, seeds
from papers.tables import dots
from rbmviz.gradient import flat
from rbmviz.models import load_model
from rbmviz.samplers import make_sampler

MODELS = ("bas_pcd", "modes_pcd")
STEPS = (0.0003, 0.001, 0.003, 0.01, 0.03)


def hovering(model: str, eps: float, n: int, seed: int) -> dict[str, Any]:
    """Return the root mean squared distance of theta_F to its mean over time, in the second half of a run."""
    loaded = load_model(model)
    sampler = make_sampler("rates_fpcd", eps=eps, alpha=1.0)
    state = sampler.init(loaded, seed)
    sampler.step(state, n // 2)
    parts = 200
    seen = []
    for _ in range(parts):
        sampler.step(state, n // 2 // parts)
        seen.append(flat(sampler.target(state)))
    return {"distance": float(np.sqrt(np.var(seen, axis=0).sum()))}


def work(size: Size) -> list[Work]:
    """Return runs over step sizes, longer for smaller steps.

    A quick run has the same length: a fifth of it does not reach the stationary distance, and gives smaller
    slopes.
    """
    jobs = []
    for model in MODELS:
        for eps in STEPS:
            n = int(5 * min(max(1200 / eps, 40_000), 2_000_000))
            arguments = {"model": model, "eps": eps, "n": n}
            jobs += per_seed(f"{model}-{eps:g}", hovering, arguments, seeds(size, quick=4, full=10))
    return jobs


def slope(measured: Measurements, model: str, steps: Sequence[float]) -> Estimate:
    """Return the slope of log distance over log eps."""
    logs = [[math.log(run["distance"]) for run in measured.each(f"{model}-{eps:g}-")] for eps in steps]
    return Estimate.of([float(np.polyfit(np.log(steps), each, 1)[0]) for each in zip(*logs, strict=True)])


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    small = {model: slope(measured, model, STEPS[:3]) for model in MODELS}
    return small | {f"{model}_large": slope(measured, model, STEPS[2:]) for model in MODELS}


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for model in MODELS:
        rows += dots([(eps, measured.mean(f"{model}-{eps:g}-", "distance")) for eps in STEPS], model)
    return Drawing(rows, "Step size eps", "Distance from the mean (root mean square)", log_x=True, log_y=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=140,
    title="Distance and root of the step size",
    source="Section 4",
    claims=(
        claim(
            "root",
            "The distance of the parameters from their optimum grows as the root of the step size.",
            "Proportional to the square root of the step size (a bound, from Borkar)",
            *(
                Bound(model, f"slope of log distance over log eps up to 0.003, `{model}`", 0.4, 0.6)
                for model in MODELS
            ),
        ),
        claim(
            "root_of_larger_steps",
            "The same holds for larger steps, with which chains mix fast.",
            "As long as the step size is not excessive",
            *(Bound(f"{model}_large", f"slope from 0.003 to 0.03, `{model}`", 0.4, 0.6) for model in MODELS),
            live_link=on_sample("modes_pcd", *(f"rates_fpcd:eps={eps:g}" for eps in (0.003, 0.03))),
        ),
    ),
    about=(
        "The distance of theta_F from its own mean over the second half of a run, eps from 0.0003 to 0.03, "
        "alpha = 1: the optimum itself is not known. A slope of 1/2 is the claim; the sentence of the paper "
        "is an upper bound for small steps. A smaller slope is what one expects where a smaller step also "
        "makes the chain mix more slowly: the noise of consecutive samples then adds up."
    ),
    cost={"quick": 2.0, "full": 5.0},
    live_link=on_sample("bas_pcd", *(f"rates_fpcd:eps={eps:g}" for eps in (0.003, 0.03))),
)
