"""One thread that wakes once for all panels of a page and makes the samples that are due in each of them.

A thread for each run would wake thirty times a second to make two samples. So a run that goes at a rate, and
takes little of a core, is handed to the beat of its comparison by its own thread, which ends; whatever else
the run has to do (compile, go at full speed, work in the background) is done by a thread of its own again.

When the cores run out, a beat comes late. Then beats become longer: each makes more samples at once, and
there are fewer new pictures, so that frames are reduced before samples.
"""

import threading
import time
from typing import Protocol

from rbmviz.session.run import CHUNK_SECONDS
from rbmviz.session.slots import SLOTS, Group, Kind

UNWATCHED_SECONDS = 0.1
"""A beat while nobody looks: samples go on for a while, but there is no picture that they are late for."""

LONGEST_SECONDS = 0.2
"""The longest beat of a server that is full; shorter than what a run may owe, or samples would be dropped."""

LEAST_OFTEN_SECONDS = 0.5
"""Two beats are at most so far apart, however rarely a step is due."""

LONGER, SHORTER = 1.5, 0.95
"""How beats change: after one whose samples took longer than it lasts, and after any other."""


class Paced(Protocol):
    """What a beat drives."""

    @property
    def watched(self) -> bool: ...  # noqa: D102

    def next_step(self) -> float:
        """Return the time.monotonic() at which the next step is due."""

    def on_beat(self) -> None:
        """Make the steps that are due; called with a turn at a core."""


class Beat:
    """The beat of one comparison; its thread lives while there is a run to drive.

    Parameters
    ----------
    group : Group
        Whose turns at the cores it takes.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self._wake = threading.Condition()
        self._runs: list[Paced] = []
        self._thread: threading.Thread | None = None
        self._roused = False
        self.seconds = CHUNK_SECONDS

    def join(self, run: Paced) -> None:
        """Drive a run from now on."""
        with self._wake:
            self._runs.append(run)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="rbmviz-beat", daemon=True)
                self._thread.start()
            self._wake.notify()

    def leave(self, run: Paced) -> None:
        """Drive a run no longer."""
        with self._wake:
            self._runs = [other for other in self._runs if other is not run]
            self._wake.notify()

    def rouse(self) -> None:
        """Come at once: a command has been given."""
        with self._wake:
            self._roused = True
            self._wake.notify()

    def _work(self) -> None:
        tick = time.monotonic()
        while runs := self._wait(tick):
            tick = time.monotonic()
            with SLOTS.turn(self.group, Kind.PACED):
                for run in runs:
                    run.on_beat()
            late = time.monotonic() - tick > self.seconds
            self.seconds *= LONGER if late else SHORTER
            self.seconds = min(max(self.seconds, CHUNK_SECONDS), LONGEST_SECONDS)

    def _wait(self, tick: float) -> list[Paced]:
        """Wait for the beat after the one at ``tick``; return the runs to drive, none: the thread ends."""
        with self._wake:
            while True:
                if not self._runs:
                    self._thread = None
                    return []
                watched = any(run.watched for run in self._runs)
                at = tick + (self.seconds if watched else max(self.seconds, UNWATCHED_SECONDS))
                # Not for ever: a lease may end meanwhile.
                at = min(max(at, min(run.next_step() for run in self._runs)), tick + LEAST_OFTEN_SECONDS)
                now = time.monotonic()
                if self._roused or now >= at:
                    self._roused = False
                    return self._runs.copy()
                self._wake.wait(at - now)
