"""Hamming distances between packed rows of bits: histograms of them, and nearest neighbours.

Rows are packed into 64-bit words; samples come transposed, in blocks, so that one point is compared
with a whole block in vector registers (one popcount instruction counts eight words).
"""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.bits import popcount

i64, u64 = np.int64, np.uint64

BLOCK = 256


def pack(rows: np.ndarray) -> np.ndarray:
    """Pack rows of bits, uint8 (n, width), into words, uint64 (n, ceil(width / 64))."""
    packed = np.packbits(rows, axis=1)
    missing = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view(np.uint64)


def blocks(rows: np.ndarray) -> list[np.ndarray]:
    """Pack rows of bits into blocks of at most BLOCK samples, each uint64 (words, samples)."""
    words = pack(rows)
    return [np.ascontiguousarray(words[at : at + BLOCK].T) for at in range(0, len(words), BLOCK)]


@kernel
def distances(point, block, out):
    """Write the distances of one point, uint64 (words,), to a block of samples."""
    words, n = block.shape
    for i in range(n):
        out[i] = u64(0)
    w = 0
    while w + 4 <= words:
        a, b, c, d = block[w], block[w + 1], block[w + 2], block[w + 3]
        p, q, r, s = point[w], point[w + 1], point[w + 2], point[w + 3]
        for i in range(n):
            out[i] += (popcount(p ^ a[i]) + popcount(q ^ b[i])) + (popcount(r ^ c[i]) + popcount(s ^ d[i]))
        w += 4
    while w < words:
        a, p = block[w], point[w]
        for i in range(n):
            out[i] += popcount(p ^ a[i])
        w += 1


@kernel
def count_distances(points, block, histograms):
    """Add a block of samples to the distance histograms, uint32 or int64 (points, width + 1)."""
    out = np.empty(block.shape[1], np.uint64)
    for t in range(points.shape[0]):
        distances(points[t], block, out)
        histogram = histograms[t]
        for i in range(out.shape[0]):
            histogram[out[i]] += 1


@kernel
def nearest(points, block, index, distance):
    """Find for each sample of a block the nearest point: its index (the first of equals) and distance."""
    n = block.shape[1]
    out = np.empty(n, np.uint64)
    for i in range(n):
        distance[i] = i64(1) << i64(62)
    for t in range(points.shape[0]):
        distances(points[t], block, out)
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
