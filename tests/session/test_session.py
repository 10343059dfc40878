"""The worker, its snapshots and its log, and races of several workers."""

import numpy as np
import pytest
from waiting import wait

from rbmviz.datasets import Dataset
from rbmviz.metrics import log_likelihood
from rbmviz.samplers import interleave, make_sampler
from rbmviz.session import (
    SamplingPlan,
    SamplingRun,
    TrainingPlan,
    TrainingRun,
)
from rbmviz.session.recorder import Recorder
from rbmviz.trainers import make_trainer, train


def test_held_samples_are_the_newest_whatever_the_parts_in_which_they_came():
    v = np.random.default_rng(0).integers(0, 2, (3500, 9), dtype=np.uint8)
    recorder, n = Recorder(9, 1000), 0
    for part in (700, 700, 1, 999, 1100):
        n += part
        recorder.append(v[n - part : n])
        packed = np.packbits(v[:n], axis=1)
        for m in (0, 1, 600, 5000):
            np.testing.assert_array_equal(recorder.newest_packed(m), packed[max(n - min(m, 1000), 0) :])


# Training


def finished(worker, n):
    wait(
        lambda: worker.request_snapshot().n >= n and worker.request_snapshot().status == "paused",
        f"{n} updates",
    )
    wait(
        lambda: (
            [p.update for p in worker.request_snapshot().likelihoods[-1:]] == [worker.request_snapshot().n]
        ),
        "the last score",
    )
    return worker.request_snapshot()


@pytest.mark.parametrize("name", ["pcd", "ucd"])
def test_replicates_are_the_trainings_of_their_seeds(open_worker, toy, name):
    trainer = make_trainer(name, learning_rate=0.02, schedule="constant")
    worker = open_worker(TrainingPlan(toy, 3, seed=5, replicates=2), trainer)
    for n in (1, 9, 20):
        worker.step(n)
    shown = finished(worker, 30)
    reconstruction = []
    for r in range(2):
        *_, want = train(toy, trainer, 3, 30, seed=5 + r)
        np.testing.assert_array_equal(shown.models[r].W, want.rbm.W)
        reconstruction.append(want.stats["reconstruction"])
    assert (shown.models[0].W != shown.models[1].W).any()
    # The numbers of a panel are means.
    assert reconstruction[0] != reconstruction[1]
    assert shown.newest["reconstruction"] == pytest.approx(np.mean(reconstruction))


def test_every_point_is_the_exact_likelihood_of_its_update(open_worker, toy):
    trainer = make_trainer("cd", learning_rate=0.2)
    worker = open_worker(TrainingPlan(toy, 3, seed=5), trainer)
    finished(worker, 0)  # a score under way at the first update would leave it out
    worker.step(30)
    shown = finished(worker, 30)
    assert shown.method == "exact"
    assert [point.update for point in shown.likelihoods][:2] == [0, 1]
    models = {progress.update: progress.rbm for progress in train(toy, trainer, 3, 30, seed=5, every=1)}
    for point in shown.likelihoods[1:]:
        rbm = models[point.update]
        assert point.train[0] == pytest.approx(log_likelihood(rbm, toy.train), abs=1e-9)
        assert point.test[0] == pytest.approx(log_likelihood(rbm, toy.test), abs=1e-9)
        assert point.std_error[0] == 0
    assert [trace.update for trace in shown.traces] == list(range(1, 31))


def test_large_models_are_scored_by_ais_within_its_error(open_worker):
    g = np.random.default_rng(0)
    rows = (g.random((60, 18)) < g.random(18)).astype(np.uint8)
    data = Dataset("wide", rows[:50], rows[50:55], rows[55:], "bits", "none")
    worker = open_worker(TrainingPlan(data, 17), make_trainer("pcd", learning_rate=0.05))
    worker.step(40)
    shown = finished(worker, 40)
    assert shown.method == "ais"
    point, exact = shown.likelihoods[-1], log_likelihood(shown.models[0], data.train)
    assert 0 < point.std_error[0] < 0.2
    assert abs(point.train[0] - exact) < 5 * point.std_error[0]


