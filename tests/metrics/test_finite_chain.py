"""Finite Markov chains, and chains with fewer self-transitions (rates-FPCD, section 3)."""

import numpy as np
import pytest

from rbmviz import BadInput
from rbmviz.metrics import (
    chain_distances,
    check_chain,
    eigenvalues,
    probabilities,
    remove_self_transitions,
    stationary_law,
    transition_matrix,
)
from rbmviz.metrics.finite_chain import normalise_rows, resize_chain, speed_up


def lazy(n, g):
    """Return a random chain that stays with a chance uniform in 0 to 1, and else goes anywhere, or stays."""
    stay = g.uniform(size=n)
    return np.diag(stay) + (1 - stay)[:, None] * g.dirichlet(np.ones(n), n)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_the_law_stays_and_the_eigenvalues_move(n):
    g = np.random.default_rng(n)
    A = lazy(n, g)
    law = stationary_law(A)
    np.testing.assert_allclose(law @ A, law, atol=1e-12)
    np.testing.assert_allclose(law, np.linalg.matrix_power(A, 10_000)[0], atol=1e-9)
    for share in (0.0, 0.4, 1.0):
        lam = share * A.diagonal().min()
        less = remove_self_transitions(A, lam)
        np.testing.assert_allclose(less.sum(axis=1), 1)
        assert less.min() >= 0
        np.testing.assert_allclose(stationary_law(less), law, atol=1e-10)
        moved = (eigenvalues(A) - lam) / (1 - lam)
        for z in eigenvalues(less):
            assert np.abs(moved - z).min() < 1e-9
    assert eigenvalues(A)[0] == pytest.approx(1)


def test_distances_fall_by_the_second_eigenvalue():
    A = lazy(5, np.random.default_rng(1))
    distances = chain_distances(A, np.eye(5)[0], stationary_law(A), 60)
    assert distances[50] / distances[49] == pytest.approx(abs(eigenvalues(A)[1]), rel=1e-3)


def test_the_gibbs_chain_of_an_rbm_has_the_models_law_and_little_to_take(rbm):
    A = transition_matrix(rbm)
    law = probabilities(rbm)
    np.testing.assert_allclose(stationary_law(A), law, atol=1e-10)
    most = A.diagonal().min()
    assert most < 0.02
    np.testing.assert_allclose(stationary_law(remove_self_transitions(A, most)), law, atol=1e-10)
    assert eigenvalues(A).real.min() > -1e-9  # up, then down: no negative one that could take the lead


def test_more_than_the_smallest_stay_is_refused():
    A = np.array([[0.5, 0.5, 0], [0.25, 0.25, 0.5], [0, 0.1, 0.9]])
    remove_self_transitions(A, 0.25)
    for lam in (0.26, -0.1, np.nan):
        with pytest.raises(BadInput, match=r"state 2 stays with probability 0\.25; choose from 0 to 0\.25"):
            remove_self_transitions(A, lam)
    with pytest.raises(BadInput, match="below 1"):
        remove_self_transitions(np.eye(3), 1.0)


@pytest.mark.parametrize(
    ("A", "says"),
    [
        ([[0.5, 0.5], [0.9, 0.2]], r"Row 2 sums to 1\.1"),
        ([[0.5, 0.5], [1.2, -0.2]], r"from state 2 to 2 is -0\.2"),
        ([[0.5, 0.5], [np.nan, 1]], "from state 2 to 1 is nan"),
        ([[0.5, 0.5]], r"shape \(1, 2\)"),
        ([[1.0]], r"shape \(1, 1\)"),
        ([[1.0], [0.5, 0.5]], "rows of numbers of equal length"),
        ([["a", "b"], ["c", "d"]], "give an array of numbers"),
    ],
)
def test_matrices_that_are_not_stochastic_are_refused(A, says):
    with pytest.raises(BadInput, match=says):
        check_chain(A)


def test_several_stationary_laws_are_refused_and_transient_states_are_not():
    apart = np.kron(np.eye(2), np.full((2, 2), 0.5))
    with pytest.raises(BadInput, match="states 1 and 3 never lead to each other"):
        stationary_law(apart)
    ends = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1.0]])
    np.testing.assert_allclose(stationary_law(ends), [0, 0, 1], atol=1e-12)


def test_chains_are_resized_and_rows_normalised():
    A = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0, 0, 1]])
    np.testing.assert_allclose(resize_chain(A, 2), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], atol=1e-4)
    for n in (2, 3, 7, 8):  # what is rounded still sums to 1
        g = np.random.default_rng(n)
        check_chain(resize_chain(normalise_rows(g.random((5, 5))), n))
    larger = resize_chain(A, 5)
    check_chain(larger)
    np.testing.assert_array_equal(larger[3], [0.5, 0, 0, 0.5, 0])
    np.testing.assert_allclose(normalise_rows(2 * A), A)
    assert normalise_rows(np.zeros((2, 2))) is None


def test_speed_up_is_the_ratio_of_logarithms():
    assert speed_up(0.81, 0.9) == pytest.approx(0.5)
    assert speed_up(0.5, 1.0) == 0  # it swings for ever
    assert speed_up(1.0, 0.5) is None
    assert speed_up(0.5, 0.0) is None
