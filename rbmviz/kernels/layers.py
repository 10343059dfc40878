"""The pre-activations of a layer, updated from the units of the other layer that flipped.

Between two sweeps most units keep their value, so the pre-activations ``bias + x @ weights`` are kept and
only the rows of flipped units are added or subtracted. If at most as many units are active as flipped, the
pre-activations are rebuilt from the active rows. Callers force a rebuild every ``REBUILD_SWEEPS`` sweeps,
which bounds the rounding error.

In numpy, for the step from the input x0 to x, both float arrays of 0 and 1::

    if force_rebuild or x.sum() <= (x != x0).sum():
        value = bias + x @ weights
    else:
        value = value + (x - x0) @ weights
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, inner, private
from rbmviz.kernels.bits import list_few_ones, list_ones, popcount, word
from rbmviz.kernels.records import new_record, structured
from rbmviz.kernels.vectors import WIDTH, aligned_zeros, sum_rows

i64, u64 = np.int64, np.uint64

REBUILD_SWEEPS = 256
"""Sweeps after which the pre-activations are rebuilt from the active rows."""


class PreActivation(NamedTuple):
    """The affine map x -> ``bias + x @ weights`` to the pre-activations of a layer, and its value.

    The chains of a model share its weights and bias, which are never written; each has its own value. (M in
    ``fast_weights`` belongs to one chain and is written.)
    """

    weights: np.ndarray  # float32 (n_in, padded n_out)
    bias: np.ndarray  # float32 (padded n_out,)
    value: np.ndarray  # float32 (padded n_out,): the pre-activations at the current input


@structured
class FlipCounts:
    """Lengths of the lists of ``Flips``.

    ``find_flips`` updates all three, and the lists ``on`` and ``off``; ``list_active`` updates ``active`` and
    sets ``active_listed``.
    """

    on: int
    off: int
    active: int
    active_listed: bool


class Flips(NamedTuple):
    """Units that turned on, turned off and are active at the newest input, and that input."""

    on: np.ndarray  # int32 (n_in + 4,)
    off: np.ndarray  # int32 (n_in + 4,)
    active: np.ndarray  # int32 (n_in + 4,)
    counts: np.ndarray  # FlipCounts (1,): lengths of the lists
    input: np.ndarray  # uint8 (n_in,): the newest input, with which find_flips compares the next


def make_preactivation(weights: np.ndarray, bias: np.ndarray) -> PreActivation:
    """Copy weights and bias into padded, aligned memory; the value belongs to the input 0."""
    n_in, n_out = weights.shape
    preactivation = PreActivation(aligned_zeros(n_in, n_out), aligned_zeros(n_out), aligned_zeros(n_out))
    preactivation.weights[:, :n_out] = weights
    preactivation.bias[:n_out] = bias
    preactivation.value[:] = preactivation.bias
    return preactivation


def share_preactivation(preactivation: PreActivation) -> PreActivation:
    """Return one for another chain, with shared weights and bias and its own value at the input 0."""
    value = aligned_zeros(len(preactivation.value))
    value[:] = preactivation.bias
    return preactivation._replace(value=value)


def zero_preactivation(n_in: int, n_out: int) -> PreActivation:
    """Return zeros; the system provides memory for the weights only as they are written."""
    return PreActivation(aligned_zeros(n_in, n_out), aligned_zeros(n_out), aligned_zeros(n_out))


def make_flips(n: int) -> Flips:
    """Return the lists for an input of n units, initially 0."""
    # list_few_ones may write up to 4 entries beyond the last one.
    on, off, active = np.zeros((3, n + 4), np.int32)
    return Flips(on, off, active, new_record(FlipCounts, active_listed=True), np.zeros(n, np.uint8))


@inline
def preactivation_fits(preactivation, n_in, n_out):
    """Return whether the arrays have the sizes of n_in inputs and n_out outputs, padded to whole vectors."""
    padded = preactivation.value.shape[0]
    whole = padded >= n_out and padded % WIDTH == 0 and preactivation.bias.shape[0] == padded
    return whole and preactivation.weights.shape[0] == n_in and preactivation.weights.shape[1] == padded


@inline
def flips_fit(flips, n):
    """Return whether the lists have the sizes of an input of n units."""
    lists = flips.on.shape[0] == n + 4 and flips.off.shape[0] == n + 4 and flips.active.shape[0] == n + 4
    return lists and flips.counts.shape[0] == 1 and flips.input.shape[0] == n


@private
def copy_bits(x, out):
    """Write x into out, both uint8; ``out[:] = x`` takes numba seconds to compile."""
    for i in range(x.shape[0]):
        out[i] = x[i]


@inner
def find_flips(flips, x):
    """List the units of x (uint8) that turned on and off, count the active units, and keep x as the input.

    In a trained model about one unit in twenty flips per sweep, three per word of 64: hence list_few_ones.
    """
    on, off, input_before = flips.on, flips.off, flips.input
    n_on, n_off, n_active = u64(0), u64(0), u64(0)
    for start in range(0, x.shape[0], 64):
        now, before = word(x, start), word(input_before, start)
        n_on = list_few_ones(now & ~before, start, on, n_on)
        n_off = list_few_ones(before & ~now, start, off, n_off)
        n_active += popcount(now)
    copy_bits(x, input_before)
    flips.counts[0].on = i64(n_on)
    flips.counts[0].off = i64(n_off)
    flips.counts[0].active = i64(n_active)
    flips.counts[0].active_listed = False


@inner
def list_active(flips):
    """List the active units of the current input, unless already listed."""
    if not flips.counts[0].active_listed:
        x, n = flips.input, u64(0)
        for start in range(0, x.shape[0], 64):
            n = list_ones(word(x, start), start, flips.active, n)
        flips.counts[0].active_listed = True


@inner
def rebuild(preactivation, flips):
    """Compute ``preactivation.value`` from the active rows alone."""
    list_active(flips)
    active, weights = flips.active, preactivation.weights
    # Nothing is subtracted: the second list has 0 units.
    sum_rows(preactivation.bias, preactivation.value, weights, active, flips.counts[0].active, active, i64(0))


@inner
def update_preactivations(preactivation, flips, force_rebuild):
    """Update ``preactivation.value`` for the input of the last ``find_flips``, from the fewest rows."""
    value, counts = preactivation.value, flips.counts[0]
    if force_rebuild or counts.active <= counts.on + counts.off:
        rebuild(preactivation, flips)
    else:
        sum_rows(value, value, preactivation.weights, flips.on, counts.on, flips.off, counts.off)


@inner
def start_at_input(flips, x, preactivation):
    """Start at the input x, uint8: list its active units, and compute ``preactivation.value`` there."""
    n_in, n_out = x.shape[0], preactivation.value.shape[0]
    if not (flips_fit(flips, n_in) and preactivation_fits(preactivation, n_in, n_out)):
        raise ValueError("start_at_input: the arrays do not fit each other")
    find_flips(flips, x)
    rebuild(preactivation, flips)
