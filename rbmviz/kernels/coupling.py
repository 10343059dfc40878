"""Two Gibbs chains drawn jointly so that they meet (paper unbiased CD, algorithms 1 and 3).

What depends only on a state is computed once a half-sweep: the pre-activations (from as few rows as
possible), the means, and the constant of the log ratio. A proposal then costs its uniforms, a comparison and
a masked sum. States are packed into words. Log densities are used throughout: a product of clamped
probabilities can make the residual loop endless.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner, kernel
from rbmviz.kernels.bits import first_one, list_ones, popcount, word
from rbmviz.kernels.gibbs import REBUILD_SWEEPS
from rbmviz.kernels.random import FEW, sigmoid, uniforms
from rbmviz.kernels.vectors import WIDTH, aligned_zeros, ones_below, product, sum_rows, total

f32, f64, i64, u64 = np.float32, np.float64, np.int64, np.uint64

OFF = -100.0
"""Bias of the units that fill a layer up to whole vectors: no uniform is so small that one turns on."""

FACTORS = 800
"""So many factors in [1/2, 2] have a product that float64 can hold; a multiple of WIDTH."""

TERMS = 96
"""Rows of means that are collected before they are added to W together."""


class AffineMap(NamedTuple):
    """Pre-activations bias + x @ rows: rows float32 (n_in, padded n_out), bias float32 (padded n_out,)."""

    rows: np.ndarray
    bias: np.ndarray


class CoupledLayer(NamedTuple):
    """A layer of both chains, one row a chain: its state, and its law given the other layer.

    bits uint64 (2, words): the state; a, p float32 (2, padded units): pre-activations and means where the
    other layer is ``at``, uint64 (2, words).
    """

    bits: np.ndarray
    a: np.ndarray
    p: np.ndarray
    at: np.ndarray


class Pair(NamedTuple):
    """Both chains, by layers."""

    v: CoupledLayer
    h: CoupledLayer


class Scratch(NamedTuple):
    """Work space.

    z float32: uniforms; slope, part, factor float64 (padded n_visible,): terms of log ratios; zeros uint64:
    a state with all units off; on, off int32: lists of units.
    """

    z: np.ndarray
    slope: np.ndarray
    part: np.ndarray
    factor: np.ndarray
    zeros: np.ndarray
    on: np.ndarray
    off: np.ndarray


class GradientBuffer(NamedTuple):
    """Rows of means that are yet to be added to W.

    rows float32 (TERMS, padded n_hidden), of which used[0] (int64) are in use; lists int32 (n_visible,
    TERMS): the rows that are to be added for each visible unit, n int64 (n_visible,) of them. row, zeros
    float32: work space.
    """

    rows: np.ndarray
    row: np.ndarray
    zeros: np.ndarray
    lists: np.ndarray
    n: np.ndarray
    used: np.ndarray


def make_map(rows: np.ndarray, bias: np.ndarray) -> AffineMap:
    """Copy a map into padded, aligned memory."""
    n_in, n_out = rows.shape
    made = AffineMap(aligned_zeros(n_in, n_out), aligned_zeros(n_out))
    made.rows[:, :n_out] = rows
    made.bias[:n_out] = bias
    made.bias[n_out:] = OFF
    return made


def _words(*shape: int) -> np.ndarray:
    return np.zeros((*shape[:-1], -(-shape[-1] // 64)), np.uint64)


def _layer(n: int, others: int) -> CoupledLayer:
    a, p = aligned_zeros(2, 2, n)
    return CoupledLayer(_words(2, n), a, p, _words(2, others))


def make_pair(m: int, n: int) -> Pair:
    """Return two chains of m visible and n hidden units; ``place_chains`` gives them their start."""
    return Pair(_layer(m, n), _layer(n, m))


def make_scratch(m: int, n: int) -> Scratch:
    """Return the work space for m visible and n hidden units."""
    longest, width = max(m, n), -(-m // WIDTH) * WIDTH
    slope, part, factor = np.zeros((3, width))
    on, off = np.zeros((2, longest), np.int32)
    z = np.ones(longest + 2 * WIDTH, np.float32)
    return Scratch(z, slope, part, factor, _words(longest), on, off)


def make_gradient_buffer(m: int, n: int) -> GradientBuffer:
    """Return an empty buffer for m visible and n hidden units."""
    rows, lists = aligned_zeros(TERMS + 2, n), np.zeros((m, TERMS), np.int32)
    return GradientBuffer(rows[:-2], rows[-2], rows[-1], lists, np.zeros(m, np.int64), np.zeros(1, np.int64))


def bits_of(words: np.ndarray, n: int) -> np.ndarray:
    """Return the first n bits of a state as uint8 0 and 1."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), count=n, bitorder="little")


