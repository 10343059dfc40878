"""Rates-FPCD, section 4: the parameters hover at a distance that grows as the root of the step size."""

import math
from collections.abc import Sequence
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

MODELS = ("bas_pcd", "modes_pcd")
STEPS = (0.0003, 0.001, 0.003, 0.01, 0.03)


def hovering(model: str, eps: float, n: int, seed: int) -> dict[str, Any]:
    """Return how far theta_F is from its mean over time, in the second half of a run.

    It is the root of the mean squared Euclidean distance over all parameters.
    """
    loaded = load_model(model)
    sampler = make_sampler("rates_fpcd", eps=eps, alpha=1.0)
    state = sampler.init(loaded, seed)
    sampler.step(state, n // 2)
    parts = 200
    seen = []
    for _ in range(parts):
        sampler.step(state, n // 2 // parts)
        now = sampler.target(state)
        seen.append(np.concatenate([np.ravel(x) for x in (now.W, now.b, now.c)], dtype=np.float64))
    return {"distance": float(np.sqrt(np.var(seen, axis=0).sum()))}


def work(size: Size) -> list[Work]:
    """Return the work: runs over step sizes, longer ones for smaller steps.

    Those of a quick run are as long: a fifth of it does not reach the distance at which the parameters stay,
    and gives smaller slopes.
    """
    return [
        Piece(
            f"{model}-{eps:g}-{seed}",
            hovering,
            {
                "model": model,
                "eps": eps,
                "n": int(5 * min(max(1200 / eps, 40_000), 2_000_000)),
                "seed": seed,
            },
        )
        for model in MODELS
        for eps in STEPS
        for seed in seeds(size, quick=4, full=10)
    ]


def slope(found: Found, model: str, steps: Sequence[float]) -> Number:
    """Return the slope of log distance over log eps, by seed."""
    logs = [[math.log(one["distance"]) for one in found.each(f"{model}-{eps:g}-")] for eps in steps]
    return Number.of([float(np.polyfit(np.log(steps), each, 1)[0]) for each in zip(*logs, strict=True)])


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return the slopes over small and over larger steps."""
    small = {model: slope(found, model, STEPS[:3]) for model in MODELS}
    return small | {f"{model}_large": slope(found, model, STEPS[2:]) for model in MODELS}


def drawing(found: Found, size: Size) -> Drawing:
    """Return distances over step sizes."""
    rows = []
    for model in MODELS:
        each = [
            (eps, Number.of([one["distance"] for one in found.each(f"{model}-{eps:g}-")])) for eps in STEPS
        ]
        rows += dots(each, model)
    return Drawing(rows, "Step size eps", "Distance from the mean (root mean square)", log_x=True, log_y=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=140,
    title="Distance and the root of the step size",
    source="Section 4",
    claims=(
        PaperClaim(
            "root",
            "The distance of the parameters from their optimum grows as the root of the step size.",
            "Proportional to the square root of the step size (a bound, from Borkar)",
            tuple(
                Part(model, f"slope of log distance over log eps up to 0.003, `{model}`", 0.4, 0.6)
                for model in MODELS
            ),
        ),
        PaperClaim(
            "root_of_larger_steps",
            "The same holds for larger steps, with which chains mix fast.",
            "As long as the step size is not excessive",
            tuple(
                Part(f"{model}_large", f"slope from 0.003 to 0.03, `{model}`", 0.4, 0.6) for model in MODELS
            ),
            live_link=link_to(
                "sample", tuple(f"rates_fpcd:eps={eps:g}" for eps in (0.003, 0.03)), model="modes_pcd"
            ),
        ),
    ),
    about=(
        "The distance of theta_F from its own mean over the second half of a run, eps from 0.0003 to 0.03, "
        "alpha = 1: the optimum itself is not known. A slope of 1/2 is the claim; the sentence of the paper "
        "is an upper bound for small steps. A smaller slope is what one expects where a smaller step also "
        "makes the chain mix more slowly: the noise of consecutive samples then adds up."
    ),
    cost={"quick": 2.0, "full": 5.0},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link=link_to("sample", tuple(f"rates_fpcd:eps={eps:g}" for eps in (0.003, 0.03)), model="bas_pcd"),
)
