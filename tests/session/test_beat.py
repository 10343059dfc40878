"""Panels that go at a rate: one thread for all of a page, snapshots where somebody looks, batched scores."""

import itertools
import threading
import time

import numpy as np
import pytest
from waiting import PATIENCE, wait, wait_for_pause

from rbmviz.metrics import ISL
from rbmviz.samplers import Samples, make_sampler, sample
from rbmviz.session import SamplingPlan, SamplingRun, SamplingSetup
from rbmviz.session import worker as worker_module
from rbmviz.session.scheduler import Page
from rbmviz.session.scores import Scores

NAMES = ("gibbs", "rates_fpcd", "sample_penalization")


@pytest.fixture
def comparison(open_comparison, model, toy):
    """Panels that beats drive."""
    made = open_comparison(SamplingSetup(model, toy, seed=4), *map(make_sampler, NAMES), rate=200.0)
    made.resume()
    wait(lambda: driven(made), "beats")
    return made


def driven(comparison):
    comparison.poll()
    return comparison.beating


def test_one_thread_drives_all_panels_to_the_same_samples(comparison, model, monkeypatch):
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)  # on a busy machine, too
    beats, beat, advance = [], Page._beat, SamplingRun.advance

    def noted_beat(page):
        beats.append([])
        beat(page)

    def noted(run, n):
        beats[-1].append((run, threading.current_thread().name))
        return advance(run, n)

    comparison._page._task.work = lambda: noted_beat(comparison._page)
    wait(lambda: comparison.poll() and beats, "a beat")
    monkeypatch.setattr(SamplingRun, "advance", noted)
    wait(
        lambda: comparison.poll() and sum(len({run for run, _ in b}) == len(NAMES) for b in beats) > 5, "six"
    )
    assert {name for b in beats for _, name in b} == {"rbmviz-paced"}
    comparison.pause()
    wait_for_pause(comparison)
    for panel, name in zip(comparison.panels, NAMES, strict=True):
        first, v = panel.worker.read(SamplingRun.held_samples)
        start = comparison.setup.first_state()
        want = sample(model, make_sampler(name), len(v), seed=4, v0=start).v
        assert first == 0
        np.testing.assert_array_equal(v, want)


def test_a_panel_leaves_the_beats_for_full_speed_and_comes_back(comparison):
    comparison.set_rate(np.inf)
    wait(lambda: comparison.poll() and not comparison._page.drives(1), "units of their own")
    assert not comparison.beating
    comparison.set_rate(200.0)
    wait(lambda: driven(comparison), "beats again")


def test_a_panel_whose_chunks_wait_for_a_core_stays_on_the_beat(comparison, monkeypatch):
    update = Scores.update

    def late(scores, samples):
        threading.Event().wait(0.005)
        update(scores, samples)

    monkeypatch.setattr(Scores, "update", late)
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)  # on a busy machine, too
    n = comparison.poll()[0][1].n
    wait(lambda: comparison.poll()[0][1].n > n + 100, "samples")
    assert comparison.beating


def test_the_end_of_a_beat_is_told_after_all_of_its_panels(comparison, monkeypatch):
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)  # on a busy machine, too
    happened, work, page = [], worker_module.Worker.work, comparison._page

    def noted(worker):
        work(worker)
        happened.append((page._tick, worker))

    monkeypatch.setattr(worker_module.Worker, "work", noted)
    panels = {panel.worker for panel in comparison.panels}

    def beats():
        by_tick = itertools.groupby(happened.copy(), key=lambda tick_who: tick_who[0])
        return [[who for _, who in of_one_tick] for _, of_one_tick in by_tick]

    def whole():
        return [who for who in beats() if set(who) == panels | {"ended"}]

    with comparison.listening(lambda: happened.append((page._tick, "ended"))):
        wait(lambda: comparison.poll() and len(whole()) > 3, "beats of all panels")
    told = [who for who in beats() if "ended" in who]
    assert all(who.index("ended") == len(who) - 1 for who in told)
    n = comparison.poll()[0][1].n
    wait(lambda: comparison.poll()[0][1].n > n + 30, "beats after it")
    assert sum("ended" in who for who in beats()) <= len(told) + 1  # one may have been under way


