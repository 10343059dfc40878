"""Unnormalised log-probabilities of all states of one layer, the other one summed out."""

import numpy as np

from rbmviz.kernels._jit import kernel


@kernel
def log_weights(bias_sum, high, low, group, out):
    """Write bias_sum[s] + sum_j log(1 + high[j] low[s, j]) for every low state s, float64 (states,).

    A pre-activation is a sum over the bits of a state; its exponential is a product of one factor for the
    high bits and one for the low bits, so that no exponential is left in the loop, and one logarithm
    serves ``group`` units: their product must not overflow.
    """
    n = high.shape[0]
    for s in range(low.shape[0]):
        row = low[s]
        total = bias_sum[s]
        j = 0
        while j < n:
            end = min(j + group, n)
            product = 1.0
            for q in range(j, end):
                product *= 1.0 + high[q] * row[q]
            total += np.log(product)
            j = end
        out[s] = total
