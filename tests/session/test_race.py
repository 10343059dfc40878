"""A page's panels: one clock, commands, late panels, undo, errors, memory, and fairness between pages."""

import math
import threading
import time

import numpy as np
import pytest
from waiting import wait, wait_for_pause

from rbmviz import RBM, BadInput, Model
from rbmviz.samplers import make_sampler, sample
from rbmviz.session import (
    Coupling,
    CouplingRun,
    CouplingSetup,
    LandscapeSetup,
    Race,
    SamplingPlan,
    SamplingRun,
    SamplingSetup,
    TrainingSetup,
    WeightSetup,
    memory,
)
from rbmviz.session import again as again_module
from rbmviz.session import panel as panel_module
from rbmviz.session import race as race_module
from rbmviz.session.pools import Pool
from rbmviz.trainers import make_trainer

FOUR = [make_sampler(name) for name in ("gibbs", "rates_fpcd", "rates_herding", "sample_penalization")]


@pytest.fixture
def page(open_race, model, toy, monkeypatch):
    """Four panels; no step is skipped, however slow the machine is."""
    monkeypatch.setattr(panel_module, "BACKLOG_SECONDS", 1e9)
    return open_race(SamplingSetup(model, toy, 4), *FOUR, rate=200.0)


def steps(page):
    return [shown.n for _, shown in page.poll()]


def held(page):
    return [panel.read(SamplingRun.held_samples)[1] for panel in page.panels]


def after(page, n):
    before = steps(page)[0]
    page.step(n)
    wait_for_pause(page, before + n)
    return held(page)


def run_for(page, seconds=0.3):
    """Let a page run until all panels have made steps, and pause it."""
    page.resume()
    wait(lambda: min(steps(page)) > 20, "steps")
    time.sleep(seconds)
    page.pause()
    wait_for_pause(page)


# The clock


def test_panels_are_in_step_through_pauses_rates_and_steps(page):
    for rate in (200.0, 40.0, 400.0):
        page.set_rate(rate)
        run_for(page)
        assert len(set(steps(page))) == 1
        page.step(7)
        before = steps(page)[0]
        wait_for_pause(page, before + 7)
    page.step([1, 2, 3, 4])
    wait(lambda: np.ptp(steps(page)) == 3, "a number of steps of its own for each panel")


def test_samples_are_those_of_the_sampler_at_any_pace(page, model, toy):
    run_for(page)
    n, start = steps(page)[0], page.setup.first_state()
    for v, sampler, (_, shown) in zip(held(page), FOUR, page.peek(), strict=True):
        want = sample(model, sampler, n, seed=4, v0=start, fast_norm=True)
        np.testing.assert_array_equal(v, want.v)
        newest = shown.newest_samples
        np.testing.assert_array_equal(np.unpackbits(newest.v, axis=1, count=5), want.v[-len(newest.v) :])
        np.testing.assert_array_equal(newest.p, np.rint(255 * want.p[-len(newest.p) :]))
        assert shown.sweeps == want.info["sweeps"].sum()
        assert shown.fast_norm == want.info.get("fast_norm", [None])[-1]


def test_at_full_speed_a_pause_leaves_each_panel_where_it_is_and_all_go_on_together(page):
    page.set_rate(math.inf)
    run_for(page)
    before = steps(page)
    page.set_rate(100.0)
    page.resume()
    wait(lambda: all(n > m + 10 for n, m in zip(steps(page), before, strict=True)), "steps of every panel")
    page.pause()
    wait_for_pause(page)
    assert len({n - m for n, m in zip(steps(page), before, strict=True)}) == 1


def test_late_panel_catches_up_and_stays_in_step(page):
    run_for(page)
    late = page.add(make_sampler("gibbs", k=2))
    wait(lambda: len(set(steps(page))) == 1, "the steps of the others")
    page.resume()
    page.add(make_sampler("gibbs", k=3))
    wait(
        lambda: np.ptp(steps(page)) == 0 and steps(page)[0] > 150, "the steps of the others, while they go on"
    )
    assert not late.catches_up


def test_panels_whose_clock_stands_do_no_work(page):
    run_for(page)
    wait(lambda: not page.works and page._queued_at == math.inf, "a page at rest")
    before = steps(page)
    time.sleep(0.2)
    assert steps(page) == before


