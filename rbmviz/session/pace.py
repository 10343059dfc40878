"""The pace of a run: which of its steps are due, by its rate, its pauses and the steps that it has missed.

``n`` is everywhere the number of steps that the run has made so far. Times are time.monotonic() readings. No
lock stands here: the worker that owns a pace serialises the calls.
"""

import math
import time
from typing import Literal, NamedTuple

CATCH_UP_SECONDS = 10.0
"""Seconds of computing in which a run that begins late makes the steps that it has missed, at full speed."""


class Timetable(NamedTuple):
    """When steps are due: ``n`` of them at the time ``at``, and ``rate`` more each second."""

    n: float
    at: float
    rate: float

    def allowed(self, now: float) -> float:
        """Return how many steps a run may have made by ``now``."""
        return math.inf if math.isinf(self.rate) else self.n + math.floor(self.rate * (now - self.at))

    def time_of(self, n: int) -> float:
        """Return the time at which n steps are allowed; infinity if never."""
        return self.at + (n - self.n) / self.rate if self.rate > 0 else math.inf


class Pace:
    """How many steps a run may make now.

    A run goes on by its timetable, or is paused: then it makes the steps up to ``stop_at``, at full speed. If
    it has begun later than others, it first makes the steps that it has missed, at full speed, but computes
    no longer than a few seconds for them; after that it goes on from where it is.

    Parameters
    ----------
    rate : float
        Steps per second; infinity is full speed.
    end : float
        The run is finished after this many steps; infinity (the default): it has no end.

    Attributes
    ----------
    running : bool
        Whether the run goes on until the next command.
    stop_at : float
        The number of steps up to which a run that is paused still goes.
    """

    def __init__(self, rate: float, end: float = math.inf) -> None:
        self.rate, self.end = rate, end
        self.running = False
        self.stop_at: float = 0
        # Up to this step the run catches up while there are seconds left to compute in: it has given up where
        # there are none, and has caught up where it has made the steps. 0: it has missed none.
        self._missed_to: float = 0
        self._missed_seconds = 0.0
        self._catching_up_since: tuple[int, float, float] | None = None  # n, time, seconds that were left
        self._timetable = Timetable(0, time.monotonic(), rate)

    # Commands

    def begin(self, n: int) -> None:
        """Begin a new run, which has n steps; it goes on if the one before did, and has missed none."""
        self.stop_at, self._missed_seconds = 0, 0.0
        self.restart(n)

    def restart(self, n: float, at: float | None = None) -> None:
        """Count from now, or from ``at``, on: steps that were due before, and have not been made, are not."""
        begin = max(n, self._missed_to) if self.catching_up(n) else n
        self._timetable = Timetable(begin, time.monotonic() if at is None else at, self.rate)

    def resume(self, n: int, at: float | None = None) -> None:
        """Go on from now, or from ``at``, on."""
        # Steps that are still due before a pause count as made, so that panels stay in step.
        planned = n if self.running else max(self.stop_at, n)
        self.running = True
        self.restart(planned, at)

    def pause(self, n: int, backlog: float, at: float | None = None) -> None:
        """Stop with the steps that are due now, or at ``at``; see ``due``."""
        if self.running:
            self._skip(n, backlog)
            allowed = self._timetable.allowed(time.monotonic() if at is None else at)
            self.stop_at = n if math.isinf(allowed) else max(allowed, n)
            self.running = False

    def stop_no_later(self, n: int, most: float) -> None:
        """Let a run that is paused while it catches up stop with ``most`` steps; it has missed none then."""
        if self.catching_up(n) and self.stop_at > most:
            self.stop_at = max(most, n)
            self._missed_to = min(self._missed_to, self.stop_at)

    def pause_at(self, n: float) -> None:
        """Stop with n steps."""
        self.running, self.stop_at = False, n

    def step(self, n: int, more: int) -> None:
        """Make so many more steps at full speed, then pause."""
        self.pause_at((n if self.running else max(self.stop_at, n)) + more)

    def set_rate(self, n: int, rate: float, backlog: float, at: float | None = None) -> None:
        """Set the steps per second, from now, or from ``at``, on; see ``due``."""
        self._skip(n, backlog)
        allowed = self._timetable.allowed(time.monotonic() if at is None else at)
        # Steps that are due already stay due, so that panels stay in step.
        planned = max(n, allowed) if self.running and math.isfinite(allowed) else n
        self.rate = rate
        self.restart(planned, at)

    # Steps that the run has missed

    def catch_up(self, to: float, seconds: float = CATCH_UP_SECONDS) -> None:
        """Make the steps up to ``to`` at full speed, in at most so many seconds of computing."""
        self._missed_to, self._missed_seconds = to, seconds
        self._catching_up_since = None
        if not self.running:
            self.stop_at = to

    def catch_up_with(self, other: "Pace", n_other: int, seconds: float = CATCH_UP_SECONDS) -> None:
        """Make the steps that a run of another pace has made so far; then keep its timetable."""
        if not self.running:
            self.catch_up(max(self.stop_at, other.stop_at, n_other), seconds)
        elif math.isinf(self.rate):
            self.catch_up(n_other, seconds)
        else:
            self._timetable = other._timetable
            self.catch_up(self.allowed(), seconds)

    def note_preparation(self, n: int) -> None:
        """Count what has become due while the run was prepared as missed, too, if it catches up at all."""
        asked = self._missed_seconds > 0 and n <= self._missed_to  # n is 0 before the first step
        if self.running and asked and not math.isinf(self.rate):
            self._missed_to = max(self._missed_to, self.allowed())

    def note_computing(self, n: int, seconds: float) -> None:
        """Take the time of a chunk from the seconds in which the run may catch up."""
        if self.catching_up(n):
            self._missed_seconds -= seconds
            if self._catching_up_since is None:
                self._catching_up_since = n, time.monotonic(), self._missed_seconds
            if not self.running and self._missed_seconds <= 0:
                self.stop_at = n

    def catching_up(self, n: float) -> bool:
        """Return whether the run is making steps that it has missed."""
        return self._missed_seconds > 0 and n < self._missed_to

    @property
    def missed_to(self) -> float:
        """Step up to which the run makes those that it has missed; 0: it has missed none, or given up."""
        return self._missed_to if self._missed_seconds > 0 else 0.0

    def seconds_to_catch_up(self, n: int) -> float:
        """Return in about how many seconds the run will be done with that, by the clock: it waits for turns.

        Before it has made some steps, the seconds that it may compute.
        """
        if self._catching_up_since is None:
            return self._missed_seconds
        first, at, left = self._catching_up_since
        computed, made = left - self._missed_seconds, n - first
        if computed <= 0 or made <= 0:
            return self._missed_seconds
        share = max((time.monotonic() - at) / computed, 1.0)
        return max(min((self._missed_to - n) * computed / made, self._missed_seconds), 0.0) * share

    # Queries

    @property
    def at_full_speed(self) -> bool:
        """Whether the run goes on as fast as it can."""
        return self.running and math.isinf(self.rate)

    def allowed(self, at: float | None = None) -> float:
        """Return how many steps the run may have made by now, or by ``at``, of those it has not missed."""
        now = time.monotonic() if at is None else at
        return self._timetable.allowed(now) if self.running else self.stop_at

    def status(self, n: int) -> Literal["finished", "running", "paused"]:
        """Return whether steps are due, now or later."""
        if n >= self.end:
            return "finished"
        return "running" if self.running or n < self.stop_at else "paused"

    def due(self, n: int, most: int, backlog: float) -> int:
        """Return how many steps to make now, at most ``most``; 0: none is due.

        backlog : seconds; a run that is later than this skips the steps in between (infinity: it skips none)
        """
        self._skip(n, backlog)
        return max(int(min(most, min(self.allowed(), self.end) - n)), 0)

    def time_of_next(self, n: int) -> float:
        """Return the time at which the next step is due."""
        return self._timetable.time_of(n + 1)

    def _skip(self, n: int, backlog: float) -> None:
        now = time.monotonic()
        if not self.catching_up(n) and self._timetable.allowed(now) - n > self.rate * backlog + 1:
            self._timetable = Timetable(n, now - backlog, self.rate)
