"""The bias of pop-CD against the number of its samples."""

import numpy as np
import pytest

from rbmviz import RBM, BadInput, Model, make_trainer, rng
from rbmviz.datasets import Dataset
from rbmviz.metrics.exact import model_statistics
from rbmviz.session import PopulationSetup, WeightSetup
from rbmviz.session.population_bias import BLOCK, POPULATION_RUNS, POPULATION_SIZES
from rbmviz.trainers.parameters import FixedParameters
from rbmviz.trainers.pop_cd import populate


@pytest.fixture
def setup():
    draws = np.random.default_rng(6)
    rbm = RBM(draws.normal(0, 1.5, (4, 3)), draws.normal(0, 1, 4), draws.normal(0, 1, 3))
    rows = draws.integers(0, 2, (20, 4), dtype=np.uint8)
    return PopulationSetup(WeightSetup(Model(rbm), Dataset("toy", rows, rows[:5], rows[5:9], "bits", "none")))


def run_of(setup, *chunks):
    run = setup.plan().run(1, make_trainer("pop_cd"))
    run.prepare()
    for n in chunks:
        run.record_steps(run.timed_advance(n))
    return run


def test_each_size_is_measured_as_the_mean_of_its_own_estimates(setup):
    """One round of blocks; each estimate by itself: normalised weights, then the mean over groups."""
    found = run_of(setup, POPULATION_RUNS).view("running")
    rbm, exact = setup.rbm, model_statistics(setup.rbm)
    target = np.concatenate([exact.W.ravel(), exact.b, exact.c])
    starts = np.resize(np.arange(20), BLOCK)
    v0 = setup.weights.dataset.train[rng.generator(0, "starts").permutation(starts)].astype(np.float32)
    means = {size: [] for size in (64, BLOCK, "CD")}
    for i in range(POPULATION_RUNS):
        stream = rng.kernel_state(rng.child(0, "population", i), "chain")
        drawn = populate(FixedParameters(rbm.W, rbm.b, rbm.c), v0, 1, "visible", 10, stream)
        h = rbm.mean_hidden(drawn.v)
        statistics = np.array([np.r_[np.outer(a, b).ravel(), a, b] for a, b in zip(drawn.v, h, strict=True)])
        means["CD"].append(statistics.mean(axis=0))
        for size in (64, BLOCK):
            shares = np.exp(drawn.log_weights - drawn.log_weights.max()).reshape(-1, size)
            shares /= shares.sum(axis=1, keepdims=True)
            each = (shares[:, :, None] * statistics.reshape(-1, size, len(target))).sum(axis=1)
            means[size].append(each.mean(axis=0))
    for what, quality in ((64, found.pop_cd[64]), (BLOCK, found.pop_cd[BLOCK]), ("CD", found.cd)):
        error = np.mean(means[what], axis=0) - target
        assert quality.bias == pytest.approx(error @ error / len(target), rel=1e-4)
    assert found.pop_cd[64].replications == POPULATION_RUNS * BLOCK // 64
    assert max(found.pop_cd) == BLOCK  # larger ones need more blocks


def test_the_bias_of_pop_cd_goes_with_the_population_and_that_of_cd_stays(setup):
    found = run_of(setup, *[POPULATION_RUNS] * 16).view("running")
    assert found.seconds > 0
    assert max(found.pop_cd) == 16 * BLOCK
    assert found.pop_cd[4].resolved
    assert found.pop_cd[64].bias_corrected < found.pop_cd[4].bias_corrected / 4
    assert found.pop_cd[BLOCK].bias_corrected < 4 * found.pop_cd[BLOCK].std_error + 1e-6
    assert found.cd.bias_corrected > 4 * found.pop_cd[64].bias_corrected


def test_a_measurement_goes_on_where_it_stopped(setup):
    whole, parts = run_of(setup, 8, 8), run_of(setup, 3, 1, 4, 2, 6)
    for size, quality in whole.view("running").pop_cd.items():
        assert parts.view("running").pop_cd[size] == quality
    assert not whole.over
    assert whole.max_steps() <= POPULATION_RUNS
    whole.n = POPULATION_RUNS * POPULATION_SIZES[-1] // BLOCK
    assert (whole.over, whole.max_steps()) == (True, 0)


@pytest.mark.parametrize(("shape", "says"), [((40, 40), "too large|exact"), ((70, 3), "up to 64 units")])
def test_a_model_that_is_too_large_is_refused(shape, says):
    rbm = RBM(np.zeros(shape), np.zeros(shape[0]), np.zeros(shape[1]))
    with pytest.raises(BadInput, match=says):
        PopulationSetup(WeightSetup(Model(rbm))).plan()
