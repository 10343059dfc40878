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
from rbmviz.kernels.gibbs import REFRESH, Affine, Flips, find_flips, follow
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


def make_clock() -> Clock:
    """Return the clock of a chain that has not moved: theta_F = 0."""
    return Clock(np.zeros(2, np.int64), np.array([0.0, 1.0]), np.zeros(3))


@kernel
def follow_all(direction, x, driven, rebuild):
    """Bring the maps of a direction to the input x; those of the rates only where they are in use."""
    find_flips(direction.flips, x)
    follow(direction.theta, direction.flips, rebuild)
    follow(direction.fast, direction.flips, rebuild)
    if driven:
        follow(direction.rates, direction.flips, rebuild)


@kernel
def activation(direction, scale, driven, out):
    """Write the pre-activations under theta + theta_F."""
    pull, push = f32(scale[0]), f32(scale[1])
    theta, rates, fast = direction.theta.value, direction.rates.value, direction.fast.value
    if driven:
        for i in range(out.shape[0]):
            out[i] = theta[i] + (pull * rates[i] + push * fast[i])
    else:
        for i in range(out.shape[0]):
            out[i] = theta[i] + push * fast[i]


@kernel
def sigmoid_all(x):
    """Turn pre-activations into means, in place."""
    for i in range(x.shape[0]):
        x[i] = sigmoid(x[i])


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
def inner(a, b):
    """Sum of the products of two maps' rows, in float64."""
    total = 0.0
    for r in range(a.rows.shape[0]):
        x, y = a.rows[r], b.rows[r]
        for j in range(x.shape[0]):
            total += np.float64(x[j]) * np.float64(y[j])
    return total


@kernel
def dot(x, y):
    """Sum of products of two vectors, in float64."""
    total = 0.0
    for i in range(x.shape[0]):
        total += np.float64(x[i]) * np.float64(y[i])
    return total


@kernel
def fold(up, down, v, h, clock):
    """Make theta_F = M (pull = 0, push = 1); rebuild the values under M and the tracked moments."""
    pull, push = f32(clock.scale[0]), f32(clock.scale[1])
    write_out(up.fast, up.rates, pull, push)
    write_out(down.fast, down.rates, pull, push)
    clock.scale[0] = 0.0
    clock.scale[1] = 1.0
    find_flips(up.flips, v)
    follow(up.fast, up.flips, True)
    find_flips(down.flips, h)
    follow(down.fast, down.flips, True)
    F, R, F_down, R_down = up.fast, up.rates, down.fast, down.rates
    clock.moment[0] = inner(F, F) + dot(F.bias, F.bias) + dot(F_down.bias, F_down.bias)
    clock.moment[1] = inner(F, R) + dot(F.bias, R.bias) + dot(F_down.bias, R_down.bias)
    clock.moment[2] = inner(R, R) + dot(R.bias, R.bias) + dot(R_down.bias, R_down.bias)


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
def track_moments(up, down, v, hidden, n_active, clock, eps, alpha, driven):
    """Advance |theta_F|^2 and <theta_F, R> by one update, from values at v before the update."""
    pull, push = clock.scale[0], clock.scale[1]
    F_s = push * dot(up.fast.value[: hidden.shape[0]], hidden) + push * dot(down.fast.bias[: v.shape[0]], v)
    size = dot(hidden, hidden)
    s_s = n_active * size + n_active + size
    norm, F_R, R_R = clock.moment[0], clock.moment[1], clock.moment[2]
    if driven:
        R_s = dot(up.rates.value[: hidden.shape[0]], hidden) + dot(down.rates.bias[: v.shape[0]], v)
        F_s += pull * R_s
        clock.moment[1] = alpha * F_R + eps * (R_R - R_s)
        gain = R_R - 2.0 * R_s + s_s
        clock.moment[0] = alpha**2 * norm + 2.0 * alpha * eps * (F_R - F_s) + eps**2 * gain
    else:
        clock.moment[0] = alpha**2 * norm - 2.0 * alpha * eps * F_s + eps**2 * s_s


