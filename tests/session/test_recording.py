"""Runs whose recorded beginning is shown while they are prepared: the join, and what ends a recording."""

import itertools
import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz import BadInput
from rbmviz.samplers import make_sampler
from rbmviz.session import Comparison, SamplingRun, SamplingSetup
from rbmviz.session.recording import Recording, read_recordings, write_recordings
from rbmviz.session.worker import Worker

N, RATE = 300, 200.0
NAMES = ("gibbs", "rates_fpcd")


@pytest.fixture
def setup(model, toy):
    return SamplingSetup(model, toy, seed=4)


@pytest.fixture
def recordings(setup, tmp_path):
    """The recordings of both samplers, as a file holds them."""
    made = [Recording.of(SamplingRun(1, setup.plan(), make_sampler(name)), N) for name in NAMES]
    write_recordings(tmp_path / "recorded.npz", made)
    return read_recordings(tmp_path / "recorded.npz")


@pytest.fixture
def compiled(recordings, monkeypatch):
    """An event that every run waits for before it is prepared, as for the compiler."""
    ready, prepare = threading.Event(), SamplingRun.prepare

    def slow(run):
        assert ready.wait(PATIENCE)
        prepare(run)

    monkeypatch.setattr(SamplingRun, "prepare", slow)
    yield ready
    ready.set()


@pytest.fixture
def open_recorded(setup, compiled, recordings):
    """Open a comparison that shows recordings, and runs."""
    made = []

    def make(recordings=recordings, setup=setup, run=True):
        comparison = Comparison(setup, RATE)
        made.append(comparison)
        for name in NAMES:
            comparison.add(make_sampler(name))
        comparison.show_recordings(recordings)
        if run:
            comparison.resume()
        return comparison

    yield make
    compiled.set()
    for comparison in made:
        comparison.close()
        for panel in comparison.panels:
            panel.worker.join(PATIENCE)


def statuses(comparison):
    return {shown.status for _, shown in comparison.poll()}


def test_a_recording_is_how_the_run_goes_on(open_recorded, compiled, setup):
    comparison = open_recorded()
    seen = {0: [], 1: []}

    def look():
        for key, shown in comparison.poll():
            seen[key].append(shown)
        return [shown for _, shown in comparison.poll()]

    wait(lambda: all(shown.n > 50 for shown in look()), "a part of the recordings")
    assert statuses(comparison) == {"recorded"}
    compiled.set()
    wait(lambda: all(shown.status == "running" and shown.n > N for shown in look()), "live chains")
    for key, name in enumerate(NAMES):
        counts = [shown.n for shown in seen[key]]
        assert counts == sorted(counts)
        assert {shown.run for shown in seen[key]} == {1}
        scored = [len(shown.counts) for shown in seen[key] if shown.n < N]
        assert scored == sorted(scored)
        joined = next(shown for shown in seen[key] if shown.status == "running")
        alone = SamplingRun(1, setup.plan(), make_sampler(name))
        alone.prepare()
        want = alone.algorithm.step(alone.algorithm.init(setup.model, 4, alone.plan.v0[0]), joined.n).v
        for shown in (joined, next(one for one in seen[key] if one.n > 20)):
            np.testing.assert_array_equal(
                np.unpackbits(shown.newest_samples.v, axis=1, count=5),
                want[: shown.n][-len(shown.newest_samples.v) :],
            )


def test_the_snapshot_is_there_when_a_run_takes_over(open_recorded, compiled, monkeypatch):
    """Whoever asks at this very moment, without a lock, must not get an older one."""
    found = []

    def note(worker, name, value):
        if name == "_recorded_start" and value is None and getattr(worker, name, None) is not None:
            found.append((worker._snapshot.status, worker._snapshot.n - worker._run.n))
        object.__setattr__(worker, name, value)

    comparison = open_recorded()
    wait(lambda: all(shown.n > 20 for _, shown in comparison.poll()), "a part of the recordings")
    monkeypatch.setattr(Worker, "__setattr__", note)
    compiled.set()
    wait(lambda: statuses(comparison) == {"running"}, "live chains")
    assert found == [("running", 0)] * 2


