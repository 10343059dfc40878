"""One chain whose parameters move: theta + theta_F, updated after every emitted sample.

(1) sample h ~ p(h | v; theta + theta_F)
(2) sample v ~ p(v | h; theta + theta_F)
(3) emit v
(4) theta_F <- alpha theta_F + eps (R - s),   s = (v h', v, h)

Adding a whole matrix for each sample would cost more than the sweep. theta_F is therefore kept in parts,

    theta + theta_F = theta_coef theta + rates_coef R + fast_coef M - P,

with three scalars, one matrix M (and its biases), and P, the weighted sum of the newest samples. The
pre-activations under theta, R and M are updated from the units that flipped, as in ``gibbs``. The cost is
memory traffic, so each of the two regimes keeps as few of these maps up to date as it can:

- **History** (alpha up to 0.984): the newest samples are stored as bits (see ``history``), and their weighted
  sum is P. Once the weights of all older samples are negligible and ``rates_coef`` has reached its limit
  eps / (1 - alpha), M absorbs theta + limit R and no longer changes: theta_coef = 0, fast_coef = 1, and
  ``rates_coef``, from then on the excess over the limit, is 0. One map is left, besides R from v to h, which
  the norm of theta_F needs. When eps changes, ``rates_coef`` moves again, and R is updated until it rests.
- **Rows** (alpha near 1, or means in s, which are no bits): P = 0, and every sample is one rank-1 update of
  M; the decay multiplies the scalars. From time to time theta_F is written out into M, because ``rates_coef
  R`` and ``fast_coef M`` would otherwise grow against each other until float32 loses their difference. A row
  of M is read only where its unit flips, and each sample adds the same vector y to the rows of all active
  units. The rank-1 updates are therefore *pending* (a lazy rank-1 update): one vector ``pending`` holds the
  sum that every active row has yet to receive; a unit that turns on subtracts ``pending`` from its row, a
  unit that turns off adds it. The update becomes a write to rows that are being read anyway. Where nothing
  decays (alpha = 1), M absorbs theta as well: one map less.

Kernels run within one regime. ``samplers.fast_weights`` chooses the regime and writes theta_F out between two
calls, because a kernel is compiled with everything that it calls. |theta_F|^2 and <theta_F, R> are advanced
from inner products that are at hand, and recomputed whenever theta_F is written out.

Rounding: pre-activations have the rounding of float32 sums of the size of rates_coef R v; a row of M is
rounded once a flip (``pending`` is summed in float64, or else its rounding would repeat in every row).
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels import history as samples
from rbmviz.kernels._jit import inline, inner, kernel, reduction
from rbmviz.kernels.gibbs import (
    REBUILD_SWEEPS,
    Flips,
    PreActivation,
    copy_bits,
    find_flips,
    fit_flips,
    fit_map,
    flips_bytes,
    list_active,
    make_flips,
    preactivation_bytes,
    rebuild,
    share_map,
    update_preactivations,
    zero_map,
)
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid
from rbmviz.kernels.vectors import aligned_bytes, aligned_zeros, sum_rows

f32 = np.float32

SMALLEST_FAST_COEF = 1e-6
"""Below this coefficient of M, theta_F is written out, because updates of M are divided by it."""

# Places in ChainScalars.counts, in ChainScalars.scale, and in HalfStep.tracked
SWEEPS_MADE, SAMPLES_MADE, HISTORY_LENGTH, SAMPLES_SINCE_CHANGE = range(4)
RATES_COEF, FAST_COEF, THETA_COEF, RATES_COEF_LIMIT = range(4)
THETA, RATES, FAST = range(3)


class HalfStep(NamedTuple):
    """One half of a sweep (up: v to h, or down: h to v): the maps of theta, of the rates R and of M.

    The bias of M and its rows for active inputs have yet to receive ``pending``, float32 (padded n_out,),
    which is the rounded ``pending64``, float64. Work space, float32: ``total``, the pre-activations;
    ``units``, the output or its means. tracked uint8 = [theta, rates, fast]: the maps whose values are
    updated at every input.
    """

    theta: PreActivation
    rates: PreActivation
    fast: PreActivation
    pending: np.ndarray
    pending64: np.ndarray
    total: np.ndarray
    units: np.ndarray
    flips: Flips
    tracked: np.ndarray


class ChainScalars(NamedTuple):
    """The scalars of a driven chain.

    counts int64 = [sweeps, samples, length of the history, samples since a change]: the length is 0 in the
    regime of rows, and a change is the start of the history or another eps. scale float64 = [rates_coef,
    fast_coef, theta_coef, limit of rates_coef]. moment float64 = [|theta_F|^2, <theta_F, R>, |R|^2].
    """

    counts: np.ndarray
    scale: np.ndarray
    moment: np.ndarray


def make_half_step(theta: PreActivation, rates: PreActivation, n_units: int) -> HalfStep:
    """Return a half-step of a new chain to n_units, with M = 0; the rows of theta and R are shared."""
    n_in, n_out = theta.rows.shape
    return HalfStep(
        theta=share_map(theta),
        rates=share_map(rates),
        fast=zero_map(n_in, n_out),
        pending=aligned_zeros(n_out),
        pending64=np.zeros(n_out),
        total=aligned_zeros(n_out),
        units=np.zeros(n_units, np.float32),
        flips=make_flips(n_in),
        tracked=np.ones(3, np.uint8),
    )


def half_step_bytes(n_in: int, n_out: int) -> int:
    """Return the bytes of a half-step beyond the rows and biases of theta and R, which chains share."""
    own = preactivation_bytes(n_in, n_out) + 4 * aligned_bytes(n_out)  # M; both values, pending, total
    return own + 12 * n_out + flips_bytes(n_in) + 3  # pending64, units


def make_scalars(rates: tuple[np.ndarray, ...]) -> ChainScalars:
    """Return the scalars of a new chain: theta_F = 0."""
    R_R = sum(float(np.sum(np.square(part, dtype=np.float64))) for part in rates)
    return ChainScalars(np.zeros(4, np.int64), np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, R_R]))


@inline
def fit_half_step(half_step, n_in, n_out):
    """Say whether the arrays of a half-step have the sizes of n_in inputs and n_out outputs."""
    width = half_step.total.shape[0]
    maps = fit_map(half_step.theta, n_in, n_out) and fit_map(half_step.rates, n_in, n_out)
    alike = half_step.theta.value.shape[0] == width and half_step.rates.value.shape[0] == width
    fast = fit_map(half_step.fast, n_in, n_out) and half_step.fast.value.shape[0] == width
    pending = half_step.pending.shape[0] == width and half_step.pending64.shape[0] == width
    rest = half_step.units.shape[0] == n_out and half_step.tracked.shape[0] == 3
    return maps and alike and fast and pending and rest and fit_flips(half_step.flips, n_in)


@inline
def fit_scalars(scalars):
    """Say whether the scalars are complete, and the length of the history is one that it can have."""
    complete = scalars.counts.shape[0] == 4 and scalars.scale.shape[0] == 4 and scalars.moment.shape[0] == 3
    return (
        complete
        and 0 <= scalars.counts[HISTORY_LENGTH] <= samples.CAPACITY
        and scalars.counts[HISTORY_LENGTH] % 8 == 0
    )


@inline
def fit_chain(up, down, history, v, h, scalars, out_v, out_fast_norm):
    """Say whether the arrays of a chain fit each other, and those that its samples are written to."""
    m, n = v.shape[0], h.shape[0]
    half_steps = fit_half_step(up, m, n) and fit_half_step(down, n, m)
    out = out_v.shape[1] == m and out_fast_norm.shape[0] == out_v.shape[0]
    return half_steps and samples.fit_history(history, m, n) and fit_scalars(scalars) and out


# Updating the pre-activations


@inner
def add_to_rows(rows, index, n, sign, y):
    """Add sign times y to each of the rows[index[:n]]."""
    for q in range(n):
        row = rows[index[q]]
        for j in range(y.shape[0]):
            row[j] += sign * y[j]


@inner
def update_with_pending(half_step, afresh):
    """Update the value of M for the flipped inputs, and apply the pending sum to the rows that flipped."""
    fast, pending, flips = half_step.fast, half_step.pending, half_step.flips
    on, off, n_on, n_off, n_active = flips.on, flips.off, flips.counts[0], flips.counts[1], flips.counts[2]
    add_to_rows(fast.rows, off, n_off, f32(1.0), pending)
    if afresh or n_active <= n_on + n_off:
        rebuild(fast, flips)
        n_pending = f32(n_active - n_on + 1)
        for j in range(pending.shape[0]):
            fast.value[j] += n_pending * pending[j]
    else:
        sum_rows(fast.value, fast.value, fast.rows, on, n_on, off, n_off)
    add_to_rows(fast.rows, on, n_on, f32(-1.0), pending)


@inner
def update_half_step(half_step, layer, x, scalars):
    """Update the tracked maps of a half-step, and its input's part of the history, for the input x."""
    afresh = scalars.counts[SWEEPS_MADE] % REBUILD_SWEEPS == 0
    find_flips(half_step.flips, x)
    if scalars.counts[HISTORY_LENGTH] == 0:
        update_with_pending(half_step, afresh)
    elif half_step.tracked[FAST]:
        update_preactivations(half_step.fast, half_step.flips, afresh)
    if half_step.tracked[RATES]:
        update_preactivations(half_step.rates, half_step.flips, afresh)
    if half_step.tracked[THETA]:
        update_preactivations(half_step.theta, half_step.flips, afresh)
    if scalars.counts[HISTORY_LENGTH] > 0:
        samples.overlaps(layer, x, scalars.counts[HISTORY_LENGTH])


