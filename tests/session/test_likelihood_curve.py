"""What a training keeps of its log-likelihoods, and how far it has fallen below its best."""

import numpy as np
import pytest

from rbmviz.metrics.numbers import below_best
from rbmviz.session.training import Likelihood, thinned


def curve(*values):
    """Likelihoods of two replicates on either side of each value, by updates 0, 1, ..."""
    two = np.array([-0.5, 0.5])
    return [
        Likelihood(i, 1.0 * i, 0.0, value + two, value + two, 0 * two, two) for i, value in enumerate(values)
    ]


def test_below_best_is_of_the_mean_of_the_replicates():
    assert below_best([]) is None
    assert below_best(curve(-5, -2, -3)) == 1
    opposite = curve(-5, -2)
    opposite[0] = opposite[0]._replace(train=np.array([-1.0, -9.0]))  # only its first replicate is better
    assert below_best(opposite) == 0


@pytest.mark.parametrize("best", [0, 3, 4])
def test_a_thinned_curve_keeps_its_best_value_at_every_place(best):
    values = [-9.0, -8.0, -8.5, -8.2, -8.1]
    values[best] = -1.0
    whole = curve(*values)
    half = thinned(whole)
    assert [one.update for one in half] == sorted({0, 2, 4, best})
    assert below_best(half) == below_best(whole)


def test_a_value_that_is_not_finite_is_not_the_best():
    half = thinned(curve(-4.0, np.nan, -3.0, -2.0, -5.0))
    assert [one.update for one in half] == [0, 2, 3, 4]
    assert [one.update for one in thinned(curve(np.nan, np.nan))] == [0]