def test_what_is_shown_is_what_the_run_shows(recordings, setup):
    """All numbers and pictures of a snapshot, at every number of samples."""
    for name in NAMES:
        run, recording = SamplingRun(1, setup.plan(), make_sampler(name)), recordings[name]
        run.prepare()
        while run.n < N:
            run.record_steps(run.timed_advance(1))
            run.complete()
            live, shown = run.view("running"), recording.view(run.n, 1, run.algorithm)
            for field in ("n", "sweeps", "switches", "visited", "blank", "bin_width"):
                if field in ("n", "sweeps", "bin_width") or shown.counts[-1].n == run.n:
                    assert getattr(shown, field) == getattr(live, field), (field, run.n)
            np.testing.assert_array_equal(shown.newest_samples.v, live.newest_samples.v)
            np.testing.assert_array_equal(shown.occupancy, live.occupancy)
            assert [one.n for one in shown.curve] == [one.n for one in live.curve]
            assert [one.isl for one in shown.curve] == [one.isl for one in live.curve]
            assert shown.counts == tuple(one._replace(ink=math.nan) for one in live.counts)
            assert [one.spent.sweeps for one in shown.curve] == [one.spent.sweeps for one in live.curve]
            assert shown.fast_norm == (live.fast_norm and pytest.approx(live.fast_norm, rel=1e-6))


@pytest.mark.parametrize("planted", ["sample", "score"])
def test_a_run_that_differs_is_seen_to_begin_anew(open_recorded, compiled, recordings, planted, caplog):
    wrong = recordings["gibbs"]
    if planted == "sample":
        v = wrong.v.copy()
        v[40] ^= 0b10000000
        wrong = replace(wrong, v=v)
    else:
        wrong = replace(wrong, scores=wrong.scores + np.array([0.01, 0, 0]))
    comparison = open_recorded(recordings | {"gibbs": wrong})
    wait(lambda: all(shown.n > 50 for _, shown in comparison.poll()), "a part of the recordings")
    compiled.set()
    wait(lambda: statuses(comparison) == {"running"}, "live chains")
    wait(lambda: comparison.poll()[0][1].n > 60, "samples that come after the recorded ones")
    assert [shown.run for _, shown in comparison.poll()] == [2, 1]
    assert "A recording was shown of a run that is another one here." in caplog.text


@pytest.mark.parametrize("how", ["dragged", "let go", "full speed", "reset"])
def test_a_command_for_another_run_ends_the_recording(open_recorded, compiled, how):
    comparison = open_recorded()
    wait(lambda: all(shown.n > 20 for _, shown in comparison.poll()), "a part of the recordings")
    turn = {
        "dragged": lambda: comparison.set_live_knobs(1, eps=0.1),
        "let go": lambda: comparison.apply_knobs(1, eps=0.1),
        "full speed": lambda: comparison.set_rate(float("inf")),
        "reset": comparison.reset,
    }
    turn[how]()
    gibbs, turned = (shown for _, shown in comparison.poll())
    assert (turned.status, turned.run, turned.n) == ("starting", 2, 0)
    assert gibbs.status == ("starting" if how in ("full speed", "reset") else "recorded")
    compiled.set()
    wait(lambda: statuses(comparison) == {"running"}, "live chains")
    shown = [shown for _, shown in comparison.poll()]
    if how in ("dragged", "let go"):
        assert [one.run for one in shown] == [1, 2]
        wait(lambda: comparison.poll()[1][1].n > 100, "the steps of the others")
        assert comparison.panels[1].worker.read(SamplingRun.run_log).changes[0][1]["eps"] == 0.1


def test_a_knob_that_is_where_it_was_ends_nothing(open_recorded):
    comparison = open_recorded()
    comparison.set_live_knobs(1, eps=0.03)
    comparison.apply_knobs(1, eps=0.03)
    assert statuses(comparison) == {"recorded"}


