"""Sums of softplus over the units of a layer: parts of unnormalised log-probabilities."""

import numpy as np

from rbmviz.kernels._jit import kernel, private
from rbmviz.kernels.random import sigmoid
from rbmviz.kernels.vectors import WIDTH, product, total

f32, f64 = np.float32, np.float64

UNIT_GROUP = 512
"""Factors in [1/2, 1] that share one logarithm: their product is at least 2^-512, far from underflow."""


@kernel
def add_log_ratio(x, cold, bias_cold, warm, bias_warm, out):
    """Add sum_j softplus(cold x_rj + bias_cold_j) - softplus(warm x_rj + bias_warm_j) to out[r].

    softplus(a) = max(a, 0) - log sigmoid(|a|): the first term is summed in float64, the second takes one
    logarithm per UNIT_GROUP units.

    Parameters
    ----------
    x : float32 (rows, n)
        v W: pre-activations without bias or inverse temperature.
    cold, warm : float
        The next and the current inverse temperature, cold >= warm.
    bias_cold, bias_warm : float64 (n,)
        cold c and warm c, for the hidden biases c.
    out : float64 (rows,)
        Log weights, added to.

    ValueError if the arrays do not fit each other.
    """
    n = x.shape[1]
    if bias_cold.shape[0] != n or bias_warm.shape[0] != n or out.shape[0] != x.shape[0]:
        raise ValueError("add_log_ratio: the arrays do not fit each other")
    factors, terms = np.empty(UNIT_GROUP), np.empty(UNIT_GROUP)
    for r in range(x.shape[0]):
        at_cold = _softplus_sum(x[r], cold, bias_cold, factors, terms)
        out[r] += at_cold - _softplus_sum(x[r], warm, bias_warm, factors, terms)


@private
def _softplus_sum(x, scale, bias, factors, terms):
    """Return sum_j softplus(scale x_j + bias_j); factors, terms float64 (UNIT_GROUP,): work space."""
    summed = 0.0
    for first in range(0, x.shape[0], UNIT_GROUP):
        row, own = x[first : first + UNIT_GROUP], bias[first : first + UNIT_GROUP]
        for j in range(row.shape[0]):
            a = scale * f64(row[j]) + own[j]
            factors[j] = sigmoid(f32(abs(a)))
            terms[j] = max(a, 0.0)
        padded = -(-row.shape[0] // WIDTH) * WIDTH
        for j in range(row.shape[0], padded):
            factors[j], terms[j] = 1.0, 0.0
        summed += total(terms[:padded]) - np.log(product(factors[:padded]))
    return summed


@kernel
def add_softplus(x, bias, y, out):
    """Add sum_j softplus(x_rj + bias_j) - y_rj x_rj to out[r].

    With y of 0 and 1 drawn from these pre-activations, that is -log prod_j Bernoulli(y_j) without the part of
    the bias. The logarithm is taken of products of sigmoids, as in ``add_log_ratio``; relative error 2e-7.

    x, y float32 (rows, n); bias float32 (n,); out float64 (rows,). ValueError if the arrays do not fit.
    """
    n = x.shape[1]
    if bias.shape[0] != n or y.shape != x.shape or out.shape[0] != x.shape[0]:
        raise ValueError("add_softplus: the arrays do not fit each other")
    padded = -(-UNIT_GROUP // WIDTH) * WIDTH
    factors, terms = np.empty(padded), np.empty(padded)
    for r in range(x.shape[0]):
        for first in range(0, n, UNIT_GROUP):
            width = min(UNIT_GROUP, n - first)
            row, own, ones = (
                x[r, first : first + width],
                bias[first : first + width],
                y[r, first : first + width],
            )
            for j in range(width):
                a = row[j] + own[j]
                factors[j] = sigmoid(abs(a))
                terms[j] = f64(max(a, f32(0.0))) - f64(ones[j]) * f64(row[j])
            for j in range(width, padded):
                factors[j], terms[j] = 1.0, 0.0
            out[r] += total(terms) - np.log(product(factors))
