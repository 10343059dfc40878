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


@inline
def list_hidden(h, starts, index):
    """List the active units of each row, word by word: starts[q, r] is where those of word q begin."""
    at = u64(0)
    for q in range(starts.shape[0]):
        for r in range(h.shape[0]):
            starts[q, r] = at
            at = list_ones(word(h[r], HIDDEN * q), 0, index, at)
        starts[q, h.shape[0]] = at


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
    starts, index, tile : int64 (words of h, rows + 1), int32 (rows n_hidden,), float32 (HIDDEN, STRIP)
        Work space.
    y : float32 (rows, n_visible in whole strips), or (rows, STRIP)
        Receives b + W h, or is work space.
    mean : float32 (n_hidden or STRIP, whichever is more,)
        Work space.

    ValueError if the arrays do not fit each other.
    """
    (rows, n_visible), n_hidden = v.shape, h.shape[1]
    sizes = padded_fits(W, n_visible, n_hidden) and b.shape[0] == W.shape[0] and tile.shape == (HIDDEN, STRIP)
    state = x.shape == (rows, W.shape[1]) and h.shape[0] == rows and stream.shape == (4, STREAM_LANES)
    room = starts.shape == (-(-n_hidden // HIDDEN), rows + 1) and index.shape[0] >= rows * n_hidden
    room = room and y.shape[0] == rows and (y.shape[1] == STRIP or y.shape[1] == W.shape[0])
    if not (sizes and state and room and mean.shape[0] >= max(STRIP, n_hidden)):
        raise ValueError("sweep: the arrays do not fit each other")
    for r in range(rows):
        row = x[r]
        for j in range(n_hidden):
            mean[j] = sigmoid(beta * row[j])
        bernoulli(stream, mean, h[r])
    list_hidden(h, starts, index)
    none = index[:0]
    for first in range(0, n_visible, STRIP):
        units = min(STRIP, n_visible - first)
        width, at = -(-units // WIDTH) * WIDTH, 0 if y.shape[1] == STRIP else first
        for r in range(rows):
            for i in range(STRIP):
                y[r, at + i] = b[first + i]
        for q in range(starts.shape[0]):
            for i in range(0, units, WIDTH):
                for j in range(0, min(HIDDEN, n_hidden - HIDDEN * q), WIDTH):
                    transpose_block(W, first + i, HIDDEN * q + j, tile, j, i)
            for r in range(rows):
                total, n = y[r][at : at + width], starts[q, r + 1] - starts[q, r]
                add_rows(total, total, f32(1.0), tile, 0, width, index[starts[q, r] :], n, none, i64(0))
        for r in range(rows):
            total = y[r][at : at + STRIP]
            for i in range(STRIP):
                mean[i] = sigmoid(beta * total[i])
            bernoulli(stream, mean, v[r][first : first + units])


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
def list_row(bits, start, ends, lists, row):
    """Append a row to the lists of the units whose bits are 1."""
    while bits:
        i = i64(u64(start) + first_one(bits))
        lists[ends[i]] = row
        ends[i] += 1
        bits &= bits - u64(1)


@inner
def collect(v, p, weights_p, w, q, weights_q, starts, ends, lists, means, of_v, of_h):
    """Prepare v' p - w' q, with weights.

    Parameters
    ----------
    v, w : uint8 (rows, n_visible)
        Examples, and samples, of which there may be more or fewer.
    p, q : float32 (rows, n_hidden)
    weights_p, weights_q : float32 (rows,)
    starts, ends : int64 (2, n_visible + 1), (2, n_visible)
        Receive where the list of each unit begins and ends: of rows of ``means`` to add, and to subtract.
    lists : int32 (n_visible times rows of both,)
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
    room = starts.shape == (2, n_visible + 1) and ends.shape == (2, n_visible)
    room = (
        room and lists.shape[0] >= n_visible * both and means.shape[0] == both and means.shape[1] >= n_hidden
    )
    if not (given and room and of_v.shape[0] == n_visible and of_h.shape[0] == n_hidden):
        raise ValueError("collect: the arrays do not fit each other")
    for i in range(n_visible):
        of_v[i] = f32(0.0)
        ends[0, i] = ends[1, i] = 0
    for j in range(n_hidden):
        of_h[j] = f32(0.0)
    weigh(v, p, weights_p, means[:rows], of_v, of_h, f32(1.0))
    weigh(w, q, weights_q, means[rows:], of_v, of_h, f32(-1.0))
    active, differing = u64(0), u64(0)
    for r in range(rows if rows == others else 0):
        for start in range(0, n_visible, 64):
            sample = word(w[r], start)
            active += popcount(sample)
            differing += popcount(word(v[r], start) ^ sample)
    alike = differing < active
    # Rows that each unit adds and subtracts: first how many, then which.
    for r in range(rows):
        for i in range(n_visible):
            ends[0, i] += v[r, i]
        if alike:
            for i in range(n_visible):
                ends[0, i] += v[r, i] & ~w[r, i]
                ends[1, i] += w[r, i] & ~v[r, i]
            for j in range(n_hidden):
                means[r, j] -= means[rows + r, j]
    for r in range(0 if alike else others):
        for i in range(n_visible):
            ends[1, i] += w[r, i]
    at = 0
    for side in range(2):
        for i in range(n_visible):
            starts[side, i] = at
            at += ends[side, i]
            ends[side, i] = starts[side, i]
        starts[side, n_visible] = at
    for r in range(rows):
        for start in range(0, n_visible, 64):
            example = word(v[r], start)
            list_row(example, start, ends[0], lists, r)
            if alike:
                sample = word(w[r], start)
                list_row(example & ~sample, start, ends[0], lists, rows + r)
                list_row(sample & ~example, start, ends[1], lists, rows + r)
    for r in range(0 if alike else others):
        for start in range(0, n_visible, 64):
            list_row(word(w[r], start), start, ends[1], lists, rows + r)


@inner
def add_collected(W, n_hidden, rate, starts, lists, means):
    """Add rate times what ``collect`` has prepared to W, see ``Padded``; ValueError if it does not fit."""
    n_visible = starts.shape[1] - 1
    fits = padded_fits(W, n_visible, n_hidden) and means.shape[1] == W.shape[1] and starts.shape[0] == 2
    if not (fits and lists.shape[0] >= n_visible * means.shape[0]):
        raise ValueError("add_collected: the arrays do not fit each other")
    for start in range(0, n_hidden, STRIP):  # the means of so many columns stay in the cache
        stop = min(start + STRIP, n_hidden)
        for i in range(n_visible):
            add, subtract = starts[0, i], starts[1, i]
            n_add, n_subtract = starts[0, i + 1] - add, starts[1, i + 1] - subtract
            if n_add or n_subtract:
                add_rows(
                    W[i], W[i], rate, means, start, stop, lists[add:], n_add, lists[subtract:], n_subtract
                )