@inner
def combine(fast_coef, fast, rates_coef, rates, theta_coef, theta, out):
    """Write fast_coef M + rates_coef R + theta_coef theta of float32 pieces; out must not overlap them."""
    for j in range(out.shape[0]):
        out[j] = (fast_coef * fast[j] + rates_coef * rates[j]) + theta_coef * theta[j]


@inner
def activation(half_step, history, input_history, output_history, scalars):
    """Write the pre-activations under theta + theta_F into ``total``.

    input_history, output_history: the layers of the history that belong to the input and to the output.
    """
    rates_coef, fast_coef, theta_coef = (
        f32(scalars.scale[RATES_COEF]),
        f32(scalars.scale[FAST_COEF]),
        f32(scalars.scale[THETA_COEF]),
    )
    theta, rates, fast = half_step.theta.value, half_step.rates.value, half_step.fast.value
    combine(fast_coef, fast, rates_coef, rates, theta_coef, theta, half_step.total)
    samples.subtract_product(
        history, input_history, output_history, scalars.counts[HISTORY_LENGTH], half_step.total
    )


@inner
def means(total, out):
    """Write the means of units that have these pre-activations."""
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
def apply_pending(half_step):
    """Add the pending sum to the bias and to the rows of the active units."""
    list_active(half_step.flips)
    add_to_rows(
        half_step.fast.rows, half_step.flips.active, half_step.flips.counts[2], f32(1.0), half_step.pending
    )
    for j in range(half_step.pending.shape[0]):
        half_step.fast.bias[j] += half_step.pending[j]
        half_step.pending[j] = f32(0.0)
        half_step.pending64[j] = 0.0


