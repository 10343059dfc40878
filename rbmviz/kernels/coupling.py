"""Two Gibbs chains drawn jointly so that they meet (paper unbiased CD, algorithms 1 and 3).

Log densities throughout, from softplus of the pre-activations: a product of clamped probabilities can make
the residual loop endless.
"""

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.random import random_bits, sigmoid

f32, f64, i32, u32 = np.float32, np.float64, np.int32, np.uint32


@kernel
def uniforms(state, out):
    """Fill out, float32 (n,), with uniforms of 24 bits, in the middle of their cells."""
    lanes = state.shape[1]
    bits = np.empty(lanes, np.uint32)
    for start in range(0, out.shape[0], lanes):
        random_bits(state, bits)
        for i in range(start, min(start + lanes, out.shape[0])):
            out[i] = (f32(i32(bits[i - start] >> u32(8))) + f32(0.5)) * f32(2.0**-24)


@kernel
def activate(rows, bias, x, out):
    """Write bias + the sum of the rows where x is 1."""
    for i in range(out.shape[0]):
        out[i] = bias[i]
    for j in range(x.shape[0]):
        if x[j]:
            row = rows[j]
            for i in range(out.shape[0]):
                out[i] += row[i]


@kernel
def threshold(z, a, out):
    """Draw bits of means sigmoid(a) from the uniforms z."""
    for i in range(out.shape[0]):
        out[i] = z[i] < sigmoid(a[i])


@kernel
def softplus(x):
    """Return log(1 + exp(x)) in float64, without overflow."""
    x = f64(x)
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@kernel
def log_ratio_constant(a, a2):
    """Return the part of log p(v|a2) - log p(v|a) that does not depend on v."""
    total = 0.0
    for i in range(a.shape[0]):
        total -= softplus(a2[i]) - softplus(a[i])
    return total


@kernel
def log_ratio(v, a, a2, constant):
    """Return log p(v|a2) - log p(v|a)."""
    total = constant
    for i in range(v.shape[0]):
        if v[i]:
            total += f64(a2[i]) - f64(a[i])
    return total


@kernel
def gibbs_sweep(up, down, b, c, v, h, a, e, z, state):
    """One sweep of one chain, v then h: v ~ p(v|h), h ~ p(h|v); a, e, z are work space."""
    activate(down, b, h, a)
    uniforms(state, z)
    threshold(z, a, v)
    activate(up, c, v, e)
    uniforms(state, z)
    threshold(z, e, h)


@kernel
def coupled_sweep(up, down, b, c, v, h, v2, h2, a, a2, e, z, candidate, state, common, most):
    """One joint sweep of both chains, in place.

    Returns (met, rejected proposals of the first chain, of the second, loops stopped by ``most``).
    common: algorithm 3 (residual proposals and hidden draws share their uniforms), else algorithm 1.
    """
    m = v.shape[0]
    activate(down, b, h, a)
    activate(down, b, h2, a2)
    constant = log_ratio_constant(a, a2)
    uniforms(state, z)
    threshold(z, a, candidate)
    if np.log(f64(z[m])) <= log_ratio(candidate, a, a2, constant):
        v[:] = candidate
        v2[:] = candidate
        activate(up, c, v, e)
        uniforms(state, z)
        threshold(z, e, h)
        h2[:] = h
        return True, 0, 0, 0
    v[:] = candidate  # algorithm 1 keeps it: refused by U, it has the residual law
    wanted, wanted2 = common, True
    rejected, rejected2, proposals = 0, 0, 0
    while (wanted or wanted2) and proposals < most:
        proposals += 1
        uniforms(state, z)
        if wanted:
            threshold(z, a, candidate)
            if np.log(f64(z[m])) > log_ratio(candidate, a, a2, constant):
                v[:] = candidate
                wanted = False
            else:
                rejected += 1
        if wanted2:
            threshold(z, a2, candidate)
            if np.log(f64(z[m + 1])) > -log_ratio(candidate, a, a2, constant):
                v2[:] = candidate
                wanted2 = False
            else:
                rejected2 += 1
    activate(up, c, v, e)
    uniforms(state, z)
    threshold(z, e, h)
    activate(up, c, v2, e)
    if not common:
        uniforms(state, z)
    threshold(z, e, h2)
    return False, rejected, rejected2, np.int64(wanted or wanted2)


@kernel
def add_statistics(up, c, v, e, sign, W, B, C):
    """Add sign (v E[h|v]', v, E[h|v]) to W, B, C (float64); e is work space."""
    activate(up, c, v, e)
    for j in range(e.shape[0]):
        e[j] = sigmoid(e[j])
        C[j] += sign * f64(e[j])
    for i in range(v.shape[0]):
        if v[i]:
            B[i] += sign
            row = W[i]
            for j in range(e.shape[0]):
                row[j] += sign * f64(e[j])


