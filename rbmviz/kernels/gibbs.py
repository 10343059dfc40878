"""Block Gibbs sampling of one chain: pre-activations are updated from the units that flipped, see ``layers``.

In numpy, one sample of k sweeps at an inverse temperature beta::

    def sample(v, W, b, c, beta, k, bernoulli):
        for _ in range(k):
            h = bernoulli(sigmoid(beta * (c + v @ W)))  # (1) sample h ~ p(h | v)
            p = sigmoid(beta * (b + W @ h))
            v = bernoulli(p)  # (2) sample v ~ p(v | h)
        return v, p  # (3) emit v
"""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.layers import (
    REBUILD_SWEEPS,
    copy_bits,
    find_flips,
    fit_flips,
    fit_map,
    update_preactivations,
)
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid


@kernel
def gibbs(up, down, v, h, v_flips, h_flips, rng, clock, inverse_temperature, k, out_v, out_p):
    """Emit out_v.shape[0] samples, k sweeps each; v, h, the maps, the clock and the RNG advance in place.

    ``up`` maps v to the hidden pre-activations, and at every call its value is that at v; ``down`` maps h to
    the visible ones. clock int64 (1,): sweeps so far, so that rebuilds do not depend on how calls are cut.
    inverse_temperature float32; out_v uint8, out_p float32 (samples, n_visible): v, and the means that it was
    drawn from.
    """
    m, n, same = v.shape[0], h.shape[0], out_p.shape == out_v.shape and out_v.shape[1] == v.shape[0]
    fit = fit_map(up, m, n) and fit_map(down, n, m) and fit_flips(v_flips, m) and fit_flips(h_flips, n)
    if not (fit and same and rng.shape == (4, STREAM_LANES) and clock.shape[0]):
        raise ValueError("gibbs: the arrays do not fit each other")
    mean_h = np.empty(h.shape[0], np.float32)
    for t in range(out_v.shape[0]):
        mean_v = out_p[t]
        for _ in range(k):
            force_rebuild = clock[0] % REBUILD_SWEEPS == 0
            # (1) sample h ~ p(h | v)
            for j in range(h.shape[0]):
                mean_h[j] = sigmoid(inverse_temperature * up.value[j])
            bernoulli(rng, mean_h, h)
            find_flips(h_flips, h)
            update_preactivations(down, h_flips, force_rebuild)
            # (2) sample v ~ p(v | h)
            for i in range(v.shape[0]):
                mean_v[i] = sigmoid(inverse_temperature * down.value[i])
            bernoulli(rng, mean_v, v)
            find_flips(v_flips, v)
            update_preactivations(up, v_flips, force_rebuild)
            clock[0] += 1
        # (3) emit v
        copy_bits(v, out_v[t])
