"""Runs whose knobs are turned: scored from the last turn on, and compared after equally many samples."""

import math

import numpy as np
import pytest
from waiting import wait

from rbmviz.metrics import isl
from rbmviz.samplers import make_sampler
from rbmviz.session import SamplingSetup, isl_points
from rbmviz.session import equal_points as points
from rbmviz.session.snapshot import NOTHING_SPENT, Spent
from tests.session.runs import advance, begun, from_scratch


def turn(run, n, **knobs):
    """Make n samples with other knobs."""
    run.set_knobs(make_sampler(run.algorithm.name, **knobs))
    return advance(run, n)


def counted(shown):
    _, *numbers = shown.covered
    return tuple(numbers)


def test_after_a_turn_all_numbers_are_of_the_samples_since(model, toy):
    run = begun(model, toy, make_sampler("rates_fpcd", eps=0.1, k=3), 700)
    before = run.view("paused")
    assert (before.begin, before.past, before.too_few) == (NOTHING_SPENT, (), False)
    shown = turn(run, 300, eps=0.5, alpha=0.9, k=1).view("paused")
    v = run.held_samples()[1]
    assert (shown.n, shown.sweeps) == (1000, 2400)
    assert shown.begin[:2] == (700, 2100)
    assert shown.since_turn[:2] == (300, 300)
    assert dict(shown.turned) == {"eps": 0.5, "alpha": 0.9, "k": 1}
    for point in shown.curve:
        score = isl(v[700 : 700 + point.n], toy.test, toy.validation)
        assert (point.isl, point.std_error, point.beta) == (score.isl, score.std_error, score.beta)
        assert point.spent[:2] == (point.n, point.n)
    assert (len(shown.curve), shown.curve[0].n, shown.curve[-1].n) == (14, 50, 268)
    _, coverage = from_scratch(toy, v[700:])
    expected = coverage.switches, (coverage.visited, 2), coverage.class_coverage
    assert counted(shown) == (*expected, coverage.blank, coverage.spurious, coverage.ink)
    # The class history and two counts are of the whole run.
    _, whole = from_scratch(toy, v)
    assert (shown.visited_in_all, shown.spurious_in_all) == (
        (whole.visited, 2),
        pytest.approx(whole.spurious),
    )
    assert shown.occupancy.sum() + shown.blanks.sum() == 1000
    assert shown.bins_before == math.ceil(700 / shown.bin_width)


def test_points_before_a_turn_are_kept(model, toy, monkeypatch):
    monkeypatch.setattr("rbmviz.session.scores.SCORE_SECONDS", 0.0)
    run = begun(model, toy, make_sampler("rates_fpcd", eps=0.1), 700)
    before = run.view("paused")
    turn(run, 200, eps=0.5)
    shown = turn(run, 120, eps=0.9).view("paused")
    first, second = shown.past
    assert {point.n for point in before.curve} < {point.n for point in first.curve}
    v = run.held_samples()[1]
    ends = [isl(v[:700], toy.test, toy.validation), isl(v[700:900], toy.test, toy.validation)]
    assert [(one.curve[-1].n, one.curve[-1].isl) for one in (first, second)] == [(x.n, x.isl) for x in ends]
    assert [(one.begin.samples, dict(one.turned)) for one in shown.segments] == [
        (0, {}),
        (700, {"eps": 0.5}),
        (900, {"eps": 0.9}),
    ]
    assert shown.segments[-1].curve[-1].n == 120


def test_until_fifty_samples_there_are_too_few(model, toy):
    run = begun(model, toy, make_sampler("rates_fpcd", eps=0.1), 20)
    for n in range(1, 50):
        shown = turn(run, 1, eps=0.5).view("paused")
        assert (shown.since_turn.samples, shown.too_few, shown.newest) == (n, True, None)
        assert (shown.covered, shown.live_numbers) == (None, {})
    run.record_steps(run.advance(1))
    shown = run.view("running")
    assert not shown.too_few
    assert shown.newest.isl == isl(run.held_samples()[1][20:], toy.test, toy.validation).isl
    assert shown.passed("samples") == 50  # what was counted is known at once


