"""The algorithms: rates-FPCD and sample penalization (``driven_gibbs``), rates-herding (``herding``).

The kernels run within one regime, and return when the chain has to be prepared again (see ``regime``);
``sample_chain`` and ``climb_chain`` prepare it and call them until all samples are done.

Each kernel is compiled once per regime, when the regime is first needed. Either ``rows_regime`` (True) or
``history`` is None: for the type None numba drops the block under ``if history is not None``. For any other
type it keeps the test, and would also compile an ``else``, where the types are wrong. Hence two ``if`` and no
``else``.
"""

from typing import Any

import numpy as np

from rbmviz.kernels._jit import inner, private
from rbmviz.kernels.fast_weights.history import append, decay_weights, subtract_product, update_overlaps
from rbmviz.kernels.fast_weights.norm import advance_norm
from rbmviz.kernels.fast_weights.regime import (
    SMALLEST_M_COEF,
    in_regime,
    is_prepared,
    prepare,
    samples_allowed,
)
from rbmviz.kernels.fast_weights.rows import update_rows, update_with_pending
from rbmviz.kernels.fast_weights.state import DrivenChain, chain_fits, combine
from rbmviz.kernels.layers import REBUILD_SWEEPS, copy_bits, find_flips, update_preactivations
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid
from rbmviz.kernels.vectors import dot

f32 = np.float32


