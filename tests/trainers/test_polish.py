"""Polishing against the exact optimum, and what the polished model keeps."""

import numpy as np
import pytest

from rbmviz import RBM, load_model, train
from rbmviz.metrics import log_likelihood, log_z, model_statistics
from rbmviz.rbm import model_bytes
from rbmviz.reproduce.recipes.rates_fpcd_polish import optimum


@pytest.fixture(scope="module")
def trained():
    """Rows with structure, 6 wide, and a model that is far from them."""
    half = np.random.default_rng(0).integers(0, 2, (60, 3), dtype=np.uint8)
    g = np.random.default_rng(1)
    return np.hstack([half, half]), RBM(g.normal(0, 0.6, (6, 4)), g.normal(0, 0.3, 6), g.normal(0, 0.3, 4))


def bound(rbm, rates):
    """R.theta - log Z: up to a constant the bound on the log-likelihood."""
    return sum(float((getattr(rates, x) * getattr(rbm, x)).sum()) for x in "Wbc") - log_z(rbm)


def polished(trained, rate=0.3):
    rows, begin = trained
    steps = train(
        rows, f"polish:learning_rate={rate},n_chains=500", warm_start=begin, iterations=500, every=500
    )
    *_, last = steps
    return steps, last


def test_it_ends_at_the_exact_optimum_of_its_bound(trained):
    """The optimum has the rates of the first model; a step that falls to 0 leaves little of the noise."""
    rows, begin = trained
    rates, best = begin.rates(rows), optimum(begin, rows, 200)[0]
    _, last = polished(trained)
    gain, most = (bound(rbm, rates) - bound(begin, rates) for rbm in (last.rbm, best))
    assert 0.97 * most < gain < most
    assert np.abs(model_statistics(last.rbm).W - rates.W).max() < 0.03
    assert log_likelihood(last.rbm, rows) - log_likelihood(begin, rows) > gain  # it is a bound that touches
    # Training by the rates of each model, which is no bound of the first, ends elsewhere.
    *_, other = train(
        rows, "pcd:learning_rate=0.3,schedule=linear,n_chains=500", warm_start=begin, iterations=500
    )
    assert bound(other.rbm, rates) < bound(last.rbm, rates) - 0.05 * most


def test_the_polished_model_keeps_the_rates_that_it_was_polished_with(trained, tmp_path):
    rows, begin = trained
    steps, _ = polished(trained)
    path = tmp_path / "polished.safetensors"
    path.write_bytes(model_bytes(steps.model))
    model, rates = load_model(path), begin.rates(rows)
    assert model.meta["polished"] == {"updates": 500}
    for x in "Wbc":
        assert np.array_equal(getattr(model.rates, x), getattr(rates, x))
    assert not np.allclose(model.rbm.rates(rows).W, rates.W, atol=0.01)
