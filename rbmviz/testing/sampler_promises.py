"""The promises of samplers, each with its check."""

import itertools
from typing import Any

import numpy as np
from scipy.stats import chi2

from rbmviz.knobs import knobs_of
from rbmviz.metrics import probabilities
from rbmviz.models import random_model
from rbmviz.rbm import RBM, Model
from rbmviz.samplers import Samples
from rbmviz.testing import promises
from rbmviz.testing.promises import Check, Runner, bits, live_values, require, variants

MAX_STANDARD_ERRORS = 5.0
"""Largest accepted difference between a mean and the promised mean, in standard errors."""


def _model(n_visible: int = 70, n_hidden: int = 37) -> Model:
    """Return a model whose sizes need padding, with more visible units than a block of 64 draws."""
    g = np.random.default_rng(1)
    rbm = RBM(*(g.normal(0, 0.3, shape) for shape in ((n_visible, n_hidden), n_visible, n_hidden)))
    return Model(rbm, rbm.rates(bits(200, n_visible, 2)))


def _arrays(results: Any) -> list[np.ndarray]:
    traces = sorted(results[0].info)
    rows = [[x.v, x.p, *(x.info[trace] for trace in traces)] for x in results]
    return [np.concatenate(column) for column in zip(*rows, strict=True)]


_SAMPLER = Runner(lambda sampler, seed: sampler.init(_model(), seed), _arrays)


def _with_chains(cls: Any, n: int, **knobs: Any) -> Any:
    """Return the sampler with these knobs and n chains, or one chain if it has no knob n_chains."""
    return cls(**(knobs | ({"n_chains": n} if "n_chains" in knobs_of(cls) else {})))


def _declaration(cls: Any) -> None:
    flag = (True, False)
    promises.check_declaration(cls, "sampler", exact_chain=flag, deterministic=flag, needs_rates=flag)
    n_chains = knobs_of(cls).get("n_chains")
    require(cls().n_chains == 1 and not (n_chains and n_chains.live), "n_chains must be 1, and live=False.")
    if not cls.needs_rates:  # if the sampler needs rates after all, the error says so
        cls().init(Model(_model().rbm), 0)


def _shapes(cls: Any) -> None:
    for more, n_chains in itertools.product(variants(cls), (1, 3)):
        sampler = _with_chains(cls, n_chains, **more)
        state = sampler.init(_model(), 0)
        for n in (0, 1, 25):
            samples = sampler.step(state, n)
            require(isinstance(samples, Samples), f"step returns {type(samples).__name__}: return Samples.")
            for name, x, dtype in (("v", samples.v, np.uint8), ("p", samples.p, np.float32)):
                right = x.shape == (n, 70) and x.dtype == dtype
                require(right, f"{name} of {n} samples is {x.dtype} {x.shape}: return {dtype} {(n, 70)}.")
            require((samples.v <= 1).all(), "v has values other than 0 and 1.")
            require(((samples.p >= 0) & (samples.p <= 1)).all(), "p has values that are not probabilities.")
            for trace, x in samples.info.items():
                right = isinstance(x, np.ndarray) and x.shape == (n,)
                require(right, f"the trace {trace} of {n} samples is not an array of shape {(n,)}.")
            counted = "sweeps" in samples.info and samples.info["sweeps"].dtype.kind in "iu"
            require(counted, "info['sweeps'] must have the sweeps of each sample, as integers.")
        target = sampler.target(state)
        right = isinstance(target, RBM) and target.W.shape == (70, 37)
        require(right, "target returns no RBM of the model's shape.")


def _seeds(cls: Any) -> None:
    promises.check_seeds(_SAMPLER, [_with_chains(cls, 3, **more) for more in variants(cls)], 60)
    sampler, start = _with_chains(cls, 3), bits(1, 70, 3)[0]
    a, b = (sampler.step(sampler.init(_model(), seed, start), 60).v for seed in (7, 8))
    moves = cls.deterministic or (a != b).any()
    require(moves, "two seeds give the same samples from one start: use the seed, or declare deterministic.")
    require((a == b).all() or not cls.deterministic, "it declares deterministic, but draws after its start.")
    apart = cls.deterministic or sampler.n_chains == 1 or (a[::3] != a[2::3]).any()
    require(apart, "two chains make the same samples: give each a random stream of its own.")


def _division(cls: Any) -> None:
    algorithms = [_with_chains(cls, n, **more) for more in variants(cls, live=True) for n in (1, 7)]
    promises.check_division(_SAMPLER, algorithms, (1, 9, 0, 2, 4, 284))


def _live_knobs(cls: Any) -> None:
    samplers = [_with_chains(cls, 3, **more) for more in variants(cls)]
    promises.check_live_knobs(_SAMPLER, samplers, knobs_of(cls), (5,), 600)


