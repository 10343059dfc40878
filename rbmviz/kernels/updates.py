"""Gibbs sweeps of a mini-batch, and updates of W from rows of v and means of h, at a cost proportional to active units.

W lies in padded memory (``pad``), so that its rows are summed where they are:

- v W adds the rows of W of the active units or, where fewer units differ from the last v, of those.
- W h reads blocks of W transposed in registers, tile by tile: a tile of HIDDEN x STRIP numbers stays in the first cache
  while all rows of the batch add up its lines.
- v' p - w' q is never a matrix of its own. Each unit lists the examples in which it is active, and its row of W takes up
  the means of these once; the row of a unit that is never active is not touched.

The rows of v and w may be alike, as those of a mini-batch and of CD's samples are. Then v' p - w' q is computed as
v' (p - q) + (v - w)' q, which has fewer terms.

Sums are float32, in the order of units or examples, on every machine.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner
from rbmviz.kernels.batch import as_bits
from rbmviz.kernels.bits import first_one, list_few_ones, list_ones, popcount, word
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid
from rbmviz.kernels.vectors import STRIP, WIDTH, add_rows, aligned_zeros, transpose_block

f32, i64, u64 = np.float32, np.int64, np.uint64

HIDDEN = 64
"""Hidden units of a tile: one word of bits."""


class Padded(NamedTuple):
    """Parameters in aligned memory of whole vectors, zero beyond the units."""

    W: np.ndarray  # float32 (whole vectors, row_length(n_hidden))
    b: np.ndarray  # float32 (whole vectors,)
    c: np.ndarray  # float32 (row_length(n_hidden),)


def row_length(n: int) -> int:
    """Return n as whole words of 64 and one vector more: an odd number of cache lines.

    Rows of 2,048 bytes would share a quarter of the sets of the first cache.
    """
    return -(-n // 64) * 64 + WIDTH


def pad(W: np.ndarray, b: np.ndarray, c: np.ndarray) -> Padded:
    """Copy parameters into padded memory."""
    m, n = W.shape
    whole = -(-m // STRIP) * STRIP
    padded = Padded(aligned_zeros(whole, row_length(n)), aligned_zeros(whole), aligned_zeros(row_length(n)))
    for to, x in ((padded.W[:m, :n], W), (padded.b[:m], b), (padded.c[:n], c)):
        to[:] = x
    return padded


@inline
def padded_fits(W, n_visible, n_hidden):
    """Return whether W has room for these units in whole blocks."""
    whole = W.shape[0] % WIDTH == 0 and W.shape[1] % WIDTH == 0
    return whole and W.shape[0] >= n_visible and W.shape[1] >= (n_hidden + 63) // 64 * 64


@inner
def move_up(W, c, n_hidden, before, bits, x, lists, rebuild):
    """Make x = c + v W for the rows of ``bits``, and copy these to ``before``.

    before, bits uint8 (rows, n_visible): the old and the new v; x float32 (rows, row_length), which belongs to
    ``before`` unless ``rebuild``; lists int32 (2, n_visible + 4), work space.
    """
    rows, n_visible = bits.shape
    fits = padded_fits(W, n_visible, n_hidden) and c.shape[0] == x.shape[1] == W.shape[1]
    if not (fits and before.shape == bits.shape and x.shape[0] == rows and lists.shape[1] >= n_visible + 4):
        raise ValueError("move_up: the arrays do not fit each other")
    on, off = lists[0], lists[1]
    for r in range(rows):
        n_on, n_off, n_active = u64(0), u64(0), u64(0)
        new, old = bits[r], before[r]
        if not rebuild:
            for start in range(0, n_visible, 64):
                now, was = word(new, start), word(old, start)
                n_on = list_few_ones(now & ~was, start, on, n_on)
                n_off = list_few_ones(was & ~now, start, off, n_off)
                n_active += popcount(now)
        if rebuild or n_active <= n_on + n_off:
            n_on = u64(0)
            for start in range(0, n_visible, 64):
                n_on = list_ones(word(new, start), start, on, n_on)
            add_rows(c, x[r], f32(1.0), W, 0, n_hidden, on, i64(n_on), off, i64(0))
        else:
            add_rows(x[r], x[r], f32(1.0), W, 0, n_hidden, on, i64(n_on), off, i64(n_off))
        for i in range(n_visible):
            old[i] = new[i]


@inner
def means(x, beta, out):
    """Write out = sigmoid(beta x), float32 (rows, n); x float32 (rows, n at least)."""
    if x.shape[0] != out.shape[0] or x.shape[1] < out.shape[1]:
        raise ValueError("means: the arrays do not fit each other")
    for r in range(out.shape[0]):
        row, mean = x[r], out[r]
        for j in range(mean.shape[0]):
            mean[j] = sigmoid(beta * row[j])


@inner
def move_down(W, b, n_visible, h, starts, index, tile, y):
    """Make y = b + W h for the rows of h, uint8 (rows, n_hidden).

    starts int64 (words of h, rows + 1), index int32 (rows n_hidden + 4,), tile float32 (HIDDEN, STRIP): work space;
    y float32 (rows, row_length(n_visible)).
    """
    rows, n_hidden = h.shape
    at, none = u64(0), index[:0]
    for q in range(starts.shape[0]):
        for r in range(rows):
            starts[q, r] = at
            at = list_ones(word(h[r], HIDDEN * q), 0, index, at)
        starts[q, rows] = at
    for first in range(0, n_visible, STRIP):
        width = min(STRIP, (n_visible - first + WIDTH - 1) // WIDTH * WIDTH)
        for r in range(rows):
            for i in range(first, first + width):
                y[r, i] = b[i]
        for q in range(starts.shape[0]):
            for i in range(0, width, WIDTH):
                for j in range(0, min(HIDDEN, n_hidden - HIDDEN * q), WIDTH):
                    transpose_block(W, first + i, HIDDEN * q + j, tile, j, i)
            for r in range(rows):
                total, listed = y[r][first:], index[starts[q, r] :]
                n = starts[q, r + 1] - starts[q, r]
                add_rows(total, total, f32(1.0), tile, 0, width, listed, n, none, i64(0))


@inner
def sweep(W, b, stream, beta, x, h, starts, index, tile, y, mean, v):
    """Make a Gibbs sweep of every row at the inverse temperature beta.

    Parameters
    ----------
    W, b : see ``Padded``
    stream : uint32 (4, STREAM_LANES)
    beta : float32
    x : float32 (rows, row_length(n_hidden))
        c + v W, see ``move_up``.
    h, v : uint8 (rows, n_hidden), (rows, n_visible)
        Receive the drawn bits.
    starts, index, tile, y : see ``move_down``
    mean : float32 (units of the larger layer,)
        Work space.

    ValueError if the arrays do not fit each other.
    """
    (rows, n_visible), n_hidden = v.shape, h.shape[1]
    sizes = padded_fits(W, n_visible, n_hidden) and b.shape[0] == W.shape[0] and tile.shape == (HIDDEN, STRIP)
    state = x.shape == (rows, W.shape[1]) and h.shape[0] == rows and stream.shape == (4, STREAM_LANES)
    room = starts.shape == (-(-n_hidden // HIDDEN), rows + 1) and index.shape[0] >= rows * n_hidden
    room = room and y.shape[0] == rows and y.shape[1] >= n_visible + WIDTH
    if not (sizes and state and room and mean.shape[0] >= max(n_visible, n_hidden)):
        raise ValueError("sweep: the arrays do not fit each other")
    for r in range(rows):
        row = x[r]
        for j in range(n_hidden):
            mean[j] = sigmoid(beta * row[j])
        bernoulli(stream, mean, h[r])
    move_down(W, b, n_visible, h, starts, index, tile, y)
    for r in range(rows):
        row = y[r]
        for i in range(n_visible):
            mean[i] = sigmoid(beta * row[i])
        bernoulli(stream, mean, v[r])


@inline
def weigh(bits, h, weights, means, of_v, of_h, sign):
    """Write the weighted means of h, and add the weighted sums of the rows to of_v and of_h."""
    for r in range(bits.shape[0]):
        weight, v, mean, weighted = weights[r], bits[r], h[r], means[r]
        for j in range(mean.shape[0]):
            weighted[j] = weight * mean[j]
            of_h[j] += sign * weighted[j]
        for i in range(v.shape[0]):
            of_v[i] += sign * weight * f32(v[i])


@inline
def list_row(bits, start, lists, counts, row):
    """Append a row to the lists of the units whose bits are 1."""
    while bits:
        i = i64(u64(start) + first_one(bits))
        lists[i, counts[i]] = row
        counts[i] += 1
        bits &= bits - u64(1)


@inner
def collect(v, p, weights_p, w, q, weights_q, bits, lists, counts, means, of_v, of_h):
    """Prepare v' p - w' q, with weights; return False if v or w has other values than 0 and 1.

    Parameters
    ----------
    v, w : float32 (rows, n_visible)
        Examples, and samples, of which there may be more or fewer.
    p, q : float32 (rows, n_hidden)
    weights_p, weights_q : float32 (rows,)
    bits : uint8 (rows of both, n_visible)
        Work space.
    lists, counts : int32 (2, n_visible, rows of both), int64 (2, n_visible)
        Receive the rows of ``means`` that each unit adds, and those that it subtracts.
    means : float32 (rows of both, row_length(n_hidden))
        Receive the weighted means p, or p - q if v and w are alike, and then q.
    of_v, of_h : float32 (n_visible,), (n_hidden,)
        Receive the differences of the weighted sums of v and w, and of p and q.

    ValueError if the arrays do not fit each other.
    """
    (rows, n_visible), (others, n_hidden) = v.shape, q.shape
    both = rows + others
    given = p.shape == (rows, n_hidden) and w.shape == (others, n_visible)
    given = given and weights_p.shape[0] == rows and weights_q.shape[0] == others
    room = bits.shape == (both, n_visible) and means.shape[0] == both and means.shape[1] >= n_hidden
    room = room and lists.shape == (2, n_visible, both) and counts.shape == (2, n_visible)
    if not (given and room and of_v.shape[0] == n_visible and of_h.shape[0] == n_hidden):
        raise ValueError("collect: the arrays do not fit each other")
    examples, samples = bits[:rows], bits[rows:]
    if as_bits(v, examples) < 0 or as_bits(w, samples) < 0:
        return False
    for i in range(n_visible):
        of_v[i] = f32(0.0)
        counts[0, i] = counts[1, i] = 0
    for j in range(n_hidden):
        of_h[j] = f32(0.0)
    weigh(examples, p, weights_p, means[:rows], of_v, of_h, f32(1.0))
    weigh(samples, q, weights_q, means[rows:], of_v, of_h, f32(-1.0))
    active, differing = u64(0), u64(0)
    for r in range(rows if rows == others else 0):
        for start in range(0, n_visible, 64):
            sample = word(samples[r], start)
            active += popcount(sample)
            differing += popcount(word(examples[r], start) ^ sample)
    alike = differing < active
    for r in range(rows):
        for start in range(0, n_visible, 64):
            example = word(examples[r], start)
            list_row(example, start, lists[0], counts[0], r)
            if alike:
                sample = word(samples[r], start)
                list_row(example & ~sample, start, lists[0], counts[0], rows + r)
                list_row(sample & ~example, start, lists[1], counts[1], rows + r)
        if alike:
            for j in range(n_hidden):
                means[r, j] -= means[rows + r, j]
    for r in range(0 if alike else others):
        for start in range(0, n_visible, 64):
            list_row(word(samples[r], start), start, lists[1], counts[1], rows + r)
    return True


@inline
def collected_fits(W, n_hidden, lists, counts, means):
    """Return whether what ``collect`` has prepared fits W."""
    sizes = padded_fits(W, counts.shape[1], n_hidden) and means.shape[1] == W.shape[1]
    return sizes and lists.shape[:2] == counts.shape and counts.shape[0] == 2


@inner
def add_collected(W, n_hidden, rate, lists, counts, means):
    """Add rate times what ``collect`` has prepared to W, see ``Padded``; ValueError if it does not fit."""
    if not collected_fits(W, n_hidden, lists, counts, means):
        raise ValueError("add_collected: the arrays do not fit each other")
    for start in range(0, n_hidden, STRIP):  # means of so many columns stay in the second cache
        stop = min(start + STRIP, n_hidden)
        for i in range(counts.shape[1]):
            add, subtract = counts[0, i], counts[1, i]
            if add or subtract:
                add_rows(W[i], W[i], rate, means, start, stop, lists[0, i], add, lists[1, i], subtract)
