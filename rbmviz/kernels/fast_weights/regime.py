"""Which parts hold theta_F: the newest samples as bits (a history), or the rows of M; see the package.

A kernel makes as many samples as the last ``prepare`` allows, and none if eps, alpha or the kind of
statistics has changed since (``samples_allowed``). Its caller then calls ``prepare``, which chooses the
regime for these knobs and changes to it; other knobs need no ``prepare``. Nothing here changes theta_F,
except by rounding.
"""

import math
from typing import Any

import numpy as np

from rbmviz.kernels._jit import inline, inner, private
from rbmviz.kernels.fast_weights.history import (
    CAPACITY,
    history_length_of,
    layer_history_fits,
    subtract_bias,
    subtract_product,
    subtract_rows,
)
from rbmviz.kernels.fast_weights.norm import recompute_norm
from rbmviz.kernels.fast_weights.rows import apply_pending
from rbmviz.kernels.fast_weights.state import DrivenChain, combine, half_step_fits
from rbmviz.kernels.layers import rebuild

f32 = np.float32

SMALLEST_M_COEF = 1e-6
"""Below this coefficient of M theta_F is written out, because updates of M are divided by it."""
WRITE_OUT_SAMPLES = 256
"""Samples between write-outs of theta_F, in rows."""
TRANSPOSE_SAMPLES = 16 * WRITE_OUT_SAMPLES
"""Samples between copies of ``up.M`` to ``down.M``, transposed: each rounds separately."""
UNLIMITED_SAMPLES = 2**62
"""No limit: more samples than any call makes."""


@inline
def samples_allowed(scalars, eps, alpha, mean_statistics, n):
    """Return how many of the next n samples may be made with these knobs until the next ``prepare``."""
    as_prepared = scalars.eps == eps and scalars.alpha == alpha and scalars.mean_statistics == mean_statistics
    return min(n, scalars.prepared_until - scalars.samples) if as_prepared else 0


def is_prepared(chain: DrivenChain) -> bool:
    """Return whether a regime has been chosen for the chain, perhaps for other knobs."""
    return chain.scalars["prepared_until"][0] > 0


def in_regime(chain: DrivenChain) -> tuple[Any, ...]:
    """Return v, h, up, down, rows_regime, history, scalars, stream of a chain, as the kernels take them.

    In rows, rows_regime is True and history None; in a history, rows_regime is None (not False: numba then
    compiles no line that only rows need, see ``sample``).
    """
    v, h, up, down, history, scalars, stream = chain
    if scalars["history_length"][0]:
        return v, h, up, down, None, history, scalars, stream
    return v, h, up, down, True, None, scalars, stream


def prepare(chain: DrivenChain, eps: float, alpha: float, mean_statistics: bool) -> None:
    """Choose the regime for these knobs, change the chain to it, and set how many samples it may make.

    The regime is a history if CAPACITY samples hold all weights that matter and the h in s are bits;
    otherwise rows. A history has one decay: when alpha changes, it is written into M, and a new one begins.
    """
    scalars = chain.scalars[0]
    history_length = 0 if mean_statistics else history_length_of(alpha)
    theta_coef_after = 0.0 if alpha == 1.0 else 1.0  # in rows without decay, M absorbs theta
    # Another length, another decay of a history, or rows that must absorb theta or give it back.
    if (
        history_length != scalars.history_length
        or (history_length and alpha != scalars.alpha)
        or (not history_length and theta_coef_after != scalars.theta_coef)
    ):
        _change_regime(chain, history_length, theta_coef_after)
    elif history_length:
        _continue_history(chain, eps)
    elif scalars.samples % WRITE_OUT_SAMPLES == 0 or scalars.M_coef * alpha < SMALLEST_M_COEF:
        _renew_rows(chain, theta_coef_after)
    scalars.eps, scalars.alpha, scalars.mean_statistics = eps, alpha, mean_statistics
    _choose_tracked(chain)
    allowed = _samples_until_limit(chain) if history_length else _samples_until_write_out(chain)
    scalars.prepared_until = scalars.samples + allowed


