"""The kernels of coupled chains: their parts, and the numpy form in the package's docstring as the oracle."""

import naive
import numba
import numpy as np
import pytest
from numba import njit
from numpy_form import numpy_form
from scipy.stats import chi2

from rbmviz import RBM, couple, rng
from rbmviz.coupling import ALGORITHMS, PAIRS_PER_BLOCK, PairStream, pair_setup, pair_streams
from rbmviz.kernels import coupling as kernels
from rbmviz.kernels.coupling import state, sweep
from rbmviz.kernels.coupling.pairs import REBUILD_SWEEPS
from rbmviz.kernels.random import STREAM_LANES, UNIFORM_LANES, bernoulli, uniforms

compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes in Python")


def random_rbm(m: int, n: int, scale: float = 0.8) -> RBM:
    g = np.random.default_rng(m)
    return RBM(g.normal(0, scale, (m, n)), g.normal(0, 0.4, m), g.normal(0, 0.4, n))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("size", "k"), [((10, 8), 1), ((37, 20), 1), ((10, 8), 3)])
def test_the_numpy_form_makes_the_same_chains(size, k, algorithm):
    """From the same uniform numbers: the same meeting time, and the same estimate within rounding."""
    (m, n), unbiased_estimate = size, numpy_form(kernels)["unbiased_estimate"]
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
def activate_of(layer, other, chain, scratch):
    sweep.update_means(layer, other, chain, scratch)


@njit
def sweeps_of(chains, h, common, couple_hidden, stream, bits, means, met):
    for i in range(len(met)):
        chains.h.bits[:, 0] = h
        met[i] = sweep.sweep(chains, 2, common, couple_hidden, 10**6, stream).met
        bits[i, 0], bits[i, 1] = chains.v.bits[:, 0], chains.h.bits[:, 0]
        means[i] = chains.h.mean[:, : means.shape[2]]


def words_of(x: np.ndarray) -> np.ndarray:
    return np.packbits(np.pad(x, (0, -len(x) % 64)), bitorder="little").view("<u8").astype(np.uint64)


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
    """Lane by lane, and a state that goes on where it stopped."""
    stream = rng.generator(1, "uniforms").integers(0, 2**32, (4, UNIFORM_LANES), dtype=np.uint32)
    oracle, out = naive.Xoshiro(stream), np.empty(48, np.float32)
    for blocks, n in ((3, 2 * UNIFORM_LANES + 1), (2, 2 * UNIFORM_LANES)):
        uniforms(stream, out, n)
        want = naive.uniforms_of([draw for _ in range(blocks) for draw in oracle.block()])
        np.testing.assert_array_equal(out[:n], want[:n])
    np.testing.assert_array_equal(stream, np.array(oracle.lanes, np.uint32).T)


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
