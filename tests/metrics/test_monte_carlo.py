"""The Monte Carlo likelihood against enumeration of its chains, and against a naive program."""

import json

import numpy as np
import pytest
from naive import random_rbm, sigmoid, states

from rbmviz import BadInput, load_dataset, load_model
from rbmviz.cli import main
from rbmviz.metrics import log_likelihood, monte_carlo_likelihood


def bernoulli_table(x, outcomes):
    """Probability of each state (columns) by each row of pre-activations."""
    p = sigmoid(x)
    return np.where(outcomes[None] == 1, p[:, None], 1 - p[:, None]).prod(axis=2)


def enumerated(rbm, v, sweeps):
    """The limit of many chains: log sum_h p(h after the sweeps | start v) p(v|h)."""
    m, n = rbm.W.shape
    of_v, of_h = states(m), states(n)
    h_given_v = bernoulli_table(of_v @ rbm.W + rbm.c, of_h)
    v_given_h = bernoulli_table(of_h @ rbm.W.T + rbm.b, of_v)
    law = h_given_v @ np.linalg.matrix_power(v_given_h @ h_given_v, sweeps)
    i = v @ (2 ** np.arange(m - 1, -1, -1))
    return np.log((law[i] * v_given_h[:, i].T).sum(axis=1))


def naive(rbm, row, chains, sweeps, g):
    """Chain by chain, unit by unit."""
    terms = []
    for _ in range(chains):
        v = row.astype(float)
        for sweep in range(sweeps + 1):
            h = np.array([g.random() < sigmoid(v @ w + c) for w, c in zip(rbm.W.T, rbm.c, strict=True)])
            on = np.array([sigmoid(h @ w + b) for w, b in zip(rbm.W, rbm.b, strict=True)])
            if sweep < sweeps:
                v = (g.random(len(on)) < on).astype(float)
        terms.append(np.prod(np.where(row == 1, on, 1 - on)))
    return np.log(np.mean(terms))


@pytest.mark.parametrize("sweeps", [0, 1, 4])
def test_many_chains_give_the_law_of_their_sweeps(sweeps):
    """Fewer sweeps give another number, far beyond the error."""
    rbm, v = random_rbm(6, 4, 1.5, 1), np.random.default_rng(2).integers(0, 2, (5, 6)).astype(np.uint8)
    limit = {k: enumerated(rbm, v, k).mean() for k in (0, 1, 4)}
    estimates = [monte_carlo_likelihood(rbm, v, chains=4000, sweeps=sweeps, seed=seed) for seed in range(8)]
    error = np.std(estimates, ddof=1) / 8**0.5
    assert np.mean(estimates) == pytest.approx(limit[sweeps], abs=4 * error)
    assert min(abs(limit[0] - limit[1]), abs(limit[1] - limit[4])) > 20 * error


def test_long_chains_give_the_likelihood_and_short_ones_more():
    rbm, v = random_rbm(9, 5, 1.0, 3), np.random.default_rng(4).integers(0, 2, (20, 9)).astype(np.uint8)
    exact = log_likelihood(rbm, v)
    estimates = [monte_carlo_likelihood(rbm, v, chains=2000, sweeps=40, seed=seed) for seed in range(3)]
    assert np.mean(estimates) == pytest.approx(exact, abs=0.03)
    assert monte_carlo_likelihood(rbm, v, chains=3000, sweeps=0) > exact + 0.3


def test_few_chains_are_too_low_as_in_a_naive_program():
    rbm, v = random_rbm(7, 4, 1.5, 5), np.random.default_rng(6).integers(0, 2, (1, 7)).astype(np.uint8)
    g = np.random.default_rng(7)
    slow = np.array([naive(rbm, v[0], 3, 2, g) for _ in range(150)])
    fast = np.array([monte_carlo_likelihood(rbm, v, chains=3, sweeps=2, seed=seed) for seed in range(400)])
    error = np.hypot(slow.std() / len(slow) ** 0.5, fast.std() / len(fast) ** 0.5)
    assert fast.mean() == pytest.approx(slow.mean(), abs=3.5 * error)
    assert fast.mean() < enumerated(rbm, v, 2)[0] - 3.5 * error


def test_rows_are_scored_alike_in_any_company():
    """Blocks of rows, here of 4, do not change what a seed gives to the rows before them."""
    rbm, v = random_rbm(8, 3, 1.0, 8), np.random.default_rng(9).integers(0, 2, (10, 8)).astype(np.uint8)
    first = 4 * monte_carlo_likelihood(rbm, v[:4], chains=1000, seed=1)
    rest = 10 * monte_carlo_likelihood(rbm, v, chains=1000, seed=1) - first
    assert rest == pytest.approx(enumerated(rbm, v[4:], 10).sum(), abs=0.4)


def test_bad_input_is_refused(monkeypatch):
    rbm = random_rbm(4, 2, 1.0, 1)
    with pytest.raises(BadInput, match="chains"):
        monte_carlo_likelihood(rbm, np.zeros((1, 4), np.uint8), chains=0)
    with pytest.raises(BadInput, match="the shape is"):
        monte_carlo_likelihood(rbm, np.zeros((1, 5), np.uint8))
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "5")
    with pytest.raises(BadInput, match="100,000 chains for a row needs"):
        monte_carlo_likelihood(rbm, np.zeros((1, 4), np.uint8), chains=100_000)


def test_the_command(capsys):
    asked = [
        "log-likelihood",
        "--model",
        "bas_pcd",
        "--dataset",
        "bas",
        "--method",
        "monte-carlo",
        "--sweeps",
        "3",
    ]
    assert main([*asked, "--chains", "50", "--seed", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    rows, rbm = load_dataset("bas").train, load_model("bas_pcd").rbm
    assert result["train"] == monte_carlo_likelihood(rbm, rows, chains=50, sweeps=3, seed=4)
    assert main(asked) == 0
    assert "monte-carlo, 100 chains x 3 sweeps from each row" in capsys.readouterr().out
