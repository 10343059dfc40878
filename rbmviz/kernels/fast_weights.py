"""One chain whose parameters move: theta + theta_F, updated after every emitted sample.

    theta_F <- alpha theta_F + eps (R - s),   s = (v h', v, h)

Adding a whole matrix a sample would cost more than the sweep. theta_F is kept as two parts,

    theta_F = pull R + push M,

with scalars ``pull`` and ``push``: the decay multiplies the scalars, the rates only move ``pull``, and
the sample is one rank-1 update of M. Every ``FOLD`` samples (or where ``push`` gets too small to divide
by) theta_F is written out into M, which stops ``pull R`` and ``push M`` from growing against each other
until float32 loses their difference. The pre-activations under theta, R and M are followed by flips, as
in ``gibbs``. Three things make that cheap, for what costs is memory traffic:

- A row of M is read only where its unit flips, and each sample adds the same y to the rows of all active
  units. So these rows are *owed* the sum of all y: a unit that turns on takes ``owed`` from its row, one
  that turns off adds it. The rank-1 update becomes a write to rows that are being read anyway.
- Where nothing decays (alpha = 1), M takes theta in: one map less to follow.
- The norm of theta_F is tracked from inner products that the pre-activations already hold, and computed
  afresh at every fold.

Rounding: pre-activations are those of float32 sums that stand at the size of pull R v; the rows of M have
one rounding a flip (``owed`` is summed in float64, else its rounding would repeat in every fold).
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import kernel
from rbmviz.kernels.gibbs import (
    REFRESH,
    Affine,
    Flips,
    add_rows,
    aligned_zeros,
    copy_bits,
    find_flips,
    follow,
    list_active,
    make_flips,
    rebuild,
    same_map,
    zero_map,
)
from rbmviz.kernels.random import bernoulli, sigmoid

f32 = np.float32

FOLD = 256
SMALLEST_PUSH = 1e-6
LANES = 32
"""Running sums of an inner product."""


class Direction(NamedTuple):
    """One direction (up: v to h, or down: h to v): the maps of theta, of the rates R and of M.

    The rows of M for active inputs lack ``owed``, float32 (padded n_out,): the rounded ``tally``, float64.
    """

    theta: Affine
    rates: Affine
    fast: Affine
    owed: np.ndarray
    tally: np.ndarray
    flips: Flips


class Clock(NamedTuple):
    """Where a driven chain stands.

    counts int64 = [sweeps, samples]; scale float64 = [pull, push, own], where own is 0 if M holds theta, too,
    and else 1; moment float64 = [|theta_F|^2, <theta_F, R>, |R|^2].
    """

    counts: np.ndarray
    scale: np.ndarray
    moment: np.ndarray


def make_direction(theta: Affine, rates: Affine) -> Direction:
    """Return a direction of a new chain, with M = 0 at the input 0; the rows of theta and R are shared."""
    n_in, n_out = theta.rows.shape
    owed, tally = aligned_zeros(n_out), np.zeros(n_out)
    return Direction(same_map(theta), same_map(rates), zero_map(n_in, n_out), owed, tally, make_flips(n_in))


def rows_of_M(direction: Direction) -> np.ndarray:
    """Return the rows of M with what they are owed, float32 (n_in, padded n_out)."""
    return direction.fast.rows + np.outer(direction.flips.seen, direction.owed)


def make_clock(rates: tuple[np.ndarray, ...]) -> Clock:
    """Return the clock of a chain that has not moved: theta_F = 0."""
    R_R = sum(float(np.sum(np.square(part, dtype=np.float64))) for part in rates)
    return Clock(np.zeros(2, np.int64), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, R_R]))


@kernel
def add_to_rows(rows, index, n, sign, y):
    """Add sign times y to each of the rows[index[:n]]."""
    for q in range(n):
        row = rows[index[q]]
        for j in range(y.shape[0]):
            row[j] += sign * y[j]


@kernel
def follow_fast(direction, afresh):
    """Bring M to the input just seen: value as in ``follow``, rows by what the flipped ones are owed."""
    fast, owed, flips = direction.fast, direction.owed, direction.flips
    n_on, n_off, n_active = flips.counts[0], flips.counts[1], flips.counts[2]
    add_to_rows(fast.rows, flips.off, n_off, f32(1.0), owed)
    if afresh or n_active <= n_on + n_off:
        rebuild(fast, flips)
        n_owed = f32(n_active - n_on)
        for j in range(owed.shape[0]):
            fast.value[j] += n_owed * owed[j]
    else:
        add_rows(fast.value, fast.rows, flips.on, n_on, f32(1.0))
        add_rows(fast.value, fast.rows, flips.off, n_off, f32(-1.0))
    add_to_rows(fast.rows, flips.on, n_on, f32(-1.0), owed)


@kernel
def follow_moving(direction, x, clock):
    """Bring M and R to the input x; the rates only where they are not all 0."""
    afresh = clock.counts[0] % REFRESH == 0
    find_flips(direction.flips, x)
    follow_fast(direction, afresh)
    if clock.moment[2] > 0.0:
        follow(direction.rates, direction.flips, afresh)


@kernel
def follow_up(up, v, clock):
    """Bring the maps from v to h to the input v; theta always, for the norm of theta_F needs it."""
    follow_moving(up, v, clock)
    follow(up.theta, up.flips, clock.counts[0] % REFRESH == 0)


@kernel
def follow_down(down, h, clock):
    """Bring the maps from h to v to the input h; theta only where M does not hold it."""
    follow_moving(down, h, clock)
    if clock.scale[2] > 0.0:
        follow(down.theta, down.flips, clock.counts[0] % REFRESH == 0)


@kernel
def combine(push, fast, pull, rates, own, theta, out):
    """Write push M + pull R + own theta for float32 pieces of the three; out is other memory than they."""
    for j in range(out.shape[0]):
        out[j] = (push * fast[j] + pull * rates[j]) + own * theta[j]


@kernel
def activation(direction, scale, out):
    """Write the pre-activations under theta + theta_F."""
    pull, push, own = f32(scale[0]), f32(scale[1]), f32(scale[2])
    theta, rates, fast = direction.theta.value, direction.rates.value, direction.fast.value
    combine(push, fast, pull, rates, own, theta, out)


@kernel
def means(direction, scale, out):
    """Write the means of the units under theta + theta_F."""
    activation(direction, scale, out)
    for i in range(out.shape[0]):
        out[i] = sigmoid(out[i])


@kernel
def two_dots(x, y, z):
    """Return <x, z> and <y, z> over the length of z, in float64; many running sums, so that it vectorises."""
    x_z, y_z = np.zeros(LANES), np.zeros(LANES)
    for start in range(0, z.shape[0], LANES):
        # Slices: an index start + i could be negative for all that numba knows, and would not vectorise.
        a, b, c = x[start : start + LANES], y[start : start + LANES], z[start : start + LANES]
        for i in range(c.shape[0]):
            x_z[i] += np.float64(a[i]) * np.float64(c[i])
        for i in range(c.shape[0]):
            y_z[i] += np.float64(b[i]) * np.float64(c[i])
    return x_z.sum(), y_z.sum()


@kernel
def settle(direction):
    """Give the rows of the active units what they are owed."""
    list_active(direction.flips)
    add_to_rows(
        direction.fast.rows, direction.flips.active, direction.flips.counts[2], f32(1.0), direction.owed
    )
    for j in range(direction.owed.shape[0]):
        direction.owed[j] = f32(0.0)
        direction.tally[j] = 0.0


@kernel
def write_piece(push, fast, pull, rates, gain, theta, piece):
    """M <- push M + pull R + gain theta for a piece of them; ``piece`` is scratch, as long."""
    combine(push, fast, pull, rates, gain, theta, piece)
    for j in range(piece.shape[0]):
        fast[j] = piece[j]


@kernel
def write_out(direction, scale, own):
    """Write theta_F out into the M of a direction, with theta where own is 0."""
    pull, push, gain = f32(scale[0]), f32(scale[1]), f32(scale[2] - own)
    theta, rates, fast = direction.theta, direction.rates, direction.fast
    piece = np.empty_like(direction.owed)
    settle(direction)
    for r in range(fast.rows.shape[0]):
        write_piece(push, fast.rows[r], pull, rates.rows[r], gain, theta.rows[r], piece)
    write_piece(push, fast.bias, pull, rates.bias, gain, theta.bias, piece)
    write_piece(push, fast.value, pull, rates.value, gain, theta.value, piece)


@kernel
def add_moments(fast, rates, theta, own, piece, moment):
    """Add a piece of <F, F> and <F, R> to the moments, where pull = 0 and push = 1; ``piece`` is scratch."""
    combine(f32(1.0), fast, f32(0.0), rates, f32(own - 1.0), theta, piece)
    F_F, R_F = two_dots(piece, rates, piece)
    moment[0] += F_F
    moment[1] += R_F


@kernel
def fold(up, down, clock, own):
    """Write theta_F out into M (pull = 0, push = 1), with theta where own is 0; take the moments afresh."""
    if clock.scale[2] < own:
        rebuild(down.theta, down.flips)  # it was not followed
    write_out(up, clock.scale, own)
    write_out(down, clock.scale, own)
    clock.scale[0] = 0.0
    clock.scale[1] = 1.0
    clock.scale[2] = own
    clock.moment[0] = 0.0
    clock.moment[1] = 0.0
    theta, rates, fast = up.theta.rows, up.rates.rows, up.fast.rows
    piece = np.empty_like(up.owed)
    for r in range(fast.shape[0]):
        add_moments(fast[r], rates[r], theta[r], own, piece, clock.moment)
    add_moments(up.fast.bias, up.rates.bias, up.theta.bias, own, piece, clock.moment)
    piece = np.empty_like(down.owed)
    add_moments(down.fast.bias, down.rates.bias, down.theta.bias, own, piece, clock.moment)


@kernel
def decay(up, down, clock, alpha):
    """theta_F <- alpha theta_F; every FOLD samples, or where push gets too small, M is written afresh.

    Without decay M takes theta in; before the next decay it gives theta back.
    """
    own = 0.0 if alpha == 1.0 else 1.0
    if clock.scale[2] != own:
        fold(up, down, clock, own)
    clock.scale[0] *= alpha
    clock.scale[1] *= alpha
    clock.moment[0] *= alpha * alpha
    clock.moment[1] *= alpha
    clock.counts[1] += 1
    if clock.counts[1] % FOLD == 0 or clock.scale[1] < SMALLEST_PUSH:
        fold(up, down, clock, own)


@kernel
def step_moments(up, down, visible, hidden, size, clock, eps):
    """Advance |theta_F|^2 and <theta_F, R> by theta_F += eps (R - s).

    <theta_F, s> and <R, s> are sums over the pre-activations at v, which are at hand; size is <h, h>.
    """
    pull, push, not_F = f32(clock.scale[0]), f32(clock.scale[1]), f32(clock.scale[2] - 1.0)
    up_F, down_F = np.empty_like(hidden), np.empty_like(visible)
    combine(push, up.fast.value, pull, up.rates.value, not_F, up.theta.value, up_F)
    combine(push, down.fast.bias, pull, down.rates.bias, not_F, down.theta.bias, down_F)
    up_F_s, up_R_s = two_dots(up_F, up.rates.value, hidden)
    down_F_s, down_R_s = two_dots(down_F, down.rates.bias, visible)
    F_s, R_s = up_F_s + down_F_s, up_R_s + down_R_s
    n_active = up.flips.counts[2]
    s_s = n_active * size + n_active + size
    F_R, R_R = clock.moment[1], clock.moment[2]
    clock.moment[0] += 2.0 * eps * (F_R - F_s) + eps * eps * (R_R - 2.0 * R_s + s_s)
    clock.moment[1] += eps * (R_R - R_s)


@kernel
def owe(direction, y, step):
    """Let the rows of all active units be owed step y."""
    owed, tally = direction.owed, direction.tally
    for j in range(y.shape[0]):
        tally[j] += np.float64(step) * np.float64(y[j])
        owed[j] = f32(tally[j])


@kernel
def add_outer(direction, x, y, step):
    """M[r] += step x[r] y for all rows r, at once: x are means, so that rows do not move alike."""
    settle(direction)
    for r in range(x.shape[0]):
        row, factor = direction.fast.rows[r], step * x[r]
        for j in range(y.shape[0]):
            row[j] += factor * y[j]


@kernel
def move_value(fast, y, step, overlap):
    """Move bias and value by step s: y for the bias, and y for each input that x and the input seen share."""
    factor = step * (overlap + f32(1.0))
    for j in range(y.shape[0]):
        fast.bias[j] += step * y[j]
    for j in range(y.shape[0]):
        fast.value[j] += factor * y[j]


@kernel
def penalise(up, down, visible, hidden, clock, eps, alpha):
    """Advance theta_F by one emitted sample, theta_F <- alpha theta_F + eps (R - s), and return its norm.

    visible, hidden float32: the v and h of the statistics. ``up`` holds its values at v and ``down`` at the
    sampled h, before and after.
    """
    decay(up, down, clock, alpha)
    if eps > 0.0:
        sampled, overlap, size = True, f32(0.0), 0.0
        for j in range(hidden.shape[0]):
            bit = f32(down.flips.seen[j])
            sampled &= hidden[j] == bit
            overlap += hidden[j] * bit
            size += np.float64(hidden[j]) * np.float64(hidden[j])
        step_moments(up, down, visible, hidden, size, clock, eps)
        clock.scale[0] += eps
        step = f32(-eps / clock.scale[1])
        move_value(up.fast, hidden, step, f32(up.flips.counts[2]))
        move_value(down.fast, visible, step, overlap)
        owe(up, hidden, step)
        if sampled:
            owe(down, visible, step)
        else:
            add_outer(down, hidden, visible, step)
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
    for t in range(out_v.shape[0]):
        mean_v = out_p[t]
        for _ in range(k):
            means(up, clock.scale, hidden)
            bernoulli(rng, hidden, h)
            follow_down(down, h, clock)
            means(down, clock.scale, mean_v)
            bernoulli(rng, mean_v, v)
            follow_up(up, v, clock)
            clock.counts[0] += 1
        copy_bits(v, out_v[t])
        as_float(v, visible)
        if mean_field:
            means(up, clock.scale, hidden)
        else:
            as_float(h, hidden)
        out_drift[t] = penalise(up, down, visible, hidden, clock, eps, alpha)


@kernel
def maximise(direction, scale, value, out):
    """Set each unit to 1 where its pre-activation is above 0 (ties to 0); return whether any changed.

    ``value`` is scratch, float32 as long as out.
    """
    activation(direction, scale, value)
    changed = False
    for i in range(out.shape[0]):
        bit = np.uint8(value[i] > f32(0.0))
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
            maximise(up, clock.scale, hidden, h)
            follow_down(down, h, clock)
            changed = maximise(down, clock.scale, visible, v)
            follow_up(up, v, clock)
            clock.counts[0] += 1
            sweeps += 1
        copy_bits(v, out_v[t])
        out_sweeps[t] = sweeps
        as_float(v, visible)
        as_float(h, hidden)
        out_drift[t] = penalise(up, down, visible, hidden, clock, eps, alpha)
