"""One chain whose parameters move: theta + theta_F, updated after every emitted sample.

    theta_F <- alpha theta_F + eps (R - s),   s = (v h', v, h)

Adding a whole matrix a sample would cost more than the sweep. What has been pushed so far is kept in pieces,

    theta + theta_F = own theta + pull R + push M - P,

with scalars ``own``, ``pull`` and ``push``. The pre-activations under theta, R and M are followed by flips,
as in ``gibbs``. What costs is memory traffic, so that each of the two regimes follows as few maps as it can:

- **Window** (alpha up to 0.984): P, the newest samples as bits, see ``window``, is all that is remembered of
  them. Once nothing older counts and the pull stands still, at anchor = eps / (1 - alpha), M takes in
  theta + anchor R and no longer moves (own = 0, push = 1, and ``pull`` is what exceeds the anchor: 0). One
  map is left, and R from v to h, for the norm of theta_F. When eps moves, so does the pull; R is followed
  again until it stands still.
- **Rows** (alpha near 1, or means in s, which are no bits): P = 0 and every sample is one rank-1 update of M;
  the decay multiplies the scalars. Now and then theta_F is written out into M, which stops ``pull R`` and
  ``push M`` from growing against each other until float32 loses their difference. A row of M is read only
  where its unit flips, and each sample adds the same y to the rows of all active units. So these rows are
  *owed* the sum of all y: a unit that turns on takes ``owed`` from its row, one that turns off adds it. The
  rank-1 update becomes a write to rows that are being read anyway. Where nothing decays (alpha = 1), M takes
  theta in: one map less to follow.

Kernels run within a regime; ``samplers.fast_weights`` changes it, and writes out, between them: a kernel is
compiled with all that it calls. The norm of theta_F is tracked from inner products that are at hand, and
taken afresh where it is written out.

Rounding: pre-activations are those of float32 sums that stand at the size of pull R v; the rows of M have
one rounding a flip (``owed`` is summed in float64, else its rounding would repeat in every fold).
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels import window as samples
from rbmviz.kernels._jit import inline, inner, kernel, reduction
from rbmviz.kernels.gibbs import (
    REBUILD_SWEEPS,
    Affine,
    Flips,
    affine_bytes,
    copy_bits,
    find_flips,
    fit_flips,
    fit_map,
    flips_bytes,
    follow,
    list_active,
    make_flips,
    rebuild,
    same_map,
    zero_map,
)
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid
from rbmviz.kernels.vectors import aligned_bytes, aligned_zeros, sum_rows

f32 = np.float32

SMALLEST_PUSH = 1e-6
"""Below it theta_F is written out: the rows of M are divided by the push."""

# Places in Clock.counts, Clock.scale and Direction.follows
SWEEPS, SAMPLES, SPAN, STILL = range(4)
PULL, PUSH, OWN, ANCHOR = range(4)
THETA, RATES, FAST = range(3)


class Direction(NamedTuple):
    """One direction (up: v to h, or down: h to v): the maps of theta, of the rates R and of M.

    The bias of M and its rows for active inputs lack ``owed``, float32 (padded n_out,): the rounded
    ``tally``, float64. Scratch, float32: ``total``, pre-activations; ``units``, outputs or their means.
    follows uint8 = [theta, rates, fast]: the maps whose value is brought to every input.
    """

    theta: Affine
    rates: Affine
    fast: Affine
    owed: np.ndarray
    tally: np.ndarray
    total: np.ndarray
    units: np.ndarray
    flips: Flips
    follows: np.ndarray


class Clock(NamedTuple):
    """Where a driven chain stands.

    counts int64 = [sweeps, samples, span, still]: span is the length of the window, 0 in the regime of rows,
    and still the samples since it was opened or eps moved. scale float64 = [pull, push, own, anchor]. moment
    float64 = [|theta_F|^2, <theta_F, R>, |R|^2].
    """

    counts: np.ndarray
    scale: np.ndarray
    moment: np.ndarray


def make_direction(theta: Affine, rates: Affine, n_units: int) -> Direction:
    """Return a direction of a new chain to n_units, M = 0 at the input 0; rows of theta and R are shared."""
    n_in, n_out = theta.rows.shape
    return Direction(
        theta=same_map(theta),
        rates=same_map(rates),
        fast=zero_map(n_in, n_out),
        owed=aligned_zeros(n_out),
        tally=np.zeros(n_out),
        total=aligned_zeros(n_out),
        units=np.zeros(n_units, np.float32),
        flips=make_flips(n_in),
        follows=np.ones(3, np.uint8),
    )


def direction_bytes(n_in: int, n_out: int) -> int:
    """Return the bytes of a direction beyond the rows and biases of theta and R, which chains share."""
    own = affine_bytes(n_in, n_out) + 4 * aligned_bytes(n_out)  # M; both values, owed, total
    return own + 12 * n_out + flips_bytes(n_in) + 3  # tally, units


def make_clock(rates: tuple[np.ndarray, ...]) -> Clock:
    """Return the clock of a chain that has not moved: theta_F = 0."""
    R_R = sum(float(np.sum(np.square(part, dtype=np.float64))) for part in rates)
    return Clock(np.zeros(4, np.int64), np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, R_R]))


@inline
def fit_direction(direction, n_in, n_out):
    """Say whether a direction is one of n_in inputs and n_out outputs."""
    width = direction.total.shape[0]
    maps = fit_map(direction.theta, n_in, n_out) and fit_map(direction.rates, n_in, n_out)
    alike = direction.theta.value.shape[0] == width and direction.rates.value.shape[0] == width
    fast = fit_map(direction.fast, n_in, n_out) and direction.fast.value.shape[0] == width
    owed = direction.owed.shape[0] == width and direction.tally.shape[0] == width
    rest = direction.units.shape[0] == n_out and direction.follows.shape[0] == 3
    return maps and alike and fast and owed and rest and fit_flips(direction.flips, n_in)


@inline
def fit_clock(clock):
    """Say whether a clock has all its hands, and the window a length that it can have."""
    hands = clock.counts.shape[0] == 4 and clock.scale.shape[0] == 4 and clock.moment.shape[0] == 3
    return hands and 0 <= clock.counts[SPAN] <= samples.CAPACITY and clock.counts[SPAN] % 8 == 0


@inline
def fit_chain(up, down, window, v, h, clock, out_v, out_drift):
    """Say whether what belongs to a chain fits, and the room for its samples."""
    m, n = v.shape[0], h.shape[0]
    directions = fit_direction(up, m, n) and fit_direction(down, n, m)
    out = out_v.shape[1] == m and out_drift.shape[0] == out_v.shape[0]
    return directions and samples.fit_window(window, m, n) and fit_clock(clock) and out


# Following the chain


@inner
def add_to_rows(rows, index, n, sign, y):
    """Add sign times y to each of the rows[index[:n]]."""
    for q in range(n):
        row = rows[index[q]]
        for j in range(y.shape[0]):
            row[j] += sign * y[j]


@inner
def follow_owed(direction, afresh):
    """Bring M to the input just seen: value as in ``follow``, rows by what the flipped ones are owed."""
    fast, owed, flips = direction.fast, direction.owed, direction.flips
    on, off, n_on, n_off, n_active = flips.on, flips.off, flips.counts[0], flips.counts[1], flips.counts[2]
    add_to_rows(fast.rows, off, n_off, f32(1.0), owed)
    if afresh or n_active <= n_on + n_off:
        rebuild(fast, flips)
        n_owed = f32(n_active - n_on + 1)
        for j in range(owed.shape[0]):
            fast.value[j] += n_owed * owed[j]
    else:
        sum_rows(fast.value, fast.value, fast.rows, on, n_on, off, n_off)
    add_to_rows(fast.rows, on, n_on, f32(-1.0), owed)


@inner
def follow_input(direction, layer, x, clock):
    """Bring the maps of a direction, and the window's layer where it begins, to the input x."""
    afresh = clock.counts[SWEEPS] % REBUILD_SWEEPS == 0
    find_flips(direction.flips, x)
    if clock.counts[SPAN] == 0:
        follow_owed(direction, afresh)
    elif direction.follows[FAST]:
        follow(direction.fast, direction.flips, afresh)
    if direction.follows[RATES]:
        follow(direction.rates, direction.flips, afresh)
    if direction.follows[THETA]:
        follow(direction.theta, direction.flips, afresh)
    if clock.counts[SPAN] > 0:
        samples.overlaps(layer, x, clock.counts[SPAN])