def _change_regime(chain: DrivenChain, history_length: int, theta_coef_after: float) -> None:
    """Write all of theta_F into M; begin an empty history, or none. theta_coef_after: see ``_write_out``."""
    up, down, history, scalars = chain.up, chain.down, chain.history, chain.scalars[0]
    _rebuild_untracked(chain)
    _write_out(chain, theta_coef_after)
    if scalars.history_length:
        fold_history(up, history, history.visible, history.hidden, scalars.history_length)
        fold_history(down, history, history.hidden, history.visible, scalars.history_length)
        history.weight[:] = 0.0
        scalars.absorbed_rates_coef = 0.0
    recompute_norm(up, down, chain.scalars)
    scalars.history_length, scalars.samples_since_change = history_length, 0
    if history_length and scalars.F_F == 0.0:
        scalars.M_coef = 0.0  # the norm was just recomputed: theta_F and M are 0


def _continue_history(chain: DrivenChain, eps: float) -> None:
    """Track R again if eps has changed; let M absorb theta + limit R once rates_coef is at its limit."""
    scalars = chain.scalars[0]
    if eps != scalars.eps:
        _rebuild_untracked(chain)
        scalars.samples_since_change = 0
    elif scalars.samples_since_change == scalars.history_length:  # ``prepare`` stops the kernel here
        scalars.absorbed_rates_coef += scalars.rates_coef
        _write_out(chain, 0.0)


def _renew_rows(chain: DrivenChain, theta_coef_after: float) -> None:
    """Write theta_F out into M: its parts R and M grow with opposite signs and lose precision."""
    up, down = chain.up, chain.down
    _write_out(chain, theta_coef_after)
    if chain.scalars[0].norm_followed:
        recompute_norm(up, down, chain.scalars)
    if chain.scalars[0].samples % TRANSPOSE_SAMPLES == 0:
        transpose(up.M.weights, down.M.weights, len(chain.v), len(chain.h))
        rebuild(down.M, down.flips)


def _write_out(chain: DrivenChain, theta_coef_after: float) -> None:
    """Multiply M by M_coef and let it absorb rates_coef R; then rates_coef = 0 and M_coef = 1.

    theta_coef_after: 0: M also absorbs theta; 1: it gives theta back, if it has it. M is then theta_F, or
    theta + theta_F if theta_coef_after is 0, without -P, which stays in the history.
    """
    scalars = chain.scalars[0]
    write_out(chain.up, chain.scalars, theta_coef_after)
    write_out(chain.down, chain.scalars, theta_coef_after)
    scalars.rates_coef, scalars.M_coef, scalars.theta_coef = 0.0, 1.0, theta_coef_after


def _rebuild_untracked(chain: DrivenChain) -> None:
    """Rebuild the pre-activations under theta and R that were not updated from sample to sample.

    Upwards more may have been tracked, for |theta_F|: it is rebuilt as well, so that the samples do not
    depend on whether the norm is followed.
    """
    tracked = chain.down.tracked[0]
    for half_step in (chain.up, chain.down):
        if not tracked.theta:
            rebuild(half_step.theta, half_step.flips)
        if not tracked.rates:
            rebuild(half_step.rates, half_step.flips)


def _choose_tracked(chain: DrivenChain) -> None:
    """Track theta, R or M if its coefficient is not 0 before the next ``prepare``.

    R's coefficient is 0 after a write-out but grows with the next sample, except in a history at its limit.
    If |theta_F| is followed, the upward direction also needs R and, in rows, theta.
    """
    scalars, up, down = chain.scalars[0], chain.up.tracked[0], chain.down.tracked[0]
    rows, has_rates = not scalars.history_length, scalars.R_R > 0.0
    rates_coef_moves = rows or scalars.samples_since_change < scalars.history_length
    down.theta, down.rates = scalars.theta_coef > 0.0, has_rates and rates_coef_moves
    up.theta = down.theta or (rows and scalars.norm_followed)
    up.rates = down.rates or (has_rates and scalars.norm_followed)
    up.M = down.M = scalars.M_coef > 0.0