@inner
def write_piece(fast_coef, fast, rates_coef, rates, gain, theta, piece):
    """M <- fast_coef M + rates_coef R + gain theta for a piece of them; ``piece`` is as long, work space."""
    combine(fast_coef, fast, rates_coef, rates, gain, theta, piece)
    for j in range(piece.shape[0]):
        fast[j] = piece[j]


@kernel
def write_out(half_step, scale, theta_coef):
    """M <- fast_coef M + rates_coef R + (theta_coef before - now) theta, in one half-step."""
    n_in, n_out = half_step.flips.previous.shape[0], half_step.units.shape[0]
    if not (scale.shape[0] == 4 and fit_half_step(half_step, n_in, n_out)):
        raise ValueError("write_out: the arrays do not fit each other")
    rates_coef, fast_coef, gain = (
        f32(scale[RATES_COEF]),
        f32(scale[FAST_COEF]),
        f32(scale[THETA_COEF] - theta_coef),
    )
    theta, rates, fast = half_step.theta, half_step.rates, half_step.fast
    piece = half_step.total
    apply_pending(half_step)
    for r in range(fast.rows.shape[0]):
        write_piece(fast_coef, fast.rows[r], rates_coef, rates.rows[r], gain, theta.rows[r], piece)
    write_piece(fast_coef, fast.bias, rates_coef, rates.bias, gain, theta.bias, piece)
    write_piece(fast_coef, fast.value, rates_coef, rates.value, gain, theta.value, piece)


