"""Gibbs sweeps of a batch, and updates of W from its rows, at a cost proportional to the active units.

W lies in padded memory (``pad``), so that its rows are summed where they are:

- v W adds the rows of W of the active units or, where these are fewer, of those that differ from the last v.
- W h reads tiles of W, transposed in registers: a tile of HIDDEN x STRIP numbers stays in the first cache
  while all rows of the batch add its lines.
- v' p - w' q, for examples v and samples w, is no matrix of its own. Each unit lists the rows in which it is
  active, and its row of W takes up the means of these once; a unit that is never active is not touched. Where
  v and w are alike, as for CD, v' (p - q) + (v - w)' q has fewer terms.

Sums are float32, in the order of units or rows, on every machine.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner
from rbmviz.kernels.bits import first_one, list_few_ones, popcount, word
from rbmviz.kernels.layers import REBUILD_SWEEPS, copy_bits
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid
from rbmviz.kernels.vectors import STRIP, WIDTH, add_rows, aligned_zeros, transpose_block

f32, f64, i64, u64 = np.float32, np.float64, np.int64, np.uint64

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
    return (n + 63) // 64 * 64 + WIDTH


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

    before, bits uint8 (rows, n_visible): the old and the new v; x float32 (rows, row_length(n_hidden)), which
    belongs to ``before`` unless ``rebuild``; lists int32 (2, n_visible + 4): work space. ValueError if the
    arrays do not fit.
    """
    rows, n_visible = bits.shape
    fits = padded_fits(W, n_visible, n_hidden) and c.shape[0] == x.shape[1] == W.shape[1]
    fits = fits and lists.shape == (2, n_visible + 4)
    if not (fits and before.shape == bits.shape and x.shape[0] == rows):
        raise ValueError("move_up: the arrays do not fit each other")
    on, off = lists[0], lists[1]
    for r in range(rows):
        new, old = bits[r], before[r]
        n_on, n_off, n_active, n_flips = u64(0), u64(0), u64(0), u64(0)
        for start in range(0, n_visible, 64):
            now = word(new, start)
            n_active += popcount(now)
            n_flips += popcount(now ^ word(old, start))
        afresh = rebuild or n_active <= n_flips
        for start in range(0, n_visible, 64):
            now, was = word(new, start), u64(0) if afresh else word(old, start)
            n_on = list_few_ones(now & ~was, start, on, n_on)
            n_off = list_few_ones(was & ~now, start, off, n_off)
        base = c if afresh else x[r]
        add_rows(base, x[r], f32(1.0), W, 0, n_hidden, on, i64(n_on), off, i64(n_off))
        copy_bits(new, old)


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
    """List the active units of each row by words; those of word q begin at starts[q, r]."""
    at = u64(0)
    for q in range(starts.shape[0]):
        for r in range(h.shape[0]):
            starts[q, r] = at
            at = list_few_ones(word(h[r], HIDDEN * q), 0, index, at)
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
    starts, index : int64 (words of h, rows + 1), int32 (rows n_hidden + 4,)
        Work space.
    tile, y : float32 (HIDDEN, STRIP), (rows, STRIP)
        Work space.
    mean : float32 (n_hidden or STRIP, whichever is more,)
        Work space.

    ValueError if the arrays do not fit each other.
    """
    (rows, n_visible), n_hidden = v.shape, h.shape[1]
    sizes = padded_fits(W, n_visible, n_hidden) and b.shape[0] == W.shape[0] and tile.shape == (HIDDEN, STRIP)
    state = x.shape == (rows, W.shape[1]) and h.shape[0] == rows and stream.shape == (4, STREAM_LANES)
    room = starts.shape == (-(-n_hidden // HIDDEN), rows + 1) and index.shape[0] == rows * n_hidden + 4
    room = room and y.shape == (rows, STRIP)
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
        width = -(-units // WIDTH) * WIDTH
        for r in range(rows):
            for i in range(STRIP):
                y[r, i] = b[first + i]
        for q in range(starts.shape[0]):
            for i in range(0, units, WIDTH):
                for j in range(0, min(HIDDEN, n_hidden - HIDDEN * q), WIDTH):
                    transpose_block(W, first + i, HIDDEN * q + j, tile, j, i)
            for r in range(rows):
                total, n = y[r][:width], starts[q, r + 1] - starts[q, r]
                add_rows(total, total, f32(1.0), tile, 0, width, index[starts[q, r] :], n, none, i64(0))
        for r in range(rows):
            total = y[r]
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
    room = room and lists.shape[0] == n_visible * both
    room = room and means.shape == (both, (n_hidden + 63) // 64 * 64 + WIDTH)
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


@inline
def follow(x, g, velocity, mean, start, stop, rule, averaged):
    """Move x along the direction g, overwritten, by a rule, see ``add_collected``, from start to stop."""
    rate, momentum, decay, box = rule[0], rule[1], rule[2], rule[3]
    if decay != f32(0.0):
        for j in range(start, stop):
            g[j] -= decay * x[j]
    if velocity.shape[0]:
        for j in range(start, stop):
            velocity[j] = momentum * velocity[j] + g[j]
            g[j] = velocity[j]
    for j in range(start, stop):
        x[j] += rate * g[j]
    if box != f32(0.0):
        for j in range(start, stop):  # what is no number stays none
            x[j] = box if x[j] > box else (-box if x[j] < -box else x[j])
    if mean.shape[0]:
        for j in range(start, stop):
            mean[j] += (f64(x[j]) - mean[j]) / averaged


@inner
def add_collected(W, rule, averaged, measured, starts, lists, means, velocity, mean, total, squares):
    """Move W along what ``collect`` has prepared.

    Parameters
    ----------
    W : see ``Padded``
    rule : float32 (4,)
        Rate, momentum, weight decay, and half the width of the box; 0 for none.
    averaged : float
        Iterates in the mean, this one included.
    measured : bool
        Whether ``squares``, float64 (n_hidden,), receives the sums of squares of each column of the gradient.
    starts, lists, means : see ``collect``
    velocity, mean : float32, float64 (n_visible, n_hidden)
        Updated in place; with no rows if there is none.
    total : float32 (2, row_length(n_hidden))
        Work space, the first row zero.

    ValueError if the arrays do not fit each other.
    """
    n_visible, n_hidden = starts.shape[1] - 1, squares.shape[0]
    moves, is_mean = velocity.shape[0] > 0, mean.shape[0] > 0
    fits = padded_fits(W, n_visible, n_hidden) and means.shape[1] == W.shape[1] and starts.shape[0] == 2
    fits = fits and lists.shape[0] == n_visible * means.shape[0] and total.shape == (2, W.shape[1])
    fits = fits and (not moves or velocity.shape == (n_visible, n_hidden)) and rule.shape[0] == 4
    if not (fits and (not is_mean or mean.shape == (n_visible, n_hidden))):
        raise ValueError("add_collected: the arrays do not fit each other")
    sparse = not (moves or is_mean) and rule[2] == f32(0.0) and rule[3] == f32(0.0)
    plain = sparse and not measured
    zeros, g, no_velocity, no_mean = total[0], total[1], total[0][:0], squares[:0]
    for j in range(n_hidden):
        squares[j] = 0.0
    for start in range(0, n_hidden, STRIP):  # the means of so many columns stay in the cache
        stop = min(start + STRIP, n_hidden)
        for i in range(n_visible):
            add, subtract = lists[starts[0, i] : starts[0, i + 1]], lists[starts[1, i] : starts[1, i + 1]]
            if sparse and len(add) + len(subtract) == 0:
                continue
            base, out, rate = (W[i], W[i], rule[0]) if plain else (zeros, g, f32(1.0))
            add_rows(base, out, rate, means, start, stop, add, len(add), subtract, len(subtract))
            if not plain:
                for j in range(start, stop):
                    squares[j] += f64(g[j]) * f64(g[j])
                v, average = velocity[i] if moves else no_velocity, mean[i] if is_mean else no_mean
                follow(W[i], g, v, average, start, stop, rule, averaged)


@inner
def update_from_sweeps(
    data, order, rates, padded, stream, k, lasting, measured, v, u, arrays, drawing, p, q, weights, sums, rest
):
    """Make updates by k sweeps of chains that persist, or start at the mini-batch: as one by one, to the bit.

    Parameters
    ----------
    data, order, rates : uint8 (n, n_visible), int64 (updates, rows), float32 (updates,)
        The examples, the mini-batches (indices are not checked), and the learning rates.
    measured : bool
        Whether the squares of the last gradient are summed, see ``add_collected``.
    v, u : uint8 (rows, n_visible)
        Work space, and the chains, if they persist.
    arrays, drawing : x, before, bits and lists of ``move_up``, and the arrays of ``sweep`` from h to mean
    p, q, weights : float32 (rows, n_hidden), (rows,)
        Work space, and the weight of each row.
    sums : arrays that ``collect`` writes
    rest : rule and arrays of ``add_collected`` from velocity on

    ValueError if the arrays do not fit each other.
    """
    (W, b, c), (x, before, bits, lists) = padded, arrays
    (h, starts, index, tile, y, mean), (of_units, ends, listed, means_of_rows, of_v, of_h) = drawing, sums
    rule, velocity, mean_W, total, squares = rest
    fits = order.shape[1] == v.shape[0] and rates.shape[0] == order.shape[0] and u.shape == v.shape
    fits = fits and h.shape[1] == p.shape[1] == squares.shape[0] and bits.shape == v.shape
    if not (fits and data.shape[1] == v.shape[1] and rule.shape[0] == 4):
        raise ValueError("update_from_sweeps: the arrays do not fit each other")
    for t in range(order.shape[0]):
        for r in range(v.shape[0]):
            copy_bits(data[order[t, r]], v[r])
        move_up(W, c, p.shape[1], before, v, x, lists, True)
        means(x, f32(1.0), p)
        moves = 1
        if lasting:
            move_up(W, c, p.shape[1], before, u, x, lists, False)
            moves += 1
        for _ in range(k):
            sweep(W, b, stream, f32(1.0), x, h, starts, index, tile, y, mean, bits)
            move_up(W, c, p.shape[1], before, bits, x, lists, moves % REBUILD_SWEEPS == 0)
            moves += 1
        means(x, f32(1.0), q)
        collect(v, p, weights, bits, q, weights, of_units, ends, listed, means_of_rows, of_v, of_h)
        rule[0] = rates[t]
        last = measured and t == order.shape[0] - 1
        add_collected(W, rule, 1.0, last, of_units, listed, means_of_rows, velocity, mean_W, total, squares)
        for i in range(of_v.shape[0]):
            b[i] += rates[t] * of_v[i]
        for j in range(of_h.shape[0]):
            c[j] += rates[t] * of_h[j]
        for r in range(u.shape[0] if lasting else 0):
            copy_bits(bits[r], u[r])
