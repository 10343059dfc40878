"""Unbiased CD, figure 5: meeting times of the general and of the specialised coupling."""

from typing import Any

import numpy as np

from rbmviz.coupling import couple
from rbmviz.links import link_to
from rbmviz.rbm import RBM
from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Piece, Recipe, Work
from rbmviz.reproduce.run import seeds


def shares_met(algorithm: str, pairs: int, seed: int, curve: list[int]) -> dict[str, Any]:
    """Return which share of pairs has met after some sweeps, on one random model, started at fair bits."""
    g = np.random.default_rng([seed, 500, 100])
    rbm = RBM(*(g.normal(0, 0.1, shape) for shape in ((500, 100), 500, 100)))
    v0 = g.integers(0, 2, (pairs, 500)).astype(np.uint8)
    found = couple(rbm, v0, algorithm, max_sweeps=1000, seed=seed)  # type: ignore[arg-type]
    tau = np.where(found.truncated, 1001, found.tau)
    return {
        "within_10": (tau <= 10).mean(),
        "truncated": found.truncated.mean(),
        "share": [(tau <= t).mean() for t in curve],
    }


CURVE = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 30, 50, 80, 130, 200, 300, 500, 700, 1000)
"""Sweeps at which the share of pairs that have met is drawn."""


def work(size: Size) -> list[Work]:
    """Return the work: some models, each with pairs of both couplings."""
    given = {"pairs": 400 if size == "quick" else 1000, "curve": list(CURVE)}
    return [
        Piece(f"{algorithm}-{seed}", shares_met, given | {"seed": seed, "algorithm": algorithm})
        for seed in seeds(size, quick=16, full=50)
        for algorithm in ("rbm", "general", "half_step")
    ]


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return the numbers: means over models."""
    rbm, general = found.each("rbm-"), found.each("general-")
    return {
        "within_10": Number.of([one["within_10"] for one in rbm]),
        "general_within_10": Number.of([one["within_10"] for one in general]),
        "general_truncated": Number.of([one["truncated"] for one in general]),
        "truncated": Number.of([one["truncated"] for one in rbm]),
    }


def drawing(found: Found, size: Size) -> Drawing:
    """Return the share of pairs that have met, by sweeps."""
    rows = []
    labels = {"rbm": "specialised (algorithm 3)", "general": "general (algorithm 1)"}
    for name, label in (labels | {"half_step": "half-step (the authors' program)"}).items():
        shares = np.array([one["share"] for one in found.each(f"{name}-")])
        for t, at in zip(CURVE, shares.T, strict=True):
            row = {"x": t, "y": at.mean(), "low": at.min(), "high": at.max(), "series": label}
            rows.append(
                {key: value if isinstance(value, str) else float(value) for key, value in row.items()}
            )
    return Drawing(rows, "Sweeps t", "Share of pairs with tau <= t", log_x=True)


RECIPE = Recipe(
    paper="unbiased_cd",
    place=50,
    title="Meeting times of two couplings",
    source="Appendix A.2, figure 5",
    claims=(
        PaperClaim(
            "within_10",
            "With the specialised coupling about two thirds of all pairs meet within 10 sweeps.",
            "65.4 % of 1,000 pairs on one model",
            (Part("within_10", "Share of pairs with tau <= 10, algorithm 3", 0.55, 0.75),),
        ),
        PaperClaim(
            "general_is_slow",
            "The general coupling takes far longer, with a tail beyond 1,000 sweeps.",
            "A surprisingly long stopping time, with a long tail beyond 1000",
            (
                Part("general_within_10", "Share of pairs with tau <= 10, algorithm 1", at_most=0.2),
                Part("general_truncated", "Share of pairs with tau > 1,000, algorithm 1", at_least=0.02),
                Part("truncated", "Share of pairs with tau > 1,000, algorithm 3", at_most=0.01),
            ),
        ),
    ),
    about=(
        "Random models with 500 visible and 100 hidden units, all parameters N(0, 0.1²); both chains begin "
        "at the same fair bits. The paper has one model, here are several, and the error is that over models."
    ),
    cost={"quick": 0.4, "full": 3.0},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link=link_to(
        "coupling", ("scale=0.1",), coupling_model="random", coupling_visible=500, coupling_hidden=100
    ),
)
