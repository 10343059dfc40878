"""Undo: what a reset, a closed panel or another setup has replaced comes back, within the limits."""

import pytest
from waiting import wait, wait_for_pause

from rbmviz.samplers import make_sampler
from rbmviz.session import SamplingRun, SamplingSetup, VisitorUsage
from rbmviz.session import comparison as comparison_module


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