@kernel
def couple(up, down, b, c, v0, states, lag, k, t_max, common, most, estimate, tau, counts, W, B, C):
    """Run pairs of chains, one a row of v0 (uint8), until they meet or t_max.

    up float32 (n_visible, n_hidden), down its transpose. xi runs ``lag`` sweeps ahead; tau[i] is the
    smallest t with xi_t = eta_{t - lag}, or t_max. counts int64 (chains, 3): rejected proposals, truncated (0
    or 1), residual loops stopped. Where ``estimate`` (lag 1): the sums over chains of
    f(xi_k) + sum_{t=k+1}^{tau-1} [f(xi_t) - f(eta_{t-1})] go into W, B, C, one slot a chain, or one for all.
    """
    m, n = up.shape
    a, a2, e = np.empty(m, np.float32), np.empty(m, np.float32), np.empty(n, np.float32)
    z = np.empty(max(m + 2, n), np.float32)
    h, v2, h2, candidate = (
        np.empty(n, np.uint8),
        np.empty(m, np.uint8),
        np.empty(n, np.uint8),
        np.empty(m, np.uint8),
    )
    for i in range(v0.shape[0]):
        state = states[i]
        slot = min(i, W.shape[0] - 1)
        v = v0[i].copy()
        activate(up, c, v, e)
        uniforms(state, z)
        threshold(z, e, h)
        v2[:] = v
        h2[:] = h
        for s in range(lag):
            gibbs_sweep(up, down, b, c, v, h, a, e, z, state)
            if estimate and s + 1 == k:
                add_statistics(up, c, v, e, 1.0, W[slot], B[slot], C[slot])
        t, met = lag, False
        while not met and t < t_max:
            met, rejected, rejected2, stopped = coupled_sweep(
                up, down, b, c, v, h, v2, h2, a, a2, e, z, candidate, state, common, most
            )
            t += 1
            counts[i, 0] += rejected + rejected2
            counts[i, 2] += stopped
            if estimate and t == k:
                add_statistics(up, c, v, e, 1.0, W[slot], B[slot], C[slot])
            elif estimate and t > k and not met:
                add_statistics(up, c, v, e, 1.0, W[slot], B[slot], C[slot])
                add_statistics(up, c, v2, e, -1.0, W[slot], B[slot], C[slot])
        tau[i] = t
        counts[i, 1] = not met
        while estimate and t < k:  # met before k: f(xi_k) is all there is
            gibbs_sweep(up, down, b, c, v, h, a, e, z, state)
            t += 1
            if t == k:
                add_statistics(up, c, v, e, 1.0, W[slot], B[slot], C[slot])


@kernel
def watched(up, c, v, e, unit, sign, out):
    """Add sign times five statistics to out: shares on of v and E[h|v], v_i, E[h_j|v], v_i E[h_j|v].

    unit int64 (2,): i and j; e is work space.
    """
    activate(up, c, v, e)
    on, on_h = 0.0, 0.0
    for x in v:
        on += f64(x)
    for j in range(e.shape[0]):
        e[j] = sigmoid(e[j])
        on_h += f64(e[j])
    i, j = unit[0], unit[1]
    out[0] += sign * on / v.shape[0]
    out[1] += sign * on_h / e.shape[0]
    out[2] += sign * f64(v[i])
    out[3] += sign * f64(e[j])
    out[4] += sign * f64(v[i]) * f64(e[j])


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
    a, a2, e = np.empty(m, np.float32), np.empty(m, np.float32), np.empty(n, np.float32)
    z, candidate = np.empty(max(m + 2, n), np.float32), np.empty(m, np.uint8)
    used, estimate = 0, lag == 1
    while used < sweeps and cursor[0] < v0.shape[0]:
        i = cursor[0]
        state, met = states[i], False
        if cursor[1] == 0:
            v[:] = v0[i]
            activate(up, c, v, e)
            uniforms(state, z)
            threshold(z, e, h)
            v2[:] = v
            h2[:] = h
            for _ in range(lag):
                gibbs_sweep(up, down, b, c, v, h, a, e, z, state)
            cursor[1], cursor[2] = lag, 0
            used += lag
        else:
            met, rejected, rejected2, stopped = coupled_sweep(
                up, down, b, c, v, h, v2, h2, a, a2, e, z, candidate, state, common, most
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
            watched(up, c, v, e, unit, 1.0, plain[i])
            unbiased[i] += plain[i]
        elif estimate and t > k and not met:
            watched(up, c, v, e, unit, 1.0, unbiased[i])
            watched(up, c, v2, e, unit, -1.0, unbiased[i])
        if met or t >= t_max:
            tau[i] = t
            counts[i, 2] = not met
            if estimate and t < k:  # met before k: f(xi_k) is all there is
                after, after_h = v.copy(), h.copy()
                for _ in range(k - t):
                    gibbs_sweep(up, down, b, c, after, after_h, a, e, z, state)
                watched(up, c, after, e, unit, 1.0, plain[i])
                unbiased[i] += plain[i]
            cursor[0], cursor[1] = i + 1, 0
    return used
