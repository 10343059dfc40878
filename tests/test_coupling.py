"""Coupled chains: each is an exact Gibbs chain, the chains meet, and their estimate is unbiased."""

import numpy as np
import pytest
from numba import njit
from scipy.stats import chi2

import rbmviz.coupling
from rbmviz import RBM, BadInput, couple, rng
from rbmviz.coupling import ALGORITHMS, PAIRS_PER_BLOCK, PairStream, pair_states, tv_bound
from rbmviz.kernels import coupling as kernels
from rbmviz.kernels.random import FEW, sigmoid, uniforms
from rbmviz.metrics import model_statistics, probabilities, start_law, sweep_distances


def small(m: int, n: int) -> RBM:
    g = np.random.default_rng(m)
    return RBM(g.normal(0, 0.8, (m, n)), g.normal(0, 0.4, m), g.normal(0, 0.4, n))


def starts(m: int, pairs: int) -> np.ndarray:
    """Starts at a few fixed "data" rows, far from the model's law."""
    rows = np.random.default_rng(1).integers(0, 2, (3, m), dtype=np.uint8)
    return np.tile(rows, (pairs // 3 + 1, 1))[:pairs]


def worst(rbm: RBM, pairs) -> float:
    """Largest deviation of the mean estimate from the truth, in standard errors over pairs."""
    model = model_statistics(rbm)
    found = []
    for estimate, want in zip(pairs.estimate, (model.W, model.b, model.c), strict=True):
        error = estimate.std(axis=0) / np.sqrt(len(estimate))
        found.append((np.abs(estimate.mean(axis=0) - want) / error).max())
    return max(found)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("size", [(5, 3), (4, 7), (10, 8)])
def test_the_estimate_is_unbiased(size, algorithm, k):
    rbm = small(*size)
    pairs = couple(rbm, starts(size[0], 10_000), algorithm, max_sweeps=100_000, k=k, seed=k)
    assert not pairs.truncated.any()
    assert pairs.stopped == 0
    assert worst(rbm, pairs) < 5


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_capped_residual_loop_is_biased(algorithm, monkeypatch):
    """Negative control: so is CD-1, and the test above tells."""
    rbm = small(5, 3)
    monkeypatch.setattr(rbmviz.coupling, "MOST_PROPOSALS", 1)
    pairs = couple(rbm, starts(5, 40_000), algorithm, max_sweeps=100_000)
    assert pairs.stopped > 0
    assert worst(rbm, pairs) > 7


def test_truncated_pairs_are_counted_and_biased():
    rbm = small(10, 8)
    pairs = couple(rbm, starts(10, 50_000), max_sweeps=2)
    assert pairs.truncated.mean() > 0.2
    assert (pairs.tau[pairs.truncated] == 2).all()
    assert worst(rbm, pairs) > 7


# Kernels that exist in other kernels only.


@njit
def ratio_of(z, pair, room):
    return kernels.log_ratio(z, pair.v.p[0], kernels.log_ratio_constant(pair.v, room), room)


@njit
def draw_of(layer, chain, z):
    kernels.draw(layer, chain, z)


@njit
def activate_of(map, layer, x, chain, room):
    kernels.update_means(map, layer, x, chain, room)


@njit
def sweep_of(up, down, pair, chains, room, state, common, most):
    return kernels.sweep(up, down, pair, chains, room, state, common, most)


def words_of(x: np.ndarray) -> np.ndarray:
    return np.packbits(np.pad(x, (0, -len(x) % 64)), bitorder="little").view("<u8").astype(np.uint64)


@njit
def means_of(p, a):
    for i in range(p.shape[0]):
        p[i] = sigmoid(a[i])


def test_log_ratios_are_those_of_the_densities():
    """37 units, so that a vector is half empty, and 1500, which one product could not hold."""
    g = np.random.default_rng(5)
    for m in (37, 1500):
        for scale in (0.1, 3.0, 40.0):
            pair, room = kernels.make_pair(m, 3), kernels.make_scratch(m, 3)
            pair.v.a[:, m:] = kernels.OFF
            pair.v.a[:, :m] = g.normal(0, scale, (2, m))
            for chain in range(2):
                means_of(pair.v.p[chain], pair.v.a[chain])
            room.z[:m] = g.uniform(0, 1, m)
            v = room.z[:m] < pair.v.p[0, :m]
            x, y = pair.v.a[:, :m].astype(np.float64)
            want = (v * (y - x) - np.logaddexp(0, y) + np.logaddexp(0, x)).sum()
            # Means are float32: each term may be wrong by so much.
            assert ratio_of(room.z, pair, room) == pytest.approx(want, rel=1e-11, abs=2.4e-7 * m**0.5)


@pytest.mark.parametrize("n", [3, 16, 37, 64, 70, 130])
def test_a_draw_is_the_comparison_of_uniforms_and_means(n):
    g = np.random.default_rng(n)
    pair, room = kernels.make_pair(4, n), kernels.make_scratch(4, n)
    pair.h.a[:, n:] = kernels.OFF
    pair.h.a[:, :n] = g.normal(0, 3, (2, n))
    room.z[: len(pair.h.p[1])] = g.uniform(1e-8, 1, len(pair.h.p[1]))
    means_of(pair.h.p[1], pair.h.a[1])
    draw_of(pair.h, 1, room.z)
    want = room.z[:n] < pair.h.p[1, :n]
    np.testing.assert_array_equal(kernels.bits_of(pair.h.bits[1], n), want)
    np.testing.assert_array_equal(pair.h.bits[1], words_of(want))  # units that fill it up are off


def test_pre_activations_by_the_fewest_rows_are_those_of_the_active_rows():
    """For each of the three ways: from the active units, from flips, from the other chain."""
    g = np.random.default_rng(6)
    rows, bias = g.normal(0, 1, (70, 9)).astype(np.float32), g.normal(0, 1, 9).astype(np.float32)
    map, pair, room = kernels.make_map(rows, bias), kernels.make_pair(9, 70), kernels.make_scratch(9, 70)
    kernels.reset_to_bias(map, pair.v)
    x = g.integers(0, 2, 70, dtype=np.uint8)
    few, flipped = np.zeros(70, np.uint8), x.copy()
    few[[3, 65]] = 1
    flipped[60:] ^= 1
    for chain, state in [(0, x), (1, x), (1, x), (0, flipped), (0, few), (1, few), (0, x), (1, flipped)]:
        activate_of(map, pair.v, words_of(state), chain, room)
        want = bias + state @ rows
        np.testing.assert_allclose(pair.v.a[chain, :9], want, atol=2e-5)
        np.testing.assert_allclose(pair.v.p[chain, :9], 1 / (1 + np.exp(-want)), atol=2e-6)
        assert (pair.v.p[chain, 9:] < 1e-12).all()
        np.testing.assert_array_equal(pair.v.at[chain], words_of(state))


def test_sums_wait_for_whole_blocks_and_lose_nothing():
    """More terms than rows, of pairs with units on in one chain, in the other, in both, in none."""
    g = np.random.default_rng(7)
    m, n = 70, 9
    pair, sums = kernels.make_pair(m, n), kernels.make_gradient_buffer(m, n)
    W, B, C = np.zeros((m, n)), np.zeros(m), np.zeros(n)
    want_W, want_B, want_C = np.zeros((m, n)), np.zeros(m), np.zeros(n)
    for term in range(3 * kernels.TERMS):
        v = g.integers(0, 2, (2, m))
        pair.v.bits[:] = [words_of(x) for x in v]
        pair.h.p[:, :n] = g.uniform(0, 1, (2, n))
        p = pair.h.p[:, :n].astype(np.float64)
        single = term % 4 == 0
        (kernels.add_statistics if single else kernels.add_difference)(pair, sums, W, B, C)
        for sign, x, mean in [(1, v[0], p[0]), (-1, v[1], p[1])][: 1 if single else 2]:
            want_W += sign * np.outer(x, mean)
            want_B += sign * x
            want_C += sign * mean
    kernels.flush(sums, W)
    np.testing.assert_allclose(W, want_W, atol=1e-4)
    np.testing.assert_array_equal(B, want_B)
    np.testing.assert_allclose(C, want_C, atol=1e-5)
    before = W.copy()
    kernels.flush(sums, W)
    np.testing.assert_array_equal(W, before)


def test_rounding_cannot_pile_up():
    """Pre-activations are made afresh after so many sweeps, in the kernel that watches, too."""
    g = np.random.default_rng(0)
    rbm = RBM(g.normal(0, 0.2, (500, 100)), g.normal(0, 0.2, 500), g.normal(0, 0.2, 100))
    v0 = g.integers(0, 2, (PAIRS_PER_BLOCK, 500), dtype=np.uint8)
    up, down = kernels.make_map(rbm.W, rbm.c), kernels.make_map(rbm.W.T, rbm.b)
    for sweeps, fresh in ((kernels.REBUILD_SWEEPS - 1, False), (kernels.REBUILD_SWEEPS, True)):
        pair, room, sums = (
            kernels.make_pair(500, 100),
            kernels.make_scratch(500, 100),
            kernels.make_gradient_buffer(1, 1),
        )
        tau, counts, nothing = np.zeros(1, np.int64), np.zeros((1, 3), np.int64), np.zeros((1, 1, 1))
        states = pair_states(1, 0)
        kernels.couple(
            up, down, pair, room, sums, v0[:1], states, 1, 1, sweeps, False, 10**6, False, tau, counts,
            nothing, nothing[0], nothing[0],
        )  # fmt: skip
        stream = PairStream(rbm, lambda _: v0, "general")
        for _ in range(sweeps):
            stream.advance(1)
        for layer in (*pair, *stream._pair):
            assert (not layer.at.any()) == fresh
        assert not fresh or (pair.v.a == down.bias).all()
        assert counts[0, 1] == 1


def test_uniforms_are_those_of_the_generator():
    """xoshiro128++ lane by lane, and a state that goes on where it stopped."""
    state = rng.generator(1, "uniforms").integers(0, 2**32, (4, FEW), dtype=np.uint32)
    lanes, out = state.astype(object), np.empty(48, np.float32)
    want = []

    def rotate(x: int, k: int) -> int:
        return (x << k | x >> 32 - k) % 2**32

    for _ in range(5):
        for lane in range(FEW):
            a, b, c, d = (int(x) for x in lanes[:, lane])
            want.append((((rotate((a + d) % 2**32, 7) + a) % 2**32 >> 8) + 0.5) * 2.0**-24)
            t, c, d = (b << 9) % 2**32, c ^ a, d ^ b
            lanes[:, lane] = a ^ d, b ^ c, c ^ t, rotate(d, 11)
    uniforms(state, out, 2 * FEW + 1)
    np.testing.assert_array_equal(out, np.array(want[: 3 * FEW], np.float32))
    uniforms(state, out, 2 * FEW)
    np.testing.assert_array_equal(out[: 2 * FEW], np.array(want[3 * FEW :], np.float32))
    np.testing.assert_array_equal(state, lanes.astype(np.uint32))


@pytest.mark.parametrize("common", [True, False])
def test_both_marginals_are_exact(common):
    """From two fixed hidden states: (v, h) of each is a Gibbs sweep; they are equal as often as can be."""
    rbm, n = small(5, 3), 60_000
    up, down = kernels.make_map(rbm.W, rbm.c), kernels.make_map(rbm.W.T, rbm.b)
    h, h2 = np.array([1, 0, 1], np.uint8), np.array([0, 1, 1], np.uint8)
    state, pair, room = pair_states(1, 3)[0], kernels.make_pair(5, 3), kernels.make_scratch(5, 3)
    counts, met = np.zeros((2, 256)), 0
    kernels.reset_to_bias(down, pair.v)
    kernels.reset_to_bias(up, pair.h)
    for _ in range(n):
        pair.h.bits[:, 0] = words_of(h)[0], words_of(h2)[0]
        met += sweep_of(up, down, pair, 2, room, state, common, 10**6)[0]
        for chain in range(2):
            counts[chain, 8 * int(pair.v.bits[chain, 0]) + int(pair.h.bits[chain, 0])] += 1
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    up = rbm.mean_hidden(bits[:, 3:])
    to_h = np.prod(np.where(bits[:, :3] == 1, up, 1 - up), axis=1)
    downs = [rbm.mean_visible(state_h) for state_h in (h, h2)]
    laws = [np.prod(np.where(bits[:, 3:] == 1, p, 1 - p), axis=1) * to_h for p in downs]

    def p_value(counts, law):
        rare = n * law < 10  # in one cell together
        want, got = ([*x[~rare], x[rare].sum()] for x in (n * law, counts))
        return chi2.sf(((np.array(got) - want) ** 2 / want).sum(), len(want) - 1)

    assert min(p_value(counts[i], laws[i]) for i in range(2)) > 1e-3
    assert p_value(counts[0], laws[1]) < 1e-6  # the test can tell
    assert p_value(counts[0], laws[0] / to_h * to_h[::-1]) < 1e-6  # about h, too
    overlap = np.minimum(*laws).sum()
    assert abs(met / n - overlap) < 5 * 0.5 / np.sqrt(n)


def test_sharing_randomness_makes_them_meet_sooner():
    """Paper UCD, appendix A.2: 65.4 % of tau <= 10 with algorithm 3, a long tail with algorithm 1."""
    g = np.random.default_rng(0)
    rbm = RBM(g.normal(0, 0.1, (500, 100)), g.normal(0, 0.1, 500), g.normal(0, 0.1, 100))
    v0 = g.integers(0, 2, (400, 500), dtype=np.uint8)
    shared = couple(rbm, v0, "rbm")
    assert 0.5 < (shared.tau <= 10).mean() < 0.8
    assert not shared.truncated.any()
    general = couple(rbm, v0[:40], "general", max_sweeps=300)
    assert (general.tau <= 10).mean() < 0.1
    assert general.truncated.any()


@pytest.mark.parametrize("lag", [1, 3])
def test_the_bound_lies_above_total_variation(lag):
    rbm = small(5, 3)
    v0 = np.tile(np.ones(5, np.uint8), (20_000, 1))
    pairs = couple(rbm, v0, lag=lag, seed=5)
    assert pairs.tau.min() > lag
    law, v = probabilities(rbm), np.zeros(32)
    bits = (np.arange(32)[:, None] >> np.arange(4, -1, -1)) & 1
    v[31] = 1
    hs = np.array(list(np.ndindex(2, 2, 2)))
    up, down = rbm.mean_hidden(bits), rbm.mean_visible(hs)
    to_h = np.prod(np.where(hs[None] == 1, up[:, None], 1 - up[:, None]), axis=2)
    to_v = np.prod(np.where(bits[None] == 1, down[:, None], 1 - down[:, None]), axis=2)
    times = np.arange(8)
    bound = pairs.tv_bound(times)
    for t in times:
        # h_0 is drawn from p(h|v_0), so the joint chain after t sweeps is as far as its v is before the h.
        tv = 0.5 * np.abs(v - law).sum()
        assert bound[t] >= tv - 5 * 0.5 / np.sqrt(20_000)
        v = v @ to_h @ to_v
    assert bound[-1] < bound[0]


def test_seeds_and_bad_input():
    rbm, v0 = small(5, 3), starts(5, 50)
    a, b, other = (couple(rbm, v0, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.tau, b.tau)
    assert (a.tau != other.tau).any()
    np.testing.assert_array_equal(couple(rbm, v0[:20], seed=1).tau, a.tau[:20])
    with pytest.raises(BadInput, match=r"\(n, 5\)"):
        couple(rbm, v0[:, :4])
    with pytest.raises(BadInput, match="rbm, general"):
        couple(rbm, v0, "maximal")
    with pytest.raises(BadInput, match="above lag"):
        couple(rbm, v0, lag=5, max_sweeps=5)
    with pytest.raises(BadInput, match="for lag 1"):
        _ = couple(rbm, v0, lag=2).estimate


def random_starts(m: int):
    return lambda block: rng.generator(3, "starts", block).integers(
        0, 2, (PAIRS_PER_BLOCK, m), dtype=np.uint8
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("lag", "k"), [(1, 1), (1, 4), (3, 1)])
def test_a_stream_runs_the_pairs_of_the_library(algorithm, lag, k):
    """Same seed, same tau, however the sweeps are cut; and what is drawn on the way is the coupled chain."""
    rbm, starts, unit = small(10, 8), random_starts(10), (7, 2)
    times = np.array([lag, lag + 1, lag + 2, 20])
    stream = PairStream(rbm, starts, algorithm, 30, lag, 5, k=k, unit=unit, times=times)
    for sweeps in [1, 1, 3, 50, 7, *[400] * 200]:
        stream.advance(sweeps)
    assert stream.finished > 2 * PAIRS_PER_BLOCK
    n = 2 * PAIRS_PER_BLOCK
    blocks = [
        couple(rbm, starts(block), algorithm, 30, lag, rng.child(5, "pairs", block), k=k)
        for block in range(2)
    ]
    np.testing.assert_array_equal(stream.tau[:n], np.concatenate([pairs.tau for pairs in blocks]))
    np.testing.assert_array_equal(stream.truncated[:n], np.concatenate([pairs.truncated for pairs in blocks]))
    np.testing.assert_array_equal(
        stream.rejected[:n].sum(axis=1), np.concatenate([pairs.rejected for pairs in blocks])
    )
    if algorithm == "general":  # the first chain keeps its refused candidate
        assert not stream.rejected[:n, 0].any()
    assert stream.distances.sum(axis=1).tolist() == [stream.finished] * 4
    met = (stream.tau[: stream.finished] <= 20) & ~stream.truncated[: stream.finished]
    assert stream.distances[3, 0] >= met.sum() > 0
    if lag == 1:
        W, b, c = (np.concatenate([pairs.estimate[i] for pairs in blocks]) for i in range(3))
        want = [b.mean(axis=1), c.mean(axis=1), b[:, 7], c[:, 2], W[:, 7, 2]]
        np.testing.assert_allclose(stream.unbiased[:n], np.transpose(want), atol=1e-5)


@pytest.mark.parametrize(("algorithm", "k"), [("rbm", 1), ("general", 1), ("rbm", 6)])
def test_the_pair_on_show_is_the_coupled_chain(algorithm, k):
    """One sweep at a time: the chains differ until tau, and are equal there, in the library's pair, too."""
    rbm, starts, times = small(10, 8), random_starts(10), [1, 2, 4]
    stream = PairStream(rbm, starts, algorithm, 1000, seed=5, k=k, times=np.array(times))
    want = couple(rbm, starts(0), algorithm, 1000, 1, rng.child(5, "pairs", 0)).tau
    distances = np.zeros((3, 11), int)
    for tau in want[:20]:
        seen = dict.fromkeys(times, 0)  # pairs that have met are 0 apart
        for t in range(1, tau):
            stream.advance(1)
            assert stream.t == t
            (v, h), (v2, h2) = stream.chains()
            assert (h != h2).any() or (v != v2).any()
            if t in seen:
                seen[t] = (v != v2).sum()
        stream.advance(1)
        for x, x2 in zip(*stream.chains(), strict=True):
            np.testing.assert_array_equal(x, x2)
        distances[range(3), list(seen.values())] += 1
    assert stream.finished == 20
    np.testing.assert_array_equal(stream.distances, distances)


@pytest.mark.parametrize("lag", [1, 4])
def test_the_bound_lies_above_the_exact_curve_over_seeds(lag):
    """At every t, within Monte-Carlo error; at small t it is above by far, at large t it comes near."""
    rbm, starts, times = small(8, 5), random_starts(8), np.arange(25)
    exact = sweep_distances(rbm, start_law(np.concatenate([starts(block) for block in range(40)])), 24)
    for seed in range(5):
        stream = PairStream(rbm, starts, "rbm", 10_000, lag, seed)
        while stream.finished < 10_000:
            stream.advance(100_000)
        bound, error = tv_bound(stream.tau[:10_000], lag, times)
        assert (bound + 4 * error + 4 / 10_000 >= exact).all()
        # Negative controls: the bound of a wrong time, and of pairs cut off, do not hold.
        assert not (tv_bound(stream.tau[:10_000], lag, times + 12)[0] + 4 * error >= exact).all()
        assert not (tv_bound(np.minimum(stream.tau[:10_000], lag + 2), lag, times)[0] + 0.01 >= exact).all()


def test_the_error_of_the_bound_is_that_of_a_mean():
    tau, lag = np.random.default_rng(0).geometric(0.2, 500) + 3, 3
    bound, error = tv_bound(tau, lag, np.array([0, 4]))
    for i, t in enumerate((0, 4)):
        values = np.maximum(np.ceil((tau - lag - t) / lag), 0)
        assert bound[i] == pytest.approx(values.mean())
        assert error[i] == pytest.approx(values.std() / np.sqrt(500))