@inner
def combine(push, fast, pull, rates, own, theta, out):
    """Write push M + pull R + own theta for float32 pieces of the three; out is other memory than they."""
    for j in range(out.shape[0]):
        out[j] = (push * fast[j] + pull * rates[j]) + own * theta[j]


@inner
def activation(direction, window, seen, other, clock):
    """Write the pre-activations under theta + theta_F into ``total``.

    seen, other: the window's layers of the direction's input and of its output.
    """
    pull, push, own = f32(clock.scale[PULL]), f32(clock.scale[PUSH]), f32(clock.scale[OWN])
    theta, rates, fast = direction.theta.value, direction.rates.value, direction.fast.value
    combine(push, fast, pull, rates, own, theta, direction.total)
    samples.subtract_product(window, seen, other, clock.counts[SPAN], direction.total)


@inner
def means(total, out):
    """Write the means of units with these pre-activations."""
    for i in range(out.shape[0]):
        out[i] = sigmoid(total[i])


# Writing theta_F out


@reduction
def dot(x, y):
    """Return <x, y> over the length of y, summed in float32."""
    total = f32(0.0)
    for i in range(y.shape[0]):
        total += x[i] * y[i]
    return np.float64(total)


@inner
def settle(direction):
    """Give the bias and the rows of the active units what they are owed."""
    list_active(direction.flips)
    add_to_rows(
        direction.fast.rows, direction.flips.active, direction.flips.counts[2], f32(1.0), direction.owed
    )
    for j in range(direction.owed.shape[0]):
        direction.fast.bias[j] += direction.owed[j]
        direction.owed[j] = f32(0.0)
        direction.tally[j] = 0.0


