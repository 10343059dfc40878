"""Hamming distances between packed rows of bits: histograms and nearest neighbours.

Rows are packed into words of 64 bits. Samples are transposed and cut into blocks that fit into the level-1
data cache, so that one point is compared with DISTANCE_LANES samples in vector registers.
"""

import numpy as np

from rbmviz.kernels._jit import inline, inner, kernel
from rbmviz.kernels._llvm import DOUBLE, INT, WORD, Register, call, constant, in_llvm, loop, spread, vector

i64 = np.int64

BLOCK_SAMPLES = 128
"""Samples per block, a multiple of DISTANCE_LANES; a block of 784 units takes 13 KB."""
DISTANCE_LANES = 64
"""Samples that one point is compared with at once."""
POINT_GROUP = 16
"""Points per pass over the blocks: few enough for their histograms to stay in the cache."""


def pack(rows: np.ndarray) -> np.ndarray:
    """Pack rows of bits, uint8 (n, width), into words, uint64 (n, ceil(width / 64))."""
    return words_of(np.packbits(rows, axis=1))


def words_of(packed: np.ndarray) -> np.ndarray:
    """Return rows packed by ``np.packbits``, uint8 (n, bytes), as words, uint64 (n, words)."""
    missing = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view(np.uint64)


def pack_blocks(rows: np.ndarray) -> np.ndarray:
    """Pack samples, uint8 (n, width), into blocks, uint64 (blocks, words, BLOCK_SAMPLES), padded with 0."""
    return blocks_of(pack(rows))


