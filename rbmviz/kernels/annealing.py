"""Sums of softplus over the units of a layer, parts of unnormalised log-probabilities; annealing by them."""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inner, kernel, private
from rbmviz.kernels.chains import Layer, draw, of_chains, update
from rbmviz.kernels.random import sigmoid
from rbmviz.kernels.vectors import WIDTH, product, total

f32, f64 = np.float32, np.float64

UNIT_GROUP = 512
"""Factors in [1/2, 1] that share one logarithm: their product is at least 2^-512, far from underflow."""


@kernel
def add_log_ratio(x, cold, warm, c, out):
    """Add sum_j softplus(cold (x_rj + c_j)) - softplus(warm (x_rj + c_j)) to out[r].

    softplus(a) = max(a, 0) - log sigmoid(|a|): the first term is summed in float64, the second takes one
    logarithm per UNIT_GROUP units.

    x float32 (rows, n): v W; c float64 (n,): biases; cold >= warm: inverse temperatures; out float64 (rows,).
    ValueError if the arrays do not fit each other.
    """
    if c.shape[0] != x.shape[1] or out.shape[0] != x.shape[0]:
        raise ValueError("add_log_ratio: the arrays do not fit each other")
    factors, terms = np.empty(UNIT_GROUP), np.empty(UNIT_GROUP)
    for r in range(x.shape[0]):
        out[r] += softplus_sum(x[r], cold, c, factors, terms) - softplus_sum(x[r], warm, c, factors, terms)


