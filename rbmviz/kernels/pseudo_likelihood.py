"""What a model says of each unit of a sample, given the others: the terms of its pseudo-likelihood."""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.annealing import UNIT_GROUP, softplus_sum

f64 = np.float64


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
    factors, terms, shift = np.empty(UNIT_GROUP), np.empty(UNIT_GROUP), np.zeros(n)
    for r in range(rows):
        for j in range(n):
            shift[j] = 0.0
        before = softplus_sum(x[r], f64(beta), shift, factors, terms)
        for q in range(units.shape[1]):
            i = units[r, q]
            sign = 1.0 - 2.0 * v[r, i]
            for j in range(n):
                shift[j] = sign * W[i, j]
            after = softplus_sum(x[r], f64(beta), shift, factors, terms)
            out[r, q] = f64(beta) * sign * f64(b[i]) + (after - before)
