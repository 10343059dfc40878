"""The model that a driven sampler samples from: its average over time, and how likely it finds the data."""

import numpy as np
import pytest

import rbmviz
from rbmviz import make_sampler
from rbmviz.metrics import log_likelihood
from rbmviz.samplers.target_likelihood import (
    TARGET_STRIDE,
    TargetAverage,
    target_likelihood,
)


@pytest.mark.parametrize("name", ["gibbs", "rates_fpcd", "rates_herding"])
def test_the_average_is_the_mean_of_the_targets_and_changes_no_sample(name):
    model, sampler = rbmviz.load_model("bas_pcd"), make_sampler(name)
    want = rbmviz.sample(model, sampler, 450, seed=3, init="random")
    averaged, state, parts = TargetAverage(), sampler.init(model, 3), []
    for n in (7, 0, 93, 300, 50):
        parts.append(averaged.step(sampler, state, n))
    np.testing.assert_array_equal(np.concatenate([part.v for part in parts]), want.v)
    np.testing.assert_array_equal(
        np.concatenate([part.info["sweeps"] for part in parts]), want.info["sweeps"]
    )
    assert (averaged.samples, averaged.models) == (450, 4)
    state, targets = sampler.init(model, 3), []
    for _ in range(4):
        sampler.step(state, TARGET_STRIDE)
        targets.append(sampler.target(state))
    np.testing.assert_allclose(averaged.mean.W, np.mean([one.W for one in targets], axis=0), atol=1e-6)
    np.testing.assert_allclose(averaged.mean.c, np.mean([one.c for one in targets], axis=0), atol=1e-6)


def likelihoods(name, **knobs):
    model, sampler = rbmviz.load_model(name), make_sampler("rates_fpcd", **knobs)
    state, average = sampler.init(model, 0), TargetAverage()
    average.step(sampler, state, 20_000)
    data = rbmviz.load_dataset(model.meta["dataset"]).train
    found = target_likelihood(model.rbm, sampler.target(state), average, data)
    assert found["model"] == pytest.approx(log_likelihood(model.rbm, data))
    assert (found["model"].method, average.samples) == ("exact", 20_000)
    return found.values()


def test_a_small_step_improves_a_model_that_had_not_converged():
    """Paper rates-FPCD, section 4, on average over time; not at a moment, nor with a large step."""
    model, now, averaged = likelihoods("bas_cd1", eps=0.003)
    assert averaged > model + 1
    assert now < model
    assert [*likelihoods("bas_cd1", eps=0.1)][2] < model
    near_its_optimum, _, averaged = likelihoods("bas_pcd", eps=0.003)
    assert averaged < near_its_optimum