def test_a_branch_goes_on_from_where_it_left(open_worker, toy):
    worker = open_worker(TrainingPlan(toy, 3, seed=5), make_trainer("pcd"))
    worker.step(25)
    left = finished(worker, 25)
    start = worker.read(TrainingRun.warm_start)
    assert (start.update, start.path) == (25, (("PCD", 0),))
    ucd = make_trainer("ucd", schedule="constant")
    branch = open_worker(TrainingPlan(toy, 3, seed=5, warm_start=start), ucd)
    branch.step(10)
    shown = finished(branch, 35)
    *_, want = train(toy, ucd, 3, 10, seed=5, warm_start=left.models[0])
    np.testing.assert_array_equal(shown.models[0].W, want.rbm.W)
    assert shown.likelihoods[0].update == 25
    model = branch.read(TrainingRun.model)
    assert (model.meta["updates"], model.meta["warm_start"]) == (35, [["PCD", 0]])
    again = branch.read(TrainingRun.warm_start)
    assert again.path == (("PCD", 0), ("UCD", 25))


def test_a_checkpoint_goes_on_to_the_same_bits(open_worker, toy):
    plan, trainer = TrainingPlan(toy, 3, seed=5), make_trainer("pcd", momentum=0.5)
    worker = open_worker(plan, trainer)
    worker.step(12)
    finished(worker, 12)
    content = worker.read(TrainingRun.checkpoint)
    worker.step(18)
    want = finished(worker, 30)
    later = open_worker(plan._replace(checkpoint=content), trainer)
    later.step(18)
    shown = finished(later, 30)
    np.testing.assert_array_equal(shown.models[0].W, want.models[0].W)


def test_a_checkpoint_does_not_go_on_with_chains_of_another_number(open_worker, toy):
    """Their arrays have other sizes than the trainer would read."""
    plan, trainer = TrainingPlan(toy, 3), make_trainer("pt", n_temperatures=5, n_chains=7)
    worker = open_worker(plan, trainer)
    worker.step(3)
    finished(worker, 3)
    content = worker.read(TrainingRun.checkpoint)
    later = open_worker(plan._replace(checkpoint=content), trainer)
    later.apply_knobs(n_temperatures=9)
    wait(lambda: later.request_snapshot().status == "failed", "a refusal")
    assert "made with n_temperatures = 5: set it back" in later.request_snapshot().error
    later.apply_knobs(n_temperatures=5)
    later.step(2)
    assert finished(later, 5).n == 5
    other = open_worker(plan._replace(checkpoint=content), make_trainer("pcd", n_chains=7))
    wait(lambda: other.request_snapshot().status == "failed", "a refusal")
    assert "is one of pt" in other.request_snapshot().error


def test_diverged_training_keeps_the_last_good_model(open_worker, toy):
    worker = open_worker(TrainingPlan(toy, 3), make_trainer("cd", weight_decay=1.0))
    worker.step(5)
    good = finished(worker, 5)
    worker.apply_knobs(learning_rate=10.0)
    worker.step(500)
    wait(lambda: worker.request_snapshot().status == "failed", "a failure")
    assert "diverged before update" in worker.request_snapshot().error
    assert good.n <= worker.request_snapshot().n < 505
    kept = worker.read(TrainingRun.model)
    assert np.isfinite(kept.rbm.W).all()
    worker.apply_knobs(learning_rate=0.01)
    worker.step(3)
    finished(worker, 3)


def test_a_schedule_that_has_ended_says_so_and_stops_until_it_is_raised(open_worker, toy):
    worker = open_worker(TrainingPlan(toy, 3), make_trainer("pcd", schedule="linear", iterations=10))
    worker.step(9)
    assert "zero after 10 updates" not in finished(worker, 9).warning
    worker.resume()
    wait(lambda: worker.request_snapshot().status == "finished", "the end of the schedule")
    shown = worker.request_snapshot()
    assert (shown.n, shown.ended) == (10, True)
    assert "zero after 10 updates" in shown.warning
    worker.apply_knobs(iterations=25)
    wait(lambda: worker.request_snapshot().n == 25, "the end of the longer schedule")
    assert worker.request_snapshot().status == "finished"


def test_a_run_of_several_chains_makes_its_samples_on_one_thread(model, monkeypatch):
    """By its processor time chunks are sized: with the chains elsewhere, each would be twice as long."""
    monkeypatch.setattr(interleave, "THREADS", 2)
    plan, gibbs = SamplingPlan(model), make_sampler("gibbs", n_chains=8)
    elsewhere = gibbs.step(gibbs.init(model, plan.seed), 100)
    monkeypatch.setattr(interleave, "_pool", lambda process: pytest.fail("on the pool of the chains"))
    run = SamplingRun(1, plan, gibbs)
    run.prepare()
    assert (run.timed_advance(100).v == elsewhere.v).all()
