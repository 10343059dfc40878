"""The exact Gibbs chain, against sums over all states."""

import naive
import numpy as np
import pytest

from rbmviz import RBM, BadInput
from rbmviz.metrics import (
    chain_distances,
    noise_floor,
    probabilities,
    start_law,
    sweep_distances,
    sweep_law,
    total_variation,
    transition_matrix,
)


def random_rbm(m: int, n: int, scale: float = 1.0) -> RBM:
    g = np.random.default_rng(m + 10 * n)
    return RBM(g.normal(0, scale, (m, n)), g.normal(0, 0.5, m), g.normal(0, 0.5, n))


@pytest.mark.parametrize("size", [(5, 3), (3, 6), (1, 1), (4, 11)])  # 11: more than one block of hidden units
def test_the_transition_matrix_is_the_sum_over_hidden_states(size):
    rbm = random_rbm(*size)
    A = transition_matrix(rbm)
    v, h = naive.states(size[0]), naive.states(size[1])
    up, down = naive.sigmoid(rbm.c + v @ rbm.W), naive.sigmoid(rbm.b + h @ rbm.W.T)
    to_h = np.array([[np.prod(np.where(y == 1, p, 1 - p)) for y in h] for p in up])
    to_v = np.array([[np.prod(np.where(x == 1, p, 1 - p)) for x in v] for p in down])
    np.testing.assert_allclose(A, to_h @ to_v, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(A.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("size", [(5, 3), (3, 6), (13, 2), (1, 1)])  # 13: more than one block
def test_a_law_is_followed_without_the_matrix(size):
    rbm = random_rbm(*size)
    law = np.random.default_rng(0).dirichlet(np.full(2 ** size[0], 0.3))
    if size[0] < 13:
        np.testing.assert_allclose(sweep_law(rbm, law), law @ transition_matrix(rbm), rtol=1e-9, atol=1e-15)
    model = probabilities(rbm)
    np.testing.assert_allclose(sweep_law(rbm, model), model, rtol=1e-6, atol=1e-12)


def test_distances_fall_to_zero_and_agree_with_the_matrix():
    rbm = random_rbm(5, 3)
    start = start_law(np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]]))
    assert start[0b10110] == pytest.approx(1 / 3)
    assert start[1] == pytest.approx(2 / 3)
    distances = sweep_distances(rbm, start, 60)
    want = chain_distances(transition_matrix(rbm), start, probabilities(rbm), 60)
    np.testing.assert_allclose(distances, want, atol=1e-7)
    assert (np.diff(distances[:20]) < 0).all()
    assert distances[0] > 0.9
    assert distances[60] < 1e-6
    assert total_variation([1, 0, 0], [0, 0.25, 0.75]) == 1


@pytest.mark.parametrize("n", [1, 7, 300])
def test_the_noise_floor_is_the_mean_distance_of_independent_draws(n):
    """Within four standard errors of 4,000 simulated sets of draws; one draw more or less is outside."""
    law = np.random.default_rng(1).dirichlet(np.full(16, 0.3))
    shares = np.random.default_rng(n).multinomial(n, law, 4000) / n
    distances = 0.5 * np.abs(shares - law).sum(axis=1)
    error = 4 * distances.std() / np.sqrt(len(distances))
    assert noise_floor(law, n) == pytest.approx(distances.mean(), abs=error)
    assert abs(noise_floor(law, n + n // 7 + 1) - distances.mean()) > error
    assert noise_floor([0, 1], n) == 0


def test_large_or_mismatched_chains_are_refused():
    with pytest.raises(BadInput, match="sweep_law"):
        transition_matrix(random_rbm(13, 9))
    with pytest.raises(BadInput, match="at most 32 units"):
        sweep_law(random_rbm(17, 16), np.ones(4))
    with pytest.raises(BadInput, match=r"\(32,\)"):
        sweep_law(random_rbm(5, 3), np.ones(31) / 31)
