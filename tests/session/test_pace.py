"""Which steps of a run are due, with a clock that the tests move."""

import math
from types import SimpleNamespace

import pytest

from rbmviz.session import pace as pace_module
from rbmviz.session.pace import Pace

MOST = 10**6


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(pace_module, "time", SimpleNamespace(monotonic=lambda: now.now))
    return now


def test_steps_are_due_by_the_rate(clock):
    pace = Pace(10.0)
    pace.begin(0)
    assert (pace.due(0, MOST, math.inf), pace.status(0)) == (0, "paused")
    pace.resume(0)
    clock.now += 0.25
    assert (pace.due(0, MOST, math.inf), pace.due(0, 1, math.inf), pace.status(0)) == (2, 1, "running")
    assert pace.time_of_next(2) == pytest.approx(1000.3)
    clock.now += 100
    assert pace.due(2, MOST, math.inf) == 1000


def test_overdue_steps_are_skipped(clock):
    pace = Pace(10.0)
    pace.resume(0)
    clock.now += 100
    assert pace.due(3, MOST, 0.5) == 5
    clock.now += 0.25
    assert pace.due(8, MOST, 0.5) == 2


def test_a_pause_keeps_what_is_due_and_nothing_that_comes_after(clock):
    one, other = Pace(10.0), Pace(10.0)
    for pace in (one, other):
        pace.resume(0, 1000.0)
    clock.now += 0.45
    for n, pace in ((4, one), (1, other)):
        pace.pause(n, 0.5, clock.now)
    clock.now += 60
    assert (one.due(4, MOST, 0.5), other.due(1, MOST, 0.5)) == (0, 3)
    one.resume(4)
    other.resume(1)  # its three steps are still to be made, and count as made
    clock.now += 0.11
    assert (one.due(4, MOST, 0.5), other.due(1, MOST, 0.5)) == (1, 4)


def test_another_rate_keeps_what_is_due(clock):
    one, other = Pace(10.0), Pace(10.0)
    for pace in (one, other):
        pace.resume(0, 1000.0)
    clock.now += 0.45
    for n, pace in ((4, one), (1, other)):
        pace.set_rate(n, 100.0, 0.5, clock.now)
    clock.now += 0.101
    assert (one.due(4, MOST, 0.5), other.due(1, MOST, 0.5)) == (10, 13)
    one.set_rate(14, math.inf, 0.5)
    one.set_rate(20, 10.0, 0.5)
    clock.now += 0.11
    assert one.due(20, MOST, 0.5) == 1


def test_single_steps_add_up(clock):
    pace = Pace(math.inf)
    pace.step(0, 2)
    pace.step(1, 2)
    assert (pace.due(1, MOST, 0.5), pace.status(1), pace.status(4)) == (3, "running", "paused")
    pace.resume(4)
    assert (pace.due(4, 50, 0.5), pace.at_full_speed) == (50, True)


@pytest.mark.parametrize("seconds", [10.0, 0.3])
def test_missed_steps_are_made_at_full_speed_for_so_long(clock, monkeypatch, seconds):
    monkeypatch.setattr(pace_module, "CATCH_UP_SECONDS", seconds)
    first, late = Pace(10.0), Pace(10.0)
    first.resume(0)
    clock.now += 20
    late.resume(0)
    late.catch_up_with(first, 200)
    assert late.due(0, MOST, 0.5) == 200
    assert late.seconds_to_catch_up(0) == seconds
    late.note_computing(20, 0.1)
    clock.now += 0.6  # half of it in wait for a turn
    late.note_computing(100, 0.3)
    assert late.catching_up(100) == (seconds > 1)
    if seconds > 1:
        assert late.seconds_to_catch_up(100) == pytest.approx(100 * 0.6 / 80)
        late.note_computing(101, 9.0)  # slower since: no longer than it may compute
        assert late.seconds_to_catch_up(101) == pytest.approx(0.6)
    # Either the steps that are left, or half a second of them: the others are skipped.
    assert late.due(100, MOST, 0.5) == (106 if seconds > 1 else 5)


def test_a_paused_run_that_cannot_catch_up_stops_where_it_is(clock, monkeypatch):
    monkeypatch.setattr(pace_module, "CATCH_UP_SECONDS", 0.3)
    first, late = Pace(10.0), Pace(10.0)
    first.step(0, 500)
    late.catch_up_with(first, 500)
    assert late.due(0, MOST, 0.5) == 500
    late.note_computing(100, 0.4)
    assert (late.due(100, MOST, 0.5), late.status(100)) == (0, "paused")


def test_a_run_that_is_prepared_after_the_others_began_makes_what_it_has_missed(clock):
    """It is asked to catch up when they begin: nothing is due by then."""
    other, late = Pace(60.0), Pace(60.0)
    other.resume(0)
    late.resume(0)
    late.catch_up_with(other, 0)
    clock.now += 5.0
    late.note_preparation(0)
    assert late.catching_up(0)
    assert late.missed_to == 300
