"""A panel of a page: one run with its log, its newest snapshot, and the lock that guards its steps."""

import contextlib
import dataclasses
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from rbmviz.errors import BadInput
from rbmviz.knobs import Value, check_names, knobs_of
from rbmviz.session.again import Freed
from rbmviz.session.compiling import COMPILING
from rbmviz.session.memory import check_room
from rbmviz.session.snapshot import Snapshot, Status
from rbmviz.support.stopping import Stopped, stopping

BACKLOG_SECONDS = 0.25
"""Computing time for steps that are due: a panel that cannot keep its page's rate skips the others, so that a
pause acts at once."""

CATCH_UP_SECONDS = 10.0
"""Computing time that a panel that was added late may spend on the steps that it has missed."""

READ_SECONDS = 10.0
"""Seconds for which ``Panel.read`` waits for the end of a step."""

log = logging.getLogger(__name__)

T = TypeVar("T")


class Panel:
    """One run of a page, which never restarts: a restart is another panel with the same key.

    key : stays the same when other panels come and go, and when the run restarts
    plan, algorithm : what makes the run, and its algorithm with the newest knobs
    number : number of the run on its page, from 1
    slot : smallest number that no other panel had when it was added: the dashes of its curve
    ahead : number of steps by which it is to be further than its page's clock
    snapshot : its newest snapshot
    """

    def __init__(self, key: int, plan: Any, algorithm: Any, number: int, slot: int) -> None:
        self.key, self.plan, self.algorithm = key, plan, algorithm
        self.number, self.slot = number, slot
        self.run: Any = plan.run(number, algorithm)  # a Run, or what is kept of a freed one
        self.ahead: float = 0.0
        self.settles_at: int | None = None  # the page's clock, at which it stays after the current chunk
        self.catch_up_to = 0.0  # steps that it makes at full speed, because it was added late,
        self._catch_up_seconds = 0.0  # within this much computing
        self._caught_up_since: tuple[int, float] | None = None  # n, and time, at its first late step
        self.error: str | None = None
        self.at_work = False  # whether a thread of its own makes a step, or prepares the run
        self.is_left: Callable[[], bool] = lambda: False
        # Whether the run, which was added and takes its memory now and with its first step, needs room. When
        # the last of several panels is added, the others have not taken theirs.
        self.needs_room = False
        self.lock = threading.RLock()  # held during a chunk of steps, so that nobody reads a state in between
        self._free_wanted = False
        self._stale = False
        self.snapshot: Snapshot = self.run.view("starting")

    # Queries, from any thread

    @property
    def is_freed(self) -> bool:
        """Whether the memory of the run is freed, or its steps are still being repeated."""
        return isinstance(self.run, Freed)

    @property
    def is_ready(self) -> bool:
        """Whether the run can make steps, or never will."""
        return self.error is not None or (self.run.prepared and not self.is_freed)

    @property
    def compiling(self) -> tuple[int, int] | None:
        """How many of the compiler's jobs for waiting runs are done, and of how many; None: its own are."""
        return None if self.is_freed or self.is_ready else COMPILING.jobs_done(self.run.jobs())

    @property
    def catches_up(self) -> bool:
        """Whether the run makes up for the steps that it has missed, because it was added late."""
        return self._catch_up_seconds > 0 and self.run.n < self.catch_up_to and self.error is None

    @property
    def seconds_to_catch_up(self) -> float:
        """Approximate seconds until it has caught up; 0 if it has missed nothing."""
        if not self.catches_up:
            return 0.0
        first, at = self._caught_up_since or (self.run.n, time.monotonic())
        made = self.run.n - first
        if not made:
            return self._catch_up_seconds
        return (self.catch_up_to - self.run.n) * (time.monotonic() - at) / made

    def read(self, query: Callable[[Any], T]) -> T:
        """Return ``query(run)``, called between two chunks; BadInput while the run cannot be read."""
        if not self.lock.acquire(timeout=READ_SECONDS):
            raise BadInput("This panel is in the middle of a long step: try again in a moment.")
        try:
            if isinstance(self.run, Freed):
                raise BadInput(
                    f"The steps of this run are being repeated ({self.run.share:.0%} done): "
                    "try again in a moment."
                )
            return query(self.run)
        finally:
            self.lock.release()

    def with_knobs(self, /, **knobs: Value) -> Any:
        """Return the algorithm with these knobs changed; BadInput if one is unknown or out of range."""
        check_names(type(self.algorithm), knobs)
        return dataclasses.replace(self.algorithm, **knobs)

    def restarts_with(self, knobs: dict[str, Value]) -> bool:
        """Return whether these knobs need another run: one of them is not live, or the run has failed."""
        declared = knobs_of(self.algorithm)
        return self.error is not None or not all(declared[name].live for name in knobs)

    # Steps, by the jobs of its page

    def start_late(self, n: float) -> None:
        """Let the run catch up with n steps, within CATCH_UP_SECONDS of computing."""
        self.catch_up_to, self._catch_up_seconds = n, CATCH_UP_SECONDS

    def due(self, target: float) -> float:
        """Return the number of steps to make now, given the page's."""
        if self.settles_at is not None:
            self.ahead, self.settles_at = self.run.n - self.settles_at, None
        left = target + self.ahead - self.run.n
        if left < 0:  # it is further, so the page's clock is with it from here on
            self.ahead -= left
        if left <= 0 or math.isinf(left):
            return max(left, 0.0)
        if self._catch_up_seconds > 0:
            self.catch_up_to = target + self.ahead
        return left

    def skip(self, target: float, at_least: float = 1.0) -> None:
        """Skip steps that are due but would take too long, all but ``at_least``."""
        if self._catch_up_seconds <= 0 and math.isfinite(target):
            most = max(BACKLOG_SECONDS // max(self.run.expected_seconds, 1e-9), at_least)
            self.ahead -= max(target + self.ahead - self.run.n - most, 0.0)

    def status(self, running: bool, target: float) -> Status:
        """Return the status of the run on a page that is running or not, and has made ``target`` steps."""
        if self.error is not None:
            return "failed"
        if self.is_freed:
            return "rebuilding"
        if not self.run.prepared:
            return "starting"
        if self.run.over:
            return "finished"
        return "running" if running or self.run.n < target + self.ahead else "paused"

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Hold the lock for a piece of work, show its error, and free the run if that was asked."""
        with self.lock:
            try:
                yield
            except Stopped:
                pass
            except Exception as error:  # the page must show any error
                if not isinstance(error, BadInput):
                    log.exception("a run failed")
                self.error = str(error) if isinstance(error, BadInput) else f"Internal error: {error!r}"
            if self._free_wanted:
                self._free()

    def prepare(self) -> None:
        """Prepare the run, for which a thread of its own may take long; nobody reads a run before."""
        run = self.run
        try:
            if self.needs_room:
                check_room()
            with stopping(self.is_left):
                run.prepare()
        except Stopped:
            return
        except Exception:
            with self.working():
                raise
        with self.working():
            self._stale = True

    def advance(self, target: float, seconds: float, watched: bool) -> bool:
        """Make the steps that are due, or repeat a freed run, for a while; return whether any is left."""
        with self.working():
            end = time.perf_counter() + seconds
            self.run.watched, self.run.is_left = watched, self.is_left
            while self._advance(target):
                if time.perf_counter() > end:
                    return True
        return False

    def _advance(self, target: float) -> bool:
        """Make one chunk; return False if there is nothing to do."""
        if self.error is not None:
            return False
        run = self.run
        if isinstance(run, Freed):
            self._stale = True
            self.run = run.repeat() or run
            return True
        due = self.due(target)
        at_once = run.over or run.knobs_at_once
        if run.algorithm is not self.algorithm and (due or at_once):
            run.set_knobs(self.algorithm)
            self._stale = True
        if not run.prepared or not (n := int(min(due, run.max_steps()))):
            return False
        if self.needs_room:
            check_room()
            self.needs_room = False
        begin = time.perf_counter()
        run.record_steps(run.timed_advance(n))
        self._stale = True
        if self._catch_up_seconds > 0:
            self._caught_up_since = self._caught_up_since or (run.n - n, begin)
            self._catch_up_seconds -= time.perf_counter() - begin
            if run.n >= self.catch_up_to:
                self._catch_up_seconds = 0.0
        return True

    def work_in_background(self, paused: bool) -> bool:
        """Do a slice of the run's background work; return whether there was any."""
        worked = False
        with self.working():
            if self.is_ready and self.error is None:
                worked = self.run.background_work(paused)
                self._stale |= worked
        return worked

    def publish(self, running: bool, target: float) -> None:
        """Store a new snapshot, if there is something new."""
        status = self.status(running, target)
        if not self._stale and status == self.snapshot.status and self.error == self.snapshot.error:
            return
        if status == "starting" and self.snapshot.status != "starting":
            return  # new knobs need a new state: until it is there, the last one is shown
        with self.working():
            if status != "running" and self.is_ready and self.error is None:
                self.run.complete()
            snapshot = self.run.view(status)
            self.snapshot = dataclasses.replace(snapshot, error=self.error) if self.error else snapshot
            self._stale = False
        if self.error != self.snapshot.error:  # the snapshot itself has failed
            self.snapshot = dataclasses.replace(self.snapshot, status="failed", error=self.error)
            self._stale = False

    # Memory

    def free(self) -> None:
        """Free the memory of the run at the end of its current chunk, and return at once.

        Its steps are repeated from its log when its page is open again. A run that has failed, or has too
        many knob changes to log, keeps its memory.
        """
        self._free_wanted = True
        if self.lock.acquire(blocking=False):
            try:
                self._free()
            finally:
                self.lock.release()

    def _free(self) -> None:
        self._free_wanted = False
        run = self.run
        if isinstance(run, Freed):
            run.drop_steps()
        elif run.prepared and run.log.complete and self.error is None:
            self.run = Freed(run, self.snapshot)
            self.snapshot = self.run.view("rebuilding")
