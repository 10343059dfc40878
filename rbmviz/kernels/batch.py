"""Products of a batch of bits with a matrix, at a cost proportional to the number of active units.

For each example, x M is a sum of rows of M. If one unit in five is active, four fifths of a dense product are
additions of 0. The active units are listed first, and M is then read tile by tile:

- A *tile* is a contiguous copy of TILE_WIDTH columns of M. While all examples read it, it stays in the cache
  and on few pages of memory, and the sum of an example stays in vector registers.
- Lists are padded to whole groups of ROW_GROUP rows with the index of a row of zeros at the end of the tile.

The statistics x' y of a batch are the same sum with the roles exchanged: each unit sums the rows of y of the
examples in which it is active.

Rounding: sums are float32, in the order of the list; the ROW_GROUP rows of a group are added to each other
first. One thread gives one order. BLAS multiplies dense and small batches, and batches with other values than
0 and 1, see ``beats_blas``. ``bits`` says how the gain of ``write_sum`` was measured.
"""

import numpy as np

from rbmviz.kernels._jit import inner, kernel
from rbmviz.kernels._llvm import FLOAT, WORD, Register, constant, in_llvm, loop, spread, vector
from rbmviz.kernels.bits import list_ones, word
from rbmviz.kernels.vectors import aligned_empty

f32, i32, u64 = np.float32, np.int32, np.uint64

TILE_WIDTH = 32
"""Columns of a tile."""
ROW_GROUP = 4
"""Rows that are added to each other before the sum."""

CALL_COST = 1 << 19
"""Cost of a call, see ``beats_blas``, in multiplications of BLAS."""
LISTING_COST = 32
"""Cost of listing the active units, per value of x, in multiplications of BLAS."""
COPYING_COST = 8
"""Cost of copying M into tiles, per value of M, in additions."""


def _write_sum_in_python(tile, index, first, last, factor, out, start):
    total = np.zeros(TILE_WIDTH, f32)
    for q in range(first, last, ROW_GROUP):
        a, b, c, d = tile[index[q : q + ROW_GROUP]]
        total = total + ((a + b) + (c + d))
    out[start : start + TILE_WIDTH] = factor * total


@in_llvm(
    "void(float32[:, ::1], int32[::1], int64, int64, float32, float32[::1], int64)",
    means=_write_sum_in_python,
)
def write_sum(build, tile, index, first, last, factor, out, start):
    """Write factor times the sum of the rows tile[index[first:last]] to out[start : start + TILE_WIDTH].

    tile (n, TILE_WIDTH); last - first is a multiple of ROW_GROUP.

    Gain: 3 times as fast; the sum stays in two registers of AVX-512, where a loop loads and stores it at
    every group of rows.
    """

    def row(at):
        place = build.mul(build.sext(index.value(at), WORD), constant(WORD, TILE_WIDTH))
        return tile.load(place, TILE_WIDTH)

    sums = Register(build, constant(vector(FLOAT, TILE_WIDTH), 0.0))
    with loop(build, first, last, ROW_GROUP) as at:
        a, b, c, d = (row(build.add(at, constant(WORD, q))) for q in range(ROW_GROUP))
        sums.write(build.fadd(sums.read(), build.fadd(build.fadd(a, b), build.fadd(c, d))))
    out.store(start, build.fmul(spread(build, factor, TILE_WIDTH), sums.read()))


@inner
def copy_tile(matrix, transposed, start, tile):
    """Copy columns ``start`` on of the matrix (or its transpose) into the tile, and a last row of zeros.

    Tile columns beyond the matrix are left as they are.
    """
    n = tile.shape[0] - 1
    if transposed:
        block = matrix[start : start + TILE_WIDTH]
        for i in range(n):
            row = tile[i]
            for j in range(block.shape[0]):
                row[j] = block[j, i]
    else:
        for i in range(n):
            row, source = tile[i], matrix[i][start : start + TILE_WIDTH]
            for j in range(source.shape[0]):
                row[j] = source[j]
    for j in range(TILE_WIDTH):
        tile[n, j] = f32(0.0)


@inner
def sum_listed_rows(starts, index, matrix, transposed, factor, tile, total, out):
    """Write out[r] = factor times the sum of the matrix's rows index[starts[r]:starts[r + 1]].

    starts int64 (rows + 1,), differences multiples of ROW_GROUP; index int32; matrix float32 (n_in, n_out),
    given as (n_out, n_in) if ``transposed``; factor float32; tile float32 (n_in + 1, TILE_WIDTH) and total
    (TILE_WIDTH,), scratch; out float32 (rows, n_out).
    """
    n_out = out.shape[1]
    flat = out.reshape(out.shape[0] * n_out)
    for start in range(0, n_out, TILE_WIDTH):
        copy_tile(matrix, transposed, start, tile)
        for r in range(out.shape[0]):
            if start + TILE_WIDTH <= n_out:
                write_sum(tile, index, starts[r], starts[r + 1], factor, flat, r * n_out + start)
            else:
                write_sum(tile, index, starts[r], starts[r + 1], factor, total, 0)
                for j in range(start, n_out):
                    out[r, j] = total[j - start]


@inner
def as_bits(x, bits):
    """Write x, float32 (rows, n), as uint8; return the number of 1s, or -1 if a value is neither 0 nor 1."""
    n_active, n_bits = 0, 0
    for r in range(x.shape[0]):
        row, out, ones, zeros = x[r], bits[r], i32(0), i32(0)
        for i in range(row.shape[0]):
            out[i] = row[i] == f32(1.0)
            ones += i32(row[i] == f32(1.0))
            zeros += i32(row[i] == f32(0.0))
        n_active += ones
        n_bits += ones + zeros
    return n_active if n_bits == x.shape[0] * x.shape[1] else -1


