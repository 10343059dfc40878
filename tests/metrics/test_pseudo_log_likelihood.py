"""The pseudo-likelihood against enumeration, and against scikit-learn's."""

import naive
import numpy as np
import pytest

from rbmviz import BadInput, load_dataset, load_model
from rbmviz.metrics import probabilities, pseudo_likelihood
from rbmviz.metrics.landscape import codes

MODEL = load_model("bas_pcd")


def exact(rows) -> np.ndarray:
    """Return log PL of rows, from enumerated probabilities of each row and of its neighbours."""
    law, each = probabilities(MODEL), np.zeros(len(rows))
    for i in range(rows.shape[1]):
        flipped = rows.copy()
        flipped[:, i] ^= 1
        p, q = law[codes(rows)], law[codes(flipped)]
        each += np.log(p / (p + q))
    return each


def test_it_is_the_enumerated_one_within_its_standard_error():
    g = np.random.default_rng(0)
    rows = (g.random((300, 16)) < 0.5).astype(np.uint8)
    many = np.tile(rows, (40, 1))
    estimates = np.array([pseudo_likelihood(MODEL, many, seed) for seed in range(20)])
    error = estimates.std(ddof=1) / np.sqrt(20)
    want = exact(rows).mean()
    assert abs(estimates.mean() - want) < 4 * error
    assert abs(estimates.mean() - 1.02 * want) > 4 * error  # the test would see 2 %


def test_it_is_scikit_learns():
    sklearn = pytest.importorskip("sklearn.neural_network")
    data = load_dataset("bas").train
    peer = sklearn.BernoulliRBM(n_components=MODEL.rbm.n_hidden)
    peer.components_ = MODEL.rbm.W.T.astype(float)
    peer.intercept_visible_, peer.intercept_hidden_ = MODEL.rbm.b.astype(float), MODEL.rbm.c.astype(float)
    many = np.tile(data, (500, 1)).astype(float)
    scores = peer.score_samples(many)
    error = scores.std() / np.sqrt(len(many))
    assert pseudo_likelihood(MODEL, many.astype(np.uint8)) == pytest.approx(scores.mean(), abs=6 * error)


def test_rows_that_do_not_fit_get_one_sentence():
    with pytest.raises(BadInput, match="the shape is"):
        pseudo_likelihood(naive.random_rbm(5, 3, 1, 0), np.zeros((2, 4), np.uint8))