@kernel
def penalise(up, down, v, h, hidden, dense, clock, eps, alpha, driven):
    """Advance theta_F by one emitted sample: theta_F <- alpha theta_F + eps (R - s).

    hidden float32 (n_hidden,): the h of the statistics, the sampled one or (``dense``) its mean. ``up``
    holds its values at v and ``down`` at h, before and after. Returns the norm of theta_F.
    """
    find_flips(up.flips, v)
    find_flips(down.flips, h)
    n_active = up.flips.counts[2]
    visible = np.empty(v.shape[0], np.float32)
    for i in range(v.shape[0]):
        visible[i] = f32(v[i])
    track_moments(up, down, visible, hidden, n_active, clock, eps, alpha, driven)
    clock.scale[0] *= alpha
    clock.scale[1] *= alpha
    clock.counts[1] += 1
    if clock.counts[1] % FOLD == 0 or clock.scale[1] < SMALLEST_PUSH:
        fold(up, down, v, h, clock)
    if driven:
        clock.scale[0] += eps
    if eps > 0.0:
        step = f32(-eps / clock.scale[1])
        add_outer(up.fast, up.flips.active, n_active, visible, hidden, step)
        if dense:
            add_outer(down.fast, np.arange(h.shape[0]), h.shape[0], hidden, visible, step)
        else:
            add_outer(down.fast, down.flips.active, down.flips.counts[2], hidden, visible, step)
        # The values at v and h move with M: one step for each active input, one more for the bias.
        up_step = step * f32(n_active + 1)
        for j in range(h.shape[0]):
            up.fast.value[j] += up_step * hidden[j]
        down_step = step * f32(dot(hidden, h) + 1.0)
        for i in range(v.shape[0]):
            down.fast.value[i] += down_step * visible[i]
    return np.sqrt(max(clock.moment[0], 0.0))


@kernel
def driven_gibbs(up, down, v, h, clock, rng, eps, alpha, driven, mean_field, k, out_v, out_p, out_drift):
    """Emit out_v.shape[0] samples of rates-FPCD (``driven`` by the rates) or sample penalization (not).

    Per sample: k Gibbs sweeps under theta + theta_F, then the update of theta_F with the last (v, h), or
    with (v, E[h|v]) where ``mean_field``. Everything but the scalars advances in place.
    """
    n_hidden = h.shape[0]
    hidden = np.empty(n_hidden, np.float32)
    for t in range(out_v.shape[0]):
        mean_v = out_p[t]
        for _ in range(k):
            rebuild = clock.counts[0] % REFRESH == 0
            activation(up, clock.scale, driven, hidden)
            sigmoid_all(hidden)
            bernoulli(rng, hidden, h)
            follow_all(down, h, driven, rebuild)
            activation(down, clock.scale, driven, mean_v)
            sigmoid_all(mean_v)
            bernoulli(rng, mean_v, v)
            follow_all(up, v, driven, rebuild)
            clock.counts[0] += 1
        out_v[t] = v
        if mean_field:
            activation(up, clock.scale, driven, hidden)
            sigmoid_all(hidden)
        else:
            for j in range(n_hidden):
                hidden[j] = f32(h[j])
        out_drift[t] = penalise(up, down, v, h, hidden, mean_field, clock, eps, alpha, driven)


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
    for t in range(out_v.shape[0]):
        sweeps, changed = 0, True
        while changed and sweeps < max_sweeps:
            rebuild = clock.counts[0] % REFRESH == 0
            maximise(up, clock, h)
            follow_all(down, h, True, rebuild)
            changed = maximise(down, clock, v)
            follow_all(up, v, True, rebuild)
            clock.counts[0] += 1
            sweeps += 1
        out_v[t] = v
        out_sweeps[t] = sweeps
        for j in range(h.shape[0]):
            hidden[j] = f32(h[j])
        out_drift[t] = penalise(up, down, v, h, hidden, False, clock, eps, alpha, True)
