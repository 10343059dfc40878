"""When a page has nothing new to draw until the next command, and how often it is drawn before."""

from types import SimpleNamespace

import pytest

from rbmviz_app.timer import display_state, growth, seconds_to_next, waits_for_command


@pytest.mark.parametrize(
    ("statuses", "running", "expected"),
    [
        (["paused", "finished", "failed"], False, True),
        (["paused", "running"], False, False),
        (["paused", "starting"], False, False),
        (["paused", "rebuilding"], False, False),
        (["finished", "failed"], True, True),
        (["paused", "paused"], True, False),  # a first step, which comes without a command
        (["finished", "paused"], True, False),
    ],
)
def test_only_comparisons_that_need_a_command_wait_for_one(statuses, running, expected):
    shown = [(i, SimpleNamespace(status=status)) for i, status in enumerate(statuses)]
    assert waits_for_command(SimpleNamespace(running=running, peek=lambda: shown)) is expected


class Shown:
    run, n, status = 1, 100, "paused"


def test_a_new_snapshot_is_seen_though_it_lies_where_the_old_one_lay():
    """The last likelihood of a paused training comes without a step; memory that was freed is used again."""
    shown = Shown()
    comparison = SimpleNamespace(peek=lambda: [(0, shown)])
    addresses, before = set(), display_state(comparison)
    assert display_state(comparison) == before
    for _ in range(100):
        addresses.add(id(shown))
        shown = None
        shown = Shown()
        state = display_state(comparison)
        assert state != before
        before = state
    assert len(addresses) < 100


def test_a_run_of_constant_speed_is_drawn_less_and_less_often():
    draws, at, interval = [], 2.0, 1.0
    while at < 300:
        before, at = at, at + interval
        interval = seconds_to_next(1 - before / at, at - before)
        draws.append((at, interval))
    assert all(interval == 1 for at, interval in draws if at < 14)
    assert all(interval == 2 for at, interval in draws if 18 < at < 34)
    assert all(interval == 5 for at, interval in draws if at > 46)


def test_a_full_server_draws_less_often_and_a_new_run_at_once():
    assert [seconds_to_next(1.0, 1.0, slowdown) for slowdown in (1.0, 1.9, 2.0, 4.9, 10.0)] == [1, 1, 2, 2, 5]
    assert seconds_to_next(0.0, 5.0) == 5  # nothing new, but nobody has paused it
    shown = ((0, 1, 600, "running", 1), (1, 1, 590, "running", 2))
    later = ((0, 1, 660, "running", 3), (1, 1, 650, "running", 4))
    anew = ((0, 2, 3, "running", 5), (1, 1, 650, "running", 4))
    starting = ((0, 1, 0, "starting", 6),)
    assert growth(shown, later) == pytest.approx(60 / 650)
    assert growth(later, anew) == growth(starting, starting) == 1
    assert growth(shown, ()) == 0
