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

from rbmviz.kernels._jit import inner, private
from rbmviz.kernels._llvm import WORD, constant, in_llvm, spread, word_of
from rbmviz.kernels.bits import as_word, list_few_ones, popcount, whole_word, word, write_word
from rbmviz.kernels.random import STREAM_LANES, draw_block, sigmoid
from rbmviz.kernels.vectors import WIDTH, add_rows, aligned_zeros, transpose_block

f32, f64, i32, i64, u64 = np.float32, np.float64, np.int32, np.int64, np.uint64


class Work(NamedTuple):
    """What the kernels write for some number of rows."""

    v: np.ndarray  # uint64 (words of units and the one that is always 1, rows): the bits of x
    w: np.ndarray  # the same: the bits that come next
    g: np.ndarray  # uint64 (words, rows): the hidden bits of y
    h: np.ndarray  # the same: those that come next
    x: np.ndarray  # float32 (rows, whole words): v P, which is c + v W
    y: np.ndarray  # float32 (rows, whole words): b + g W'
    units: np.ndarray  # uint8 (rows, whole words)
    anew: np.ndarray  # bool (rows,): whether x or y is summed anew
    starts: np.ndarray  # int64 (2, groups of words, rows + 1): of the lists in ``listed``
    listed: np.ndarray  # int32 (2, ...): units to add, and to subtract, by groups of words and rows
    tile: np.ndarray  # float32 (whole words of hidden units, 64): 64 columns of P'
    zero: np.ndarray  # float32 (whole words,)
    bias: np.ndarray  # float32 (whole words,): b
    mean: np.ndarray  # float32 (STREAM_LANES,)


class Sums(NamedTuple):
    """What the kernels write for v' p - w' q, for some numbers of rows of v and of w."""

    v: np.ndarray  # uint64 (words, rows)
    w: np.ndarray
    rows: np.ndarray  # float32 (rows of both, length of a row of P): weighted means of h, and the weights
    units: np.ndarray  # uint8 (rows, whole words)
    on: np.ndarray  # int32: rows to add for one unit
    off: np.ndarray
    total: np.ndarray  # float32 (length of a row of P,): zeros
    alike: np.ndarray  # bool (1,): whether the rows are those of v'(p - q) + (v - w)' q