def test_unwatched_page_sleeps_and_wakes_in_step(page, monkeypatch):
    monkeypatch.setattr(race_module, "LEASE_SECONDS", 0.2)
    page.resume()
    wait(lambda: min(steps(page)) > 10, "steps")
    wait(lambda: not page.works and not page.is_awake, "sleep")
    asleep = [shown.n for _, shown in page.peek()]
    time.sleep(0.2)
    assert [shown.n for _, shown in page.peek()] == asleep
    wait(lambda: min(steps(page)) > max(asleep), "steps again")


# Commands


def test_reset_removal_and_another_setup_are_undone_where_the_runs_were(page, model, toy):
    run_for(page)
    n, before = steps(page), held(page)
    for command in (page.reset, lambda: page.remove(1), lambda: page.change(SamplingSetup(model, toy, 5))):
        command()
        assert page.can_undo
        assert page.undo()
        wait_for_pause(page)
        assert steps(page) == n
        for v, w in zip(held(page), before, strict=True):
            np.testing.assert_array_equal(v, w)
    page.reset()
    assert [shown.run for _, shown in page.poll()] == [4, 4, 4, 4]  # two resets and a change were undone
    wait_for_pause(page, 0)
    for v, w in zip(after(page, n[0]), before, strict=True):
        np.testing.assert_array_equal(v, w)


def test_a_panel_that_is_closed_during_a_reset_stays_closed(page, monkeypatch):
    """Reset comes from a socket, and the button that closes a panel from Streamlit."""
    page.add(make_sampler("gibbs"))
    key, closes = page.panels[0].key, threading.Thread(target=lambda: page.remove(page.panels[0].key))
    read = page._same_again

    def read_and_close():
        wanted = read()
        closes.start()
        closes.join(0.2)  # it waits for the lock
        return wanted

    monkeypatch.setattr(page, "_same_again", read_and_close)
    page.reset()
    closes.join()
    assert key not in [panel.key for panel in page.panels]


def test_offer_to_undo_ends_and_keeps_no_memory(page, monkeypatch):
    monkeypatch.setattr(race_module, "UNDO_SECONDS", 0.1)
    page.reset()
    wait(lambda: page._undo is None, "the end of the offer")
    assert not page.undo()


def test_pause_amid_a_start_or_an_addition_stops_all_panels(page, model):
    for command in (page.resume, lambda: page.add(make_sampler("gibbs", k=2))):
        page.resume()
        pausing = threading.Thread(target=page.pause)
        pausing.start()
        command()
        pausing.join()
        page.pause()
        wait_for_pause(page)
        before = steps(page)
        time.sleep(0.1)
        assert steps(page) == before


def test_error_in_a_snapshot_is_shown_and_others_go_on(page, monkeypatch, caplog):
    after(page, 5)
    view, broken = SamplingRun.view, page.panels[0].run
    monkeypatch.setattr(
        SamplingRun, "view", lambda run, status: 1 / 0 if run is broken else view(run, status)
    )
    page.resume()
    wait(lambda: page.poll()[0][1].status == "failed", "the error")
    assert "ZeroDivisionError" in page.poll()[0][1].error
    wait(lambda: min(steps(page)[1:]) > 30, "samples of the others")


def test_job_that_fails_is_followed_by_another(page, monkeypatch, caplog):
    job, left = Race._job, [True]

    def failing(race):
        if left:
            left.pop()
            raise RuntimeError("once")
        return job(race)

    wait(lambda: not page.works, "rest")
    monkeypatch.setattr(Race, "_job", failing)
    page.step(5)
    wait_for_pause(page, 5)
    assert not left
    assert "once" in caplog.text


def test_thread_that_the_system_refuses_is_started_by_the_next_job(monkeypatch):
    start, refused, done = threading.Thread.start, [], []

    def refuse_once(thread):
        if not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    pool = Pool("test", 1)
    with pytest.raises(RuntimeError, match="new thread"):
        pool.submit(lambda: done.append(1))
    pool.submit(lambda: done.append(2))
    wait(lambda: done == [1, 2], "both jobs")


def test_knob_that_is_not_live_restarts_its_panel_alone(page):
    after(page, 30)
    page.apply_knobs(0, n_chains=3)
    wait(lambda: steps(page) == [30] * 4 and page.poll()[0][1].run == 2, "the steps again")
    assert [shown.run for _, shown in page.poll()] == [2, 1, 1, 1]
    with pytest.raises(BadInput, match="n_chains is not live"):
        page.set_live_knobs(0, n_chains=4)
    with pytest.raises(BadInput, match="no knob 'kk'"):
        page.apply_knobs(0, kk=4)