def _chains(cls: Any) -> None:
    rows = bits(4, 70, 5)

    def run(n_chains: int, v0: np.ndarray) -> np.ndarray:
        sampler = _with_chains(cls, n_chains)
        return sampler.step(sampler.init(_model(), 6, v0), 7 * n_chains).v

    alone, other = run(1, rows[0]), run(1, rows[1])
    require(np.array_equal(rows, bits(4, 70, 5)), "it writes to the starts that it is given: take a copy.")
    require((alone != other).any(), "two starts give the same samples: begin at v0.")
    turns = "n_chains" not in knobs_of(cls) or np.array_equal(run(4, rows)[::4], alone)
    require(
        turns,
        "the first of 4 chains is not as if alone: sample t is of chain t % 4, which begins at v0[t % 4].",
    )


def _means(cls: Any) -> None:
    live = [{name: value} for name, values in live_values(cls) for value in values]
    for more, n_chains in itertools.product((*variants(cls), *live), (1, 3)):
        sampler = _with_chains(cls, n_chains, **more)
        samples = sampler.step(sampler.init(_model(), 2), 400)
        p = samples.p.astype(np.float64)
        noise = MAX_STANDARD_ERRORS * np.sqrt((p * (1 - p)).sum(axis=0)) + 1e-6 * len(p)
        close = (np.abs((samples.v - p).sum(axis=0)) <= noise).all()
        require(close, f"{sampler}: p of some unit is not the mean of its bits in v.")
        # Bits are 1 more often where p is above its mean so far, unless p belongs to another sample. The mean
        # of all rows would already contain the bit if a unit keeps it for long.
        above = p - p.cumsum(axis=0) / np.arange(1, len(p) + 1)[:, None]
        noise = MAX_STANDARD_ERRORS * np.sqrt((p * (1 - p) * above**2).sum()) + 1e-6 * p.size
        close = abs(((samples.v - p) * above).sum()) <= noise
        require(close, f"{sampler}: p is not the mean of the sample of its own row.")


def _law(cls: Any) -> None:
    """Check that chains started from the model's distribution keep it; models are small, to count states."""
    if not cls.exact_chain:
        return
    size, samples_per_chain = 5000, 7  # enough to detect a temperature of 1.2
    states, g = np.array(list(np.ndindex(2, 2, 2, 2)), np.uint8), np.random.default_rng(2)
    W, b, c = (g.normal(0, 0.5, shape) for shape in ((4, 37), 4, 37))  # 37: not a multiple of a padding
    for rbm in (random_model(n_visible=4, n_hidden=3, scale=3, seed=1).rbm, RBM(W, b - W.sum(axis=1) / 2, c)):
        model, law = Model(rbm, rbm.rates(bits(200, 4, 2))), probabilities(rbm)
        starts, v = states[g.choice(16, size, p=law)], np.zeros((0, 4), np.uint8)
        while len(v) < size:
            sampler = _with_chains(cls, min(50, size - len(v)))
            rows = starts[len(v) :][: sampler.n_chains]
            seed = np.random.SeedSequence(len(v))  # made once for all streams of all chains
            state = sampler.init(model, seed, rows if len(rows) > 1 else rows[0])
            target = sampler.target(state)
            v = np.concatenate([v, sampler.step(state, samples_per_chain * len(rows)).v[-len(rows) :]])
        exact = all(np.allclose(getattr(target, x), getattr(rbm, x), atol=1e-6) for x in "Wbc")
        require(exact, "it declares exact_chain, but its target is not the model.")
        moves = (v != starts).any(axis=0)
        require(moves.all(), f"visible unit {int(moves.argmin())} of 4 does not change in any chain.")
        counts = np.bincount(v @ np.array([8, 4, 2, 1]), minlength=16)
        p_value = chi2.sf(((counts - size * law) ** 2 / (size * law)).sum(), 15)
        require(
            p_value > 1e-4,
            f"started with the law of a model of 4 by {rbm.n_hidden} units, its samples have another law "
            f"(p = {p_value:.1g}): correct the chain, or do not declare exact_chain.",
        )


SAMPLER_PROMISES: dict[str, Check] = {
    promises.DECLARATION: _declaration,
    promises.RESULT_SHAPES: _shapes,
    promises.SEEDS: _seeds,
    promises.DIVISION: _division,
    "chains take turns, each from its own start": _chains,
    "p is the mean of v": _means,
    "an exact chain leaves the law of the model invariant": _law,
    promises.LIVE_KNOBS: _live_knobs,
}
"""Checks of a sampler by promise, in the order of ``check_sampler``."""
