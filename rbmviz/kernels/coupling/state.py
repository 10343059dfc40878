"""The state of two coupled chains: arrays in named tuples, which numba compiles and Python can print.

Every layer is padded to whole vectors of WIDTH units; its states are packed into words of 64 bits, first unit
lowest. Units and bits beyond the end of a layer are always off.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner
from rbmviz.kernels.bits import word
from rbmviz.kernels.random import UNIFORM_LANES
from rbmviz.kernels.vectors import WIDTH, aligned_zeros

PADDING_BIAS = -100.0
"""Bias of padding units: their mean is below every uniform number, so that they stay off."""


class CoupledLayer(NamedTuple):
    """One layer of both chains, a row per chain, and its distribution given the other layer.

    Arrays are grouped by the layer they compute; ``gibbs`` and ``fast_weights`` group them by direction
    (their ``down`` is ``CoupledChains.v``).
    """

    weights: np.ndarray  # float32 (units of the other layer, padded units)
    bias: np.ndarray  # float32 (padded units,); PADDING_BIAS for padding units
    bits: np.ndarray  # uint64 (2, words): state of this layer in each chain
    preactivation: np.ndarray  # float32 (2, padded units): bias + input @ weights
    mean: np.ndarray  # float32 (2, padded units): sigmoids at the last update_means, see reset_to_bias
    input: np.ndarray  # uint64 (2, words of the other layer): states the pre-activations belong to
    slope: np.ndarray  # float64 (padded units,): work space, coefficients of the log ratio
    term: np.ndarray  # float64 (padded units,): work space, its terms
    quotient: np.ndarray  # float64 (padded units,): work space, quotients of its constant


class CouplingScratch(NamedTuple):
    """Work space of a sweep, sized for the larger layer; only ``zeros`` must outlast it."""

    z: np.ndarray  # float32 (units + 2 WIDTH,): uniform numbers, the paper's Z, U and U'
    zeros: np.ndarray  # uint64 (words,): a state with all units off, never written
    on: np.ndarray  # int32 (units,): units with rows to add
    off: np.ndarray  # int32 (units,): units with rows to subtract


class CoupledChains(NamedTuple):
    """Both chains of a pair: row 0 of bits, preactivation, mean and input is xi, row 1 is eta."""

    v: CoupledLayer
    h: CoupledLayer
    scratch: CouplingScratch


def _words(*shape: int) -> np.ndarray:
    return np.zeros((*shape[:-1], -(-shape[-1] // 64)), np.uint64)


def _make_layer(weights: np.ndarray, bias: np.ndarray) -> CoupledLayer:
    others, n = weights.shape
    preactivation, mean = aligned_zeros(2, 2, n)
    slope, term, quotient = np.zeros((3, mean.shape[1]))
    layer = CoupledLayer(
        aligned_zeros(others, n), aligned_zeros(n), _words(2, n), preactivation, mean, _words(2, others),
        slope, term, quotient
    )  # fmt: skip
    layer.weights[:, :n] = weights
    layer.bias[:n] = bias
    layer.bias[n:] = PADDING_BIAS
    return layer


def make_chains(W: np.ndarray, b: np.ndarray, c: np.ndarray) -> CoupledChains:
    """Return two chains of a model, whose float32 parameters are copied; ``start_chains`` starts them."""
    longest = max(W.shape)
    on, off = np.zeros((2, longest), np.int32)
    z = np.ones(longest + 2 * WIDTH, np.float32)
    scratch = CouplingScratch(z, _words(longest), on, off)
    return CoupledChains(_make_layer(W.T, b), _make_layer(W, c), scratch)


def unpack_bits(words: np.ndarray, n: int) -> np.ndarray:
    """Return the first n bits of a packed state, uint8 0 and 1 (n,)."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), count=n, bitorder="little")


@inner
def reset_to_bias(layer):
    """Set the input to 0 and the pre-activations to the bias, without rounding errors."""
    for chain in range(2):
        for w in range(layer.input.shape[1]):
            layer.input[chain, w] = 0
        for i in range(layer.preactivation.shape[1]):
            layer.preactivation[chain, i] = layer.bias[i]


@inline
def start_chains(chains, v0):
    """Set v of both chains to v0, uint8 (n_visible,); h keeps old bits until h_0 is drawn."""
    reset_to_bias(chains.v)
    reset_to_bias(chains.h)
    for w in range(chains.v.bits.shape[1]):
        chains.v.bits[0, w] = chains.v.bits[1, w] = word(v0, 64 * w)


@inline
def copy_chain(chains, source, target):
    """Copy the bits of one chain to the other, without means or pre-activations."""
    for w in range(chains.v.bits.shape[1]):
        chains.v.bits[target, w] = chains.v.bits[source, w]
    for w in range(chains.h.bits.shape[1]):
        chains.h.bits[target, w] = chains.h.bits[source, w]


@inline
def layer_sizes(chains):
    """Return the numbers of visible and hidden units."""
    return chains.h.weights.shape[0], chains.v.weights.shape[0]


@inline
def layer_fits(layer, units, others):
    """Return whether the arrays of a layer fit its own and the other layer's units."""
    padded = layer.bias.shape[0]
    whole = padded >= units and padded % WIDTH == 0 and layer.weights.shape == (others, padded)
    words = layer.bits.shape == (2, (units + 63) // 64) and layer.input.shape == (2, (others + 63) // 64)
    means = layer.preactivation.shape == (2, padded) and layer.mean.shape == (2, padded)
    terms = layer.slope.shape[0] == padded and layer.term.shape[0] == padded
    return whole and words and means and terms and layer.quotient.shape[0] == padded


@inline
def chains_fit(chains):
    """Return whether the arrays of both chains fit each other."""
    (m, n), scratch = layer_sizes(chains), chains.scratch
    longest = max(m, n)
    lists = scratch.on.shape[0] == longest and scratch.off.shape[0] == longest
    rest = scratch.z.shape[0] == longest + 2 * WIDTH and scratch.zeros.shape[0] == (longest + 63) // 64
    return layer_fits(chains.v, m, n) and layer_fits(chains.h, n, m) and lists and rest


@inline
def streams_fit(streams, pairs):
    """Return whether there is a random stream for each pair."""
    return streams.shape[0] >= pairs and streams.shape[1] == 4 and streams.shape[2] == UNIFORM_LANES
