"""Batches of chains, and updates of parameters from their rows, at a cost proportional to the active units.

The parameters are one matrix P in aligned memory (``pad``): W, below it c, as the row of a visible unit that
is always 1, and beside it b. Bits are words of 64 units: (words, rows padded to whole words).

- v P and h P' add the rows of the active units to 0 or, where these are fewer, those of the units that differ
  from the last v or h to the last sum. Tiles stay in the first cache while all rows pass by; those of P' are
  transposed in registers.
- v' p - w' q, for examples v and samples w, is never formed: each unit lists the rows in which it is active,
  and its row of P takes up their means at once; a unit that is never active is not touched. Where v and w are
  alike, as in CD, v' (p - q) + (v - w)' q has fewer terms.

Sums are float32, in the order of units or rows, on every machine.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import checked, inner, private
from rbmviz.kernels._llvm import INT, constant, in_llvm, pick, vector
from rbmviz.kernels.annealing import UNIT_GROUP, plus_softplus
from rbmviz.kernels.bits import as_word, equal, list_few_ones, popcount
from rbmviz.kernels.hamming import words_of
from rbmviz.kernels.random import STREAM_LANES, draw_block, sigmoid
from rbmviz.kernels.vectors import WIDTH, add_rows, aligned_zeros, fetch, transpose_block

f32, f64, i64, u64 = np.float32, np.float64, np.int64, np.uint64


class Work(NamedTuple):
    """What the kernels write for some number of rows at most."""

    v: np.ndarray  # uint64 (2, words of units and a 1, rows): bits of x; those that come next
    h: np.ndarray  # uint64 (2, words, rows): the hidden bits of y, and those that come next
    x: np.ndarray  # float32 (rows + 1, whole words): v P, which is c + v W; at last 0
    y: np.ndarray  # float32 (rows + 1, whole words): b + h W'; at last b
    anew: np.ndarray  # bool (rows,): whether x or y is summed anew
    starts: np.ndarray  # int64 (2, groups of words, rows + 1): of the lists in ``listed``
    listed: np.ndarray  # int32 (2, ...): units to add, and to subtract, by groups of words and rows
    tile: np.ndarray  # float32 (whole words of hidden units, 64): 64 columns of P', or means to draw from


class Sums(NamedTuple):
    """What the kernels write for v' p - w' q, for some numbers of rows of v and of w."""

    bits: np.ndarray  # uint64 (words, rows of v in whole words and those of w)
    units: np.ndarray  # uint64 (words of these rows, whole words of units): the same, transposed
    rows: np.ndarray  # float32 (the same rows, length of a row of P): weighted means of h, and the weights
    listed: np.ndarray  # int32 (2, ...): rows to add for one unit, and to subtract
    total: np.ndarray  # float32 (2, length of a row of P): zeros, and what is added to a row
    alike: np.ndarray  # bool (1,): whether the rows are those of v'(p - q) + (v - w)' q


def words(n: int) -> int:
    """Return the number of words of n bits."""
    return -(-n // 64)


def shape(m: int, n: int) -> tuple[int, int]:
    """Return the shape of P; rows are an odd number of cache lines long.

    Those of 2,048 bytes would share a quarter of the sets of the first cache.
    """
    return 64 * words(m + 1), ((n + WIDTH) // WIDTH | 1) * WIDTH


def zeros(m: int, n: int) -> np.ndarray:
    """Return a matrix like P, of zeros."""
    return aligned_zeros(*shape(m, n))


def pad(W: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the matrix P of parameters."""
    (m, n), P = W.shape, zeros(*W.shape)
    P[:m, :n], P[:m, n], P[m, :n] = W, b, c
    return P


def packed(v: np.ndarray) -> np.ndarray:
    """Return rows of bits, uint8 (rows, n_visible), and a unit that is always 1, as uint64 (rows, words)."""
    return words_of(np.packbits(np.pad(v, ((0, 0), (0, 1)), constant_values=1), axis=1, bitorder="little"))