@private
def softplus_sum(x, scale, bias, factors, terms):
    """Return sum_j softplus(scale (x_j + bias_j)); factors, terms float64 (UNIT_GROUP,): work space."""
    summed = 0.0
    for first in range(0, x.shape[0], UNIT_GROUP):
        row, own = x[first : first + UNIT_GROUP], bias[first : first + UNIT_GROUP]
        for j in range(row.shape[0]):
            a = scale * f64(row[j]) + scale * own[j]
            factors[j] = sigmoid(f32(abs(a)))
            terms[j] = max(a, 0.0)
        padded = -(-row.shape[0] // WIDTH) * WIDTH
        for j in range(row.shape[0], padded):
            factors[j], terms[j] = 1.0, 0.0
        summed += total(terms[:padded]) - np.log(product(factors[:padded]))
    return summed


class AnnealedChains(NamedTuple):
    """Chains of AIS: their states and weights, the models at both ends, and work space for one chain."""

    hidden: Layer
    visible: Layer
    streams: np.ndarray  # uint32 (chains, 4, STREAM_LANES)
    base: np.ndarray  # float64 (n_visible,): visible biases at inverse temperature 0
    tilt: np.ndarray  # float64 (n_visible,): what they gain on the way to 1
    c: np.ndarray  # float64 (n_hidden,)
    log_weights: np.ndarray  # float64 (chains,)
    scale: np.ndarray  # float32 (chains,)
    place: np.ndarray  # int64 (chains,): 0
    offset_h: np.ndarray  # float32 (n_hidden,)
    offset_v: np.ndarray  # float32 (n_visible,)
    mean_h: np.ndarray  # float32 (1, n_hidden)
    mean_v: np.ndarray  # float32 (1, n_visible)
    x: np.ndarray  # float32 (n_hidden,)
    factors: np.ndarray  # float64 (UNIT_GROUP,)
    terms: np.ndarray  # float64: UNIT_GROUP, or padded n_visible if that is more


def start(
    layers: tuple[Layer, Layer], base: np.ndarray, tilt: np.ndarray, c: np.ndarray, streams: np.ndarray
) -> AnnealedChains:
    """Return chains that ``anneal`` draws from the model without weights; ``layers`` have no biases."""
    chains, m, n = len(streams), len(base), len(c)
    hidden, visible = (of_chains(layer.n, layer.weights, layer.bias, chains) for layer in layers)
    hidden.updates[:] = -1  # still to be drawn
    work = [np.empty(shape, f32) for shape in (n, m, (1, n), (1, m), n)]
    sums = np.empty(UNIT_GROUP), np.empty(max(UNIT_GROUP, -(-m // WIDTH) * WIDTH))
    own = np.zeros(chains), np.zeros(chains, f32), np.zeros(chains, np.int64)
    return AnnealedChains(hidden, visible, *(streams, base, tilt, c, *own, *work, *sums))


@inner
def anneal(chains, warm, cold):
    """Make a sweep at one inverse temperature, at first a draw from the base; weigh up to the next."""
    hidden, visible, c, x = chains.hidden, chains.visible, chains.c, chains.x
    factors, terms = chains.factors, chains.terms
    count, m, n, padded = chains.log_weights.shape[0], visible.n, hidden.n, -(-visible.n // WIDTH) * WIDTH
    sizes = chains.base.shape[0] == chains.tilt.shape[0] == chains.offset_v.shape[0] == m
    sizes = sizes and c.shape[0] == chains.offset_h.shape[0] == x.shape[0] == n
    sizes = sizes and factors.shape[0] == UNIT_GROUP and terms.shape[0] == max(UNIT_GROUP, padded)
    if not (sizes and hidden.updates.shape[0] == chains.scale.shape[0] == count):
        raise ValueError("anneal: the arrays do not fit each other")
    for r in range(count):
        chains.scale[r] = f32(warm)
    for j in range(n):
        chains.offset_h[j] = f32(warm * c[j])
    for i in range(m):
        chains.offset_v[i] = f32(chains.base[i] + warm * chains.tilt[i])
    if count > 0 and hidden.updates[0] < 0:
        for r in range(count):
            hidden.updates[r] = 0
    else:
        draw(hidden, chains.streams, chains.scale, chains.offset_h, chains.mean_h, chains.place, 0, 0, count)
        update(visible, hidden.units, 0, count)
    draw(visible, chains.streams, chains.scale, chains.offset_v, chains.mean_v, chains.place, 0, 0, count)
    update(hidden, visible.units, 0, count)
    for r in range(count):
        for i in range(m):
            terms[i] = f64(visible.units[r, i]) * chains.tilt[i]
        for i in range(m, padded):
            terms[i] = 0.0
        chains.log_weights[r] += (cold - warm) * total(terms[:padded])
        for j in range(n):
            x[j] = hidden.value[j // 64, r, j % 64]
        at_cold = softplus_sum(x, cold, c, factors, terms)
        chains.log_weights[r] += at_cold - softplus_sum(x, warm, c, factors, terms)


@kernel
def add_softplus(x, bias, y, out):
    """Add sum_j softplus(x_rj) - y_rj (x_rj - bias_j) to out[r].

    With y of 0 and 1 drawn from these pre-activations, that is -log prod_j Bernoulli(y_j) without the part of
    the bias. The logarithm is taken of products of sigmoids, as in ``add_log_ratio``; relative error 2e-7.

    x, y float32 (rows, n); bias float32 (n,); out float64 (rows,). ValueError if the arrays do not fit.
    """
    if bias.shape[0] != x.shape[1] or y.shape != x.shape or out.shape[0] != x.shape[0]:
        raise ValueError("add_softplus: the arrays do not fit each other")
    work = np.empty((2, UNIT_GROUP))
    for r in range(x.shape[0]):
        out[r] = plus_softplus(out[r], x[r], bias, y[r], work)


@private
def plus_softplus(summed, x, bias, y, work):
    """Return what ``add_softplus`` makes of the sum of one row; work float64 (2, UNIT_GROUP)."""
    factors, terms = work[0], work[1]
    for first in range(0, x.shape[0], UNIT_GROUP):
        last = first + UNIT_GROUP
        row, own, ones = x[first:last], bias[first:last], y[first:last]
        width, padded = row.shape[0], -(-row.shape[0] // WIDTH) * WIDTH
        for j in range(width):
            of_weights = row[j] - own[j]
            a = of_weights + own[j]  # not x: weights keep the bits that they have always had
            factors[j] = sigmoid(abs(a))
            terms[j] = f64(max(a, f32(0.0))) - f64(ones[j]) * f64(of_weights)
        for j in range(width, padded):
            factors[j], terms[j] = 1.0, 0.0
        summed += total(terms[:padded]) - np.log(product(factors[:padded]))
    return summed
