"""Parts of a page that are drawn again every second, or less often, while there is something new to draw."""

import functools
import math
import time
import weakref
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from rbmviz.session import Comparison
from rbmviz.session.slowdown import SLOWDOWN
from rbmviz_app.session import SLOW_TIMERS, STOPPED_TIMERS, SlowTimer, StoppedTimer, keep_set

Args = ParamSpec("Args")

INTERVALS = (1.0, 2.0, 5.0)
"""Seconds between two draws, from those of short runs to those of long ones, and of a full server."""

SEEN_GROWTH = 0.13
"""A draw is worth its cost if this share of the steps of a run is new: curves have a point every 14 %, and in
between there is nothing new to draw."""

UNCHANGED_DRAWS = 3
"""The timer of a paused page stops when this many draws, a second apart, have shown the same."""

HIDDEN_SECONDS = 5.0
"""The timer of a page stops so long after the first draw for which its browser had not asked for a frame."""

WAITING_STATUSES = ("paused", "finished", "failed")
"""Statuses of runs that make no step until somebody gives a command."""


def shown_state(comparison: Comparison[Any]) -> tuple[Any, ...]:
    """Return what changes when there is something new to draw; no lease is renewed.

    Each snapshot is there as a weak reference: two are equal only if they are of one snapshot.
    """
    return tuple(
        (key, shown.run, shown.n, shown.status, weakref.ref(shown)) for key, shown in comparison.peek()
    )


def waits_for_command(comparison: Comparison[Any]) -> bool:
    """Return whether nothing moves until somebody gives a command.

    Runs that wait for a common start are paused, too, and begin without a command: perhaps only when a page
    that was opened in the background is looked at.
    """
    statuses = [shown.status for _, shown in comparison.peek()]
    return not comparison.waiting_for_all and all(status in WAITING_STATUSES for status in statuses)


def is_watched(comparison: Comparison[Any]) -> bool:
    """Return whether anything asks for pictures; a page that is hidden in its browser does not."""
    return any(panel.worker.watched for panel in comparison.panels)


def is_needed(comparison: Comparison[Any], stopped: StoppedTimer) -> bool:
    """Return whether somebody may see more now than when a timer of this comparison stopped."""
    return is_watched(comparison) if stopped.hidden else stopped.shown != shown_state(comparison)


def growth(before: tuple[Any, ...], now: tuple[Any, ...]) -> float:
    """Return which share of the steps that runs have now is new: the largest of all panels, 0 to 1.

    before, now : what was shown, see ``shown_state``
    """
    steps = {(key, run): n for key, run, n, _, _ in before}
    shares = [1 - steps.get((key, run), 0) / n if n else 1.0 for key, run, n, _, _ in now]
    return max(shares, default=0.0)


def seconds_to_next(grown: float, passed: float, slowdown: float = 1.0) -> float:
    """Return in how many seconds to draw again: one of INTERVALS.

    grown : share of the steps that are new since the draw before, which was ``passed`` seconds ago
    slowdown : that of a server whose cores have run out
    """
    wanted = max(passed * SEEN_GROWTH / grown if grown > 0 else math.inf, slowdown)
    return max((seconds for seconds in INTERVALS if seconds <= wanted), default=INTERVALS[0])


def set_interval(fragment_id: str, seconds: float) -> None:
    """Have the browser draw a fragment every so many seconds from now on.

    ``st.fragment(run_every=...)`` sends the same message, but only when the fragment is made.
    """
    context = get_script_run_ctx()
    if context is not None:
        message = ForwardMsg()
        message.auto_rerun.fragment_id, message.auto_rerun.interval = fragment_id, seconds
        context.enqueue(message)


