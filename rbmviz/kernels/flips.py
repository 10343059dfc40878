"""What the model says of every unit of a sample, given the others: the terms of its pseudo-likelihood."""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.annealing import UNIT_GROUP
from rbmviz.kernels.random import sigmoid
from rbmviz.kernels.vectors import WIDTH, product, total

f32, f64 = np.float32, np.float64


@kernel
def log_odds(v, units, x, W, b, beta, out, slope):
    """Write the log odds of flips of single units, at inverse temperature beta.

    For the RBM (beta W, beta b, beta c), out[r, q] = log p(v_r with unit units[r, q] flipped) - log p(v_r),
    and slope[r, q] is its derivative with respect to beta.

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
    out, slope : float32 (rows, k)

    ValueError if the arrays do not fit each other, or nothing is to be flipped.
    """
    rows, n = x.shape
    fit = units.shape == out.shape and out.shape == slope.shape and v.shape[0] == units.shape[0] == rows
    fit = fit and W.shape == (v.shape[1], n) and b.shape[0] == v.shape[1]
    if not (fit and units.shape[1] and 0 <= units.min() and units.max() < v.shape[1]):
        raise ValueError("log_odds: the arrays do not fit each other")
    # Softplus as in ``annealing``: the sum of positive parts less the logarithm of a product of sigmoids.
    factors, terms, slopes = np.ones(UNIT_GROUP), np.zeros(UNIT_GROUP), np.zeros(UNIT_GROUP)
    for r in range(rows):
        base = slope_base = 0.0
        for q in range(-1, units.shape[1]):  # -1: the sample itself
            i = units[r, max(q, 0)]
            sign = f32(0.0) if q < 0 else f32(1.0) - f32(2.0) * f32(v[r, i])
            weights = W[i]
            softplus = derivative = 0.0
            for first in range(0, n, UNIT_GROUP):
                width = min(UNIT_GROUP, n - first)
                row, part = x[r, first : first + width], weights[first : first + width]
                for j in range(width):
                    a = row[j] + sign * part[j]
                    z = beta * a
                    likelier = sigmoid(abs(z))
                    factors[j] = likelier
                    terms[j] = max(z, f32(0.0))
                    slopes[j] = a * (likelier if z > f32(0.0) else f32(1.0) - likelier)
                end = -(-width // WIDTH) * WIDTH
                for j in range(width, end):
                    factors[j], terms[j], slopes[j] = 1.0, 0.0, 0.0
                softplus += total(terms[:end]) - np.log(product(factors[:end]))
                derivative += total(slopes[:end])
            if q < 0:
                base, slope_base = softplus, derivative
            else:
                out[r, q] = beta * sign * b[i] + (softplus - base)
                slope[r, q] = sign * b[i] + (derivative - slope_base)