def test_a_drag_is_one_turn_that_counts_from_its_last_value(model, toy):
    run = begun(model, toy, make_sampler("rates_fpcd", eps=0.1), 700)
    for i in range(1, 41):
        turn(run, 1 + i % 3, eps=0.1 + i / 100)
    shown = advance(run, 97).view("paused")
    assert (len(shown.past), shown.past[0].curve[-1].n, dict(shown.turned)) == (1, 700, {"eps": 0.5})
    last = shown.n - 97 - 2  # the last value has made two samples more
    assert shown.begin.samples == last
    assert (
        shown.scores_at("samples", 95).isl.isl
        == isl(run.held_samples()[1][last : last + 95], toy.test, toy.validation).isl
    )
    # After a pause of 50 samples, or of a twentieth of the run, it is another turn.
    assert len(turn(run, 1200, eps=0.7).view("paused").past) == 2


@pytest.mark.parametrize("kernel", ["binary", "mean"])
def test_repeated_run_has_the_same_scores(open_race, model, toy, kernel):
    """Freed memory, a reconnect, Undo: from the log, in other chunks, without anybody who looks."""
    setup = SamplingSetup(model, toy, seed=4, kernel=kernel)
    race = open_race(setup, make_sampler("rates_fpcd", n_chains=2))

    def shown():
        return race.poll()[0][1]

    def step(n, **knobs):
        end = shown().n + n
        race.set_live_knobs(0, **knobs)
        race.step(n)
        wait(lambda: (shown().n, shown().status) == (end, "paused"), f"{end} steps")

    step(210)
    step(3, eps=0.5)
    race.set_live_knobs(0, eps=0.9)
    step(140, eps=0.2)
    step(61, eps=0.3)
    step(20, eps=0.7)
    step(57, eps=0.8, alpha=0.9)
    before = shown()
    race.close()  # while it is open the run is repeated at once, on a busy machine before anybody looks
    race.free()
    wait(lambda: race[0].is_freed, "the memory")
    race.open()
    wait(lambda: not race[0].is_freed and shown().status == "paused", "the run again")
    after = shown()
    assert len(before.past) == 3
    assert [segment.begin[:2] for segment in before.segments] == [
        segment.begin[:2] for segment in after.segments
    ]
    for a, b in zip(before.past, after.past, strict=True):
        assert a.turned == b.turned
        known = {point.n: point.isl for point in a.curve}  # who looks sees a few values between the points
        assert {point.n: point.isl for point in b.curve}.items() <= known.items()
    assert [(point.n, point.isl) for point in before.curve] == [(point.n, point.isl) for point in after.curve]
    assert (before.turned, counted(before), before.spurious_in_all) == (
        after.turned,
        counted(after),
        after.spurious_in_all,
    )


def test_a_turn_of_one_panel_leaves_the_numbers_of_the_others(model, toy):
    """The difference between two panels is of equally many samples of each nevertheless."""
    turned, other = (begun(model, toy, make_sampler("rates_fpcd", eps=eps), 600) for eps in (0.01, 0.1))

    def compared():
        return points.at_one_point([(run.view("paused"), 0.0) for run in (turned, other)], "samples")

    assert [one.compared.point for one in compared()] == [584, 584]
    advance(other, 110)
    turn(turned, 49, eps=1.0, alpha=0.0)
    few, waits_not = compared()
    assert (few.newest, few.too_few, waits_not.newest.n, waits_not.compared.point) == (None, True, 665, 665)
    assert points.at_one_point([(turned.view("paused"), 0.0)], "samples")[0].compared.point is None
    advance(turned, 61)
    a, b = compared()
    v, w = turned.held_samples()[1], other.held_samples()[1]
    scores = [isl(x, toy.test, toy.validation).isl for x in (v[600 : 600 + 108], w[:108], w[:665])]
    assert [one.compared.point for one in (a, b)] == [108, 665]
    assert [one.newest.isl for one in (a, b)] == [scores[0], scores[2]]
    assert a.newest.spent == Spent(108, 108, a.newest.spent.seconds)
    assert isl_points.best([a, b], "samples", 108) == int(np.argmax(scores[:2]))
    last = isl_points.differences(a, b, "samples")[-1]
    assert (last.point, last.samples, last.other_samples) == (108, 108, 108)
    assert last.difference == pytest.approx(scores[0] - scores[1])
    turn(turned, 50, eps=0.5)
    here, there = compared()
    assert (here.newest.n, there.newest.n) == (50, 665)
