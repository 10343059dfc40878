"""Sums over pairs of f = (v E[h|v]', v, E[h|v]), and five numbers of each watched pair.

The W of f has a row E[h|v] for each visible unit that is on. Up to BUFFER_ROWS rows are collected and then
added unit by unit, so that W is read and written once for all of them.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner, private
from rbmviz.kernels.bits import first_one, popcount
from rbmviz.kernels.vectors import aligned_zeros, sum_rows

f64, i64, u64 = np.float64, np.int64, np.uint64

BUFFER_ROWS = 96
"""Rows of means that the buffer holds."""

WATCHED = 5
"""Numbers of f kept per watched pair."""


class GradientBuffer(NamedTuple):
    """Rows of means that have not been added to W yet."""

    rows: np.ndarray  # float32 (BUFFER_ROWS, padded n_hidden)
    used: np.ndarray  # int64 (1,): number of rows in use
    rows_of_unit: np.ndarray  # int32 (n_visible, BUFFER_ROWS): rows that each visible unit receives
    n_rows_of_unit: np.ndarray  # int64 (n_visible,): their numbers
    total: np.ndarray  # float32 (padded n_hidden,): work space, the sum of a unit's rows
    zeros: np.ndarray  # float32 (padded n_hidden,): never written


class PairSums(NamedTuple):
    """Sums of UCD's estimate of <f>, see ``run_pairs``: one total per pair, one for all pairs, or none."""

    W: np.ndarray  # float64 (totals, n_visible, n_hidden)
    b: np.ndarray  # float64 (totals, n_visible)
    c: np.ndarray  # float64 (totals, n_hidden)
    buffer: GradientBuffer  # empty when every pair has ended


class WatchedPairs(NamedTuple):
    """Numbers of each watched pair, one row per pair, 0 before it begins; no rows if none is watched.

    The estimated expectations are: share of visible units that are on, mean over j of E[h_j|v], v_i,
    E[h_j|v], v_i E[h_j|v]; zeros unless the lag is 1.
    """

    unit: np.ndarray  # int64 (2,): the watched visible unit i and hidden unit j
    cd_estimate: np.ndarray  # float64 (pairs, WATCHED): CD-k's estimate, f(xi_k)
    unbiased: np.ndarray  # float64 (pairs, WATCHED): UCD's estimate
    times: np.ndarray  # int64 (times,): sweeps, ascending, from the lag to max_sweeps
    distances: np.ndarray  # int32 (pairs, times): Hamming distance of v, 0 from the meeting on


def make_gradient_buffer(m: int, n: int) -> GradientBuffer:
    """Return an empty buffer for m visible and n hidden units."""
    rows, lists = aligned_zeros(BUFFER_ROWS + 2, n), np.zeros((m, BUFFER_ROWS), np.int32)
    return GradientBuffer(rows[:-2], np.zeros(1, np.int64), lists, np.zeros(m, np.int64), rows[-2], rows[-1])


def no_sums(m: int, n: int) -> PairSums:
    """Return sums without a total, for callers that need meeting times only."""
    return PairSums(np.zeros((0, m, n)), np.zeros((0, m)), np.zeros((0, n)), make_gradient_buffer(1, 1))


def watch_nothing() -> WatchedPairs:
    """Return the record that watches no pair."""
    none = np.zeros((0, WATCHED))
    return WatchedPairs(np.zeros(2, np.int64), none, none, np.zeros(0, np.int64), np.zeros((0, 0), np.int32))


@inner
def flush(buffer, W):
    """Add the rows of the buffer to W, float64 (n_visible, n_hidden), and empty the buffer."""
    for i in range(W.shape[0]):
        if buffer.n_rows_of_unit[i]:
            rows = buffer.rows_of_unit[i]
            sum_rows(buffer.zeros, buffer.total, buffer.rows, rows, buffer.n_rows_of_unit[i], rows, i64(0))
            out, total = W[i], buffer.total
            for j in range(out.shape[0]):
                out[j] += f64(total[j])
            buffer.n_rows_of_unit[i] = 0
    buffer.used[0] = 0


@inline
def reserve_rows(buffer, n, W):
    """Return the index of the first of n free rows of the buffer; flush it first if it has fewer."""
    if buffer.used[0] + n > BUFFER_ROWS:
        flush(buffer, W)
    buffer.used[0] += n
    return buffer.used[0] - n


