"""Slow down what is only displayed, so that samples stay on time on an overloaded machine.

Beats are the signal. Every 50 ms, a beat makes the samples of all panels of a page. When threads wait for a
core, or for the interpreter, many beats end late. Then beats become longer, so that each makes more samples
at less cost, and frames and charts are sent less often, to all visitors alike. When beats are on time again,
the slowdown ends by itself.
"""

import threading
import time
from collections.abc import Callable

MAX_FACTOR = 10.0
"""Largest slowdown: 2 frames per second instead of 20, and a beat every half second."""

WINDOW_SECONDS = 1.0
"""Seconds over which beats are counted before the factor changes."""

LATE_SHARE, IN_TIME_SHARE = 0.25, 0.15
"""The factor grows if a larger share of beats than the first is late; it falls if at most the second is."""

GROWTH, FALL = 1.4, 0.7
"""Multipliers of the factor: it rises from 1 to the largest value in 7 s, and falls back in 7 s."""


class Slowdown:
    """The slowdown of a process, from 1 (none) to MAX_FACTOR.

    Parameters
    ----------
    clock : callable
        Returns seconds; default time.monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._factor = 1.0  # at the start of the window
        self._window_begin = clock()
        self._beats = self._late = 0  # in the window

    @property
    def factor(self) -> float:
        """Current factor by which beats, frames and charts are less frequent than requested."""
        if self._factor == 1.0:  # the usual case, and called often
            return 1.0
        return self._factor_at(self._clock())

    def _factor_at(self, seconds: float) -> float:
        # If no beat was due, none can be late.
        idle = (seconds - self._window_begin) / WINDOW_SECONDS - 1
        return max(self._factor * FALL ** max(idle, 0.0), 1.0)

    def note_beat(self, due: float, late: bool) -> None:
        """Count a beat that has just ended.

        due : when it was due, by the clock; late : see ``beat.LATE_SECONDS``
        """
        with self._lock:
            if not self._beats and due - self._window_begin > WINDOW_SECONDS:  # no beat was due for a while
                self._factor, self._window_begin = self._factor_at(due), due
            self._beats += 1
            self._late += late
            now = self._clock()
            if now - self._window_begin < WINDOW_SECONDS:
                return
            factor, share = self._factor_at(due), self._late / self._beats
            if share > LATE_SHARE:
                factor = min(factor * GROWTH, MAX_FACTOR)
            elif share <= IN_TIME_SHARE:
                factor = max(factor * FALL, 1.0)
            self._factor, self._window_begin = factor, now
            self._beats = self._late = 0


SLOWDOWN = Slowdown()
"""The slowdown of this process."""
