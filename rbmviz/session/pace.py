"""The pace of a run: which steps are due, given its rate, its pauses and the steps it has missed.

Throughout, ``n`` is the number of steps that the run has made. Times are time.monotonic() readings. There is
no lock here, because the worker that owns a pace serialises the calls.
"""

import math
import time
from typing import Literal, NamedTuple

CATCH_UP_SECONDS = 10.0
"""Seconds of computing that a late run may spend on missed steps, at full speed."""


class Timetable(NamedTuple):
    """When steps are due: ``n`` by time ``at``, then ``rate`` more every second."""

    n: float
    at: float
    rate: float

    def allowed(self, now: float) -> float:
        """Return the number of steps that a run may have made by ``now``."""
        return math.inf if math.isinf(self.rate) else self.n + math.floor(self.rate * (now - self.at))

    def time_of(self, n: int) -> float:
        """Return the time at which n steps are allowed; infinity if never."""
        return self.at + (n - self.n) / self.rate if self.rate > 0 else math.inf


class Pace:
    """The pace of a run: how many steps it may make now.

    A paused run does not follow its timetable, but makes the steps up to ``stop_at`` at full speed. A run
    that started late first makes missed steps at full speed, within a few seconds of computing, and then
    follows the timetable from the step it has reached.

    rate : steps per second; infinity is full speed
    running : whether the run continues until the next command
    stop_at : number of steps at which a paused run stops
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.running = False
        self.stop_at: float = 0
        # The run catches up to this step, or gives up when it has used its seconds of computing. 0: no
        # steps are missed.
        self._missed_to: float = 0
        self._missed_seconds = 0.0
        self._catching_up_since: tuple[int, float, float] | None = None  # n, time, seconds left
        self._timetable = Timetable(0, time.monotonic(), rate)

    # Commands

    def begin(self, n: int) -> None:
        """Start a new run at step n, without missed steps; it keeps running if the previous run was."""
        self.stop_at, self._missed_seconds = 0, 0.0
        self.restart(n)

    def restart(self, n: float, at: float | None = None) -> None:
        """Restart the timetable now, or at ``at``; steps that were already due are dropped."""
        begin = max(n, self._missed_to) if self.catching_up(n) else n
        self._timetable = Timetable(begin, time.monotonic() if at is None else at, self.rate)

    def resume(self, n: int, at: float | None = None) -> None:
        """Continue from now, or from ``at``."""
        # Steps still due from before a pause count as made, so that panels stay in step.
        planned = n if self.running else max(self.stop_at, n)
        self.running = True
        self.restart(planned, at)

    def pause(self, n: int, backlog: float, at: float | None = None) -> None:
        """Stop after the steps that are due now, or at ``at``; for ``backlog`` see ``due``."""
        if self.running:
            self._skip(n, backlog)
            allowed = self._timetable.allowed(time.monotonic() if at is None else at)
            self.stop_at = n if math.isinf(allowed) else max(allowed, n)
            self.running = False

    def stop_no_later(self, n: int, most: float) -> None:
        """Let a paused run that is catching up stop at ``most`` steps, and drop further missed steps."""
        if self.catching_up(n) and self.stop_at > most:
            self.stop_at = max(most, n)
            self._missed_to = min(self._missed_to, self.stop_at)

    def pause_at(self, n: float) -> None:
        """Stop after n steps."""
        self.running, self.stop_at = False, n

    def step(self, n: int, more: int) -> None:
        """Make this many more steps at full speed, then pause."""
        self.pause_at((n if self.running else max(self.stop_at, n)) + more)

    def set_rate(self, n: int, rate: float, backlog: float, at: float | None = None) -> None:
        """Set the steps per second from now, or from ``at``; for ``backlog`` see ``due``."""
        self._skip(n, backlog)
        allowed = self._timetable.allowed(time.monotonic() if at is None else at)
        # Steps that are already due stay due, so that panels stay in step.
        planned = max(n, allowed) if self.running and math.isfinite(allowed) else n
        self.rate = rate
        self.restart(planned, at)

    # Missed steps

    def catch_up(self, to: float) -> None:
        """Make the steps up to ``to`` at full speed, in at most CATCH_UP_SECONDS of computing."""
        self._missed_to, self._missed_seconds = to, CATCH_UP_SECONDS
        self._catching_up_since = None
        if not self.running:
            self.stop_at = to

    def catch_up_with(self, other: "Pace", n_other: int) -> None:
        """Make the steps that a run with another pace has made, then follow its timetable."""
        if not self.running:
            self.catch_up(max(self.stop_at, other.stop_at, n_other))
        elif math.isinf(self.rate):
            self.catch_up(n_other)
        else:
            self._timetable = other._timetable
            self.catch_up(self.allowed())

    def note_preparation(self, n: int) -> None:
        """If the run is catching up, count steps that became due during its preparation as missed, too."""
        asked = self._missed_seconds > 0 and n <= self._missed_to  # n is 0 before the first step
        if self.running and asked and not math.isinf(self.rate):
            self._missed_to = max(self._missed_to, self.allowed())

    def note_computing(self, n: int, seconds: float) -> None:
        """Subtract the time of a chunk from the seconds left for catching up."""
        if self.catching_up(n):
            self._missed_seconds -= seconds
            if self._catching_up_since is None:
                self._catching_up_since = n, time.monotonic(), self._missed_seconds
            if not self.running and self._missed_seconds <= 0:
                self.stop_at = n

    def catching_up(self, n: float) -> bool:
        """Return whether the run is catching up on missed steps."""
        return self._missed_seconds > 0 and n < self._missed_to

    @property
    def missed_to(self) -> float:
        """Step up to which the run catches up; 0 if no steps are missed, or the run has given up."""
        return self._missed_to if self._missed_seconds > 0 else 0.0

    def seconds_to_catch_up(self, n: int) -> float:
        """Return the approximate wall-clock seconds until the run has caught up, including waits.

        Until some steps are made, return the seconds of computing that the run may use.
        """
        if self._catching_up_since is None:
            return self._missed_seconds
        first, at, left = self._catching_up_since
        computed, steps = left - self._missed_seconds, n - first
        if computed <= 0 or steps <= 0:
            return self._missed_seconds
        share = max((time.monotonic() - at) / computed, 1.0)
        return max(min((self._missed_to - n) * computed / steps, self._missed_seconds), 0.0) * share

    # Queries

    @property
    def at_full_speed(self) -> bool:
        """Whether the run is going at full speed."""
        return self.running and math.isinf(self.rate)

    def allowed(self) -> float:
        """Return the number of steps that the run may have made by now, apart from catching up."""
        return self._timetable.allowed(time.monotonic()) if self.running else self.stop_at

    def status(self, n: int) -> Literal["running", "paused"]:
        """Return whether the run is running or paused; it is running while steps are due."""
        return "running" if self.running or n < self.stop_at else "paused"

    def due(self, n: int, most: int, backlog: float) -> int:
        """Return the number of steps to make now, at most ``most``; 0 if none are due.

        backlog : seconds; steps that are overdue by more than this are skipped (infinity: none are skipped)
        """
        self._skip(n, backlog)
        return max(int(min(most, self.allowed() - n)), 0)

    def time_of_next(self, n: int) -> float:
        """Return the time at which the next step is due, past or future; infinity if there is none."""
        if not self.running:
            return -math.inf if n < self.stop_at else math.inf
        return self._timetable.time_of(n + 1)

    def _skip(self, n: int, backlog: float) -> None:
        now = time.monotonic()
        if not self.catching_up(n) and self._timetable.allowed(now) - n > self.rate * backlog + 1:
            self._timetable = Timetable(n, now - backlog, self.rate)
