"""Undo: what a reset, a closed panel or another setup has replaced comes back, within the limits."""

import time

import pytest
from waiting import wait, wait_for_pause

from rbmviz.samplers import make_sampler
from rbmviz.session import Comparison, SamplingRun, SamplingSetup, VisitorUsage
from rbmviz.session import comparison as comparison_module
from rbmviz.session import worker as worker_module


@pytest.fixture
def comparison(open_comparison, model, toy):
    """Two panels of a small model, 12 samples each, paused."""
    samplers = make_sampler("gibbs"), make_sampler("rates_fpcd", eps=0.1)
    made = open_comparison(SamplingSetup(model, toy, seed=4), *samplers)
    made.step(12)
    wait_for_pause(made, 12)
    return made


def kept(comparison):
    """Return the samples of the first two panels."""
    return [panel.worker.read(SamplingRun.held_samples)[1].tolist() for panel in comparison.panels[:2]]


def undone(comparison):
    """Undo, and wait until every panel is there again."""
    assert comparison.undo()
    wait(lambda: {s.status for _, s in comparison.poll()} == {"paused"}, "all panels")
    assert not comparison.can_undo


@pytest.mark.parametrize("freed", [False, True])
def test_a_reset_a_closed_panel_and_another_setup_can_be_undone(comparison, freed):
    first, second = comparison.panels
    before, setup = kept(comparison), comparison.setup

    def give_up():
        if freed:
            comparison.free_undo()
            assert comparison._undo_bytes() == 0

    comparison.reset()
    comparison.step(3)
    wait(lambda: [s.n for _, s in comparison.poll()] == [3, 3], "three other samples")
    give_up()
    undone(comparison)
    assert kept(comparison) == before
    comparison.remove(first.key)
    third = comparison.add(make_sampler("gibbs"))
    give_up()
    undone(comparison)
    assert comparison.panels == (first, second, third)
    comparison.remove(third.key)
    assert kept(comparison) == before
    comparison.change(setup._replace(seed=9))
    give_up()
    undone(comparison)
    assert (comparison.setup, kept(comparison)) == (setup, before)
    comparison.replace(setup, [make_sampler("gibbs", k=3)])
    give_up()
    undone(comparison)
    assert comparison.panels == (first, second)
    assert kept(comparison) == before
    # They go on as if nothing had happened, together with the others.
    comparison.resume()
    wait(lambda: all(s.n > 15 for _, s in comparison.poll()), "more samples")


def test_undo_comes_to_an_end_and_keeps_within_the_limits(comparison, monkeypatch):
    comparison.reset()
    assert comparison.can_undo
    assert comparison.bytes() > sum(panel.worker.bytes() for panel in comparison.panels)
    monkeypatch.setattr(comparison_module, "UNDO_SECONDS", -1)
    comparison.reset()
    assert not comparison.can_undo
    assert not comparison.undo()
    assert comparison.bytes() == sum(panel.worker.bytes() for panel in comparison.panels)


def test_what_can_be_undone_takes_no_memory_that_others_need(open_comparison, model, toy, monkeypatch):
    server = set()
    comparison = open_comparison(SamplingSetup(model, toy), visitor=VisitorUsage(server))
    visitor = next(iter(server))
    visitor.visit("sample", comparison)
    comparison.add(make_sampler("gibbs"))
    comparison.reset()
    assert comparison._undo_bytes() > 0
    monkeypatch.setattr(type(visitor), "has_room", lambda self: False)
    comparison.add(make_sampler("gibbs"))
    assert comparison.can_undo
    assert comparison._undo_bytes() == 0


def test_a_failed_run_comes_back_as_failed(comparison):
    worker = comparison.panels[0].worker
    with worker._lock:
        worker._publish(worker._run, "failed", "It has diverged.")
    comparison.reset()
    wait(lambda: [s.status for _, s in comparison.poll()] == ["paused"] * 2, "the new runs")
    assert comparison.undo()
    wait(lambda: comparison.poll()[1][1].n == 12, "the other panel")
    shown = comparison.poll()[0][1]
    assert (shown.status, shown.error, shown.n) == ("failed", "It has diverged.", 12)


def test_a_run_that_comes_back_has_missed_no_steps(comparison):
    """The run that replaced it may have begun late."""
    comparison.reset()
    comparison.step(40)
    wait(lambda: all(s.n == 40 and s.status == "paused" for _, s in comparison.poll()), "forty samples")
    comparison.apply_knobs(comparison.panels[0].key, n_chains=2)
    wait(lambda: all(s.n == 40 and s.status == "paused" for _, s in comparison.poll()), "forty again")
    undone(comparison)
    first = comparison.panels[0].worker
    assert not first.catching_up
    comparison.step(1)
    wait(lambda: all(s.n == 13 and s.status == "paused" for _, s in comparison.poll()), "one more sample")


def test_memory_that_another_visitor_needs_is_not_taken_from_a_run_that_just_came_back(
    comparison, monkeypatch
):
    first = comparison.panels[0].worker
    comparison.remove(comparison.panels[0].key)
    rest = first.rest

    def undone_meanwhile():
        comparison.undo()
        rest()

    monkeypatch.setattr(first, "rest", undone_meanwhile)
    comparison.free_undo()
    wait(lambda: [s.status for _, s in comparison.poll()] == ["paused"] * 2, "both panels")


def test_an_offer_to_undo_may_end_while_another_thread_reads_it(comparison, monkeypatch):
    comparison.reset()
    offers = iter([comparison._undo])
    with monkeypatch.context() as patch:  # the fixtures that close the runs need the real offer
        patch.setattr(Comparison, "_undo", property(lambda self: next(offers, None)), raising=False)
        assert comparison._undo_bytes() > 0
        assert not comparison.can_undo


def test_a_closed_panel_comes_back_where_it_was(comparison, monkeypatch):
    """It makes no steps of the time between, also where a late run makes up for all of them."""
    monkeypatch.setattr(worker_module, "LIGHT_BACKLOG_SECONDS", 1e6)
    monkeypatch.setattr(worker_module, "BACKLOG_SECONDS", 1e6)
    comparison.set_rate(60.0)
    comparison.resume()
    wait(lambda: all(s.n > 12 for _, s in comparison.poll()), "more samples")
    first = comparison.panels[0]
    comparison.remove(first.key)
    comparison.pause()
    n = first.worker.peek().n
    time.sleep(2)
    undone(comparison)
    assert first.worker.peek().n < n + 90
