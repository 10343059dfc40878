"""Two Gibbs chains drawn jointly so that they meet (paper unbiased CD, algorithms 1 and 3).

Log densities throughout, from softplus of the pre-activations: a product of clamped probabilities can make
the residual loop endless.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.gibbs import add_rows, copy_bits
from rbmviz.kernels.random import random_bits, sigmoid

f32, f64, i32, i64, u32 = np.float32, np.float64, np.int32, np.int64, np.uint32

LANES = 8
"""Partial sums side by side: one widest vector of float64."""

FACTORS = 1000
"""Factors in (1, 2] whose product float64 can hold."""

SMALL = 64
"""Below so many units to look for differences takes longer than to add all active rows."""


class Room(NamedTuple):
    """Work space of a pair, made once.

    a, a2 float32 (n_visible,): pre-activations of v given h, of either chain; e, e2 float32 (n_hidden,):
    of h given v, valid after a sweep; z: uniforms; candidate uint8 (n_visible,): a proposal; on, off int32:
    lists of units; factor, part, slope float64 (n_visible,), lanes float64 (LANES,): terms of log ratios.
    """

    a: np.ndarray
    a2: np.ndarray
    e: np.ndarray
    e2: np.ndarray
    z: np.ndarray
    candidate: np.ndarray
    on: np.ndarray
    off: np.ndarray
    factor: np.ndarray
    part: np.ndarray
    slope: np.ndarray
    lanes: np.ndarray


@kernel
def make_room(m, n):
    """Return the work space for m visible and n hidden units."""
    longest = max(m, n) + 2
    return Room(
        np.empty(m, np.float32),
        np.empty(m, np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(max(m + 2, n), np.float32),
        np.empty(m, np.uint8),
        np.empty(longest, np.int32),
        np.empty(longest, np.int32),
        np.empty(m),
        np.empty(m),
        np.empty(m),
        np.empty(LANES),
    )


@kernel
def uniforms(state, out):
    """Fill out, float32 (n,), with uniforms of 24 bits, in the middle of their cells."""
    lanes = state.shape[1]
    bits = np.empty(lanes, np.uint32)
    for start in range(0, out.shape[0], lanes):
        random_bits(state, bits)
        draws = out[start : start + lanes]
        for i in range(draws.shape[0]):
            draws[i] = (f32(i32(bits[i] >> u32(8))) + f32(0.5)) * f32(2.0**-24)


@kernel
def activate(rows, bias, x, out, room):
    """Write bias + the sum of the rows where x is 1."""
    n = 0
    for j in range(x.shape[0]):
        room.on[n] = j
        n += i64(x[j])
    for i in range(out.shape[0]):
        out[i] = bias[i]
    add_rows(out, rows, room.on, n, f32(1.0))


@kernel
def activate_beside(rows, bias, x, out, x0, out0, room):
    """Do ``activate`` by the fewest rows: the active ones, or where x differs from x0, known as out0."""
    if x.shape[0] < SMALL:
        activate(rows, bias, x, out, room)
        return
    n_on, n_off, active = 0, 0, 0
    for j in range(x.shape[0]):
        room.on[n_on], room.off[n_off] = j, j
        n_on += i64(x[j] & (x0[j] ^ 1))
        n_off += i64(x0[j] & (x[j] ^ 1))
        active += i64(x[j])
    if active <= n_on + n_off:
        activate(rows, bias, x, out, room)
        return
    for i in range(out.shape[0]):
        out[i] = out0[i]
    add_rows(out, rows, room.on, n_on, f32(1.0))
    add_rows(out, rows, room.off, n_off, f32(-1.0))


@kernel
def threshold(z, a, out):
    """Draw bits of means sigmoid(a) from the uniforms z."""
    for i in range(out.shape[0]):
        out[i] = z[i] < sigmoid(a[i])


@kernel
def exp_below_zero(x):
    """Return exp(x) for -700 <= x <= 0 in float64, error below 4e-16, without a branch or a call.

    x = (n + f) log 2 with |f| <= 1/2: adding and taking away 1.5 * 2^52 rounds to the integer n, which
    is then in the low bits of the sum; 2^f is its Taylor polynomial of degree 13.
    """
    t = x * 1.4426950408889634
    shifted = t + 6755399441055744.0
    f = (t - (shifted - 6755399441055744.0)) * 0.6931471805599453
    p = 1.0 / 6227020800.0
    p = p * f + 1.0 / 479001600.0
    p = p * f + 1.0 / 39916800.0
    p = p * f + 1.0 / 3628800.0
    p = p * f + 1.0 / 362880.0
    p = p * f + 1.0 / 40320.0
    p = p * f + 1.0 / 5040.0
    p = p * f + 1.0 / 720.0
    p = p * f + 1.0 / 120.0
    p = p * f + 1.0 / 24.0
    p = p * f + 1.0 / 6.0
    p = p * f + 0.5
    p = p * f + 1.0
    p = p * f + 1.0
    power = i64((f64(shifted).view(i64) + i64(1023)) << i64(52)).view(f64)
    return p * power


@kernel
def total(x, lanes):
    """Sum x, float64, LANES partial sums side by side."""
    whole = x.shape[0] // LANES * LANES
    for l in range(LANES):
        lanes[l] = 0.0
    for i in range(0, whole, LANES):
        for l in range(LANES):
            lanes[l] += x[i + l]
    found = 0.0
    for i in range(whole, x.shape[0]):
        found += x[i]
    for l in range(LANES):
        found += lanes[l]
    return found


@kernel
def log_ratio_constant(a, a2, room):
    """Return the part of log p(v|a2) - log p(v|a) that does not depend on v: sum softplus(a) - softplus(a2).

    softplus(x) = max(x, 0) + log(1 + exp(-|x|)); the factors 1 + exp(-|x|) lie in (1, 2], so that one
    logarithm serves FACTORS of their quotients. The part that does depend on v goes into room.slope.
    """
    factor, part, slope = room.factor, room.part, room.slope
    for i in range(a.shape[0]):
        x, y = f64(a[i]), f64(a2[i])
        slope[i] = y - x
        part[i] = max(x, 0.0) - max(y, 0.0)
        over = 1.0 + exp_below_zero(max(-abs(x), -700.0))
        factor[i] = over / (1.0 + exp_below_zero(max(-abs(y), -700.0)))
    found = total(part, room.lanes)
    for begin in range(0, a.shape[0], FACTORS):
        product = 1.0
        for i in range(begin, min(begin + FACTORS, a.shape[0])):
            product *= factor[i]
        found += np.log(product)
    return found


@kernel
def log_ratio(v, constant, room):
    """Return log p(v|a2) - log p(v|a), after ``log_ratio_constant`` for these a and a2."""
    part, slope = room.part, room.slope
    for i in range(v.shape[0]):
        part[i] = slope[i] if v[i] else 0.0
    return constant + total(part, room.lanes)


@kernel
def gibbs_sweep(up, down, b, c, v, h, room, state):
    """One sweep of one chain, v then h: v ~ p(v|h), h ~ p(h|v)."""
    activate(down, b, h, room.a, room)
    uniforms(state, room.z)
    threshold(room.z, room.a, v)
    activate(up, c, v, room.e, room)
    uniforms(state, room.z)
    threshold(room.z, room.e, h)


@kernel
def coupled_sweep(up, down, b, c, v, h, v2, h2, room, state, common, most):
    """One joint sweep of both chains, in place.

    Returns (met, rejected proposals of the first chain, of the second, loops stopped by ``most``).
    common: algorithm 3 (residual proposals and hidden draws share their uniforms), else algorithm 1.
    """
    m = v.shape[0]
    a, a2, e, e2, z, candidate = room.a, room.a2, room.e, room.e2, room.z, room.candidate
    activate(down, b, h, a, room)
    activate_beside(down, b, h2, a2, h, a, room)
    constant = log_ratio_constant(a, a2, room)
    uniforms(state, z)
    threshold(z, a, candidate)
    if np.log(f64(z[m])) <= log_ratio(candidate, constant, room):
        copy_bits(candidate, v)
        copy_bits(candidate, v2)
        activate(up, c, v, e, room)
        uniforms(state, z)
        threshold(z, e, h)
        copy_bits(h, h2)
        return True, 0, 0, 0
    copy_bits(candidate, v)  # algorithm 1 keeps it: refused by U, it has the residual law
    wanted, wanted2 = common, True
    rejected, rejected2, proposals = 0, 0, 0
    # Activations that overflow, where a training diverges, have no ratio: the loop is given up, and counted.
    while (wanted or wanted2) and proposals < most and np.isfinite(constant):
        proposals += 1
        uniforms(state, z)
        if wanted:
            threshold(z, a, candidate)
            if np.log(f64(z[m])) > log_ratio(candidate, constant, room):
                copy_bits(candidate, v)
                wanted = False
            else:
                rejected += 1
        if wanted2:
            threshold(z, a2, candidate)
            if np.log(f64(z[m + 1])) > -log_ratio(candidate, constant, room):
                copy_bits(candidate, v2)
                wanted2 = False
            else:
                rejected2 += 1
    activate(up, c, v, e, room)
    uniforms(state, z)
    threshold(z, e, h)
    activate_beside(up, c, v2, e2, v, e, room)
    if not common:
        uniforms(state, z)
    threshold(z, e2, h2)
    return False, rejected, rejected2, i64(wanted or wanted2)


@kernel
def add_statistics(v, e, W, B, C):
    """Add (v E[h|v]', v, E[h|v]) to W, B, C (float64), from the pre-activations e of h at v."""
    mean = np.empty(e.shape[0])
    for j in range(e.shape[0]):
        mean[j] = f64(sigmoid(e[j]))
        C[j] += mean[j]
    for i in range(v.shape[0]):
        if v[i]:
            B[i] += 1.0
            row = W[i]
            for j in range(mean.shape[0]):
                row[j] += mean[j]


@kernel
def add_difference(v, e, v2, e2, W, B, C):
    """Add the statistics of v and take away those of v2, each row of W touched once."""
    mean, mean2, between = np.empty(e.shape[0]), np.empty(e.shape[0]), np.empty(e.shape[0])
    for j in range(e.shape[0]):
        mean[j], mean2[j] = f64(sigmoid(e[j])), f64(sigmoid(e2[j]))
        between[j] = mean[j] - mean2[j]
        C[j] += between[j]
    for i in range(v.shape[0]):
        row = W[i]
        if v[i] and v2[i]:
            for j in range(row.shape[0]):
                row[j] += between[j]
        elif v[i]:
            B[i] += 1.0
            for j in range(row.shape[0]):
                row[j] += mean[j]
        elif v2[i]:
            B[i] -= 1.0
            for j in range(row.shape[0]):
                row[j] -= mean2[j]


@kernel
def couple(up, down, b, c, v0, states, lag, k, t_max, common, most, estimate, tau, counts, W, B, C):
    """Run pairs of chains, one a row of v0 (uint8), until they meet or t_max.

    up float32 (n_visible, n_hidden), down its transpose. xi runs ``lag`` sweeps ahead; tau[i] is the
    smallest t with xi_t = eta_{t - lag}, or t_max. counts int64 (chains, 3): rejected proposals, truncated (0
    or 1), residual loops stopped. Where ``estimate`` (lag 1): the sums over chains of
    f(xi_k) + sum_{t=k+1}^{tau-1} [f(xi_t) - f(eta_{t-1})] go into W, B, C, one slot a chain, or one for all.
    """
    m, n = up.shape
    room = make_room(m, n)
    h, v2, h2 = np.empty(n, np.uint8), np.empty(m, np.uint8), np.empty(n, np.uint8)
    for i in range(v0.shape[0]):
        state = states[i]
        slot = min(i, W.shape[0] - 1)
        v = v0[i].copy()
        activate(up, c, v, room.e, room)
        uniforms(state, room.z)
        threshold(room.z, room.e, h)
        copy_bits(v, v2)
        copy_bits(h, h2)
        for s in range(lag):
            gibbs_sweep(up, down, b, c, v, h, room, state)
            if estimate and s + 1 == k:
                add_statistics(v, room.e, W[slot], B[slot], C[slot])
        t, met = lag, False
        while not met and t < t_max:
            met, rejected, rejected2, stopped = coupled_sweep(
                up, down, b, c, v, h, v2, h2, room, state, common, most
            )
            t += 1
            counts[i, 0] += rejected + rejected2
            counts[i, 2] += stopped
            if estimate and t == k:
                add_statistics(v, room.e, W[slot], B[slot], C[slot])
            elif estimate and t > k and not met:
                add_difference(v, room.e, v2, room.e2, W[slot], B[slot], C[slot])
        tau[i] = t
        counts[i, 1] = not met
        while estimate and t < k:  # met before k: f(xi_k) is all there is
            gibbs_sweep(up, down, b, c, v, h, room, state)
            t += 1
            if t == k:
                add_statistics(v, room.e, W[slot], B[slot], C[slot])


@kernel
def watched(v, e, unit, sign, out):
    """Add sign times five statistics to out: shares on of v and E[h|v], v_i, E[h_j|v], v_i E[h_j|v].

    e are the pre-activations of h at v; unit int64 (2,): i and j.
    """
    on, on_h = 0.0, 0.0
    for x in v:
        on += f64(x)
    for x in e:
        on_h += f64(sigmoid(x))
    i, mean = unit[0], f64(sigmoid(e[unit[1]]))
    out[0] += sign * on / v.shape[0]
    out[1] += sign * on_h / e.shape[0]
    out[2] += sign * f64(v[i])
    out[3] += sign * mean
    out[4] += sign * f64(v[i]) * mean


@kernel
def follow(up, down, b, c, v0, states, lag, k, t_max, common, most, unit, times, sweeps, cursor,
           v, h, v2, h2, tau, counts, plain, unbiased, distances):  # fmt: skip
    """Go on with the pairs that ``couple`` runs, one after the other, by about so many sweeps.

    Returns how many. cursor int64 (3,): pair under way, its t (0: not begun), next of ``times``; v, h and v2,
    h2: its two chains. All are advanced in place; a beginning is ``lag`` sweeps at once. Of each pair: tau;
    counts int64 (4,): rejected proposals of either chain, truncated, residual loops stopped; distances int32
    (times,): Hamming distance of v and v2 at these sweeps, 0 from the meeting on; where lag is 1, plain and
    unbiased float64 (5,): f(xi_k), and f(xi_k) + sum_{t=k+1}^{tau-1} [f(xi_t) - f(eta_{t-1})].
    """
    m, n = up.shape
    room = make_room(m, n)
    used, estimate = 0, lag == 1
    while used < sweeps and cursor[0] < v0.shape[0]:
        i = cursor[0]
        state, met = states[i], False
        if cursor[1] == 0:
            copy_bits(v0[i], v)
            activate(up, c, v, room.e, room)
            uniforms(state, room.z)
            threshold(room.z, room.e, h)
            copy_bits(v, v2)
            copy_bits(h, h2)
            for _ in range(lag):
                gibbs_sweep(up, down, b, c, v, h, room, state)
            cursor[1], cursor[2] = lag, 0
            used += lag
        else:
            met, rejected, rejected2, stopped = coupled_sweep(
                up, down, b, c, v, h, v2, h2, room, state, common, most
            )
            cursor[1] += 1
            used += 1
            counts[i, 0] += rejected
            counts[i, 1] += rejected2
            counts[i, 3] += stopped
        t = cursor[1]
        while cursor[2] < times.shape[0] and times[cursor[2]] <= t:
            if times[cursor[2]] == t and not met:
                for x in range(m):
                    distances[i, cursor[2]] += np.int32(v[x] != v2[x])
            cursor[2] += 1
        if estimate and t == k:
            watched(v, room.e, unit, 1.0, plain[i])
            unbiased[i] += plain[i]
        elif estimate and t > k and not met:
            watched(v, room.e, unit, 1.0, unbiased[i])
            watched(v2, room.e2, unit, -1.0, unbiased[i])
        if met or t >= t_max:
            tau[i] = t
            counts[i, 2] = not met
            if estimate and t < k:  # met before k: f(xi_k) is all there is
                after, after_h = v.copy(), h.copy()
                for _ in range(k - t):
                    gibbs_sweep(up, down, b, c, after, after_h, room, state)
                watched(after, room.e, unit, 1.0, plain[i])
                unbiased[i] += plain[i]
            cursor[0], cursor[1] = i + 1, 0
    return used
