"""Rates-FPCD, section 4: the model that the process converges to with its rates fixed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Job, Measurements, Recipe, Work, on_sample, per_seed, seeds
from papers.tables import dots, paired
from papers.trainings import annealed
from rbmviz.datasets import load_dataset
from rbmviz.gradient import flat
from rbmviz.metrics import log_likelihood
from rbmviz.models import load_model
from rbmviz.rbm import RBM
from rbmviz.trainers import train

SMALL = {"bas_cd1": "bas", "modes_cd1": "modes", "bas_pcd": "bas", "bas_ucd": "bas", "bas_pop_cd": "bas"}
DIGITS = "usps_cd1"
PARTS = {"train": "training rows", "held_out": "held-out rows"}
TRAINERS = ("polish", "pcd", "cd")
RATES = (0.003, 0.03)
"""Rates at the beginning; each trainer is compared at the one that is better for it."""


def optimum(rbm: RBM, v: np.ndarray, steps: int) -> tuple[RBM, float]:
    """Return the model that maximises R.theta - log Z for the rates R of rows v, and its gradient's norm.

    The function is concave; L-BFGS, by enumeration of the hidden states, at most ``steps`` steps. All in
    float64: the parameters of an ``RBM``, and so ``model_statistics``, are too coarse for its line search.
    """
    m, n = rbm.W.shape
    rates = flat(rbm.rates(v))
    h = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        W, b, c = theta[: m * n].reshape(m, n), theta[m * n : -n], theta[-n:]
        x = h @ W.T + b
        e = np.exp(-np.abs(x))
        logs = h @ c + np.maximum(x, 0).sum(axis=1) + np.log(np.prod(1 + e, axis=1))
        total = float(logsumexp(logs))
        p = np.exp(logs - total)
        v_mean = p[:, None] * np.where(x > 0, 1, e) / (1 + e)
        model = np.concatenate([(v_mean.T @ h).ravel(), v_mean.sum(axis=0), p @ h])
        return total - float(rates @ theta), model - rates

    best = minimize(loss, flat(rbm), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 30})
    W, b, c = best.x[: m * n].reshape(m, n), best.x[m * n : -n], best.x[-n:]
    return RBM(W, b, c), float(np.linalg.norm(best.jac))


def polished(model: str, data: str, steps: int) -> dict[str, Any]:
    """Return likelihoods of a model, of its optimum by L-BFGS, and of that for the optimum's own rates."""
    rows, rbm = load_dataset(data).train, load_model(model).rbm
    first, norm = optimum(rbm, rows, steps)
    second, _ = optimum(first, rows, steps)
    scores = {"before": rbm, "after": first, "second": second}
    return {name: log_likelihood(each, rows) for name, each in scores.items()} | {"gradient_norm": norm}


def continued(model: str, data: str, trainer: str, updates: int, betas: int, seed: int) -> dict[str, Any]:
    """Return likelihoods of training and held-out rows after updates of a trainer that begins at the model.

    trainer: the trainer with its knobs, or "" for the model itself. Likelihoods are by annealed importance
    sampling, of 2,000 rows at most.
    """
    dataset, rbm = load_dataset(data), load_model(model).rbm
    if trainer:
        *_, last = train(dataset, trainer, iterations=updates, seed=seed, warm_start=rbm, every=updates)
        rbm = last.rbm
    known, held_out = dataset.train[:2000], dataset.test[:2000]
    value, error = annealed(rbm, known, betas, seed)
    gap = float(rbm.free_energy(known).mean() - rbm.free_energy(held_out).mean())
    return {"train": value, "held_out": value + gap, "error": error}


def work(size: Size) -> list[Work]:
    """Return the optima of small models by L-BFGS, and a model of digits continued by three trainers."""
    jobs: list[Work] = [
        Job(model, polished, {"model": model, "data": data, "steps": 120}) for model, data in SMALL.items()
    ]
    settings = [("before", "")] + [
        (f"{name}, {rate}", f"{name}:learning_rate={rate},schedule=linear,n_chains=100")
        for name in TRAINERS
        for rate in RATES
    ]
    for label, trainer in settings:
        arguments = {"model": DIGITS, "data": "usps", "trainer": trainer, "updates": 1000, "betas": 1000}
        jobs += per_seed(label, continued, arguments, seeds(size, quick=3, full=5))
    return jobs


