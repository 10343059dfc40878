"""What a model says of each unit of a sample, given the others: the terms of its pseudo-likelihood."""

import numpy as np

from rbmviz.kernels._jit import kernel, private
from rbmviz.kernels.annealing import UNIT_GROUP
from rbmviz.kernels.random import sigmoid
from rbmviz.kernels.vectors import WIDTH, product, total

f32, f64 = np.float32, np.float64


@kernel
def log_odds(v, units, x, W, b, beta, out):
    """Write the log odds of flips of single units at an inverse temperature.

    out[r, q] = log p(v_r with unit units[r, q] flipped) - log p(v_r), for the RBM (beta W, beta b, beta c).

    Parameters
    ----------
    v : uint8 (rows, n_visible)
        Samples of 0 and 1.
    units : int32 (rows, k)
        Units to flip.
    x : float32 (rows, n_hidden)
        c + v W.
    W : float32 (n_visible, n_hidden); b : float32 (n_visible,)
    beta : float32
        Inverse temperature.
    out : float64 (rows, k)

    ValueError if the arrays do not fit each other.
    """
    rows, n = x.shape
    fit = units.shape == out.shape and v.shape[0] == units.shape[0] == rows and b.shape[0] == v.shape[1]
    if not (fit and W.shape == (v.shape[1], n) and 0 <= units.min() and units.max() < v.shape[1]):
        raise ValueError("log_odds: the arrays do not fit each other")
    factors, terms = np.empty(UNIT_GROUP), np.empty(UNIT_GROUP)
    for r in range(rows):
        before = _softplus_sum(x[r], W[0], f32(0.0), beta, factors, terms)
        for q in range(units.shape[1]):
            i = units[r, q]
            sign = f32(1.0) - f32(2.0) * f32(v[r, i])
            after = _softplus_sum(x[r], W[i], sign, beta, factors, terms)
            out[r, q] = f64(beta) * f64(sign) * f64(b[i]) + (after - before)


@private
def _softplus_sum(x, weights, sign, beta, factors, terms):
    """Return sum_j softplus(beta (x_j + sign weights_j)) as in ``annealing``; factors, terms: work space."""
    summed = 0.0
    for first in range(0, x.shape[0], UNIT_GROUP):
        row, part = x[first : first + UNIT_GROUP], weights[first : first + UNIT_GROUP]
        for j in range(row.shape[0]):
            a = beta * (row[j] + sign * part[j])
            factors[j] = sigmoid(abs(a))
            terms[j] = max(a, f32(0.0))
        padded = -(-row.shape[0] // WIDTH) * WIDTH
        for j in range(row.shape[0], padded):
            factors[j], terms[j] = 1.0, 0.0
        summed += total(terms[:padded]) - np.log(product(factors[:padded]))
    return summed