def restart_timers(comparison: Comparison[Any], commanded: bool = False) -> None:
    """Draw again every second what is drawn less often; call it after a command.

    If timers have stopped and there is something new since, draw the page again with them.

    commanded : a command has been given just now, whose effect may not be seen yet
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
    """Draw a part of the page; while ``running``, again once a second, without the rest of the page."""
    with st.container():
        st.fragment(run_every=1.0 if running else None)(draw)()


def every_second(
    draw: Callable[Concatenate[Comparison[Any], Args], None],
) -> Callable[Concatenate[Comparison[Any], Args], None]:
    """Draw again once a second, without the rest of the page, while the comparison changes.

    The comparison is the first argument; the others stay those of the last run of the whole page. A page
    draws such a function once: it is known by its name.

    On a server whose cores have run out, less often. A timer costs some 1 % of a core. On a page that is
    paused, or hidden in its browser, it stops: the page is drawn once more without it, and with it again
    after the next command, or when the page is shown (``restart_timers``; ``rbmviz_app/panel/base.js`` has
    the part drawn again that calls it).

    The part has a container of its own: where the timer fires just as the whole page has been drawn,
    Streamlit takes the fragment away for a moment, and what stands below would move up into its place.
    """
    return _timed(draw, lambda grown, passed: seconds_to_next(1.0, passed, SLOWDOWN.factor))


def as_curves_grow(
    draw: Callable[Concatenate[Comparison[Any], Args], None],
) -> Callable[Concatenate[Comparison[Any], Args], None]:
    """Draw again as ``every_second`` does, but less often once runs are so long that little is new.

    At equal steps per second these are two seconds after a quarter of a minute, and five after 40 seconds. A
    command has the part drawn a second later.
    """
    return _timed(draw, lambda grown, passed: seconds_to_next(grown, passed, SLOWDOWN.factor))


def _timed(
    draw: Callable[Concatenate[Comparison[Any], Args], None], interval: Callable[[float, float], float]
) -> Callable[Concatenate[Comparison[Any], Args], None]:
    """Draw again and again, see ``every_second``.

    interval : returns one of INTERVALS for what ``seconds_to_next`` takes
    """
    name = draw.__qualname__ + draw.__module__

    @functools.wraps(draw)
    def placed(comparison: Comparison[Any], *args: Args.args, **kwargs: Args.kwargs) -> None:
        stopped = STOPPED_TIMERS.value.get(name)
        timed = stopped is None or stopped.comparison() is not comparison or is_needed(comparison, stopped)
        newest: list[tuple[Any, ...]] = []  # what the newest draws have shown
        drawn_at, unwatched_since = -math.inf, math.inf
        SLOW_TIMERS.set({other: one for other, one in SLOW_TIMERS.value.items() if other != name})

        @functools.wraps(draw)
        def draw_again() -> None:
            nonlocal drawn_at, unwatched_since
            keep_set()
            draw(comparison, *args, **kwargs)
            shown, now = shown_state(comparison), time.monotonic()
            newest.append(shown)
            # Without a timer, only a widget of this part has it drawn a second time. What the widget asks for
            # may take a while: start the timer again.
            if not timed:
                if len(newest) > 1:
                    restart_timers(comparison, commanded=True)
                return
            del newest[:-UNCHANGED_DRAWS]
            unwatched_since = math.inf if is_watched(comparison) else min(unwatched_since, now)
            waits, hidden = waits_for_command(comparison), now - unwatched_since >= HIDDEN_SECONDS
            if hidden or (waits and newest == [shown] * UNCHANGED_DRAWS):
                timer = StoppedTimer(weakref.ref(comparison), shown, hidden)
                STOPPED_TIMERS.set(STOPPED_TIMERS.value | {name: timer})
                st.rerun()
            seconds = INTERVALS[0]
            if len(newest) > 1 and not waits:
                seconds = interval(growth(newest[-2], shown), now - drawn_at)
            drawn_at = now
            timers = dict(SLOW_TIMERS.value)
            slow = SlowTimer(str(ThreadState.get().fragment_id), seconds)
            before = timers.pop(name, slow._replace(seconds=INTERVALS[0]))
            if slow != before:
                set_interval(*slow)
            SLOW_TIMERS.set(timers | ({name: slow} if seconds > INTERVALS[0] else {}))

        with st.container():
            st.fragment(run_every=INTERVALS[0] if timed else None)(draw_again)()

    return placed