@inner
def reset_to_bias(map, layer):
    """Set the pre-activations to those of an input of zeros, the bias, which is known without rounding."""
    for chain in range(2):
        for w in range(layer.at.shape[1]):
            layer.at[chain, w] = 0
        for i in range(layer.a.shape[1]):
            layer.a[chain, i] = map.bias[i]


@inner
def place_chains(up, down, pair, v0):
    """Set both chains to v0 (uint8); h is not drawn yet."""
    reset_to_bias(down, pair.v)
    reset_to_bias(up, pair.h)
    for w in range(pair.v.bits.shape[1]):
        pair.v.bits[0, w] = pair.v.bits[1, w] = word(v0, 64 * w)


@inline
def copy_chain(pair, source, target):
    """Copy the state of one chain to the other."""
    for w in range(pair.v.bits.shape[1]):
        pair.v.bits[target, w] = pair.v.bits[source, w]
    for w in range(pair.h.bits.shape[1]):
        pair.h.bits[target, w] = pair.h.bits[source, w]


@inline
def update_means(map, layer, x, chain, scratch):
    """Update the pre-activations and means of a layer for the state x of the other layer, from few rows.

    The rows are those of the active units, or of the units that flipped, or, for the second chain, of those
    in which the chains differ: whichever are fewest.
    """
    on, off = scratch.on, scratch.off
    active, flipped, apart = u64(0), u64(0), u64(0)
    for w in range(x.shape[0]):
        active += popcount(x[w])
        flipped += popcount(x[w] ^ layer.at[chain, w])
        apart += popcount(x[w] ^ layer.at[0, w])
    origin, base = layer.at[0], layer.a[0]
    if flipped <= apart:
        origin, base = layer.at[chain], layer.a[chain]
    if active <= min(flipped, apart):
        origin, base = scratch.zeros, map.bias
    n_on, n_off = u64(0), u64(0)
    for w in range(x.shape[0]):
        now, before = x[w], origin[w]
        n_on = list_ones(now & ~before, 64 * w, on, n_on)
        n_off = list_ones(before & ~now, 64 * w, off, n_off)
        layer.at[chain, w] = now
    a, p = layer.a[chain], layer.p[chain]
    sum_rows(base, a, map.rows, on, i64(n_on), off, i64(n_off))
    for i in range(a.shape[0]):
        p[i] = sigmoid(a[i])


@inline
def draw(layer, chain, z):
    """Set the state of a layer to [z < p], for its means p and uniforms z."""
    p = layer.p[chain]
    for w in range(layer.bits.shape[1]):
        bits = u64(0)
        for i in range(64 * w, min(64 * w + 64, p.shape[0]), WIDTH):
            bits |= ones_below(z, p, i) << u64(i - 64 * w)
        layer.bits[chain, w] = bits


@inline
def log_ratio_constant(v, scratch):
    """Return the part of log p_2(v) - log p_1(v) that does not depend on v; the rest goes into scratch.slope.

    It is sum softplus(a_1) - softplus(a_2), and softplus(a) = max(a, 0) - log max(p, 1 - p), p = sigmoid(a):
    these factors lie in [1/2, 1], so that one logarithm serves FACTORS of their quotients.
    """
    slope, part, factor, half, zero = scratch.slope, scratch.part, scratch.factor, f32(0.5), f32(0.0)
    a, a2, p, p2 = v.a[0], v.a[1], v.p[0], v.p[1]
    for i in range(a.shape[0]):
        slope[i] = f64(a2[i]) - f64(a[i])
        part[i] = f64(max(a[i], zero)) - f64(max(a2[i], zero))
        factor[i] = f64(half + abs(p2[i] - half)) / f64(half + abs(p[i] - half))
    found = total(part)
    for begin in range(0, a.shape[0], FACTORS):
        found += np.log(product(factor[begin : begin + FACTORS]))
    return found


@inline
def log_ratio(z, p, constant, scratch):
    """Return log p_2(v) - log p_1(v) of v = [z < p], after ``log_ratio_constant``."""
    part, slope = scratch.part, scratch.slope
    for i in range(p.shape[0]):
        part[i] = slope[i] if z[i] < p[i] else 0.0
    return constant + total(part)


