"""Rates-FPCD, sections 4 and 5.1: the decay in training, and how near the model it keeps the sampler."""

from typing import Any

import numpy as np

from papers.claims import Estimate, Size, bounds, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_sample, on_train, per_seed, seeds
from papers.tables import dots, last, paired
from papers.trainings import small_training
from rbmviz.datasets import load_dataset
from rbmviz.models import load_model
from rbmviz.rbm import RBM
from rbmviz.samplers import make_sampler

ALPHAS, MOMENTS = (0.95, 0.99, 1.0), 30
NEAR = {"bas_cd1": "bas", "modes_cd1": "modes"}
TRAINED = ("bas", "modes")
DECAYS, STEPS = (0.95, 1.0), (0.03, 0.1, 0.3)


def distances(model: str, data: str, eps: float, alpha: float, n: int, seed: int) -> dict[str, Any]:
    """Return total variations of the law that rates-FPCD samples from, to the model and to the data.

    That law is the mean over time of the exact law of v with the parameters theta + theta_F: 30 moments of
    the second half of n samples.
    """
    loaded, rows = load_model(model), load_dataset(data).train
    m = rows.shape[1]
    every_v = (np.arange(2**m)[:, None] >> np.arange(m) & 1).astype(np.float32)
    of_data = np.bincount(rows.astype(np.int64) @ (1 << np.arange(m)), minlength=2**m) / len(rows)

    def law(rbm: RBM) -> np.ndarray:
        x = every_v @ rbm.W + rbm.c  # one logarithm a state, as of 16 factors below 2
        factors = np.prod(1 + np.exp(-np.abs(x)), axis=1, dtype=np.float64)
        logs = every_v @ rbm.b + np.maximum(x, 0).sum(axis=1, dtype=np.float64) + np.log(factors)
        p = np.exp(logs - logs.max())
        return p / p.sum()

    sampler = make_sampler("rates_fpcd", eps=eps, alpha=alpha)
    state = sampler.init(loaded, seed, rows[0])
    sampler.step(state, n // 2)
    total = np.zeros(2**m)
    for _ in range(MOMENTS):
        sampler.step(state, n // 2 // MOMENTS)
        total += law(sampler.target(state)) / MOMENTS
    others = {"model": law(loaded.rbm), "data": of_data}
    return {name: float(np.abs(total - other).sum() / 2) for name, other in others.items()}


def work(size: Size) -> list[Work]:
    """Return runs of the sampler over decays, and trainings by FPCD over decays and fast steps."""
    jobs = []
    for model, data in NEAR.items():
        for alpha in ALPHAS:
            arguments = {"model": model, "data": data, "eps": 0.01, "alpha": alpha, "n": 40_000}
            jobs += per_seed(f"{model}, {alpha}", distances, arguments, seeds(size, quick=4, full=10))
    for data in TRAINED:
        for alpha in DECAYS:
            for eps in STEPS:
                knobs = f"alpha={alpha},eps={eps},learning_rate=0.1,schedule=linear,n_chains=100"
                arguments = {"trainer": f"fpcd:{knobs}", "data": data, "n_hidden": 16, "updates": 5000}
                arguments |= {"scale": 0.1, "points": 1}
                each = seeds(size, quick=4, full=10)
                jobs += per_seed(f"{data}, {alpha}, {eps}", small_training, arguments, each)
    return jobs


def trained(measured: Measurements, data: str, alpha: float) -> list[float]:
    """Return the final likelihoods with a decay, each row's, at the fast step that is best for it."""
    each = [last(measured.each(f"{data}, {alpha}, {eps}-")) for eps in STEPS]
    rows = len(load_dataset(data).train)
    return [value / rows for value in max(each, key=lambda values: Estimate.of(values).value)]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {f"train_{data}": paired(*(trained(measured, data, a) for a in DECAYS)) for data in TRAINED}
    for model in NEAR:
        for other in ("model", "data"):
            runs = [[run[other] for run in measured.each(f"{model}, {alpha}-")] for alpha in DECAYS]
            result[f"{other}_{model}"] = paired(*runs)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for model in NEAR:
        for other in ("model", "data"):
            points = [(str(alpha), measured.mean(f"{model}, {alpha}-", other)) for alpha in ALPHAS]
            rows += dots(points, f"to the {other}", model)
    return Drawing(rows, "Decay alpha", "total variation", mark="point")


RECIPE = Recipe(
    paper="rates_fpcd",
    place=95,
    title="Decay in training, and near the model",
    source="Sections 4 and 5.1",
    claims=(
        claim(
            "training",
            "In training, FPCD with decay ends higher than without.",
            "Such is not the case during training (alpha < 1 works better in that case)",
            *bounds("train", "log-likelihood, alpha = 0.95 less alpha = 1 (nats a row)", TRAINED, at_least=0),
            live_link=on_train("bas", "fpcd:alpha=0.95", "fpcd:alpha=1"),
        ),
        claim(
            "near",
            "With decay the sampler stays nearer the model.",
            "The distribution we sample from using decay might be closer to the original",
            *bounds("model", "total variation to the model, alpha = 0.95 less alpha = 1", NEAR, at_most=0),
        ),
        claim(
            "far_from_data",
            "And farther from the data.",
            "It may produce samples that are further away from the training distribution",
            *bounds("data", "total variation to the data, alpha = 0.95 less alpha = 1", NEAR, at_least=0),
        ),
    ),
    about=(
        "Training: 5,000 updates of Bars and Stripes and of Artificial Modes with 16 hidden units and 100 "
        "chains, exact likelihoods of the training rows; each decay at its best of three fast steps, 0.03 to "
        "0.3. The paper says it of models of digits. Sampling: eps = 0.01; the "
        "law that the sampler draws from is the mean over time of that of theta + theta_F, enumerated at 30 "
        "moments of the second half of 40,000 samples."
    ),
    cost={"quick": 1.3, "full": 2.6},
    live_link=on_sample("bas_cd1", "rates_fpcd:alpha=0.95", "rates_fpcd:alpha=1"),
)
