"""One chain whose parameters move: theta + theta_F, updated after every emitted sample.

    theta_F <- alpha theta_F + eps (R - s),   s = (v h', v, h)

Adding a whole matrix a sample would cost more than the sweep. theta_F is kept as two parts,

    theta_F = pull R + push M,

with scalars ``pull`` and ``push``: the decay multiplies the scalars, the rates only move ``pull``, and
the sample is one rank-1 update of M on its active rows. Every ``FOLD`` samples (or where ``push`` gets
too small to divide by) theta_F is written out into M, which stops ``pull R`` and ``push M`` from growing
against each other until float32 loses their difference. The pre-activations under theta, R and M are
followed by flips, as in ``gibbs``. The norm of theta_F is tracked from inner products that the
pre-activations already hold, and computed afresh at every fold.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.gibbs import REFRESH, Affine, Flips, copy_bits, find_flips, follow, list_active, rebuild
from rbmviz.kernels.random import bernoulli, sigmoid

f32 = np.float32

FOLD = 256
SMALLEST_PUSH = 1e-6


class Direction(NamedTuple):
    """One direction (up: v to h, or down: h to v): the maps of theta, of the rates R and of M."""

    theta: Affine
    rates: Affine
    fast: Affine
    flips: Flips


class Clock(NamedTuple):
    """Where a driven chain stands.

    counts int64 = [sweeps, samples]; scale float64 = [pull, push];
    moment float64 = [|theta_F|^2, <theta_F, R>, |R|^2].
    """

    counts: np.ndarray
    scale: np.ndarray
    moment: np.ndarray


def make_clock(rates: tuple[np.ndarray, ...]) -> Clock:
    """Return the clock of a chain that has not moved: theta_F = 0."""
    R_R = sum(float(np.sum(np.square(part, dtype=np.float64))) for part in rates)
    return Clock(np.zeros(2, np.int64), np.array([0.0, 1.0]), np.array([0.0, 0.0, R_R]))


@kernel
def follow_all(direction, x, clock):
    """Bring the maps of a direction to the input x; those of the rates only where they are not all 0."""
    afresh = clock.counts[0] % REFRESH == 0
    find_flips(direction.flips, x)
    follow(direction.theta, direction.flips, afresh)
    follow(direction.fast, direction.flips, afresh)
    if clock.moment[2] > 0.0:
        follow(direction.rates, direction.flips, afresh)


@kernel
def activation(direction, scale, out):
    """Write the pre-activations under theta + theta_F."""
    pull, push = f32(scale[0]), f32(scale[1])
    theta, rates, fast = direction.theta.value, direction.rates.value, direction.fast.value
    for i in range(out.shape[0]):
        out[i] = theta[i] + (pull * rates[i] + push * fast[i])


@kernel
def means(direction, scale, out):
    """Write the means of the units under theta + theta_F."""
    activation(direction, scale, out)
    for i in range(out.shape[0]):
        out[i] = sigmoid(out[i])


@kernel
def write_out(fast, rates, pull, push):
    """M <- push M + pull R, for the rows and the bias of one map."""
    for r in range(fast.rows.shape[0]):
        row, rate = fast.rows[r], rates.rows[r]
        for j in range(row.shape[0]):
            row[j] = push * row[j] + pull * rate[j]
    for j in range(fast.bias.shape[0]):
        fast.bias[j] = push * fast.bias[j] + pull * rates.bias[j]


@kernel
def dot(x, y):
    """Sum of products in float64 over the length of y; sixteen running sums, so that it vectorises."""
    sums = np.zeros(16)
    n = y.shape[0]
    for start in range(0, n - 15, 16):
        for i in range(16):
            sums[i] += np.float64(x[start + i]) * np.float64(y[start + i])
    total = 0.0
    for i in range(n - n % 16, n):
        total += np.float64(x[i]) * np.float64(y[i])
    for i in range(16):
        total += sums[i]
    return total


@kernel
def fold(up, down, clock):
    """Write theta_F out into M (pull = 0, push = 1); rebuild the values under M and the moments."""
    pull, push = f32(clock.scale[0]), f32(clock.scale[1])
    write_out(up.fast, up.rates, pull, push)
    write_out(down.fast, down.rates, pull, push)
    clock.scale[0] = 0.0
    clock.scale[1] = 1.0
    rebuild(up.fast, up.flips)
    rebuild(down.fast, down.flips)
    F_W, F_b, F_c = up.fast.rows.reshape(-1), down.fast.bias, up.fast.bias
    R_W, R_b, R_c = up.rates.rows.reshape(-1), down.rates.bias, up.rates.bias
    clock.moment[0] = dot(F_W, F_W) + dot(F_b, F_b) + dot(F_c, F_c)
    clock.moment[1] = dot(F_W, R_W) + dot(F_b, R_b) + dot(F_c, R_c)


@kernel
def decay(up, down, clock, alpha):
    """theta_F <- alpha theta_F; every FOLD samples, or where push gets too small, M is written afresh."""
    clock.scale[0] *= alpha
    clock.scale[1] *= alpha
    clock.moment[0] *= alpha * alpha
    clock.moment[1] *= alpha
    clock.counts[1] += 1
    if clock.counts[1] % FOLD == 0 or clock.scale[1] < SMALLEST_PUSH:
        fold(up, down, clock)


@kernel
def add_outer(fast, index, n, weight, y, step):
    """M[r] += step weight[r] y for the rows r in index[:n]; bias += step y."""
    for q in range(n):
        row = fast.rows[index[q]]
        factor = step * weight[index[q]]
        for j in range(y.shape[0]):
            row[j] += factor * y[j]
    for j in range(y.shape[0]):
        fast.bias[j] += step * y[j]


@kernel
def step_moments(up, down, visible, hidden, clock, eps):
    """Advance |theta_F|^2 and <theta_F, R> by theta_F += eps (R - s).

    <M, s> and <R, s> are sums over the pre-activations at v, which are at hand.
    """
    pull, push = clock.scale[0], clock.scale[1]
    n_active, size = up.flips.counts[2], dot(hidden, hidden)
    M_s = dot(up.fast.value, hidden) + dot(down.fast.bias, visible)
    R_s = dot(up.rates.value, hidden) + dot(down.rates.bias, visible)
    F_s = pull * R_s + push * M_s
    s_s = n_active * size + n_active + size
    F_R, R_R = clock.moment[1], clock.moment[2]
    clock.moment[0] += 2.0 * eps * (F_R - F_s) + eps * eps * (R_R - 2.0 * R_s + s_s)
    clock.moment[1] += eps * (R_R - R_s)


@kernel
def penalise(up, down, visible, hidden, hidden_rows, n_rows, clock, eps, alpha):
    """Advance theta_F by one emitted sample, theta_F <- alpha theta_F + eps (R - s), and return its norm.

    visible, hidden float32: the v and h of the statistics; hidden_rows[:n_rows]: where hidden is not 0.
    ``up`` holds its values at v and ``down`` at the sampled h, before and after.
    """
    decay(up, down, clock, alpha)
    if eps > 0.0:
        list_active(up.flips)
        list_active(down.flips)
        n_active = up.flips.counts[2]
        step_moments(up, down, visible, hidden, clock, eps)
        clock.scale[0] += eps
        step = f32(-eps / clock.scale[1])
        add_outer(up.fast, up.flips.active, n_active, visible, hidden, step)
        add_outer(down.fast, hidden_rows, n_rows, hidden, visible, step)
        # The values at v and h move with M: one step for each active input, one more for the bias.
        up_step = step * f32(n_active + 1)
        for j in range(hidden.shape[0]):
            up.fast.value[j] += up_step * hidden[j]
        overlap = f32(1.0)
        for q in range(down.flips.counts[2]):
            overlap += hidden[down.flips.active[q]]
        down_step = step * overlap
        for i in range(visible.shape[0]):
            down.fast.value[i] += down_step * visible[i]
    return np.sqrt(max(clock.moment[0], 0.0))


@kernel
def as_float(bits, out):
    """Write the bits as 0.0 and 1.0."""
    for i in range(bits.shape[0]):
        out[i] = f32(bits[i])


@kernel
def driven_gibbs(up, down, v, h, clock, rng, eps, alpha, mean_field, k, out_v, out_p, out_drift):
    """Emit out_v.shape[0] samples of rates-FPCD, or of sample penalization where the rates are 0.

    Per sample: k Gibbs sweeps under theta + theta_F, then the update of theta_F with the last (v, h), or
    with (v, E[h|v]) where ``mean_field``. Everything but the scalars advances in place.
    """
    hidden = np.empty(h.shape[0], np.float32)
    visible = np.empty(v.shape[0], np.float32)
    all_rows = np.arange(h.shape[0]).astype(np.int32)
    for t in range(out_v.shape[0]):
        mean_v = out_p[t]
        for _ in range(k):
            means(up, clock.scale, hidden)
            bernoulli(rng, hidden, h)
            follow_all(down, h, clock)
            means(down, clock.scale, mean_v)
            bernoulli(rng, mean_v, v)
            follow_all(up, v, clock)
            clock.counts[0] += 1
        copy_bits(v, out_v[t])
        as_float(v, visible)
        hidden_rows, n_rows = down.flips.active, down.flips.counts[2]
        if mean_field:
            means(up, clock.scale, hidden)
            hidden_rows, n_rows = all_rows, h.shape[0]
        else:
            as_float(h, hidden)
        out_drift[t] = penalise(up, down, visible, hidden, hidden_rows, n_rows, clock, eps, alpha)


@kernel
def maximise(direction, clock, out):
    """Set each unit to 1 where its pre-activation is above 0 (ties to 0); return whether any changed."""
    pull, push = f32(clock.scale[0]), f32(clock.scale[1])
    theta, rates, fast = direction.theta.value, direction.rates.value, direction.fast.value
    changed = False
    for i in range(out.shape[0]):
        bit = np.uint8(theta[i] + (pull * rates[i] + push * fast[i]) > f32(0.0))
        changed |= bit != out[i]
        out[i] = bit
    return changed


@kernel
def herding(up, down, v, h, clock, eps, alpha, max_sweeps, out_v, out_sweeps, out_drift):
    """Emit out_v.shape[0] samples of rates-herding.

    Per sample: alternate maximisation of h and v under theta + theta_F until v stays, or max_sweeps;
    then the update of theta_F with (v, h). Deterministic.
    """
    hidden = np.empty(h.shape[0], np.float32)
    visible = np.empty(v.shape[0], np.float32)
    for t in range(out_v.shape[0]):
        sweeps, changed = 0, True
        while changed and sweeps < max_sweeps:
            maximise(up, clock, h)
            follow_all(down, h, clock)
            changed = maximise(down, clock, v)
            follow_all(up, v, clock)
            clock.counts[0] += 1
            sweeps += 1
        copy_bits(v, out_v[t])
        out_sweeps[t] = sweeps
        as_float(v, visible)
        as_float(h, hidden)
        rows, n_rows = down.flips.active, down.flips.counts[2]
        out_drift[t] = penalise(up, down, visible, hidden, rows, n_rows, clock, eps, alpha)
