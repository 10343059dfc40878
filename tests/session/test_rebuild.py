"""Runs that are put to sleep free their memory, and are computed again with the same bits."""

import dataclasses
import itertools
import threading
import time

import numpy as np
import pytest
from waiting import PATIENCE, wait, wait_for_pause

from rbmviz import BadInput
from rbmviz.models import pattern_model
from rbmviz.samplers import make_sampler, sample
from rbmviz.session import (
    Coupling,
    CouplingRun,
    CouplingSetup,
    LandscapeSetup,
    SamplingPlan,
    SamplingRun,
    SamplingSetup,
    TrainingPlan,
    TrainingRun,
    WeightRun,
    WeightSetup,
)
from rbmviz.session import again as again_module
from rbmviz.session import training as training_module
from rbmviz.session import worker as worker_module
from rbmviz.trainers import make_trainer


def made(worker, n):
    """Wait until the worker has made n steps in all and is paused."""
    wait(
        lambda: worker.request_snapshot().n == n and worker.request_snapshot().status == "paused",
        f"{n} steps",
    )


def live(worker, **knobs):
    """Turn knobs and make steps with them, in uneven chunks."""
    n = worker.request_snapshot().n
    if knobs:
        worker.apply_knobs(**knobs)
    for more in (1, 7, 13):
        worker.step(more)
        n += more
        made(worker, n)


def samples_of(worker):
    first, v = worker.read(lambda run: run.held_samples())
    return first, v.copy(), worker.read(lambda run: run.run_log()).changes


def models_of(worker):
    return [rbm.W.copy() for rbm in worker.request_snapshot().models]


def pairs_of(worker):
    drawn = worker.request_snapshot().displayed_pairs
    return [(d.pair, d.t, d.v.copy(), d.v2.copy(), d.path, d.met) for d in drawn]


def weights_of(worker):
    return (
        worker.read(WeightRun.log_weights).copy(),
        worker.request_snapshot().newest,
        worker.request_snapshot().pooled,
    )


