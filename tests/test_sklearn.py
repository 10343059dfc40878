"""``rbmviz.sklearn.BernoulliRBM`` in place of scikit-learn's class: its contract, and their tests of it."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn.neural_network
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import rbmviz
from rbmviz import BadInput
from rbmviz.sklearn import BernoulliRBM

BARS = rbmviz.load_dataset("bas@3")
X = np.repeat(BARS.train, 4, axis=0)
PSEUDO_LIKELIHOOD = "score_samples draws the flipped pixel of each row, as scikit-learn's does"


def test_the_checks_of_scikit_learn():
    """The two that fail are those that scikit-learn excepts for its own class, for this reason."""
    excepted = {
        "check_methods_sample_order_invariance": PSEUDO_LIKELIHOOD,
        "check_methods_subset_invariance": PSEUDO_LIKELIHOOD,
    }
    checks = check_estimator(BernoulliRBM(), expected_failed_checks=excepted, on_skip=None)
    assert {check["check_name"] for check in checks if check["status"] == "xfail"} == set(excepted)


@pytest.mark.slow
def test_the_tests_of_scikit_learn(tmp_path):
    """One of its tests knows the digits that its own random numbers lead to."""
    text = (Path(sklearn.neural_network.__file__).parent / "tests" / "test_rbm.py").read_text()
    here = "from sklearn.neural_network import BernoulliRBM"
    assert here in text
    file = tmp_path / "test_theirs.py"
    file.write_text(text.replace(here, "from rbmviz.sklearn import BernoulliRBM"))
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", str(file), "-k", "not fit_gibbs"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "22 passed" in done.stdout


@pytest.mark.parametrize("trainer", ["cd:k=2", "pcd", "fpcd", "pop_cd", "ucd", "pt", "exact", "herding"])
def test_every_trainer_fits_bits_and_grey_levels(trainer):
    for rows in (X, 0.1 + 0.8 * X):
        rbm = BernoulliRBM(4, trainer=trainer, n_iter=3, random_state=0).fit(rows)
        again = clone(rbm).fit(sparse.csr_array(rows))
        assert (rbm.components_ == again.components_).all()
        assert rbm.components_.any()
        stated = rbm.model_.rbm.mean_statistics(rows)
        assert (rbm.model_.rates.W == stated.W).all()
    assert len(rbm.sample(7)) == 7


def test_a_fit_is_the_training_of_the_package():
    rbm = BernoulliRBM(4, trainer="pcd:n_chains=6", batch_size=16, n_iter=2, learning_rate=0.2).fit(X)
    trainer = rbmviz.make_trainer("pcd", n_chains=6, batch_size=16, learning_rate=0.2, initial_biases="zero")
    assert rbm._trainer == rbmviz.make_trainer("pcd", n_chains=6, learning_rate=0.2, initial_biases="zero")
    seed = int(np.random.RandomState(5).randint(np.iinfo(np.int32).max))
    rbm = rbm.set_params(random_state=5).fit(X)
    model = rbmviz.fit(X, trainer, n_hidden=4, iterations=8, seed=seed)
    assert (model.rbm.W == rbm.components_.T.astype(np.float32)).all()
    assert rbm.log_likelihood(X) == pytest.approx(rbmviz.metrics.log_likelihood(model, X))


def test_grey_levels_are_the_means_of_bits():
    """From W = 0 and b = 0 the first exact step of b is the rate times the mean of the data minus a half."""
    grey = np.random.default_rng(0).random((50, 3))
    rbm = BernoulliRBM(2, trainer="exact:initial_scale=0", batch_size=50, n_iter=1, learning_rate=0.5)
    assert np.allclose(rbm.fit(grey).intercept_visible_, 0.5 * (grey.mean(axis=0) - 0.5), atol=1e-6)


def test_partial_fit_continues_from_the_parameters_it_finds():
    rbm = BernoulliRBM(3, random_state=0)
    rbm.partial_fit(X).partial_fit(0.5 * X[:7])
    rbm.components_ = np.ones((3, 9))
    rbm.learning_rate = 1e-6
    before = pickle.loads(pickle.dumps(rbm))
    rbm.partial_fit(X)
    before.partial_fit(X)
    assert np.abs(rbm.components_ - 1).max() < 0.01
    assert (rbm.components_ == before.components_).all()
    with pytest.raises(BadInput, match="rates"):
        rbm.set_params(sampler="rates_fpcd").sample(3)


def test_in_a_pipeline_a_search_and_a_frame():
    grey, y = load_digits(return_X_y=True)
    rbm = BernoulliRBM(32, learning_rate=0.06, n_iter=5, random_state=0)
    pipeline = make_pipeline(rbm, LogisticRegression(C=100, max_iter=2000))
    search = GridSearchCV(pipeline, {"bernoullirbm__trainer": ["pcd", "cd"]}, cv=2)
    assert search.fit(grey[:600] / 16, y[:600]).score(grey[600:] / 16, y[600:]) > 0.75
    frame = BernoulliRBM(2, n_iter=1).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["bernoullirbm0", "bernoullirbm1"]


def test_bad_parameters_are_named():
    for wrong, said in (
        ({"trainer": "pcdd"}, "Unknown trainer 'pcdd': did you mean 'pcd'"),
        ({"trainer": "pcd:learning_rate=1"}, "learning_rate is a parameter of the estimator"),
        ({"trainer": 3}, "3 is not a trainer"),
        ({"trainer": "exact", "n_components": 30}, "too large to enumerate"),
        ({"n_components": 10**12}, "GB"),
    ):
        with pytest.raises(BadInput, match=said):
            BernoulliRBM(**wrong).fit(np.eye(30))
    large = BernoulliRBM(30, n_iter=0, random_state=0).fit(np.eye(30))
    assert large.log_likelihood(np.eye(30, dtype=int)) == pytest.approx(-30 * np.log(2), abs=0.1)


def test_a_model_becomes_an_estimator_of_scikit_learn():
    model = rbmviz.load_model("bas_pcd")
    estimator, rows = rbmviz.to_sklearn(model), rbmviz.load_dataset("bas").train
    assert type(estimator) is sklearn.neural_network.BernoulliRBM
    assert np.allclose(estimator.transform(rows), model.rbm.mean_hidden(rows), atol=1e-6)
    assert np.allclose(estimator._free_energy(rows), model.rbm.free_energy(rows), rtol=1e-5)
    assert (rbmviz.from_sklearn(estimator).rbm.W == model.rbm.W).all()
    estimator.partial_fit(rows)
