"""Trainers learn with their default knobs."""

import pytest

from benchmarks.gains import CONDITIONS, STOCHASTIC, gain, row
from rbmviz import BadInput, load_dataset


@pytest.mark.compiled
@pytest.mark.parametrize("name", STOCHASTIC)
def test_a_trainer_learns_with_its_defaults(name):
    """Digits in 1,000 updates: a rate that falls to zero from 0.01 gains nothing (-0.01 nats)."""
    assert gain(name, "digits", n_hidden=16, updates=1000).value > 2


@pytest.mark.claims
@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.data)
def test_every_trainer_gains_a_quarter_of_what_the_best_gains(condition, tmp_path):
    if condition.data == "film_reviews":
        try:
            load_dataset("film_reviews")
        except BadInput as error:
            pytest.skip(str(error))  # a package that has to be installed
    gains = row(condition, tmp_path)
    best = max(one.value for one in gains.values())
    too_little = {name: one for name, one in gains.items() if one.value < max(best / 4, 5 * one.error)}
    assert best > 0
    assert not too_little
