"""Parts of a page that are drawn again every second, for as long as there is something new to draw."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

import streamlit as st

from rbmviz.session import Comparison
from rbmviz_app.session import STOPPED_TIMERS, StoppedTimer, keep_set

Args = ParamSpec("Args")

UNCHANGED_DRAWS = 3
"""The timer of a paused page stops when this many draws, a second apart, have shown the same."""

UNWATCHED_DRAWS = 5
"""The timer of a page stops after this many draws, a second apart, while its browser asked for no frames."""

WAITING_STATUSES = ("paused", "finished", "failed")
"""Statuses of runs that make no step until somebody gives a command."""


def shown_state(comparison: Comparison[Any]) -> tuple[Any, ...]:
    """Return what changes when there is something new to draw; no lease is renewed."""
    return tuple((key, shown.run, shown.n, shown.status, id(shown)) for key, shown in comparison.peek())


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


def restart_timers(comparison: Comparison[Any], commanded: bool = False) -> None:
    """Draw the page again with its timers, if they have stopped and there is something new since.

    commanded : a command has been given just now, whose effect may not be seen yet
    """
    if any(
        stopped.comparison_id == id(comparison) and (commanded or is_needed(comparison, stopped))
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

    A timer costs some 1 % of a core. On a page that is paused, or hidden in its browser, it stops: the page
    is drawn once more without it, and with it again after the next command, or when the page is shown
    (``restart_timers``; ``app/panel/base.js`` has the part drawn again that calls it).

    The part has a container of its own: where the timer fires just as the whole page has been drawn,
    Streamlit takes the fragment away for a moment, and what stands below would move up into its place.
    """
    name = draw.__qualname__ + draw.__module__

    @functools.wraps(draw)
    def placed(comparison: Comparison[Any], *args: Args.args, **kwargs: Args.kwargs) -> None:
        stopped = STOPPED_TIMERS.value.get(name)
        timed = stopped is None or stopped.comparison_id != id(comparison) or is_needed(comparison, stopped)
        newest: list[tuple[Any, ...]] = []  # what the newest draws have shown
        unwatched = 0  # draws since the browser asked for a frame

        @functools.wraps(draw)
        def draw_again() -> None:
            nonlocal unwatched
            keep_set()
            draw(comparison, *args, **kwargs)
            shown = shown_state(comparison)
            newest.append(shown)
            # Without a timer, only a widget of this part has it drawn a second time. What the widget asks for
            # may take a while: start the timer again.
            if not timed and len(newest) > 1:
                restart_timers(comparison, commanded=True)
            del newest[:-UNCHANGED_DRAWS]
            unchanged = waits_for_command(comparison) and newest == [shown] * UNCHANGED_DRAWS
            unwatched = 0 if is_watched(comparison) else unwatched + 1
            hidden = unwatched >= UNWATCHED_DRAWS
            if timed and (unchanged or hidden):
                STOPPED_TIMERS.set(STOPPED_TIMERS.value | {name: StoppedTimer(id(comparison), shown, hidden)})
                st.rerun()

        with st.container():
            st.fragment(run_every=1.0 if timed else None)(draw_again)()

    return placed
