"""Turns at the cores, shared fairly between groups of runs (those of one visitor), however many each has.

A group's account is the time that its turns have taken. The next turn goes to the group whose account is
lowest, so that twelve panels at full speed have together what one panel of somebody else has (start-time
fair queueing). A new group begins at the lowest account of the groups that are present. A group that returns
is at most SAVED behind that account; otherwise a night's absence would stop all the others for a night.

Work that nobody watches (BACKGROUND: the cells of sweeps) has what is left over. Its turns take no part in
the accounts, and no other turn waits for one of them to end: for the rest of a slice both share a core.
"""

import contextlib
import enum
import math
import os
import threading
import time
from collections.abc import Callable, Iterator


class Kind(enum.Enum):
    """Purpose of a turn; the value: by how many seconds its group may be ahead and still go first."""

    START = 1.0
    """A run is prepared: a person waits for its first picture."""
    PACED = 0.25
    """Steps of a run with a rate: little work, which has to come in time."""
    FULL = 0.0
    """Steps of a run at full speed, which would take every core."""
    BACKGROUND = -math.inf
    """A slice of work that nobody watches: only while nobody else wants the core."""


STARVED_SECONDS = 0.5
"""Where the background has had no turn for so long, one begins all the same: a sixteenth of a core."""

SAVED = 1.0
"""Seconds that a returning group may be behind the others: as many as START may be ahead."""


class Group:
    """Runs that share their turns: those of one visitor."""

    def __init__(self) -> None:
        self.account = -math.inf  # seconds: the start level plus the time of the turns that have ended
        self.began: list[float] = []  # start times of its current turns
        self.waiting = 0
        self.late_was_last = False  # whether its newest turn was that of a late run

    def used(self, now: float) -> float:
        """Return the account including the current turns so far, seconds."""
        return self.account + sum(now - began for began in self.began)


class Turn:
    """A place in the queue; ``granted`` is set when the turn has begun."""

    def __init__(self, group: Group, kind: Kind, late: bool = False) -> None:
        self.group, self.kind, self.late = group, kind, late
        self.granted = threading.Event()
        self.began = 0.0


class Slots:
    """Grants turns, at most ``n`` at the same moment.

    A START of a group that has no turn may exceed n, up to 2 n turns in all: running turns are never
    interrupted, and a turn that compiles or loads may be long. BACKGROUND turns are counted apart: one begins
    where fewer than n turns of all kinds run and no other turn waits.

    Parameters
    ----------
    n : int
        Turns at the same moment, one per core.
    clock : callable
        Returns seconds; default time.monotonic.
    """

    def __init__(self, n: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.n, self._clock = n, clock
        self._lock = threading.Lock()
        self._waiting: list[Turn] = []  # in the order of arrival
        self._running = 0
        self._there: set[Group] = set()  # groups that have or want a turn
        self._level = 0.0  # the account at which a new group begins
        self._behind: list[Turn] = []  # BACKGROUND turns that wait, in the order of arrival
        self._behind_since = 0.0  # when the first of them was asked for, or the last one granted
        self._in_background = 0  # number of those that run

    @contextlib.contextmanager
    def turn(
        self, group: Group, kind: Kind, late: bool = False, patience: float | None = None
    ) -> Iterator[bool]:
        """Wait for a turn, and hold it for the ``with`` block; see ``ask``.

        patience : seconds to wait for it at most; the value of the ``with`` is False if it has not come
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

        late : whether the run makes up for a late start: together such runs have every second turn of their
            group, however many others it has
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
        """Leave the queue, with another turn than of the BACKGROUND; False if it has just been granted."""
        group = turn.group
        with self._lock:
            if turn.granted.is_set():
                return False
            self._waiting.remove(turn)
            group.waiting -= 1
            self._forget_if_gone(group)
            self._grant()  # what is behind may have waited for this turn alone
            return True

    def end(self, turn: Turn) -> None:
        """Give a granted turn back."""
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
            # Of equal groups min takes the first, which has waited longest. The kind of a turn matters
            # between groups only: within a group turns are granted in the order of arrival, so none starves;
            # late runs and the others take turns.
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
"""The turns of this process: one per core."""