def test_a_rate_of_nothing_makes_nothing(comparison):
    comparison.set_rate(0.0)
    n = [shown.n for _, shown in comparison.poll()]
    comparison.step(2)
    wait_for_pause(comparison)
    assert [shown.n for _, shown in comparison.poll()] >= [count + 2 for count in n]


def test_an_error_on_the_beat_fails_its_panel_alone(comparison, monkeypatch, caplog):
    advance = SamplingRun.advance

    def broken(run, n):
        if run.algorithm.name == "gibbs":
            raise ZeroDivisionError("deep inside")
        return advance(run, n)

    monkeypatch.setattr(SamplingRun, "advance", broken)
    wait(lambda: comparison.poll()[0][1].status == "failed", "a failure")
    n = comparison.poll()[1][1].n
    wait(lambda: comparison.poll()[1][1].n > n, "samples of the others")
    failed = comparison.poll()[0][1]
    assert "deep inside" in failed.error
    # It never catches up: it is named as failed, where a panel that is late says when it joins.
    monkeypatch.setattr(type(comparison.panels[0].worker), "caught_up_to", failed.n + 1000)
    assert comparison.at_common_point(comparison.peek())[0][1].compared.failed
    assert not comparison.at_common_point(comparison.peek())[0][1].compared.catching_up


def test_an_error_that_cannot_even_be_shown_leaves_the_other_panels_alone(comparison, monkeypatch, caplog):
    def broken():
        raise ZeroDivisionError("in the snapshot of an error")

    monkeypatch.setattr(comparison.panels[0].worker, "work", broken)
    wait(lambda: "a run has left its beat" in caplog.text, "a line in the log")
    n = comparison.poll()[1][1].n
    wait(lambda: comparison.poll()[1][1].n > n, "samples of the others")


def test_snapshots_are_made_where_somebody_looks(comparison, monkeypatch):
    monkeypatch.setattr(worker_module, "WATCHED_SECONDS", 0.0)
    made, view = [], SamplingRun.view
    monkeypatch.setattr(SamplingRun, "view", lambda run, status: made.append(run) or view(run, status))
    worker = comparison.panels[0].worker
    n = worker.read(lambda run: run.n)
    made.clear()
    wait(lambda: worker.read(lambda run: run.n) > n + 20, "samples that nobody looks at")
    assert not made
    # Who looks now sees what there is now.
    assert worker.peek().n > n + 20
    assert len(made) == 1
    comparison.pause()
    wait(
        lambda: worker.read(lambda run: run.n) == worker.peek().n == worker.request_snapshot().n,
        "the last one",
    )


def test_who_begins_to_look_amid_the_last_chunk_sees_its_steps(open_worker, model, monkeypatch):
    worker = open_worker(SamplingPlan(model), make_sampler("gibbs"))
    wait(lambda: worker.request_snapshot().status == "paused", "a panel")
    monkeypatch.setattr(worker_module, "WATCHED_SECONDS", -1.0)
    advance, held, go = SamplingRun.advance, threading.Event(), threading.Event()

    def slow(run, n):
        held.set()
        assert go.wait(PATIENCE)
        return advance(run, n)

    monkeypatch.setattr(SamplingRun, "advance", slow)
    worker.step()
    assert held.wait(PATIENCE)
    worker.request_snapshot()
    go.set()
    wait(lambda: worker.read(lambda run: run.n) == 1, "the sample")
    monkeypatch.setattr(worker_module, "WATCHED_SECONDS", 1e6)
    wait(lambda: worker.request_snapshot().n == 1, "the sample in a snapshot")