@inner
def add_moments(fast, rates, theta, theta_coef, piece, scalars):
    """Add a piece of <F, F> and <F, R>, F = theta_F; valid only when rates_coef = 0 and fast_coef = 1."""
    combine(f32(1.0), fast, f32(0.0), rates, f32(theta_coef - 1.0), theta, piece)
    scalars.moment[0] += dot(piece, piece)
    scalars.moment[1] += dot(piece, rates)


@kernel
def compute_moments(up, down, scalars):
    """Recompute |theta_F|^2 and <theta_F, R> from M; valid only when rates_coef = 0 and fast_coef = 1."""
    m, n = up.flips.previous.shape[0], down.flips.previous.shape[0]
    if not (fit_half_step(up, m, n) and fit_half_step(down, n, m) and fit_scalars(scalars)):
        raise ValueError("compute_moments: the arrays do not fit each other")
    theta_coef = scalars.scale[THETA_COEF]
    scalars.moment[0] = 0.0
    scalars.moment[1] = 0.0
    theta, rates, fast = up.theta.rows, up.rates.rows, up.fast.rows
    for r in range(fast.shape[0]):
        add_moments(fast[r], rates[r], theta[r], theta_coef, up.total, scalars)
    add_moments(up.fast.bias, up.rates.bias, up.theta.bias, theta_coef, up.total, scalars)
    add_moments(down.fast.bias, down.rates.bias, down.theta.bias, theta_coef, down.total, scalars)


@kernel
def fold_into(half_step, history, input_history, output_history, history_length):
    """M <- M - P in one half-step; input_history, output_history: as in ``activation``."""
    n_in, n_out = half_step.flips.previous.shape[0], half_step.units.shape[0]
    layers = samples.fit_layer(input_history, n_in) and samples.fit_layer(output_history, n_out)
    if not (layers and 0 <= history_length <= samples.CAPACITY and fit_half_step(half_step, n_in, n_out)):
        raise ValueError("fold_into: the arrays do not fit each other")
    fast = half_step.fast
    samples.subtract_rows(history, input_history, output_history, history_length, fast.rows)
    samples.subtract_bias(history, output_history, history_length, fast.bias)
    samples.subtract_product(history, input_history, output_history, history_length, fast.value)


# Updating theta_F


@inner
def decay(history, scalars, alpha):
    """theta_F <- alpha theta_F; in the regime of rows fast_coef stays positive: updates divide by it."""
    counts, scale = scalars.counts, scalars.scale
    scale[RATES_COEF] = alpha * (scale[RATES_COEF_LIMIT] + scale[RATES_COEF]) - scale[RATES_COEF_LIMIT]
    if counts[HISTORY_LENGTH] == 0:
        scale[FAST_COEF] *= max(alpha, SMALLEST_FAST_COEF)
    elif scale[THETA_COEF] > 0.0:
        scale[FAST_COEF] *= alpha
    samples.decay_weights(history, alpha, counts[HISTORY_LENGTH])
    scalars.moment[0] *= alpha * alpha
    scalars.moment[1] *= alpha


