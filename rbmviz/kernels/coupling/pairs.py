"""Pairs of coupled chains, one after another, each until it meets or is cut off: one loop for all callers.

``rbmviz.couple`` and the trainer UCD run all pairs in one call and need sums; the Coupling page runs a few
sweeps per call and needs a few numbers per pair.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inner
from rbmviz.kernels.coupling.state import (
    chains_fit,
    copy_chain,
    layer_sizes,
    reset_to_bias,
    start_chains,
    streams_fit,
)
from rbmviz.kernels.coupling.statistics import (
    add_difference,
    add_statistics,
    add_watched_statistics,
    flush,
    record_distance,
    sums_fit,
    watch_fits,
)
from rbmviz.kernels.coupling.sweep import sweep
from rbmviz.kernels.layers import REBUILD_SWEEPS
from rbmviz.kernels.records import new_record, structured

i64 = np.int64


class PairSetup(NamedTuple):
    """How pairs are run. "rbm" sets ``common`` only, "general" no flag, "half_step" both."""

    lag: int  # sweeps that the first chain runs ahead, at least 1
    k: int  # the estimate begins with f(xi_k), at least 1
    max_sweeps: int  # above lag; pairs that have not met by then are cut off
    common: bool  # algorithm 3, else algorithm 1
    half_steps: bool  # h is coupled maximally as well
    max_proposals: int  # residual proposals after which a loop is given up


class PairOutcomes(NamedTuple):
    """How pairs ended, one row per pair; the current pair has its counts so far and no ``tau`` yet."""

    tau: np.ndarray  # int64 (pairs,): smallest t > lag with xi_t = eta_{t - lag}, or max_sweeps
    rejected: np.ndarray  # int64 (pairs, 2): residual proposals rejected by each chain
    truncated: np.ndarray  # bool (pairs,): whether the pair had not met at max_sweeps
    loops_given_up: np.ndarray  # int64 (pairs,): residual loops given up


@structured
class PairProgress:
    """Progress of ``run_pairs``."""

    pair: int  # current pair; the number of pairs when all have ended
    t: int  # sweeps of its first chain; 0 before the pair begins
    next_time: int  # index of the next watched time


def make_progress() -> np.ndarray:
    """Return the progress before the first pair, PairProgress (1,)."""
    return new_record(PairProgress)


def make_outcomes(pairs: int) -> PairOutcomes:
    """Return zeros for the outcomes of ``pairs`` pairs; they take memory only as they are written."""
    tau, rejected = np.zeros(pairs, np.int64), np.zeros((pairs, 2), np.int64)
    return PairOutcomes(tau, rejected, np.zeros(pairs, np.bool_), np.zeros(pairs, np.int64))


@inner
def run_pairs(chains, v0, streams, setup, sweeps, progress, outcomes, sums, watched):
    """Run pairs one after another, from ``progress`` on, for about ``sweeps`` sweeps; return the number done.

    Each pair starts both chains at its row of v0 and has its own random stream. The first chain runs ``lag``
    sweeps ahead; then both run jointly until xi_t = eta_{t - lag} or t = max_sweeps. With lag 1, ``sums`` and
    ``watched`` receive the pair's estimate (UCD, section 3.1)

        f(xi_k) + sum_{t=k+1}^{tau-1} [f(xi_t) - f(eta_{t-1})],    f = (v E[h|v]', v, E[h|v]).

    Section 4 has E[v|h] and the drawn h; the authors' C++ program averages both conditionals, and their
    Python demo has the f here. All are unbiased.

    The sum of a pair that is cut off goes up to t = max_sweeps. The paper's algorithm 1 (line 4: "or t >=
    T_max") declares the chains equal there, and its sum ends one term earlier. Either way such pairs are
    biased.

    The first ``lag`` sweeps count, but are not interrupted. If a pair ends before k, xi goes on alone up to
    k; these sweeps are not interrupted either, and not counted.

    Parameters
    ----------
    chains : CoupledChains
        The current pair. Once they have met, both chains hold the state they met in.
    v0 : uint8 (pairs, n_visible)
        Starts, 0 or 1.
    streams : uint32 (pairs or more, 4, UNIFORM_LANES)
    setup : PairSetup
    sweeps : int
        Sweeps of the first chain after which the call returns.
    progress : PairProgress (1,)
    outcomes, sums, watched : PairOutcomes, PairSums, WatchedPairs
        Counts, estimates and watched numbers are added to them; complete when every pair has ended.

    ValueError if the arrays do not fit each other. ``chains``, ``streams`` and ``progress`` advance in place.
    """
    lag, pairs, totals = setup.lag, v0.shape[0], sums.W.shape[0]
    m, n = layer_sizes(chains)
    fit = chains_fit(chains) and v0.shape[1] == m and streams_fit(streams, pairs)
    fit = fit and outcomes.tau.shape[0] >= pairs and outcomes.truncated.shape[0] >= pairs
    fit = fit and outcomes.rejected.shape[0] >= pairs and outcomes.rejected.shape[1] == 2
    fit = fit and outcomes.loops_given_up.shape[0] >= pairs
    fit = fit and sums_fit(sums, pairs, m, n, chains.h.bias.shape[0])
    fit = fit and watch_fits(watched, pairs, m, n)
    fit = fit and progress.shape[0] == 1 and progress[0].pair >= 0
    if not (fit and progress[0].t >= 0 and progress[0].next_time >= 0):
        raise ValueError("run_pairs: the arrays do not fit each other")
    watching = watched.cd_estimate.shape[0] > 0
    estimate = lag == 1 and (totals > 0 or watching)
    k = setup.k if estimate else i64(0)
    # The loop is not split: with a function per estimate numba compiles a second longer.
    swept, current = 0, progress[0]
    while swept < sweeps and current.pair < pairs:
        i, t, t_before, tau = current.pair, current.t, current.t, i64(0)
        row, met, ended = min(i, totals - 1), False, False  # row of the sums, or -1
        pause_at = max(lag, t + sweeps - swept)
        if t == 0:
            start_chains(chains, v0[i])  # (A2, 3) xi_0 = eta_0
            t, current.next_time = i64(-1), 0  # the first sweep only draws h_0
        while t < (k if ended else pause_at):
            # (A2, 2) draws h_0; (A1, 1) moves xi alone until it is lag sweeps ahead; (A1, 2) moves both.
            n_moving = i64(0) if t < 0 else i64(1) if t < lag or ended else i64(2)
            # This is sweep t + 1. Half steps couple h from sweep ``lag`` on; eta's v first moves at lag + 1.
            couple_hidden = setup.half_steps and t + 1 >= lag and not ended
            outcome = sweep(chains, n_moving, setup.common, couple_hidden, setup.max_proposals, streams[i])
            t += 1
            outcomes.rejected[i, 0] += outcome.rejected
            outcomes.rejected[i, 1] += outcome.rejected2
            outcomes.loops_given_up[i] += outcome.loops_given_up
            if n_moving == 2:
                met, tau = outcome.met, t
                ended = met or t >= setup.max_sweeps
            # tau is 0 before the first joint sweep, then t, until the pair has ended and xi moves alone.
            if watching and t >= lag and (tau == 0 or tau == t):
                record_distance(chains.v, t, current, watched.times, watched.distances[i])
            v, p = chains.v.bits, chains.h.mean
            if estimate and t == k:  # (A2, 4) f(xi_k)
                if totals:
                    add_statistics(v[0], p[0], sums.buffer, sums.W[row], sums.b[row], sums.c[row])
                if watching:
                    add_watched_statistics(v[0], p[0], m, n, watched.unit, 1.0, watched.cd_estimate[i])
                    add_watched_statistics(v[0], p[0], m, n, watched.unit, 1.0, watched.unbiased[i])
            elif estimate and t > k and not met:  # (A2, 4) f(xi_t) - f(eta_{t-1})
                if totals:
                    add_difference(v[0], p[0], v[1], p[1], sums.buffer, sums.W[row], sums.b[row], sums.c[row])
                if watching:
                    add_watched_statistics(v[0], p[0], m, n, watched.unit, 1.0, watched.unbiased[i])
                    add_watched_statistics(v[1], p[1], m, n, watched.unit, -1.0, watched.unbiased[i])
            if t and t % REBUILD_SWEEPS == 0:
                reset_to_bias(chains.v)
                reset_to_bias(chains.h)
        if not ended:
            current.t = t
            return swept + t - t_before
        swept += tau - t_before  # sweeps of xi alone after tau are not counted
        outcomes.tau[i], outcomes.truncated[i] = tau, not met
        if met:
            # The second chain is still where they met; the first may have gone on to k.
            copy_chain(chains, i64(1), i64(0))
        current.pair += 1
        current.t = 0
        if totals > 1 or (totals == 1 and current.pair == pairs):
            flush(sums.buffer, sums.W[row])
    return swept
