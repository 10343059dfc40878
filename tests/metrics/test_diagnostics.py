"""ESS, R-hat and autocorrelation of chains with known values."""

import numpy as np
import pytest

import rbmviz
from rbmviz import BadInput
from rbmviz.metrics import chain_diagnostics


def autoregressive(rho: float, chains: int, draws: int) -> np.ndarray:
    """Return a stationary x_t = rho x_(t-1) + noise: autocorrelation rho^lag, ESS n (1 - rho) / (1 + rho)."""
    g = np.random.default_rng(3)
    x = g.normal(size=(chains, draws))
    x[:, 0] /= np.sqrt(1 - rho**2)
    for t in range(1, draws):
        x[:, t] += rho * x[:, t - 1]
    return x


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_an_autoregressive_chain(rho):
    x = autoregressive(rho, 5, 4000)
    found = chain_diagnostics(x)
    assert found.ess == pytest.approx(x.size * (1 - rho) / (1 + rho), rel=0.15)
    assert found.rhat == pytest.approx(1, abs=0.01)
    assert found.autocorrelation.shape == (4000,)
    np.testing.assert_allclose(found.autocorrelation[:6], rho ** np.arange(6), atol=0.05)


def test_chains_that_disagree_are_seen():
    x = autoregressive(0.5, 3, 1000)
    x[2] += 2
    found = chain_diagnostics(x)
    assert found.rhat > 1.2
    assert found.ess < 30


def test_one_chain_and_stuck_chains():
    assert np.isnan(chain_diagnostics(autoregressive(0.5, 1, 100)[0]).rhat)
    constant = chain_diagnostics(np.ones((2, 50)))
    assert np.isnan([constant.ess, constant.rhat, constant.autocorrelation[0]]).all()
    apart = chain_diagnostics(np.repeat([[0.0], [1.0]], 50, axis=1))
    assert apart.rhat == np.inf
    assert apart.ess < 3


def test_bad_arguments_are_refused():
    for wrong in (np.zeros((2, 7)), np.zeros((0, 20)), np.zeros((2, 3, 20)), 1.0):
        with pytest.raises(BadInput, match="chains, 8 or more draws"):
            chain_diagnostics(wrong)
    with pytest.raises(BadInput, match="NaN"):
        chain_diagnostics([[np.nan] * 20])


def test_effective_sample_size_of_a_stuck_chain_equals_arviz():
    arviz_stats = pytest.importorskip("arviz_stats")
    pytest.importorskip("arviz_base")
    samples = rbmviz.sample("bas_pcd", "gibbs", n=4000, v0=rbmviz.load_dataset("bas").train[1])
    found = chain_diagnostics(samples)
    tree = samples.to_arviz()
    for method, value in (("bulk", found.ess), ("tail", found.ess_tail)):
        expected = arviz_stats.ess(tree, var_names=["free_energy"], method=method).free_energy
        assert value == pytest.approx(float(expected), rel=1e-6)
    stuck = np.where(np.arange(4000) < 2000, 0.0, 5.0) + np.random.default_rng(0).normal(0, 0.1, 4000)
    assert chain_diagnostics(stuck).ess < 5


def test_samples_are_read_chain_by_chain():
    samples = rbmviz.sample("bas_pcd", "gibbs:n_chains=4", n=4000)
    energy = samples.model.rbm.free_energy(samples.v).reshape(-1, 4).T
    assert chain_diagnostics(samples).ess == chain_diagnostics(energy).ess
    with pytest.raises(BadInput, match="these are bits"):
        chain_diagnostics(samples.v)
    with pytest.raises(BadInput, match="these are bits"):
        chain_diagnostics(np.asarray(samples).T)
    with pytest.raises(BadInput, match="1,000 chains of 16 draws"):
        chain_diagnostics(np.random.default_rng(0).normal(size=(1000, 16)))
    unnamed = type(samples)(samples.v, samples.p, samples.info, None, 4)
    with pytest.raises(BadInput, match="do not say their model"):
        chain_diagnostics(unnamed)