def _best(measured: Measurements, trainer: str) -> list[Mapping[str, Any]]:
    """Return the runs of a trainer at the rate that is best on training rows."""
    runs = [measured.each(f"{trainer}, {rate}-") for rate in RATES]
    return max(runs, key=lambda each: Estimate.of([run["train"] for run in each]).value)


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result: dict[str, Estimate] = {}
    for model in SMALL:
        run = measured.jobs[model]
        result[model] = Estimate(run["after"] - run["before"])
        result[f"{model}_second"] = Estimate(run["second"] - run["after"])
    before, own = measured.each("before-"), _best(measured, "polish")
    for part in PARTS:
        after = [run[part] for run in own]
        result[f"{DIGITS}_{part}"] = paired(after, [run[part] for run in before])
        for other in TRAINERS[1:]:
            result[f"over_{other}_{part}"] = paired(after, [run[part] for run in _best(measured, other)])
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for when in ("before", "after", "second"):
        points = [(model, Estimate(measured.jobs[model][when])) for model in SMALL]
        rows += dots(points, when.replace("second", "second round"), "small models, training rows")
    for part, of_rows in PARTS.items():
        means = [("before", measured.mean("before-", part))]
        means += [
            (f"{name}, {rate}", measured.mean(f"{name}, {rate}-", part))
            for name in TRAINERS
            for rate in RATES
        ]
        for label, mean in means:
            rows += dots([(label, mean)], label.partition(",")[0], f"digits, {of_rows}")
    return Drawing(rows, "", "log-likelihood (nats a row)", mark="point")


RECIPE = Recipe(
    paper="rates_fpcd",
    place=125,
    title="Keeping the improved model",
    source="Section 4",
    claims=(
        claim(
            "optimum",
            "The model that the process would converge to is better than the one it began with.",
            "It works to improve the model unless it had already converged to a local maximum",
            *(
                Bound(
                    model, f"gain of `{model}`, 120 steps of L-BFGS with the rates fixed (nats)", at_least=0
                )
                for model in SMALL
            ),
        ),
        claim(
            "second_round",
            "With the rates of the improved model, a second round improves it again.",
            "No sentence of the paper: the rates are those of the first model",
            *(
                Bound(f"{model}_second", f"gain of `{model}` in the second round (nats)", at_least=0)
                for model in SMALL
            ),
            variant=True,
        ),
        claim(
            "digits",
            "Polished by chains, a model of digits is better on its training rows.",
            "No sentence of the paper, which throws the moving parameters away",
            Bound("usps_cd1_train", "gain of `usps_cd1`, training rows (nats)", at_least=0),
            variant=True,
        ),
        claim(
            "held_out",
            "It is better on held-out rows, too.",
            "No sentence of the paper",
            Bound("usps_cd1_held_out", "gain of `usps_cd1`, held-out rows (nats)", at_least=0),
            variant=True,
        ),
        claim(
            "better_than_training",
            "At equal updates and chains it ends higher than PCD and CD that go on from the same model.",
            "No sentence of the paper",
            *(
                Bound(f"over_{other}_{part}", f"above {other.upper()}, {text} (nats)", at_least=0)
                for other in TRAINERS[1:]
                for part, text in PARTS.items()
            ),
            variant=True,
        ),
    ),
    about=(
        "With the rates R of the training rows fixed, rates-FPCD follows the gradient of R.theta - log Z, a "
        "concave function of theta and a bound on the log-likelihood: one whole M-step of EM, where training "
        "takes one gradient step and computes the rates again. For five models that can be enumerated its "
        "optimum is sought by L-BFGS, 120 steps, which end near it, and again for the rates of what was "
        "found, which also collects what the first round left. A model of digits, trained by CD-1, is "
        "polished by the trainer of that name: 100 Gibbs chains, 1,000 updates with a step that falls "
        "linearly to 0. PCD and CD go on from the same model with as many chains and updates. Each has the "
        "better of two first steps, 0.003 and 0.03, by the training rows. Likelihoods are estimated by "
        "annealed importance sampling (64 chains, 1,000 temperatures)."
    ),
    cost={"quick": 2.0, "full": 2.0},
    needs=("usps",),
    live_link=on_sample("bas_cd1", "rates_fpcd:eps=0.003", "gibbs"),
)
