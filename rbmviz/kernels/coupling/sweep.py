"""One sweep of two coupled chains: the maximal coupling of v, then h (UCD, algorithms 1 and 3; half-step).

Everything that depends only on the state of the other layer is computed once per half-step: the
pre-activations (from as few rows as possible), the means, and the constant of the log ratio. A proposal then
costs its uniform numbers, a comparison and a masked sum. Densities are compared by their logarithms, because
a product of clamped probabilities can make the residual loop endless.
"""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline
from rbmviz.kernels.bits import list_ones, popcount
from rbmviz.kernels.coupling.state import copy_chain, layer_sizes
from rbmviz.kernels.random import sigmoid, uniforms
from rbmviz.kernels.vectors import WIDTH, ones_below, product, sum_rows, total

f32, f64, i64, u64 = np.float32, np.float64, np.int64, np.uint64

FACTORS = 800
"""Quotients per logarithm, a multiple of WIDTH: a product of 800 factors in [1/2, 2] stays inside float64."""


class SweepOutcome(NamedTuple):
    """Outcome of a coupled sweep, or of the coupled draw of one layer (``couple_layer``)."""

    met: bool  # whether the chains, or the layer's two states, are now equal
    rejected: int  # residual proposals rejected by the first chain
    rejected2: int  # and by the second chain
    loops_given_up: int  # residual loops given up: 0, 1 or, in the half-step coupling, 2


@inline
def update_means(layer, state, chain, scratch):
    """Update the pre-activations and means of a layer for a state of the other layer, from few rows.

    It adds the rows of the active units, of the flipped units or, in the second chain, of the units in which
    the chains differ, whichever are fewest. For the same state both chains get the same bits, so they meet
    with certainty. The first chain is updated first: the second may begin at its new pre-activations.
    """
    on, off = scratch.on, scratch.off
    active, flipped, apart = u64(0), u64(0), u64(0)
    for w in range(state.shape[0]):
        active += popcount(state[w])
        flipped += popcount(state[w] ^ layer.input[chain, w])
        apart += popcount(state[w] ^ layer.input[0, w])  # for the first chain: flipped
    # Begin at the state ``origin``, whose pre-activations are ``base``.
    origin, base = layer.input[0], layer.preactivation[0]
    # That is ``apart > 0 and flipped <= apart``; two branches are a tenth slower. Chains at one state (apart
    # 0) must begin at the same pre-activations, else their last bits may differ, and they may not meet: at
    # the first chain's or, if no unit is active, at the bias, as the first chain did.
    if flipped < apart + min(apart, u64(1)):
        origin, base = layer.input[chain], layer.preactivation[chain]
    if active <= min(flipped, apart):
        origin, base = scratch.zeros, layer.bias
    n_on, n_off = u64(0), u64(0)
    for w in range(state.shape[0]):
        now, before = state[w], origin[w]
        n_on = list_ones(now & ~before, 64 * w, on, n_on)
        n_off = list_ones(before & ~now, 64 * w, off, n_off)
        layer.input[chain, w] = now
    a, p = layer.preactivation[chain], layer.mean[chain]
    sum_rows(base, a, layer.weights, on, i64(n_on), off, i64(n_off))
    for i in range(a.shape[0]):
        p[i] = sigmoid(a[i])


@inline
def draw(layer, chain, z):
    """Set the state of a layer to [z < p], for its means p and uniforms z; padding units stay off."""
    p = layer.mean[chain]
    for w in range(layer.bits.shape[1]):
        bits = u64(0)
        for i in range(64 * w, min(64 * w + 64, p.shape[0]), WIDTH):
            bits |= ones_below(z, p, i) << u64(i - 64 * w)
        layer.bits[chain, w] = bits


@inline
def log_ratio_constant(layer):
    """Prepare log p_2(x) - log p_1(x), which is linear in x: write ``layer.slope``, return the constant.

    p_1 and p_2 are the layer's distributions in the first and the second chain. The constant is sum
    softplus(a_1) - softplus(a_2), where softplus(a) = max(a, 0) - log max(p, 1 - p) for p = sigmoid(a), and
    max(p, 1 - p) lies in [1/2, 1], so that one logarithm serves FACTORS quotients.
    """
    slope, term, quotient, half, zero = layer.slope, layer.term, layer.quotient, f32(0.5), f32(0.0)
    a, a2, p, p2 = layer.preactivation[0], layer.preactivation[1], layer.mean[0], layer.mean[1]
    for i in range(a.shape[0]):
        slope[i] = f64(a2[i]) - f64(a[i])
        term[i] = f64(max(a[i], zero)) - f64(max(a2[i], zero))
        quotient[i] = f64(half + abs(p2[i] - half)) / f64(half + abs(p[i] - half))
    constant = total(term)
    for begin in range(0, a.shape[0], FACTORS):
        constant += np.log(product(quotient[begin : begin + FACTORS]))
    return constant


@inline
def log_ratio(layer, chain, z, constant):
    """Return log p_2(x) - log p_1(x) of the chain's proposal x = [z < p], after ``log_ratio_constant``."""
    term, slope, p = layer.term, layer.slope, layer.mean[chain]
    for i in range(p.shape[0]):
        term[i] = slope[i] if z[i] < p[i] else 0.0
    return constant + total(term)


