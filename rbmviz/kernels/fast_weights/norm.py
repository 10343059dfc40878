"""|theta_F| of a driven chain, from one sample to the next without a pass over M.

With F = theta_F, already decayed (``decay`` also scales F_F, F_R and the weights of P), and s = (v h', v, h),
the step F <- F + eps (R - s) changes

    |F|^2  by  2 eps (<F, R> - <F, s>) + eps^2 |R - s|^2,
    <F, R> by  eps (|R|^2 - <R, s>),

where <F, s> and <R, s> follow from the pre-activations at v: for parameters (W, b, c) with the
pre-activations a = c + v @ W, <(W, b, c), s> is ``a @ h + b @ v``.
"""

import numpy as np

from rbmviz.kernels._jit import inner, private
from rbmviz.kernels.fast_weights.history import product_with_state
from rbmviz.kernels.fast_weights.rows import add_scaled
from rbmviz.kernels.fast_weights.state import combine, half_step_fits
from rbmviz.kernels.vectors import dot

f32 = np.float32


@private
def advance_norm(up, down, history, h_h, scalars, eps):
    """Advance |theta_F|^2 and <theta_F, R> by theta_F += eps (R - s), after its decay; h_h is <h, h> of s."""
    M_coef, theta_part = f32(scalars.M_coef), f32(scalars.theta_coef - 1.0)
    # theta_F = rates_coef R + M_coef M + (theta_coef - 1) theta - P. Where M has absorbed theta in a history,
    # M = theta + absorbed_rates_coef R, so that theta_F = all_of_R R - P; elsewhere all_of_R is rates_coef.
    all_of_R = f32(scalars.absorbed_rates_coef + scalars.rates_coef)
    if history is not None:
        if scalars.theta_coef == 0.0:
            M_coef, theta_part = f32(0.0), f32(0.0)
    up_F, down_F = up.total, down.total
    combine(M_coef, up.M.value, all_of_R, up.rates.value, theta_part, up.theta.value, up_F)
    combine(M_coef, down.M.bias, all_of_R, down.rates.bias, theta_part, down.theta.bias, down_F)
    add_scaled(down_F, M_coef, down.pending)
    F_s = dot(up_F, up.units) + dot(down_F, down.units)
    if history is not None:
        F_s -= product_with_state(history, scalars.history_length)
    R_s = dot(up.rates.value, up.units) + dot(down.rates.bias, down.units)
    n_active = up.flips.counts[0].active
    s_s = n_active * h_h + n_active + h_h
    R_R = scalars.R_R
    scalars.F_F += 2.0 * eps * (scalars.F_R - F_s) + eps * eps * (R_R - 2.0 * R_s + s_s)
    scalars.F_R += eps * (R_R - R_s)


@private
def add_norm(M, rates, theta, theta_coef, row, scalars):
    """Add one row or bias to <F, F> and <F, R>, where F = M - (1 - theta_coef) theta; ``row``: work space."""
    combine(f32(1.0), M, f32(0.0), rates, f32(theta_coef - 1.0), theta, row)
    scalars.F_F += dot(row, row)
    scalars.F_R += dot(row, rates)


@inner
def recompute_norm(up, down, chain_scalars):
    """Recompute |theta_F|^2 and <theta_F, R> from M of ``up`` and both biases.

    Valid only where M holds all of theta_F, alone or with theta: after a write-out (rates_coef = 0, M_coef =
    1, nothing pending), without a history or after it is folded in. In a history M lacks -P.
    """
    m, n = up.flips.input.shape[0], down.flips.input.shape[0]
    if not (half_step_fits(up, m, n) and half_step_fits(down, n, m) and chain_scalars.shape[0] == 1):
        raise ValueError("recompute_norm: the arrays do not fit each other")
    scalars = chain_scalars[0]
    theta_coef = scalars.theta_coef
    scalars.F_F = 0.0
    scalars.F_R = 0.0
    theta, rates, M = up.theta.weights, up.rates.weights, up.M.weights
    for r in range(M.shape[0]):
        add_norm(M[r], rates[r], theta[r], theta_coef, up.total, scalars)
    add_norm(up.M.bias, up.rates.bias, up.theta.bias, theta_coef, up.total, scalars)
    add_norm(down.M.bias, down.rates.bias, down.theta.bias, theta_coef, down.total, scalars)
