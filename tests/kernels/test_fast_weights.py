"""Chains with fast weights, and the Gibbs chain, against the numpy forms that their docstrings hold."""

import naive
import numpy as np
import pytest
from numpy_form import numpy_form

from rbmviz import make_sampler, rng, sample
from rbmviz.kernels import fast_weights, gibbs, layers
from rbmviz.kernels.fast_weights import history
from rbmviz.registry import samplers
from rbmviz.samplers.fast_weights import follow_norm


@pytest.fixture(scope="module")
def start() -> np.ndarray:
    return np.random.default_rng(2).integers(0, 2, 70, dtype=np.uint8)


@pytest.mark.parametrize(
    ("name", "alpha", "k"),
    [
        *(("rates_fpcd", alpha, k) for alpha, k in ((1.0, 1), (0.99, 2), (0.9, 2), (0.5, 1), (0.0, 1))),
        *(("sample_penalization", alpha, 1) for alpha in (1.0, 0.3)),
    ],
)
def test_driven_chains_are_the_numpy_form(wide, start, name, alpha, k):
    """300 samples, the same bits: theta_F is written out after 256 of them, and a history rests after 24."""
    theta, R = ([getattr(part, x) for x in "Wbc"] for part in (wide.rbm, wide.rates))
    R = R if samplers[name].needs_rates else [0, 0, 0]
    sampler = make_sampler(name, eps=0.05, alpha=alpha, k=k)
    state = sampler.init(wide, 4, start)
    follow_norm(state)
    got = sampler.step(state, 300)

    step = numpy_form(fast_weights)["sample"]
    theta_F, v = [np.zeros(part.shape) for part in theta], start.astype(float)
    bernoulli = naive.Xoshiro(rng.kernel_state(4, "chain")).bernoulli
    for t in range(300):
        v, _ = step(v, theta, theta_F, R, 0.05, alpha, k, bernoulli)
        np.testing.assert_array_equal(got.v[t], v)
        norm = np.sqrt(sum((part**2).sum() for part in theta_F))
        assert got.info["fast_norm"][t] == pytest.approx(norm, rel=2e-4)
    target = sampler.target(state)
    for now, part, fast in zip((target.W, target.b, target.c), theta, theta_F, strict=True):
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


def test_gibbs_is_the_numpy_form(wide, start):
    got = sample(wide, make_sampler("gibbs", temperature=1.25, k=2), 200, seed=4, v0=start)
    step, now, rbm = numpy_form(gibbs)["sample"], start.astype(float), wide.rbm
    bernoulli = naive.Xoshiro(rng.kernel_state(4, "chain")).bernoulli
    for t in range(200):
        now, p = step(now, rbm.W, rbm.b, rbm.c, 0.8, 2, bernoulli)
        np.testing.assert_array_equal(got.v[t], now)
        np.testing.assert_allclose(got.p[t], p, atol=1e-5)
    assert (got.info["sweeps"] == 2).all()


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
    rows, bias = g.normal(size=(70, 37)).astype(np.float32), g.normal(size=37).astype(np.float32)
    preactivation, flips = layers.make_preactivation(rows, bias), layers.make_flips(70)
    x = np.zeros(70, np.uint8)
    for share in (0.3, 0.05, 0.9, 0.0, 0.5):
        x = x ^ (g.random(70) < share)
        layers.find_flips(flips, x)
        layers.update_preactivations(preactivation, flips, False)
        np.testing.assert_allclose(preactivation.value[:37], bias + x @ rows, atol=1e-5)
