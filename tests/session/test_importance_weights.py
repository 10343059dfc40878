"""The runs of the Weights page: importance weights of pop-CD."""

import dataclasses

import naive
import numpy as np
import pytest

from rbmviz import RBM, BadInput, Model, load_dataset, make_trainer, metrics, rng
from rbmviz.metrics.importance_weights import LogMean, ess_by_size, heaviest_shares
from rbmviz.rbm.parameters import FixedParameters
from rbmviz.session import WeightSetup, importance_weights
from rbmviz.trainers.pop_cd import pop_weights


def begun(plan, algorithm):
    run = plan.run(1, algorithm)
    run.prepare()
    return run


def weigh(run, batches):
    """Do so many batches, one a chunk, and sum up."""
    for _ in range(batches):
        run.record_steps(run.advance(1))
    run.background_work(paused=True)
    while run.background_work(paused=True):
        pass
    return run.view("paused")


# Metrics


def test_effective_sizes_are_those_of_the_batches():
    logs = 3 * np.random.default_rng(0).standard_normal(37) - 900
    found = ess_by_size(logs)
    assert [x.size for x in found] == [1, 2, 4, 8, 16, 32]
    for x in found:
        batches = [logs[at : at + x.size] for at in range(0, 37 - x.size + 1, x.size)]
        want = [naive.effective_size(list(batch)) for batch in batches]
        assert x.batches == len(want)
        assert x.ess == pytest.approx(np.mean(want))
        if len(want) > 1:
            assert x.std_error == pytest.approx(np.std(want, ddof=1) / len(want) ** 0.5)
    assert np.isnan(found[-1].std_error)
    equal = ess_by_size(np.full(8, -3.0))
    assert [x.ess for x in equal] == pytest.approx([1, 2, 4, 8])


def test_shares_of_the_heaviest():
    logs = 2 * np.random.default_rng(1).standard_normal(301) + 800
    samples, held = heaviest_shares(logs)
    assert samples[0] == 1 / 301
    assert samples[-1] == held[-1] == 1
    for share, weight in zip(samples, held, strict=True):
        assert weight == pytest.approx(naive.held_by_heaviest(list(logs), round(share * 301)))
    even, line = heaviest_shares(np.zeros(50))
    np.testing.assert_allclose(even, line)


def test_log_mean_is_that_of_all_weights_and_its_error_that_of_the_batches():
    batches = np.random.default_rng(2).standard_normal((9, 7)) - 700
    total = LogMean()
    assert np.isnan(total.value)
    for batch in batches:
        total.update(batch)
    weights = np.exp(batches + 700)
    assert total.value == pytest.approx(np.log(weights.mean()) - 700)
    means = weights.mean(axis=1)
    assert total.std_error == pytest.approx(means.std(ddof=1) / 3 / means.mean())
    assert np.isnan(LogMean().update(batches[0]).std_error)


def test_two_errors_of_the_mean_weight_cover_z_as_often_as_they_should(rbm):
    """That E[w] = Z for each proposal and k is tested with the trainers."""
    starts, exact, inside, off = np.ones((20, 5), np.uint8), metrics.log_z(rbm), 0, []
    for seed in range(60):
        total = LogMean()
        for batch in range(30):
            found = pop_weights(rbm, starts, 1, rng.child(seed, "x", batch), proposal="joint")
            total.update(found.log_weights)
        inside += abs(total.value - exact) < 2 * total.std_error
        off.append(total.value - exact)
    assert inside >= 51  # of 57; 6 less is 3.5 standard deviations
    assert abs(np.mean(off)) < 4 * np.std(off) / 60**0.5 + np.var(off)


# Runs of weighted batches


def test_batches_are_those_of_training_at_fixed_parameters(model, toy):
    trainer = make_trainer("pop_cd", k=2, n_chains=11, proposal="joint")
    run = begun(WeightSetup(model, toy, 4), trainer)
    shown = weigh(run, 5)
    state = trainer.init(model.rbm, toy.train, 4)
    want = []
    for _ in range(5):
        trainer.negative(state, FixedParameters(*state.theta), state.batches.next(0))
        want.append(state.own_state)
    np.testing.assert_array_equal(run.log_weights(), np.concatenate([found.log_weights for found in want]))
    assert (shown.n, shown.pooled, shown.summary.n) == (5, 55, 55)
    assert shown.ess_share == pytest.approx(np.mean([found.ess for found in want]) / 11)
    assert shown.max_share == pytest.approx(np.mean([found.max_weight for found in want]))
    assert shown.newest.log_z == pytest.approx(np.logaddexp.reduce(run.log_weights()) - np.log(55))
    # The newest batch, heaviest first: shares, and states beside their own weights.
    batch, last = shown.batch, want[-1]
    assert (np.diff(batch.log_weights) <= 0).all()
    assert batch.shares.sum() == pytest.approx(1)
    heaviest = np.argmax(last.log_weights)
    np.testing.assert_array_equal(batch.v[0], last.v[heaviest])
    assert batch.shares[0] == pytest.approx(last.weights[heaviest])


def test_a_turned_knob_forgets_the_weights_of_before(model, toy):
    trainer = make_trainer("pop_cd", n_chains=10)
    run = begun(WeightSetup(model, toy), trainer)
    weigh(run, 4)
    run.set_knobs(dataclasses.replace(trainer, k=5, n_chains=7))
    shown = run.view("paused")
    assert (shown.n, shown.pooled, shown.batch, shown.summary, shown.newest) == (4, 0, None, None, None)
    shown = weigh(run, 3)
    assert (shown.n, shown.pooled) == (7, 21)


def test_histogram_counts_every_weight_and_copes_with_equal_ones(model, toy):
    shown = weigh(begun(WeightSetup(model, toy), make_trainer("pop_cd", n_chains=10)), 6)
    assert shown.summary.counts.sum() == 60
    flat = Model(RBM(np.zeros((5, 3)), np.zeros(5), np.zeros(3)))
    shown = weigh(begun(WeightSetup(flat, toy), make_trainer("pop_cd", n_chains=10)), 6)
    assert shown.summary.counts.sum() == 60
    assert shown.ess_share == pytest.approx(1)
    assert shown.newest.log_z == pytest.approx(8 * np.log(2), abs=1e-5)


def test_chains_may_begin_at_random_bits_and_data_must_fit(model, toy):
    starts = WeightSetup(model, toy, 7, "random").starts()
    assert starts.shape[1] == 5
    assert 0.45 < starts.mean() < 0.55
    np.testing.assert_array_equal(starts, WeightSetup(model, None, 7).starts())
    wide = load_dataset("bas@3")
    with pytest.raises(BadInput, match="bas@3 has 9 units and the model 5"):
        WeightSetup(model, wide).starts()


def test_large_models_get_their_log_z_by_ais(model, toy, monkeypatch):
    monkeypatch.setattr(importance_weights, "MAX_UNITS_EXACT_LOG_Z", 2)
    truth = importance_weights.ReferenceLogZ(model)
    while truth.work(0.01):
        pass
    assert truth.value.method == "ais"
    assert abs(truth.value.log_z - metrics.log_z(model.rbm)) < 4 * truth.value.std_error + 1e-3


def test_only_the_newest_weights_are_kept_but_all_are_counted(model, toy, monkeypatch):
    monkeypatch.setattr(importance_weights, "MAX_WEIGHTS", 32)
    run = begun(WeightSetup(model, toy), make_trainer("pop_cd", n_chains=10))
    shown = weigh(run, 5)
    assert len(run.log_weights()) == shown.summary.n == 32
    assert shown.pooled == shown.newest.n == 50
