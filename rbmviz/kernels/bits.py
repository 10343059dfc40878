"""Bits by the word: what numba has no name for, as a few instructions of LLVM, the same on every machine."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rbmviz.kernels._jit import inner

u64 = np.uint64


@intrinsic
def popcount(typing_context, word):
    """Count the bits of a uint64."""

    def code(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@intrinsic
def first_one(typing_context, word):
    """Return the place of the lowest 1 of a uint64, 64 where there is none."""

    def code(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), code


@intrinsic
def whole_word(typing_context, x, start):
    """Return which of x[start : start + 64] (uint8, contiguous, all inside) are not 0, as a uint64."""

    def code(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        units = ir.VectorType(ir.IntType(8), 64)
        at = builder.bitcast(builder.gep(array.data, [arguments[1]]), units.as_pointer())
        ones = builder.icmp_unsigned("!=", builder.load(at, align=1), ir.Constant(units, None))
        return builder.bitcast(ones, ir.IntType(64))

    return types.uint64(x, types.intp), code


@inner
def word(x, start):
    """Return x[start : start + 64] (uint8, 0 or 1) as a uint64, lowest bit first; beyond the end are 0."""
    n = x.shape[0]
    if start + 64 <= n:
        return whole_word(x, start)
    if n >= 64:
        return whole_word(x, n - 64) >> u64(start + 64 - n)
    bits = u64(0)
    for i in range(start, n):
        bits |= u64(x[i]) << u64(i - start)
    return bits


@intrinsic
def write_word(typing_context, bits, x, start):
    """Write the bits of a uint64 to x[start : start + 64] (uint8, contiguous, all inside) as 0 and 1."""

    def code(context, builder, signature, arguments):
        array = context.make_array(signature.args[1])(context, builder, arguments[1])
        units, ones = (ir.VectorType(ir.IntType(width), 64) for width in (8, 1))
        at = builder.bitcast(builder.gep(array.data, [arguments[2]]), units.as_pointer())
        builder.store(builder.zext(builder.bitcast(arguments[0], ones), units), at, align=1)
        return context.get_dummy_value()

    return types.void(types.uint64, x, types.intp), code


@inner
def list_ones(bits, start, index, n):
    """Write start + i for each 1 of the word at place i to index[n], index[n + 1], ...; return the new n."""
    while bits:
        index[n] = u64(start) + first_one(bits)
        bits &= bits - u64(1)
        n += u64(1)
    return n


@inner
def list_few_ones(bits, start, index, n):
    """List as ``list_ones``, four at once whether they are there or not: up to four places more are written.

    A loop that ends after one round or two can be guessed; after each of a few 1s, it cannot.
    """
    first, end = u64(start), n + popcount(bits)
    while True:
        index[n] = first + first_one(bits)
        bits &= bits - u64(1)
        index[n + u64(1)] = first + first_one(bits)
        bits &= bits - u64(1)
        index[n + u64(2)] = first + first_one(bits)
        bits &= bits - u64(1)
        index[n + u64(3)] = first + first_one(bits)
        bits &= bits - u64(1)
        n += u64(4)
        if n >= end:
            return end