@inline
def sweep(up, down, pair, chains, scratch, state, common, most):
    """One sweep in place, v then h: of both ``chains`` jointly (2), of the first (1); 0: h alone, the same.

    Returns (met, refused proposals of the first chain, of the second, loops stopped by ``most``).
    common: algorithm 3 (residual proposals and hidden draws share their uniforms), else algorithm 1.
    """
    m, n, z, v, h = up.rows.shape[0], down.rows.shape[0], scratch.z, pair.v, pair.h
    for chain in range(chains):
        update_means(down, v, h.bits[chain], chain, scratch)
    met, constant = False, 0.0
    if chains:
        uniforms(state, z, m + chains - 1)
        if chains == 2:
            constant = log_ratio_constant(v, scratch)
            met = np.log(f64(z[m])) <= log_ratio(z, v.p[0], constant, scratch)
        draw(v, i64(0), z)  # algorithm 1 keeps it: refused by U, it has the residual law
    first, second = chains == 2 and common and not met, chains == 2 and not met
    refused, refused2, proposals = 0, 0, 0
    # Activations that overflow, where a training diverges, have no ratio: the loop is given up, and counted.
    while (first or second) and proposals < most and np.isfinite(constant):
        proposals += 1
        uniforms(state, z, m + 2)
        for chain in range(2):
            if second if chain else first:
                ratio = log_ratio(z, v.p[chain], constant, scratch)
                again = np.log(f64(z[m + chain])) <= (-ratio if chain else ratio)
                if not again:
                    draw(v, chain, z)
                if chain:
                    second, refused2 = again, refused2 + again
                else:
                    first, refused = again, refused + again
    for chain in range(2 if chains == 2 and not met else 1):
        update_means(up, h, v.bits[chain], chain, scratch)
        if chain == 0 or not common:
            uniforms(state, z, n)
        draw(h, chain, z)
    if met or not chains:
        copy_chain(pair, 0, 1)
    return met, refused, refused2, i64(first or second)


@inner
def flush(buffer, W):
    """Add the collected rows to W, float64, and empty the buffer."""
    for i in range(W.shape[0]):
        if buffer.n[i]:
            sum_rows(
                buffer.zeros, buffer.row, buffer.rows, buffer.lists[i], buffer.n[i], buffer.lists[i], i64(0)
            )
            out, row = W[i], buffer.row
            for j in range(out.shape[0]):
                out[j] += f64(row[j])
            buffer.n[i] = 0
    buffer.used[0] = 0


@inner
def reserve_rows(buffer, n, W):
    """Return the first of n free rows of the buffer, which is flushed before where it is full."""
    if buffer.used[0] + n > TERMS:
        flush(buffer, W)
    buffer.used[0] += n
    return buffer.used[0] - n


@inner
def assign_row(buffer, bits, start, row, sign, B):
    """Assign a row to each visible unit that is on in a word, and add sign to its B."""
    while bits:
        i = start + i64(first_one(bits))
        bits &= bits - u64(1)
        buffer.lists[i, buffer.n[i]] = row
        buffer.n[i] += 1
        B[i] += sign


@inner
def add_statistics(pair, buffer, W, B, C):
    """Add f of the first chain, f = (v E[h|v]', v, E[h|v]), to W (once the rows are full), B, C, float64."""
    t = reserve_rows(buffer, 1, W)
    row, p = buffer.rows[t], pair.h.p[0]
    for j in range(C.shape[0]):
        row[j] = p[j]
        C[j] += f64(p[j])
    for w in range(pair.v.bits.shape[1]):
        assign_row(buffer, pair.v.bits[0, w], 64 * w, t, 1.0, B)


@inner
def add_difference(pair, buffer, W, B, C):
    """Add f of the first chain and subtract that of the second: one row for a unit that is on in either."""
    t = reserve_rows(buffer, 3, W)
    plus, minus, both, p, p2 = (
        buffer.rows[t],
        buffer.rows[t + 1],
        buffer.rows[t + 2],
        pair.h.p[0],
        pair.h.p[1],
    )
    for j in range(C.shape[0]):
        plus[j] = p[j]
        minus[j] = -p2[j]
        both[j] = p[j] - p2[j]
        C[j] += f64(both[j])
    for w in range(pair.v.bits.shape[1]):
        v, v2 = pair.v.bits[0, w], pair.v.bits[1, w]
        assign_row(buffer, v & ~v2, 64 * w, t, 1.0, B)
        assign_row(buffer, v2 & ~v, 64 * w, t + 1, -1.0, B)
        assign_row(buffer, v & v2, 64 * w, t + 2, 0.0, B)


