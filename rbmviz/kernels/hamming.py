"""Hamming distances between packed rows of bits: histograms of them, and nearest neighbours.

Rows are packed into 64-bit words; samples come transposed, in blocks that fit the first cache, so that one
point is compared with LANES samples in vector registers (one popcount instruction counts eight words).
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rbmviz.kernels._jit import inner, kernel

i64 = np.int64

BLOCK = 128
LANES = 64
GROUP = 16
"""Points whose histograms stay in the cache for all blocks of a call."""


def pack(rows: np.ndarray) -> np.ndarray:
    """Pack rows of bits, uint8 (n, width), into words, uint64 (n, ceil(width / 64))."""
    packed = np.packbits(rows, axis=1)
    missing = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view(np.uint64)


def blocks(rows: np.ndarray) -> np.ndarray:
    """Pack rows of bits into blocks of samples, uint64 (blocks, words, BLOCK), the last filled up with 0."""
    words = pack(rows)
    filled = np.pad(words, ((0, -len(words) % BLOCK), (0, 0)))
    grouped = filled.reshape(len(filled) // BLOCK, BLOCK, words.shape[1])
    return np.ascontiguousarray(grouped.transpose(0, 2, 1))


@intrinsic
def compare_lanes(typing_context, point, block, at, out):
    """Write the distances of a point to the samples at, at + 1, ... of a block to the same places of out.

    By vectors of LLVM: a loop over samples inside a loop over words would store the counts after every word.
    """

    def code(context, build, signature, arguments):
        point, block, out = (
            context.make_array(signature.args[i])(context, build, arguments[i]) for i in (0, 1, 3)
        )
        at = arguments[2]
        words, width = cgutils.unpack_tuple(build, block.shape, 2)
        vector, counts = (ir.VectorType(ir.IntType(bits), LANES) for bits in (64, 32))
        first = ir.Constant(ir.IntType(32), 0)
        count_ones = cgutils.get_or_insert_function(
            build.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{LANES}i64"
        )
        total = cgutils.alloca_once_value(build, ir.Constant(vector, None))
        with cgutils.for_range(build, words) as loop:
            word = build.load(build.gep(point.data, [loop.index]))
            one = build.insert_element(ir.Constant(vector, None), word, first)
            same = build.shuffle_vector(one, one, ir.Constant(counts, None))
            place = build.gep(block.data, [build.add(build.mul(loop.index, width), at)])
            samples = build.load(build.bitcast(place, vector.as_pointer()), align=8)
            different = build.call(count_ones, [build.xor(same, samples)])
            build.store(build.add(build.load(total), different), total)
        place = build.bitcast(build.gep(out.data, [at]), counts.as_pointer())
        build.store(build.trunc(build.load(total), counts), place, align=4)
        return context.get_dummy_value()

    return types.void(point, block, types.intp, out), code


@inner
def distances(point, block, n, out):
    """Write the distances of a point, uint64 (words,), to the first n samples of a block, uint32 (BLOCK,)."""
    for at in range(0, n, LANES):
        compare_lanes(point, block, at, out)


@inner
def count(distance, n, histogram):
    """Add one at each of the first n distances."""
    for i in range(n):
        histogram[distance[i]] += 1


@inner
def count_all(points, blocks, n, histograms, out):
    """Do ``count_distances``; out is scratch."""
    for first in range(0, points.shape[0], GROUP):
        for q in range(blocks.shape[0]):
            here = min(BLOCK, n - q * BLOCK)
            for t in range(first, min(first + GROUP, points.shape[0])):
                distances(points[t], blocks[q], here, out)
                count(out, here, histograms[t])


@kernel
def count_distances(points, blocks, n, histograms):
    """Add n samples, in blocks, to the distance histograms, uint32 or int64 (points, width + 1)."""
    count_all(points, blocks, n, histograms, np.empty(BLOCK, np.uint32))


@kernel
def nearest(points, block, index, distance):
    """Find for each sample of a block the nearest point: its index (the first of equals) and distance."""
    n = index.shape[0]
    out = np.empty(BLOCK, np.uint32)
    for i in range(n):
        distance[i] = i64(1) << i64(62)
    for t in range(points.shape[0]):
        distances(points[t], block, n, out)
        for i in range(n):
            d = i64(out[i])
            if d < distance[i]:
                distance[i] = d
                index[i] = t


@kernel
def log_mixtures(histograms, log_odds, out):
    """Write log sum_d histogram[d] exp(-d log_odds[b]) for every histogram and b, float64 (points, betas).

    Summed from the smallest distance on, relative to its term, so that nothing underflows to log 0.
    """
    width, betas = histograms.shape[1], log_odds.shape[0]
    ratio = np.exp(-log_odds)
    power, total = np.empty(betas), np.empty(betas)
    for t in range(histograms.shape[0]):
        histogram = histograms[t]
        first = 0
        while first < width - 1 and histogram[first] == 0:
            first += 1
        last = width - 1
        while last > first and histogram[last] == 0:
            last -= 1
        for b in range(betas):
            power[b] = 1.0
            total[b] = 0.0
        for d in range(first, last + 1):
            count = np.float64(histogram[d])
            for b in range(betas):
                total[b] += count * power[b]
                power[b] *= ratio[b]
        for b in range(betas):
            out[t, b] = np.log(total[b]) - first * log_odds[b]