def test_failed_panel_says_why_others_go_on_and_a_knob_begins_it_anew(page, monkeypatch, caplog):
    step = FOUR[1].__class__.step
    monkeypatch.setattr(FOUR[1].__class__, "step", lambda *_: 1 / 0)
    run_for_others = page.resume
    run_for_others()
    wait(lambda: page.poll()[1][1].status == "failed", "the error")
    assert "ZeroDivisionError" in page.poll()[1][1].error
    wait(lambda: steps(page)[0] > 30, "steps of the others")
    monkeypatch.setattr(FOUR[1].__class__, "step", step)
    page.apply_knobs(1, eps=0.5)
    wait(lambda: page.poll()[1][1].n > 30, "steps of the new run")


def test_commands_from_many_threads_leave_a_page_in_step(page):
    commands = [page.resume, page.pause, page.step, page.reset, lambda: page.set_rate(300.0)]
    threads = [threading.Thread(target=lambda c=c: [c() for _ in range(20)]) for c in commands * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    page.pause()
    wait_for_pause(page)
    assert len(set(steps(page))) == 1


# Memory


def arrays(shown):
    """Return what identifies the steps of any kind of run."""
    found = [shown.n, getattr(shown, "sweeps", 0), getattr(shown, "curve", ())[-1:]]
    for name in ("visits", "trail"):
        found.append(getattr(shown, name, np.zeros(0)).tolist())
    if getattr(shown, "batch", None) is not None:
        found.append(shown.batch.log_weights.tolist())
    for pair in getattr(shown, "displayed_pairs", ()):
        found.append((pair.pair, pair.t, pair.v.tobytes(), pair.v2.tobytes(), pair.path))
    for rbm in getattr(shown, "models", ()):
        found.append(rbm.W.tobytes())
    return found


def setups(model, toy):
    yield "sampling", SamplingSetup(model, toy, 4), FOUR[1], {"eps": 0.5}
    yield "landscape", LandscapeSetup(model, 2), FOUR[0], {"temperature": 2.0}
    yield "weights", WeightSetup(model, toy, 1), make_trainer("pop_cd"), {"k": 3}
    yield "coupling", CouplingSetup(model.rbm, toy, 1), Coupling(), {"scale": 0.5}
    yield "training", TrainingSetup(toy, 4, 1, 2), make_trainer("pcd"), {"k": 3}


@pytest.mark.parametrize("kind", ["sampling", "landscape", "weights", "coupling", "training"])
def test_freed_runs_repeat_their_steps_to_the_same_bits(open_race, model, toy, kind):
    [(_, setup, algorithm, knobs)] = [one for one in setups(model, toy) if one[0] == kind]
    page = open_race(setup, algorithm)
    for _ in range(2):
        page.step(40)
        wait(lambda: page.poll()[0][1].status == "paused" and page.poll()[0][1].n % 40 == 0, "steps")
        page.apply_knobs(0, **knobs)
    wait_for_pause(page, 80)
    before = page.poll()[0][1]
    page.close()  # while it is open the run is repeated at once, on a busy machine before anybody looks
    page.free()
    wait(lambda: page.panels[0].is_freed, "the memory")
    shown = page.peek()[0][1]
    assert not any(getattr(shown, name, ()) for name in ("displayed_pairs", "batch", "models"))
    assert kind != "sampling" or not len(shown.newest_samples.v)
    with pytest.raises(BadInput, match="are being repeated"):
        page[0].read(lambda run: None)
    page.open()
    wait(lambda: not page.panels[0].is_freed, "the steps again")
    wait_for_pause(page, 80)
    assert arrays(page.poll()[0][1])[2:] == arrays(before)[2:] or kind == "sampling"
    page.step(5)
    wait_for_pause(page, 85)
    if kind == "sampling":
        log = page[0].read(SamplingRun.run_log)
        assert [n for n, _ in log.changes] == [0, 40]


def test_commands_that_come_while_a_run_is_freed_take_effect_after_it(open_worker, model):
    one = open_worker(SamplingPlan(model, 5), make_sampler("rates_fpcd", eps=0.1))
    one.step(21)
    wait_for_pause(one.race, 21)
    one.race.close()
    one.race.free()
    one.apply_knobs(eps=0.5)
    one.step(9)
    assert one.peek().n == 21
    one.race.open()
    wait_for_pause(one.race, 30)
    changes = one.read(SamplingRun.run_log).changes
    assert [(n, knobs["eps"]) for n, knobs in changes] == [(0, 0.1), (21, 0.5)]


def test_freed_run_says_how_far_it_is_and_begins_again_if_it_is_freed_amid(page, monkeypatch):
    want = after(page, 21)
    advance, go = SamplingRun.advance, threading.Event()

    def slow(run, n):
        return advance(run, n if go.is_set() else min(n, 1))

    def shares():
        return [shown.rebuilt for _, shown in page.poll()]

    monkeypatch.setattr(SamplingRun, "advance", slow)
    monkeypatch.setattr(race_module, "CHUNK_SECONDS", 0.0)
    for _ in range(2):
        page.free()
        page.wake()
        wait(lambda: 0 < min(shares()) < 1, "a part of the steps")
        assert {shown.status for _, shown in page.poll()} == {"rebuilding"}
    go.set()
    wait_for_pause(page, 21)
    for v, w in zip(held(page), want, strict=True):
        np.testing.assert_array_equal(v, w)


def test_failed_run_and_one_with_too_many_changes_keep_their_memory(page, monkeypatch):
    monkeypatch.setattr(again_module, "MAX_CHANGES", 3)
    for eps in (0.1, 0.2, 0.3, 0.4):
        page.apply_knobs(1, eps=eps)
        want = after(page, 5)
    page.panels[0].error = "It has diverged."
    page.close()
    page.free()
    assert [panel.is_freed for panel in page.panels] == [False, False, True, True]
    for i in (0, 1):
        np.testing.assert_array_equal(page[i].read(SamplingRun.held_samples)[1], want[i])
    with pytest.raises(BadInput, match="more than 3 times"):
        page[1].read(SamplingRun.run_log)


def test_counted_pairs_come_back_while_paused(open_worker, model):
    one = open_worker(CouplingSetup(model.rbm), Coupling(scale=0.3))
    one.resume()
    wait(lambda: one.request_snapshot().displayed_pairs, "pairs")
    wait(lambda: one.request_snapshot().displayed_pairs[0].counted.n > 1500, "more pairs")
    one.pause()
    wait_for_pause(one.race)
    counted = one.read(CouplingRun.request_results).pairs
    one.free()
    one.open()
    wait(lambda: not one.is_freed and one.request_snapshot().status == "paused", "the run")

    def again():
        return zip(one.read(CouplingRun.request_results).pairs, counted, strict=True)

    wait(lambda: all(now.n >= was.n for now, was in again()), "as many pairs")
    for now, was in again():
        np.testing.assert_array_equal(now.tau[: was.n], was.tau)
        np.testing.assert_array_equal(now.unbiased[: was.n], was.unbiased)


def test_closed_page_is_freed_after_a_while_unless_it_is_opened(page, monkeypatch):
    monkeypatch.setattr(race_module, "RELEASE_SECONDS", 0.2)
    run_for(page)
    n = steps(page)
    page.close()
    page.open()
    time.sleep(0.4)
    assert not any(panel.is_freed for panel in page.panels)
    page.resume()
    page.close()
    wait(lambda: all(panel.is_freed for panel in page.panels), "the memory")
    assert all(not len(shown.newest_samples.v) for _, shown in page.peek())
    page.open()
    wait(lambda: min(steps(page)) > max(n) + 20, "the runs, which go on where they were")
    page.pause()
    wait_for_pause(page)
    assert len(set(steps(page))) == 1


def test_trainings_are_kept_for_a_while_and_then_gone(open_race, toy, monkeypatch):
    monkeypatch.setattr(race_module, "RELEASE_SECONDS", 0.0)
    page = open_race(TrainingSetup(toy, 4), make_trainer("cd"))
    page.step(10)
    wait_for_pause(page, 10)
    page.close()
    time.sleep(0.2)
    page.open()
    assert (page.lost, steps(page)) == (False, [10])
    monkeypatch.setattr(TrainingSetup, "kept_seconds", 0.1)
    page.close()
    wait(lambda: page.lost, "the end of the training")
    time.sleep(0.3)
    assert (page.lost, page.closed_at is None) == (True, False)
    page.open()
    wait_for_pause(page, 0)


def test_training_goes_on_for_a_while_after_its_page_was_left(open_race, model, toy, monkeypatch):
    sampling = open_race(SamplingSetup(model, toy), FOUR[0])
    sampling.leave()
    assert not sampling.is_open
    assert sampling.closed_at is not None  # at once
    monkeypatch.setattr(race_module, "RELEASE_SECONDS", 1000.0)
    page = open_race(TrainingSetup(toy, 4), make_trainer("cd"), rate=100.0)
    page.resume()
    wait(lambda: steps(page)[0] > 5, "updates")
    page.leave()
    n = page.panels[0].run.n
    wait(lambda: page.panels[0].run.n > n + 10, "updates without a page")
    page.open()  # a reload
    assert page.is_open
    monkeypatch.setattr(race_module, "RELEASE_SECONDS", 0.1)
    page.leave()
    wait(lambda: page.closed_at is not None and not page.works, "the end of the updates")
    n = page.panels[0].run.n
    time.sleep(0.2)
    assert page.panels[0].run.n == n
    page.open()
    wait(lambda: steps(page)[0] > n, "updates again")


def test_panels_are_refused_when_memory_or_the_page_is_full(model, toy, monkeypatch):
    page = Race(SamplingSetup(model, toy), limited=True)
    for _ in range(3):
        page.add(FOUR[0])
    monkeypatch.setenv("RBMVIZ_PANELS", "3")
    with pytest.raises(BadInput, match="room for 3 panels: close one first"):
        page.add(FOUR[0])
    monkeypatch.setenv("RBMVIZ_PANELS", "4")
    used = memory.process_bytes()
    assert used > 50e6
    monkeypatch.setenv("RBMVIZ_SERVER_MB", str(int(used / 1e6 / 2)))
    with pytest.raises(BadInput, match=r"The server has 0 MB of memory left: close .* RBMVIZ_SERVER_MB"):
        page.add(FOUR[0])
    page.reset()  # takes no more panels
    assert len(page.panels) == 3
    page.close()


@pytest.mark.parametrize("has_state", [False, True])
def test_a_panel_that_finds_no_room_when_it_begins_says_so(model, toy, monkeypatch, has_state):
    """When panels are added together, the memory of the first is not taken yet when the last is added."""
    page = Race(SamplingSetup(model, toy), limited=True)
    if has_state:
        page.add(FOUR[0])
        wait(lambda: page.poll()[0][1].status == "paused", "a state")
    monkeypatch.setattr(race_module, "check_room", lambda: None)
    monkeypatch.setenv("RBMVIZ_SERVER_MB", "1")
    if not has_state:
        page.add(FOUR[0])
    page.step()
    wait(lambda: page.poll()[0][1].status == "failed", "a refusal")
    assert str(page.panels[0].error).startswith("The server has 0 MB of memory left: close a panel,")
    page.reset()  # takes no more
    wait(lambda: page.poll()[0][1].status == "paused", "a state")
    page.close()


# Several pages


@pytest.mark.slow  # measures a rate, which a busy machine does not give
def test_paced_page_keeps_its_samples_beside_pages_at_full_speed(open_race, model, toy):
    full = [open_race(SamplingSetup(model, toy), *FOUR) for _ in range(3)]
    paced = open_race(SamplingSetup(model, toy), *FOUR, rate=60.0)
    for page in (*full, paced):
        page.resume()
    wait(lambda: min(steps(paced)) > 30, "a start")
    begin, first = time.monotonic(), steps(paced)[0]
    while time.monotonic() - begin < 2:
        for page in (*full, paced):
            page.poll()
        time.sleep(0.02)
    made = steps(paced)[0] - first
    passed = time.monotonic() - begin
    assert made > 0.5 * 60 * passed  # on a machine that others load, too
    assert min(min(steps(page)) for page in full) > 0


def test_pool_does_jobs_in_the_order_in_which_they_are_due():
    pool, done = Pool("test", 1), []
    now = time.monotonic()
    pool.submit(lambda: done.append("late"), now + 0.2)
    pool.submit(lambda: done.append("first"), now + 0.05)
    pool.submit(lambda: 1 / 0, now + 0.1)
    pool.submit(lambda: done.append("second"), now + 0.1)
    wait(lambda: len(done) == 3, "three jobs, in spite of the one that failed")
    assert done == ["first", "second", "late"]


def test_another_model_mends_a_page(open_race, model, toy):
    other = Model(RBM(np.zeros((5, 2)), np.zeros(5), np.zeros(2)))
    page = open_race(SamplingSetup(other), FOUR[1])
    wait(lambda: page.poll()[0][1].status == "failed", "no rates")
    page.change(SamplingSetup(model, toy))
    page.step(3)
    wait_for_pause(page, 3)
    assert isinstance(page.panels[0].plan, SamplingPlan)
