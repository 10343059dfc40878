"""RBM and Model: checks, means, free energy, rates, and model files."""

import naive
import numpy as np
import pytest
from sklearn.neural_network import BernoulliRBM

from rbmviz import RBM, BadInput, Model, Statistics, from_sklearn, load_model, save_model


def test_free_energy_is_the_enumerated_marginal(rbm):
    p = naive.joint(rbm).sum(axis=1)
    v = naive.states(rbm.n_visible)
    f = rbm.free_energy(v)
    np.testing.assert_allclose(f - f[0], -np.log(p / p[0]), atol=1e-5)


def test_conditional_means_are_the_enumerated_ones(rbm):
    p = naive.joint(rbm)
    v, h = naive.states(rbm.n_visible), naive.states(rbm.n_hidden)
    np.testing.assert_allclose(rbm.mean_hidden(v), (p / p.sum(1, keepdims=True)) @ h, atol=1e-6)
    np.testing.assert_allclose(rbm.mean_visible(h), (p / p.sum(0)).T @ v, atol=1e-6)


def test_rates_are_means_over_all_rows(rbm):
    data = np.random.default_rng(0).integers(0, 2, (5000, 5), dtype=np.uint8)
    rates = rbm.rates(data)
    h = rbm.mean_hidden(data)
    np.testing.assert_allclose(rates.W, data.T @ h / 5000, rtol=1e-5)
    np.testing.assert_allclose(rates.b, data.mean(0), rtol=1e-6)
    np.testing.assert_allclose(rates.c, h.mean(0, dtype=np.float64), rtol=1e-5)


def test_parameters_are_read_only_copies(rbm):
    W = np.zeros((4, 2), order="F")
    copy = RBM(W, np.zeros(4), np.zeros(2))
    W[0, 0] = 1
    assert copy.W[0, 0] == 0
    assert copy.W.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        rbm.W[0, 0] = 1


@pytest.mark.parametrize("name", ["m.safetensors", "m.npz"])
def test_file_round_trip(model, tmp_path, name):
    save_model(model, tmp_path / name)
    back = load_model(tmp_path / name)
    assert [f.name for f in tmp_path.iterdir()] == [name]
    for name in "Wbc":
        np.testing.assert_array_equal(getattr(back.rbm, name), getattr(model.rbm, name))
        np.testing.assert_array_equal(getattr(back.rates, name), getattr(model.rates, name))
    assert back.meta == model.meta
    with pytest.raises(BadInput, match=r"\.safetensors or \.npz, not 'm.txt'"):
        save_model(model, tmp_path / "m.txt")


@pytest.mark.parametrize("name", ["m.safetensors", "m.npz"])
def test_save_refuses_metadata_too_long_to_read_back(rbm, tmp_path, name):
    for notes in (["x" * 4000] * 300, ['"' * 4000] * 150):  # quotation marks take more bytes in JSON
        with pytest.raises(BadInput, match="metadata are too long"):
            save_model(Model(rbm, None, {"notes": notes}), tmp_path / name)
    assert not any(tmp_path.iterdir())
    save_model(Model(rbm, None, {"notes": ["x" * 4000] * 200}), tmp_path / name)
    assert len(load_model(tmp_path / name).meta["notes"]) == 200


def test_rates_of_another_shape_are_refused(rbm):
    with pytest.raises(BadInput, match="rates"):
        Model(rbm, Statistics(np.zeros((4, 3)), np.zeros(4), np.zeros(3)))


def test_a_fitted_scikit_learn_estimator_becomes_a_model():
    data = np.random.default_rng(1).integers(0, 2, (30, 5), dtype=np.uint8)
    estimator = BernoulliRBM(n_components=3, n_iter=4, random_state=0).fit(data)
    model = from_sklearn(estimator, data)
    np.testing.assert_allclose(model.rbm.mean_hidden(data), estimator.transform(data), atol=1e-6)
    estimator.intercept_visible_ = np.arange(5.0)
    biased = from_sklearn(estimator)
    np.testing.assert_allclose(biased.rbm.free_energy(data), estimator._free_energy(data), atol=1e-5)
    np.testing.assert_array_equal(model.rates.W, model.rbm.rates(data).W)
    assert model.meta["knobs"] == {"learning_rate": 0.1, "batch_size": 10, "n_iter": 4}
    assert biased.rates is None
    with pytest.raises(BadInput, match="This BernoulliRBM is not a fitted"):
        from_sklearn(BernoulliRBM())
    with pytest.raises(BadInput, match=r"\(n, 5\)"):
        from_sklearn(estimator, data[:, :4])
