"""Chains with fast weights, and the Gibbs chain, against the numpy forms that their docstrings hold."""

import naive
import numpy as np
import pytest
from numpy_form import numpy_form

from rbmviz import RBM, rng
from rbmviz.kernels import fast_weights, gibbs, layers
from rbmviz.kernels.fast_weights import history
from rbmviz.kernels.fast_weights.sample import sample_chain
from rbmviz.kernels.fast_weights.state import current_parameters, make_chain

M, N = 70, 37


@pytest.fixture(scope="module")
def rbm() -> RBM:
    g = np.random.default_rng(1)
    return RBM(g.normal(0, 0.3, (M, N)), g.normal(0, 0.5, M), g.normal(0, 0.5, N))


@pytest.fixture(scope="module")
def start() -> np.ndarray:
    return np.random.default_rng(2).integers(0, 2, M, dtype=np.uint8)


def preactivations(parameters):
    W, b, c = parameters
    return layers.make_preactivation(W, c), layers.make_preactivation(W.T, b)


@pytest.mark.parametrize(("alpha", "k"), [(1.0, 1), (0.99, 2), (0.5, 1)])
def test_driven_chains_are_the_numpy_form(rbm, start, alpha, k):
    """300 samples, the same bits: theta_F is written out after 256 of them, and a history rests after 24."""
    rates = rbm.rates(np.random.default_rng(3).integers(0, 2, (50, M), dtype=np.uint8))
    theta, R = (rbm.W, rbm.b, rbm.c), (rates.W, rates.b, rates.c)
    R_R = sum(float((part.astype(float) ** 2).sum()) for part in R)
    chain = make_chain(
        start.copy(), rng.kernel_state(4, "chain"), preactivations(theta), preactivations(R), R_R
    )
    chain.scalars[0].norm_followed = True
    got, _, traces = sample_chain(chain, 300, 0.05, alpha, False, k)
    fast_norm = traces["fast_norm"]

    sample = numpy_form(fast_weights)["sample"]
    theta_F, v = [np.zeros(part.shape) for part in theta], start.astype(float)
    bernoulli = naive.Xoshiro(rng.kernel_state(4, "chain")).bernoulli
    for t in range(300):
        v, _ = sample(v, theta, theta_F, R, 0.05, alpha, k, bernoulli)
        np.testing.assert_array_equal(got[t], v)
        assert fast_norm[t] == pytest.approx(np.sqrt(sum((part**2).sum() for part in theta_F)), rel=2e-4)
    for now, part, fast in zip(current_parameters(chain), theta, theta_F, strict=True):
        np.testing.assert_allclose(now, part + fast, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.3, 0.9, 0.95, 0.98, 0.984, 1.0])
def test_a_history_holds_what_counts_and_at_most_eight_of_the_rest(alpha):
    """A longer memory fits no history."""
    length = history.history_length_of(alpha)
    if alpha > 0.98:
        assert length == 0
        return
    assert length % 8 == 0
    assert 8 <= length <= history.CAPACITY
    assert alpha**length <= history.NEGLIGIBLE
    assert length == 8 or alpha ** (length - 8) > history.NEGLIGIBLE


def test_gibbs_is_the_numpy_form(rbm, start):
    (up, down), v, h = preactivations((rbm.W, rbm.b, rbm.c)), start.copy(), np.zeros(N, np.uint8)
    v_flips, h_flips = layers.make_flips(M), layers.make_flips(N)
    layers.start_at_input(v_flips, v, up)
    got, means = np.empty((200, M), np.uint8), np.empty((200, M), np.float32)
    stream, sweeps = rng.kernel_state(4, "chain"), np.zeros(1, np.int64)
    state = up, down, v, h, v_flips, h_flips, stream, sweeps
    gibbs.gibbs(*state, np.float32(0.8), 2, np.empty(len(h), np.float32), got, means)

    sample, now = numpy_form(gibbs)["sample"], start.astype(float)
    bernoulli = naive.Xoshiro(rng.kernel_state(4, "chain")).bernoulli
    for t in range(200):
        now, p = sample(now, rbm.W, rbm.b, rbm.c, 0.8, 2, bernoulli)
        np.testing.assert_array_equal(got[t], now)
        np.testing.assert_allclose(means[t], p, atol=1e-5)
    assert sweeps[0] == 400


@pytest.mark.parametrize("n", [1, 63, 64, 65, 127, 784])
def test_flips_are_those_found_one_by_one(n):
    g = np.random.default_rng(n)
    flips, before = layers.make_flips(n), np.zeros(n, np.uint8)
    for share in (0.4, 0.0, 0.02, 1.0, 1.0, 0.5):
        x = before ^ (g.random(n) < share)
        layers.find_flips(flips, x)
        n_on, n_off, n_active, listed = flips.counts[0].item()
        assert flips.on[:n_on].tolist() == [i for i in range(n) if x[i] and not before[i]]
        assert flips.off[:n_off].tolist() == [i for i in range(n) if before[i] and not x[i]]
        assert (n_active, listed) == (x.sum(), 0)
        assert (flips.input == x).all()
        layers.list_active(flips)
        assert flips.active[:n_active].tolist() == [i for i in range(n) if x[i]]
        before = x


def test_preactivations_are_those_of_the_whole_matrix():
    """Whether few units flip or many, and where few are active."""
    g = np.random.default_rng(5)
    rows, bias = g.normal(size=(M, N)).astype(np.float32), g.normal(size=N).astype(np.float32)
    preactivation, flips = layers.make_preactivation(rows, bias), layers.make_flips(M)
    x = np.zeros(M, np.uint8)
    for share in (0.3, 0.05, 0.9, 0.0, 0.5):
        x = x ^ (g.random(M) < share)
        layers.find_flips(flips, x)
        layers.update_preactivations(preactivation, flips, False)
        np.testing.assert_allclose(preactivation.value[:N], bias + x @ rows, atol=1e-5)
