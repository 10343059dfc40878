"""The kernels of coupled chains: their parts, and the numpy form in the package's docstring as the oracle."""

import textwrap

import naive
import numba
import numpy as np
import pytest
from numba import njit
from scipy.stats import chi2

from rbmviz import RBM, couple, rng
from rbmviz.coupling import ALGORITHMS, PAIRS_PER_BLOCK, PairStream, pair_setup, pair_streams
from rbmviz.kernels import coupling as kernels
from rbmviz.kernels.coupling import state, statistics, sweep
from rbmviz.kernels.coupling.pairs import REBUILD_SWEEPS
from rbmviz.kernels.random import STREAM_LANES, UNIFORM_LANES, bernoulli, sigmoid, uniforms

compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes in Python")


def random_rbm(m: int, n: int, scale: float = 0.8) -> RBM:
    g = np.random.default_rng(m)
    return RBM(g.normal(0, scale, (m, n)), g.normal(0, 0.4, m), g.normal(0, 0.4, n))


def numpy_form() -> dict:
    """Run the code in the docstring of the package."""
    lines = kernels.__doc__.split(" for lag 1::\n")[1].split("\n(A1, 3) is line 3")[0]
    names = {"np": np}
    exec(textwrap.dedent(lines), names)
    return names


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("size", "k"), [((10, 8), 1), ((37, 20), 1), ((10, 8), 3)])
def test_the_numpy_form_makes_the_same_chains(size, k, algorithm):
    """From the same uniform numbers: the same meeting time, and the same estimate within rounding."""
    (m, n), unbiased_estimate = size, numpy_form()["unbiased_estimate"]
    rbm = random_rbm(m, n, 0.4 * (1 + (k > 1)))
    v0 = np.random.default_rng(0).integers(0, 2, (30, m), dtype=np.uint8)
    pairs = couple(rbm, v0, algorithm, 10_000, seed=2, k=k)
    setup = pair_setup(algorithm, 1, k, 10_000)
    assert (pairs.tau > k + 1).any()
    assert pairs.rejected.any()
    out = np.zeros(m + 64, np.float32)
    for i, stream in enumerate(pair_streams(len(v0), 2)):

        def uniform(count, stream=stream):
            uniforms(stream, out, count)
            return out[:count].copy()

        tau, W = unbiased_estimate(rbm.W, rbm.b, rbm.c, v0[i], k, setup.common, setup.half_steps, uniform)
        assert tau == pairs.tau[i]
        np.testing.assert_allclose(pairs.estimate[0][i], W, atol=2e-5)


# Kernels that exist in other kernels only.


@njit
def ratio_of(z, chains):
    return sweep.log_ratio(chains.v, 0, z, sweep.log_ratio_constant(chains.v))


@njit
def draw_of(layer, chain, z):
    sweep.draw(layer, chain, z)


@njit
def activate_of(layer, other, chain, scratch):
    sweep.update_means(layer, other, chain, scratch)


@njit
def sweeps_of(chains, h, common, couple_hidden, stream, bits, means, met):
    for i in range(len(met)):
        chains.h.bits[:, 0] = h
        met[i] = sweep.sweep(chains, 2, common, couple_hidden, 10**6, stream).met
        bits[i, 0], bits[i, 1] = chains.v.bits[:, 0], chains.h.bits[:, 0]
        means[i] = chains.h.mean[:, : means.shape[2]]


@njit
def add_statistics_of(v, p, buffer, W, b, c):
    statistics.add_statistics(v, p, buffer, W, b, c)


@njit
def add_difference_of(v, p, v2, p2, buffer, W, b, c):
    statistics.add_difference(v, p, v2, p2, buffer, W, b, c)


def empty(m: int, n: int) -> kernels.CoupledChains:
    """Chains of a model whose parameters are 0."""
    return kernels.make_chains(np.zeros((m, n)), np.zeros(m), np.zeros(n))


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
            chains = empty(m, 3)
            layer, z = chains.v, chains.scratch.z
            layer.preactivation[:, m:] = state.PADDING_BIAS
            layer.preactivation[:, :m] = g.normal(0, scale, (2, m))
            for chain in range(2):
                means_of(layer.mean[chain], layer.preactivation[chain])
            z[:m] = g.uniform(0, 1, m)
            v = z[:m] < layer.mean[0, :m]
            x, y = layer.preactivation[:, :m].astype(np.float64)
            want = (v * (y - x) - np.logaddexp(0, y) + np.logaddexp(0, x)).sum()
            # Means are float32: each term may be wrong by so much.
            assert ratio_of(z, chains) == pytest.approx(want, rel=1e-11, abs=2.4e-7 * m**0.5)


