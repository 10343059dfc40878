"""The Monte Carlo likelihood against enumeration of its chains."""

import numpy as np
import pytest
from command_line import run
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


@pytest.mark.parametrize("sweeps", [0, 1, 4])
def test_many_chains_give_the_law_of_their_sweeps(sweeps):
    """Fewer sweeps give another number, far beyond the error, and few chains one that is too low."""
    rbm, v = random_rbm(6, 4, 1.5, 1), np.random.default_rng(2).integers(0, 2, (5, 6)).astype(np.uint8)
    limit = {k: enumerated(rbm, v, k).mean() for k in (0, 1, 4)}

    def estimate(chains, seeds):
        found = [monte_carlo_likelihood(rbm, v, chains=chains, sweeps=sweeps, seed=seed) for seed in seeds]
        return np.mean(found), np.std(found, ddof=1) / len(found) ** 0.5

    mean, error = estimate(4000, range(8))
    assert mean == pytest.approx(limit[sweeps], abs=4 * error)
    assert min(abs(limit[0] - limit[1]), abs(limit[1] - limit[4])) > 20 * error
    mean, error = estimate(3, range(100))
    assert mean < limit[sweeps] - 4 * error
    assert enumerated(rbm, v, 1000).mean() == pytest.approx(log_likelihood(rbm, v), abs=1e-6)


def test_the_command(capsys):
    words = "log-likelihood --model bas_pcd --dataset bas --sweeps 3 --chains 50 --seed 4"
    rows, rbm = load_dataset("bas").train, load_model("bas_pcd").rbm
    want = monte_carlo_likelihood(rbm, rows, chains=50, sweeps=3, seed=4)
    assert run(capsys, *words.split(), "--method", "monte_carlo")["train"] == want


@pytest.mark.parametrize(("method", "said"), [("monte_carlo", True), ("exact", False)])
def test_the_command_says_when_chains_flatter_a_model(capsys, method, said):
    """No model has more than -3.379 on Bars and Stripes; chains of `bas_pcd` hardly leave their rows."""
    assert main(["log-likelihood", "--model", "bas_pcd", "--dataset", "bas", "--method", method]) == 0
    assert ("is above -3.379, the best that any model can have" in capsys.readouterr().err) is said


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