@inner
def write_piece(push, fast, pull, rates, gain, theta, piece):
    """M <- push M + pull R + gain theta for a piece of them; ``piece`` is scratch, as long."""
    combine(push, fast, pull, rates, gain, theta, piece)
    for j in range(piece.shape[0]):
        fast[j] = piece[j]


@kernel
def write_out(direction, scale, own):
    """M <- push M + pull R + (own before - own now) theta, in one direction."""
    n_in, n_out = direction.flips.seen.shape[0], direction.units.shape[0]
    if not (scale.shape[0] == 4 and fit_direction(direction, n_in, n_out)):
        raise ValueError("write_out: the arrays do not fit each other")
    pull, push, gain = f32(scale[PULL]), f32(scale[PUSH]), f32(scale[OWN] - own)
    theta, rates, fast = direction.theta, direction.rates, direction.fast
    piece = direction.total
    settle(direction)
    for r in range(fast.rows.shape[0]):
        write_piece(push, fast.rows[r], pull, rates.rows[r], gain, theta.rows[r], piece)
    write_piece(push, fast.bias, pull, rates.bias, gain, theta.bias, piece)
    write_piece(push, fast.value, pull, rates.value, gain, theta.value, piece)


@inner
def add_moments(fast, rates, theta, own, piece, clock):
    """Add a piece of <F, F> and <F, R> to the moments, where pull = 0 and push = 1; ``piece`` is scratch."""
    combine(f32(1.0), fast, f32(0.0), rates, f32(own - 1.0), theta, piece)
    clock.moment[0] += dot(piece, piece)
    clock.moment[1] += dot(piece, rates)


@kernel
def take_moments(up, down, clock):
    """Take the moments of theta_F where it is all in M."""
    m, n = up.flips.seen.shape[0], down.flips.seen.shape[0]
    if not (fit_direction(up, m, n) and fit_direction(down, n, m) and fit_clock(clock)):
        raise ValueError("take_moments: the arrays do not fit each other")
    own = clock.scale[OWN]
    clock.moment[0] = 0.0
    clock.moment[1] = 0.0
    theta, rates, fast = up.theta.rows, up.rates.rows, up.fast.rows
    for r in range(fast.shape[0]):
        add_moments(fast[r], rates[r], theta[r], own, up.total, clock)
    add_moments(up.fast.bias, up.rates.bias, up.theta.bias, own, up.total, clock)
    add_moments(down.fast.bias, down.rates.bias, down.theta.bias, own, down.total, clock)