def _samples_until_limit(chain: DrivenChain) -> int:
    """Return the samples until rates_coef reaches its limit, one history after eps changed, or no limit."""
    scalars = chain.scalars[0]
    left = int(scalars.history_length - scalars.samples_since_change)
    return left if left > 0 else UNLIMITED_SAMPLES


def _samples_until_write_out(chain: DrivenChain) -> int:
    """Return the samples until the next multiple of WRITE_OUT_SAMPLES, or until M_coef is too small."""
    scalars = chain.scalars[0]
    allowed = WRITE_OUT_SAMPLES - int(scalars.samples) % WRITE_OUT_SAMPLES
    if scalars.alpha < 1.0:
        decays = math.log(SMALLEST_M_COEF / scalars.M_coef) / math.log(max(scalars.alpha, SMALLEST_M_COEF))
        # Rounded down with a margin, so that M_coef stays above the smallest; at least 1, for alpha = 0.
        allowed = min(allowed, max(1, int(decays - 1e-9)))
    return allowed


# Writing theta_F into M, in one half-step


@inner
def transpose(weights, out, n_in, n_out):
    """Write the transpose of weights, float32 (n_in, padded n_out), to out (n_out, padded n_in)."""
    fit = weights.shape[0] == n_in and out.shape[0] == n_out
    if not (fit and weights.shape[1] >= n_out and out.shape[1] >= n_in):
        raise ValueError("transpose: the arrays do not fit each other")
    for j in range(n_out):
        for i in range(n_in):
            out[j, i] = weights[i, j]


@private
def write_row(M_coef, M, rates_coef, rates, theta_factor, theta, row):
    """M <- M_coef M + rates_coef R + theta_factor theta for one row, the bias or the value."""
    combine(M_coef, M, rates_coef, rates, theta_factor, theta, row)
    for j in range(row.shape[0]):
        M[j] = row[j]


@inner
def write_out(half_step, chain_scalars, theta_coef_after):
    """M <- M_coef M + rates_coef R + (theta_coef - theta_coef_after) theta; callers set the scalars."""
    n_in, n_out = half_step.flips.input.shape[0], half_step.units.shape[0]
    if not (half_step_fits(half_step, n_in, n_out) and chain_scalars.shape[0] == 1):
        raise ValueError("write_out: the arrays do not fit each other")
    scalars = chain_scalars[0]
    rates_coef, M_coef, theta_factor = (
        f32(scalars.rates_coef),
        f32(scalars.M_coef),
        f32(scalars.theta_coef - theta_coef_after),
    )
    theta, rates, M, row = half_step.theta, half_step.rates, half_step.M, half_step.total
    apply_pending(half_step)
    for r in range(M.weights.shape[0]):
        write_row(M_coef, M.weights[r], rates_coef, rates.weights[r], theta_factor, theta.weights[r], row)
    write_row(M_coef, M.bias, rates_coef, rates.bias, theta_factor, theta.bias, row)
    write_row(M_coef, M.value, rates_coef, rates.value, theta_factor, theta.value, row)


@inner
def fold_history(half_step, history, input_history, output_history, history_length):
    """M <- M - P; input_history, output_history: the layers of ``history`` at the ends of the half-step."""
    n_in, n_out = half_step.flips.input.shape[0], half_step.units.shape[0]
    layers = layer_history_fits(input_history, n_in) and layer_history_fits(output_history, n_out)
    if not (layers and 0 <= history_length <= CAPACITY and half_step_fits(half_step, n_in, n_out)):
        raise ValueError("fold_history: the arrays do not fit each other")
    M = half_step.M
    subtract_rows(history, input_history, output_history, history_length, M.weights)
    subtract_bias(history, output_history, history_length, M.bias)
    subtract_product(history, input_history, output_history, history_length, M.value)
