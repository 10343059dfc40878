"""Loops over whole vectors of WIDTH numbers, written as such: as loops over numbers they have a slow rest.

Arrays are as long as a multiple of WIDTH, see ``aligned_zeros``. Sums run in an order that does not
depend on the machine.
"""

import math
from collections.abc import Callable

import numpy as np
from llvmlite.ir import IRBuilder

from rbmviz.kernels._jit import inner
from rbmviz.kernels._llvm import (
    DOUBLE,
    FLOAT,
    INT,
    WORD,
    Register,
    constant,
    in_llvm,
    loop,
    pick,
    vector,
    word_of,
)

WIDTH = 16
"""Rows are padded to a multiple of this many floats, 64 bytes: one cache line, one widest vector."""


def aligned_empty(*shape: int, make: Callable[..., np.ndarray] = np.empty) -> np.ndarray:
    """Return a float32 array whose last axis is padded to WIDTH, starting on a 64-byte boundary."""
    shape = (*shape[:-1], -(-shape[-1] // WIDTH) * WIDTH)
    size = math.prod(shape)
    buffer = make(4 * size + 64, np.uint8)
    start = -buffer.__array_interface__["data"][0] % 64  # buffer.ctypes takes longer
    return buffer[start : start + 4 * size].view(np.float32).reshape(shape)


def aligned_bytes(*shape: int) -> int:
    """Return the bytes that ``aligned_empty`` takes."""
    return 4 * math.prod(shape[:-1]) * (-(-shape[-1] // WIDTH) * WIDTH) + 64


def aligned_zeros(*shape: int) -> np.ndarray:
    """Return zeros as ``aligned_empty``; their memory is taken only as they are written."""
    return aligned_empty(*shape, make=np.zeros)


def _fold(join, neutral):
    """Return the intrinsic that joins all of a float64 array: WIDTH side by side, then these in halves."""

    @in_llvm
    def fold(build, x) -> np.float64:
        found = Register(build, constant(vector(DOUBLE, WIDTH), neutral))
        with loop(build, 0, x.shape[0], WIDTH) as place:
            found.write(join(build, found.read(), x.load(place, WIDTH)))
        left, width = found.read(), WIDTH
        while width > 1:
            width //= 2
            left = join(build, pick(build, left, range(width)), pick(build, left, range(width, 2 * width)))
        return build.extract_element(left, constant(INT, 0))

    return fold


total = _fold(IRBuilder.fadd, 0.0)
product = _fold(IRBuilder.fmul, 1.0)


@in_llvm
def ones_below(build, z, p, start: np.int64) -> np.uint64:
    """Return which of z[start : start + WIDTH] are below p there, float32, as low bits of a uint64."""
    below = build.fcmp_ordered("<", z.load(start, WIDTH), p.load(start, WIDTH))
    return word_of(build, below)


def _sum_tile(vectors):
    """Return the intrinsic that does ``sum_rows`` for so many vectors from a column on."""

    @in_llvm
    def sum_tile(build, base, out, rows, start: np.int64, on, n_on: np.int64, off, n_off: np.int64):
        columns = [build.add(start, constant(WORD, WIDTH * k)) for k in range(vectors)]
        sums = [Register(build, constant(vector(FLOAT, WIDTH), 0.0)) for _ in columns]
        for index, n, join in ((on, n_on, build.fadd), (off, n_off, build.fsub)):
            with loop(build, 0, n) as at:
                row = build.mul(build.sext(index.value(at), WORD), rows.shape[1])
                for column, found in zip(columns, sums, strict=True):
                    found.write(join(found.read(), rows.load(build.add(row, column), WIDTH)))
        for column, found in zip(columns, sums, strict=True):
            out.store(column, build.fadd(base.load(column, WIDTH), found.read()))

    return sum_tile


_sum_wide, _sum_narrow = _sum_tile(4), _sum_tile(1)


@inner
def sum_rows(base, out, rows, on, n_on, off, n_off):
    """Write base + (the sum of rows[on[:n_on]] - that of rows[off[:n_off]]), float32.

    Four vectors of the sum at a time stay in registers; the base, which may be large, is rounded once.
    """
    start = 0
    while start + 4 * WIDTH <= out.shape[0]:
        _sum_wide(base, out, rows, start, on, n_on, off, n_off)
        start += 4 * WIDTH
    while start < out.shape[0]:
        _sum_narrow(base, out, rows, start, on, n_on, off, n_off)
        start += WIDTH