@pytest.mark.parametrize("n", [3, 16, 37, 64, 70, 130])
def test_a_draw_is_the_comparison_of_uniforms_and_means(n):
    g = np.random.default_rng(n)
    chains = empty(4, n)
    layer, z = chains.h, chains.scratch.z
    layer.preactivation[:, n:] = state.PADDING_BIAS
    layer.preactivation[:, :n] = g.normal(0, 3, (2, n))
    z[: len(layer.mean[1])] = g.uniform(1e-8, 1, len(layer.mean[1]))
    means_of(layer.mean[1], layer.preactivation[1])
    draw_of(layer, 1, z)
    want = z[:n] < layer.mean[1, :n]
    np.testing.assert_array_equal(kernels.unpack_bits(layer.bits[1], n), want)
    np.testing.assert_array_equal(layer.bits[1], words_of(want))  # units that pad the layer are off


def test_pre_activations_by_the_fewest_rows_are_those_of_the_active_rows():
    """For each of the three ways: from the active units, from flips, from the other chain."""
    g = np.random.default_rng(6)
    rows, bias = g.normal(0, 1, (70, 9)).astype(np.float32), g.normal(0, 1, 9).astype(np.float32)
    chains = kernels.make_chains(rows.T, bias, np.zeros(70))
    layer = chains.v
    state.reset_to_bias(layer)
    x = g.integers(0, 2, 70, dtype=np.uint8)
    few, flipped = np.zeros(70, np.uint8), x.copy()
    few[[3, 65]] = 1
    flipped[60:] ^= 1
    for chain, other in [(0, x), (1, x), (1, x), (0, flipped), (0, few), (1, few), (0, x), (1, flipped)]:
        activate_of(layer, words_of(other), chain, chains.scratch)
        want = bias + other @ rows
        np.testing.assert_allclose(layer.preactivation[chain, :9], want, atol=2e-5)
        np.testing.assert_allclose(layer.mean[chain, :9], 1 / (1 + np.exp(-want)), atol=2e-6)
        assert (layer.mean[chain, 9:] < 1e-12).all()
        np.testing.assert_array_equal(layer.input[chain], words_of(other))


def test_chains_with_the_same_input_have_the_same_law_bit_for_bit():
    """Whatever they were updated from before: only so do they meet with certainty (paper UCD, remark 2)."""
    g = np.random.default_rng(8)
    m, n = 33, 20
    rbm = random_rbm(m, n)
    layer, scratch = (chains := kernels.make_chains(rbm.W, rbm.b, rbm.c)).v, chains.scratch
    state.reset_to_bias(layer)
    for _ in range(100):
        common, before = g.integers(0, 2, (2, n), dtype=np.uint8)
        for chain, hidden in [
            (0, before),
            (1, before ^ (g.random(n) < 0.2)),
            (1, common),
            (0, common),
            (1, common),
        ]:
            activate_of(layer, words_of(hidden), chain, scratch)
        np.testing.assert_array_equal(layer.preactivation[0], layer.preactivation[1])
        np.testing.assert_array_equal(layer.mean[0], layer.mean[1])


def test_sums_wait_for_whole_blocks_and_lose_nothing():
    """More terms than rows, of pairs with units on in one chain, in the other, in both, in none."""
    g = np.random.default_rng(7)
    m, n = 70, 9
    words, means = np.zeros((2, 2), np.uint64), np.zeros((2, 16), np.float32)
    buffer = kernels.make_gradient_buffer(m, n)
    W, B, C = np.zeros((m, n)), np.zeros(m), np.zeros(n)
    want_W, want_B, want_C = np.zeros((m, n)), np.zeros(m), np.zeros(n)
    for term in range(3 * statistics.BUFFER_ROWS):
        v = g.integers(0, 2, (2, m))
        words[:] = [words_of(x) for x in v]
        means[:, :n] = g.uniform(0, 1, (2, n))
        p = means[:, :n].astype(np.float64)
        single = term % 4 == 0
        if single:
            add_statistics_of(words[0], means[0], buffer, W, B, C)
        else:
            add_difference_of(words[0], means[0], words[1], means[1], buffer, W, B, C)
        for sign, x, mean in [(1, v[0], p[0]), (-1, v[1], p[1])][: 1 if single else 2]:
            want_W += sign * np.outer(x, mean)
            want_B += sign * x
            want_C += sign * mean
    statistics.flush(buffer, W)
    np.testing.assert_allclose(W, want_W, atol=1e-4)
    np.testing.assert_array_equal(B, want_B)
    np.testing.assert_allclose(C, want_C, atol=1e-5)
    before = W.copy()
    statistics.flush(buffer, W)
    np.testing.assert_array_equal(W, before)


@compiled_only
def test_rounding_cannot_pile_up():
    """Pre-activations are made afresh after so many sweeps, in the kernel that watches, too."""
    g = np.random.default_rng(0)
    rbm = RBM(g.normal(0, 0.2, (500, 100)), g.normal(0, 0.2, 500), g.normal(0, 0.2, 100))
    v0 = g.integers(0, 2, (PAIRS_PER_BLOCK, 500), dtype=np.uint8)
    for sweeps, fresh in ((REBUILD_SWEEPS - 1, False), (REBUILD_SWEEPS, True)):
        chains, outcomes = kernels.make_chains(rbm.W, rbm.b, rbm.c), kernels.make_outcomes(1)
        kernels.run_pairs(
            chains, v0[:1], pair_streams(1, 0), pair_setup("general", 1, 1, sweeps), 10**6,
            kernels.make_progress(), outcomes, kernels.no_sums(500, 100), kernels.watch_nothing(),
        )  # fmt: skip
        stream = PairStream(rbm, lambda _: v0, "general")
        for _ in range(sweeps):
            stream.advance(1)
        for layer in (chains.v, chains.h, stream._chains.v, stream._chains.h):
            assert (not layer.input.any()) == fresh
        assert not fresh or (chains.v.preactivation == chains.v.bias).all()
        assert outcomes.truncated[0]


