"""Unbiased CD, theorem 1: the estimate is unbiased; what cutting pairs off costs."""

from typing import Any

import numpy as np

from rbmviz.coupling import couple
from rbmviz.datasets import load_dataset
from rbmviz.links import link_to
from rbmviz.metrics import model_statistics
from rbmviz.models import load_model
from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Piece, Recipe, Work
from rbmviz.reproduce.run import seeds
from rbmviz.reproduce.tables import dots

CUTS = (20, 100, 1000, 10_000, 100_000)


def estimates(model: str, data: str, most: int, pairs: int, seed: int) -> dict[str, Any]:
    """Return how far the mean estimate of pairs that start at data is from the exact statistics."""
    rbm, rows = load_model(model).rbm, load_dataset(data).train
    v0 = rows[np.random.default_rng([seed, most]).integers(len(rows), size=pairs)]
    found = couple(rbm, v0, "rbm", most, seed=seed)
    exact = model_statistics(rbm)
    errors = [x - e for x, e in zip(found.estimate, (exact.W, exact.b, exact.c), strict=True)]
    flat = np.concatenate([x.reshape(pairs, -1) for x in errors], axis=1)
    mean, spread = flat.mean(axis=0), flat.std(axis=0, ddof=1) / np.sqrt(pairs)
    # The squared error of the mean is about the sum of its variances if there is no bias.
    return {
        "z": float(np.sqrt((mean**2).sum() / (spread**2).sum())),
        "bias": float((mean @ mean - (spread**2).sum()) / len(mean)),
        "variance": float((spread**2).mean() * pairs),
        "truncated": float(found.truncated.mean()),
        "tau": float(found.tau.mean()),
    }


def work(size: Size) -> list[Work]:
    """Return the work: pairs of one model with limits of several lengths."""
    pairs = 4000 if size == "quick" else 40_000
    given = {"model": "bas_cd1", "data": "bas", "pairs": pairs}
    return [
        Piece(f"{most}-{seed}", estimates, given | {"most": most, "seed": seed})
        for most in CUTS
        for seed in seeds(size, quick=20, full=60)
    ]


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return the distance of the mean in standard errors, the bias, and the share cut off."""
    result = {}
    for most in CUTS:
        runs = found.each(f"{most}-")
        result[f"z_{most}"] = Number.of([one["z"] for one in runs])
        result[f"bias_{most}"] = Number.of([one["bias"] for one in runs])
        result[f"cut_{most}"] = Number.of([one["truncated"] for one in runs])
    return result


def drawing(found: Found, size: Size) -> Drawing:
    """Return bias and share cut off by the longest pair that is allowed."""
    rows = []
    for key, panel in (
        ("bias", "squared bias per parameter"),
        ("truncated", "pairs cut off (share)"),
        ("variance", "variance per parameter"),
    ):
        each = [(most, Number.of([one[key] for one in found.each(f"{most}-")])) for most in CUTS]
        rows += dots(each, "algorithm 3", panel)
    return Drawing(rows, "Most sweeps of a pair", "", log_x=True)


RECIPE = Recipe(
    paper="unbiased_cd",
    place=60,
    title="Unbiased, if no pair is cut off",
    source="Section 3.3, theorem 1",
    claims=(
        PaperClaim(
            "unbiased",
            "The mean of the estimates is the exact expectation, within its standard error.",
            "Unbiased with a finite variance (theorem 1)",
            (
                Part("z_100000", "distance of the mean in standard errors, 100,000 sweeps at most", 0.5, 1.5),
                Part("cut_100000", "share of pairs cut off, 100,000 sweeps at most", at_most=0.0005),
            ),
        ),
        PaperClaim(
            "cutting",
            "With pairs cut off at 100 sweeps it still is.",
            "A maximum stopping time stands in algorithm 1; its bias is not mentioned",
            (Part("z_100", "distance of the mean in standard errors, 100 sweeps at most", 0.5, 1.5),),
            live_link=link_to("coupling", ("max_sweeps=100",), coupling_model="bas_cd1"),
        ),
    ),
    about=(
        "Pairs on `bas_cd1`, started at training rows. Without a bias, the squared distance of the mean "
        "estimate to the enumerated statistics is about the sum of the squared standard errors: the ratio is "
        "near 1. A pair that is cut off brings a bias, however small the share of such pairs."
    ),
    cost={"quick": 0.3, "full": 7.0},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link="coupling?coupling_model=bas_cd1",
)
