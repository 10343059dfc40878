"""Block Gibbs sampling of one chain, paying only for the units that flipped.

Between two sweeps most units keep their value, so the pre-activations ``bias + x @ rows`` of both
layers are kept and only the rows of flipped units are added or taken away; where fewer units are
active than flipped, they are rebuilt from the active rows. Rounding cannot pile up: every
``REBUILD_SWEEPS`` sweeps they are rebuilt anyway.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner, kernel
from rbmviz.kernels.bits import list_few_ones, list_ones, popcount, word
from rbmviz.kernels.random import STREAM_LANES, bernoulli, sigmoid
from rbmviz.kernels.vectors import WIDTH, aligned_bytes, aligned_zeros, sum_rows

i64, u64 = np.int64, np.uint64

REBUILD_SWEEPS = 256
"""Sweeps after which the pre-activations are rebuilt from the active rows."""


class PreActivation(NamedTuple):
    """Pre-activations of a layer: an affine map and its value at the current input, ``bias + x @ rows``.

    rows float32 (n_in, padded n_out), bias and value float32 (padded n_out,).
    """

    rows: np.ndarray
    bias: np.ndarray
    value: np.ndarray


class Flips(NamedTuple):
    """Which inputs turned on and off, which are active (lists int32), and the previous input, uint8.

    counts int64 = [on, off, active, whether ``active`` is listed]: only rebuilding asks for that list.
    """

    on: np.ndarray
    off: np.ndarray
    active: np.ndarray
    counts: np.ndarray
    previous: np.ndarray


def make_preactivation(rows: np.ndarray, bias: np.ndarray) -> PreActivation:
    """Copy a map into padded, aligned memory; its value is that of the input 0."""
    n_in, n_out = rows.shape
    preactivation = PreActivation(aligned_zeros(n_in, n_out), aligned_zeros(n_out), aligned_zeros(n_out))
    preactivation.rows[:, :n_out] = rows
    preactivation.bias[:n_out] = bias
    preactivation.value[:] = preactivation.bias
    return preactivation


def share_map(preactivation: PreActivation) -> PreActivation:
    """Return the same map for another chain: rows and bias are shared, the value is that of the input 0."""
    value = aligned_zeros(len(preactivation.value))
    value[:] = preactivation.bias
    return preactivation._replace(value=value)


def zero_map(n_in: int, n_out: int) -> PreActivation:
    """Return the map to 0; the memory of its rows is taken only as they are written."""
    return PreActivation(aligned_zeros(n_in, n_out), aligned_zeros(n_out), aligned_zeros(n_out))


def make_flips(n: int) -> Flips:
    """Return the lists for an input of n units whose previous state is 0."""
    on, off, active = np.zeros((3, n + 4), np.int32)  # list_few_ones writes beyond the end
    return Flips(on, off, active, np.array([0, 0, 0, 1]), np.zeros(n, np.uint8))


def preactivation_bytes(n_in: int, n_out: int) -> int:
    """Return the bytes of a map with rows of its own."""
    return aligned_bytes(n_in, n_out) + 2 * aligned_bytes(n_out)


def flips_bytes(n: int) -> int:
    """Return the bytes of the lists for an input of n units."""
    return 3 * 4 * (n + 4) + 32 + n


@inner
def copy_bits(x, out):
    """Write x into out, uint8 both; ``out[:] = x`` takes numba seconds to compile."""
    for i in range(x.shape[0]):
        out[i] = x[i]


@inner
def find_flips(flips, x):
    """List the units of x (uint8) that turned on and off, count the active ones, and store x as the previous.

    Between two sweeps of a trained model one unit in twenty flips: three of a word.
    """
    on, off, previous = flips.on, flips.off, flips.previous
    n_on, n_off, n_active = u64(0), u64(0), u64(0)
    for start in range(0, x.shape[0], 64):
        now, before = word(x, start), word(previous, start)
        n_on = list_few_ones(now & ~before, start, on, n_on)
        n_off = list_few_ones(before & ~now, start, off, n_off)
        n_active += popcount(now)
    copy_bits(x, previous)
    flips.counts[0] = n_on
    flips.counts[1] = n_off
    flips.counts[2] = n_active
    flips.counts[3] = 0


@inner
def list_active(flips):
    """List the active units of the current input, unless they are listed already."""
    if not flips.counts[3]:
        previous, n = flips.previous, u64(0)
        for start in range(0, previous.shape[0], 64):
            n = list_ones(word(previous, start), start, flips.active, n)
        flips.counts[3] = 1


@inner
def rebuild(preactivation, flips):
    """Compute ``preactivation.value`` from the active rows alone."""
    list_active(flips)
    active = flips.active
    sum_rows(
        preactivation.bias, preactivation.value, preactivation.rows, active, flips.counts[2], active, i64(0)
    )


@inner
def update_preactivations(preactivation, flips, afresh):
    """Update ``preactivation.value`` for the input of the last ``find_flips``, from few rows."""
    n_on, n_off, n_active = flips.counts[0], flips.counts[1], flips.counts[2]
    if afresh or n_active <= n_on + n_off:
        rebuild(preactivation, flips)
    else:
        sum_rows(
            preactivation.value, preactivation.value, preactivation.rows, flips.on, n_on, flips.off, n_off
        )


@inline
def fit_map(preactivation, n_in, n_out):
    """Say whether a map is one of n_in inputs and n_out outputs, in whole vectors."""
    padded = preactivation.value.shape[0]
    whole = padded >= n_out and padded % WIDTH == 0 and preactivation.bias.shape[0] == padded
    return whole and preactivation.rows.shape[0] == n_in and preactivation.rows.shape[1] == padded


@inline
def fit_flips(flips, n):
    """Say whether the lists are those of an input of n units."""
    lists = flips.on.shape[0] == n + 4 and flips.off.shape[0] == n + 4 and flips.active.shape[0] == n + 4
    return lists and flips.counts.shape[0] == 4 and flips.previous.shape[0] == n


def place(flips, x, *affines: PreActivation) -> None:
    """Begin at the input x, uint8: list its units, and bring the maps to it.

    Raises
    ------
    ValueError
        Where the arrays do not fit each other.
    """
    maps = all(fit_map.py_func(preactivation, len(x), len(preactivation.value)) for preactivation in affines)
    if not (maps and fit_flips.py_func(flips, len(x))):
        raise ValueError("place: the arrays do not fit each other")
    find_flips(flips, x)
    for preactivation in affines:
        rebuild(preactivation, flips)


@kernel
def gibbs(up, down, v, h, v_flips, h_flips, rng, clock, inverse_temperature, k, out_v, out_p):
    """Emit out_v.shape[0] samples, k sweeps each; v, h, the maps, the clock and the RNG advance in place.

    ``up`` maps v to the hidden pre-activations and holds their value at v at every call; ``down`` maps
    h to the visible ones. clock int64 (1,): sweeps so far, so that refreshes do not depend on chunking.
    inverse_temperature float32; out_v uint8, out_p float32 (samples, n_visible): v, and the means it was
    drawn from.
    """
    m, n, same = v.shape[0], h.shape[0], out_p.shape == out_v.shape and out_v.shape[1] == v.shape[0]
    fit = fit_map(up, m, n) and fit_map(down, n, m) and fit_flips(v_flips, m) and fit_flips(h_flips, n)
    if not (fit and same and rng.shape == (4, STREAM_LANES) and clock.shape[0]):
        raise ValueError("gibbs: the arrays do not fit each other")
    mean_h = np.empty(h.shape[0], np.float32)
    for t in range(out_v.shape[0]):
        mean_v = out_p[t]
        for _ in range(k):
            afresh = clock[0] % REBUILD_SWEEPS == 0
            for j in range(h.shape[0]):
                mean_h[j] = sigmoid(inverse_temperature * up.value[j])
            bernoulli(rng, mean_h, h)
            find_flips(h_flips, h)
            update_preactivations(down, h_flips, afresh)
            for i in range(v.shape[0]):
                mean_v[i] = sigmoid(inverse_temperature * down.value[i])
            bernoulli(rng, mean_v, v)
            find_flips(v_flips, v)
            update_preactivations(up, v_flips, afresh)
            clock[0] += 1
        copy_bits(v, out_v[t])