@inline
def assign_row(buffer, bits, start, row, sign, b):
    """Assign a buffer row to each unit that is on in the word ``bits``; add sign to its b."""
    while bits:
        i = start + i64(first_one(bits))
        bits &= bits - u64(1)
        buffer.rows_of_unit[i, buffer.n_rows_of_unit[i]] = row
        buffer.n_rows_of_unit[i] += 1
        b[i] += sign


@inline
def add_statistics(v, p, buffer, W, b, c):
    """Add f of one chain to b and c, float64, and to the buffer; v uint64 (words,), p float32: E[h|v]."""
    t = reserve_rows(buffer, i64(1), W)
    row = buffer.rows[t]
    for j in range(c.shape[0]):
        row[j] = p[j]
        c[j] += f64(p[j])
    for w in range(v.shape[0]):
        assign_row(buffer, v[w], 64 * w, t, 1.0, b)


@inline
def add_difference(v, p, v2, p2, buffer, W, b, c):
    """Add f of the first chain and subtract f of the second; a visible unit receives at most one row."""
    t = reserve_rows(buffer, i64(3), W)
    plus, minus, both = buffer.rows[t], buffer.rows[t + 1], buffer.rows[t + 2]
    for j in range(c.shape[0]):
        plus[j] = p[j]
        minus[j] = -p2[j]
        both[j] = p[j] - p2[j]
        c[j] += f64(both[j])
    for w in range(v.shape[0]):
        assign_row(buffer, v[w] & ~v2[w], 64 * w, t, 1.0, b)
        assign_row(buffer, v2[w] & ~v[w], 64 * w, t + 1, -1.0, b)
        assign_row(buffer, v[w] & v2[w], 64 * w, t + 2, 0.0, b)


@private
def add_watched_statistics(v, p, m, n, unit, sign, out):
    """Add sign times the watched numbers of a chain, of m and n units, to out, float64 (WATCHED,)."""
    on, on_h = 0.0, 0.0
    for w in range(v.shape[0]):
        on += f64(popcount(v[w]))
    for j in range(n):
        on_h += f64(p[j])
    v_i = f64((v[unit[0] // 64] >> u64(unit[0] % 64)) & u64(1))
    h_j = f64(p[unit[1]])
    out[0] += sign * on / m
    out[1] += sign * on_h / n
    out[2] += sign * v_i
    out[3] += sign * h_j
    out[4] += sign * v_i * h_j


@private
def record_distance(layer, t, progress, times, distances):
    """Add the Hamming distance of both chains to ``distances`` of a pair if t is the next time; layer: v."""
    while progress.next_time < times.shape[0] and times[progress.next_time] <= t:
        if times[progress.next_time] == t:
            for w in range(layer.bits.shape[1]):
                distances[progress.next_time] += np.int32(popcount(layer.bits[0, w] ^ layer.bits[1, w]))
        progress.next_time += 1


@inline
def sums_fit(sums, pairs, m, n, padded):
    """Return whether sums fit the number of pairs and of units (padded: hidden)."""
    totals, buffer = sums.W.shape[0], sums.buffer
    some = totals <= 1 or totals >= pairs
    shapes = sums.W.shape == (totals, m, n) and sums.b.shape == (totals, m) and sums.c.shape == (totals, n)
    rows = buffer.rows.shape == (BUFFER_ROWS, padded) and buffer.used.shape[0] == 1
    lists = buffer.rows_of_unit.shape == (m, BUFFER_ROWS) and buffer.n_rows_of_unit.shape[0] == m
    space = buffer.total.shape[0] == padded and buffer.zeros.shape[0] == padded
    return some and shapes and (totals == 0 or (rows and lists and space))


@inline
def watch_fits(watched, pairs, m, n):
    """Return whether the watched arrays fit the number of pairs and of units."""
    rows, unit = watched.cd_estimate.shape[0], watched.unit
    some = rows == 0 or rows >= pairs
    numbers = watched.cd_estimate.shape == (rows, WATCHED) and watched.unbiased.shape == (rows, WATCHED)
    distances = watched.distances.shape == (rows, watched.times.shape[0])
    units = unit.shape[0] == 2 and 0 <= unit[0] < m and 0 <= unit[1] < n
    return some and numbers and distances and units
