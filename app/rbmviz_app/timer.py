"""Page fragments that are redrawn every second, or less often, while there is something new to draw."""

import functools
import math
import time
import weakref
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

import streamlit as st

from rbmviz.session import Comparison
from rbmviz.session.scheduler import SCHEDULER
from rbmviz_app.insides import fragment_id, set_interval
from rbmviz_app.session import SLOW_TIMERS, STOPPED_TIMERS, SlowTimer, StoppedTimer

Args = ParamSpec("Args")

INTERVALS = (1.0, 2.0, 5.0)
"""Seconds between draws: first for short runs, then for longer runs or a busy server."""

MIN_GROWTH = 0.13
"""Redraw when this share of a run's steps is new: curves have a point every 14 %, and nothing is new in
between."""

UNCHANGED_DRAWS = 3
"""The timer of a paused page stops after this many identical draws, one second apart."""

HIDDEN_SECONDS = 5.0
"""Seconds from the first draw without a browser's request for a frame until the timer stops."""

ENDED_STATUSES = ("finished", "failed")
"""Statuses of runs that make no more steps even if they are told to run."""


def display_state(comparison: Comparison[Any]) -> tuple[Any, ...]:
    """Return a value that changes when there is something new to draw, without renewing leases.

    Snapshots are held as weak references, which are equal only for the same snapshot.
    """
    return tuple(
        (key, snapshot.run, snapshot.n, snapshot.status, weakref.ref(snapshot))
        for key, snapshot in comparison.peek()
    )


def waits_for_command(comparison: Comparison[Any]) -> bool:
    """Return whether nothing will change without a command.

    Runs that were told to run count as paused until their first step: they wait for a common start, perhaps
    until a page opened in the background is viewed, or for a core of a busy server.
    """
    at_rest = ENDED_STATUSES if comparison.running else ("paused", *ENDED_STATUSES)
    return all(snapshot.status in at_rest for _, snapshot in comparison.peek())


def is_watched(comparison: Comparison[Any]) -> bool:
    """Return whether anything requests pictures; a page hidden in its browser does not."""
    return any(panel.worker.watched for panel in comparison.panels)


def is_needed(comparison: Comparison[Any], stopped: StoppedTimer) -> bool:
    """Return whether there may be more to see than when a timer of this comparison stopped."""
    return is_watched(comparison) if stopped.hidden else stopped.state != display_state(comparison)


def growth(before: tuple[Any, ...], now: tuple[Any, ...]) -> float:
    """Return the largest share of new steps in any run, from 0 to 1.

    before, now : displayed states, see ``display_state``
    """
    steps = {(key, run): n for key, run, n, _, _ in before}
    shares = [1 - steps.get((key, run), 0) / n if n else 1.0 for key, run, n, _, _ in now]
    return max(shares, default=0.0)


def seconds_to_next(grown: float, passed: float, slowdown: float = 1.0) -> float:
    """Return the seconds until the next draw: one of INTERVALS.

    grown : share of steps made since the previous draw, ``passed`` seconds ago
    slowdown : slowdown of a server without free cores
    """
    wanted = max(passed * MIN_GROWTH / grown if grown > 0 else math.inf, slowdown)
    return max((seconds for seconds in INTERVALS if seconds <= wanted), default=INTERVALS[0])


def restart_timers(comparison: Comparison[Any], commanded: bool = False) -> None:
    """Redraw slower fragments every second again; call it after a command.

    If timers have stopped and something has changed since, redraw the page with its timers.

    commanded : whether a command was just given; its effect may not be visible yet
    """
    for slow in SLOW_TIMERS.value.values():
        set_interval(slow.fragment_id, INTERVALS[0])
    SLOW_TIMERS.set({})
    if any(
        stopped.comparison() is comparison and (commanded or is_needed(comparison, stopped))
        for stopped in STOPPED_TIMERS.value.values()
    ):
        STOPPED_TIMERS.set({})
        st.rerun()


def while_running(draw: Callable[[], None], running: bool) -> None:
    """Draw a part of the page; while ``running``, redraw it every second without the rest of the page."""
    with st.container():
        st.fragment(run_every=1.0 if running else None)(draw)()


