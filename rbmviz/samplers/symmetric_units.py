"""Sample penalization in symmetric units: the statistics of x = 2 v - 1 and y = 2 h - 1.

An RBM of units -1 and +1 with parameters (W, b, c) has the distribution of an RBM of units 0 and 1 with

    4 W,    2 b - 2 W 1,    2 c - 2 W' 1,    1 a vector of ones.

The penalty of a sample, -eps (x y', x, y) in symmetric units, therefore changes theta_F in units 0 and 1,
which the chain uses, by

    W: -4 eps x y',    b: -2 eps x (1 - sum(y)),    c: -2 eps y (1 - sum(x)).

It changes every weight, because no unit is 0. The lists of active units that make the other driven samplers
fast do not help here, and theta_F is stored in full after every sample.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.files.budget import check_memory
from rbmviz.rbm import RBM, Model
from rbmviz.samplers import Samples
from rbmviz.samplers.interleave import empty_samples
from rbmviz.samplers.shared_fast_weights import (
    SharedFastWeights,
    start_shared,
    take_from_round,
    target,
)
from rbmviz.support.blas import one_blas_thread


@dataclass
class Symmetric:
    """State of the chains: one group of all chains or one per chain; each group has one theta_F.

    Attributes
    ----------
    groups : list of SharedFastWeights
        Sample t of the sampler is the next sample of group t % len(groups).
    n : int
        Samples so far.
    """

    groups: list[SharedFastWeights]
    n: int = 0

    def target(self) -> RBM:
        """Return theta + theta_F of the chain that makes the next sample."""
        return target(self.groups[self.n % len(self.groups)])


def start_symmetric(
    model: Model, n_chains: int, share: bool, seed: rng.Seed, v0: np.ndarray | None
) -> Symmetric:
    """Return chains at v0 (or random bits) with theta_F = 0."""
    rbm = model.rbm
    check_memory(
        f"sample_penalization of {n_chains} chains",
        8 * rbm.W.size * (1 if share else n_chains),
        "take fewer chains, or let them share (share = true)",
    )
    nothing = np.zeros_like(rbm.W), np.zeros_like(rbm.b), np.zeros_like(rbm.c)
    whole = start_shared(model, nothing, n_chains, seed, v0)
    return Symmetric([whole] if share or n_chains == 1 else whole.apart())


def step_symmetric(sampler: Any, state: Symmetric, n: int) -> Samples:
    """Return n samples, with one update of theta_F after every round of a group; see ``step_all_chains``."""
    out, done = empty_samples(state.groups[0].round, n), 0
    with one_blas_thread():
        while done < n:
            group = state.groups[state.n % len(state.groups)]
            m = take_from_round(sampler, group, out, done)
            done += m
            state.n += m
    return out


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