def test_a_pause_and_a_step_are_kept_at_the_join(open_recorded, compiled):
    comparison = open_recorded()
    wait(lambda: all(shown.n > 20 for _, shown in comparison.poll()), "a part of the recordings")
    comparison.pause()
    comparison.step(2)
    [n] = {shown.n for _, shown in comparison.poll()}
    assert statuses(comparison) == {"recorded"}
    compiled.set()
    wait(lambda: statuses(comparison) == {"paused"}, "a pause")
    assert {shown.n for _, shown in comparison.poll()} == {n}


@pytest.mark.parametrize("command", ["pause", "set_rate", "step"])
def test_recordings_stay_in_step_however_long_a_command_takes(open_recorded, monkeypatch, command):
    comparison = open_recorded()
    wait(lambda: all(shown.n > 20 for _, shown in comparison.poll()), "a part of the recordings")
    commands = {
        "pause": comparison.pause,
        "set_rate": lambda: (comparison.set_rate(30), comparison.pause()),
        "step": comparison.step,
    }
    with monkeypatch.context() as patch:
        now, looks = time.monotonic(), itertools.count()
        patch.setattr(time, "monotonic", lambda: now + 2 * next(looks) / RATE)
        commands[command]()
    assert len({shown.n for _, shown in comparison.poll()}) == 1


def test_a_recording_goes_on_where_it_was_paused(open_recorded, monkeypatch):
    comparison = open_recorded()
    wait(lambda: all(shown.n > 20 for _, shown in comparison.poll()), "a part of the recordings")
    with monkeypatch.context() as patch:
        now = time.monotonic()
        patch.setattr(time, "monotonic", lambda: now)
        comparison.pause()
        [n] = {shown.n for _, shown in comparison.poll()}
        now += 0.5
        comparison.resume()
        assert {shown.n for _, shown in comparison.poll()} == {n}


def test_a_recording_that_waits_for_play_gives_way(open_recorded, compiled):
    comparison = open_recorded(run=False)
    assert statuses(comparison) == {"recorded"}
    compiled.set()
    wait(lambda: statuses(comparison) == {"paused"}, "prepared chains")
    assert {(shown.run, shown.n) for _, shown in comparison.poll()} == {(1, 0)}


def test_a_recording_ends_with_its_last_sample(open_recorded, compiled):
    comparison = open_recorded()
    wait(lambda: all(shown.n == N for _, shown in comparison.poll()), "the ends of the recordings")
    assert statuses(comparison) == {"recorded"}
    compiled.set()
    wait(lambda: all(shown.n > N for _, shown in comparison.poll()), "later samples")
    assert {shown.run for _, shown in comparison.poll()} == {1}


def test_another_run_has_no_recording(open_recorded, recordings, setup, model):
    for other in (
        setup._replace(seed=5),
        setup._replace(start_from="random"),
        setup._replace(dataset=replace(setup.dataset, validation=1 - setup.dataset.validation)),
        setup._replace(dataset=None),
    ):
        assert statuses(open_recorded(setup=other)) == {"starting"}
    plan = setup.plan()
    assert recordings["gibbs"].is_of(plan, make_sampler("gibbs"))
    assert not recordings["gibbs"].is_of(plan, make_sampler("gibbs", k=2))
    with pytest.raises(BadInput, match="Only the run of one chain"):
        Recording.of(SamplingRun(1, plan, make_sampler("gibbs", n_chains=2)), 3)


def test_a_failed_run_shows_no_recording(open_recorded, compiled, monkeypatch):
    def fails(*args, **kwargs):
        raise BadInput("no memory")

    comparison = open_recorded()
    monkeypatch.setattr(type(make_sampler("gibbs")), "init", fails)
    compiled.set()
    wait(lambda: comparison.poll()[0][1].status == "failed", "the failure")
    assert comparison.poll()[0][1].error == "no memory"
