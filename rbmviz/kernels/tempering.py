"""Parallel tempering: replicas of a chain at inverse temperatures, coldest first, which neighbours swap.

In numpy (the tests run this block), one sample of k sweeps of all replicas v, (replicas, n_visible). Where W
is 0 the model is that of the biases ``base``: at beta the parameters are (beta W, base + beta (b - base),
beta c). ``at[i]`` is the replica at beta[i]; ``first`` is 0 and 1 in turn::

    def sample(v, at, first, beta, W, b, c, base, k, bernoulli, decide):
        own = beta[np.argsort(at)][:, None]  # of each replica
        for _ in range(k):
            h = bernoulli(sigmoid(own * (c + v @ W)))
            x = b - base + h @ W.T
            p = sigmoid(own * x + base)
            v = bernoulli(p)
        emitted = v[at[0]], p[at[0]]  # (1) emit the replica at beta = 1
        energy = -(v * x).sum(axis=1) - h @ c  # what beta multiplies
        pairs = np.arange(first, len(beta) - 1, 2)
        cold, hot = at[pairs], at[pairs + 1]
        gain = (beta[pairs] - beta[pairs + 1]) * (energy[cold] - energy[hot])
        swap = decide(np.exp(np.minimum(gain, 0)))  # (2) neighbours swap, by the Metropolis rule
        at[pairs], at[pairs + 1] = np.where(swap, hot, cold), np.where(swap, cold, hot)
        return v, emitted
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inner, private
from rbmviz.kernels.chains import Layer, draw, of_chains, update
from rbmviz.kernels.layers import copy_bits
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid
from rbmviz.kernels.vectors import total

f32, f64 = np.float32, np.float64

PATH = 240
"""Newest samples of which the place of each replica is kept."""

ADAPTATIONS = 4
"""Times that the ladder is spaced anew: after an eighth, a quarter, a half of the burn-in, and its end."""


class Replicas(NamedTuple):
    """Replicas of one chain, which keep their states and swap their inverse temperatures."""

    hidden: Layer
    visible: Layer
    streams: np.ndarray  # uint32 (replicas, 4, STREAM_LANES)
    swaps: np.ndarray  # uint32 (4, STREAM_LANES): decides swaps
    beta: np.ndarray  # float32 (replicas,): inverse temperatures, coldest first
    at: np.ndarray  # int64 (replicas,): the replica at each of them
    scale: np.ndarray  # float32 (replicas,): of each replica
    base: np.ndarray  # float32 (n_visible,): visible biases of the model at 0
    no_offset: np.ndarray  # float32 (n_hidden,): 0
    mean_h: np.ndarray  # float32 (replicas, n_hidden): work space, like the next seven
    mean_v: np.ndarray  # float32 (replicas, n_visible)
    energy: np.ndarray  # float64 (replicas,)
    terms: np.ndarray  # float64 (STREAM_LANES,)
    barrier: np.ndarray  # float64 (replicas,)
    before: np.ndarray  # float32 (replicas,)
    chance: np.ndarray  # float32 (replicas,)
    swapped: np.ndarray  # uint8 (replicas,)
    tried: np.ndarray  # int64 (replicas,): swaps proposed with the next hotter one, since the last spacing
    taken: np.ndarray  # int64 (replicas,): swaps accepted
    was_hot: np.ndarray  # uint8 (replicas,): whether a replica was hottest since it was last coldest
    trips: np.ndarray  # int64 (1,): replicas that came from the hottest place to the coldest
    samples: np.ndarray  # int64 (1,): so far
    burn_in: np.ndarray  # int64 (1,): samples in which the ladder is spaced anew; 0: never
    path: np.ndarray  # int16 (PATH, replicas): place of each replica at sample t, in row t % PATH


def start(
    layers: tuple[Layer, Layer],
    v: np.ndarray,
    beta: np.ndarray,
    base: np.ndarray,
    streams: np.ndarray,
    burn_in: int,
) -> Replicas:
    """Return replicas at v, uint8 (n_visible,), which have not been drawn yet.

    layers : of ``chains.make_layers``, with the biases b - base
    beta : float32 (replicas,), coldest first
    base : float32 (n_visible,)
    streams : uint32 (replicas + 1, 4, STREAM_LANES); the last one decides swaps
    burn_in : samples in which the ladder is spaced anew ADAPTATIONS times; 0: never
    """
    n, n_visible, n_hidden = len(beta), layers[1].n, layers[0].n
    hidden, visible = (of_chains(layer.n, layer.weights, layer.bias, n) for layer in layers)
    visible.units[:, :n_visible] = v
    hidden.updates[:] = -1  # this update belongs to no sweep
    update(hidden, visible.units, 0, n)
    return Replicas(
        *(hidden, visible, streams[:n].copy(), streams[n].copy()),
        *(beta.copy(), np.arange(n), beta.copy(), base, np.zeros(n_hidden, f32)),
        *(np.empty((n, n_hidden), f32), np.empty((n, n_visible), f32)),
        *(np.empty(n), np.empty(STREAM_LANES), np.empty(n)),
        *(np.empty(n, f32), np.empty(n, f32), np.empty(n, np.uint8)),
        *(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.uint8)),
        *(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([burn_in]), np.zeros((PATH, n), np.int16)),
    )


@private
def measure(ladder):
    """Compute the energy of each replica that its inverse temperature multiplies, in float64."""
    hidden, visible, terms = ladder.hidden, ladder.visible, ladder.terms
    for r in range(ladder.energy.shape[0]):
        summed = 0.0
        for t in range(visible.value.shape[0]):
            value, units = visible.value[t, r], visible.units[r, 64 * t : 64 * t + 64]
            for i in range(64):
                terms[i] = f64(value[i]) * f64(units[i])
            summed += total(terms)
        for t in range(hidden.bias.shape[0]):
            bias, units = hidden.bias[t], hidden.units[r, 64 * t : 64 * t + 64]
            for i in range(64):
                terms[i] = f64(bias[i]) * f64(units[i])
            summed += total(terms)
        ladder.energy[r] = -summed


@private
def swap(ladder, first):
    """Let the neighbours (first, first + 1), (first + 2, first + 3), ... swap by the Metropolis rule."""
    at, beta, energy, n = ladder.at, ladder.beta, ladder.energy, ladder.at.shape[0]
    pairs = max((n - first) // 2, 0)
    for p in range(pairs):
        i = first + 2 * p
        gain = f64(beta[i] - beta[i + 1]) * (energy[at[i]] - energy[at[i + 1]])
        # exp(gain) from the same sigmoid as everything else, so that browsers have the same bits.
        s = sigmoid(f32(gain))
        ladder.chance[p] = f32(2.0) if gain >= 0 else s / (f32(1.0) - s)  # above 1: always
    if pairs > 0:
        bernoulli(ladder.swaps, ladder.chance, ladder.swapped[:pairs])
    for p in range(pairs):
        i = first + 2 * p
        ladder.tried[i] += 1
        if ladder.swapped[p]:
            ladder.taken[i] += 1
            at[i], at[i + 1] = at[i + 1], at[i]
            ladder.scale[at[i]], ladder.scale[at[i + 1]] = beta[i], beta[i + 1]


@private
def follow(ladder):
    """Count a sample, the places of the replicas, and trips from the hottest to the coldest place."""
    at, n, t = ladder.at, ladder.at.shape[0], ladder.samples[0]
    for i in range(n):
        ladder.path[t % PATH, at[i]] = i
    if n > 1:
        ladder.was_hot[at[n - 1]] = 1
        ladder.trips[0] += ladder.was_hot[at[0]]
        ladder.was_hot[at[0]] = 0
    ladder.samples[0] += 1


@private
def space(ladder):
    """Space the inverse temperatures so that all neighbours should refuse equally many swaps.

    Syed, Bouchard-Cote, Deligiannidis and Doucet (2022), doi:10.1111/rssb.12464, algorithm 3, with linear
    interpolation: the sum of the shares refused so far, a function of beta, is divided into equal parts.
    """
    beta, before, barrier, n = ladder.beta, ladder.before, ladder.barrier, ladder.beta.shape[0]
    barrier[0] = 0.0
    for i in range(n):
        before[i] = beta[i]
    for i in range(n - 1):
        refused = 1.0 - f64(ladder.taken[i]) / f64(max(ladder.tried[i], 1))
        barrier[i + 1] = barrier[i] + max(refused, 0.01)  # always some, so that no two places meet
        ladder.tried[i] = ladder.taken[i] = 0
    j = 0
    for i in range(1, n - 1):
        wanted = barrier[n - 1] * i / (n - 1)
        while barrier[j + 1] < wanted:
            j += 1
        share = (wanted - barrier[j]) / (barrier[j + 1] - barrier[j])
        beta[i] = f32(f64(before[j]) + share * f64(before[j + 1] - before[j]))
    for i in range(n):
        ladder.scale[ladder.at[i]] = beta[i]


@inner
def sample(ladder, k, out_v, out_p):
    """Emit out_v.shape[0] samples of k sweeps of every replica; the ladder advances in place.

    out_v, out_p : uint8 and float32 (samples, n_visible)
    """
    hidden, visible, n = ladder.hidden, ladder.visible, ladder.at.shape[0]
    by_replica = ladder.scale.shape[0] == ladder.energy.shape[0] == ladder.barrier.shape[0] == n
    by_replica = by_replica and ladder.beta.shape[0] == ladder.before.shape[0] == ladder.chance.shape[0] == n
    by_replica = by_replica and ladder.swapped.shape[0] == ladder.tried.shape[0] == n
    by_replica = by_replica and ladder.taken.shape[0] == ladder.was_hot.shape[0] == ladder.path.shape[1] == n
    others = ladder.swaps.shape == (4, STREAM_LANES) and ladder.path.shape[0] == PATH
    others = others and ladder.trips.shape[0] == ladder.samples.shape[0] == ladder.burn_in.shape[0] == 1
    others = others and ladder.terms.shape[0] == STREAM_LANES
    for i in range(n):
        others &= 0 <= ladder.at[i] < n
    if not (by_replica and others and out_v.shape == out_p.shape and out_v.shape[1] == visible.n):
        raise ValueError("sample: the arrays do not fit each other")
    for s in range(out_v.shape[0]):
        for _ in range(k):
            draw(hidden, ladder.streams, ladder.scale, ladder.no_offset, ladder.mean_h, hidden.order, 0, 0, n)
            update(visible, hidden.units, 0, n)
            draw(visible, ladder.streams, ladder.scale, ladder.base, ladder.mean_v, visible.order, 0, 0, n)
            update(hidden, visible.units, 0, n)
        # (1) emit the replica at beta = 1
        cold = ladder.at[0]
        copy_bits(visible.units[cold, : out_v.shape[1]], out_v[s])
        for i in range(out_p.shape[1]):
            out_p[s, i] = ladder.mean_v[cold, i]
        # (2) neighbours swap, by the Metropolis rule
        if n > 1:
            measure(ladder)
            swap(ladder, ladder.samples[0] % 2)
        follow(ladder)
        for i in range(ADAPTATIONS):
            if ladder.burn_in[0] > 0 and ladder.samples[0] == ladder.burn_in[0] >> i:
                space(ladder)
