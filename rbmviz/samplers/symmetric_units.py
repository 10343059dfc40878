"""Sample penalization in symmetric units: the statistics of x = 2 v - 1 and y = 2 h - 1.

An RBM of units -1 and +1 with parameters (W, b, c) has the distribution of an RBM of units 0 and 1 with

    4 W,    2 b - 2 W 1,    2 c - 2 W' 1,    1 a vector of ones.

The penalty of a sample, -eps (x y', x, y) in symmetric units, therefore changes theta_F in units 0 and 1,
which the chain uses, by

    W: -4 eps x y',    b: -2 eps x (1 - sum(y)),    c: -2 eps y (1 - sum(x)).

It changes every weight, because no unit is 0. The lists of active units that make the other driven samplers
fast do not help here, and theta_F is stored in full after every sample.
"""

from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.rbm import Model
from rbmviz.samplers.fast_weights import check_own_weights
from rbmviz.samplers.shared_fast_weights import Rounds, SharedFastWeights, start_shared


def start_symmetric(sampler: Any, model: Model, seed: rng.Seed, v0: np.ndarray | None) -> Rounds:
    """Return chains at v0 (or random bits) with theta_F = 0."""
    nothing = np.zeros_like(model.rbm.W), np.zeros_like(model.rbm.b), np.zeros_like(model.rbm.c)
    whole = start_shared(model, nothing, sampler.n_chains, seed, v0)
    if sampler.share or sampler.n_chains == 1:
        return Rounds([whole])
    check_own_weights(sampler, model.rbm)
    return Rounds(whole.apart())


def penalise(group: SharedFastWeights, h: np.ndarray, eps: float, alpha: float) -> float:
    """theta_F <- alpha theta_F - eps <s> in symmetric units; return the norm of theta_F in units 0 and 1."""
    x, y = 2 * group.v - 1, 2 * h - 1
    n, step = len(x), np.float32(2 * eps)
    moves = (
        2 * step * (x.T @ y) / n,
        step * (x * (1 - y.sum(axis=1, keepdims=True))).mean(axis=0),
        step * (y * (1 - x.sum(axis=1, keepdims=True))).mean(axis=0),
    )
    for fast, move in zip(group.fast, moves, strict=True):
        fast *= np.float32(alpha)
        fast -= move
    return float(np.sqrt(sum(float(np.vdot(fast, fast)) for fast in group.fast)))
