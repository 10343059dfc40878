"""Block Gibbs sampling of one chain: pre-activations are updated from the units that flipped, see ``layers``.

In numpy (the tests run this block), one sample of k sweeps at an inverse temperature beta::

    def sample(v, W, b, c, beta, k, bernoulli):
        for _ in range(k):
            h = bernoulli(sigmoid(beta * (c + v @ W)))  # (1) sample h ~ p(h | v)
            p = sigmoid(beta * (b + W @ h))
            v = bernoulli(p)  # (2) sample v ~ p(v | h)
        return v, p  # (3) emit v
"""

from rbmviz.kernels._jit import inner
from rbmviz.kernels.layers import (
    REBUILD_SWEEPS,
    copy_bits,
    find_flips,
    flips_fit,
    preactivation_fits,
    update_preactivations,
)
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid


@inner
def gibbs(up, down, v, h, v_flips, h_flips, stream, sweeps, inverse_temperature, k, mean_h, out_v, out_p):
    """Emit out_v.shape[0] samples of k sweeps each; the state, the first eight arguments, advances in place.

    A NamedTuple of these eight would make each call a microsecond longer: for one sample 8.7 instead of 7.7
    us on Bars and Stripes, 13.5 instead of 12.7 us on MNIST.

    Parameters
    ----------
    up, down : PreActivation
        From v to the pre-activations of h, and from h to the pre-activations of v. At a call, ``up.value``
        must belong to v and ``down.value`` to the last h, unless the first sweep rebuilds it (``sweeps`` a
        multiple of REBUILD_SWEEPS).
    v, h : uint8 (n_visible,), (n_hidden,)
        State of the chain; written, not read: a call starts from ``up`` and the flips.
    v_flips, h_flips : Flips
        The flipped units of v and h. At a call their ``input`` must be v and the last h.
    stream : uint32 (4, STREAM_LANES)
    sweeps : int64 (1,)
        Sweeps so far. Rebuilds happen at multiples of REBUILD_SWEEPS, however the run is divided into calls.
    inverse_temperature : float32
    k : int
        Sweeps per sample, at least 1.
    mean_h : float32 (n_hidden,)
        Work space.
    out_v, out_p : uint8 and float32 (samples, n_visible)
        Receive the samples and the means they were drawn from.

    ValueError if the arrays do not fit each other.
    """
    n_visible, n_hidden = v.shape[0], h.shape[0]
    state_fits = (
        preactivation_fits(up, n_visible, n_hidden)
        and preactivation_fits(down, n_hidden, n_visible)
        and flips_fit(v_flips, n_visible)
        and flips_fit(h_flips, n_hidden)
        and stream.shape == (4, STREAM_LANES)
        and sweeps.shape[0] > 0
    )
    outputs_fit = out_p.shape == out_v.shape and out_v.shape[1] == n_visible
    if not (state_fits and outputs_fit and mean_h.shape == h.shape):
        raise ValueError("gibbs: the arrays do not fit each other")
    for t in range(out_v.shape[0]):
        mean_v = out_p[t]
        for _ in range(k):
            force_rebuild = sweeps[0] % REBUILD_SWEEPS == 0
            # (1) sample h ~ p(h | v)
            for j in range(n_hidden):
                mean_h[j] = sigmoid(inverse_temperature * up.value[j])
            bernoulli(stream, mean_h, h)
            find_flips(h_flips, h)
            update_preactivations(down, h_flips, force_rebuild)
            # (2) sample v ~ p(v | h)
            for i in range(n_visible):
                mean_v[i] = sigmoid(inverse_temperature * down.value[i])
            bernoulli(stream, mean_v, v)
            find_flips(v_flips, v)
            update_preactivations(up, v_flips, force_rebuild)
            sweeps[0] += 1
        # (3) emit v
        copy_bits(v, out_v[t])