@inner
def step_moments(up, down, history, size, scalars, eps):
    """Advance |theta_F|^2 and <theta_F, R> by theta_F += eps (R - s).

    <theta_F, s> and <R, s> are sums over the pre-activations at v, which are at hand, and over the history;
    size is <h, h>.
    """
    history_length, scale = scalars.counts[HISTORY_LENGTH], scalars.scale
    rates_coef, fast_coef, not_F = (
        f32(scale[RATES_COEF_LIMIT] + scale[RATES_COEF]),
        f32(scale[FAST_COEF]),
        f32(scale[THETA_COEF] - 1.0),
    )
    if history_length > 0 and scale[THETA_COEF] == 0.0:  # M is all anchor and theta
        fast_coef, not_F = f32(0.0), f32(0.0)
    up_F, down_F = up.total, down.total
    combine(fast_coef, up.fast.value, rates_coef, up.rates.value, not_F, up.theta.value, up_F)
    combine(fast_coef, down.fast.bias, rates_coef, down.rates.bias, not_F, down.theta.bias, down_F)
    move_value(down_F, down.pending, fast_coef)
    F_s = dot(up_F, up.units) + dot(down_F, down.units) - samples.product_with_state(history, history_length)
    R_s = dot(up.rates.value, up.units) + dot(down.rates.bias, down.units)
    n_active = up.flips.counts[2]
    s_s = n_active * size + n_active + size
    F_R, R_R = scalars.moment[1], scalars.moment[2]
    scalars.moment[0] += 2.0 * eps * (F_R - F_s) + eps * eps * (R_R - 2.0 * R_s + s_s)
    scalars.moment[1] += eps * (R_R - R_s)


@inner
def defer_update(half_step, y, step):
    """Defer the rank-1 update: add step y to the pending sum of the bias and of every active row."""
    pending, pending64 = half_step.pending, half_step.pending64
    for j in range(y.shape[0]):
        pending64[j] += np.float64(step) * np.float64(y[j])
        pending[j] = f32(pending64[j])


@inner
def add_outer(half_step, x, y, step):
    """Add step y to the bias and step x[r] y to every row r: with means x, each row receives another."""
    apply_pending(half_step)
    for j in range(y.shape[0]):
        half_step.fast.bias[j] += step * y[j]
    for r in range(x.shape[0]):
        row, factor = half_step.fast.rows[r], step * x[r]
        for j in range(y.shape[0]):
            row[j] += factor * y[j]


@inner
def move_value(value, y, factor):
    """Add factor times y to the value of a map."""
    for j in range(y.shape[0]):
        value[j] += factor * y[j]


@inner
def move_rows(up, down, overlap, step, mean_field):
    """M <- M + step s; overlap is <h of the statistics, h at the input of ``down``>."""
    hidden, visible = up.units, down.units
    move_value(up.fast.value, hidden, step * f32(up.flips.counts[2] + 1))
    move_value(down.fast.value, visible, step * (f32(overlap) + f32(1.0)))
    defer_update(up, hidden, step)
    if mean_field:
        add_outer(down, hidden, visible, step)
    else:
        defer_update(down, visible, step)


@inner
def penalise(up, down, history, v, h, scalars, eps, alpha, mean_field):
    """Advance theta_F by one emitted sample, theta_F <- alpha theta_F + eps (R - s), and return its norm.

    The v and h of the statistics are the units of ``down`` and ``up``, with ``mean_field`` means of h. ``up``
    holds its values at v and ``down`` at the sampled h, before and after.
    """
    decay(history, scalars, alpha)
    counts, scale = scalars.counts, scalars.scale
    overlap = size = np.float64(down.flips.counts[2])
    if mean_field:
        as_float(h, up.total)
        overlap, size = dot(up.total, up.units), dot(up.units, up.units)
    if eps > 0.0:
        step_moments(up, down, history, size, scalars, eps)
        scale[RATES_COEF] += eps
        if counts[HISTORY_LENGTH] == 0:
            move_rows(up, down, overlap, f32(-eps / scale[FAST_COEF]), mean_field)
    if counts[HISTORY_LENGTH] > 0:
        samples.append(history, v, h, eps, counts[SAMPLES_MADE], counts[HISTORY_LENGTH])
        counts[SAMPLES_SINCE_CHANGE] += 1
        if counts[SAMPLES_SINCE_CHANGE] > counts[HISTORY_LENGTH]:
            scale[RATES_COEF] = 0.0  # it is at the anchor, but for rounding
    counts[SAMPLES_MADE] += 1
    return np.sqrt(max(scalars.moment[0], 0.0))