def _shapes_of_work(m, n, rows):
    M, N = 64 * words(m + 1), 64 * words(n)
    longest, whole = max(M, N), 64 * words(rows)
    lists = (2, longest // 64, rows + 1), (2, rows * longest + 4)
    return [(2, M // 64, whole), (2, N // 64, whole), (rows + 1, N), (rows + 1, M), (rows,), *lists, (N, 64)]


def make_work(m: int, n: int, rows: int) -> Work:
    """Return work space for some number of rows."""
    v, h, x, y, anew, starts, listed, tile = _shapes_of_work(m, n, rows)
    return Work(
        *(np.zeros(v, np.uint64), np.zeros(h, np.uint64), aligned_zeros(*x), aligned_zeros(*y)),
        *(np.zeros(anew, np.bool_), np.zeros(starts, np.int64), np.zeros(listed, np.int32)),
        aligned_zeros(*tile),
    )


def fits(P, m, n, work):
    """Return whether P and work space have the sizes of these units."""
    return P.shape == shape(m, n) and [x.shape for x in work] == _shapes_of_work(m, n, len(work.anew))


def _shapes_of_sums(m, n, rows, others):
    (M, N), both = shape(m, n), 64 * (words(rows) + words(others))
    return [(M // 64, both), (both // 64, M), (both, N), (2, 2 * both + 4), (2, N), (1,)]


def make_sums(m: int, n: int, rows: int, others: int) -> Sums:
    """Return work space for some numbers of rows."""
    bits, units, some, listed, total, alike = _shapes_of_sums(m, n, rows, others)
    words_of_bits = np.zeros(bits, np.uint64), np.zeros(units, np.uint64)
    lists = np.zeros(listed, np.int32), aligned_zeros(*total), np.zeros(alike, np.bool_)
    return Sums(*words_of_bits, aligned_zeros(*some), *lists)


def sums_fit(P, m, n, sums, rows, others):
    """Return whether P and work space have the sizes of these units and rows."""
    return P.shape == shape(m, n) and [x.shape for x in sums] == _shapes_of_sums(m, n, rows, others)


def make_weights(m: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return float64 (2, rows) for logarithms of weights and the normalised ones; work space for a row."""
    return np.zeros((2, rows)), np.zeros(m, np.float32), np.zeros((2, UNIT_GROUP))


def _bits_transposed_in_python(bits, at, out, to):
    rows = bits.reshape(-1)[at : at + 64]
    for unit in range(64):
        out.reshape(-1)[to + unit] = as_word((rows >> u64(unit)) & u64(1) != 0)


@in_llvm("void(uint64[:, ::1], int64, uint64[:, ::1], int64)", means=_bits_transposed_in_python)
def transpose_bits(build, bits, at, out, to):
    """Write the 64 x 64 bits of the words from offset ``at`` on, transposed, to ``out`` from an offset on.

    In six rounds pairs of rows exchange blocks of 32, 16, 8, 4, 2 and 1 bits.
    """
    rows = bits.load(at, 64)
    for step in (32, 16, 8, 4, 2, 1):
        pairs = [k for k in range(64) if not k & step]
        low, high = pick(build, rows, pairs), pick(build, rows, [k | step for k in pairs])
        some = constant(low.type, sum(1 << k for k in pairs))
        swapped = build.and_(build.xor(build.lshr(low, constant(low.type, step)), high), some)
        low, high = build.xor(low, build.shl(swapped, constant(low.type, step))), build.xor(high, swapped)
        places = [pairs.index(k & ~step) + (32 if k & step else 0) for k in range(64)]
        rows = build.shuffle_vector(low, high, constant(vector(INT, 64), places))
    out.store(to, rows)


@private
def copy_words(x, begin, rows, out, first):
    """Write the bits x of some rows, from a row on, into out, from another row on."""
    for k in range(x.shape[0]):
        for r in range(rows):
            out[k, first + r] = x[k, begin + r]


@private
def padded(n):
    """Return n, padded to whole vectors."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


@private
def list_units(bits, rows, least, anew, starts, listed):
    """List the units of each row to add and to subtract, which make the bits those that come next.

    If fewer units of a row are active than differ, but at least so many, its sum is made anew. A group of two
    words reads rows of a tile that stay in the first cache; where most sums are made anew these are many.
    Return the number of groups, and the units of a group, from whose first one the lists count.
    """
    before, now, words, n_anew, n_on, n_off, groups = bits[0], bits[1], bits.shape[1], 0, u64(0), u64(0), 0
    for r in range(rows):
        active, flips = u64(0), u64(0)
        for k in range(words):
            active += popcount(now[k, r])
            flips += popcount(now[k, r] ^ before[k, r])
        anew[r] = least <= active <= flips
        n_anew += anew[r]
        for k in range(words if anew[r] else 0):
            before[k, r] = u64(0)
    size = 2 if 2 * n_anew > rows else words
    for first in range(0, words, size):
        for r in range(rows):
            starts[0, groups, r], starts[1, groups, r] = n_on, n_off
            for k in range(first, min(first + size, words)):
                n_on = list_few_ones(now[k, r] & ~before[k, r], 64 * (k - first), listed[0], n_on)
                if not anew[r]:
                    n_off = list_few_ones(before[k, r] & ~now[k, r], 64 * (k - first), listed[1], n_off)
                before[k, r] = now[k, r]
        starts[0, groups, rows], starts[1, groups, rows] = n_on, n_off
        groups += 1
    return groups, 64 * size


@private
def add_listed(matrix, column, value, rows, start, stop, q, anew, starts, listed):
    """Add the rows of a matrix that a group lists, from a column on, to value[:rows, start:stop]."""
    on, off, one = starts[0, q], starts[1, q], f32(1.0)
    for r in range(rows):
        if rows > 200:  # as many sums are not in the second cache
            fetch(value, r + 4, start)
        more, less, base = listed[0, on[r] :], listed[1, off[r] :], r
        n_more, n_less = on[r + 1] - on[r], off[r + 1] - off[r]
        if q == 0 and anew[r]:
            base = value.shape[0] - 1
        elif n_more + n_less == 0:
            continue
        add_rows(value[base], value[r], one, matrix, start, stop, column, more, n_more, less, n_less)


@private
def move(P, n, rows, work):
    """Make x the product of P with the visible bits that come next; rows without any bit keep their x."""
    lists = work.anew, work.starts, work.listed
    groups, size = list_units(work.v, rows, u64(1), *lists)
    for start in range(0, n, 64):
        for q in range(groups):
            add_listed(P[q * size :], start, work.x, rows, start, padded(min(start + 64, n)), q, *lists)


@private
def descend(P, m, n, rows, work):
    """Make y the product of the hidden bits that come next with the transpose of P."""
    lists, b = (work.anew, work.starts, work.listed), work.y[work.y.shape[0] - 1]
    groups, size = list_units(work.h, rows, u64(0), *lists)
    for i in range(m):
        b[i] = P[i, n]
    for start in range(0, m, 64):
        stop = min(start + 64, padded(m))
        for q in range(groups):
            for i in range(start, stop, WIDTH):
                for j in range(q * size, min((q + 1) * size, n), WIDTH):
                    transpose_block(P, i, j, work.tile, j - q * size, i - start)
            add_listed(work.tile, 0, work.y, rows, start, stop, q, *lists)


@inner
def pack(v, bits, first):
    """Write v, float32 (rows, n_visible), as bits, from a row on; return False if not all values are 0 and 1.

    bits uint64 (words, rows at least): see ``Work`` and ``Sums``; the last unit is always 1.
    """
    rows, m = v.shape
    if first < 0 or bits.shape[0] != (m + 64) // 64 or bits.shape[1] < first + rows:
        raise ValueError("pack: the arrays do not fit each other")
    for r in range(rows):
        for k in range(bits.shape[0]):
            n = min(64, m - 64 * k)
            ones = equal(v[r], 64 * k, n, f32(1.0))
            if ones | equal(v[r], 64 * k, n, f32(0.0)) != ~u64(0):
                return False
            bits[k, first + r] = ones
        bits[m // 64, first + r] |= u64(1) << u64(m % 64)
    return True


@inner
def means(x, beta, out):
    """Write out = sigmoid(beta x), float32 (rows, n); x float32 (rows at least, n at least)."""
    if x.shape[0] < out.shape[0] or x.shape[1] < out.shape[1]:
        raise ValueError("means: the arrays do not fit each other")
    for r in range(out.shape[0]):
        row, mean = x[r], out[r]
        for j in range(mean.shape[0]):
            mean[j] = sigmoid(beta * row[j])


@private
def draw(streams, x, beta, rows, n, mean, bits):
    """Draw the n bits of each row with means sigmoid(beta x); mean float32 (STREAM_LANES,): work space."""
    for r in range(rows):
        stream = streams[r if streams.shape[0] > 1 else 0]
        for k in range(bits.shape[0]):
            left, some = n - 64 * k, x[r, 64 * k :]
            if left <= 0:  # of a word that has only the unit that is always 1
                bits[k, r] = u64(0)
                continue
            for j in range(mean.shape[0]):
                mean[j] = sigmoid(beta * some[j])
            bits[k, r] = draw_block(stream, mean, 0) & (~u64(0) >> u64(64 - min(left, 64)))


@private
def draw_both(P, streams, beta, m, n, rows, work):
    """Draw h from x and then v, the visible bits that come next, at the inverse temperature beta."""
    draw(streams, work.x, beta, rows, n, work.tile[0], work.h[1])
    descend(P, m, n, rows, work)
    draw(streams, work.y, beta, rows, m, work.tile[0], work.v[1])
    for r in range(rows):
        work.v[1, m // 64, r] |= u64(1) << u64(m % 64)


@checked(fits)
@inner
def inputs(P, m, n, work):
    """Make x the product of P with the bits that come next. ValueError if arrays do not fit each other."""
    move(P, n, work.anew.shape[0], work)


@checked(fits)
@inner
def inputs_of_visible(P, m, n, work):
    """Make y the product of P' with the bits that come next. ValueError if arrays do not fit each other."""
    descend(P, m, n, work.anew.shape[0], work)


def _sweep_fits(P, streams, beta, n, work, out):
    (rows, m), one, each = out.shape, (1, 4, STREAM_LANES), (len(out), 4, STREAM_LANES)
    return streams.shape in (one, each) and rows == len(work.anew) and fits(P, m, n, work)


@checked(_sweep_fits)
@inner
def sweep(P, streams, beta, n, work, out):
    """Make a Gibbs sweep of every row at the inverse temperature beta, from the bits that come next to out.

    streams uint32 (1, 4, STREAM_LANES), or one for each row; out float32 (rows, n_visible).
    ValueError if the arrays do not fit each other.
    """
    rows, m = out.shape
    move(P, n, rows, work)
    draw_both(P, streams, beta, m, n, rows, work)
    for r in range(rows):
        unpack(work.v[1], r, out[r])


@private
def add_rows_to(P, rate, m, n, rows, others, sums, squares):
    """Do ``add`` with the rows of ``sums``."""
    units, on, off, last = sums.units, sums.listed[0], sums.listed[1], padded(n + 1)
    zeros, total = sums.total[0], sums.total[1]
    first_w, alike = (rows + 63) // 64, sums.alike[0]
    zero = i64(0)  # a literal would compile another form
    for i in range(m + 1):
        n_on, n_off, active = u64(0), u64(0), u64(0)
        for k in range(units.shape[0]):
            active |= units[k, i]
        if active == u64(0):
            continue
        for k in range(units.shape[0]):
            there = units[k, i]
            if k < first_w:
                n_on = list_few_ones(there, 64 * k, on, n_on)
                continue
            if alike:
                of_v = units[k - first_w, i]
                n_on = list_few_ones(of_v & ~there, 64 * k, on, n_on)
                there &= ~of_v
            n_off = list_few_ones(there, 64 * k, off, n_off)
        row, end_on, end_off, base, out, factor = P[i], i64(n_on), i64(n_off), P[i], P[i], rate
        if squares.shape[0] > 0:  # one call, for both: it is compiled where it stands
            base, out, factor = zeros, total, f32(1.0)
        add_rows(base, out, factor, sums.rows, zero, last, zero, on, end_on, off, end_off)
        if squares.shape[0] > 0:
            for j in range(row.shape[0]):
                squares[j] += f64(total[j]) * f64(total[j])
                row[j] += rate * total[j]


@private
def compare(rows, others, sums):
    """Transpose the bits, and make p of ``sums.rows`` p - q, if this leaves fewer rows to add."""
    first_w, active, differing = (rows + 63) // 64 * 64, u64(0), u64(0)
    for k in range(sums.bits.shape[0]):
        for r in range(0, sums.bits.shape[1], 64):
            transpose_bits(sums.bits, k * sums.bits.shape[1] + r, sums.units, r * sums.bits.shape[0] + 64 * k)
        for r in range(others if others == rows else 0):
            active += popcount(sums.bits[k, first_w + r])
            differing += popcount(sums.bits[k, first_w + r] ^ sums.bits[k, r])
    sums.alike[0] = differing < active
    for r in range(rows if sums.alike[0] else 0):
        row, other = sums.rows[r], sums.rows[first_w + r]
        for j in range(row.shape[0]):
            row[j] -= other[j]


@private
def weigh(h, weights, rows, first):
    """Write the weighted means of h to rows from the first one on, and the weights beside them."""
    for r in range(h.shape[0]):
        mean, row, weight = h[r], rows[first + r], weights[r]
        for j in range(mean.shape[0]):
            row[j] = weight * mean[j]
        row[mean.shape[0]] = weight


def _add_fits(P, rate, m, p, weights_p, q, weights_q, sums, anew, squares):
    (rows, n), others = p.shape, len(q)
    given = q.shape[1] == n and len(weights_p) == rows and len(weights_q) == others
    return given and sums_fit(P, m, n, sums, rows, others) and len(squares) in (0, P.shape[1])


@checked(_add_fits)
@inner
def add(P, rate, m, p, weights_p, q, weights_q, sums, anew, squares):
    """Make P = P + rate (v' p - w' q), with weights, for the bits v and w of ``sums``.

    Parameters
    ----------
    P : see ``pad``
    rate : float32
    m : int
        Number of visible units.
    p, weights_p, q, weights_q : float32 (rows, n_hidden), (rows,)
        Means of h for the rows of v, and for those of w, of which there may be more or fewer.
    sums : see ``Sums``
    anew : bool
        False if ``sums.rows`` are there from the last call.
    squares : float64 (length of a row of P,)
        Receives the sums of squares of each column of what is added at rate 1; with no numbers if unwanted.

    ValueError if the arrays do not fit each other.
    """
    (rows, n), others = p.shape, q.shape[0]
    if anew:
        weigh(p, weights_p, sums.rows, 0)
        weigh(q, weights_q, sums.rows, (rows + 63) // 64 * 64)
        compare(rows, others, sums)
    add_rows_to(P, rate, m, n, rows, others, sums, squares)


@private
def weigh_means(x, n, rows, out, first, weights):
    """Do ``weigh`` for the means of h with inputs x; with equal weights if there are none."""
    equal = f32(1.0) / f32(rows)
    for r in range(rows):
        some, row, weight = x[r][:n], out[first + r], equal if weights is None else f32(weights[0][1, r])
        for j in range(some.shape[0]):
            row[j] = weight * sigmoid(some[j])
        row[n] = weight


@private
def weigh_samples(P, m, n, rows, work, weights):
    """Weigh the visible bits by p~(v) / p(v|h), see ``trainers.pop_cd``, for the h that has drawn them."""
    (both, v, terms), most, summed = weights, -np.inf, 0.0
    log, share, b, zeros = both[0], both[1], work.y[work.y.shape[0] - 1], work.x[work.x.shape[0] - 1]
    for r in range(rows):
        unpack(work.v[0], r, v)
        log[r] = plus_softplus(0.0, work.x[r][:n], P[m][:n], zeros[:n], terms)
        log[r] = plus_softplus(log[r], work.y[r][:m], b[:m], v, terms)
        most = max(most, log[r])
    for r in range(rows):
        share[r] = np.exp(log[r] - most)
        summed += share[r]
    for r in range(rows):
        share[r] /= summed


@private
def unpack(bits, r, out):
    """Write the bits of a row, of (words, rows), to out, float32, as 0 and 1."""
    for k in range(bits.shape[0]):
        row, some = out[64 * k : 64 * k + 64], bits[k, r]
        for i in range(row.shape[0]):
            row[i] = f32(some >> u64(i) & u64(1))


def _train_fits(P, streams, data, order, k, rates, u, others, m, n, work, sums, squares, weights):
    updates, rows = order.shape
    given = streams.shape == (1, 4, STREAM_LANES) and data.shape[1] == words(m + 1) and len(rates) == updates
    chains = len(u) == words(m + 1) and u.shape[1] >= others if len(u) else rows == others
    weighed = weights is None or [x.shape for x in weights] == [(2, others), (m,), (2, UNIT_GROUP)]
    room = max(rows, others) <= len(work.anew) and fits(P, m, n, work)
    room = room and sums_fit(P, m, n, sums, rows, others)
    return given and chains and weighed and room and len(squares) == P.shape[1]


@checked(_train_fits)
@inner
def train(P, streams, data, order, k, rates, u, others, m, n, work, sums, squares, weights):
    """Make an update for each row of ``order``, by k sweeps that begin at the examples, or at chains.

    Parameters
    ----------
    P : see ``pad``
    streams : uint32 (1, 4, STREAM_LANES)
    data : uint64 (examples, words)
        See ``packed``.
    order : int64 (updates, rows)
        The examples of each mini-batch.
    rates : float32 (updates,)
    u : uint64 (words, chains at least)
        Bits of persistent chains, which go on; without words, chains begin at the examples.
    others, m, n : int
        Numbers of chains, of visible and of hidden units.
    work, sums : Work, Sums
    squares : see ``add``
        Those of the last update.
    weights : None, or see ``make_weights`` and ``weigh_samples``: those of the last update

    Then ``sums.bits`` are the last mini-batch and chains.
    ValueError if the arrays do not fit each other.
    """
    (updates, rows), persistent = order.shape, u.shape[0] > 0
    first, first_w = i64(0), (rows + 63) // 64 * 64
    for t in range(updates):
        forget(work.v, work.h)
        for r in range(rows):
            for i in range(work.v.shape[1]):
                work.v[1, i, r] = data[order[t, r], i]
        for s in range(k + 2):
            move(P, n, rows if s == 0 else others, work)
            if s == 0:
                weigh_means(work.x, n, rows, sums.rows, first, None)
                copy_words(work.v[0], first, rows, sums.bits, first)
                if persistent and rows != others:
                    forget(work.v, work.h)
                copy_words(u, first, others if persistent else 0, work.v[1], first)
            elif s <= k:
                draw_both(P, streams, f32(1.0), m, n, others, work)
        if weights is not None:
            weigh_samples(P, m, n, others, work, weights)
        weigh_means(work.x, n, others, sums.rows, first_w, weights)
        copy_words(work.v[0], first, others, sums.bits, first_w)
        copy_words(work.v[0], first, others if persistent else 0, u, first)
        compare(rows, others, sums)
        measured = squares[: squares.shape[0] if t == updates - 1 else 0]
        add_rows_to(P, rates[t], m, n, rows, others, sums, measured)


@private
def forget(v, h):
    """Make the bits of x and y 0: both belong to other parameters."""
    for bits in (v[0], h[0]):
        for k in range(bits.shape[0]):
            for r in range(bits.shape[1]):
                bits[k, r] = u64(0)
