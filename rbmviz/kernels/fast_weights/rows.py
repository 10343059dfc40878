"""Rank-1 updates of M that reach a row only when its unit flips (a lazy rank-1 update).

Between rebuilds a row of M is read only where its unit flips, and each sample adds the same vector y to the
rows of all active units. The vector ``pending`` holds the sum that every active row has yet to receive. A
unit that turns on subtracts ``pending`` from its row, a unit that turns off adds it, so updates only write to
rows that are read anyway. A rebuild sums the active rows and adds ``pending`` once for each and for the bias,
without writing to them; ``layers.rebuild`` alone is right only while nothing is pending. In numpy, M is at
any moment ::

    rows + np.outer(input, pending), bias + pending
"""

import numpy as np

from rbmviz.kernels._jit import private
from rbmviz.kernels.layers import list_active, rebuild
from rbmviz.kernels.vectors import sum_rows

f32 = np.float32


@private
def add_scaled(out, factor, y):
    """Add factor times y to out, over the length of y, float32."""
    for j in range(y.shape[0]):
        out[j] += factor * y[j]


@private
def add_to_rows(rows, index, n, sign, y):
    """Add sign times y to each of the rows[index[:n]]."""
    for q in range(n):
        row = rows[index[q]]
        for j in range(y.shape[0]):
            row[j] += sign * y[j]


@private
def update_with_pending(half_step, force_rebuild):
    """Update the value of M for the flipped inputs, and apply the pending sum to their rows."""
    M, pending, flips = half_step.M, half_step.pending, half_step.flips
    counts = flips.counts[0]
    add_to_rows(M.weights, flips.off, counts.off, f32(1.0), pending)
    if force_rebuild or counts.active <= counts.on + counts.off:
        rebuild(M, flips)
        # Rows that stay active, and the bias, have yet to receive ``pending``.
        n_pending = f32(counts.active - counts.on + 1)
        for j in range(pending.shape[0]):
            M.value[j] += n_pending * pending[j]
    else:
        sum_rows(M.value, M.value, M.weights, flips.on, counts.on, flips.off, counts.off)
    add_to_rows(M.weights, flips.on, counts.on, f32(-1.0), pending)


@private
def defer_update(half_step, y, step):
    """Defer the rank-1 update: add ``step * y`` to the pending sum of the bias and of every active row."""
    pending, pending64 = half_step.pending, half_step.pending64
    for j in range(y.shape[0]):
        pending64[j] += np.float64(step) * np.float64(y[j])
        pending[j] = f32(pending64[j])


@private
def apply_pending(half_step):
    """Add the pending sum to the bias and the active rows, and empty it."""
    M, pending, flips = half_step.M, half_step.pending, half_step.flips
    list_active(flips)
    add_to_rows(M.weights, flips.active, flips.counts[0].active, f32(1.0), pending)
    for j in range(pending.shape[0]):
        M.bias[j] += pending[j]
        pending[j] = f32(0.0)
        half_step.pending64[j] = 0.0


@private
def add_outer(half_step, x, y, step):
    """Add ``step * y`` to the bias and ``step * x[r] * y`` to row r, for means x."""
    apply_pending(half_step)
    add_scaled(half_step.M.bias, step, y)
    for r in range(x.shape[0]):
        add_scaled(half_step.M.weights[r], step * x[r], y)


@private
def update_rows(up, down, h_sampled_h, step, mean_statistics):
    """M <- M + step s, for the statistics s of h = ``up.units`` and v = ``down.units``.

    h_sampled_h: inner product of this h with the sampled h, the input of ``down``, whose value moves by
    step (h_sampled_h + 1) v.
    """
    hidden, visible = up.units, down.units
    add_scaled(up.M.value, step * f32(up.flips.counts[0].active + 1), hidden)
    add_scaled(down.M.value, step * (f32(h_sampled_h) + f32(1.0)), visible)
    defer_update(up, hidden, step)
    if mean_statistics:
        add_outer(down, hidden, visible, step)
    else:
        defer_update(down, visible, step)