@inner
def list_rows(bits, starts, index):
    """List the active units of every example, padded with n, the index of the row of zeros."""
    at, n = u64(0), bits.shape[1]
    for r in range(bits.shape[0]):
        starts[r] = at
        for start in range(0, n, 64):
            at = list_ones(word(bits[r], start), start, index, at)
        while at % u64(ROW_GROUP):
            index[at] = n
            at += u64(1)
    starts[bits.shape[0]] = at


@kernel
def transpose_lists(row_starts, row_index, starts, index):
    """List the examples of each unit, from the lists of the units of each example.

    Lists are padded to whole groups with the number of examples, the index of the row of zeros.
    """
    rows, n = row_starts.shape[0] - 1, starts.shape[0] - 1
    at = np.zeros(n + 1, np.int64)
    for q in range(row_starts[rows]):
        at[row_index[q]] += 1
    starts[0] = 0
    for i in range(n):
        starts[i + 1] = starts[i] + -(-at[i] // ROW_GROUP) * ROW_GROUP
        at[i] = starts[i]
    at[n] = starts[n]  # the padding of the units' lists goes behind the end
    for r in range(rows):
        for q in range(row_starts[r], row_starts[r + 1]):
            i = row_index[q]
            index[at[i]] = r
            at[i] += 1
    for i in range(n):
        for q in range(at[i], starts[i + 1]):
            index[q] = rows


def beats_blas(n_active: int, rows: int, n_in: int, n_out: int) -> bool:
    """Return whether summing active rows is faster than BLAS, for x (rows, n_in) with n_active 1s.

    n_active is -1 if x has other values than 0 and 1. A multiply-add of BLAS costs half an addition here.
    """
    size = rows * n_in
    cost = CALL_COST + LISTING_COST * size + 2 * (n_active + COPYING_COST * n_in) * n_out
    return 0 <= n_active and cost < size * n_out


def _check_inner_sizes(columns: int, rows: int) -> None:
    if columns != rows:
        raise ValueError(f"cannot multiply matrices with inner sizes {columns} and {rows}")


def _bits(x: np.ndarray, out_rows: int, summed: int, n_out: int) -> tuple[np.ndarray, int] | None:
    """Return x as uint8 and its number of 1s; None if BLAS is faster for a product of these sizes."""
    if not beats_blas(0, out_rows, summed, n_out):
        return None  # for any x: small products never repay listing
    bits = np.empty(x.shape, np.uint8)
    n_active = as_bits(np.ascontiguousarray(x), bits)
    return (bits, n_active) if beats_blas(n_active, out_rows, summed, n_out) else None


def _list_rows(bits: np.ndarray, n_active: int) -> tuple[np.ndarray, np.ndarray]:
    rows = len(bits)
    starts, index = np.empty(rows + 1, np.int64), np.empty(n_active + ROW_GROUP * rows, np.int32)
    list_rows(bits, starts, index)
    return starts, index


def _sums(
    starts: np.ndarray,
    index: np.ndarray,
    matrix: np.ndarray,
    *,
    transposed: bool = False,
    factor: float = 1.0,
) -> np.ndarray:
    n_out, n_in = matrix.shape if transposed else matrix.shape[::-1]
    out = np.empty((len(starts) - 1, n_out), np.float32)
    view = np.ascontiguousarray(matrix).view()
    view.flags.writeable = False  # one compilation, whether parameters are writable or not
    tile, total = aligned_empty(n_in + 1, TILE_WIDTH), np.empty(TILE_WIDTH, np.float32)
    sum_listed_rows(starts, index, view, transposed, f32(factor), tile, total, out)
    return out


def times(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return x M, float32 (rows, n_out); fast if most values of x are 0 and the others 1.

    x, matrix : float32 (rows, n_in), (n_in, n_out)
    """
    (rows, n_in), n_out = x.shape, matrix.shape[1]
    _check_inner_sizes(n_in, len(matrix))
    active = _bits(x, rows, n_in, n_out)
    return x @ matrix if active is None else _sums(*_list_rows(*active), matrix)


def times_transposed(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return x M', float32 (rows, n_out), as ``times``.

    x, matrix : float32 (rows, n_in), (n_out, n_in)
    """
    (rows, n_in), n_out = x.shape, matrix.shape[0]
    _check_inner_sizes(n_in, matrix.shape[1])
    active = _bits(x, rows, n_in, n_out)
    return x @ matrix.T if active is None else _sums(*_list_rows(*active), matrix, transposed=True)


def correlate(x: np.ndarray, y: np.ndarray, divisor: float = 1.0) -> np.ndarray:
    """Return x' y / divisor, float32 (n_in, n_out), as ``times``.

    x, y : float32 (rows, n_in), (rows, n_out); divisor : usually the number of rows
    """
    rows, n_in = x.shape
    _check_inner_sizes(rows, len(y))
    active = _bits(x, n_in, rows, y.shape[1])  # x' y has a row per unit and sums over examples
    if active is None:
        out = x.T @ y
        out /= f32(divisor)
        return out
    starts = np.empty(n_in + 1, np.int64)
    # Each unit's list has up to a group of padding; the padding of the examples' lists follows them.
    index = np.empty(active[1] + ROW_GROUP * (n_in + rows), np.int32)
    transpose_lists(*_list_rows(*active), starts, index)
    return _sums(starts, index, y, factor=1 / divisor)
