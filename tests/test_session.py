"""The worker, its snapshots and log, and races of several workers."""

import itertools
import threading
import time

import numpy as np
import pytest

from rbmviz import RBM, BadInput, Model
from rbmviz.datasets import Dataset
from rbmviz.metrics import ISL
from rbmviz.samplers import make_sampler, sample
from rbmviz.session import Race, Setting, Worker, replay
from rbmviz.session import worker as worker_module

PATIENCE = 20.0


def wait(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.005)


@pytest.fixture
def toy() -> Dataset:
    g = np.random.default_rng(3)
    train, validation, test = (g.integers(0, 2, (n, 5), dtype=np.uint8) for n in (40, 11, 17))
    labels = train[:, 0].astype(np.int64)
    return Dataset("toy", train, validation, test, "drawn as bits", "none", labels, classes=("zero", "one"))


@pytest.fixture
def open_worker():
    """Make workers that are closed, and have ended, after the test."""
    made = []

    def make(*args, **kwargs):
        made.append(Worker(*args, **kwargs))
        made[-1].open()
        return made[-1]

    yield make
    for worker in made:
        worker.close()
        worker.join(PATIENCE)
    assert not [t for t in threading.enumerate() if t.name == "rbmviz-run"]


def unpacked(snapshot):
    return np.unpackbits(snapshot.frames.v, axis=1, count=snapshot.frames.n_visible)


def test_steps_are_exactly_the_samples_of_the_sampler(open_worker, model, toy):
    sampler = make_sampler("rates_fpcd", eps=0.1)
    worker = open_worker(model, sampler, seed=5, dataset=toy)
    for n in (1, 9, 20):
        worker.step(n)
    wait(lambda: worker.snapshot.n == 30, "thirty samples")
    wait(lambda: worker.snapshot.status == "paused", "a pause after the steps")
    want = sample(model, sampler, 30, seed=5)
    np.testing.assert_array_equal(unpacked(worker.snapshot), want.v)
    np.testing.assert_array_equal(worker.snapshot.frames.p, np.rint(want.p * 255))
    first, v = worker.kept()
    assert first == 0
    np.testing.assert_array_equal(v, want.v)
    assert worker.snapshot.sweeps == 30
    assert worker.snapshot.drift == want.info["drift"][-1]


def test_curve_points_are_those_of_the_metric_at_exact_counts(open_worker, model, toy):
    worker = open_worker(model, make_sampler("gibbs"), seed=5, dataset=toy)
    worker.step(50)
    wait(lambda: worker.snapshot.n == 50 and worker.snapshot.status == "paused", "fifty samples")
    curve = worker.snapshot.curve
    assert [point.n for point in curve][:5] == [1, 2, 3, 4, 5]
    assert all(a.seconds < b.seconds for a, b in itertools.pairwise(curve))
    v = sample(model, make_sampler("gibbs"), 50, seed=5).v
    for point in curve:
        score = ISL(toy.test, toy.validation).update(v[: point.n]).value()
        assert (point.isl, point.beta) == pytest.approx((score.isl, score.beta))
    occupancy = worker.snapshot.occupancy
    assert occupancy.sum() == 50
    assert occupancy.shape == (50, 2)


def test_occupancy_merges_its_stretches(open_worker, model, toy):
    worker = open_worker(model, make_sampler("gibbs"), dataset=toy)
    worker.step(1000)
    wait(lambda: worker.snapshot.n == 1000, "a thousand samples")
    snapshot = worker.snapshot
    assert snapshot.bin_width == 16  # the smallest power of two with 120 stretches or fewer
    assert (snapshot.occupancy.sum(axis=1)[:-1] == 16).all()
    assert snapshot.occupancy.sum() == 1000


def test_knobs_turned_in_a_run_can_be_replayed(open_worker, model):
    worker = open_worker(model, make_sampler("rates_fpcd", eps=0.0), seed=2)
    worker.resume()
    for eps in (0.5, 0.01, 1.0):
        seen = worker.snapshot.n
        wait(lambda seen=seen: worker.snapshot.n > seen, "samples")
        worker.tune(eps=eps)
        wait(lambda eps=eps: worker.snapshot.sampler.eps == eps, "the new knob in use")
    worker.pause()
    wait(lambda: worker.snapshot.status == "paused", "a pause")
    first, v = worker.kept()
    record = worker.record()
    assert [knobs["eps"] for _, knobs in record.changes] == [0.0, 0.5, 0.01, 1.0]
    again = np.concatenate([chunk.v for chunk in replay(record, model, first + len(v))])
    np.testing.assert_array_equal(again[first:], v)
    # Negative control: without the log the samples are others.
    other = sample(model, make_sampler("rates_fpcd", eps=0.0), len(again), seed=2).v
    assert (other != again).any()


def test_reset_repeats_the_run_and_another_seed_does_not(open_worker, model):
    worker = open_worker(model, make_sampler("gibbs"), seed=1)
    runs = []
    for seed in (1, 1, 2):
        worker.reset(seed)
        worker.step(40)
        wait(lambda: worker.snapshot.n == 40, "forty samples")
        runs.append((worker.snapshot.run, unpacked(worker.snapshot)))
    assert len({run for run, _ in runs}) == 3
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    assert (runs[0][1] != runs[2][1]).any()


