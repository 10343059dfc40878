"""Unbiased CD, theorem 1: the estimate is unbiased, and the cost of cutting pairs off."""

from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, per_seed, seeds
from papers.tables import dots
from rbmviz.coupling import couple
from rbmviz.datasets import load_dataset
from rbmviz.metrics import model_statistics
from rbmviz.models import load_model
from rbmviz.pages import link_to

CUTS = (20, 100, 1000, 10_000, 100_000)


def estimates(model: str, data: str, most: int, pairs: int, seed: int, k: int = 1) -> dict[str, Any]:
    """Return the distance of the mean estimate of pairs started at data to the exact statistics."""
    rbm, rows = load_model(model).rbm, load_dataset(data).train
    v0 = rows[np.random.default_rng([seed, most]).integers(len(rows), size=pairs)]
    coupled = couple(rbm, v0, "rbm", most, seed=seed, k=k)
    exact = model_statistics(rbm)
    errors = [x - e for x, e in zip(coupled.estimate, (exact.W, exact.b, exact.c), strict=True)]
    flat = np.concatenate([x.reshape(pairs, -1) for x in errors], axis=1)
    mean, spread = flat.mean(axis=0), flat.std(axis=0, ddof=1) / np.sqrt(pairs)
    # Without bias the squared error of the mean is about the sum of its variances.
    return {
        "z": float(np.sqrt((mean**2).sum() / (spread**2).sum())),
        "bias": float((mean @ mean - (spread**2).sum()) / len(mean)),
        "variance": float((spread**2).mean() * pairs),
        "truncated": float(coupled.truncated.mean()),
        "tau": float(coupled.tau.mean()),
    }


def work(size: Size) -> list[Work]:
    """Return pairs of one model with several limits."""
    jobs = []
    arguments = {"model": "bas_cd1", "data": "bas", "pairs": 4000 if size == "quick" else 40_000}
    for most in CUTS:
        jobs += per_seed(f"{most}", estimates, arguments | {"most": most}, seeds(size, quick=20, full=60))
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {}
    for most in CUTS:
        for name, key in (("z", "z"), ("bias", "bias"), ("cut", "truncated")):
            result[f"{name}_{most}"] = measured.mean(f"{most}-", key)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for key, panel in (
        ("bias", "squared bias per parameter"),
        ("truncated", "pairs cut off (share)"),
        ("variance", "variance per parameter"),
    ):
        rows += dots([(most, measured.mean(f"{most}-", key)) for most in CUTS], "algorithm 3", panel)
    return Drawing(rows, "Most sweeps of a pair", "", log_x=True)


RECIPE = Recipe(
    paper="unbiased_cd",
    place=60,
    title="Unbiased, if no pair is cut off",
    source="Section 3.3, theorem 1",
    claims=(
        claim(
            "unbiased",
            "The mean of the estimates is the exact expectation, within its standard error.",
            "Unbiased with a finite variance (theorem 1)",
            Bound("z_100000", "distance of the mean in standard errors, 100,000 sweeps at most", 0.5, 1.5),
            Bound("cut_100000", "share of pairs cut off, 100,000 sweeps at most", at_most=0.0005),
        ),
        claim(
            "cutting",
            "With pairs cut off at 100 sweeps it still is.",
            "A maximum stopping time stands in algorithm 1; its bias is not mentioned",
            Bound("z_100", "distance of the mean in standard errors, 100 sweeps at most", 0.5, 1.5),
            live_link=link_to("coupling", ("coupling:max_sweeps=100",), coupling_model="bas_cd1"),
            variant=True,
        ),
    ),
    about=(
        "Pairs on `bas_cd1`, started at training rows. Without a bias, the squared distance of the mean "
        "estimate to the enumerated statistics is about the sum of the squared standard errors: the ratio is "
        "near 1. A pair that is cut off brings a bias, however small the share of such pairs."
    ),
    cost={"quick": 0.3, "full": 7.0},
    live_link="coupling?coupling_model=bas_cd1",
)