@inline
def fit_layers(layer, own, others, width):
    """Say whether a layer has so many units, the other layer so many."""
    words = layer.bits.shape == (2, (own + 63) // 64) and layer.at.shape == (2, (others + 63) // 64)
    return words and layer.a.shape == (2, width) and layer.p.shape == (2, width)


@inline
def fit_pair(up, down, pair, scratch, v0, states):
    """Say whether maps, chains, work space, starts and random states fit each other."""
    m, n = up.rows.shape[0], down.rows.shape[0]
    right, left, longest = up.bias.shape[0], down.bias.shape[0], max(m, n)
    maps = up.rows.shape[1] == right and down.rows.shape[1] == left and right >= n and left >= m
    whole = right % WIDTH == 0 and left % WIDTH == 0
    layers = fit_layers(pair.v, m, n, left) and fit_layers(pair.h, n, m, right)
    slopes = (
        scratch.slope.shape[0] == left and scratch.part.shape[0] == left and scratch.factor.shape[0] == left
    )
    lists = scratch.on.shape[0] == longest and scratch.off.shape[0] == longest
    rest = scratch.z.shape[0] == longest + 2 * WIDTH and scratch.zeros.shape[0] == (longest + 63) // 64
    starts = v0.shape[1] == m and states.shape[0] >= v0.shape[0]
    lanes = states.shape[1] == 4 and states.shape[2] == FEW
    return maps and whole and layers and slopes and lists and rest and starts and lanes


@inline
def fit_sums(buffer, m, width):
    """Say whether there is room for the means of m visible units and of the padded hidden ones."""
    rows = (
        buffer.rows.shape == (TERMS, width)
        and buffer.row.shape[0] == width
        and buffer.zeros.shape[0] == width
    )
    return rows and buffer.lists.shape == (m, TERMS) and buffer.n.shape[0] == m and buffer.used.shape[0] == 1


@kernel
def couple(
    up, down, pair, scratch, buffer, v0, states, lag, k, t_max, common, most, estimate, tau, counts, W, B, C
):
    """Run pairs of chains, one a row of v0 (uint8), until they meet or t_max.

    up: map of v to h, down: of h to v. xi runs ``lag`` sweeps ahead; tau[i] is the smallest t with
    xi_t = eta_{t - lag}, or t_max. counts int64 (chains, 3): refused proposals, truncated (0 or 1), residual
    loops stopped. Where ``estimate`` (lag 1): the sums over chains of
    f(xi_k) + sum_{t=k+1}^{tau-1} [f(xi_t) - f(eta_{t-1})] go into W, B, C, one slot a chain, or one for all.
    """
    m, n, pairs, slots = up.rows.shape[0], down.rows.shape[0], v0.shape[0], W.shape[0]
    fit = fit_pair(up, down, pair, scratch, v0, states)
    fit = fit and tau.shape[0] >= pairs and counts.shape[0] >= pairs and counts.shape[1] == 3
    some = slots == 1 or slots >= pairs
    totals = W.shape == (slots, m, n) and B.shape == (slots, m) and C.shape == (slots, n) and some
    totals = totals and fit_sums(buffer, m, up.bias.shape[0])
    if not (fit and (totals or not estimate)):
        raise ValueError("couple: the arrays do not fit each other")
    for i in range(v0.shape[0]):
        slot = min(i, W.shape[0] - 1)
        place_chains(up, down, pair, v0[i])
        t, chains, met = i64(-1), i64(0), False
        while (t < t_max and not met) or (estimate and t < k):  # met before k: f(xi_k) is all there is
            found, refused, refused2, stopped = sweep(
                up, down, pair, chains, scratch, states[i], common, most
            )
            t += 1
            if chains == 2:
                met, tau[i] = found, t
                counts[i, 0] += refused + refused2
                counts[i, 2] += stopped
            if estimate and t == k:
                add_statistics(pair, buffer, W[slot], B[slot], C[slot])
            elif estimate and t > k and not met:
                add_difference(pair, buffer, W[slot], B[slot], C[slot])
            if t and t % REBUILD_SWEEPS == 0:
                reset_to_bias(down, pair.v)
                reset_to_bias(up, pair.h)
            chains = i64(1) if t < lag or met else i64(2)
        counts[i, 1] = not met
        if estimate and (W.shape[0] > 1 or i + 1 == v0.shape[0]):
            flush(buffer, W[slot])


@inner
def add_watched_statistics(pair, chain, m, n, unit, sign, out):
    """Add sign times five statistics to out: shares on of v and E[h|v], v_i, E[h_j|v], v_i E[h_j|v].

    unit int64 (2,): i and j.
    """
    v, mean, on, on_h = pair.v.bits[chain], pair.h.p[chain], 0.0, 0.0
    for w in range(v.shape[0]):
        on += f64(popcount(v[w]))
    for j in range(n):
        on_h += f64(mean[j])
    v_i = f64((v[unit[0] // 64] >> u64(unit[0] % 64)) & u64(1))
    h_j = f64(mean[unit[1]])
    out[0] += sign * on / m
    out[1] += sign * on_h / n
    out[2] += sign * v_i
    out[3] += sign * h_j
    out[4] += sign * v_i * h_j


@kernel
def advance_pairs(up, down, pair, scratch, v0, states, lag, k, t_max, common, most, unit, times, sweeps,
                  cursor, tau, counts, plain, unbiased, distances):  # fmt: skip
    """Advance the pairs that ``couple`` runs, one after the other, by about so many sweeps; return how many.

    cursor int64 (3,): pair under way, its t (0: not begun), next of ``times``; ``pair``:
    its two chains. All are advanced in place; a beginning is ``lag`` sweeps at once. Of each pair: tau;
    counts int64 (4,): refused proposals of either chain, truncated, residual loops stopped; distances int32
    (times,): Hamming distance of v and v2 at these sweeps, 0 from the meeting on; where lag is 1, plain and
    unbiased float64 (5,): f(xi_k), and f(xi_k) + sum_{t=k+1}^{tau-1} [f(xi_t) - f(eta_{t-1})].
    """
    m, n = up.rows.shape[0], down.rows.shape[0]
    pairs, started = v0.shape[0], cursor.shape[0] == 3 and cursor[0] >= 0
    fit = fit_pair(up, down, pair, scratch, v0, states) and started
    fit = fit and unit.shape[0] == 2 and 0 <= unit[0] < m and 0 <= unit[1] < n
    fit = fit and tau.shape[0] >= pairs and counts.shape[0] >= pairs and counts.shape[1] == 4
    fit = fit and plain.shape[0] >= pairs and plain.shape[1] == 5
    fit = fit and unbiased.shape[0] >= pairs and unbiased.shape[1] == 5
    if not (fit and distances.shape[0] >= pairs and distances.shape[1] == times.shape[0]):
        raise ValueError("follow: the arrays do not fit each other")
    used, estimate = 0, lag == 1
    while used < sweeps and cursor[0] < v0.shape[0]:
        i, t = cursor[0], cursor[1]
        begun, aim, met = t, t + 1, False
        if t == 0:
            place_chains(up, down, pair, v0[i])
            t, aim = i64(-1), lag
            cursor[2] = 0
        while t < aim:
            chains = i64(0) if t < 0 else i64(1) if t < lag or met else i64(2)
            found, refused, refused2, stopped = sweep(
                up, down, pair, chains, scratch, states[i], common, most
            )
            t += 1
            if chains == 2:
                met = found
                counts[i, 0] += refused
                counts[i, 1] += refused2
                counts[i, 3] += stopped
            if not met or chains == 2:
                cursor[1] = t
            if met and estimate and t < k:
                aim = k  # met before k: f(xi_k) is all there is
            if estimate and t == k:
                add_watched_statistics(pair, i64(0), m, n, unit, 1.0, plain[i])
                unbiased[i] += plain[i]
            elif estimate and t > k and not met:
                add_watched_statistics(pair, i64(0), m, n, unit, 1.0, unbiased[i])
                add_watched_statistics(pair, i64(1), m, n, unit, -1.0, unbiased[i])
            if t and t % REBUILD_SWEEPS == 0:
                reset_to_bias(down, pair.v)
                reset_to_bias(up, pair.h)
        t = cursor[1]
        used += t - begun
        while cursor[2] < times.shape[0] and times[cursor[2]] <= t:
            if times[cursor[2]] == t and not met:
                for w in range(pair.v.bits.shape[1]):
                    distances[i, cursor[2]] += np.int32(popcount(pair.v.bits[0, w] ^ pair.v.bits[1, w]))
            cursor[2] += 1
        if met or t >= t_max:
            tau[i] = t
            counts[i, 2] = not met
            cursor[0], cursor[1] = i + 1, 0
            if met:
                copy_chain(pair, 1, 0)  # the second is where they met, the first may have gone on to k
    return used
