"""The beat: one thread that wakes up for all panels of a page and makes the samples that are due.

If each run had its own thread, each thread would wake up dozens of times per second to make a sample or two.
Therefore the thread of a run hands it to the comparison's beat, and ends, if the run has a fixed rate and
needs little of a core. All other work (compiling, running at full speed, background work) stays on the run's
own thread.

When the machine is overloaded, beats end late. Then the beats of all pages become longer: each makes more
samples, and fewer frames are sent, so that the frame rate falls before the sampling rate (``slowdown``).
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
"""Seconds between beats: pages ask for 20 frames per second, each with new samples."""

UNWATCHED_SECONDS = 0.1
"""Seconds between beats while nobody watches."""

LATE_SECONDS = 0.2
"""A beat is late if it ends this long after it was due, and later than one interval. After a delay of one
second (``worker.BEAT_BACKLOG_SECONDS``) samples are skipped; shorter delays only make the pace uneven."""

RARE_STEPS_SECONDS = 0.5
"""Longest interval between beats when steps are due less often."""

log = logging.getLogger(__name__)


class Paced(Protocol):
    """A run that a beat can drive."""

    @property
    def watched(self) -> bool: ...  # noqa: D102

    def next_step(self) -> float:
        """Return when the next step is due, as a ``time.monotonic()`` reading."""

    def on_beat(self) -> None:
        """Make the due steps; the caller holds a turn at a core."""


class Beat:
    """The beat of one comparison; its thread exists only while there is a run to drive.

    Parameters
    ----------
    group : Group
        Steps are made in turns of this group.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self._wake = threading.Condition()
        self._runs: list[Paced] = []
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._thread: threading.Thread | None = None
        self._start_now = False  # requested by a command
        self._after_command = False  # whether a command requested the last beat
        self._tick = 0.0  # time of the last beat
        self._due = 0.0  # when that beat was due

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
        """Call ``ended`` after each beat in the ``with`` block, on the beat's thread; it must not block."""
        with self._wake:
            self._listeners += (ended,)
        try:
            yield
        finally:
            with self._wake:
                self._listeners = tuple(other for other in self._listeners if other is not ended)

    def drives(self, runs: int) -> bool:
        """Return whether the beat drives at least this many runs."""
        return len(self._runs) >= runs

    def start_now(self) -> None:
        """Start the next beat at once, after a command."""
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
        except Exception:  # the error could not be shown; other panels continue
            log.exception("a run has left its beat")
            self.leave(run)

    @property
    def seconds(self) -> float:
        """Interval of the beats of a watched page, in seconds."""
        return BEAT_SECONDS * SLOWDOWN.factor

    def _wait(self) -> list[Paced]:
        """Wait for the next beat; return the runs to drive, or [] to end the thread."""
        with self._wake:
            while True:
                if not self._runs:
                    self._thread = None
                    return []
                at, now = self._next_beat(), time.monotonic()
                if not self._start_now and now < at:
                    if self._wake.wait(at - now) or not self._runs:
                        continue  # a command, or a new run
                    now = time.monotonic()
                # Beats in time keep their interval, even if single beats are delayed.
                in_time = not self._start_now and now - at < self.seconds
                self._tick = at if in_time else now
                self._due = now if self._start_now else at
                self._after_command, self._start_now = self._start_now, False
                return self._runs.copy()

    def _next_beat(self) -> float:
        """Return the time.monotonic() of the next beat, unless a command comes first."""
        watched = any(run.watched for run in self._runs)
        interval = self.seconds if watched else max(self.seconds, UNWATCHED_SECONDS)
        # A command takes effect with a step. If no step was due in the immediate beat after a command, the
        # next beat comes when one is due, not a whole interval later.
        earliest = self._tick + (0 if self._after_command else interval)
        # Do not wait longer than this: a run's lease may end before the next step.
        next_step = min(run.next_step() for run in self._runs)
        return min(max(earliest, next_step), self._tick + RARE_STEPS_SECONDS)