@inline
def draw_residuals(layer, units, z, common, constant, max_proposals, stream):
    """Draw the layer of each chain from its residual distribution; count rejected proposals.

    The residual is a distribution's excess over the other chain's. Both chains propose from the same Z_2
    until each has accepted. In algorithm 1 (``common`` false) the first chain keeps its state, which follows
    the residual distribution already because U did not accept it for both chains.

    Returns rejected, rejected2 and loops_given_up of SweepOutcome.
    """
    first_waits, second_waits, rejected, rejected2, proposals = common, True, 0, 0, 0
    # If training diverges, pre-activations overflow and have no ratio: the loop is given up and counted.
    while (first_waits or second_waits) and proposals < max_proposals and np.isfinite(constant):
        proposals += 1
        uniforms(stream, z, units + 2)  # (A3, 6) Z_2, then U_2 and U'_2
        for chain in range(2):
            waits = second_waits if chain else first_waits
            if waits:  # (A3, 7 and 10)
                ratio = log_ratio(layer, chain, z, constant)
                # A proposal below the other chain's density is rejected: the residual lies above it.
                again = np.log(f64(z[units + chain])) <= (-ratio if chain else ratio)
                if not again:
                    draw(layer, chain, z)  # (A3, 8 and 11; A1, 7 for the second chain)
                if chain:
                    second_waits, rejected2 = again, rejected2 + again
                else:
                    first_waits, rejected = again, rejected + again
    return rejected, rejected2, i64(first_waits or second_waits)


@inline
def couple_layer(layer, units, z, common, max_proposals, stream):
    """Draw the layer of both chains by a maximal coupling.

    ``update_means`` has updated its means for both chains. If the residual loop is given up, a chain that has
    not accepted keeps its state: the first its draw from Z_1, which has the right distribution, the second
    its state of the previous sweep.
    If both states are equal (``met``), only the first chain's has been written.
    """
    uniforms(stream, z, units + 1)  # (A3, 1) Z_1 and U_1
    draw(layer, i64(0), z)  # (A1, 3; A3, 1)
    constant, rejected, rejected2, loops_given_up = log_ratio_constant(layer), 0, 0, 0
    met = np.log(f64(z[units])) <= log_ratio(layer, i64(0), z, constant)  # (A1, 4; A3, 2)
    if not met:
        rejected, rejected2, loops_given_up = draw_residuals(
            layer, units, z, common, constant, max_proposals, stream
        )  # (A1, 7; A3, 5 to 13)
    return SweepOutcome(met, rejected, rejected2, loops_given_up)


@inline
def sweep(chains, n_moving, common, couple_hidden, max_proposals, stream):
    """Do one sweep in place; (A1, 3) is line 3 of the paper's algorithm 1.

    A sweep of coupled chains draws v from h, then the new h from v, so that xi_t = (v_t, h_t); only h_0 is
    drawn before.

    Parameters
    ----------
    chains : CoupledChains
    n_moving : int
        2: both chains move jointly. 1: the first moves alone. 0: only h is drawn given v, the same for both.
    common : bool
        Algorithm 3: residual proposals and hidden draws of the two chains share their uniform numbers.
        False is algorithm 1.
    couple_hidden : bool
        Half-step coupling: unless v has met, both h are drawn by a maximal coupling as well, even if the
        second chain's v does not move.
    max_proposals : int
        Residual proposals after which a loop is given up.
    stream : uint32 (4, UNIFORM_LANES)
        Random stream of the pair, advanced in place.
    """
    v, h, scratch, z = chains.v, chains.h, chains.scratch, chains.scratch.z
    m, n = layer_sizes(chains)
    met, rejected, rejected2, loops_given_up = False, 0, 0, 0
    for chain in range(n_moving):
        update_means(v, h.bits[chain], chain, scratch)
    if n_moving == 2:
        met, rejected, rejected2, loops_given_up = couple_layer(v, m, z, common, max_proposals, stream)
    elif n_moving == 1:
        uniforms(stream, z, m)
        draw(v, i64(0), z)  # (A1, 1)
    jointly = couple_hidden and not met
    for chain in range(2 if jointly or (n_moving == 2 and not met) else 1):
        update_means(h, v.bits[chain], chain, scratch)
        if not jointly:
            if chain == 0 or not common:
                uniforms(stream, z, n)  # (A3, 15)
            draw(h, chain, z)  # (A1, 3 and 7; A3, 16)
    if jointly:
        hidden = couple_layer(h, n, z, common, max_proposals, stream)
        rejected += hidden.rejected
        rejected2 += hidden.rejected2
        loops_given_up += hidden.loops_given_up
        if hidden.met:  # v may still differ: the chains are equal after the next sweep, and have not met yet
            for w in range(h.bits.shape[1]):
                h.bits[1, w] = h.bits[0, w]
    if met or not n_moving:
        copy_chain(chains, i64(0), i64(1))  # (A1, 5; A3, 3)
    return SweepOutcome(met, rejected, rejected2, loops_given_up)
