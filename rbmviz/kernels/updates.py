"""Batches of chains, and updates of parameters from their rows, at a cost proportional to the active units.

The parameters are one matrix P in aligned memory (``pad``): W, below it c, as the row of a visible unit that
is always 1, and beside it b. Bits are words of 64 units: (words, rows padded to whole words).

- v P adds the rows of P of the active units or, where these are fewer, of those that differ from the last v.
- h P' reads tiles of P, transposed in registers, which stay in the first cache while all rows pass by.
- v' p - w' q, for examples v and samples w, is never formed: each unit lists the rows in which it is active,
  and its row of P takes up their means at once; a unit that is never active is not touched. Where v and w are
  alike, as in CD, v' (p - q) + (v - w)' q has fewer terms.

Sums are float32, in the order of units or rows, on every machine.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inner, private
from rbmviz.kernels._llvm import WORD, constant, in_llvm, spread, word_of
from rbmviz.kernels.batch import as_bits
from rbmviz.kernels.bits import as_word, list_few_ones, popcount, whole_word, write_word
from rbmviz.kernels.random import STREAM_LANES, draw_block, sigmoid
from rbmviz.kernels.vectors import WIDTH, add_rows, aligned_zeros, transpose_block

f32, f64, i64, u64 = np.float32, np.float64, np.int64, np.uint64

STRIP = 128
"""Visible units of a tile, whose hidden units are those of a word."""


class Work(NamedTuple):
    """What the kernels write for some number of rows."""

    v: np.ndarray  # uint64 (words of units and the one that is always 1, rows): the bits of x
    w: np.ndarray  # the same: the bits that come next
    h: np.ndarray  # uint64 (words, rows)
    x: np.ndarray  # float32 (rows, whole words): v P, which is c + v W
    y: np.ndarray  # float32 (rows, whole words): b + h W'
    units: np.ndarray  # uint8 (rows, whole words): the bits w
    on: np.ndarray  # int32: lists of a row
    off: np.ndarray
    starts: np.ndarray  # int64 (words of h, rows + 1)
    hidden: np.ndarray  # int32: lists of the active units of each word of h
    tile: np.ndarray  # float32 (STREAM_LANES, STRIP)
    row: np.ndarray  # float32 (length of a row of P,): zeros
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
    v, w, h = (np.zeros((size // 64, padded), np.uint64) for size in (M, M, N))
    on, off, hidden = (np.zeros(size + 4, np.int32) for size in (M, M, rows * n))
    units = np.zeros((rows, M), np.uint8)
    units[:, m] = 1
    return Work(
        *(v, w, h, aligned_zeros(rows, N), aligned_zeros(rows, M), units, on, off),
        *(np.zeros((len(h), rows + 1), np.int64), hidden, aligned_zeros(STREAM_LANES, STRIP)),
        *(aligned_zeros(zeros(m, n).shape[1]), aligned_zeros(STREAM_LANES)),
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
def padded(n):
    """Return n, padded to whole vectors."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


@private
def move(P, n, work):
    """Make x the product of P with the bits w, which become v."""
    v, w, x = work.v, work.w, work.x
    for r in range(x.shape[0]):
        active, flips, n_on, n_off = u64(0), u64(0), u64(0), u64(0)
        for k in range(w.shape[0]):
            active += popcount(w[k, r])
            flips += popcount(w[k, r] ^ v[k, r])
        anew = active <= flips
        for k in range(w.shape[0]):
            before = u64(0) if anew else v[k, r]
            n_on = list_few_ones(w[k, r] & ~before, 64 * k, work.on, n_on)
            n_off = list_few_ones(before & ~w[k, r], 64 * k, work.off, n_off)
            v[k, r] = w[k, r]
        base = work.row if anew else x[r]
        add_rows(base, x[r], f32(1.0), f32(1.0), P, 0, padded(n), work.on, i64(n_on), work.off, i64(n_off))


