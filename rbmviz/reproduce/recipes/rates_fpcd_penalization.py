"""Rates-FPCD, sections 4 and 5.1: how sample penalization skews, and where it ends without decay."""

from typing import Any

import numpy as np

from rbmviz.datasets import load_dataset
from rbmviz.metrics import total_variation
from rbmviz.models import load_model
from rbmviz.pages import link_to
from rbmviz.rbm import RBM, Model
from rbmviz.reproduce.claims import Bound, Estimate, Size, claim
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Measurements, Recipe, Work, per_seed, seeds
from rbmviz.reproduce.tables import dots
from rbmviz.samplers import make_sampler, sample

STEPS = (0.0001, 0.0003, 0.001)


def ink(model: str, data: str, eps: float, n: int, seed: int) -> dict[str, Any]:
    """Return the mean pixels on of samples by sample penalization and by Gibbs, and of the data."""
    loaded, dataset = load_model(model), load_dataset(data)
    g = np.random.default_rng([seed, 7])
    v0 = dataset.validation[g.integers(len(dataset.validation), size=20)]
    result = {"data": float(dataset.train.sum(axis=1).mean())}
    for name, knobs in (("sample_penalization", {"eps": eps, "alpha": 0.9}), ("gibbs", {})):
        samples = sample(loaded, make_sampler(name, n_chains=20, **knobs), n, seed, v0)
        result[name] = float(samples.v.sum(axis=1, dtype=np.int64).mean())
    return result


def end_state(eps: float, n: int, seed: int) -> dict[str, Any]:
    """Run sample penalization without decay on a random model of 4 + 3 units.

    Return the distance to the uniform distribution and the share of the empty state in the second half.
    """
    g = np.random.default_rng([seed, 4, 3])
    model = Model(RBM(*(g.normal(0, 1, shape) for shape in ((4, 3), 4, 3))))
    v = sample(model, make_sampler("sample_penalization", eps=eps, alpha=1.0), n, seed).v[n // 2 :]
    law = np.bincount(v @ (8, 4, 2, 1), minlength=16) / len(v)
    return {"to_uniform": total_variation(law, np.full(16, 1 / 16)), "empty": float(law[0])}


def symmetric_end_state(eps: float, n: int, seed: int) -> dict[str, Any]:
    """Return the same for units -1 and 1, in plain numpy: the statistics are products of these values."""
    g = np.random.default_rng([seed, 4, 3])
    W, b, c = (g.normal(0, 1, shape) for shape in ((4, 3), 4, 3))
    # The same distribution of states: v = (x + 1) / 2 and h = (y + 1) / 2.
    A, a, d = W / 4, b / 2 + W.sum(axis=1) / 4, c / 2 + W.sum(axis=0) / 4
    x, law = np.ones(4), np.zeros(16)
    for t in range(n):
        y = np.where(g.random(3) < 1 / (1 + np.exp(-2 * (d + x @ A))), 1.0, -1.0)
        x = np.where(g.random(4) < 1 / (1 + np.exp(-2 * (a + A @ y))), 1.0, -1.0)
        A, a, d = A - eps * np.outer(x, y), a - eps * x, d - eps * y
        if t >= n // 2:
            law[int((x > 0) @ (8, 4, 2, 1))] += 1
    law /= law.sum()
    return {"to_uniform": total_variation(law, np.full(16, 1 / 16)), "empty": float(law[0])}


def work(size: Size) -> list[Work]:
    """Return ink over step sizes, and ends on small models."""
    n = 20_000 if size == "quick" else 200_000
    arguments = {"model": "mnist_fpcd", "data": "mnist5k", "n": n // 2}
    jobs = []
    for eps in STEPS:
        jobs += per_seed(f"ink-{eps:g}", ink, arguments | {"eps": eps}, seeds(size, quick=12, full=30))
    for name, function in (("end", end_state), ("turned", symmetric_end_state)):
        jobs += per_seed(name, function, {"eps": 0.01, "n": n}, seeds(size, quick=8, full=30))
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {
        f"ink_{eps:g}": measured.mean(
            f"ink-{eps:g}-", lambda run: run["sample_penalization"] / run["gibbs"] - 1
        )
        for eps in STEPS
    }
    return result | {
        "turned": measured.mean("turned-", "to_uniform"),
        "to_uniform": measured.mean("end-", "to_uniform"),
        "empty": measured.mean("end-", "empty"),
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for name in ("sample_penalization", "gibbs", "data"):
        rows += dots([(eps, measured.mean(f"ink-{eps:g}-", name)) for eps in STEPS], name)
    return Drawing(rows, "Step size eps", "Pixels on (mean)", log_x=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=110,
    title="Sample penalization: skew and end",
    source="Section 5.1, figure 1; section 4",
    claims=(
        claim(
            "bolder",
            "Samples of sample penalization look larger and bolder than those of the model.",
            "They seem larger and bolder in general",
            *(
                Bound(f"ink_{eps:g}", f"pixels on, SP over Gibbs less 1, eps = {eps:g}", at_least=0)
                for eps in STEPS
            ),
            live_link=link_to("sample", ("gibbs", "sample_penalization:eps=0.001"), model="mnist_fpcd"),
        ),
        claim(
            "uniform_end",
            "Without decay, samples rapidly converge to the uniform law on all states.",
            "Without a decay of the fast weights, the samples rapidly converge to a uniform distribution",
            Bound("to_uniform", "total variation distance to the uniform law", at_most=0.1),
            Bound("empty", "share of the empty state", at_most=0.2),
        ),
        claim(
            "uniform_end_symmetric",
            "The same with units of -1 and 1.",
            "The paper's equations have units of 0 and 1",
            Bound("turned", "total variation distance to the uniform law, units of -1 and 1", at_most=0.1),
            live_link=link_to("chain", ("sample_penalization:eps=0.05,alpha=1.0,units=symmetric",)),
            variant=True,
        ),
    ),
    about=(
        "Ink: 20 chains on `mnist_fpcd` from validation digits, alpha = 0.9. End: one chain without decay on "
        "random models with 4 visible and 3 hidden units, the second half of the run. Units are 0 or 1, so "
        "that only units that are on are penalised, and the empty state is the only rest; with units of -1 "
        "and 1 the statistics of both values are penalised alike. The paper does not say which its units are "
        "in this sentence; its equations have 0 and 1."
    ),
    cost={"quick": 0.3, "full": 16.0},
    live_link=link_to("chain", ("sample_penalization:eps=0.05,alpha=1.0", "gibbs")),
)
