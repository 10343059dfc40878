"""Unbiased CD, sections 3.1 to 3.3: any k, and corollary 1 on the mean of the iterates."""

from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_train, per_seed, seeds
from papers.recipes.rates_fpcd_polish import optimum
from papers.recipes.unbiased_cd_unbiased import estimates
from papers.tables import dots, paired
from rbmviz.metrics import log_z
from rbmviz.rbm import RBM
from rbmviz.rbm.parameters import FixedParameters, Parameters, difference
from rbmviz.registry import trainers
from rbmviz.trainers import training

CHAIN_LENGTHS = (1, 5, 20)
RATES = (0.1, 1.0)
AVERAGED = "schedule=inverse_sqrt,average=True,box=10"
UPDATES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
LATE = UPDATES[-3:]
"""Updates of the slopes: the corollary is asymptotic."""


def gaps(trainer: str, rate: float, updates: list[int], seed: int) -> dict[str, Any]:
    """Return how far log-likelihoods of (v, h) are below the maximum, of the mean of the iterates so far.

    Corollary 1 needs a concave log-likelihood: that of complete rows (v, h), here R.theta - log Z for the
    rates R of 60 rows of 6 bits and a random map to 4 hidden units. Algorithm 2 with 10 pairs an update.
    """
    g = np.random.default_rng(seed)
    half = g.integers(0, 2, (60, 3), dtype=np.uint8)
    rows, mapping = np.hstack([half, half]), RBM(*(g.normal(0, 0.6, shape) for shape in ((6, 4), 6, 4)))
    rates = mapping.rates(rows)

    def likelihood(rbm: RBM) -> float:
        parts = ((rates.W, rbm.W), (rates.b, rbm.b), (rates.c, rbm.c))
        return sum(float((r * x.astype(np.float64)).sum()) for r, x in parts) - log_z(rbm)

    most = likelihood(optimum(mapping, rows, 400)[0])
    algorithm = trainers.read(f"{trainer},learning_rate={rate},{AVERAGED}")
    state = algorithm.init(RBM(*(np.zeros_like(x) for x in (mapping.W, mapping.b, mapping.c))), rows, seed)
    result = {}
    for _ in range(max(updates)):
        negative = algorithm.negative(state, FixedParameters(*state.theta), state.batches.next(10))
        positive = Parameters(*(x.astype(np.float32) for x in (rates.W, rates.b, rates.c)))
        training.apply(algorithm, state, difference(positive, negative))
        if state.update in updates:
            result[str(state.update)] = most - likelihood(RBM(*state.mean))
    return result


def work(size: Size) -> list[Work]:
    """Return pairs with several k, and trainings of complete rows by UCD and CD-1."""
    jobs = []
    for k in CHAIN_LENGTHS:
        arguments = {"model": "bas_cd1", "data": "bas", "most": 100_000, "pairs": 4000, "k": k}
        jobs += per_seed(f"k = {k}", estimates, arguments, seeds(size, quick=8, full=20))
    for name, trainer in (("UCD", "ucd:n_chains=10,t_max=100000"), ("CD-1", "cd:n_chains=10")):
        for rate in RATES:
            arguments = {"trainer": trainer, "rate": rate, "updates": list(UPDATES)}
            jobs += per_seed(f"{name}, {rate}", gaps, arguments, seeds(size, quick=4, full=10))
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {f"z_{k}": measured.mean(f"k = {k}-", "z") for k in CHAIN_LENGTHS}
    variance = [[run["variance"] for run in measured.each(f"k = {k}-")] for k in CHAIN_LENGTHS]
    result["variance"] = Estimate.of(np.log10(variance[-1]) - np.log10(variance[0]))

    def slope(run: Any) -> float:
        return float(np.polyfit(np.log10(LATE), [np.log10(run[str(update)]) for update in LATE], 1)[0])

    for name in ("UCD", "CD-1"):
        for rate in RATES:
            result[f"slope_{name}_{rate}"] = measured.mean(f"{name}, {rate}-", slope)
    ends = [
        [np.log10(run[str(UPDATES[-1])]) for run in measured.each(f"{name}, 1.0-")]
        for name in ("CD-1", "UCD")
    ]
    return result | {"behind_1.0": paired(*ends)}


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for name in ("UCD", "CD-1"):
        for rate in RATES:
            runs = measured.each(f"{name}, {rate}-")
            each = [(t, Estimate.of([np.log10(run[str(t)]) for run in runs])) for t in UPDATES]
            rows += dots(each, f"{name}, rate {rate:g}")
    return Drawing(rows, "Updates", "log10 of the distance to the maximum (nats)", log_x=True)


RECIPE = Recipe(
    paper="unbiased_cd",
    place=70,
    title="Any k, and the mean of the iterates",
    source="Section 3.3, algorithm 2 and corollary 1",
    claims=(
        claim(
            "any_k",
            "The estimate is unbiased for any number k of sweeps before the correction.",
            "The initial chain length k can be any fixed number",
            *(
                Bound(f"z_{k}", f"distance of the mean in standard errors, k = {k}", 0.5, 1.5)
                for k in CHAIN_LENGTHS
            ),
        ),
        claim(
            "variance",
            "With a larger k its variance is smaller.",
            "No sentence of the paper, which takes k = 1 for all the numerical experiments",
            Bound("variance", "log10 of variance, k = 20 over k = 1", at_most=0),
            variant=True,
        ),
        claim(
            "corollary",
            "The mean of the iterates approaches the maximum at least as fast as the root of their number.",
            "Choosing alpha_i = alpha_0 / sqrt(i), the distance of the likelihood to its maximum is at most "
            "O(1 / sqrt(T))",
            *(
                Bound(
                    f"slope_UCD_{rate}",
                    f"slope of log distance over log T, 10,000 to 100,000, rate {rate:g}",
                    at_most=-0.5,
                )
                for rate in RATES
            ),
            live_link=on_train("bas", f"ucd:{AVERAGED}", f"cd:{AVERAGED}"),
        ),
        claim(
            "cd_stays_away",
            "With the estimate of CD-1 in its place it stays away.",
            "Even if CD-k converges, the resulting parameter estimate may not be a local minimum of the "
            "likelihood function",
            Bound(
                "behind_1.0",
                "log10 of the distance after 100,000 updates, CD-1 over UCD, rate 1",
                at_least=0.5,
            ),
            Bound("slope_CD-1_1.0", "slope of log distance over log T, CD-1, rate 1", at_least=-0.5),
            variant=True,
        ),
    ),
    about=(
        "k: pairs on `bas_cd1` started at training rows, 100,000 sweeps at most; without a bias the distance "
        "is near 1 standard error. Corollary 1 is about a concave log-likelihood, which that of an RBM is "
        "not: that of complete rows (v, h) is. Here v are 60 rows of 3 random bits, written twice, and h the "
        "expectations of 4 hidden units of an RBM with parameters N(0, 0.36); L-BFGS finds the maximum. 10 "
        "pairs an update, from parameters 0, chains from h given a row, the rate times 1 / sqrt(t), a box of "
        "10. The corollary is asymptotic: slopes are those from 10,000 to 100,000 updates. At the rate 0.1 "
        "the start is what is left of the distance for most of this time, not the noise or a bias, so that "
        "CD-1 is judged at the rate 1. The variance hardly depends on k, because a few pairs that meet late "
        "have most of it."
    ),
    cost={"quick": 5.0, "full": 11.0},
    live_link=on_train("bas", "ucd:k=1", "ucd:k=20"),
)