@kernel
def take_in(direction, window, seen, other, span):
    """M <- M - P in one direction; seen, other: as in ``activation``."""
    n_in, n_out = direction.flips.seen.shape[0], direction.units.shape[0]
    layers = samples.fit_layer(seen, n_in) and samples.fit_layer(other, n_out)
    if not (layers and 0 <= span <= samples.CAPACITY and fit_direction(direction, n_in, n_out)):
        raise ValueError("take_in: the arrays do not fit each other")
    fast = direction.fast
    samples.subtract_rows(window, seen, other, span, fast.rows)
    samples.subtract_bias(window, other, span, fast.bias)
    samples.subtract_product(window, seen, other, span, fast.value)


# Moving theta_F


@inner
def decay(window, clock, alpha):
    """theta_F <- alpha theta_F; in the rows M keeps a millionth at least, for they divide by the push."""
    counts, scale = clock.counts, clock.scale
    scale[PULL] = alpha * (scale[ANCHOR] + scale[PULL]) - scale[ANCHOR]
    if counts[SPAN] == 0:
        scale[PUSH] *= max(alpha, SMALLEST_PUSH)
    elif scale[OWN] > 0.0:
        scale[PUSH] *= alpha
    samples.fade(window, alpha, counts[SPAN])
    clock.moment[0] *= alpha * alpha
    clock.moment[1] *= alpha


@inner
def step_moments(up, down, window, size, clock, eps):
    """Advance |theta_F|^2 and <theta_F, R> by theta_F += eps (R - s).

    <theta_F, s> and <R, s> are sums over the pre-activations at v, which are at hand, and over the window;
    size is <h, h>.
    """
    span, scale = clock.counts[SPAN], clock.scale
    pull, push, not_F = f32(scale[ANCHOR] + scale[PULL]), f32(scale[PUSH]), f32(scale[OWN] - 1.0)
    if span > 0 and scale[OWN] == 0.0:  # M is all anchor and theta
        push, not_F = f32(0.0), f32(0.0)
    up_F, down_F = up.total, down.total
    combine(push, up.fast.value, pull, up.rates.value, not_F, up.theta.value, up_F)
    combine(push, down.fast.bias, pull, down.rates.bias, not_F, down.theta.bias, down_F)
    move_value(down_F, down.owed, push)
    F_s = dot(up_F, up.units) + dot(down_F, down.units) - samples.product_with_seen(window, span)
    R_s = dot(up.rates.value, up.units) + dot(down.rates.bias, down.units)
    n_active = up.flips.counts[2]
    s_s = n_active * size + n_active + size
    F_R, R_R = clock.moment[1], clock.moment[2]
    clock.moment[0] += 2.0 * eps * (F_R - F_s) + eps * eps * (R_R - 2.0 * R_s + s_s)
    clock.moment[1] += eps * (R_R - R_s)


@inner
def owe(direction, y, step):
    """Let the bias and the rows of all active units be owed step y."""
    owed, tally = direction.owed, direction.tally
    for j in range(y.shape[0]):
        tally[j] += np.float64(step) * np.float64(y[j])
        owed[j] = f32(tally[j])


@inner
def add_outer(direction, x, y, step):
    """Add step y to the bias and step x[r] y to all rows r: x are means, so that rows do not move alike."""
    settle(direction)
    for j in range(y.shape[0]):
        direction.fast.bias[j] += step * y[j]
    for r in range(x.shape[0]):
        row, factor = direction.fast.rows[r], step * x[r]
        for j in range(y.shape[0]):
            row[j] += factor * y[j]


@inner
def move_value(value, y, factor):
    """Add factor y to the value."""
    for j in range(y.shape[0]):
        value[j] += factor * y[j]


@inner
def move_rows(up, down, overlap, step, mean_field):
    """M <- M + step s; overlap is <h of the statistics, h that ``down`` sees>."""
    hidden, visible = up.units, down.units
    move_value(up.fast.value, hidden, step * f32(up.flips.counts[2] + 1))
    move_value(down.fast.value, visible, step * (f32(overlap) + f32(1.0)))
    owe(up, hidden, step)
    if mean_field:
        add_outer(down, hidden, visible, step)
    else:
        owe(down, visible, step)