def blocks_of(words: np.ndarray) -> np.ndarray:
    """Return packed samples, uint64 (n, words), as blocks; see ``pack_blocks``."""
    filled = np.pad(words, ((0, -len(words) % BLOCK_SAMPLES), (0, 0)))
    grouped = filled.reshape(len(filled) // BLOCK_SAMPLES, BLOCK_SAMPLES, words.shape[1])
    return np.ascontiguousarray(grouped.transpose(0, 2, 1))


def _compare_lanes_in_python(point, block, at, out):
    different = point[:, None] ^ block[:, at : at + DISTANCE_LANES]
    out[at : at + DISTANCE_LANES] = np.bitwise_count(different).sum(axis=0)


@in_llvm("void(uint64[::1], uint64[:, ::1], int64, uint32[::1])", means=_compare_lanes_in_python)
def compare_lanes(build, point, block, at, out):
    """Write the distances of a point to DISTANCE_LANES samples of a block to out, both from ``at`` on.

    Gain: 1.4 times as fast as two loops, which store the counts after every word, on a processor with
    VPOPCNTQ (AVX-512 VPOPCNTDQ).
    """
    words, width = block.shape
    counts_type = vector(WORD, DISTANCE_LANES)
    total = Register(build, constant(counts_type, 0))
    with loop(build, 0, words) as w:
        samples = block.load(build.add(build.mul(w, width), at), DISTANCE_LANES)
        different = build.xor(spread(build, point.value(w), DISTANCE_LANES), samples)
        ones = call(build, f"llvm.ctpop.v{DISTANCE_LANES}i64", counts_type, different)
        total.write(build.add(total.read(), ones))
    out.store(at, build.trunc(total.read(), vector(INT, DISTANCE_LANES)))


@inline
def distances(point, block, n, out):
    """Write the distances of a point, uint64 (words,), to the first n samples of a block.

    out: uint32 (BLOCK_SAMPLES,).
    """
    for at in range(0, n, DISTANCE_LANES):
        compare_lanes(point, block, at, out)


@inline
def count(distance, n, histogram):
    """Add 1 to the histogram at each of the first n distances."""
    for i in range(n):
        histogram[distance[i]] += 1


@inner
def count_all(points, blocks, n, histograms, out):
    """Do the work of ``count_distances`` without making an array.

    out: uint32 (BLOCK_SAMPLES,), work space for the distances of one point to one block.
    """
    for first in range(0, points.shape[0], POINT_GROUP):
        for block in range(blocks.shape[0]):
            n_in_block = min(BLOCK_SAMPLES, n - block * BLOCK_SAMPLES)  # the last block may be padded
            for point in range(first, min(first + POINT_GROUP, points.shape[0])):
                distances(points[point], blocks[block], n_in_block, out)
                count(out, n_in_block, histograms[point])


@kernel
def count_distances(points, blocks, n, histograms):
    """Add the distances of every point to n samples to the point's histogram.

    points uint64 (points, words), see ``pack``; blocks uint64 (blocks, words, BLOCK_SAMPLES), see
    ``pack_blocks``; histograms uint32 or int64 (points, width + 1). ValueError if they do not fit each other.
    """
    words, width = points.shape[1], histograms.shape[1] - 1
    packed = (
        blocks.shape[1] == words
        and blocks.shape[2] == BLOCK_SAMPLES
        and 0 <= n <= blocks.shape[0] * BLOCK_SAMPLES
    )
    if not (packed and histograms.shape[0] == points.shape[0] and (width + 63) // 64 == words):
        raise ValueError("count_distances: the arrays do not fit each other")
    count_all(points, blocks, n, histograms, np.empty(BLOCK_SAMPLES, np.uint32))


@kernel
def add_counts(new, n, total):
    """Move the counts of n samples from the histograms ``new`` into ``total``, which may have fewer columns.

    new uint32, total integers of any type with room for the sums (points, columns). Returns the number of
    columns that ``total`` needs, at least its own; counts beyond its last column stay in ``new``. ValueError
    if the arrays do not fit each other.

    Gain: ten times as fast as numpy, which also reads the empty columns.
    """
    points, columns = total.shape
    if new.shape[0] != points or new.shape[1] < columns:
        raise ValueError("add_counts: the arrays do not fit each other")
    needed = columns
    for point in range(points):
        added = i64(0)
        for d in range(columns):
            added += new[point, d]
            total[point, d] += new[point, d]
        for d in range(columns):
            new[point, d] = 0
        if added < n:
            for d in range(needed, new.shape[1]):
                if new[point, d]:
                    needed = d + 1
    return needed


@inner
def find_nearest(points, block, index, distance, out):
    """Do the work of ``nearest`` without making an array; out uint32 (BLOCK_SAMPLES,): work space."""
    n = index.shape[0]
    for i in range(n):
        distance[i] = i64(1) << i64(62)
    for point in range(points.shape[0]):
        distances(points[point], block, n, out)
        for i in range(n):
            d = i64(out[i])
            if d < distance[i]:
                distance[i] = d
                index[i] = point


@kernel
def nearest(points, block, index, distance):
    """Find the nearest point of each sample of a block: its index (the first in a tie) and distance.

    points uint64 (points, words); block uint64 (words, BLOCK_SAMPLES); index and distance int64 (samples,),
    at most BLOCK_SAMPLES samples. ValueError if they do not fit each other.
    """
    n = index.shape[0]
    if block.shape != (points.shape[1], BLOCK_SAMPLES) or n > BLOCK_SAMPLES or distance.shape[0] != n:
        raise ValueError("nearest: the arrays do not fit each other")
    find_nearest(points, block, index, distance, np.empty(BLOCK_SAMPLES, np.uint32))


MIXTURE_LANES = 8
"""Mixtures of a point summed at once: float64 numbers in the widest vector register."""


def _mix_lanes_in_python(weights, n, powers, out):
    out[:MIXTURE_LANES] = 0.0
    for d in range(n):
        out[:MIXTURE_LANES] += weights[d] * powers[d]


@in_llvm("void(float64[::1], int64, float64[:, ::1], float64[::1])", means=_mix_lanes_in_python)
def mix_lanes(build, weights, n, powers, out):
    """Write sum_d weights[d] powers[d, b] over the first n values of d to out, for MIXTURE_LANES b.

    powers (distances, MIXTURE_LANES); each sum runs in the order of d.

    Gain: twice as fast as a loop over b, where the compiler keeps the sums in memory.
    """
    total = Register(build, constant(vector(DOUBLE, MIXTURE_LANES), 0.0))
    with loop(build, 0, n) as d:
        row = powers.load(build.mul(d, constant(WORD, MIXTURE_LANES)), MIXTURE_LANES)
        terms = build.fmul(spread(build, weights.value(d), MIXTURE_LANES), row)
        total.write(build.fadd(total.read(), terms))
    out.store(0, total.read())


@inner
def mix(histograms, log_odds, powers, weights, total, out):
    """Do the work of ``log_mixtures`` without making an array.

    powers float64 (groups of MIXTURE_LANES betas, distances, MIXTURE_LANES), weights (distances,), total
    (MIXTURE_LANES,): work space; powers must be 0 where a group has no beta.
    """
    n_distances, betas = histograms.shape[1], log_odds.shape[0]
    groups = (betas + MIXTURE_LANES - 1) // MIXTURE_LANES
    for b in range(betas):
        ratio, power = np.exp(-log_odds[b]), 1.0
        for d in range(n_distances):
            powers[b // MIXTURE_LANES, d, b % MIXTURE_LANES] = power
            power *= ratio
    for point in range(histograms.shape[0]):
        histogram = histograms[point]
        first = 0
        while first < n_distances - 1 and histogram[first] == 0:
            first += 1
        last = n_distances
        while last > first + 1 and histogram[last - 1] == 0:
            last -= 1
        for d in range(first, last):
            weights[d - first] = histogram[d]
        for g in range(groups):
            mix_lanes(weights, last - first, powers[g], total)
            for b in range(g * MIXTURE_LANES, min((g + 1) * MIXTURE_LANES, betas)):
                out[point, b] = np.log(total[b % MIXTURE_LANES]) - first * log_odds[b]


@kernel
def log_mixtures(histograms, log_odds, out):
    """Write log sum_d histogram[d] exp(-d log_odds[b]) for every histogram and b, float64 (points, betas).

    Up to a factor this is the density of a point in the mixture of the indirect sampling likelihood
    (``metrics/isl.py``): one bump per sample, in which a unit keeps its value with odds
    beta / (1 - beta) = exp(log_odds).

    histograms (points, width + 1), none empty; log_odds float64 (betas,), at least 0 (beta >= 1/2), because
    powers would overflow. The power of the smallest distance is factored out of each sum, which therefore
    cannot underflow to 0. ValueError if the arrays do not fit each other.
    """
    n_distances, betas = histograms.shape[1], log_odds.shape[0]
    if out.shape != (histograms.shape[0], betas):
        raise ValueError("log_mixtures: the arrays do not fit each other")
    groups = (betas + MIXTURE_LANES - 1) // MIXTURE_LANES
    powers = np.zeros((groups, n_distances, MIXTURE_LANES))
    mix(histograms, log_odds, powers, np.empty(n_distances), np.empty(MIXTURE_LANES), out)
