"""Bits by the word: what numba has no name for, as a few instructions of LLVM, the same on every machine."""

import numpy as np

from rbmviz.kernels._jit import inner
from rbmviz.kernels._llvm import BIT, BYTE, constant, in_llvm, vector, word_of

u64 = np.uint64


@in_llvm
def popcount(build, word: np.uint64) -> np.uint64:
    """Count the bits of a uint64."""
    return build.ctpop(word)


@in_llvm
def first_one(build, word: np.uint64) -> np.uint64:
    """Return the place of the lowest 1 of a uint64, 64 where there is none."""
    return build.cttz(word, constant(BIT, 0))


@in_llvm
def whole_word(build, x, start: np.int64) -> np.uint64:
    """Return which of x[start : start + 64] (uint8, all inside) are not 0, as a uint64."""
    units = x.load(start, 64)
    return word_of(build, build.icmp_unsigned("!=", units, constant(units.type, 0)))


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


@in_llvm
def write_word(build, bits: np.uint64, x, start: np.int64):
    """Write the bits of a uint64 to x[start : start + 64] (uint8, all inside) as 0 and 1."""
    x.store(start, build.zext(build.bitcast(bits, vector(BIT, 64)), vector(BYTE, 64)))


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