def words(n: int) -> int:
    """Return the number of words of n bits."""
    return -(-n // 64)


def zeros(m: int, n: int) -> np.ndarray:
    """Return a matrix for m visible and n hidden units, whose rows are an odd number of cache lines long.

    Rows of 2,048 bytes would share a quarter of the sets of the first cache.
    """
    return aligned_zeros(64 * words(m + 1), ((n + WIDTH) // WIDTH | 1) * WIDTH)


def pad(W: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the matrix P of parameters."""
    (m, n), P = W.shape, zeros(*W.shape)
    P[:m, :n], P[:m, n], P[m, :n] = W, b, c
    return P


def make_work(m: int, n: int, rows: int) -> Work:
    """Return work space for some number of rows."""
    M, N, padded = 64 * words(m + 1), 64 * words(n), 64 * words(rows)
    v, w, g, h = (np.zeros((size // 64, padded), np.uint64) for size in (M, M, N, N))
    units, longest = np.zeros((rows, M), np.uint8), max(M, N)
    units[:, m] = 1
    return Work(
        *(v, w, g, h, aligned_zeros(rows, N), aligned_zeros(rows, M), units, np.zeros(rows, np.bool_)),
        *(np.zeros((2, longest // 64, rows + 1), np.int64), np.zeros((2, rows * longest + 4), np.int32)),
        *(aligned_zeros(N, 64), aligned_zeros(N), aligned_zeros(M), aligned_zeros(STREAM_LANES)),
    )


def make_sums(m: int, n: int, rows: int, others: int) -> Sums:
    """Return work space for some numbers of rows."""
    M, N = zeros(m, n).shape
    v, w = (np.zeros((M // 64, 64 * words(size)), np.uint64) for size in (rows, others))
    units = np.zeros((max(rows, others), M), np.uint8)
    units[:, m] = 1
    both = v.shape[1] + w.shape[1]
    on, off = np.zeros((2, 2 * both + 4), np.int32)
    return Sums(v, w, aligned_zeros(both, N), units, on, off, aligned_zeros(N), np.zeros(1, np.bool_))


def _column_in_python(bits, at, unit):
    return as_word((bits.reshape(-1)[at : at + 64] >> u64(unit)) & u64(1) != 0)


@in_llvm("uint64(uint64[:, ::1], int64, int64)", means=_column_in_python)
def column(build, bits, at, unit):
    """Return the bits of one unit of 64 words, from offset ``at`` on, as a word.

    Gain: 8 times as fast; a comparison of AVX-512 makes 8 bits.
    """
    one = spread(build, build.shl(constant(WORD, 1), unit), 64)
    there = build.and_(bits.load(at, 64), one)
    return word_of(build, build.icmp_unsigned("!=", there, constant(there.type, 0)))


@private
def clear(bits):
    """Make all bits 0."""
    for k in range(bits.shape[0]):
        for r in range(bits.shape[1]):
            bits[k, r] = u64(0)


@private
def copy_words(x, out):
    """Write the bits x into out."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            out[k, r] = x[k, r]


@private
def padded(n):
    """Return n, padded to whole vectors."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


@private
def list_units(now, before, least, work):
    """List the units of each row to add and to subtract, from the bits before to now; return how many groups.

    If fewer units of a row are active than differ, but at least so many, its sum is made anew. A group of two
    words reads rows of a tile that stay in the first cache; where most sums are made anew these are many.
    """
    (words, _), rows, n_anew, n_on, n_off, groups = now.shape, work.anew.shape[0], 0, u64(0), u64(0), 0
    for r in range(rows):
        active, flips = u64(0), u64(0)
        for k in range(words):
            active += popcount(now[k, r])
            flips += popcount(now[k, r] ^ before[k, r])
        work.anew[r] = least <= active <= flips
        n_anew += work.anew[r]
        for k in range(words if work.anew[r] else 0):
            before[k, r] = u64(0)
    size = 2 if 2 * n_anew > rows else words
    for first in range(0, words, size):
        for r in range(rows):
            work.starts[0, groups, r], work.starts[1, groups, r] = n_on, n_off
            for k in range(first, min(first + size, words)):
                n_on = list_few_ones(now[k, r] & ~before[k, r], 64 * k, work.listed[0], n_on)
                if not work.anew[r]:
                    n_off = list_few_ones(before[k, r] & ~now[k, r], 64 * k, work.listed[1], n_off)
                before[k, r] = now[k, r]
        work.starts[0, groups, rows], work.starts[1, groups, rows] = n_on, n_off
        groups += 1
    return groups


@private
def add_listed(matrix, column, base, value, start, stop, q, work):
    """Add the rows of a matrix that a group lists, from a column on, to value[:, start:stop]; or to base."""
    on, off, one = work.starts[0, q], work.starts[1, q], f32(1.0)
    for r in range(value.shape[0]):
        more, less = work.listed[0, on[r] :], work.listed[1, off[r] :]
        n_more, n_less, before = on[r + 1] - on[r], off[r + 1] - off[r], value[r]
        if q == 0 and work.anew[r]:
            before = base
        elif n_more + n_less == 0:
            continue
        add_rows(before, value[r], one, one, matrix, start, stop, column, more, n_more, less, n_less)


@private
def move(P, n, work):
    """Make x the product of P with the bits w, which become v; rows without any bit keep their x."""
    groups = list_units(work.w, work.v, u64(1), work)
    for start in range(0, n, 64):
        for q in range(groups):
            add_listed(P, start, work.zero, work.x, start, min(start + 64, padded(n)), q, work)


@private
def descend(P, m, n, work):
    """Make y the product of the hidden bits h, which become g, with the transpose of P."""
    groups = list_units(work.h, work.g, u64(0), work)
    size = 64 * ((work.h.shape[0] + groups - 1) // groups)
    for i in range(m):
        work.bias[i] = P[i, n]
    for start in range(0, m, 64):
        stop = min(start + 64, padded(m))
        for q in range(groups):
            for i in range(start, stop, WIDTH):
                for j in range(q * size, min((q + 1) * size, n), WIDTH):
                    transpose_block(P, i, j, work.tile, j, i - start)
            add_listed(work.tile, 0, work.bias, work.y, start, stop, q, work)


@private
def fits(P, work, rows, m, n):
    """Return whether P and work space have the sizes of these rows and units."""
    M, N, padded = (m + 64) // 64 * 64, (n + 63) // 64 * 64, (rows + 63) // 64 * 64
    longest, listed = max(M, N), work.listed.shape
    bits = work.v.shape == work.w.shape == (M // 64, padded) and work.g.shape == work.h.shape == (
        N // 64,
        padded,
    )
    sums = work.x.shape == (rows, N) and work.y.shape == (rows, M) and work.units.shape == (rows, M)
    lists = work.starts.shape == (2, longest // 64, rows + 1) and listed == (2, rows * longest + 4)
    room = work.tile.shape == (N, 64) and work.zero.shape[0] == N and work.bias.shape[0] == M
    room = room and work.mean.shape[0] == STREAM_LANES and work.anew.shape[0] == rows
    return bits and sums and lists and room and P.shape[0] == M and P.shape[1] > n and P.shape[1] % WIDTH == 0


@inner
def pack(v, units, bits):
    """Write v, float32 (rows, n_visible), as bits; return False if not all values are 0 and 1.

    units uint8 (rows at least, whole words), bits uint64 (words, rows at least): see ``Work`` and ``Sums``.
    """
    (rows, m), whole = v.shape, 64 * bits.shape[0]
    if units.shape[1] != whole or m >= whole or units.shape[0] < rows or bits.shape[1] < rows:
        raise ValueError("pack: the arrays do not fit each other")
    for r in range(rows):
        row, out, others = v[r], units[r], i32(0)
        for i in range(m):
            out[i] = row[i] == f32(1.0)
            others += i32(row[i] != f32(1.0)) & i32(row[i] != f32(0.0))
        if others > 0:
            return False
        for k in range(bits.shape[0]):
            bits[k, r] = whole_word(out, 64 * k)
    return True


@inner
def means(x, beta, out):
    """Write out = sigmoid(beta x), float32 (rows, n); x float32 (rows, n at least)."""
    if x.shape[0] != out.shape[0] or x.shape[1] < out.shape[1]:
        raise ValueError("means: the arrays do not fit each other")
    for r in range(out.shape[0]):
        row, mean = x[r], out[r]
        for j in range(mean.shape[0]):
            mean[j] = sigmoid(beta * row[j])


@private
def draw_word(stream, x, beta, mean, n):
    """Return n bits, at most 64, with means sigmoid(beta x)."""
    if n <= 0:
        return u64(0)
    for j in range(mean.shape[0]):
        mean[j] = sigmoid(beta * x[j])
    return draw_block(stream, mean, 0) & (~u64(0) >> u64(64 - min(n, 64)))


@private
def walk(P, streams, beta, m, n, work):
    """Make a Gibbs sweep of every row at the inverse temperature beta, from the bits w to the next."""
    h, w, mean, several = work.h, work.w, work.mean, streams.shape[0] > 1
    move(P, n, work)
    for r in range(work.x.shape[0]):
        stream = streams[r if several else 0]
        for q in range(h.shape[0]):
            h[q, r] = draw_word(stream, work.x[r, 64 * q :], beta, mean, n - 64 * q)
    descend(P, m, n, work)
    for r in range(work.x.shape[0]):
        stream = streams[r if several else 0]
        for k in range(w.shape[0]):
            w[k, r] = draw_word(stream, work.y[r, 64 * k :], beta, mean, m - 64 * k)
        w[m // 64, r] |= u64(1) << u64(m % 64)


@inner
def inputs(P, m, n, work):
    """Make x the product of P with the bits w. ValueError if the arrays do not fit each other."""
    if not fits(P, work, work.x.shape[0], m, n):
        raise ValueError("inputs: the arrays do not fit each other")
    move(P, n, work)


@inner
def inputs_of_visible(P, m, n, work):
    """Make y the product of the bits h with P'. ValueError if the arrays do not fit each other."""
    if not fits(P, work, work.x.shape[0], m, n):
        raise ValueError("inputs_of_visible: the arrays do not fit each other")
    descend(P, m, n, work)


@inner
def sweep(P, streams, beta, n, work, out):
    """Make a Gibbs sweep of every row at the inverse temperature beta, from the bits w to out.

    streams uint32 (1, 4, STREAM_LANES), or one for each row; out float32 (rows, n_visible).
    ValueError if the arrays do not fit each other.
    """
    (rows, m), w = out.shape, work.w
    swept = streams.shape == (1, 4, STREAM_LANES) or streams.shape == (rows, 4, STREAM_LANES)
    if not (swept and fits(P, work, rows, m, n)):
        raise ValueError("sweep: the arrays do not fit each other")
    walk(P, streams, beta, m, n, work)
    for r in range(rows):
        row = out[r]
        for k in range(w.shape[0]):
            write_word(w[k, r], work.units[r], 64 * k)
        for i in range(m):
            row[i] = f32(work.units[r, i])


@inner
def train(P, streams, data, order, k, rates, u, n, work, chains, p, weights_p, q, weights_q, sums, squares):
    """Make an update for each row of ``order``, by k sweeps that begin at the examples, or at chains.

    Parameters
    ----------
    P : see ``pad``
    streams : uint32 (1, 4, STREAM_LANES)
    data : uint8 (examples, n_visible)
    order : int64 (updates, rows)
        The examples of each mini-batch.
    rates : float32 (updates,)
    u : uint64 (words, rows)
        Bits of persistent chains, which go on; without words, chains begin at the examples.
    work, chains : Work
        For mini-batches and for chains; they may be the same.
    p, weights_p, q, weights_q, sums, squares : see ``add``
        ``squares`` are those of the last update.

    ValueError if the arrays do not fit each other.
    """
    (updates, rows), m, persistent = order.shape, data.shape[1], u.shape[0] > 0
    fit = fits(P, work, rows, m, n) and fits(P, chains, q.shape[0], m, n) and p.shape[0] == rows
    fit = fit and streams.shape == (1, 4, STREAM_LANES) and rates.shape[0] == updates
    fit = fit and sums.v.shape == work.v.shape and sums.w.shape == chains.v.shape
    if not (
        fit
        and p.shape[1] == q.shape[1] == n
        and (u.shape == chains.v.shape if persistent else q.shape[0] == rows)
    ):
        raise ValueError("train: the arrays do not fit each other")
    for t in range(updates):
        for x in (work.v, chains.v, chains.g):  # of other parameters
            clear(x)
        for r in range(rows):
            for i in range(work.w.shape[0]):
                work.w[i, r] = word(data[order[t, r]], 64 * i)
            work.w[m // 64, r] |= u64(1) << u64(m % 64)
        move(P, n, work)
        means(work.x, f32(1.0), p)
        copy_words(work.v, sums.v)
        if persistent:
            copy_words(u, chains.w)
        for _ in range(k):
            walk(P, streams, f32(1.0), m, n, chains)
        move(P, n, chains)
        means(chains.x, f32(1.0), q)
        copy_words(chains.v, sums.w)
        if persistent:
            copy_words(chains.v, u)
        measured = squares[: squares.shape[0] if t == updates - 1 else 0]
        add(P, f32(1.0), rates[t], m, p, weights_p, q, weights_q, sums, True, measured)


@private
def weigh(h, weights, rows, first):
    """Write the weighted means of h to rows from the first one on, and the weights beside them."""
    for r in range(h.shape[0]):
        mean, row, weight = h[r], rows[first + r], weights[r]
        for j in range(mean.shape[0]):
            row[j] = weight * mean[j]
        row[mean.shape[0]] = weight


@inner
def add(P, keep, rate, m, p, weights_p, q, weights_q, sums, anew, squares):
    """Make P = keep P + rate (v' p - w' q), with weights, for the bits v and w of ``sums``.

    Parameters
    ----------
    P : see ``pad``
    keep, rate : float32
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
    (rows, n), others, first_w, N = p.shape, q.shape[0], sums.v.shape[1], P.shape[1]
    v, w, on, off, total, measured = sums.v, sums.w, sums.on, sums.off, sums.total, squares.shape[0] > 0
    both = first_w + w.shape[1]
    given = q.shape[1] == n and weights_p.shape[0] == rows and weights_q.shape[0] == others
    room = sums.rows.shape == (both, N) and on.shape[0] == off.shape[0] == 2 * both + 4
    room = (
        room
        and n < N
        and N % WIDTH == 0
        and N == total.shape[0]
        and rows <= first_w
        and others <= both - first_w
    )
    bits = 64 * v.shape[0] == P.shape[0] == 64 * w.shape[0] and m < P.shape[0]
    whole = first_w % 64 == w.shape[1] % 64 == 0 and sums.alike.shape[0] == 1
    if not (given and room and bits and whole and (not measured or squares.shape[0] == N)):
        raise ValueError("add: the arrays do not fit each other")
    if anew:
        weigh(p, weights_p, sums.rows, 0)
        weigh(q, weights_q, sums.rows, first_w)
        active, differing = u64(0), u64(0)
        for k in range(w.shape[0]):
            for r in range(others if others == rows else 0):
                active += popcount(w[k, r])
                differing += popcount(w[k, r] ^ v[k, r])
        sums.alike[0] = differing < active
        for r in range(rows if sums.alike[0] else 0):
            row, other = sums.rows[r], sums.rows[first_w + r]
            for j in range(row.shape[0]):
                row[j] -= other[j]
    alike = sums.alike[0]
    for i in range(m + 1):
        n_on, n_off, k = u64(0), u64(0), i // 64
        if i % 64 == 0:
            active = u64(0)
            for r in range(rows):
                active |= v[k, r]
            for r in range(others):
                active |= w[k, r]
        if keep == f32(1.0) and active >> u64(i % 64) & u64(1) == u64(0):
            continue
        for first in range(0, first_w, 64):
            positive = column(v, k * first_w + first, i % 64)
            n_on = list_few_ones(positive, first, on, n_on)
            if alike:
                negative = column(w, k * first_w + first, i % 64)
                n_on = list_few_ones(positive & ~negative, first_w + first, on, n_on)
                n_off = list_few_ones(negative & ~positive, first_w + first, off, n_off)
        for first in range(0, 0 if alike else w.shape[1], 64):
            n_off = list_few_ones(column(w, k * w.shape[1] + first, i % 64), first_w + first, off, n_off)
        row, last = P[i], padded(n + 1)
        if measured:
            add_rows(total, total, f32(0.0), f32(1.0), sums.rows, 0, last, 0, on, i64(n_on), off, i64(n_off))
            for j in range(row.shape[0]):
                squares[j] += f64(total[j]) * f64(total[j])
                row[j] = keep * row[j] + rate * total[j]
        else:
            add_rows(row, row, keep, rate, sums.rows, 0, last, 0, on, i64(n_on), off, i64(n_off))