def same(a, b):
    """Whether nested results are equal, arrays bit for bit."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(itertools.starmap(same, zip(a, b, strict=True)))
    return a == b or (a != a and b != b)


KINDS = {
    "gibbs": (
        lambda model, toy: SamplingPlan(model, 5, dataset=toy),
        make_sampler("gibbs"),
        ({}, {"k": 3}, {"temperature": 2.0}),
        samples_of,
    ),
    "rates_fpcd": (
        lambda model, toy: SamplingPlan(model, 5, dataset=toy),
        make_sampler("rates_fpcd", n_chains=3),
        ({"eps": 0.5}, {"eps": 0.01, "alpha": 0.9}, {}),
        samples_of,
    ),
    "landscape": (
        lambda model, toy: LandscapeSetup(pattern_model(("11/00", "00/11"), 6.0), 2),
        make_sampler("rates_fpcd"),
        ({}, {"eps": 0.3}, {"alpha": 0.8}),
        samples_of,
    ),
    "training": (
        lambda model, toy: TrainingPlan(toy, 3, seed=5, replicates=2),
        make_trainer("ucd", schedule="constant"),
        ({}, {"learning_rate": 0.01}, {"learning_rate": 0.2}),
        models_of,
    ),
    "coupling": (
        lambda model, toy: CouplingSetup(model.rbm, toy, 3),
        Coupling(scale=0.7),
        ({}, {}, {}),
        pairs_of,
    ),
    "weights": (
        lambda model, toy: WeightSetup(model, toy, 4),
        make_trainer("pop_cd", n_chains=10),
        ({}, {"k": 3}, {}),
        weights_of,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_rest_changes_no_bit(open_worker, model, toy, kind):
    """One run rests twice, its twin never does."""
    plan_of, algorithm, turns, result_of = KINDS[kind]
    worker, twin = open_worker(plan_of(model, toy), algorithm), open_worker(plan_of(model, toy), algorithm)
    for knobs in turns:
        live(worker, **knobs)
        live(twin, **knobs)
        before = result_of(worker)
        assert same(before, result_of(twin))
        worker.rest()
        assert (worker.at_rest, worker.peek().status, worker.bytes()) == (True, "rebuilding", 0)
        assert worker.peek().n == twin.peek().n
        worker.open()
        made(worker, twin.peek().n)
        assert same(before, result_of(worker))
        assert worker.peek().run == twin.peek().run
    live(worker)
    live(twin)
    assert same(result_of(worker), result_of(twin))


def test_the_scores_come_back_too(open_worker, model, toy):
    worker = open_worker(SamplingPlan(model, 5, dataset=toy), make_sampler("gibbs", n_chains=2))
    live(worker)
    shown = worker.request_snapshot()
    worker.rest()
    assert [point.isl for point in worker.peek().curve] == [point.isl for point in shown.curve]
    worker.open()
    made(worker, shown.n)
    again = worker.request_snapshot()
    assert [point.isl for point in again.curve] == [point.isl for point in shown.curve]
    np.testing.assert_array_equal(again.occupancy, shown.occupancy)
    np.testing.assert_array_equal(again.newest_samples.v, shown.newest_samples.v)
    np.testing.assert_array_equal(again.newest_samples.p, shown.newest_samples.p)
    assert (again.covered, again.sweeps) == (shown.covered, shown.sweeps)


def test_counted_pairs_come_back_while_paused(open_worker, model):
    worker = open_worker(CouplingSetup(model.rbm), Coupling(scale=0.3))
    worker.resume()
    wait(
        lambda: (
            worker.request_snapshot().displayed_pairs
            and worker.request_snapshot().displayed_pairs[0].counted.n > 1500
        ),
        "pairs",
    )
    worker.pause()
    wait(lambda: worker.request_snapshot().status == "paused", "a pause")
    counted = worker.read(CouplingRun.request_results).pairs
    worker.rest()
    worker.open()
    wait(lambda: not worker.at_rest and worker.request_snapshot().status == "paused", "the run")
    wait(
        lambda: all(
            again.n >= was.n
            for again, was in zip(worker.read(CouplingRun.request_results).pairs, counted, strict=True)
        ),
        "as many pairs",
    )
    for again, was in zip(worker.read(CouplingRun.request_results).pairs, counted, strict=True):
        np.testing.assert_array_equal(again.tau[: was.n], was.tau)
        np.testing.assert_array_equal(again.unbiased[: was.n], was.unbiased)


@pytest.mark.parametrize("kept", [True, False])
def test_a_long_training_comes_back_from_a_checkpoint_if_it_is_small(open_worker, toy, monkeypatch, kept):
    monkeypatch.setattr(training_module, "REPLAY_SECONDS", 0.0)
    if not kept:
        monkeypatch.setattr(training_module, "KEPT_BYTES", 100)
    trainer = make_trainer("pcd", momentum=0.5)
    plan = TrainingPlan(toy, 3, seed=5, replicates=2)
    worker, twin = open_worker(plan, trainer), open_worker(plan, trainer)
    for each in (worker, twin):
        live(each)
        live(each, learning_rate=0.02)
    before, likelihoods = worker.request_snapshot(), worker.read(lambda run: run._likelihood_estimator.points)
    updates = []
    monkeypatch.setattr(
        TrainingRun, "advance", lambda run, n, do=TrainingRun.advance: updates.append(n) or do(run, n)
    )
    worker.rest()
    worker.open()
    made(worker, 42)
    assert sum(updates) == (0 if kept else 42)
    again = worker.request_snapshot()
    reconstructions = [[trace.stats["reconstruction"] for trace in s.traces] for s in (again, before)]
    assert same(*reconstructions)
    found = worker.read(lambda run: run._likelihood_estimator.points)
    assert [p.update for p in found[: len(likelihoods)]] == [p.update for p in likelihoods]
    assert len({p.update for p in found}) == len(found)
    assert worker.read(TrainingRun.model).meta == twin.read(TrainingRun.model).meta
    live(worker)
    live(twin)
    assert same(models_of(worker), models_of(twin))


def test_a_branch_rests_too(open_worker, toy):
    first = open_worker(TrainingPlan(toy, 3, seed=5), make_trainer("pcd"))
    live(first)
    plan = TrainingPlan(toy, 3, seed=5, origin=first.read(TrainingRun.origin))
    branch, twin = open_worker(plan, make_trainer("cd")), open_worker(plan, make_trainer("cd"))
    for each in (branch, twin):
        live(each)
    branch.rest()
    branch.open()
    made(branch, 42)
    live(branch)
    live(twin)
    assert same(models_of(branch), models_of(twin))


def test_a_run_that_is_being_rebuilt_says_how_far_it_is(open_worker, model, monkeypatch):
    worker = open_worker(SamplingPlan(model, 5), make_sampler("gibbs"))
    live(worker)
    worker.rest()
    with pytest.raises(BadInput, match=r"being rebuilt .* try again in a moment"):
        worker.read(SamplingRun.held_samples)
    held, go = threading.Event(), threading.Event()
    advance = SamplingRun.advance

    def slow(run, n):
        if run.n:
            held.set()
            assert go.wait(PATIENCE)
        return advance(run, 7)

    monkeypatch.setattr(SamplingRun, "advance", slow)
    worker.open()
    assert held.wait(PATIENCE)
    assert (worker.request_snapshot().status, worker.request_snapshot().n) == ("rebuilding", 21)
    wait(lambda: worker.request_snapshot().rebuilt == pytest.approx(1 / 3), "a third")
    go.set()
    made(worker, 21)


def test_commands_that_come_during_a_rest_take_effect_after_it(open_worker, model):
    worker = open_worker(SamplingPlan(model, 5), make_sampler("rates_fpcd", eps=0.1))
    live(worker)
    worker.rest()
    worker.apply_knobs(eps=0.5)
    worker.step(9)
    worker.open()
    made(worker, 30)
    changes = worker.read(SamplingRun.run_log).changes
    assert [(n, knobs["eps"]) for n, knobs in changes] == [(0, 0.1), (21, 0.5)]
    worker.rest()
    worker.begin(SamplingPlan(model, 6))
    worker.open()
    worker.step(5)
    made(worker, 5)
    np.testing.assert_array_equal(
        samples_of(worker)[1], sample(model, make_sampler("rates_fpcd", eps=0.5), 5, seed=6).v
    )


def test_a_rest_amid_a_rebuild_begins_it_again(open_worker, model, monkeypatch):
    worker = open_worker(SamplingPlan(model, 5), make_sampler("gibbs"))
    live(worker)
    want = samples_of(worker)
    advance = SamplingRun.advance
    monkeypatch.setattr(SamplingRun, "advance", lambda run, n: advance(run, 1))
    worker.rest()
    worker.open()
    wait(lambda: worker.request_snapshot().rebuilt > 0, "a beginning")
    worker.rest()
    assert worker.peek().status == "rebuilding"
    worker.open()
    made(worker, 21)
    assert same(samples_of(worker), want)


def test_a_failed_run_is_as_failed_after_its_rest(open_worker, toy):
    worker = open_worker(TrainingPlan(toy, 3), make_trainer("cd", weight_decay=1.0))
    worker.step(5)
    wait(lambda: worker.request_snapshot().n == 5, "updates")
    worker.apply_knobs(learning_rate=10.0)
    worker.step(500)
    wait(lambda: worker.request_snapshot().status == "failed", "a failure")
    failed, model = worker.request_snapshot(), worker.read(TrainingRun.model)
    worker.rest()
    worker.open()
    wait(lambda: worker.request_snapshot().status == "failed", "the same failure")
    assert (worker.request_snapshot().n, worker.request_snapshot().error) == (failed.n, failed.error)
    np.testing.assert_array_equal(worker.read(TrainingRun.model).rbm.W, model.rbm.W)


def test_a_run_with_too_many_changes_keeps_its_memory(open_worker, model, monkeypatch):
    monkeypatch.setattr(again_module, "MAX_CHANGES", 3)
    worker = open_worker(SamplingPlan(model, 5), make_sampler("rates_fpcd"))
    for eps in (0.1, 0.2, 0.3, 0.4):
        live(worker, eps=eps)
    _, want = worker.read(SamplingRun.held_samples)
    worker.rest()
    assert not worker.at_rest
    worker.open()
    np.testing.assert_array_equal(worker.read(SamplingRun.held_samples)[1], want)
    with pytest.raises(BadInput, match="more than 3 times"):
        worker.read(SamplingRun.run_log)


def test_panels_that_ran_in_step_go_on_in_step(open_comparison, model, toy, monkeypatch):
    monkeypatch.setattr(worker_module, "BACKLOG_SECONDS", 1e6)  # on a busy machine, too
    monkeypatch.setattr(worker_module, "LIGHT_BACKLOG_SECONDS", 1e6)
    samplers = map(make_sampler, ("gibbs", "rates_fpcd", "sample_penalization"))
    comparison = open_comparison(SamplingSetup(model, toy, seed=4), *samplers, rate=200.0)
    comparison.resume()
    wait(lambda: all(s.n > 20 for _, s in comparison.poll()), "samples in every panel")
    comparison.close()
    comparison.rest()
    n = [shown.n for _, shown in comparison.peek()]
    assert comparison.running
    comparison.open()
    wait(
        lambda: all(s.n > most + 20 for (_, s), most in zip(comparison.poll(), n, strict=True)),
        "more",
    )
    comparison.pause()
    wait_for_pause(comparison)
    assert len({s.n for _, s in comparison.poll()}) == 1


def test_a_sleeping_run_has_no_work_until_somebody_looks(open_worker, model, monkeypatch):
    monkeypatch.setattr(worker_module, "LEASE_SECONDS", 0.2)
    worker = open_worker(SamplingPlan(model), make_sampler("gibbs"))
    worker.resume()
    wait(lambda: worker.request_snapshot().n > 0, "samples")
    wait(worker._asleep, "the end of the lease")
    wait(lambda: worker._task.due is None and not worker._at_work, "an end of all work")
    n = worker.read(lambda run: run.n)
    time.sleep(0.1)
    assert worker.read(lambda run: run.n) == n
    wait(lambda: worker.request_snapshot().n > n, "samples after somebody looked again")


def test_a_snapshot_at_rest_is_small(open_worker, model, toy):
    for plan_of, algorithm, _, _ in KINDS.values():
        worker = open_worker(plan_of(model, toy), algorithm)
        live(worker)
        worker.rest()
        shown = worker.peek()
        held = [getattr(shown, field.name) for field in dataclasses.fields(shown)]
        assert sum(x.nbytes for x in held if isinstance(x, np.ndarray)) < 50_000
