"""On a full server beats, frames and charts come less often; by a clock of the test."""

import pytest

from rbmviz.samplers import make_sampler
from rbmviz.session import SamplingPlan
from rbmviz.session import beat as beat_module
from rbmviz.session import worker as worker_module
from rbmviz.session.beat import BEAT_SECONDS, Beat
from rbmviz.session.slots import Group
from rbmviz.session.slowdown import IN_TIME_SHARE, LATE_SHARE, MAX_FACTOR, Slowdown


@pytest.fixture
def slowdown(clock):
    return Slowdown(clock)


def beat_for(slowdown, clock, seconds, late_share):
    """Let 16 beats a second end, the given share of them late."""
    for i in range(16 * seconds):
        clock.now += 1 / 16
        slowdown.note_beat(clock.now, late=(i % 16) < 16 * late_share)


def test_late_beats_slow_down_at_most_tenfold_and_beats_in_time_bring_all_back(slowdown, clock):
    beat_for(slowdown, clock, 10, 0.0)
    assert slowdown.factor == 1
    beat_for(slowdown, clock, 3, 1.0)
    assert 1.5 < slowdown.factor < 4
    beat_for(slowdown, clock, 20, 1.0)
    assert slowdown.factor == MAX_FACTOR
    beat_for(slowdown, clock, 3, 0.0)
    assert 3 < slowdown.factor < MAX_FACTOR  # slowly, so that the load that comes back is seen in time
    beat_for(slowdown, clock, 40, 0.0)
    assert slowdown.factor == 1


def test_in_between_nothing_changes(slowdown, clock):
    between = 3 / 16
    assert IN_TIME_SHARE < between < LATE_SHARE
    beat_for(slowdown, clock, 5, 1.0)
    beat_for(slowdown, clock, 2, between)
    before = slowdown.factor
    assert before > 1
    beat_for(slowdown, clock, 30, between)
    assert slowdown.factor == before


def test_without_beats_all_comes_back(slowdown, clock):
    beat_for(slowdown, clock, 20, 1.0)
    clock.now += 60
    assert slowdown.factor == 1
    slowdown.note_beat(clock.now, late=True)  # the first beat for a minute says nothing of the share
    assert slowdown.factor == 1
    beat_for(slowdown, clock, 2, 1.0)
    assert slowdown.factor > 1


def test_beats_that_end_seconds_after_they_were_due_slow_down_most(slowdown, clock):
    for _ in range(10):
        due, clock.now = clock.now, clock.now + 3
        slowdown.note_beat(due, late=True)
    assert slowdown.factor == MAX_FACTOR


def test_a_slow_server_has_longer_beats_and_takes_rare_looks_for_watching(
    slowdown, clock, monkeypatch, open_worker, model
):
    monkeypatch.setattr(beat_module, "SLOWDOWN", slowdown)
    monkeypatch.setattr(worker_module, "SLOWDOWN", slowdown)
    beat = Beat(Group())
    assert beat.seconds == BEAT_SECONDS
    worker = open_worker(SamplingPlan(model), make_sampler("gibbs"))
    worker.request_snapshot()
    worker._asked_at -= 2 * worker_module.WATCHED_SECONDS
    assert not worker.watched
    beat_for(slowdown, clock, 20, 1.0)
    assert beat.seconds == MAX_FACTOR * BEAT_SECONDS
    assert worker.watched
