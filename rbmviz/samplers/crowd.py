"""Many chains under one theta_F, which moves once a round by the mean of their statistics.

    theta_F <- alpha theta_F + eps (R - <s>),   <s> the mean over the chains, a round one sample of each

All chains of a round see the same parameters, so a round is a few products of whole matrices, on one
thread; each chain draws from its own stream. One chain in a crowd is what it is alone, in float32
sums of another order. A round is made whole when its first sample is asked for: knobs turned in the
middle of it act from the next one on.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import ThreadpoolController

from rbmviz import rng
from rbmviz.kernels.batch import correlate, times, times_transposed
from rbmviz.kernels.random import bernoulli_chains, mean_rows
from rbmviz.rbm import RBM, Model
from rbmviz.samplers import Samples
from rbmviz.samplers.chains import OBJECT, put, room, starts

Parameters = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass
class Crowd:
    """The chains: theta, R and theta_F as (W, b, c); v (chains, n_visible) and h, 0 and 1; all float32.

    rng uint32 (chains, 4, lanes); made: the newest round; left: how many of its samples are not handed out.
    """

    theta: Parameters
    rates: Parameters
    fast: Parameters
    v: np.ndarray
    h: np.ndarray
    rng: np.ndarray
    made: Samples
    left: int = 0


def start_crowd(
    model: Model, rates: Parameters, n_chains: int, seed: rng.Seed, v0: np.ndarray | None
) -> Crowd:
    """Return a crowd at its starts (see ``chains.starts``) with theta_F = 0."""
    rbm = model.rbm
    bits, streams = zip(*starts(n_chains, model, seed, v0), strict=True)
    nothing = Samples(
        np.zeros((0, rbm.n_visible), np.uint8),
        np.zeros((0, rbm.n_visible), np.float32),
        {"sweeps": np.zeros(0, np.int64), "drift": np.zeros(0)},
    )
    return Crowd(
        theta=(rbm.W, rbm.b, rbm.c),
        rates=rates,
        fast=(np.zeros_like(rbm.W), np.zeros_like(rbm.b), np.zeros_like(rbm.c)),
        v=np.stack(bits).astype(np.float32),
        h=np.zeros((n_chains, rbm.n_hidden), np.float32),
        rng=np.stack(streams),
        made=nothing,
    )


def crowd_bytes(n_chains: int, n_visible: int, n_hidden: int) -> int:
    """Return the bytes of a crowd beyond theta and R."""
    fast = 4 * (n_visible * n_hidden + n_visible + n_hidden)
    return fast + n_chains * (4 * (n_visible + n_hidden) + rng.STATE_BYTES) + 32 * OBJECT


def target(crowd: Crowd) -> RBM:
    """Return the model of the next round: theta + theta_F."""
    return RBM(*_moved(crowd))


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: once is enough


def in_rounds(crowd: Crowd, n: int, make_round: Callable[[Crowd], Samples]) -> Samples:
    """Make n samples, round after round, the chains in turns."""
    out, done, size = room(crowd.made, n), 0, len(crowd.v)
    # One thread: sums come out in one order, so that a seed gives the same bits on any number of cores.
    with _blas().limit(limits=1, user_api="blas"):
        while done < n:
            if not crowd.left:
                crowd.made, crowd.left = make_round(crowd), size
            at, m = size - crowd.left, min(crowd.left, n - done)
            put(out, slice(done, done + m), crowd.made, slice(at, at + m))
            done += m
            crowd.left -= m
    return out


def gibbs_round(crowd: Crowd, eps: float, alpha: float, k: int, mean_field: bool) -> Samples:
    """Make k Gibbs sweeps of every chain, then the step of theta_F: with h as drawn, or E[h|v]."""
    W, b, c = _moved(crowd)
    p = np.empty_like(crowd.v)
    for _ in range(k):
        x = times(crowd.v, W)
        bernoulli_chains(crowd.rng, x, c, x, crowd.h)
        y = times_transposed(crowd.h, W)
        bernoulli_chains(crowd.rng, y, b, p, crowd.v)
    h = crowd.h
    if mean_field:
        h = times(crowd.v, W)
        mean_rows(h, c, h)
    return _emit(crowd, p, np.full(len(p), k), _push(crowd, h, eps, alpha))


def herding_round(crowd: Crowd, eps: float, alpha: float, max_sweeps: int) -> Samples:
    """Let every chain climb until its v stays, or max_sweeps, then the step of theta_F."""
    W, b, c = _moved(crowd)
    sweeps = np.zeros(len(crowd.v), np.int64)
    moving = np.arange(len(crowd.v))
    while len(moving) and sweeps[moving[0]] < max_sweeps:
        before = crowd.v[moving]
        h = times(before, W) + c > 0
        v = times_transposed(h.astype(np.float32), W) + b > 0
        crowd.h[moving], crowd.v[moving] = h, v
        sweeps[moving] += 1
        moving = moving[(v != before).any(axis=1)]
    return _emit(crowd, crowd.v.copy(), sweeps, _push(crowd, crowd.h, eps, alpha))


def _moved(crowd: Crowd) -> Parameters:
    W, b, c = (theta + fast for theta, fast in zip(crowd.theta, crowd.fast, strict=True))
    return W, b, c


def _push(crowd: Crowd, h: np.ndarray, eps: float, alpha: float) -> float:
    """Do theta_F <- alpha theta_F + eps (R - <s>), and return its norm."""
    mean = (correlate(crowd.v, h, len(h)), crowd.v.mean(axis=0), h.mean(axis=0))
    for fast, rate, s in zip(crowd.fast, crowd.rates, mean, strict=True):
        fast *= np.float32(alpha)
        fast += np.float32(eps) * (rate - s)
    return float(np.sqrt(sum(float(np.vdot(fast, fast)) for fast in crowd.fast)))


def _emit(crowd: Crowd, p: np.ndarray, sweeps: np.ndarray, drift: float) -> Samples:
    traces = {"sweeps": sweeps, "drift": np.full(len(p), drift)}
    return Samples(crowd.v.astype(np.uint8), p, traces)
