"""Population CD, sections 3.2 to 3.4: weights that leave one out, other proposals, and more sweeps."""

from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, bounds, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_weights, per_seed, seeds
from papers.tables import dots, paired
from rbmviz.datasets import load_dataset
from rbmviz.gradient import flat
from rbmviz.metrics import log_z, model_statistics, too_large
from rbmviz.models import load_model
from rbmviz.trainers.pop_cd import pop_weights

LONGEST = "log10 of the longest over the shortest gradient"
SINE = "squared sine of its angle to the exact one, (9)"
ESS = "log10 of the effective sample size, "

ONE_OUT = {"bas_cd1": ("bas", 32), "mnist_cd1": ("mnist5k", 500)}
ONE_OUT |= {"bas_pcd": ("bas", 32), "modes_pop_cd": ("modes", 32)}
"""Data and samples of an estimate, as in the paper."""

EVEN = {"bas_cd1": "bas", "letters_cd1": "letters", "mnist_cd1": "mnist5k"}
SETTINGS = ("visible, k = 1", "joint, k = 1", "visible, k = 10", "mixture, k = 10")


def one_out(model: str, data: str, n: int, repetitions: int, seed: int) -> dict[str, Any]:
    """Compare the weights of equations 6 (all) and 9 (one out) of the same samples, n an estimate.

    "spread": log10 of the longest over the shortest gradient. Of a model that can be enumerated, of the mean
    estimate of its statistics: "length", over the exact one; "off", squared sine of the angle between both,
    from two halves of the estimates, so that noise does not add to it; "reached", the mean weight over Z.
    """
    rbm, rows = load_model(model).rbm, load_dataset(data).train
    rates, g = flat(rbm.rates(rows)), np.random.default_rng([seed, n])
    lengths: dict[str, list[float]] = {"all": [], "one out": []}
    means = {name: [np.zeros_like(rates), np.zeros_like(rates)] for name in lengths}
    log_weights: list[np.ndarray] = []
    for repetition in range(repetitions):
        v0 = rows[g.integers(len(rows), size=n)]
        population = pop_weights(rbm, v0, k=1, seed=seed * repetitions + repetition)
        log_weights.append(population.log_weights)
        v, h = population.v.astype(np.float64), rbm.mean_hidden(population.v)
        for name, w in (("all", population.weights), ("one out", population.leave_one_out())):
            side = np.concatenate([((w[:, None] * v).T @ h).ravel(), w @ v, w @ h])
            lengths[name].append(float(np.linalg.norm(rates - side)))
            means[name][repetition % 2] += 2 * side / repetitions
    result = {f"spread, {name}": float(np.log10(max(x) / min(x))) for name, x in lengths.items()}
    if too_large(rbm):
        return result
    result["reached"] = float(np.exp(np.array(log_weights) - log_z(rbm)).mean())
    exact = flat(model_statistics(rbm))
    size = float(np.linalg.norm(exact))
    for name, halves in means.items():
        along = [float(half @ exact) / size for half in halves]
        across = halves[0] @ halves[1] - along[0] * along[1]
        result |= {f"off, {name}": across / (along[0] * along[1]), f"length, {name}": sum(along) / 2 / size}
    return result


def evenness(model: str, data: str, n: int, repetitions: int, seed: int) -> dict[str, Any]:
    """Return the mean of log10 of the effective sample size of n samples, by proposal and sweeps."""
    rows = load_dataset(data).train
    g, result = np.random.default_rng([seed, n]), dict.fromkeys(SETTINGS, 0.0)
    for _ in range(repetitions):
        v0, stream = rows[g.integers(len(rows), size=n)], int(g.integers(2**32))
        for setting in SETTINGS:
            proposal, k = setting.split(", k = ")
            population = pop_weights(model, v0, int(k), stream, proposal=proposal, mixture=n)
            result[setting] += float(np.log10(population.ess)) / repetitions
    return result


