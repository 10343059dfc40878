"""What a training keeps of its log-likelihoods, and how far it has fallen below its best."""

import numpy as np
import pytest

from rbmviz import load_dataset, make_trainer
from rbmviz.metrics import log_likelihood, pseudo_likelihood
from rbmviz.metrics.numbers import below_best
from rbmviz.session.training import Likelihood, TrainingPlan, thinned


def curve(*values):
    """Likelihoods of two replicates on either side of each value, by updates 0, 1, ..."""
    two = np.array([-0.5, 0.5])
    arrays = ((value + two, value + two, 0 * two, two, value + two, value + two) for value in values)
    return [Likelihood(i, 1.0 * i, 0.0, *each) for i, each in enumerate(arrays)]


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


def test_the_pseudo_likelihood_is_that_of_the_training_examples():
    data = load_dataset("bas")
    run = TrainingPlan(data, 4).run(1, make_trainer("cd"))
    run.prepare()
    run.record_steps(run.advance(20))
    while run.background_work(True):
        pass
    view = run.view("paused")
    assert view.likelihoods[-1].pseudo[0] == pseudo_likelihood(view.models[0], data.train)


def test_the_monte_carlo_average_is_computed_for_the_present_model_once_it_is_asked_for():
    """Of a model that mixes it is the likelihood, but for an error of some hundredths of a nat."""
    data = load_dataset("bas")
    run = TrainingPlan(data, 4).run(1, make_trainer("cd"))
    run.prepare()
    run.record_steps(run.advance(20))

    def scored():
        while run.background_work(True):
            pass
        return run.view("paused").likelihoods

    assert all(np.isnan(point.monte_carlo).all() for point in scored())
    before = len(scored())
    run.request_monte_carlo(True)
    [*_, last] = scored()
    assert (len(scored()), last.update) == (before, 20)  # in place of the point without it
    assert last.monte_carlo[0] == pytest.approx(
        log_likelihood(run.view("paused").models[0], data.train), abs=0.1
    )
    assert last.monte_carlo[0] != last.train[0]
    run.request_monte_carlo(False)
    run.record_steps(run.advance(1))
    assert np.isnan(scored()[-1].monte_carlo).all()


@pytest.mark.parametrize(("name", "knobs"), [("cd", {"schedule": "linear"}), ("polish", {"stop_at": 0.9})])
def test_ended_training_scores_its_last_model(name, knobs):
    run = TrainingPlan(load_dataset("bas"), 4).run(1, make_trainer(name, iterations=301, **knobs))
    run.prepare()
    run.advance_to(1000)
    assert run.over
    assert run.max_steps() == 0
    while run.background_work(False):  # the page is not paused
        pass
    assert run.view("finished").likelihoods[-1].update == run.n
