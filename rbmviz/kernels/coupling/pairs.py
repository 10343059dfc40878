"""Pairs of coupled chains, one after another, each until it meets or is cut off: one loop for all callers.

``rbmviz.couple`` and the trainer UCD run all pairs in one call and need sums; the Coupling page runs a few
sweeps per call and needs a few numbers of each pair.
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
from rbmviz.kernels.records import new_record, record

i64 = np.int64


class PairSetup(NamedTuple):
    """How pairs are run.

    Parameters
    ----------
    lag : int
        Sweeps that the first chain runs ahead, at least 1.
    k : int
        The estimate begins with f(xi_k); at least 1.
    max_sweeps : int
        Larger than ``lag``. Pairs that have not met after so many sweeps are cut off.
    common : bool
        Algorithm 3, else algorithm 1; see the module ``sweep``.
    half_steps : bool
        Half-step coupling: h is coupled maximally, too; see the module ``sweep``. Of the algorithms by name
        "rbm" has ``common`` only, "general" neither, "half_step" both.
    max_proposals : int
        Residual proposals after which a loop is given up; with ``half_steps`` a sweep may have two loops.
    """

    lag: int
    k: int
    max_sweeps: int
    common: bool
    half_steps: bool
    max_proposals: int


class PairOutcomes(NamedTuple):
    """How pairs ended, one row per pair. The current pair has only its counts so far, and no ``tau`` yet.

    Counts are added to: rows of pairs that have not begun are 0, as ``make_outcomes`` makes them.

    Parameters
    ----------
    tau : int64 (pairs,)
        Smallest t > lag with xi_t = eta_{t - lag}, or max_sweeps.
    rejected : int64 (pairs, 2)
        Residual proposals that the first and the second chain rejected.
    truncated : bool (pairs,)
        Whether the pair had not met at max_sweeps.
    loops_given_up : int64 (pairs,)
        Residual loops that were given up.
    """

    tau: np.ndarray
    rejected: np.ndarray
    truncated: np.ndarray
    loops_given_up: np.ndarray


@record
class PairProgress:
    """How far ``run_pairs`` has come.

    Parameters
    ----------
    pair : int
        The current pair; the number of pairs when all have ended.
    t : int
        Sweeps of its first chain; 0 before the pair begins.
    next_time : int
        Index of the next of the watched times.
    """

    pair: int
    t: int
    next_time: int


def make_progress() -> np.ndarray:
    """Return the progress before the first pair, PairProgress (1,), which ``run_pairs`` changes."""
    return new_record(PairProgress)


def make_outcomes(pairs: int) -> PairOutcomes:
    """Return zeros for the outcomes of ``pairs`` pairs; they take no memory before they are written."""
    tau, rejected = np.zeros(pairs, np.int64), np.zeros((pairs, 2), np.int64)
    return PairOutcomes(tau, rejected, np.zeros(pairs, np.bool_), np.zeros(pairs, np.int64))


@inner
def run_pairs(chains, v0, streams, setup, sweeps, progress, outcomes, sums, watched):
    """Run pairs one after another, from ``progress`` on, for about ``sweeps`` sweeps; return the number done.

    Each pair starts both chains at its row of v0 and has a random stream of its own. The first chain runs
    ``lag`` sweeps ahead; then both run jointly until xi_t = eta_{t - lag}, or t = max_sweeps. If sums or
    watched numbers are wanted and the lag is 1, they receive the pair's estimate (UCD, section 3.1)

        f(xi_k) + sum_{t=k+1}^{tau-1} [f(xi_t) - f(eta_{t-1})],    f = (v E[h|v]', v, E[h|v]).

    This f is that of the authors' program; section 4 has E[v|h] and the drawn h, which is unbiased, too.

    The sum of a pair that is cut off goes up to t = max_sweeps, as it has not met by then. The paper's
    algorithm 1 (line 4: "or t >= T_max") declares the chains equal there, and its sum ends one term earlier.
    Pairs that are cut off are biased in either case.

    The first ``lag`` sweeps are done without interruption, and counted. If a pair ends before k, xi goes on
    alone up to k, without interruption, too; these sweeps are not counted.

    Parameters
    ----------
    chains : CoupledChains
        The current pair. After a meeting both chains have the state in which they met.
    v0 : uint8 (pairs, n_visible)
        Starts, 0 or 1.
    streams : uint32 (pairs or more, 4, UNIFORM_LANES)
        Random streams, advanced in place.
    setup : PairSetup
    sweeps : int
        Sweeps of the first chain after which the call returns.
    progress : PairProgress (1,)
        Advanced in place.
    outcomes : PairOutcomes
        Receives how each pair ended; counts are added to what it holds.
    sums : PairSums
        The estimates are added to it; complete when every pair has ended.
    watched : WatchedPairs
        What is watched is added to it.

    Raises
    ------
    ValueError
        If the arrays do not fit each other.
    """
    lag, pairs, totals = setup.lag, v0.shape[0], sums.W.shape[0]
    n_visible, n_hidden = layer_sizes(chains)
    fit = chains_fit(chains) and v0.shape[1] == n_visible and streams_fit(streams, pairs)
    fit = fit and outcomes.tau.shape[0] >= pairs and outcomes.truncated.shape[0] >= pairs
    fit = fit and outcomes.rejected.shape[0] >= pairs and outcomes.rejected.shape[1] == 2
    fit = fit and outcomes.loops_given_up.shape[0] >= pairs
    fit = fit and sums_fit(sums, pairs, n_visible, n_hidden, chains.h.bias.shape[0])
    fit = fit and watch_fits(watched, pairs, n_visible, n_hidden)
    fit = fit and progress.shape[0] == 1 and progress[0].pair >= 0
    if not (fit and progress[0].t >= 0 and progress[0].next_time >= 0):
        raise ValueError("run_pairs: the arrays do not fit each other")
    watching = watched.cd_estimate.shape[0] > 0
    estimate = lag == 1 and (totals > 0 or watching)
    k = setup.k if estimate else i64(0)
    # The loop is not split into functions: with one for each estimate numba compiles a second longer.
    swept, current = 0, progress[0]
    while swept < sweeps and current.pair < pairs:
        i, t, t_before, tau = current.pair, current.t, current.t, i64(0)
        row, met, ended = min(i, totals - 1), False, False  # row: of the sums; -1 if there are none
        pause_at = max(lag, t + sweeps - swept)
        if t == 0:
            start_chains(chains, v0[i])  # (A2, 3) xi_0 = eta_0
            t, current.next_time = i64(-1), 0  # the first sweep only draws h_0
        while t < (k if ended else pause_at):
            # (A2, 2) draws h_0; (A1, 1) moves xi alone until it is lag sweeps ahead; (A1, 2) moves both.
            n_moving = i64(0) if t < 0 else i64(1) if t < lag or ended else i64(2)
            # This is sweep t + 1. Half steps couple h from sweep ``lag`` on; v of eta moves first at lag + 1.
            couple_hidden = setup.half_steps and t + 1 >= lag and not ended
            found = sweep(chains, n_moving, setup.common, couple_hidden, setup.max_proposals, streams[i])
            t += 1
            outcomes.rejected[i, 0] += found.rejected
            outcomes.rejected[i, 1] += found.rejected2
            outcomes.loops_given_up[i] += found.loops_given_up
            if n_moving == 2:
                met, tau = found.met, t
                ended = met or t >= setup.max_sweeps
            # tau is 0 before the first joint sweep, and then t, until the pair has ended and xi moves alone.
            if watching and t >= lag and (tau == 0 or tau == t):
                record_distance(chains.v, t, current, watched.times, watched.distances[i])
            v, p = chains.v.bits, chains.h.mean
            if estimate and t == k:  # (A2, 4) f(xi_k)
                if totals:
                    add_statistics(v[0], p[0], sums.buffer, sums.W[row], sums.b[row], sums.c[row])
                if watching:
                    add_watched_statistics(
                        v[0], p[0], n_visible, n_hidden, watched.unit, 1.0, watched.cd_estimate[i]
                    )
                    add_watched_statistics(
                        v[0], p[0], n_visible, n_hidden, watched.unit, 1.0, watched.unbiased[i]
                    )
            elif estimate and t > k and not met:  # (A2, 4) f(xi_t) - f(eta_{t-1})
                if totals:
                    add_difference(v[0], p[0], v[1], p[1], sums.buffer, sums.W[row], sums.b[row], sums.c[row])
                if watching:
                    add_watched_statistics(
                        v[0], p[0], n_visible, n_hidden, watched.unit, 1.0, watched.unbiased[i]
                    )
                    add_watched_statistics(
                        v[1], p[1], n_visible, n_hidden, watched.unit, -1.0, watched.unbiased[i]
                    )
            if t and t % REBUILD_SWEEPS == 0:
                reset_to_bias(chains.v)
                reset_to_bias(chains.h)
        if not ended:
            current.t = t
            return swept + t - t_before
        swept += tau - t_before  # what xi has done alone after tau is not counted
        outcomes.tau[i], outcomes.truncated[i] = tau, not met
        if met:
            # The second chain stays where they met; the first may have gone on to k.
            copy_chain(chains, i64(1), i64(0))
        current.pair += 1
        current.t = 0
        if totals > 1 or (totals == 1 and current.pair == pairs):
            flush(sums.buffer, sums.W[row])
    return swept
