"""Every kernel that Python calls raises an exception for arrays of wrong shapes; no memory is corrupted."""

import numpy as np
import pytest
from numba.core.errors import TypingError

from rbmviz import make_sampler
from rbmviz.coupling import pair_streams
from rbmviz.kernels import annealing, chains, coupling, gibbs, hamming, layers, random, updates
from rbmviz.kernels import enumerate as states_kernel
from rbmviz.kernels.fast_weights import norm, regime
from rbmviz.kernels.fast_weights import sample as driven
from rbmviz.rng import kernel_state

f32 = np.float32
M, N = 70, 37
"""Units of the model ``wide``."""


def replaced(x, path, value):
    """Return the tuple x, nested, with another value at a path."""
    if not path:
        return value
    each = list(x)
    each[path[0]] = replaced(each[path[0]], path[1:], value)
    return type(x)(*each) if hasattr(x, "_fields") else tuple(each)


def arrays(x, path=()):
    """Yield (path, array) of all arrays in nested tuples."""
    for i, value in enumerate(x):
        if isinstance(value, np.ndarray):
            yield (*path, i), value
        elif isinstance(value, tuple):
            yield from arrays(value, (*path, i))


def check(kernel, call: tuple, free=()) -> None:
    """Call a kernel as it should be, then with each array shorter along each axis, but ``free``."""
    kernel(*call)
    for path, x in arrays(call):
        for axis in range(x.ndim):
            if (path, axis) in free:
                continue
            shorter = np.ascontiguousarray(np.delete(x, -1, axis))
            with pytest.raises(ValueError, match="the arrays do not fit each other"):
                kernel(*replaced(call, path, shorter))


@pytest.mark.compiled
def test_kernels_without_a_wrapper_refuse_calls_from_python():
    x = np.zeros(3, np.uint8)
    for kernel in (layers.copy_bits, layers.flips_fit):
        with pytest.raises(TypeError, match="only kernels can call"):
            kernel(x, x)


def test_draws():
    state, bias = kernel_state(0, "x"), np.zeros(5, f32)
    x, mean, out = (np.zeros((3, 5), f32) for _ in range(3))
    check(random.bernoulli_rows, (state, x, bias, mean, out))


def test_updates():
    rows, others = 3, 2
    P = updates.pad(np.zeros((M, N), f32), np.zeros(M, f32), np.zeros(N, f32))
    work, sums = updates.make_work(M, N, rows), updates.make_sums(M, N, rows, others)
    v, p, weights = np.zeros((rows, M), f32), np.zeros((rows, N), f32), np.zeros(rows, f32)
    check(updates.pack, (v, work.v[1], 0), [((0,), 0), ((0,), 1), ((1,), 1)])  # there is room for more
    with pytest.raises(ValueError, match="do not fit"):
        updates.pack(v, work.v[1], 62)
    check(updates.means, (work.x, f32(1), p), [((0,), 0), ((0,), 1), ((2,), 0), ((2,), 1)])
    for kernel in (updates.inputs, updates.inputs_of_visible):
        check(kernel, (P, M, N, work))
    for streams in (1, rows):
        check(updates.sweep, (P, np.stack([kernel_state(0, "x")] * streams), f32(1), N, work, v), [((5,), 1)])
    call = (P, f32(1), M, p, weights, p[:others].copy(), weights[:others].copy(), sums, True)
    check(updates.add, (*call, np.zeros(P.shape[1])))
    data, order = updates.packed(np.zeros((9, M), np.uint8)), np.zeros((2, rows), int)
    u, squares = np.zeros((2, others), np.uint64), np.zeros(P.shape[1])
    call = (P, kernel_state(0, "x")[None], data, order, 1, np.zeros(2, f32), u, others, M, N, work, sums)
    inside = [((2,), 0), ((3,), 1)]
    for weights in (None, updates.make_weights(M, others)):
        check(updates.train, (*call, squares, weights), inside)
        with pytest.raises(ValueError, match="do not fit"):  # chains that begin at the examples are as many
            updates.train(*call[:6], u[:0], *call[7:], squares, weights)


