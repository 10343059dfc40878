"""The hidden units' part of -F(v), an unnormalised log p(v), as the inverse temperature changes."""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.random import sigmoid

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
    cold_sigmoid, warm_sigmoid = np.empty(n, np.float32), np.empty(n, np.float32)
    for r in range(x.shape[0]):
        total = 0.0
        for j in range(n):
            a, z = cold * f64(x[r, j]) + bias_cold[j], warm * f64(x[r, j]) + bias_warm[j]
            cold_sigmoid[j] = sigmoid(f32(abs(a)))
            warm_sigmoid[j] = sigmoid(f32(abs(z)))
            total += max(a, 0.0) - max(z, 0.0)
        for first in range(0, n, UNIT_GROUP):
            cold_product, warm_product = 1.0, 1.0
            for j in range(first, min(first + UNIT_GROUP, n)):
                cold_product *= f64(cold_sigmoid[j])
                warm_product *= f64(warm_sigmoid[j])
            total += np.log(warm_product / cold_product)
        out[r] += total
