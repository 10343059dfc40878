"""Many chains of one model, tile by tile, with the arithmetic of ``gibbs``.

A *tile* is 64 columns of the weights. While all chains pass by, its rows stay in the second cache, and the
pre-activations of its 64 units, (tiles, chains, 64), stream. A chain has its own random stream, and adds the
same rows in the same order as a chain of ``gibbs``: the same bits in any company.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner
from rbmviz.kernels.bits import write_word
from rbmviz.kernels.layers import REBUILD_SWEEPS, FlipCounts, Flips, copy_bits, find_flips, list_active
from rbmviz.kernels.random import STREAM_LANES, draw_block, draw_part, sigmoid
from rbmviz.kernels.vectors import WIDTH, aligned_zeros, sum_rows


class Layer(NamedTuple):
    """The units of a layer in all chains, padded to whole tiles, and what leads to them."""

    n: int  # units
    weights: np.ndarray  # float32 (tiles, padded n_in, STREAM_LANES), shared by groups of chains
    bias: np.ndarray  # float32 (tiles, STREAM_LANES)
    value: np.ndarray  # float32 (tiles, chains, STREAM_LANES): pre-activations at the input of ``flips``
    units: np.ndarray  # uint8 (chains, tiles * STREAM_LANES)
    flips: Flips  # of the other layer, each array with an axis of chains in front
    updates: np.ndarray  # int64 (chains,): at multiples of REBUILD_SWEEPS the value is rebuilt
    order: np.ndarray  # int64 (chains,): 0, 1, ..., the place of means


def of_chains(n: int, weights: np.ndarray, bias: np.ndarray, chains: int) -> Layer:
    """Return a layer of n units of chains whose other layer is off; its value is not computed yet."""
    tiles, n_in, _ = weights.shape
    on, off, active = np.zeros((3, chains, n_in + 4), np.int32)
    counts = np.zeros(chains, FlipCounts.layout)  # type: ignore[attr-defined]
    value = aligned_zeros(tiles * chains, STREAM_LANES).reshape(tiles, chains, STREAM_LANES)
    flips = Flips(on, off, active, counts, np.zeros((chains, n_in), np.uint8))
    units = np.zeros((chains, tiles * STREAM_LANES), np.uint8)
    return Layer(n, weights, bias, value, units, flips, np.zeros(chains, np.int64), np.arange(chains))


def make_layers(W: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[Layer, Layer]:
    """Return the hidden and the visible layer of a model, without chains."""

    def layer(weights: np.ndarray, bias: np.ndarray) -> Layer:
        (n_in, n), (rows, columns) = weights.shape, -(-np.array(weights.shape) // STREAM_LANES) * STREAM_LANES
        tiles = aligned_zeros(columns // STREAM_LANES * rows, STREAM_LANES).reshape(-1, rows, STREAM_LANES)
        padded = np.zeros((rows + 1, columns), np.float32)
        padded[:n_in, :n], padded[rows, :n] = weights, bias
        tiles[:] = padded[:rows].reshape(rows, -1, STREAM_LANES).swapaxes(0, 1)
        return of_chains(n, tiles, padded[rows].reshape(-1, STREAM_LANES), 0)

    return layer(W, c), layer(W.T, b)


def start(layers: tuple[Layer, Layer], v: np.ndarray) -> tuple[Layer, Layer]:
    """Return both layers with chains at v, uint8 (chains, n_visible); the next step draws h."""
    hidden, visible = (of_chains(layer.n, layer.weights, layer.bias, len(v)) for layer in layers)
    visible.units[:, : v.shape[1]] = v
    hidden.updates[:] = -1  # this update belongs to no sweep
    update(hidden, visible.units, 0, len(v))
    return hidden, visible


@inline
def _fits(layer, first, last):
    """Return whether the arrays of a layer fit each other, and have the chains first to last."""
    (tiles, n_in, width), chains, flips = layer.weights.shape, layer.updates.shape[0], layer.flips
    lists, inputs = (chains, n_in + 4), flips.input.shape == (chains, n_in) and n_in % 64 == 0
    listed = flips.on.shape == lists and flips.off.shape == lists and flips.active.shape == lists
    values = layer.value.shape == (tiles, chains, width) and layer.bias.shape == (tiles, width)
    units = layer.units.shape == (chains, 64 * tiles) and width == 64 and flips.counts.shape[0] == chains
    inside = 0 <= 64 * tiles - layer.n < 64 and 0 <= first and last <= chains
    return inputs and listed and values and units and inside


@inner
def update(layer, units, first, last):
    """Update the value of a layer for the units of the other one, in the chains from first to last."""
    flips = layer.flips
    if not (_fits(layer, first, last) and units.shape == flips.input.shape):
        raise ValueError("update: the arrays do not fit each other")
    for r in range(first, last):
        on, off, active = flips.on[r], flips.off[r], flips.active[r]
        of_chain = Flips(on, off, active, flips.counts[r : r + 1], flips.input[r])
        find_flips(of_chain, units[r])
        counts = flips.counts[r]
        if layer.updates[r] % REBUILD_SWEEPS == 0 or counts.active <= counts.on + counts.off:
            list_active(of_chain)
        layer.updates[r] += 1
    for t in range(layer.weights.shape[0]):
        # Whole vectors, of the last tile only those with units.
        width = min(64, -(-(layer.n - 64 * t) // WIDTH) * WIDTH)
        tile, bias = layer.weights[t], layer.bias[t]
        for r in range(first, last):
            counts, value = flips.counts[r], layer.value[t, r][:width]
            if counts.active_listed:
                sum_rows(bias, value, tile, flips.active[r], counts.active, flips.active[r], np.int64(0))
            else:
                sum_rows(value, value, tile, flips.on[r], counts.on, flips.off[r], counts.off)


@inner
def draw(layer, streams, scale, offset, mean, place, shift, first, last):
    """Draw the units of a layer with means sigmoid(scale value + offset), in the chains from first to last.

    streams uint32 (chains, 4, STREAM_LANES); scale float32 (chains,); offset float32 (n,); mean float32
    (rows, n), whose row place[r] + shift receives the means of chain r; place int64 (chains,).
    """
    chains, n = layer.units.shape[0], layer.n
    fit = _fits(layer, first, last) and streams.shape == (chains, 4, STREAM_LANES)
    fit = fit and place.shape[0] == scale.shape[0] == chains and mean.shape[1] == offset.shape[0] == n
    for r in range(first, last if fit else 0):
        fit &= 0 <= place[r] + shift < mean.shape[0]
    if not fit:
        raise ValueError("draw: the arrays do not fit each other")
    for r in range(first, last):
        row, units = mean[place[r] + shift], layer.units[r]
        for t in range(layer.value.shape[0]):
            value, start = layer.value[t, r], 64 * t
            for i in range(min(64, n - start)):
                row[start + i] = sigmoid(scale[r] * value[i] + offset[start + i])
            if start + 64 <= n:
                write_word(draw_block(streams[r], row, start), units, start)
            else:
                write_word(draw_part(streams[r], row, start, n - start), units, start)


@inner
def sample(
    hidden, visible, streams, scale, offset_h, offset_v, mean_h, k, n, first, last, place, turn, out_v, out_p
):  # fmt: skip
    """Emit n samples of k sweeps of each chain from first to last, as ``gibbs`` does for one.

    See ``draw``; place and turn: the row of a chain's first sample in ``out_v`` and ``out_p``, and the rows
    from one to the next. mean_h float32 (chains, n_hidden): work space.
    """
    if out_v.shape != out_p.shape:
        raise ValueError("sample: the arrays do not fit each other")
    for s in range(n):
        for _ in range(k):
            # (1) sample h ~ p(h | v)
            draw(hidden, streams, scale, offset_h, mean_h, hidden.order, 0, first, last)
            update(visible, hidden.units, first, last)
            # (2) sample v ~ p(v | h)
            draw(visible, streams, scale, offset_v, out_p, place, s * turn, first, last)
            update(hidden, visible.units, first, last)
        # (3) emit v
        for r in range(first, last):
            copy_bits(visible.units[r, : out_v.shape[1]], out_v[place[r] + s * turn])