def test_gibbs(wide):
    chain = make_sampler("gibbs").init(wide, 0)
    place = (chain.v_flips, chain.v, chain.up)
    check(layers.start_at_input, place)
    v, p = np.zeros((4, M), np.uint8), np.zeros((4, M), f32)
    call = (chain.up, chain.down, chain.v, chain.h, chain.v_flips, chain.h_flips, chain.stream, chain.sweeps)
    check(gibbs.gibbs, (*call, f32(1.0), 1, np.zeros(N, f32), v, p))


def test_many_chains(wide):
    rbm, n = wide.rbm, 3
    layers = chains.start(chains.make_layers(rbm.W, rbm.b, rbm.c), np.zeros((n, M), np.uint8))
    streams, one, mean_h = np.stack([kernel_state(0, "x")] * n), np.ones(n, f32), np.zeros((n, N), f32)
    at_first = [((0, 7), 0)]  # of no use to ``draw`` itself
    check(chains.update, (layers[0], layers[1].units, 0, n), at_first)
    check(chains.draw, (layers[0], streams, one, np.zeros(N, f32), mean_h, np.arange(n), 0, 0, n), at_first)
    out = np.zeros((6, M), np.uint8), np.zeros((6, M), f32)
    offsets = np.zeros(N, f32), np.zeros(M, f32)
    call = (*layers, streams, one, *offsets, mean_h, 1, 2, 0, n, np.arange(n), n, *out)
    check(chains.sample, call, [((1, 7), 0)])
    for place in ([0, 1, 3], [0, -1, 2]):
        with pytest.raises(ValueError, match="do not fit"):
            chains.sample(*replaced(call, (11,), np.array(place)))
    biases = rbm.b.astype(float), np.ones(M), rbm.c.astype(float)
    annealed = annealing.start(chains.make_layers(rbm.W, 0 * rbm.b, 0 * rbm.c), *biases, streams)
    check(annealing.anneal, (annealed, 0.1, 0.2), [((0, 0, 7), 0), ((0, 1, 7), 0)])


def test_fast_weights(wide):
    sampler = make_sampler("rates_fpcd", alpha=0.9)
    chain = sampler.init(wide, 0)
    sampler.step(chain, 300)
    v, p, fast_norm = np.zeros((4, M), np.uint8), np.zeros((4, M), f32), np.zeros(4)
    of_no_use = ((7,), 0), ((7,), 1)  # the random stream: herding draws nothing
    in_rows = make_sampler("rates_fpcd").init(wide, 0)
    regime.prepare(in_rows, 0.03, 1.0, False)
    for state, alpha in ((regime.in_regime(chain), 0.9), (regime.in_regime(in_rows), 1.0)):
        check(driven.driven_gibbs, (*state, 0.03, alpha, False, 1, v, p, fast_norm))
        check(driven.herding, (*state, 0.03, alpha, 50, v, np.zeros(4, np.int64), fast_norm), of_no_use)
    check(norm.recompute_norm, (chain.up, chain.down, chain.scalars))
    check(regime.transpose, (np.zeros((M, 48), f32), np.zeros((N, 80), f32), M, N), [((0,), 1), ((1,), 1)])
    # Without a second half-step to compare with, lists of units may be longer than there are units.
    input_of, units = ((0, 7, 4), 0), ((0, 6), 0)
    check(regime.write_out, (chain.up, chain.scalars, 1.0), (input_of, units))
    history = chain.history
    check(
        regime.fold_history,
        (chain.up, history, history.visible, history.hidden, 16),
        (input_of, units, *within(1)),
    )
    chain.scalars[0].history_length = 2000  # longer than a history can be
    with pytest.raises(ValueError, match="do not fit"):
        driven.driven_gibbs(*regime.in_regime(chain), 0.03, 0.9, False, 1, v, p, fast_norm)
    in_rows.scalars[0].history_length = 8  # not the regime that the kernel is compiled for
    with pytest.raises(ValueError, match="do not fit"):
        driven.driven_gibbs(*state, 0.03, 1.0, False, 1, v, p, fast_norm)


