"""What the samplers with fast parameters share: a chain whose parameters move, and its regime."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.kernels import fast_weights as kernels
from rbmviz.kernels.fast_weights import (
    FAST_COEF,
    HISTORY_LENGTH,
    RATES,
    RATES_COEF,
    RATES_COEF_LIMIT,
    SAMPLES_MADE,
    SAMPLES_SINCE_CHANGE,
    SMALLEST_FAST_COEF,
    THETA,
    THETA_COEF,
)
from rbmviz.kernels.gibbs import place, rebuild, zero_map
from rbmviz.kernels.history import History, history_bytes, history_length_of, make_history, sum_of_history
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.samplers import Samples, machine_memory
from rbmviz.samplers.interleave import OBJECT, Chains, maps, maps_bytes, next_chain, one_or_many, starts
from rbmviz.samplers.shared_fast_weights import SharedFastWeights, shared_bytes, start_shared, target


@dataclass
class DrivenChain:
    """v, h, the maps followed both ways, the newest samples, the scalars, the random stream, the knobs."""

    v: np.ndarray
    h: np.ndarray
    up: kernels.HalfStep
    down: kernels.HalfStep
    history: History
    scalars: kernels.ChainScalars
    rng: np.ndarray
    eps: float = 0.0
    alpha: float = 1.0


State = DrivenChain | Chains[DrivenChain] | SharedFastWeights

FOLD = 256
"""Samples after which theta_F is written out, in the regime of rows."""
MATCH = 16 * FOLD
"""Samples after which M from h to v is made that from v to h again: each has roundings of its own."""
FOREVER = 2**62


def share() -> Any:
    """Knob: one theta_F for all chains; a dataclass field belongs to one class, hence a function."""
    text = (
        "One push for all chains, by their mean: a crowd that already looks like the data is hardly pushed."
    )
    return knob(False, label="Share the push", live=False, help=text)


def start(
    sampler: Any, model: Model, rates: Statistics | None, seed: rng.Seed, v0: np.ndarray | None
) -> State:
    """Return chains at v0 (or random bits) with theta_F = 0; rates None: nothing pulls back (R = 0).

    One chain shares its theta_F with nobody: with ``share`` or without, it is the same chain.
    """
    rbm = model.rbm
    R = (
        (rates.W, rates.b, rates.c)
        if rates
        else (np.zeros_like(rbm.W), np.zeros_like(rbm.b), np.zeros_like(rbm.c))
    )
    if sampler.share and sampler.n_chains > 1:
        return start_shared(model, R, sampler.n_chains, seed, v0)
    needed, memory = 8 * rbm.W.size * sampler.n_chains, machine_memory()  # M both ways
    if needed > memory / 2:
        raise BadInput(
            f"{sampler.name}: {sampler.n_chains} chains with fast weights of their own need "
            f"{needed / 1e9:,.1f} GB, more than half of this machine's {memory / 1e9:,.1f} GB: "
            f"give fewer, or let them share."
        )
    m, n = rbm.W.shape
    up_theta, down_theta = maps(rbm)
    up_rates, down_rates = maps(rates) if rates else (zero_map(m, n), zero_map(n, m))

    def chain(v: np.ndarray, stream: np.ndarray) -> DrivenChain:
        up = kernels.make_half_step(up_theta, up_rates, n)
        down = kernels.make_half_step(down_theta, down_rates, m)
        place(up.flips, v, up.theta, up.rates, up.fast)
        h, history = np.zeros(n, np.uint8), make_history(m, n)
        return DrivenChain(v, h, up, down, history, kernels.make_scalars(R), stream)

    return one_or_many([chain(*of) for of in starts(sampler.n_chains, model, seed, v0)])


def state_bytes(sampler: Any, n_visible: int, n_hidden: int) -> int:
    """Return the bytes of what ``start`` makes."""
    m, n = n_visible, n_hidden
    if sampler.share and sampler.n_chains > 1:
        return shared_bytes(sampler.n_chains, m, n) + 4 * (m * n + m + n)  # R, where nothing pulls back
    half_steps = kernels.half_step_bytes(m, n) + kernels.half_step_bytes(n, m)
    chain = half_steps + history_bytes(m, n) + m + n + rng.STATE_BYTES + 64 * OBJECT
    return 2 * maps_bytes(m, n) + sampler.n_chains * chain  # of theta and of R


# The regime, see kernels.fast_weights


def prepare(chain: DrivenChain, eps: float, alpha: float, mean_field: bool) -> int:
    """Choose the regime and bring it up to date; return how many samples can be made before the next call.

    Samples go into the history where it can hold them, else into the rows of M. A history has one decay; when
    the decay changes, the history so far is written into M and a new one begins.
    """
    counts, scale = chain.scalars.counts, chain.scalars.scale
    history_length = 0 if mean_field else history_length_of(alpha)
    theta_coef = 0.0 if alpha == 1.0 else 1.0
    if (
        history_length != counts[HISTORY_LENGTH]
        or (history_length and alpha != chain.alpha)
        or (not history_length and theta_coef != scale[THETA_COEF])
    ):
        _change(chain, history_length, theta_coef)
    elif history_length and eps != chain.eps:
        _rebuild_untracked(chain)
        counts[SAMPLES_SINCE_CHANGE] = 0
    elif history_length and counts[SAMPLES_SINCE_CHANGE] == history_length:
        scale[RATES_COEF_LIMIT] += scale[RATES_COEF]
        _write_out(chain, 0.0)
    elif not history_length and (
        counts[SAMPLES_MADE] % FOLD == 0 or scale[FAST_COEF] * alpha < SMALLEST_FAST_COEF
    ):
        _write_out(chain, theta_coef)
        kernels.compute_moments(chain.up, chain.down, chain.scalars)
        if counts[SAMPLES_MADE] % MATCH == 0:
            chain.down.fast.rows[:, : len(chain.v)] = chain.up.fast.rows[:, : len(chain.h)].T
            rebuild(chain.down.fast, chain.down.flips)
    chain.eps, chain.alpha = eps, alpha
    _choose_tracked(chain)
    if history_length:
        return (
            int(history_length - counts[SAMPLES_SINCE_CHANGE])
            if counts[SAMPLES_SINCE_CHANGE] < history_length
            else FOREVER
        )
    allowed = FOLD - int(counts[SAMPLES_MADE]) % FOLD
    if alpha < 1.0:
        faded = math.log(SMALLEST_FAST_COEF / scale[FAST_COEF]) / math.log(max(alpha, SMALLEST_FAST_COEF))
        allowed = min(allowed, max(1, int(faded - 1e-9)))
    return allowed


def _change(chain: DrivenChain, history_length: int, theta_coef: float) -> None:
    """Begin another regime: all of theta_F in M (and theta, if theta_coef is 0), an empty history or none."""
    history, counts = chain.history, chain.scalars.counts
    _rebuild_untracked(chain)
    _write_out(chain, theta_coef)
    if counts[HISTORY_LENGTH]:
        kernels.fold_into(chain.up, history, history.visible, history.hidden, counts[HISTORY_LENGTH])
        kernels.fold_into(chain.down, history, history.hidden, history.visible, counts[HISTORY_LENGTH])
        history.weight[:] = 0.0
        chain.scalars.scale[RATES_COEF_LIMIT] = 0.0
    kernels.compute_moments(chain.up, chain.down, chain.scalars)
    counts[HISTORY_LENGTH], counts[SAMPLES_SINCE_CHANGE] = history_length, 0
    if history_length and chain.scalars.moment[0] == 0.0:
        chain.scalars.scale[FAST_COEF] = 0.0  # M is empty


def _write_out(chain: DrivenChain, theta_coef: float) -> None:
    """Write theta_F out into M, and theta where theta_coef is 0: rates_coef = 0 and fast_coef = 1."""
    scale = chain.scalars.scale
    kernels.write_out(chain.up, scale, theta_coef)
    kernels.write_out(chain.down, scale, theta_coef)
    scale[RATES_COEF], scale[FAST_COEF], scale[THETA_COEF] = 0.0, 1.0, theta_coef


def _rebuild_untracked(chain: DrivenChain) -> None:
    """Rebuild the maps of theta and of the rates that were not updated from sample to sample."""
    for half_step in (chain.up, chain.down):
        for which, preactivation in ((THETA, half_step.theta), (RATES, half_step.rates)):
            if not half_step.tracked[which]:
                rebuild(preactivation, half_step.flips)


def _choose_tracked(chain: DrivenChain) -> None:
    """Follow what the pre-activations are made of; and up, for the norm of theta_F, R and what M holds."""
    counts, scale = chain.scalars.counts, chain.scalars.scale
    in_rows, has_rates = not counts[HISTORY_LENGTH], chain.scalars.moment[2] > 0.0
    pull_moves = in_rows or counts[SAMPLES_SINCE_CHANGE] < counts[HISTORY_LENGTH]
    chain.up.tracked[:] = scale[THETA_COEF] > 0.0 or in_rows, has_rates, scale[FAST_COEF] > 0.0
    chain.down.tracked[:] = scale[THETA_COEF] > 0.0, has_rates and pull_moves, scale[FAST_COEF] > 0.0


def pieces(chain: DrivenChain, n: int, eps: float, alpha: float, mean_field: bool) -> Iterator[slice]:
    """Cut the next n samples where the chain has to be prepared anew, and prepare it."""
    at = 0
    while at < n:
        allowed = prepare(chain, eps, alpha, mean_field)
        yield slice(at, min(n, at + allowed))
        at += allowed


def driven_gibbs(chain: DrivenChain, n: int, eps: float, alpha: float, mean_field: bool, k: int) -> Samples:
    """Make n samples of k sweeps each, and the step of theta_F after every one."""
    v = np.empty((n, len(chain.v)), np.uint8)
    p = np.empty((n, len(chain.v)), np.float32)
    fast_norm = np.empty(n)
    for piece in pieces(chain, n, eps, alpha, mean_field):
        kernels.driven_gibbs(
            chain.up,
            chain.down,
            chain.history,
            chain.v,
            chain.h,
            chain.scalars,
            chain.rng,
            eps,
            alpha,
            mean_field,
            k,
            v[piece],
            p[piece],
            fast_norm[piece],
        )
    return Samples(v, p, {"sweeps": np.full(n, k), "fast_norm": fast_norm})


def with_fast(state: State) -> RBM:
    """Return the model that the next sample is drawn from: theta + theta_F of the chain whose turn it is."""
    if isinstance(state, SharedFastWeights):
        return target(state)
    chain = next_chain(state)
    up, down, (rates_coef, fast_coef, theta_coef, _) = chain.up, chain.down, chain.scalars.scale
    m, n = len(chain.v), len(chain.h)
    P_W, P_b, P_c = sum_of_history(chain.history)

    def moved(fast: np.ndarray, rates: np.ndarray, theta: np.ndarray, P: np.ndarray) -> np.ndarray:
        return (fast_coef * fast.astype(float) + rates_coef * rates) + theta_coef * theta - P

    M_W = up.fast.rows + np.outer(up.flips.previous, up.pending)
    M_b, M_c = down.fast.bias + down.pending, up.fast.bias + up.pending
    W = moved(M_W, up.rates.rows, up.theta.rows, P_W[:m])[:, :n]
    b = moved(M_b, down.rates.bias, down.theta.bias, P_b)[:m]
    return RBM(W, b, moved(M_c, up.rates.bias, up.theta.bias, P_c)[:n])


def rates_of(model: Model, sampler: str) -> Statistics:
    """Return the model's rates, or refuse: without them there is nothing to be driven by."""
    if model.rates is None:
        raise BadInput(
            f"{sampler} needs the rates of the model's training set and this model file has none; "
            f"add rates.W, rates.b, rates.c (RBM.rates(data)), or choose gibbs or sample_penalization."
        )
    return model.rates