@inner
def as_float(bits, out):
    """Write the bits as 0.0 and 1.0."""
    for i in range(bits.shape[0]):
        out[i] = f32(bits[i])


@inner
def driven_gibbs(
    up, down, history, v, h, scalars, rng, eps, alpha, mean_field, k, out_v, out_p, out_fast_norm
):
    """Emit out_v.shape[0] samples of rates-FPCD, or of sample penalization where the rates are 0.

    Within a regime. Per sample: k Gibbs sweeps under theta + theta_F, then the update of theta_F with the
    last (v, h), or with (v, E[h|v]) where ``mean_field``. Everything but the scalars advances in place.
    """
    fit = fit_chain(up, down, history, v, h, scalars, out_v, out_fast_norm)
    if not (fit and out_p.shape == out_v.shape and rng.shape == (4, STREAM_LANES)):
        raise ValueError("driven_gibbs: the arrays do not fit each other")
    hidden, visible = up.units, down.units
    for t in range(out_v.shape[0]):
        mean_v = out_p[t]
        for _ in range(k):
            # (1) sample h ~ p(h | v; theta + theta_F)
            activation(up, history, history.visible, history.hidden, scalars)
            means(up.total, hidden)
            bernoulli(rng, hidden, h)
            update_half_step(down, history.hidden, h, scalars)
            # (2) sample v ~ p(v | h; theta + theta_F)
            activation(down, history, history.hidden, history.visible, scalars)
            means(down.total, mean_v)
            bernoulli(rng, mean_v, v)
            update_half_step(up, history.visible, v, scalars)
            scalars.counts[SWEEPS_MADE] += 1
        # (3) emit v
        copy_bits(v, out_v[t])
        as_float(v, visible)
        if mean_field:
            activation(up, history, history.visible, history.hidden, scalars)
            means(up.total, hidden)
        else:
            as_float(h, hidden)
        # (4) theta_F <- alpha theta_F + eps (R - s)
        out_fast_norm[t] = penalise(up, down, history, v, h, scalars, eps, alpha, mean_field)


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
def herding(up, down, history, v, h, scalars, eps, alpha, max_sweeps, out_v, out_sweeps, out_fast_norm):
    """Emit out_v.shape[0] samples of rates-herding.

    Within a regime. Per sample: alternate maximisation of h and v under theta + theta_F until v stays, or
    max_sweeps; then the update of theta_F with (v, h). Deterministic.
    """
    fit = fit_chain(up, down, history, v, h, scalars, out_v, out_fast_norm)
    if not (fit and out_sweeps.shape[0] == out_v.shape[0]):
        raise ValueError("herding: the arrays do not fit each other")
    hidden, visible = up.units, down.units
    mean_field = eps < 0.0  # false, and not a literal: it would compile all once more
    for t in range(out_v.shape[0]):
        sweeps, changed = 0, True
        while changed and sweeps < max_sweeps:
            activation(up, history, history.visible, history.hidden, scalars)
            maximise(up.total, h)
            update_half_step(down, history.hidden, h, scalars)
            activation(down, history, history.hidden, history.visible, scalars)
            changed = maximise(down.total, v)
            update_half_step(up, history.visible, v, scalars)
            scalars.counts[SWEEPS_MADE] += 1
            sweeps += 1
        copy_bits(v, out_v[t])
        out_sweeps[t] = sweeps
        as_float(v, visible)
        as_float(h, hidden)
        out_fast_norm[t] = penalise(up, down, history, v, h, scalars, eps, alpha, mean_field)