def within(place):
    """Return all axes of a history at a place of a call."""
    layers = [((place, layer, i), axis) for layer in range(2) for i in range(4) for axis in range(2)]
    return [*layers, ((place, 2), 0), ((place, 3), 0)]


def test_couplings(wide):
    rbm, pairs = wide.rbm, 3
    chains = coupling.make_chains(rbm.W, rbm.b, rbm.c)
    v0, streams = np.zeros((pairs, M), np.uint8), pair_streams(pairs, 0)
    totals = np.zeros((1, M, N)), np.zeros((1, M)), np.zeros((1, N))
    sums = coupling.PairSums(*totals, coupling.make_gradient_buffer(M, N))
    times, near = np.array([1, 5]), np.zeros((pairs, 2), np.int32)
    watched = coupling.WatchedPairs(
        np.zeros(2, np.int64), np.zeros((pairs, 5)), np.zeros((pairs, 5)), times, near
    )
    call = (chains, v0, streams, coupling.PairSetup(1, 1, 20, True, True, 1000), 50, coupling.make_progress())
    call = (*call, coupling.make_outcomes(pairs), sums, watched)
    check(coupling.run_pairs, call, [((1,), 0)])  # fewer starts than states


def test_sums_over_states():
    x, out = np.zeros((4, 5), f32), np.zeros(4)
    check(annealing.add_log_ratio, (x, 1.0, 0.5, np.zeros(5), out))
    check(annealing.add_softplus, (x, np.zeros(5, f32), x, out))
    high, low = np.ones((2, 3, states_kernel.HIGH)), np.ones((5, 3, states_kernel.LOW))
    biases = np.zeros((2, states_kernel.HIGH)), np.zeros((5, states_kernel.LOW))
    states = np.zeros((2, 2, states_kernel.HIGH, 5, states_kernel.LOW))
    check(states_kernel.weights, (high, np.ones(3), low, 2, *biases, *states))
    with pytest.raises(ValueError, match="do not fit"):
        states_kernel.weights(high, np.ones(3), low, 0, *biases, *states)


def test_hamming():
    rows = np.random.default_rng(0).integers(0, 2, (200, M), dtype=np.uint8)
    points, blocks = hamming.pack(rows[:6]), hamming.pack_blocks(rows)
    hamming.count_distances(points, blocks, 200, np.zeros((6, M + 1), np.uint32))
    wrong = [
        (points[:5], blocks, 200, (6, M + 1)),
        (np.ascontiguousarray(points[:, :1]), blocks, 200, (6, M + 1)),
        (points, blocks[:1], 200, (6, M + 1)),
        (points, np.ascontiguousarray(blocks[:, :, :64]), 200, (6, M + 1)),
        (points, blocks, -1, (6, M + 1)),
        (points, blocks, 200, (6, 40)),
    ]
    for a, b, n, shape in wrong:
        with pytest.raises(ValueError, match="do not fit"):
            hamming.count_distances(a, b, n, np.zeros(shape, np.uint32))
    counts = np.zeros((6, M + 1), np.uint32)
    check(hamming.add_counts, (counts, 0, np.zeros((6, 32), np.uint32)), [((0,), 1), ((2,), 1)])
    for shape in ((5, 32), (6, M + 2)):
        with pytest.raises(ValueError, match="do not fit"):
            hamming.add_counts(counts, 0, np.zeros(shape, np.uint32))
    check(hamming.nearest, (points, blocks[0], np.zeros(128, np.int64), np.zeros(128, np.int64)), [((0,), 0)])
    check(hamming.log_mixtures, (np.ones((6, M + 1), np.uint32), np.ones(3), np.zeros((6, 3))), [((0,), 1)])


def test_views_with_gaps_are_refused_when_they_are_typed(wide):
    state = np.stack([kernel_state(0, "x")] * 2, axis=-1)[..., 0]
    x = np.zeros((3, 5), f32)
    with pytest.raises(TypingError, match=r"'stream' is array\(uint32, 2d, A\), and must be"):
        random.bernoulli_rows(state, x, np.zeros(5, f32), x, x)