@private
def fits(P, work, rows, m, n):
    """Return whether P and work space have the sizes of these rows and units."""
    M, N, padded = (m + 64) // 64 * 64, (n + 63) // 64 * 64, (rows + 63) // 64 * 64
    bits = work.v.shape == (M // 64, padded) and work.w.shape == work.v.shape
    bits = bits and work.h.shape == (N // 64, padded) and work.starts.shape == (N // 64, rows + 1)
    sums = work.x.shape == (rows, N) and work.y.shape == (rows, M) and work.row.shape[0] == P.shape[1]
    lists = work.on.shape[0] == M + 4 and work.off.shape[0] == M + 4 and work.hidden.shape[0] == rows * n + 4
    room = work.units.shape == (rows, M) and work.mean.shape[0] == STREAM_LANES
    room = room and work.tile.shape == (STREAM_LANES, STRIP)
    return bits and sums and lists and room and P.shape[0] == M and P.shape[1] > n and P.shape[1] % WIDTH == 0


@inner
def pack(v, units, bits):
    """Write v, float32 (rows, n_visible), as bits; return False if not all values are 0 and 1.

    units uint8 (rows at least, whole words), bits uint64 (words, rows at least): see ``Work`` and ``Sums``.
    """
    (rows, m), whole = v.shape, 64 * bits.shape[0]
    if units.shape[1] != whole or m >= whole or units.shape[0] < rows or bits.shape[1] < rows:
        raise ValueError("pack: the arrays do not fit each other")
    if as_bits(v, units[:rows]) < 0:
        return False
    for r in range(rows):
        for k in range(bits.shape[0]):
            bits[k, r] = whole_word(units[r], 64 * k)
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


@inner
def sweep(P, stream, beta, n, work, out):
    """Make a Gibbs sweep of every row at the inverse temperature beta, from x to out; x becomes that of out.

    out float32 (rows, n_visible). If it has no rows, no sweep is made, and x becomes the product of P with
    the bits w: rows that are as they were keep their x, the others are summed anew. ValueError if the arrays
    do not fit each other.
    """
    rows, m = work.x.shape[0], out.shape[1]
    swept = stream.shape == (4, STREAM_LANES) and (out.shape[0] == 0 or out.shape[0] == rows)
    if not (swept and fits(P, work, rows, m, n)):
        raise ValueError("sweep: the arrays do not fit each other")
    v, w, h, y, tile, starts, hidden = work.v, work.w, work.h, work.y, work.tile, work.starts, work.hidden
    if out.shape[0] == 0:
        for r in range(rows):
            flips = u64(0)
            for k in range(v.shape[0]):
                flips |= v[k, r] ^ w[k, r]
            for k in range(v.shape[0] if flips else 0):
                v[k, r] = u64(0)  # nothing from which x could be updated
        move(P, n, work)
        return
    at = u64(0)
    for r in range(rows):
        for q in range(h.shape[0]):
            h[q, r] = draw_word(stream, work.x[r, 64 * q :], beta, work.mean, n - 64 * q)
    for q in range(h.shape[0]):
        for r in range(rows):
            starts[q, r] = at
            at = list_few_ones(h[q, r], 0, hidden, at)
        starts[q, rows] = at
    for first in range(0, m, STRIP):
        width = min(STRIP, padded(m - first))
        base = tile[0][:width]
        for i in range(width):
            base[i] = P[first + i, n]
        for r in range(rows):
            total = y[r, first : first + width]
            for i in range(width):
                total[i] = base[i]
        for q in range(h.shape[0]):
            for i in range(0, width, WIDTH):
                for j in range(0, min(STREAM_LANES, padded(n - 64 * q)), WIDTH):
                    transpose_block(P, first + i, 64 * q + j, tile, j, i)
            for r in range(rows):
                total, listed = y[r, first : first + width], hidden[starts[q, r] :]
                n_listed = starts[q, r + 1] - starts[q, r]
                add_rows(total, total, f32(1.0), f32(1.0), tile, 0, width, listed, n_listed, listed, 0)
    for r in range(rows):
        for k in range(w.shape[0]):
            w[k, r] = draw_word(stream, y[r, 64 * k :], beta, work.mean, m - 64 * k)
        w[m // 64, r] |= u64(1) << u64(m % 64)
        units, row = work.units[r], out[r]
        for k in range(w.shape[0]):
            write_word(w[k, r], units, 64 * k)
        for i in range(m):
            row[i] = f32(units[i])
    move(P, n, work)


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
        for first in range(0, first_w, 64):
            n_on = list_few_ones(column(v, k * first_w + first, i % 64), first, on, n_on)
        for first in range(0, w.shape[1], 64):
            negative = column(w, k * w.shape[1] + first, i % 64)
            if alike:
                positive = column(v, k * first_w + first, i % 64)
                n_on = list_few_ones(positive & ~negative, first_w + first, on, n_on)
                negative &= ~positive
            n_off = list_few_ones(negative, first_w + first, off, n_off)
        if keep == f32(1.0) and n_on + n_off == u64(0):
            continue
        row = P[i]
        if measured:
            add_rows(
                total, total, f32(0.0), f32(1.0), sums.rows, 0, padded(n + 1), on, i64(n_on), off, i64(n_off)
            )
            for j in range(row.shape[0]):
                squares[j] += f64(total[j]) * f64(total[j])
                row[j] = keep * row[j] + rate * total[j]
        else:
            add_rows(row, row, keep, rate, sums.rows, 0, padded(n + 1), on, i64(n_on), off, i64(n_off))
