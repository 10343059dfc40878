"""Unnormalised log-probabilities of all states of one layer, summed over the other layer."""

import numpy as np

from rbmviz.kernels._jit import kernel


@kernel
def log_weights(bias_sum, high, low, group, out):
    """Write bias_sum[s] + sum_j log(1 + high[j] low[j, s]) for every low state s, float64 (states,).

    A pre-activation is a sum over the bits of a state; its exponential is a factor of the high bits times one
    of the low bits, so that the loop needs no exponential. One logarithm serves ``group`` units, and their
    product must not overflow. States lie side by side in vector registers. ValueError if arrays do not fit.
    """
    if group < 1 or low.shape != (high.shape[0], out.shape[0]) or bias_sum.shape != out.shape:
        raise ValueError("log_weights: the arrays do not fit each other")
    product = np.empty(out.shape[0])
    for s in range(out.shape[0]):  # compiles in a fraction of the time of out[:] = bias_sum
        out[s] = bias_sum[s]
    for first in range(0, high.shape[0], group):
        product[:] = 1.0
        for j in range(first, min(first + group, high.shape[0])):
            factor, row = high[j], low[j]
            for s in range(out.shape[0]):
                product[s] *= 1.0 + factor * row[s]
        for s in range(out.shape[0]):
            out[s] += np.log(product[s])
