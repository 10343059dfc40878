"""Polishing against the exact optimum, and what the polished model keeps."""

import numpy as np
import pytest

from papers.recipes.rates_fpcd_polish import optimum
from rbmviz import RBM, load_dataset, load_model, make_trainer, train
from rbmviz.metrics import exact_gradient, log_likelihood, log_z, model_statistics
from rbmviz.rbm.files import model_bytes


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


def stopping(stop_at, rate, every):
    """Polish bas_cd1 for at most 10,000 updates; its chains begin at training rows, which hide its fault."""
    trainer = f"polish:stop_at={stop_at},learning_rate={rate},n_chains=200"
    steps = train("bas", trainer, warm_start="bas_cd1", iterations=10_000, every=every)
    *_, last = steps
    return steps, last


@pytest.mark.slow
def test_it_stops_near_the_exact_optimum_and_not_at_the_start():
    rows, begin = load_dataset("bas").train, load_model("bas_cd1").rbm
    exact = exact_gradient(begin, rows)
    assert sum(float((getattr(exact, x) ** 2).sum()) for x in "Wbc") > 3**2
    steps, last = stopping(0.1, 0.003, 200)
    assert 0 <= last.stats["gradient_left"] <= 0.1 * steps.state.own_state.highest**0.5
    assert 1000 < last.update < 5000
    best = optimum(begin, rows, 30)[0]  # within 3 % of the gain after 120 steps, which take ten seconds more
    gain, most = (log_likelihood(rbm, rows) - log_likelihood(begin, rows) for rbm in (last.rbm, best))
    assert 0.82 * most < gain < most
    assert next(steps, None) is None


def test_the_gradient_that_is_left_has_no_noise_of_the_chains():
    """The squared norm of their mean without its noise is the mean product of two different chains."""
    trainer, begin = make_trainer("polish", n_chains=5), load_model("bas_cd1").rbm
    state = trainer.init(begin, load_dataset("bas").train, 0)
    trainer.step(state, 1)
    v, rates = state.own_state.chains, state.own_state.rates
    h = begin.mean_hidden(v)
    each = [
        np.concatenate([np.ravel(x) for x in (rates.W - np.outer(a, b), rates.b - a, rates.c - b)])
        for a, b in zip(v, h, strict=True)
    ]
    products = np.array(each) @ np.transpose(each)
    assert state.own_state.recent == pytest.approx((products.sum() - np.trace(products)) / 20, rel=1e-4)


def test_it_stops_at_the_same_update_however_it_is_divided():
    (_, once), (_, often) = (stopping(0.8, 0.03, every) for every in (1000, 7))
    assert once.update == often.update < 1000
    assert np.array_equal(once.rbm.W, often.rbm.W)


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
