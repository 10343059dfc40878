"""What a model says of each unit of a sample, given the others: the terms of its pseudo-likelihood."""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.vectors import WIDTH, product


@kernel
def log_odds(v, units, means, factors, peak, alone, out):
    """Write the log odds of flips of units: out[r, q] = log p(v_r with units[r, q] flipped) - log p(v_r).

    Unit i, switched on, multiplies the probability by exp(b_i) and, for each hidden unit of mean p_j, by
    (1 - p_j) + p_j exp(W_ij); switched off, by exp(-b_i - sum_j W_ij) and p_j + (1 - p_j) exp(W_ij).

    Parameters
    ----------
    v : uint8 (rows, n_visible); units : int32 (rows, k)
        Samples of 0 and 1, and units of each to flip.
    means : float64 (2, rows, n_hidden)
        1 - p_j, and p_j: each to its own relative precision.
    factors : float64 (n_visible, n_hidden); peak : float
        exp(W), finite, and the largest of |W|.
    alone : float64 (n_visible, 2)
        b_i, and -b_i - sum_j W_ij.
    out : float64 (rows, k)

    ValueError if the arrays do not fit each other.
    """
    _, rows, n = means.shape
    fit = units.shape == out.shape and v.shape[0] == units.shape[0] == rows and means.shape[0] == 2
    fit = fit and alone.shape == (v.shape[1], 2) and factors.shape == (v.shape[1], n)
    if not (fit and 0 <= units.min() and units.max() < v.shape[1]):
        raise ValueError("log_odds: the arrays do not fit each other")
    group = int(650.0 / max(peak, 1.0)) // WIDTH * WIDTH  # factors whose product does not overflow
    terms = np.ones(-(-n // WIDTH) * WIDTH)
    for r in range(rows):
        for q in range(units.shape[1]):
            i = units[r, q]
            is_on = int(v[r, i])
            same, other, gains = means[is_on, r], means[1 - is_on, r], factors[i]
            for j in range(n):
                terms[j] = same[j] + other[j] * gains[j]
            out[r, q] = alone[i, is_on]
            if group:
                for first in range(0, terms.shape[0], group):
                    out[r, q] += np.log(product(terms[first : first + group]))
            else:
                out[r, q] += np.log(terms).sum()
