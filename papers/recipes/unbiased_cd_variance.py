"""Unbiased CD, figure 12: the variance of gradients along the path of each trainer."""

from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_train, per_seed, seeds
from papers.tables import band
from rbmviz.datasets import load_dataset
from rbmviz.registry import trainers
from rbmviz.trainers import train

TRAINERS = {"CD-1": "cd:k=1", "UCD": "ucd:k=1,t_max=100,algorithm=half_step"}
KNOBS = "learning_rate=0.2,schedule=constant,batch_size=1000,n_chains=1000"
PARTS = ("W", "b", "c")
SPLIT = 1000
"""Update at which the first part of a training ends."""


def variances(trainer: str, data: str, updates: int, every: int, seed: int) -> dict[str, Any]:
    """Train 100 hidden units; return the variances of single updates, and the shares of pairs cut off."""
    keys = [*(f"variance_{part}" for part in PARTS), "truncated"]
    result: dict[str, list[float]] = {"update": [], **{key: [] for key in keys}}
    rows = load_dataset(data).train
    for progress in train(rows, trainers.read(trainer), 100, updates, seed, every=every):
        result["update"].append(progress.update)
        for key in keys:
            result[key].append(float(progress.stats.get(key, 0.0)))
    return result


def work(size: Size) -> list[Work]:
    """Return trainings by both trainers."""
    jobs: list[Work] = []
    for label, text in TRAINERS.items():
        arguments = {"trainer": f"{text},{KNOBS}", "data": "simulated", "every": 50}
        arguments |= {"updates": SPLIT if size == "quick" else 2000}
        jobs += per_seed(label, variances, arguments, seeds(size, quick=3, full=8))
    return jobs


def log_ratios(measured: Measurements, part: str) -> list[np.ndarray]:
    """Return log10 of the ratio of the variances of each seed, UCD over CD-1, at each point."""
    ucd, cd = (measured.each(f"{label}-") for label in ("UCD", "CD-1"))
    key = f"variance_{part}"
    return [np.log10(np.divide(x[key], y[key])) for x, y in zip(ucd, cd, strict=True)]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    update = np.array(measured.each("UCD-")[0]["update"])
    result = {}
    for when, here in (("early", update <= SPLIT), ("late", update > SPLIT)):
        if not here.any():
            continue
        for part in PARTS:
            medians = [float(np.median(each[here])) for each in log_ratios(measured, part)]
            result[f"{when}_{part}"] = Estimate.of(medians)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows, update = [], measured.each("UCD-")[0]["update"]
    for part in PARTS:
        for label in TRAINERS:
            curves = [np.log10(run[f"variance_{part}"]).tolist() for run in measured.each(f"{label}-")]
            rows += band(update, curves, series=label, panel=f"log10 of the variance of {part}'s gradient")
    return Drawing(rows, "Updates", "")


RECIPE = Recipe(
    paper="unbiased_cd",
    place=28,
    title="Variance along the path",
    source="Appendix C, figure 12",
    claims=(
        claim(
            "comparable",
            "The variance of the gradient of UCD is comparable to that of CD.",
            "Generally comparable to CD and PCD, with only a few extreme cases",
            *(
                Bound(
                    f"{when}_{part}",
                    f"log10 of variance of {part}'s gradient, UCD over CD-1, median of {text}",
                    at_most=0.5,
                )
                for when, text in (("early", "updates 50 to 1,000"), ("late", "updates 1,050 to 2,000"))
                for part in PARTS
            ),
            shortened={"quick": "A quick run sees the first 1,000 updates only."},
        ),
    ),
    about=(
        "The data and the trainings of *A yardstick that punishes*, the first 2,000 of their 5,000 updates: "
        "100 hidden units, rate 0.2, 1,000 chains, half-step UCD with pairs cut off at 100 sweeps. Every 50 "
        "updates the variance of the estimate of one chain or pair, summed over the parameters, is "
        "estimated from the 1,000 of the update. Each trainer is measured on its own path, as in the paper, "
        "which compares by eye; comparable means here a ratio below 3.2."
    ),
    cost={"quick": 1.0, "full": 5.0},
    live_link=on_train(
        "simulated",
        "cd:learning_rate=0.2,n_chains=1000",
        "ucd:algorithm=half_step,learning_rate=0.2,schedule=constant,n_chains=1000",
        hidden=100,
        statistic="variance_W",
    ),
)
