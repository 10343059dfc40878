"""Rates-FPCD, sections 4 and 5.1: how sample penalization skews, and where it ends without decay."""

from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_sample, per_seed, seeds
from papers.tables import dots
from rbmviz.datasets import load_dataset
from rbmviz.metrics import total_variation
from rbmviz.models import load_model
from rbmviz.pages import link_to
from rbmviz.rbm import RBM, Model
from rbmviz.samplers import make_sampler, sample

STEPS = (0.0001, 0.0003, 0.001)

POLARITIES = {"ink": False, "paper": True}
"""What a unit that is on stands for: ink, or the paper around it; whether pixels are inverted."""


def inverted(rbm: RBM) -> RBM:
    """Return the model of inverted pixels: its probability of 1 - v is that of v in the first one."""
    return RBM(-rbm.W, -rbm.b, rbm.c + rbm.W.sum(axis=0, dtype=np.float64))


def ink(model: str, data: str, eps: float, n: int, invert: bool, seed: int) -> dict[str, Any]:
    """Return the mean pixels of ink in samples by sample penalization and by Gibbs, and in the data.

    invert: whether a unit that is on is paper, and not ink.
    """
    loaded, dataset = load_model(model), load_dataset(data)
    g = np.random.default_rng([seed, 7])
    v0 = dataset.validation[g.integers(len(dataset.validation), size=20)]
    result = {"data": float(dataset.train.sum(axis=1).mean())}
    if invert:
        loaded, v0 = Model(inverted(loaded.rbm)), 1 - v0
    for name, knobs in (("sample_penalization", {"eps": eps, "alpha": 0.9}), ("gibbs", {})):
        samples = sample(loaded, make_sampler(name, n_chains=20, **knobs), n, seed, v0)
        on = float(samples.v.sum(axis=1, dtype=np.int64).mean())
        result[name] = dataset.train.shape[1] - on if invert else on
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
    n = 20_000 if size == "quick" else 50_000
    arguments = {"model": "mnist_fpcd", "data": "mnist5k", "n": 2000}
    jobs = []
    for prefix, invert in POLARITIES.items():
        for eps in STEPS:
            own = arguments | {"eps": eps, "invert": invert}
            jobs += per_seed(f"{prefix}-{eps:g}", ink, own, seeds(size, quick=12, full=30))
    for name, function in (("end", end_state), ("turned", symmetric_end_state)):
        jobs += per_seed(name, function, {"eps": 0.01, "n": n}, seeds(size, quick=8, full=10))
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {
        f"{prefix}_{eps:g}": measured.mean(
            f"{prefix}-{eps:g}-", lambda run: run["sample_penalization"] / run["gibbs"] - 1
        )
        for prefix in POLARITIES
        for eps in STEPS
    }
    return result | {
        "turned": measured.mean("turned-", "to_uniform"),
        "to_uniform": measured.mean("end-", "to_uniform"),
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for prefix in POLARITIES:
        for name in ("sample_penalization", "gibbs", "data"):
            points = [(eps, measured.mean(f"{prefix}-{eps:g}-", name)) for eps in STEPS]
            rows += dots(points, name, f"units on are {prefix}")
    return Drawing(rows, "Step size eps", "Pixels of ink (mean)", log_x=True)


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
                Bound(
                    f"{prefix}_{eps:g}",
                    f"ink, SP over Gibbs less 1, units on are {prefix}, eps = {eps:g}",
                    at_least=0,
                )
                for prefix in POLARITIES
                for eps in STEPS
            ),
            live_link=on_sample("mnist_fpcd", "gibbs", "sample_penalization:eps=0.001"),
        ),
        claim(
            "uniform_end",
            "Without decay, samples rapidly converge to the uniform law on all states: with units -1 and 1, "
            "and with 0 and 1.",
            "Without a decay of the fast weights, the samples rapidly converge to a uniform distribution",
            Bound("turned", "total variation distance to the uniform law, units of -1 and 1", at_most=0.1),
            Bound("to_uniform", "total variation distance to the uniform law, units of 0 and 1", at_most=0.1),
            live_link=link_to("chain", ("sample_penalization:eps=0.05,alpha=1.0,units=symmetric",)),
        ),
    ),
    about=(
        "Ink: 20 chains on `mnist_fpcd` from validation digits, alpha = 0.9, 100 sweeps each. Fast weights "
        "of units 0 and 1 can only switch units off; what this does to the ink depends on what a unit that "
        "is on stands for, which the paper does not say: both are measured, the second on the same model "
        "with inverted pixels. End: one chain without decay on random models with 4 visible and 3 hidden "
        "units, the second half of the run. Units are 0 or 1, so that only units that are on are penalised, "
        "and the empty state is the only rest; with units of -1 and 1 the statistics of both values are "
        "penalised alike. The paper does not say which its units are in this sentence; its equations have 0 "
        "and 1."
    ),
    cost={"quick": 0.3, "full": 1.0},
    live_link=link_to("chain", ("sample_penalization:eps=0.05,alpha=1.0", "gibbs")),
)
