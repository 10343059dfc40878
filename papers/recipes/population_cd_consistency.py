"""Population CD, sections 3.1 and 3.2: the estimate is consistent, and costs little more than that of CD."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_train, on_weights, per_seed, seeds
from papers.tables import dots
from rbmviz import rng
from rbmviz.datasets import load_dataset
from rbmviz.gradient import EstimatorRun, GradientReference, enumerated, flat, gradient_quality, quality
from rbmviz.metrics import model_statistics
from rbmviz.models import load_model
from rbmviz.registry import trainers
from rbmviz.trainers import make_trainer, train
from rbmviz.trainers.pop_cd import pop_weights

POPULATIONS = (8, 32, 128, 512)
LARGE = (2048, 8192, 32_768, 131_072, 524_288)
"""Populations that are joined from blocks of the smallest."""
HIDDEN = (16, 500)


def biases(model: str, data: str, populations: list[int], replications: int, seed: int) -> dict[str, Any]:
    """Return the squared bias per parameter of pop-CD and of CD by population size."""
    rbm, rows = load_model(model).rbm, load_dataset(data).train
    reference = enumerated(rbm, rows)
    result = {}
    for n in populations:
        for name in ("pop_cd", "cd"):
            trainer = make_trainer(name, k=1, n_chains=n)
            quality = gradient_quality(rbm, rows, trainer, replications, seed, reference=reference)
            result[f"{name}-{n}"] = {"bias": quality.bias_corrected, "error": quality.std_error}
    return result


def large_biases(model: str, data: str, populations: list[int], samples: int, seed: int) -> dict[str, Any]:
    """Return the same of pop-CD for large populations, all from ``samples`` samples.

    A block is a population of the smallest size. A larger one joins blocks: their means are weighted by their
    total weights.
    """
    rbm, rows = load_model(model).rbm, load_dataset(data).train
    g = np.random.default_rng([seed, 11])
    smallest = populations[0]
    means, logs = [], []
    for block in range(samples // smallest):
        drawn = pop_weights(
            rbm, rows[g.integers(len(rows), size=smallest)], seed=rng.child(seed, "block", block)
        )
        h = rbm.mean_hidden(drawn.v)
        weighted = drawn.weights[:, None] * drawn.v
        means.append(np.concatenate([(weighted.T @ h).ravel(), weighted.sum(axis=0), drawn.weights @ h]))
        logs.append(np.logaddexp.reduce(drawn.log_weights))
    reference, result = GradientReference("enumeration", flat(model_statistics(rbm))[None]), {}
    for n in populations:
        blocks = np.exp(np.reshape(logs, (-1, n // smallest)) - np.max(logs))
        blocks /= blocks.sum(axis=1, keepdims=True)
        joined = np.einsum("pb,pbx->px", blocks, np.reshape(means, (*blocks.shape, -1)))
        groups = np.array_split(joined, min(len(joined), 16))
        runs = [EstimatorRun(len(x), x.mean(axis=0), float((x**2).sum(axis=1).mean())) for x in groups]
        measured = quality(reference, runs)
        result[f"pop_cd-{n}"] = {"bias": measured.bias_corrected, "error": measured.std_error}
    return result


def weights_met(model: str, data: str, largest: float, pairs: int, seed: int) -> dict[str, Any]:
    """Return what a mean of weights is made of: the share in weights up to ``largest`` Z, and the median.

    A hidden state h', drawn as CD draws it, gives v with probability q(v | h') and weight p(v) Z / q(v | h'),
    so that a pair (h', v) adds p(h') p(v) Z to the mean: ``pairs`` of them are drawn, h' and v independent.
    Half of the mean, Z, is in weights below the median (log10, over Z).
    """
    rbm, rows = load_model(model).rbm, load_dataset(data).train
    g, m = np.random.default_rng([seed, 12]), rows.shape[1]
    every_v = (np.arange(2**m)[:, None] >> np.arange(m) & 1).astype(np.float32)
    log_p = -np.asarray(rbm.free_energy(every_v), np.float64)
    log_p -= np.logaddexp.reduce(log_p)
    v = g.choice(2**m, size=pairs, p=np.exp(log_p))
    h = g.random((pairs, len(rbm.c))) < rbm.mean_hidden(rows[g.integers(len(rows), size=pairs)])
    x = (h @ rbm.W.T + rbm.b).astype(np.float64)
    log_q = -np.logaddexp(0, np.where(every_v[v] > 0, -x, x)).sum(axis=1)
    logs = (log_p[v] - log_q) / np.log(10)
    return {"share": float((logs <= np.log10(largest)).mean()), "median": float(np.median(logs))}


def seconds(data: str, n_hidden: int, updates: int, seed: int) -> dict[str, Any]:
    """Return processor seconds per update of each trainer; they take turns."""
    rows = load_dataset(data).train
    common = "schedule=constant,batch_size=500"
    texts = {
        "cd": "cd:k=1",
        "pop_cd": "pop_cd:k=1",
        "pt": "pt:n_temperatures=10,n_chains=500,learning_rate=0.01",
    }
    running = {
        name: train(rows, trainers.read(f"{text},{common}"), n_hidden, 6 * updates, seed, every=updates)
        for name, text in texts.items()
    }
    spent = dict.fromkeys(texts, 0.0)
    for turn in range(6):
        for name, training in running.items():
            begin = time.thread_time()
            next(training)
            # The first turn compiles.
            spent[name] += (time.thread_time() - begin) * (turn > 0)
    return {name: value / (5 * updates) for name, value in spent.items()}


def work(size: Size) -> list[Work]:
    """Return biases by population, and times of updates."""
    quick = size == "quick"
    arguments: dict[str, Any] = {"model": "bas_cd1", "data": "bas", "populations": list(POPULATIONS)}
    arguments |= {"replications": 2000 if quick else 50_000}
    jobs = per_seed("bias", biases, arguments, seeds(size, quick=6, full=12))
    large = {"model": "bas_cd1", "data": "bas", "populations": list(LARGE), "samples": 2**22}
    jobs += per_seed("large", large_biases, large, seeds(size, quick=6, full=12))
    met = {"model": "bas_cd1", "data": "bas", "largest": 2**20, "pairs": 100_000}
    jobs += per_seed("met", weights_met, met, seeds(size, quick=6, full=12))
    for n in HIDDEN:
        timed: dict[str, Any] = {"data": "mnist5k", "n_hidden": n, "updates": 5 if quick else 50}
        jobs += per_seed(f"time-{n}", seconds, timed, seeds(size, quick=5, full=10))
    return jobs


def log_biases(run: Mapping[str, Any], name: str) -> list[float]:
    """Return log10 of the squared biases by population; the estimates' noise replaces a smaller bias."""
    results = [result for key, result in run.items() if key.rpartition("-")[0] == name]
    return [float(np.log10(max(result["bias"], 2 * result["error"]))) for result in results]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    logs, result = np.log10(POPULATIONS), {}
    for name in ("pop_cd", "cd"):
        slopes = [np.polyfit(logs, log_biases(run, name), 1)[0] for run in measured.each("bias-")]
        result[f"slope_{name}"] = Estimate.of(slopes)
    large = [log_biases(run, "pop_cd") for run in measured.each("large-")]
    for part, here in (("middle", slice(0, 3)), ("end", slice(2, None))):
        slopes = [np.polyfit(np.log10(LARGE[here]), run[here], 1)[0] for run in large]
        result[f"slope_{part}"] = Estimate.of(slopes)
    result |= {f"{key}_met": measured.mean("met-", key) for key in ("share", "median")}
    for n in HIDDEN:
        result[f"time_{n}"] = measured.mean(f"time-{n}-", lambda run: run["pop_cd"] / run["cd"])
        result[f"pt_{n}"] = measured.mean(f"time-{n}-", lambda run: run["pt"] / run["pop_cd"])
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for name in ("pop_cd", "cd"):
        logs = np.transpose([log_biases(run, name) for run in measured.each("bias-")])
        rows += dots([(n, Estimate.of(each)) for n, each in zip(POPULATIONS, logs, strict=True)], name)
    logs = np.transpose([log_biases(run, "pop_cd") for run in measured.each("large-")])
    rows += dots([(n, Estimate.of(each)) for n, each in zip(LARGE, logs, strict=True)], "pop_cd")
    return Drawing(rows, "Samples of an estimate", "log10 of the squared bias per parameter", log_x=True)


SLOPE = "slope of log squared bias over log samples"

RECIPE = Recipe(
    paper="population_cd",
    place=48,
    title="Consistency and cost",
    source="Abstract, sections 3.1 and 3.2",
    claims=(
        claim(
            "consistent",
            "The bias of pop-CD vanishes as its population grows; that of CD does not.",
            "Compared to CD, it leads to a consistent estimate",
            Bound("slope_pop_cd", f"{SLOPE}, pop-CD-1, 8 to 512 samples", at_most=-0.5),
            Bound("slope_cd", f"{SLOPE}, CD-1, 8 to 512", -0.1, 0.1),
        ),
        claim(
            "how_many",
            "It goes on vanishing to half a million samples, as a million have met the weights that matter.",
            "Consistent; from how many samples on is not said",
            Bound("slope_middle", f"{SLOPE}, pop-CD-1, 2,048 to 32,768", at_most=-0.5),
            Bound("slope_end", f"{SLOPE}, pop-CD-1, 32,768 to 524,288", at_most=-0.5),
            Bound("share_met", "share of Z in weights up to 2^20 (a million) times Z", at_least=0.5),
            Bound("median_met", "log10 of the weight over Z up to which half of Z is found", at_most=6),
            variant=True,
        ),
        claim(
            "negligible_cost",
            "The cost of the weights is negligible.",
            "Its computational overhead is negligible compared to CD",
            *(
                Bound(f"time_{n}", f"time of an update, pop-CD-1 over CD-1, {n} hidden units", at_most=1.2)
                for n in HIDDEN
            ),
            live_link=on_train("mnist5k", "cd:batch_size=500", "pop_cd:batch_size=500"),
            timed=True,
        ),
        claim(
            "pt_costs_more",
            "Parallel tempering with 10 temperatures costs far more.",
            "The computationally more expensive PT-10",
            *(
                Bound(f"pt_{n}", f"time of an update, PT-10 over pop-CD-1, {n} hidden units", at_least=2)
                for n in HIDDEN
            ),
            live_link=on_train(
                "mnist5k",
                "pop_cd:batch_size=500",
                "pt:learning_rate=0.01,schedule=linear,batch_size=500,n_chains=500",
            ),
            timed=True,
        ),
    ),
    about=(
        "Bias: estimates of 8 to 512 samples on `bas_cd1`, against the exact gradient; a self-normalised "
        "mean of n weighted samples has a bias of order 1/n, which is a slope of -2 of its square, once n "
        "is large enough. Larger populations, to 524,288, are joined from blocks of 2,048, four million "
        "samples a seed: it is not large enough there, and the bias stands still. How large it would have "
        "to be follows from the weights: Z is their mean, and weights above n Z are met at most once in n "
        "samples. Cost: processor time of one thread in updates of 500 rows of MNIST digits, in turns. It "
        "is one of this program: a weight needs a softplus for each pixel of a sample, which CD never "
        "computes, and the fewer hidden units there are, the more that weighs."
    ),
    cost={"quick": 1.7, "full": 21.0},
    live_link=on_weights("bas_cd1", "pop_cd:n_chains=32", "pop_cd:n_chains=500"),
)