def test_scores_that_wait_are_complete_in_a_pause(open_worker, model, toy, monkeypatch):
    monkeypatch.setattr("rbmviz.session.scores.SCORE_SECONDS", 1e6)
    worker = open_worker(SamplingPlan(model, seed=5, dataset=toy), make_sampler("gibbs"))
    worker.step(37)
    wait(
        lambda: worker.request_snapshot().n == 37 and worker.request_snapshot().status == "paused", "a pause"
    )
    assert worker.request_snapshot().occupancy.sum() + worker.request_snapshot().blanks.sum() == 37


def test_the_newest_value_is_for_those_who_look(model, toy, monkeypatch):
    monkeypatch.setattr("rbmviz.session.scores.SCORE_SECONDS", 0.0)
    monkeypatch.setattr("rbmviz.session.scores.SCORE_SHARE", 1e9)
    run = SamplingPlan(model, seed=5, dataset=toy).run(1, make_sampler("gibbs"))
    run.prepare()
    run.watched = False
    while run.n < 60:
        run.record_steps(run.advance(min(run.max_steps(), 60 - run.n)))
    shown = run.view("running")
    assert shown.newest == shown.curve[-1]
    assert shown.newest.n < 60
    run.complete()
    v = sample(model, make_sampler("gibbs"), 60, seed=5).v
    shown = run.view("paused")
    assert (shown.newest.n, shown.newest.isl) == (60, ISL(toy.test, toy.validation).update(v).value().isl)
    assert shown.occupancy.sum() + shown.blanks.sum() == 60
    run.watched = True
    run.record_steps(run.advance(1))
    assert run.view("running").newest.n == 61


def test_snapshots_share_what_has_not_changed_and_join_means_when_asked(model, toy):
    run = SamplingPlan(model, seed=5, dataset=toy).run(1, make_sampler("gibbs"))
    run.prepare()
    parts = 100, 60, 0, 30
    for n in parts:
        run.record_steps(run.advance(n))
    run.complete()
    shown, again = run.view("paused"), run.view("paused")
    assert (again.occupancy is shown.occupancy, again.blanks is shown.blanks) == (True, True)
    p = sample(model, make_sampler("gibbs"), sum(parts), seed=5).p
    np.testing.assert_array_equal(shown.newest_samples.p, np.rint(p[-144:] * 255))
    assert [len(part) for part in shown.newest_samples.means] == [100, 60, 0, 30]
    run.record_steps(run.advance(60))
    assert [len(part) for part in run.view("running").newest_samples.means] == [60, 0, 30, 60]


def test_blank_samples_are_in_no_class_of_a_bin(toy):
    scores = Scores(toy, "binary")
    v = np.zeros((200, 5), np.uint8)
    v[:30, 4] = v[-30:] = 1
    scores.update(Samples(v, v.astype(np.float32), {}))
    assert (scores.bin_width, scores.covered.blank) == (2, 0.7)
    np.testing.assert_array_equal(scores.occupancy.sum(axis=0), [30, 30])
    np.testing.assert_array_equal(scores.occupancy.sum(axis=1) + scores.blanks, np.full(100, 2))
    assert scores.blanks.sum() == 140


def test_what_waits_to_be_scored_is_bounded(model, toy):
    scores = Scores(toy, "binary")
    samples = sample(model, make_sampler("gibbs"), 7, seed=1)
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        scores.update(samples)
        assert sum(map(len, scores._not_covered)) < 64 + len(samples.v)


def test_who_wakes_a_run_sees_what_it_did_before_it_slept(open_comparison, model, toy, monkeypatch):
    monkeypatch.setattr(worker_module, "WATCHED_SECONDS", 0.0)
    monkeypatch.setattr(worker_module, "LEASE_SECONDS", 0.3)
    comparison = open_comparison(SamplingSetup(model, toy), make_sampler("gibbs"), rate=200.0)
    worker = comparison.panels[0].worker
    comparison.resume()
    wait(lambda: comparison.poll()[0][1].n > 5, "samples")
    wait(lambda: worker._asleep() and not comparison.beating and not worker._at_work, "sleep")
    n = worker.read(lambda run: run.n)
    assert worker.request_snapshot().n == n > 5