@inner
def penalise(up, down, window, v, h, clock, eps, alpha, mean_field):
    """Advance theta_F by one emitted sample, theta_F <- alpha theta_F + eps (R - s), and return its norm.

    The v and h of the statistics are the units of ``down`` and ``up``, with ``mean_field`` means of h. ``up``
    holds its values at v and ``down`` at the sampled h, before and after.
    """
    decay(window, clock, alpha)
    counts, scale = clock.counts, clock.scale
    overlap = size = np.float64(down.flips.counts[2])
    if mean_field:
        as_float(h, up.total)
        overlap, size = dot(up.total, up.units), dot(up.units, up.units)
    if eps > 0.0:
        step_moments(up, down, window, size, clock, eps)
        scale[PULL] += eps
        if counts[SPAN] == 0:
            move_rows(up, down, overlap, f32(-eps / scale[PUSH]), mean_field)
    if counts[SPAN] > 0:
        samples.remember(window, v, h, eps, counts[SAMPLES], counts[SPAN])
        counts[STILL] += 1
        if counts[STILL] > counts[SPAN]:
            scale[PULL] = 0.0  # it is at the anchor, but for rounding
    counts[SAMPLES] += 1
    return np.sqrt(max(clock.moment[0], 0.0))


@inner
def as_float(bits, out):
    """Write the bits as 0.0 and 1.0."""
    for i in range(bits.shape[0]):
        out[i] = f32(bits[i])


@inner
def driven_gibbs(up, down, window, v, h, clock, rng, eps, alpha, mean_field, k, out_v, out_p, out_drift):
    """Emit out_v.shape[0] samples of rates-FPCD, or of sample penalization where the rates are 0.

    Within a regime. Per sample: k Gibbs sweeps under theta + theta_F, then the update of theta_F with the
    last (v, h), or with (v, E[h|v]) where ``mean_field``. Everything but the scalars advances in place.
    """
    fit = fit_chain(up, down, window, v, h, clock, out_v, out_drift)
    if not (fit and out_p.shape == out_v.shape and rng.shape == (4, STREAM_LANES)):
        raise ValueError("driven_gibbs: the arrays do not fit each other")
    hidden, visible = up.units, down.units
    for t in range(out_v.shape[0]):
        mean_v = out_p[t]
        for _ in range(k):
            activation(up, window, window.visible, window.hidden, clock)
            means(up.total, hidden)
            bernoulli(rng, hidden, h)
            follow_input(down, window.hidden, h, clock)
            activation(down, window, window.hidden, window.visible, clock)
            means(down.total, mean_v)
            bernoulli(rng, mean_v, v)
            follow_input(up, window.visible, v, clock)
            clock.counts[SWEEPS] += 1
        copy_bits(v, out_v[t])
        as_float(v, visible)
        if mean_field:
            activation(up, window, window.visible, window.hidden, clock)
            means(up.total, hidden)
        else:
            as_float(h, hidden)
        out_drift[t] = penalise(up, down, window, v, h, clock, eps, alpha, mean_field)


@inner
def maximise(total, out):
    """Set each unit to 1 where its pre-activation is above 0 (ties to 0); return whether any changed."""
    changed = False
    for i in range(out.shape[0]):
        bit = np.uint8(total[i] > f32(0.0))
        changed |= bit != out[i]
        out[i] = bit
    return changed


@inner
def herding(up, down, window, v, h, clock, eps, alpha, max_sweeps, out_v, out_sweeps, out_drift):
    """Emit out_v.shape[0] samples of rates-herding.

    Within a regime. Per sample: alternate maximisation of h and v under theta + theta_F until v stays, or
    max_sweeps; then the update of theta_F with (v, h). Deterministic.
    """
    fit = fit_chain(up, down, window, v, h, clock, out_v, out_drift)
    if not (fit and out_sweeps.shape[0] == out_v.shape[0]):
        raise ValueError("herding: the arrays do not fit each other")
    hidden, visible = up.units, down.units
    mean_field = eps < 0.0  # false, and not a literal: it would compile all once more
    for t in range(out_v.shape[0]):
        sweeps, changed = 0, True
        while changed and sweeps < max_sweeps:
            activation(up, window, window.visible, window.hidden, clock)
            maximise(up.total, h)
            follow_input(down, window.hidden, h, clock)
            activation(down, window, window.hidden, window.visible, clock)
            changed = maximise(down.total, v)
            follow_input(up, window.visible, v, clock)
            clock.counts[SWEEPS] += 1
            sweeps += 1
        copy_bits(v, out_v[t])
        out_sweeps[t] = sweeps
        as_float(v, visible)
        as_float(h, hidden)
        out_drift[t] = penalise(up, down, window, v, h, clock, eps, alpha, mean_field)