def test_bad_knobs_are_refused_and_the_run_goes_on(open_worker, model):
    worker = open_worker(model, make_sampler("gibbs"))
    worker.resume()
    with pytest.raises(BadInput, match="1 to 100"):
        worker.tune(k=0)
    with pytest.raises(BadInput, match="did you mean 'temperature'"):
        worker.tune(temprature=2.0)
    seen = worker.snapshot.n
    wait(lambda: worker.snapshot.n > seen, "samples")


def test_a_failed_run_says_why_and_another_model_mends_it(open_worker, model):
    worker = open_worker(Model(model.rbm), make_sampler("rates_fpcd"))
    worker.resume()
    wait(lambda: worker.snapshot.status == "failed", "a failure")
    assert "rates" in worker.snapshot.error
    worker.swap_model(model, seed=0)
    wait(lambda: worker.snapshot.n > 0, "samples")
    assert worker.snapshot.error is None


def test_an_internal_error_is_shown_too(open_worker, model, monkeypatch, caplog):
    def broken(run, n):
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(worker_module.Run, "advance", broken)
    worker = open_worker(model, make_sampler("gibbs"))
    worker.step()
    wait(lambda: worker.snapshot.status == "failed", "a failure")
    assert "deep inside" in worker.snapshot.error
    assert "a run failed" in caplog.text
    monkeypatch.undo()
    worker.reset(seed=0)
    worker.step()
    wait(lambda: worker.snapshot.n == 1, "a sample after the reset")


def test_a_swap_to_a_model_of_another_size(open_worker, model):
    worker = open_worker(model, make_sampler("gibbs"))
    worker.resume()
    wait(lambda: worker.snapshot.n > 0, "samples")
    g = np.random.default_rng(0)
    worker.swap_model(Model(RBM(g.normal(0, 1, (9, 4)), np.zeros(9), np.zeros(4))), seed=0)
    wait(lambda: worker.snapshot.n > 0, "samples of the new model")
    assert worker.snapshot.frames.n_visible == 9


def test_a_run_ends_at_n_max(open_worker, model):
    worker = open_worker(model, make_sampler("gibbs"), n_max=77)
    worker.resume()
    wait(lambda: worker.snapshot.status == "finished", "the end")
    assert worker.snapshot.n == 77


def test_rate_and_pause_keep_races_in_step(model, toy):
    race = Race(Setting(model, toy, seed=4), rate=200.0)
    for name in ("gibbs", "rates_fpcd", "sample_penalization"):
        race.add(make_sampler(name))
    try:
        race.resume()
        wait(lambda: all(s.n > 20 for _, s in race.snapshots()), "samples in every panel")
        race.pause()
        wait(lambda: all(s.status == "paused" for _, s in race.snapshots()), "a pause")
        assert len({s.n for _, s in race.snapshots()}) == 1
        race.step(3)
        n = race.snapshots()[0][1].n
        wait(lambda: all(s.status == "paused" for _, s in race.snapshots()), "a pause")
        counts = {s.n for _, s in race.snapshots()}
        assert len(counts) == 1
        assert counts.pop() >= n
        starts = [panel.worker.record().start for panel in race.panels]
        assert all((start == starts[0]).all() for start in starts)
    finally:
        race.close()
        for panel in race.panels:
            panel.worker.join(PATIENCE)


def test_nobody_watching_means_nothing_computed(open_worker, model, monkeypatch):
    monkeypatch.setattr(worker_module, "LEASE_SECONDS", 0.2)
    worker = open_worker(model, make_sampler("gibbs"))
    worker.resume()
    wait(lambda: worker.snapshot.n > 0, "samples")
    time.sleep(0.5)
    n = worker.peek().n
    time.sleep(0.2)
    assert worker.peek().n == n
    wait(lambda: worker.snapshot.n > n, "samples after somebody looked again")


def test_closing_ends_the_thread_and_opening_takes_the_run_up(open_worker, model):
    worker = open_worker(model, make_sampler("gibbs"), seed=6)
    worker.step(10)
    wait(lambda: worker.snapshot.n == 10, "ten samples")
    worker.close()
    worker.join(PATIENCE)
    worker.step(10)
    worker.open()
    wait(lambda: worker.snapshot.n == 20, "ten more")
    np.testing.assert_array_equal(
        unpacked(worker.snapshot), sample(model, make_sampler("gibbs"), 20, seed=6).v
    )


def test_only_so_many_runs_compute_at_once(open_worker, model, monkeypatch):
    monkeypatch.setattr(worker_module, "SLOTS", threading.BoundedSemaphore(1))
    workers = [open_worker(model, make_sampler("gibbs"), seed=seed) for seed in range(3)]
    busy, most = [0], [0]
    real = worker_module.Run.advance

    def counted(run, n):
        busy[0] += 1
        most[0] = max(most[0], busy[0])
        samples = real(run, n)
        busy[0] -= 1
        return samples

    monkeypatch.setattr(worker_module.Run, "advance", counted)
    for worker in workers:
        worker.resume()
    wait(lambda: all(worker.snapshot.n > 100 for worker in workers), "samples of all")
    assert most[0] == 1
