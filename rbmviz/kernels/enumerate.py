"""Unnormalised log-probabilities of all states of one layer, the other one summed out."""

import numpy as np

from rbmviz.kernels._jit import kernel


@kernel
def log_weights(bias_sum, high, low, group, out):
    """Write bias_sum[s] + sum_j log(1 + high[j] low[j, s]) for every low state s, float64 (states,).

    A pre-activation is a sum over the bits of a state; its exponential is a product of one factor for the
    high bits and one for the low bits, so that no exponential is left in the loop, and one logarithm
    serves ``group`` units: their product must not overflow. States lie side by side in vector registers.
    """
    if group < 1 or low.shape != (high.shape[0], out.shape[0]) or bias_sum.shape != out.shape:
        raise ValueError("log_weights: the arrays do not fit each other")
    product = np.empty(out.shape[0])
    out[:] = bias_sum
    for first in range(0, high.shape[0], group):
        product[:] = 1.0
        for j in range(first, min(first + group, high.shape[0])):
            factor, row = high[j], low[j]
            for s in range(out.shape[0]):
                product[s] *= 1.0 + factor * row[s]
        for s in range(out.shape[0]):
            out[s] += np.log(product[s])
