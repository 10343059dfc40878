"""Hamming distances between packed rows of bits: histograms of them, and nearest neighbours.

Rows are packed into words of 64 bits. Samples are transposed and cut into blocks that fit into the first
cache, so that one point is compared with DISTANCE_LANES samples in vector registers (one instruction of
AVX-512 counts the bits of eight words).
"""

import numpy as np

from rbmviz.kernels._jit import inner, kernel
from rbmviz.kernels._llvm import INT, WORD, Register, call, constant, in_llvm, loop, spread, vector

i64 = np.int64

TEST_BLOCK = 128
"""Samples of a block; for a model of 784 units a block takes 13 KB."""
DISTANCE_LANES = 64
"""Samples compared at once."""
SAMPLE_GROUP = 16
"""Points whose histograms stay in the cache while all blocks of a call are compared with them."""


def pack(rows: np.ndarray) -> np.ndarray:
    """Pack rows of bits, uint8 (n, width), into words, uint64 (n, ceil(width / 64))."""
    packed = np.packbits(rows, axis=1)
    missing = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view(np.uint64)


def blocks(rows: np.ndarray) -> np.ndarray:
    """Pack rows of bits into blocks of samples, uint64 (blocks, words, TEST_BLOCK), filled up with 0."""
    words = pack(rows)
    filled = np.pad(words, ((0, -len(words) % TEST_BLOCK), (0, 0)))
    grouped = filled.reshape(len(filled) // TEST_BLOCK, TEST_BLOCK, words.shape[1])
    return np.ascontiguousarray(grouped.transpose(0, 2, 1))


def _compare_lanes_in_python(point, block, at, out):
    different = point[:, None] ^ block[:, at : at + DISTANCE_LANES]
    out[at : at + DISTANCE_LANES] = np.bitwise_count(different).sum(axis=0)


@in_llvm("void(uint64[::1], uint64[:, ::1], int64, uint32[::1])", means=_compare_lanes_in_python)
def compare_lanes(build, point, block, at, out):
    """Write the distances of a point to DISTANCE_LANES samples of a block to out, both from ``at`` on.

    Gain: 1.4 times as fast as two loops, which store the counts after every word. With VPOPCNTQ (AVX-512
    VPOPCNTDQ).
    """
    words, width = block.shape
    counts = vector(WORD, DISTANCE_LANES)
    total = Register(build, constant(counts, 0))
    with loop(build, 0, words) as w:
        samples = block.load(build.add(build.mul(w, width), at), DISTANCE_LANES)
        different = build.xor(spread(build, point.value(w), DISTANCE_LANES), samples)
        ones = call(build, f"llvm.ctpop.v{DISTANCE_LANES}i64", counts, different)
        total.write(build.add(total.read(), ones))
    out.store(at, build.trunc(total.read(), vector(INT, DISTANCE_LANES)))


@inner
def distances(point, block, n, out):
    """Write the distances, uint32 (TEST_BLOCK,), of a point, uint64 (words,), to the first n of a block."""
    for at in range(0, n, DISTANCE_LANES):
        compare_lanes(point, block, at, out)


@inner
def count(distance, n, histogram):
    """Add one at each of the first n distances."""
    for i in range(n):
        histogram[distance[i]] += 1


@inner
def count_all(points, blocks, n, histograms, out):
    """Do ``count_distances``; ``out``, uint32 (TEST_BLOCK,), is work space."""
    for first in range(0, points.shape[0], SAMPLE_GROUP):
        for q in range(blocks.shape[0]):
            here = min(TEST_BLOCK, n - q * TEST_BLOCK)
            for t in range(first, min(first + SAMPLE_GROUP, points.shape[0])):
                distances(points[t], blocks[q], here, out)
                count(out, here, histograms[t])


@kernel
def count_distances(points, blocks, n, histograms):
    """Add n samples, given in blocks, to the histograms of distances, uint32 or int64 (points, width + 1)."""
    words = points.shape[1]
    packed = (
        blocks.shape[1] == words and blocks.shape[2] == TEST_BLOCK and 0 <= n <= blocks.shape[0] * TEST_BLOCK
    )
    if not (packed and histograms.shape[0] == points.shape[0] and (histograms.shape[1] + 62) // 64 == words):
        raise ValueError("count_distances: the arrays do not fit each other")
    count_all(points, blocks, n, histograms, np.empty(TEST_BLOCK, np.uint32))


@kernel
def nearest(points, block, index, distance):
    """Find the nearest point of each sample of a block: its index (the first in a tie) and distance."""
    n = index.shape[0]
    if block.shape != (points.shape[1], TEST_BLOCK) or n > TEST_BLOCK or distance.shape[0] != n:
        raise ValueError("nearest: the arrays do not fit each other")
    out = np.empty(TEST_BLOCK, np.uint32)
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

    The sum runs from the smallest distance on and is relative to its term, so that it cannot underflow to 0.
    """
    width, betas = histograms.shape[1], log_odds.shape[0]
    if out.shape != (histograms.shape[0], betas):
        raise ValueError("log_mixtures: the arrays do not fit each other")
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
