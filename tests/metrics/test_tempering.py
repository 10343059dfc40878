"""Long parallel tempering: its means are those of the model, within their errors."""

import numpy as np
import pytest

from rbmviz import RBM, BadInput
from rbmviz.metrics import model_statistics, tempered_ladders, tempered_statistics, tempering


@pytest.fixture
def two_modes() -> RBM:
    """All units on, or all off: Gibbs sampling stays in one of the modes."""
    W = np.full((8, 6), 1.6)
    return RBM(W, -W.sum(axis=1) / 2 + 0.1, -W.sum(axis=0) / 2)


def distance(rbm: RBM, **arguments) -> float:
    """Return the distance of the estimate to the exact statistics in root mean square standard errors."""
    found, exact = tempered_statistics(rbm, burn_in=200, **arguments), model_statistics(rbm)
    errors = [(found.mean(name) - getattr(exact, name)).ravel() for name in "Wbc"]
    expected = [found.std_error(name).ravel() for name in "Wbc"]
    squares = [float((np.concatenate(x) ** 2).sum()) for x in (errors, expected)]
    return (squares[0] / squares[1]) ** 0.5


def test_the_means_are_those_of_the_model_within_their_errors(two_modes):
    g = np.random.default_rng(1)
    random = RBM(g.normal(0, 1.5, (7, 5)), g.normal(0, 1, 7), g.normal(0, 1, 5))
    for rbm in (random, two_modes):
        assert distance(rbm, samples=20_000, n_temperatures=12, seed=2) < 2


def test_wrong_chains_are_seen(two_modes, monkeypatch):
    """The same measure fails with swaps that are always made, and with another model."""
    other = RBM(two_modes.W, two_modes.b + 0.15, two_modes.c)
    found, exact = tempered_statistics(other, samples=20_000, n_temperatures=12), model_statistics(two_modes)
    assert np.abs(found.mean("b") - exact.b).mean() > 5 * found.std_error("b").mean()
    monkeypatch.setattr(tempering, "swaps_taken", lambda *given: np.ones(len(given[-1]), bool))
    assert distance(two_modes, samples=20_000, n_temperatures=12, seed=2) > 5


def test_ladders_that_stay_in_a_mode_disagree(two_modes):
    """Without temperatures the error is large, and says so; with them it is small."""
    stuck = tempered_statistics(two_modes, samples=2000, n_temperatures=1, seed=4)
    free = tempered_statistics(two_modes, samples=2000, n_temperatures=12, seed=4)
    assert stuck.std_error("b").mean() > 5 * free.std_error("b").mean()
    assert stuck.warning.startswith("With one temperature nothing helps")
    hot = tempered_statistics(two_modes, samples=30, burn_in=0, n_temperatures=12, seed=4)
    assert "came from the hottest" in hot.warning
    assert free.warning == ""
    assert all(ladder.trips > 5 and (ladder.swap_rates > 0.1).all() for ladder in free.ladders)


def test_the_seed_decides_and_the_number_of_threads_does_not(two_modes):
    given = {"samples": 300, "burn_in": 10, "n_temperatures": 4, "n_ladders": 3}
    first = tempered_statistics(two_modes, **given, seed=1, workers=1)
    for workers, seed, same in ((2, 1, True), (1, 2, False)):
        other = tempered_statistics(two_modes, **given, seed=seed, workers=workers)
        assert np.array_equal(first.each("W"), other.each("W")) is same


@pytest.mark.parametrize(
    ("name", "value"), [("n_ladders", 2), ("n_temperatures", 0), ("samples", 2), ("burn_in", -1)]
)
def test_numbers_out_of_range_are_refused(two_modes, name, value):
    with pytest.raises(BadInput, match=name):
        tempered_ladders(two_modes, **{name: value})