def sample_chain(
    chain: DrivenChain, n: int, eps: float, alpha: float, mean_statistics: bool, k: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Draw n samples of k sweeps each, with theta_F <- alpha theta_F + eps (R - s) after each.

    Returns the samples v uint8 (n, n_visible), the means p float32 they were drawn from, and traces:
    sweeps and, if it is followed, |theta_F|. With ``mean_statistics`` the h in s are means.
    """
    p = np.empty((n, len(chain.v)), np.float32)
    v, norm = _run(chain, driven_gibbs, (eps, alpha, mean_statistics), (k,), p)
    return v, p, {"sweeps": np.full(n, k)} | norm


def climb_chain(
    chain: DrivenChain, n: int, eps: float, alpha: float, max_sweeps: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Draw n samples of rates-herding, with theta_F <- alpha theta_F + eps (R - s) after each.

    From the previous sample the chain climbs under theta + theta_F to a fixed point of the package's (1) and
    (2), or for max_sweeps sweeps. Returns v uint8 (n, n_visible), the same as means, and their traces.
    """
    sweeps = np.empty(n, np.int64)
    v, norm = _run(chain, herding, (eps, alpha, False), (max_sweeps,), sweeps)
    return v, v.astype(f32), {"sweeps": sweeps} | norm


def _run(
    chain: DrivenChain, kernel: Any, knobs: tuple[float, float, bool], most: tuple[int], out: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw len(out) samples; return them, and if it is followed |theta_F| after each, float64."""
    v, fast_norm, done = np.empty((len(out), len(chain.v)), np.uint8), np.empty(len(out)), 0
    taken = knobs if kernel is driven_gibbs else knobs[:2]
    while done < len(out):
        if is_prepared(chain):
            done += kernel(*in_regime(chain), *taken, *most, v[done:], out[done:], fast_norm[done:])
        if done < len(out):
            prepare(chain, *knobs)
    return v, {"fast_norm": fast_norm} if chain.scalars[0].norm_followed else {}


@inner
def driven_gibbs(
    v, h, up, down, rows_regime, history, chain_scalars, stream, eps, alpha, mean_statistics, k,
    out_v, out_p, out_fast_norm
):  # fmt: skip
    """Emit samples of rates-FPCD, or of sample penalization if the rates are 0; return how many.

    The first eight arguments come from ``in_regime``. It makes out_v.shape[0] samples, or fewer if the chain
    must be prepared again. Per sample: k >= 1 Gibbs sweeps under theta + theta_F, then the update of theta_F
    with the last (v, h), or (v, E[h|v]) if ``mean_statistics``.
    """
    fit = chain_fits(v, h, up, down, rows_regime, history, chain_scalars, out_v, out_fast_norm)
    if not (fit and out_p.shape == out_v.shape and stream.shape == (4, STREAM_LANES)):
        raise ValueError("driven_gibbs: the arrays do not fit each other")
    scalars = chain_scalars[0]
    hidden, visible = up.units, down.units
    v_history = h_history = None
    if history is not None:
        v_history, h_history = history.visible, history.hidden
    n = samples_allowed(scalars, eps, alpha, mean_statistics, out_v.shape[0])
    for t in range(n):
        mean_v = out_p[t]
        for _ in range(k):
            # (1) sample h ~ p(h | v; theta + theta_F)
            preactivate(up, history, v_history, h_history, scalars)
            sigmoids(up.total, hidden)
            bernoulli(stream, hidden, h)
            update_half_step(down, rows_regime, h_history, h, scalars)
            # (2) sample v ~ p(v | h; theta + theta_F)
            preactivate(down, history, h_history, v_history, scalars)
            sigmoids(down.total, mean_v)
            bernoulli(stream, mean_v, v)
            update_half_step(up, rows_regime, v_history, v, scalars)
            scalars.sweeps += 1
        # (3) emit v
        copy_bits(v, out_v[t])
        write_units(rows_regime, scalars, v, h, visible, hidden)
        if rows_regime is not None:
            if mean_statistics:
                preactivate(up, history, v_history, h_history, scalars)
                sigmoids(up.total, hidden)
        # (4) theta_F <- alpha theta_F + eps (R - s)
        out_fast_norm[t] = update_fast_weights(
            up, down, rows_regime, history, v, h, scalars, eps, alpha, mean_statistics
        )
    return n


@inner
def herding(
    v, h, up, down, rows_regime, history, chain_scalars, stream, eps, alpha, max_sweeps,
    out_v, out_sweeps, out_fast_norm
):  # fmt: skip
    """Emit samples of rates-herding, without random numbers; return how many.

    The arguments are as for ``driven_gibbs``; the random stream is not used. Per sample: h and v are
    maximised in turn under theta + theta_F until v no longer changes, or for max_sweeps; then theta_F is
    updated with (v, h).
    """
    fit = chain_fits(v, h, up, down, rows_regime, history, chain_scalars, out_v, out_fast_norm)
    if not (fit and out_sweeps.shape[0] == out_v.shape[0]):
        raise ValueError("herding: the arrays do not fit each other")
    scalars = chain_scalars[0]
    v_history = h_history = None
    if history is not None:
        v_history, h_history = history.visible, history.hidden
    # Always False, as eps is never negative. For the literal False numba would compile every callee again.
    mean_statistics = eps < 0.0
    n = samples_allowed(scalars, eps, alpha, mean_statistics, out_v.shape[0])
    for t in range(n):
        sweeps, changed = 0, True
        while changed and sweeps < max_sweeps:
            # (1) h <- argmax p(h | v; theta + theta_F)
            preactivate(up, history, v_history, h_history, scalars)
            maximise(up.total, h)
            update_half_step(down, rows_regime, h_history, h, scalars)
            # (2) v <- argmax p(v | h; theta + theta_F)
            preactivate(down, history, h_history, v_history, scalars)
            changed = maximise(down.total, v)
            update_half_step(up, rows_regime, v_history, v, scalars)
            scalars.sweeps += 1
            sweeps += 1
        # (3) emit v
        copy_bits(v, out_v[t])
        out_sweeps[t] = sweeps
        write_units(rows_regime, scalars, v, h, down.units, up.units)
        # (4) theta_F <- alpha theta_F + eps (R - s)
        out_fast_norm[t] = update_fast_weights(
            up, down, rows_regime, history, v, h, scalars, eps, alpha, mean_statistics
        )
    return n


# Lines (1) and (2): the pre-activations under theta + theta_F


@private
def update_half_step(half_step, rows_regime, input_history, x, scalars):
    """Update the tracked pre-activations of a half-step and the history's overlaps for the input x."""
    force_rebuild, tracked = scalars.sweeps % REBUILD_SWEEPS == 0, half_step.tracked[0]
    find_flips(half_step.flips, x)
    if rows_regime is not None:
        update_with_pending(half_step, force_rebuild)
    if input_history is not None:
        if tracked.M:
            update_preactivations(half_step.M, half_step.flips, force_rebuild)
    if tracked.rates:
        update_preactivations(half_step.rates, half_step.flips, force_rebuild)
    if tracked.theta:
        update_preactivations(half_step.theta, half_step.flips, force_rebuild)
    if input_history is not None:
        update_overlaps(input_history, x, scalars.history_length)


@private
def preactivate(half_step, history, input_history, output_history, scalars):
    """Write the pre-activations under theta + theta_F into ``total``; the histories are None in rows."""
    rates_coef, M_coef, theta_coef = (f32(scalars.rates_coef), f32(scalars.M_coef), f32(scalars.theta_coef))
    theta, rates, M = half_step.theta.value, half_step.rates.value, half_step.M.value
    combine(M_coef, M, rates_coef, rates, theta_coef, theta, half_step.total)
    if history is not None:
        subtract_product(history, input_history, output_history, scalars.history_length, half_step.total)


@private
def sigmoids(total, out):
    """Write the means for the pre-activations ``total`` into out."""
    for i in range(out.shape[0]):
        out[i] = sigmoid(total[i])


@private
def maximise(total, out):
    """Set out to 1 where the pre-activation is above 0, else 0; return whether any unit changed."""
    changed = False
    for i in range(out.shape[0]):
        bit = np.uint8(total[i] > f32(0.0))
        changed |= bit != out[i]
        out[i] = bit
    return changed


# Line (4): theta_F <- alpha theta_F + eps (R - s)


@private
def update_fast_weights(up, down, rows_regime, history, v, h, scalars, eps, alpha, mean_statistics):
    """Advance theta_F by one emitted sample, and return its norm, NaN unless it is followed.

    s are the statistics of ``down.units`` (v) and ``up.units`` (h, or its means if ``mean_statistics``). The
    pre-activations of ``up`` belong to v, and of ``down`` to the sampled h, before and after the update.
    """
    decay(rows_regime, history, scalars, alpha)
    # Inner products of the h in s with the sampled h and with itself: for bits, the number of active units.
    h_sampled_h = h_h = np.float64(down.flips.counts[0].active)
    if rows_regime is not None:
        if mean_statistics:
            as_float(h, up.total)  # free until the next sweep: holds the sampled h here
            h_sampled_h, h_h = dot(up.total, up.units), dot(up.units, up.units)
    if eps > 0.0:
        if scalars.norm_followed:
            advance_norm(up, down, history, h_h, scalars, eps)
        scalars.rates_coef += eps
        if rows_regime is not None:
            update_rows(up, down, h_sampled_h, f32(-eps / scalars.M_coef), mean_statistics)
    if history is not None:
        append(history, v, h, eps, scalars.samples, scalars.history_length)
        scalars.samples_since_change += 1  # since the history began or eps changed
        if scalars.samples_since_change > scalars.history_length:
            scalars.rates_coef = 0.0  # M has absorbed the limit; the rest is rounding
    scalars.samples += 1
    return np.sqrt(max(scalars.F_F, 0.0)) if scalars.norm_followed else np.nan


@private
def decay(rows_regime, history, scalars, alpha):
    """theta_F <- alpha theta_F.

    In rows M_coef stays positive, because updates divide by it: an alpha below SMALLEST_M_COEF, such as 0,
    multiplies M by SMALLEST_M_COEF, and that share of M remains. In a history M stops decaying when it has
    absorbed theta (theta_coef = 0). Then M = theta + absorbed R and theta_F = (absorbed + rates_coef) R - P:
    the sum of both coefficients decays, and as M stays, only rates_coef changes.
    """
    absorbed = scalars.absorbed_rates_coef
    scalars.rates_coef = alpha * (absorbed + scalars.rates_coef) - absorbed
    if rows_regime is not None:
        scalars.M_coef *= max(alpha, SMALLEST_M_COEF)
    if history is not None:
        if scalars.theta_coef > 0.0:
            scalars.M_coef *= alpha
        decay_weights(history, alpha, scalars.history_length)
    scalars.F_F *= alpha * alpha
    scalars.F_R *= alpha


@private
def write_units(rows_regime, scalars, v, h, visible, hidden):
    """Write v and h as 0.0 and 1.0, if rows or the norm will read them."""
    read = scalars.norm_followed
    if rows_regime is not None:
        read = True
    if read:
        as_float(v, visible)
        as_float(h, hidden)


@private
def as_float(bits, out):
    """Write the bits as 0.0 and 1.0."""
    for i in range(bits.shape[0]):
        out[i] = f32(bits[i])
