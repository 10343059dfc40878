"""The beat: one thread that wakes for all panels of a page together, and makes the samples due in each.

With a thread for each run, each would wake dozens of times per second to make a sample or two. So a run that
goes at a rate, and takes little of a core, is handed to the beat of its comparison by its own thread, which
then ends. Whatever else the run has to do (compile, go at full speed, work in the background) is done by a
thread of its own.

When the cores run out, beats end late. Then they become longer, those of all pages alike: each makes more
samples at once, and there are fewer new pictures, so that frames are reduced before samples (``slowdown``).
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from rbmviz.session.slots import SLOTS, Group, Kind
from rbmviz.session.slowdown import SLOWDOWN

BEAT_SECONDS = 0.05
"""Interval of the beats: a page asks for 20 frames per second, and each has new samples."""

UNWATCHED_SECONDS = 0.1
"""Interval of the beats while no run is watched: no picture waits for the samples."""

LATE_SECONDS = 0.2
"""A beat is late if it ends so long after it was due, and longer than its interval. Samples would be skipped
after a second (``worker.BEAT_BACKLOG_SECONDS``); what is sooner costs nothing but evenness."""

RARE_STEPS_SECONDS = 0.5
"""Longest interval between two beats when steps are due more rarely."""

log = logging.getLogger(__name__)


class Paced(Protocol):
    """What a beat drives."""

    @property
    def watched(self) -> bool: ...  # noqa: D102

    def next_step(self) -> float:
        """Return the time.monotonic() at which the next step is due."""

    def on_beat(self) -> None:
        """Make the steps that are due; the caller holds a turn at a core."""


class Beat:
    """The beat of one comparison; its thread exists while there is a run to drive.

    Parameters
    ----------
    group : Group
        The group in whose turns at the cores the steps are made.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self._wake = threading.Condition()
        self._runs: list[Paced] = []
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._thread: threading.Thread | None = None
        self._start_now = False  # because of a command
        self._after_command = False  # the last beat was for a command
        self._tick = 0.0  # time of the last beat
        self._due = 0.0  # when it was due

    def join(self, run: Paced) -> None:
        """Drive a run from now on."""
        with self._wake:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="rbmviz-beat", daemon=True)
                thread.start()  # it waits for _wake
                self._thread = thread
            self._runs.append(run)
            self._wake.notify()

    def leave(self, run: Paced) -> None:
        """Stop driving a run."""
        with self._wake:
            self._runs = [other for other in self._runs if other is not run]
            self._wake.notify()

    @contextlib.contextmanager
    def listening(self, ended: Callable[[], None]) -> Iterator[None]:
        """Call ``ended`` at the end of each beat in the ``with`` block, on its thread: it must not wait."""
        with self._wake:
            self._listeners += (ended,)
        try:
            yield
        finally:
            with self._wake:
                self._listeners = tuple(other for other in self._listeners if other is not ended)

    def drives(self, runs: int) -> bool:
        """Return whether it drives so many runs."""
        return len(self._runs) >= runs

    def start_now(self) -> None:
        """Start the next beat at once, because a command has been given."""
        with self._wake:
            self._start_now = True
            self._wake.notify()

    def _work(self) -> None:
        self._tick, self._after_command = time.monotonic(), False
        while runs := self._wait():
            with SLOTS.turn(self.group, Kind.PACED):
                for run in runs:
                    self._drive(run)
            for ended in self._listeners:
                ended()
            late = time.monotonic() - self._due > max(self.seconds, LATE_SECONDS)
            SLOWDOWN.note_beat(self._due, late)

    def _drive(self, run: Paced) -> None:
        try:
            run.on_beat()
        except Exception:  # one that could not even be shown: the other panels of the page go on
            log.exception("a run has left its beat")
            self.leave(run)

    @property
    def seconds(self) -> float:
        """Interval of the beats of a page that is watched."""
        return BEAT_SECONDS * SLOWDOWN.factor

    def _wait(self) -> list[Paced]:
        """Wait for the next beat; return the runs to drive, [] to end the thread."""
        with self._wake:
            while True:
                if not self._runs:
                    self._thread = None
                    return []
                at, now = self._next_beat(), time.monotonic()
                if not self._start_now and now < at:
                    if self._wake.wait(at - now) or not self._runs:
                        continue  # a command, or another run
                    now = time.monotonic()
                # In time, beats keep their interval, whatever the delay of a single one.
                in_time = not self._start_now and now - at < self.seconds
                self._tick = at if in_time else now
                self._due = now if self._start_now else at
                self._after_command, self._start_now = self._start_now, False
                return self._runs.copy()

    def _next_beat(self) -> float:
        """Return the time.monotonic() of the next beat, unless a command comes before."""
        watched = any(run.watched for run in self._runs)
        interval = self.seconds if watched else max(self.seconds, UNWATCHED_SECONDS)
        # A command takes effect with a step: if none was due in the beat that came at once for it, the next
        # beat comes when one is, not a whole interval later.
        earliest = self._tick + (0 if self._after_command else interval)
        # Not longer than this: the lease of a run may end in the meantime.
        next_step = min(run.next_step() for run in self._runs)
        return min(max(earliest, next_step), self._tick + RARE_STEPS_SECONDS)
