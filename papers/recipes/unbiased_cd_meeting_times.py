"""Unbiased CD, figure 5: meeting times of the general and the specialised coupling."""

from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Job, Measurements, Recipe, Work, seeds
from papers.tables import band
from rbmviz.coupling import couple
from rbmviz.pages import link_to
from rbmviz.rbm import RBM


def shares_met(algorithm: str, pairs: int, seed: int, curve: list[int]) -> dict[str, Any]:
    """Return the share of pairs that have met by some sweeps, on a random model, started at fair bits."""
    g = np.random.default_rng([seed, 500, 100])
    rbm = RBM(*(g.normal(0, 0.1, shape) for shape in ((500, 100), 500, 100)))
    v0 = g.integers(0, 2, (pairs, 500)).astype(np.uint8)
    coupled = couple(rbm, v0, algorithm, max_sweeps=1000, seed=seed)  # type: ignore[arg-type]
    tau = np.where(coupled.truncated, 1001, coupled.tau)
    return {
        "within_10": (tau <= 10).mean(),
        "truncated": coupled.truncated.mean(),
        "share": [(tau <= t).mean() for t in curve],
    }


CURVE = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 30, 50, 80, 130, 200, 300, 500, 700, 1000)
"""Sweeps at which the share of met pairs is drawn."""


def work(size: Size) -> list[Work]:
    """Return random models, each with pairs of all couplings."""
    arguments = {"pairs": 400 if size == "quick" else 1000, "curve": list(CURVE)}
    return [
        Job(f"{algorithm}-{seed}", shares_met, arguments | {"seed": seed, "algorithm": algorithm})
        for seed in seeds(size, quick=16, full=50)
        for algorithm in ("rbm", "general", "half_step")
    ]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    return {
        "within_10": measured.mean("rbm-", "within_10"),
        "general_within_10": measured.mean("general-", "within_10"),
        "general_truncated": measured.mean("general-", "truncated"),
        "truncated": measured.mean("rbm-", "truncated"),
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    labels = {"rbm": "specialised (algorithm 3)", "general": "general (algorithm 1)"}
    for name, label in (labels | {"half_step": "half-step (the authors' program)"}).items():
        rows += band(CURVE, [run["share"] for run in measured.each(f"{name}-")], series=label)
    return Drawing(rows, "Sweeps t", "Share of pairs with tau <= t", log_x=True)


RECIPE = Recipe(
    paper="unbiased_cd",
    place=50,
    title="Meeting times of two couplings",
    source="Appendix A.2, figure 5",
    claims=(
        claim(
            "within_10",
            "With the specialised coupling about two thirds of all pairs meet within 10 sweeps.",
            "65.4 % of 1,000 pairs on one model",
            Bound("within_10", "Share of pairs with tau <= 10, algorithm 3", 0.55, 0.75),
        ),
        claim(
            "general_is_slow",
            "The general coupling takes far longer, with a tail beyond 1,000 sweeps.",
            "A surprisingly long stopping time, with a long tail beyond 1000",
            Bound("general_within_10", "Share of pairs with tau <= 10, algorithm 1", at_most=0.2),
            Bound("general_truncated", "Share of pairs with tau > 1,000, algorithm 1", at_least=0.02),
            Bound("truncated", "Share of pairs with tau > 1,000, algorithm 3", at_most=0.01),
        ),
    ),
    about=(
        "Random models with 500 visible and 100 hidden units, all parameters N(0, 0.1²); both chains begin "
        "at the same fair bits. The paper has one model, here are several, and the error is that over models."
    ),
    cost={"quick": 0.4, "full": 3.0},
    live_link=link_to(
        "coupling",
        ("coupling:scale=0.1",),
        coupling_model="random",
        coupling_visible=500,
        coupling_hidden=100,
    ),
)