def work(size: Size) -> list[Work]:
    """Return estimates with one left out, effective sample sizes, and times of mixtures."""
    jobs, each = [], seeds(size, quick=4, full=10)
    for model, (data, n) in ONE_OUT.items():
        repetitions = 30 if data == "mnist5k" else 500
        arguments = {"model": model, "data": data, "n": n, "repetitions": repetitions}
        jobs += per_seed(f"{model}, one out", one_out, arguments, each)
    for model, data in EVEN.items():
        arguments = {"model": model, "data": data, "n": 500, "repetitions": 5}
        jobs += per_seed(f"{model}, even", evenness, arguments, each)
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {}
    for model in ONE_OUT:
        for key in measured.each(f"{model}, one out-")[0]:
            result[f"{key.replace(', ', '_')}_{model}"] = measured.mean(f"{model}, one out-", key)
    for model in EVEN:
        for key, better, worse in (("sweeps", 2, 0), ("joint", 1, 0), ("mixture", 3, 2)):
            runs = [[run[SETTINGS[i]] for run in measured.each(f"{model}, even-")] for i in (better, worse)]
            result[f"{key}_{model}"] = paired(*runs)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for model in EVEN:
        points = [(setting, measured.mean(f"{model}, even-", setting)) for setting in SETTINGS]
        rows += dots(points, model, "log10 of the effective sample size of 500 samples")
    return Drawing(rows, "", "", mark="point")


RECIPE = Recipe(
    paper="population_cd",
    place=46,
    title="Weights: one left out, other proposals, more sweeps",
    source="Sections 3.2, 3.4 and 5",
    claims=(
        claim(
            "not_advisable",
            "With weights that leave one out the length of the gradient varies by orders of magnitude.",
            "The length of the gradient obtained by (9) can vary by several orders of magnitude",
            *bounds("spread_one out", LONGEST + ", (9)", ("bas_cd1", "mnist_cd1"), at_least=2),
            *bounds("spread_all", LONGEST + ", (6)", ("bas_cd1", "mnist_cd1"), at_most=1),
            live_link=on_weights("bas_cd1", "pop_cd", "pop_cd:leave_one_out=True"),
        ),
        claim(
            "direction",
            "They bias the length of the model's side, which is too long, and not its direction.",
            "Only the length of the right term of the gradient will be biased and not its direction",
            *bounds("off_one out", SINE, ("modes_pop_cd",), at_least=-1e-3, at_most=1e-3),
            Bound("length_one out_bas_pcd", "its length over the exact one, (9), `bas_pcd`", at_least=1),
        ),
        claim(
            "mean_weight",
            "A mean over 16,000 samples is an expectation: that of the weights is Z, that of the side has "
            "its direction.",
            "The expectation of the weight is Z for all h'; how many samples that takes is not said",
            *bounds("reached", "mean weight over Z", ("bas_pcd", "modes_pop_cd"), at_least=0.9, at_most=1.1),
            *bounds("off_one out", SINE, ("bas_pcd",), at_least=-1e-3, at_most=1e-3),
            variant=True,
        ),
        claim(
            "even_weights",
            "With more sweeps the weights of larger models are more even.",
            "More steps of Gibbs-sampling help when using pop-CD for larger models. This reduces the "
            "variance of the weights",
            *bounds("sweeps", ESS + "k = 10 over k = 1", ("letters_cd1", "mnist_cd1"), at_least=0),
            variant=True,
        ),
        claim(
            "joint",
            "Weights of the joint proposal are no more even.",
            "The weights again depend on a single v'",
            *bounds("joint", ESS + "joint over visible, k = 1", EVEN, at_most=0),
            variant=True,
        ),
        claim(
            "mixture",
            "A mixture of all hidden states makes weights more even.",
            "It takes distribution information of h' into account; a good proposal if q is near p",
            *bounds("mixture", ESS + "mixture of 500 over none, k = 10", EVEN, at_least=0),
        ),
    ),
    about=(
        "One left out: gradients of 32 samples (MNIST digits: 500), 500 a run (30); the longest over the "
        "shortest, with weights by equations 6 and 9 of the same samples. Direction and mean weight: of all "
        "samples of a run, 16,000. Each hidden state gives weights whose mean is Z, but by visible states so "
        "rare that none is met: samples of one mode do not see the others. Where modes weigh the same "
        "(`modes_pop_cd`) the direction is right all the same: (9) keeps it, which is a short proof, and "
        "where samples are no expectation, as on `bas_pcd`, its error says nothing of (9). That model and "
        "the mean weight were added after a first run. Proposals and sweeps: the effective sample size of "
        "500 samples started at training rows. On `mnist_cd1` it is 1.8 with one sweep and 1.1 with ten: one "
        "sample has everything in both, so that their ratio does not say whether more sweeps help (*larger "
        "models* asks the bias)."
    ),
    cost={"quick": 0.3, "full": 0.7},
    live_link=on_weights(
        "letters_cd1", "pop_cd:k=1", "pop_cd:k=10", "pop_cd:k=10,proposal=mixture,mixture=500"
    ),
    needs=("letters",),
)
