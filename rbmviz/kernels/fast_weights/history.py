"""The newest samples of a chain as bits, and products with their weighted sum, without a matrix.

    P = sum_s w_s (v_s h_s', v_s, h_s),   w_s = eps_s alpha^age

The weights decay below float32's precision after ``history_length_of(alpha)`` samples, so a ring buffer of
that length holds all of P. At v, P contributes to the pre-activations

    sum_s w_s (v.v_s + 1) h_s,

in numpy ``(weight * (V @ v + 1)) @ H`` with the samples as the rows of V and H. The overlaps v.v_s are
population counts of packed words. The sum over h_s takes eight samples at once, a byte per unit: four samples
have sixteen possible sums, a table in one vector register that four bits of each unit index. All of it stays
in the first two cache levels; the rows of M would not.
"""

import math
from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner, private
from rbmviz.kernels.bits import popcount, word
from rbmviz.kernels.fast_weights.intrinsics import UNIT_LANES, add_packed, weighted_products
from rbmviz.kernels.vectors import aligned_zeros

f32, i32, u8, u64 = np.float32, np.int32, np.uint8, np.uint64

CAPACITY = 1024
"""Samples in the ring buffer."""
NEGLIGIBLE = 2.0**-24
"""Samples are dropped when their weight has fallen to this share, the resolution of float32."""
ALPHA_OF_ROWS = NEGLIGIBLE ** (1 / CAPACITY)
"""From this alpha on, 0.98389, a history would exceed CAPACITY samples, and rows are used."""


class LayerHistory(NamedTuple):
    """The samples of one layer of n units, visible or hidden."""

    packed_samples: np.ndarray  # uint8 (CAPACITY / 8, padded n): bit s % 8 of [s // 8, i]: unit i, sample s
    words: np.ndarray  # uint64 (ceil(n / 64), CAPACITY): the same bits, sample s in words[:, s]
    now: np.ndarray  # uint64 (ceil(n / 64),): the current state
    overlap: np.ndarray  # uint64 (CAPACITY,): units on in it and in sample s; stale where weights are 0


class History(NamedTuple):
    """The newest samples: weight float64 (CAPACITY,), the w_s; factor float32 (CAPACITY,), work space."""

    visible: LayerHistory
    hidden: LayerHistory
    weight: np.ndarray
    factor: np.ndarray


