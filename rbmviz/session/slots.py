"""Turns at the cores, shared fairly between groups of runs: each visitor's runs are one group.

A group's account is the time that its turns have taken. The next turn goes to the group with the lowest
account, so that twelve panels of one visitor at full speed get as much as one panel of another (start-time
fair queueing). A new group starts at the lowest account of the present groups. A returning group is placed at
most SAVED seconds behind that account; otherwise it could block the others for as long as it was absent.

Unwatched work (BACKGROUND: the cells of sweeps) gets the remaining time. Its turns do not count towards
accounts, and no other turn waits for one to end: for the rest of a slice, the two share a core.
"""

import contextlib
import enum
import math
import os
import threading
import time
from collections.abc import Callable, Iterator


class Kind(enum.Enum):
    """Purpose of a turn; the value is by how many seconds its group may be ahead and still go first."""

    START = 1.0
    """Preparation of a run: a person is waiting for its first frame."""
    PACED = 0.25
    """Steps of a run with a rate: little work, but it must be on time."""
    FULL = 0.0
    """Steps of a run at full speed, which would fill every core."""
    BACKGROUND = -math.inf
    """A slice of unwatched work, only while no other work wants the core."""


STARVED_SECONDS = 0.5
"""After this long without a turn, the background gets one anyway: a sixteenth of a core."""

SAVED = 1.0
"""Maximum seconds by which a returning group may be behind: as many as START may be ahead."""


class Group:
    """Runs that share turns: the runs of one visitor."""

    def __init__(self) -> None:
        self.account = -math.inf  # seconds: start level plus the time of finished turns
        self.began: list[float] = []  # start times of its current turns
        self.waiting = 0
        self.late_was_last = False  # whether its newest turn went to a late run

    def used(self, now: float) -> float:
        """Return the account in seconds, including current turns."""
        return self.account + sum(now - began for began in self.began)


class Turn:
    """A place in the queue; ``granted`` is set when the turn begins."""

    def __init__(self, group: Group, kind: Kind, late: bool = False) -> None:
        self.group, self.kind, self.late = group, kind, late
        self.granted = threading.Event()
        self.began = 0.0


class Slots:
    """Grant turns, at most ``n`` at a time.

    A START of a group without a turn may exceed n, up to 2 n turns in all, because running turns are never
    interrupted, and a turn that compiles or loads may be long. BACKGROUND turns are counted separately: one
    begins if fewer than n turns of all kinds are running and no other turn is waiting.

    Parameters
    ----------
    n : int
        Turns at a time, one per core.
    clock : callable
        Returns seconds; default time.monotonic.
    """

    def __init__(self, n: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.n, self._clock = n, clock
        self._lock = threading.Lock()
        self._waiting: list[Turn] = []  # in order of arrival
        self._running = 0
        self._there: set[Group] = set()  # groups that have or want a turn
        self._level = 0.0  # the account at which a new group begins
        self._behind: list[Turn] = []  # waiting BACKGROUND turns, in order of arrival
        self._behind_since = 0.0  # when the first was requested, or the last granted
        self._in_background = 0  # number of running BACKGROUND turns

    @contextlib.contextmanager
    def turn(
        self, group: Group, kind: Kind, late: bool = False, patience: float | None = None
    ) -> Iterator[bool]:
        """Wait for a turn, and hold it for the ``with`` block; see ``ask``.

        patience : maximum seconds to wait; the value of the ``with`` is False if no turn was granted by then
        """
        turn = self.ask(group, kind, late)
        if not turn.granted.wait(patience) and self.withdraw(turn):
            yield False
            return
        try:
            yield True
        finally:
            self.end(turn)

    def ask(self, group: Group, kind: Kind, late: bool = False) -> Turn:
        """Queue for a turn, without waiting for it.

        late : whether the run is catching up after a late start; together, such runs get every second turn of
            their group, however many other runs it has
        """
        turn = Turn(group, kind, late)
        with self._lock:
            if kind is Kind.BACKGROUND:
                if not self._behind:
                    self._behind_since = self._clock()
                self._behind.append(turn)
                self._grant()
                return turn
            if group not in self._there:
                self._raise_level()
                new = math.isinf(group.account)
                group.account = self._level if new else max(group.account, self._level - SAVED)
                self._there.add(group)
            group.waiting += 1
            self._waiting.append(turn)
            self._grant()
        return turn

    def withdraw(self, turn: Turn) -> bool:
        """Withdraw a waiting turn, not a BACKGROUND one; False if it has just been granted."""
        group = turn.group
        with self._lock:
            if turn.granted.is_set():
                return False
            self._waiting.remove(turn)
            group.waiting -= 1
            self._forget_if_gone(group)
            self._grant()  # the background may have waited for this turn only
            return True

    def end(self, turn: Turn) -> None:
        """Return a granted turn."""
        group = turn.group
        with self._lock:
            if turn.kind is Kind.BACKGROUND:
                self._in_background -= 1
                self._grant()
                return
            self._raise_level()
            group.began.remove(turn.began)
            group.account += self._clock() - turn.began
            self._running -= 1
            self._forget_if_gone(group)
            self._grant()

    def _forget_if_gone(self, group: Group) -> None:
        if not group.waiting and not group.began:
            self._there.remove(group)

    def _raise_level(self) -> None:
        now = self._clock()
        self._level = max(self._level, min((group.used(now) for group in self._there), default=0.0))

    def _grant(self) -> None:
        self._grant_watched()
        while self._behind:
            waited = self._clock() - self._behind_since
            starved = not self._in_background and waited > STARVED_SECONDS
            free = not self._waiting and self._running + self._in_background < self.n
            if not free and not starved:
                return
            self._in_background += 1
            self._behind_since = self._clock()
            self._behind.pop(0).granted.set()

    def _grant_watched(self) -> None:
        now = self._clock()
        while self._running < 2 * self.n:
            full = self._running >= self.n
            allowed = [t for t in self._waiting if not full or (t.kind is Kind.START and not t.group.began)]
            if not allowed:
                return
            # Among equal groups min takes the first, which has waited longest. The kind of a turn matters
            # only between groups: within a group, turns are granted in order of arrival, so that none
            # starves, and late runs alternate with the others.
            group = min(allowed, key=lambda turn: turn.group.used(now) - turn.kind.value).group
            of_group = [turn for turn in allowed if turn.group is group]
            turn = next((turn for turn in of_group if turn.late != group.late_was_last), of_group[0])
            group.late_was_last = turn.late
            self._waiting.remove(turn)
            group.waiting -= 1
            group.began.append(now)
            self._running += 1
            turn.began = now
            turn.granted.set()


SLOTS = Slots(os.cpu_count() or 1)
"""The turns of this process, one per core."""