def test_uniforms_are_those_of_the_generator():
    """xoshiro128++ lane by lane, and a state that goes on where it stopped."""
    state = rng.generator(1, "uniforms").integers(0, 2**32, (4, UNIFORM_LANES), dtype=np.uint32)
    lanes, out = state.astype(object), np.empty(48, np.float32)
    want = []

    def rotate(x: int, k: int) -> int:
        return (x << k | x >> 32 - k) % 2**32

    for _ in range(5):
        for lane in range(UNIFORM_LANES):
            a, b, c, d = (int(x) for x in lanes[:, lane])
            want.append((rotate((a + d) % 2**32, 7) + a) % 2**32)
            t, c, d = (b << 9) % 2**32, c ^ a, d ^ b
            lanes[:, lane] = a ^ d, b ^ c, c ^ t, rotate(d, 11)
    uniforms(state, out, 2 * UNIFORM_LANES + 1)
    np.testing.assert_array_equal(out, naive.uniforms_of(want[: 3 * UNIFORM_LANES]))
    uniforms(state, out, 2 * UNIFORM_LANES)
    np.testing.assert_array_equal(out[: 2 * UNIFORM_LANES], naive.uniforms_of(want[3 * UNIFORM_LANES :]))
    np.testing.assert_array_equal(state, lanes.astype(np.uint32))


def test_uniforms_are_above_0_and_at_most_1():
    """The first and last cells below and above 1/2: the last uniform is 1, and not below a mean of 1."""
    cells = np.array([0, 1, 2**23 - 1, 2**23, 2**23 + 1, 2**24 - 2, 2**24 - 1])
    wanted = np.array([0.5, 1.5, 2**23 - 0.5, 2**23, 2**23 + 2, 2**24 - 2, 2**24]) / 2**24
    np.testing.assert_array_equal(naive.uniforms_of(cells << 8), wanted)

    def stream_of(lanes: int) -> np.ndarray:
        """Return a stream whose next draws are the cells: the last row, turned by 7 bits, is the draw."""
        stream = np.zeros((4, lanes), np.uint32)
        stream[3, : len(cells)] = cells << 1
        return stream

    out = np.empty(UNIFORM_LANES, np.float32)
    uniforms(stream_of(UNIFORM_LANES), out, len(cells))
    np.testing.assert_array_equal(out[: len(cells)], wanted)
    drawn = np.empty(len(cells), np.uint8)
    bernoulli(stream_of(STREAM_LANES), np.ones(len(cells), np.float32), drawn)
    np.testing.assert_array_equal(drawn, wanted < 1)
    assert not drawn[-1]


@compiled_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_both_marginals_are_exact(algorithm):
    """From two fixed hidden states: (v, h) of each is a Gibbs sweep; they are equal as often as can be.

    Half steps are maximal couplings of h as well, given the v of both chains.
    """
    rbm, n = random_rbm(5, 3), 60_000
    h, h2 = np.array([1, 0, 1], np.uint8), np.array([0, 1, 1], np.uint8)
    stream, chains = pair_streams(1, 3)[0], kernels.make_chains(rbm.W, rbm.b, rbm.c)
    setup = pair_setup(algorithm, 1, 1, 2)
    state.reset_to_bias(chains.v)
    state.reset_to_bias(chains.h)
    words, met = np.empty((n, 2, 2), np.uint64), np.empty(n, bool)
    means = np.empty((n, 2, 3), np.float32)
    start = np.array([words_of(h)[0], words_of(h2)[0]])
    sweeps_of(chains, start, setup.common, setup.half_steps, stream, words, means, met)
    v_word, h_word = words.astype(int).transpose(1, 2, 0)
    counts = [np.bincount(8 * v_word[chain] + h_word[chain], minlength=256) for chain in range(2)]

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
    assert abs(met.mean() - overlap) < 5 * 0.5 / np.sqrt(n)
    states = (np.arange(8)[:, None] >> np.arange(3)) & 1
    p = means[~met].astype(float)[:, :, None]  # of sweeps after which v differs
    overlap_h = np.prod(np.where(states, p, 1 - p), axis=3).min(axis=1).sum(axis=1)
    equal_h = np.equal(*h_word)[~met]
    as_often_as_can_be = abs((equal_h - overlap_h).mean()) < 5 * 0.5 / np.sqrt(len(p))
    assert as_often_as_can_be == setup.half_steps