def make_history(n_visible: int, n_hidden: int) -> History:
    """Return an empty history; the system provides memory as samples are written."""

    def layer(n: int) -> LayerHistory:
        padded, words = aligned_zeros(n).shape[0], -(-n // 64)
        packed_samples = np.zeros((CAPACITY // 8, padded), np.uint8)
        zeros = np.zeros((words, CAPACITY), np.uint64)
        return LayerHistory(packed_samples, zeros, np.zeros(words, np.uint64), np.zeros(CAPACITY, np.uint64))

    return History(layer(n_visible), layer(n_hidden), np.zeros(CAPACITY), np.zeros(CAPACITY, np.float32))


def sum_of_history(history: History) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P = (W, b, c) as float64 arrays, with the padding."""
    v, h = (
        np.unpackbits(layer.packed_samples[:, None], axis=1, bitorder="little").reshape(CAPACITY, -1)
        for layer in (history.visible, history.hidden)
    )
    weighted = history.weight[:, None] * v
    return weighted.T @ h, weighted.sum(axis=0), history.weight @ h


def history_length_of(alpha: float) -> int:
    """Return the samples (a multiple of 8) until a weight is negligible; 0 if more than CAPACITY."""
    if alpha >= ALPHA_OF_ROWS:
        return 0
    if alpha <= 0.0:
        return 8
    return 8 * max(1, math.ceil(math.log(NEGLIGIBLE) / math.log(alpha) / 8))


@inline
def layer_history_fits(layer, n):
    """Return whether the arrays of a layer fit n units."""
    packed_samples, words, count = layer.packed_samples, layer.words, (n + 63) // 64
    whole = (
        packed_samples.shape[0] == CAPACITY // 8
        and packed_samples.shape[1] >= n
        and packed_samples.shape[1] % UNIT_LANES == 0
    )
    packed = words.shape == (count, CAPACITY) and layer.now.shape[0] == count
    return whole and packed and layer.overlap.shape[0] == CAPACITY


@inline
def history_fits(history, m, n):
    """Return whether the arrays of a history fit m visible and n hidden units."""
    weights = history.weight.shape[0] == CAPACITY and history.factor.shape[0] == CAPACITY
    return weights and layer_history_fits(history.visible, m) and layer_history_fits(history.hidden, n)


@private
def pack(x, words):
    """Write the bits of x, uint8 0 and 1, into words."""
    for w in range(words.shape[0]):
        words[w] = word(x, 64 * w)


@inner
def update_overlaps(layer, x, history_length):
    """Count for every sample the units that are on in it and in x, uint8 (n,); four words per pass."""
    words, now, overlap = layer.words, layer.now, layer.overlap[:history_length]
    pack(x, now)
    for s in range(overlap.shape[0]):
        overlap[s] = u64(0)
    w = 0
    while w + 4 <= now.shape[0]:
        a, b, c, d = (
            words[w, :history_length],
            words[w + 1, :history_length],
            words[w + 2, :history_length],
            words[w + 3, :history_length],
        )
        p, q, r, t = now[w], now[w + 1], now[w + 2], now[w + 3]
        for s in range(overlap.shape[0]):
            overlap[s] += (popcount(a[s] & p) + popcount(b[s] & q)) + (
                popcount(c[s] & r) + popcount(d[s] & t)
            )
        w += 4
    while w < now.shape[0]:
        a, p = words[w, :history_length], now[w]
        for s in range(overlap.shape[0]):
            overlap[s] += popcount(a[s] & p)
        w += 1


@private
def add_samples(factor, layer, history_length, out):
    """Add sum_s factor[s] x_s to out, float32 (padded n,): x_s are the samples of a layer."""
    for g in range(history_length // 8):
        add_packed(factor[8 * g : 8 * g + 8], layer.packed_samples[g], out)


@inner
def subtract_product(history, input_history, output_history, history_length, out):
    """Subtract sum_s w_s (x.x_s + 1) y_s from out; x, x_s: states of the input layer, y_s: of the output."""
    factor, overlap = history.factor[:history_length], input_history.overlap[:history_length]
    weight = history.weight[:history_length]
    for s in range(factor.shape[0]):
        factor[s] = f32(-weight[s]) * f32(i32(overlap[s]) + i32(1))
    add_samples(factor, output_history, history_length, out)


@inner
def product_with_state(history, history_length):
    """Return <P, s> for the chain's current sample s: sum_s' w_s' <s', s>, float64."""
    return weighted_products(history.weight, history.visible.overlap, history.hidden.overlap, history_length)


@private
def write_sample(layer, x, s):
    """Store x, uint8, as sample s, and its overlap with itself."""
    packed, at = layer.packed_samples[s // 8], u8(s % 8)
    keep = u8(~(u8(1) << at))
    for i in range(x.shape[0]):
        packed[i] = u8(packed[i] & keep) | u8(x[i] << at)
    pack(x, layer.now)
    n = u64(0)
    for w in range(layer.now.shape[0]):
        layer.words[w, s] = layer.now[w]
        n += popcount(layer.now[w])
    layer.overlap[s] = n


@inner
def decay_weights(history, alpha, history_length):
    """P <- alpha P."""
    weight = history.weight[:history_length]
    for s in range(weight.shape[0]):
        weight[s] *= alpha


@inner
def append(history, v, h, eps, sample, history_length):
    """P <- P + eps (v h', v, h): sample number ``sample`` replaces one of negligible weight."""
    s = sample % history_length
    history.weight[s] = eps
    if eps > 0.0:
        write_sample(history.visible, v, s)
        write_sample(history.hidden, h, s)


@inner
def subtract_rows(history, input_history, output_history, history_length, rows):
    """Subtract sum_s w_s x_s[i] y_s from rows[i]; x_s are states of the input layer, y_s of the output."""
    factor = history.factor
    for i in range(rows.shape[0]):
        for s in range(history_length):
            on = input_history.packed_samples[s // 8, i] >> u8(s % 8) & u8(1)
            factor[s] = f32(-history.weight[s]) if on else f32(0.0)
        add_samples(factor, output_history, history_length, rows[i])


@inner
def subtract_bias(history, layer, history_length, bias):
    """Subtract sum_s w_s x_s from the bias."""
    for s in range(history_length):
        history.factor[s] = f32(-history.weight[s])
    add_samples(history.factor, layer, history_length, bias)
