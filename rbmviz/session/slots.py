"""Turns at the cores, shared fairly between groups of runs (those of one visitor), however many each has.

A group's account is the time that its turns have taken. The next turn goes to the group whose account is
lowest, so that twelve panels at full speed have together what one panel of somebody else has (start-time
fair queueing). Who comes begins at the lowest account of those who are there; who comes back has saved up no
more than SAVED, else a night's absence would stop all the others for a night.
"""

import contextlib
import enum
import math
import os
import threading
import time
from collections.abc import Callable, Iterator


class Kind(enum.Enum):
    """What a turn is wanted for; the value is how many seconds its group may be ahead and still go first."""

    START = 1.0
    """Somebody waits for the first picture."""
    PACED = 0.25
    """A run with a rate: little work, that shall come in time."""
    FULL = 0.0
    """A run at full speed, which would take all that there is."""


SAVED = 1.0
"""Seconds that a group may be behind when it comes back: as many as others may be ahead and go first."""


class Group:
    """Runs that share their turns: those of one visitor."""

    def __init__(self) -> None:
        self.account = -math.inf  # seconds that turns which have ended took, from where it began
        self.began: list[float] = []  # when its turns of this moment began
        self.waiting = 0

    def used(self, now: float) -> float:
        """Return the account with what the turns of this moment have taken so far, seconds."""
        return self.account + sum(now - began for began in self.began)


class Turn:
    """A place in the queue; ``granted`` is set when the turn has begun."""

    def __init__(self, group: Group, kind: Kind) -> None:
        self.group, self.kind = group, kind
        self.granted = threading.Event()
        self.began = 0.0


class Slots:
    """Grants turns, at most ``n`` at the same moment.

    A START of a group that has no turn goes beyond that number, up to twice of it: turns are not taken away
    from others, and one that compiles or loads may be long.

    Parameters
    ----------
    n : int
    clock : function that returns seconds
    """

    def __init__(self, n: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.n, self._clock = n, clock
        self._lock = threading.Lock()
        self._waiting: list[Turn] = []  # in the order of arrival
        self._running = 0
        self._there: set[Group] = set()  # groups that have or want a turn
        self._level = 0.0  # where a group begins that comes

    @contextlib.contextmanager
    def turn(self, group: Group, kind: Kind) -> Iterator[None]:
        """Wait for a turn, and hold it for the ``with`` block."""
        turn = self.ask(group, kind)
        turn.granted.wait()
        try:
            yield
        finally:
            self.end(turn)

    def ask(self, group: Group, kind: Kind) -> Turn:
        """Queue for a turn, without waiting for it."""
        turn = Turn(group, kind)
        with self._lock:
            if group not in self._there:
                self._raise_level()
                new = math.isinf(group.account)
                group.account = self._level if new else max(group.account, self._level - SAVED)
                self._there.add(group)
            group.waiting += 1
            self._waiting.append(turn)
            self._grant()
        return turn

    def end(self, turn: Turn) -> None:
        """Give a granted turn back."""
        group = turn.group
        with self._lock:
            self._raise_level()
            group.began.remove(turn.began)
            group.account += self._clock() - turn.began
            self._running -= 1
            if not group.waiting and not group.began:
                self._there.remove(group)
            self._grant()

    def _raise_level(self) -> None:
        now = self._clock()
        self._level = max(self._level, min((group.used(now) for group in self._there), default=0.0))

    def _grant(self) -> None:
        now = self._clock()
        while self._running < 2 * self.n:
            full = self._running >= self.n
            may = [t for t in self._waiting if not full or (t.kind is Kind.START and not t.group.began)]
            if not may:
                return
            # min takes the first of equals: the group that has waited longest. What its turns are wanted for
            # counts between groups alone: within one they come in the order of arrival, so that none starves.
            group = min(may, key=lambda turn: turn.group.used(now) - turn.kind.value).group
            turn = next(turn for turn in may if turn.group is group)
            self._waiting.remove(turn)
            group.waiting -= 1
            group.began.append(now)
            self._running += 1
            turn.began = now
            turn.granted.set()


SLOTS = Slots(os.cpu_count() or 1)
"""The turns of this process: one a core."""
