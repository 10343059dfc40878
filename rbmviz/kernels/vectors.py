"""Loops over whole vectors of WIDTH numbers, written as such: as loops over numbers they have a slow rest.

Arrays are as long as a multiple of WIDTH, see ``aligned_zeros``. Sums run in an order that does not
depend on the machine.
"""

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rbmviz.kernels._jit import inner

WIDTH = 16
"""Rows are padded to a multiple of this many floats, 64 bytes: one cache line, one widest vector."""

INT = ir.IntType(64)
FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)


def aligned_empty(*shape: int, make: Callable[..., np.ndarray] = np.empty) -> np.ndarray:
    """Return a float32 array whose last axis is padded to WIDTH, starting on a 64-byte boundary."""
    shape = (*shape[:-1], -(-shape[-1] // WIDTH) * WIDTH)
    size = math.prod(shape)
    buffer = make(4 * size + 64, np.uint8)
    start = -buffer.__array_interface__["data"][0] % 64  # buffer.ctypes takes longer
    return buffer[start : start + 4 * size].view(np.float32).reshape(shape)


def aligned_zeros(*shape: int) -> np.ndarray:
    """Return zeros as ``aligned_empty``; their memory is taken only as they are written."""
    return aligned_empty(*shape, make=np.zeros)


def _array(context, build, signature, values, which):
    return context.make_array(signature.args[which])(context, build, values[which])


def _at(build, data, place, vector):
    return build.bitcast(build.gep(data, [place]), vector.as_pointer())


def _fold(operation, neutral):
    """Return the intrinsic that joins all of a float64 array: WIDTH side by side, then these in halves."""

    def join(build, x, y):
        return getattr(build, operation)(x, y)

    @intrinsic
    def fold(typing_context, x):
        def code(context, build, signature, values):
            array = _array(context, build, signature, values, 0)
            first, last = ir.Constant(INT, 0), build.extract_value(array.shape, 0)
            found = cgutils.alloca_once_value(build, ir.Constant(DOUBLES, [neutral] * WIDTH))
            with cgutils.for_range_slice(build, first, last, ir.Constant(INT, WIDTH), INT) as (place, _):
                more = build.load(_at(build, array.data, place, DOUBLES), align=8)
                build.store(join(build, build.load(found), more), found)
            left, width = build.load(found), WIDTH
            while width > 1:
                width //= 2
                lanes = ir.VectorType(ir.IntType(32), width)
                low, high = (ir.Constant(lanes, list(range(k, k + width))) for k in (0, width))
                left = join(
                    build, build.shuffle_vector(left, left, low), build.shuffle_vector(left, left, high)
                )
            return build.extract_element(left, ir.Constant(ir.IntType(32), 0))

        return types.float64(x), code

    return fold


total = _fold("fadd", 0.0)
product = _fold("fmul", 1.0)


@intrinsic
def ones_below(typing_context, z, p, start):
    """Return which of z[start : start + WIDTH] are below p there, float32, as low bits of a uint64."""

    def code(context, build, signature, values):
        arrays = (_array(context, build, signature, values, which) for which in range(2))
        x, y = (build.load(_at(build, array.data, values[2], FLOATS), align=4) for array in arrays)
        bits = build.bitcast(build.fcmp_ordered("<", x, y), ir.IntType(WIDTH))
        return build.zext(bits, INT)

    return types.uint64(z, p, types.intp), code


def _sum_tile(vectors):
    """Return the intrinsic that does ``sum_rows`` for so many vectors from a column on."""

    @intrinsic
    def sum_tile(typing_context, base, out, rows, start, on, n_on, off, n_off):
        def code(context, build, signature, values):
            source, target, table = (_array(context, build, signature, values, k) for k in range(3))
            length = build.extract_value(table.shape, 1)
            columns = [build.add(values[3], ir.Constant(INT, WIDTH * k)) for k in range(vectors)]

            def load(array, place):
                return build.load(_at(build, array.data, place, FLOATS), align=4)

            sums = [cgutils.alloca_once_value(build, ir.Constant(FLOATS, None)) for _ in columns]
            for which, operation in ((4, build.fadd), (6, build.fsub)):
                index = _array(context, build, signature, values, which)
                with cgutils.for_range(build, values[which + 1]) as loop:
                    row = build.sext(build.load(build.gep(index.data, [loop.index])), INT)
                    begin = build.mul(row, length)
                    for column, found in zip(columns, sums, strict=True):
                        more = load(table, build.add(begin, column))
                        build.store(operation(build.load(found), more), found)
            for column, found in zip(columns, sums, strict=True):
                moved = build.fadd(load(source, column), build.load(found))
                build.store(moved, _at(build, target.data, column, FLOATS), align=4)
            return context.get_dummy_value()

        return types.void(base, out, rows, types.intp, on, types.intp, off, types.intp), code

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
