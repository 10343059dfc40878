"""Many chains that share one theta_F, updated once per round with the mean of their statistics.

(1) sample every h ~ p(h | v; theta + theta_F)
(2) sample every v ~ p(v | h; theta + theta_F)
(3) emit one v of each chain: one round
(4) theta_F <- alpha theta_F + eps (R - <s>),   <s> the mean of s = (v h', v, h) over the chains

All chains of a round see the same parameters, so a round is a few matrix products on one thread; each chain
draws from its own stream. A single chain makes the same samples as with its own fast weights, up to the
rounding of float32 sums. A round is computed when its first sample is needed: a knob changed within a round
acts from the next round on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbmviz import kernels, rng
from rbmviz.rbm import RBM, Model
from rbmviz.rbm.parameters import FixedParameters, Padded, Parameters, Rows, add, norm
from rbmviz.samplers import Samples
from rbmviz.samplers.interleave import copy_into, empty_samples, starts
from rbmviz.support.blas import one_blas_thread


@dataclass
class SharedFastWeights:
    """State of a group of chains.

    Attributes
    ----------
    theta, rates, fast : Parameters
        theta, R and theta_F.
    moved : Padded
        theta + theta_F of the newest round.
    v, h : float32 (n_chains, n_visible), (n_chains, n_hidden)
        States of the chains, values 0 and 1.
    streams : uint32 (n_chains, 4, STREAM_LANES)
        Random streams of the chains.
    round : Samples
        The newest round.
    left : int
        Samples of the round not yet returned.
    """

    theta: Padded
    rates: Padded
    fast: Padded
    moved: Padded
    v: np.ndarray
    h: np.ndarray
    streams: np.ndarray
    round: Samples
    left: int = 0

    def apart(self) -> list["SharedFastWeights"]:
        """Return the chains as separate groups, each with its own theta_F = 0; theta and R are shared."""
        return [
            replace(
                self,
                fast=Padded.zeros(*self.fast.W.shape),
                moved=Padded.zeros(*self.fast.W.shape),
                v=self.v[i : i + 1].copy(),
                h=self.h[i : i + 1].copy(),
                streams=self.streams[i : i + 1].copy(),
            )
            for i in range(len(self.v))
        ]


@dataclass
class Rounds:
    """State of chains that advance round by round: one group of all chains, or one group for each.

    Attributes
    ----------
    groups : list of SharedFastWeights
        Sample t is the next one of group t % len(groups), if there are several.
    n : int
        Samples so far.
    """

    groups: list[SharedFastWeights]
    n: int = 0

    def next_group(self) -> SharedFastWeights:
        """Return the group that makes the next sample."""
        return self.groups[self.n % len(self.groups)]

    def target(self) -> RBM:
        """Return the model of the next round: theta + theta_F."""
        return RBM(*_current_parameters(self.next_group()))


Update = Callable[[SharedFastWeights, np.ndarray, float, float], float]


def start_shared(
    model: Model, rates: tuple[np.ndarray, ...], n_chains: int, seed: rng.Seed, v0: np.ndarray | None
) -> SharedFastWeights:
    """Return chains at their starts (see ``interleave.starts``) with theta_F = 0."""
    rbm, size = model.rbm, model.rbm.W.shape
    bits, streams = zip(*starts(n_chains, model, seed, v0), strict=True)
    nothing = Samples(
        np.zeros((0, rbm.n_visible), np.uint8),
        np.zeros((0, rbm.n_visible), np.float32),
        {"sweeps": np.zeros(0, np.int64), "fast_norm": np.zeros(0)},
    )
    return SharedFastWeights(
        theta=Padded.of(Parameters(rbm.W, rbm.b, rbm.c)),
        rates=Padded.of(Parameters(*rates)),
        fast=Padded.zeros(*size),
        moved=Padded.zeros(*size),
        v=np.stack(bits).astype(np.float32),
        h=np.zeros((n_chains, rbm.n_hidden), np.float32),
        streams=np.stack(streams),
        round=nothing,
    )


def step_rounds(sampler: Any, state: Rounds, n: int) -> Samples:
    """Return n samples, round after round, in the order of the chains within a round.

    sampler : its ``_round(shared)`` makes a round
    """
    # Sums then have one order, and a seed gives the same bits on any number of cores.
    out, done = empty_samples(state.groups[0].round, n), 0
    with one_blas_thread():
        while done < n:
            rows = take_from_round(sampler, state.next_group(), out, done)
            done += rows
            state.n += rows
    return out


def take_from_round(sampler: Any, shared: SharedFastWeights, out: Samples, done: int) -> int:
    """Copy the rest of a round, or a new round, into ``out`` from row ``done``; return the number of rows."""
    size = len(shared.v)
    if not shared.left:
        shared.round, shared.left = sampler._round(shared), size
    at, m = size - shared.left, min(shared.left, len(out) - done)
    copy_into(out, slice(done, done + m), shared.round, slice(at, at + m))
    shared.left -= m
    return m


def gibbs_round(
    shared: SharedFastWeights,
    eps: float,
    alpha: float,
    k: int,
    mean_statistics: bool,
    update: Update | None = None,
) -> Samples:
    """Make k Gibbs sweeps of every chain, then update theta_F with the h of (1) or E[h|v].

    update : does (4) and returns the norm of theta_F (default: the rule above)
    """
    theta, p = _current_parameters(shared), np.empty_like(shared.v)
    for _ in range(k):
        # (1) sample every h ~ p(h | v; theta + theta_F)
        # (2) sample every v ~ p(v | h; theta + theta_F)
        shared.v = theta.sweep(shared.v, shared.streams)
    shared.h = h = theta.hidden(len(p))
    kernels.updates.means(theta.inputs_of_visible(len(p)), np.float32(1), p)
    if mean_statistics:
        h = np.empty_like(h)
        kernels.updates.means(theta.inputs(shared.v), np.float32(1), h)
    update = update or _update_fast_weights
    return _emit(shared, p, np.full(len(p), k), update(shared, h, eps, alpha))


def herding_round(shared: SharedFastWeights, eps: float, alpha: float, max_sweeps: int) -> Samples:
    """Maximise h and v of every chain in turn until v is stable, or for max_sweeps; then update theta_F."""
    theta, sweeps = _current_parameters(shared), np.zeros(len(shared.v), np.int64)
    moving = np.ones(len(sweeps), np.bool_)  # the others are at their mode: their sweeps change nothing
    while moving.any() and sweeps.max() < max_sweeps:
        h = theta.inputs(shared.v)[:, : len(theta.c)] > 0
        before, shared.v = shared.v, (theta.down(h) > 0).astype(np.float32)
        shared.h = h.astype(np.float32)
        sweeps += moving
        moving = (shared.v != before).any(axis=1)
    return _emit(shared, shared.v.copy(), sweeps, _update_fast_weights(shared, shared.h, eps, alpha))


def _current_parameters(shared: SharedFastWeights) -> FixedParameters:
    """Return theta + theta_F."""
    np.add(shared.theta.matrix, shared.fast.matrix, out=shared.moved.matrix)
    return FixedParameters.at(shared.moved)


def _update_fast_weights(shared: SharedFastWeights, h: np.ndarray, eps: float, alpha: float) -> float:
    """(4) theta_F <- alpha theta_F + eps (R - <s>); return the norm of theta_F."""
    fast = shared.fast
    add(fast, alpha, Rows(shared.v, h), -eps)
    fast.matrix += np.float32(eps) * shared.rates.matrix
    return norm(fast)


def _emit(shared: SharedFastWeights, p: np.ndarray, sweeps: np.ndarray, fast_norm: float) -> Samples:
    """(3) Return the round: one v of each chain, with the norm of theta_F after the update."""
    traces = {"sweeps": sweeps, "fast_norm": np.full(len(p), fast_norm)}
    return Samples(shared.v.astype(np.uint8), p, traces)