def every_second(
    draw: Callable[Concatenate[Comparison[Any], Args], None],
) -> Callable[Concatenate[Comparison[Any], Args], None]:
    """Redraw once a second, without the rest of the page, while the comparison changes.

    The first argument is the comparison; the others stay as in the last run of the whole page. A page draws
    such a function only once, because its name identifies it.

    On a server without free cores, the interval is longer. A timer costs about 1 % of a core. It stops on a
    page that is paused or hidden in its browser: the page is drawn once more without the timer. The timer
    returns after the next command or when the page is shown (``restart_timers``;
    ``rbmviz/view/panel/base.js`` redraws the fragment that calls it).

    The fragment has its own container: if the timer fires just as the whole page has been drawn, Streamlit
    removes the fragment for a moment, and the elements below would move up.
    """
    return _timed(draw, lambda grown, passed: seconds_to_next(1.0, passed, SCHEDULER.slowdown))


def as_curves_grow(
    draw: Callable[Concatenate[Comparison[Any], Args], None],
) -> Callable[Concatenate[Comparison[Any], Args], None]:
    """Redraw like ``every_second``, but less often once runs are long and little is new.

    At a constant speed, the interval is two seconds after a quarter of a minute, and five after 40 seconds.
    The fragment is redrawn one second after a command.
    """
    return _timed(draw, lambda grown, passed: seconds_to_next(grown, passed, SCHEDULER.slowdown))


def _timed(
    draw: Callable[Concatenate[Comparison[Any], Args], None], interval: Callable[[float, float], float]
) -> Callable[Concatenate[Comparison[Any], Args], None]:
    """Redraw repeatedly, see ``every_second``.

    interval : returns one of INTERVALS, given ``grown`` and ``passed``, see ``seconds_to_next``
    """
    name = draw.__qualname__ + draw.__module__

    @functools.wraps(draw)
    def placed(comparison: Comparison[Any], *args: Args.args, **kwargs: Args.kwargs) -> None:
        stopped = STOPPED_TIMERS.value.get(name)
        timed = stopped is None or stopped.comparison() is not comparison or is_needed(comparison, stopped)
        newest: list[tuple[Any, ...]] = []  # states of the newest draws
        drawn_at, unwatched_since = -math.inf, math.inf
        SLOW_TIMERS.set({other: timer for other, timer in SLOW_TIMERS.value.items() if other != name})

        @functools.wraps(draw)
        def draw_again() -> None:
            nonlocal drawn_at, unwatched_since
            draw(comparison, *args, **kwargs)
            state, now = display_state(comparison), time.monotonic()
            newest.append(state)
            # Without a timer, only a widget in this fragment triggers a second draw. Its result may take a
            # while: restart the timer.
            if not timed:
                if len(newest) > 1:
                    restart_timers(comparison, commanded=True)
                return
            del newest[:-UNCHANGED_DRAWS]
            unwatched_since = math.inf if is_watched(comparison) else min(unwatched_since, now)
            waits, hidden = waits_for_command(comparison), now - unwatched_since >= HIDDEN_SECONDS
            if hidden or (waits and newest == [state] * UNCHANGED_DRAWS):
                timer = StoppedTimer(weakref.ref(comparison), state, hidden)
                STOPPED_TIMERS.set(STOPPED_TIMERS.value | {name: timer})
                st.rerun()
            seconds = INTERVALS[0]
            if len(newest) > 1 and not waits:
                seconds = interval(growth(newest[-2], state), now - drawn_at)
            drawn_at = now
            timers = dict(SLOW_TIMERS.value)
            slow = SlowTimer(fragment_id(), seconds)
            before = timers.pop(name, slow._replace(seconds=INTERVALS[0]))
            if slow != before:
                set_interval(*slow)
            SLOW_TIMERS.set(timers | ({name: slow} if seconds > INTERVALS[0] else {}))

        with st.container():
            st.fragment(run_every=INTERVALS[0] if timed else None)(draw_again)()

    return placed
