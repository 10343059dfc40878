"""The handle of one panel, which takes commands, makes a run's steps and publishes immutable snapshots.

A worker carries out one run after another: ``begin``, or a change of a knob that is not live, starts the next
run. A worker has no thread of its own: the scheduler calls ``work`` when the worker has asked for it.
``pace.Pace`` decides which steps are due.
"""

import contextlib
import copy
import dataclasses
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from rbmviz.blas import one_blas_thread_for_good
from rbmviz.errors import BadInput
from rbmviz.knobs import Value, check_names, knobs_of
from rbmviz.session.again import Change, Rebuild
from rbmviz.session.compiling import COMPILING
from rbmviz.session.pace import Pace
from rbmviz.session.run import CHUNK_SECONDS, Plan, Run
from rbmviz.session.scheduler import Due, Page, Priority, Task
from rbmviz.session.snapshot import Snapshot, Status
from rbmviz.stopping import Stopped, stopping

LEASE_SECONDS = 30.0
"""Seconds without a snapshot request after which a run sleeps; the next request wakes it."""

BACKLOG_SECONDS = 0.25
"""A run behind its rate skips steps that are overdue by more than this, so that pauses act at once."""

LIGHT_BACKLOG_SECONDS = 1.0
"""The same limit for a light run, which makes up the steps missed because of a late beat."""

WATCHED_SECONDS = 1.0
"""A run is watched, and publishes after each unit, if a snapshot was requested within this time."""

LIGHT_RUN_PARTS = 16
"""A run is light, and driven by the beats of its page, if its rate takes less than 1 / LIGHT_RUN_PARTS of a
core.

The limit is on processor time because, on an overloaded server, chunks also wait for a core.
"""

BACKGROUND_SECONDS = 0.5
"""Seconds until a run without background work checks again: another thread may have ended a computation."""

COMPILING_SECONDS = 0.1
"""Seconds until a run whose kernels are still compiling checks again whether they are ready."""

log = logging.getLogger(__name__)


class PastRun:
    """A replaced run that its worker can restore; see ``Worker.set_aside``."""

    def __init__(self, plan: Any, algorithm: Any, run: "Run | Rebuild", snapshot: Snapshot) -> None:
        self.plan, self.algorithm, self.run, self.snapshot = plan, algorithm, run, snapshot

    def bytes(self) -> int:
        """Return an upper bound on the bytes of the run."""
        return 0 if isinstance(self.run, Rebuild) else self.plan.bytes(self.algorithm)


R = TypeVar("R", bound=Run)
T = TypeVar("T")


class Worker(Generic[R]):
    """Execute the commands of one panel, hold the panel's run, and publish its snapshots.

    Three commands stop a run, each more completely: ``pause`` stops its steps; ``close`` stops all its work;
    ``rest`` also frees its memory, and ``open`` then rebuilds the run. A run without a snapshot request for
    LEASE_SECONDS sleeps: it makes no steps until the next request.

    algorithm : sampler, trainer or coupling, whose live knobs may change during a run
    rate : maximum number of steps per second; infinity (the default) is full speed
    page : the page whose beats may drive the run, and whose tenant's computing time the run uses; None: a
        separate page

    Commands return at once and take effect between two chunks, within about 30 ms: they only change the next
    work, and ask the scheduler for it. Only ``rest``, ``free``, ``put_back`` and the queries ``read`` and
    ``rebuild_data`` wait for the end of a unit, which may take longer while a rebuilt run is prepared.
    Commands to runs that must stay in step get the same ``at``, a time.monotonic() reading.

    Code that needs several locks acquires them in this order: ``Comparison._together``, ``_chunk``,
    ``_lock``, the scheduler's lock.
    """

    def __init__(
        self,
        plan: Plan[R],
        algorithm: Any,
        *,
        rate: float = math.inf,
        page: Page | None = None,
    ) -> None:
        # Each run must use one thread, because BLAS threads of several runs would compete for the cores.
        one_blas_thread_for_good()
        self._page = page or Page()
        self._task = Task(self._page.tenant, self.work)
        # Guards fields that commands write; held briefly, never during a chunk. Notified after each unit.
        self._lock = threading.Condition()
        # Held during a unit, except while a run is prepared, so that code that reads the run's state waits.
        self._chunk = threading.Lock()
        self._at_work = False  # whether a thread is doing a unit of work
        self._run: Any  # a Run, or a Rebuild in its place
        self._snapshot: Snapshot
        self._stale = False  # whether steps were made since the snapshot
        self._opened = False  # whether the run may work
        self._worked_at = time.monotonic()  # time at which the last unit of work ended
        self._look_at = -math.inf  # time from which there may be background work
        self._algorithm = algorithm
        self._pace = Pace(rate)
        self._asked_at = time.monotonic()
        self._runs = 0
        self.begin(plan)

    # Commands, from any thread.

    def resume(self, at: float | None = None) -> None:
        """Make steps from now on, or from ``at``, a time.monotonic() reading."""
        with self._lock:
            self._pace.resume(self._run.n, at)
            self._plan()

    def pause(self, at: float | None = None) -> None:
        """Stop; runs with the same rate that are paused with the same ``at`` stop at the same step."""
        with self._lock:
            self._pace.pause(self._run.n, self._backlog(), at)
            self._plan()

    @property
    def stops_at(self) -> float:
        """The number of steps at which a paused run stops, or has stopped."""
        return self._pace.stop_at

    def stop_no_later(self, n: float) -> None:
        """Let a paused run that is catching up stop at n steps, if it would go further."""
        with self._lock:
            self._pace.stop_no_later(self._run.n, n)

    def hold_steps(self) -> contextlib.AbstractContextManager[Any]:
        """Let no step become due within a ``with`` block, so that several runs can take a command in step."""
        return self._lock

    def step(self, n: int = 1) -> None:
        """Make n more steps at full speed, then pause."""
        with self._lock:
            self._pace.step(self._run.n, n)
            self._plan()

    def catch_up(self, other: "Worker[Any]") -> None:
        """Make the steps that another run has made, at full speed; then stay in step with that run.

        After CATCH_UP_SECONDS of computing, the run continues at its rate from the step that it has reached.
        Nothing happens if runs of this kind do not catch up; see ``Run.catches_up``.
        """
        if not self._run.catches_up:
            return
        with other._lock:
            pace, n = copy.copy(other._pace), other._run.n
        with self._lock:
            self._pace.catch_up_with(pace, n)
            self._plan()

    def set_rate(self, rate: float, at: float | None = None) -> None:
        """Set the steps per second; infinity is full speed."""
        with self._lock:
            self._pace.set_rate(self._run.n, rate, self._backlog(), at)
            self._plan()

    def apply_knobs(self, /, **knobs: Value) -> None:
        """Change knobs after a slider is released; the run restarts if it failed or a knob is not live."""
        with self._lock:
            self._algorithm = self.with_knobs(**knobs)
            live = all(knobs_of(self._algorithm)[name].live for name in knobs)
            if self._snapshot.status == "failed" or not live:
                self._begin()
            self._plan()

    def with_knobs(self, /, **knobs: Value) -> Any:
        """Return the algorithm with these knobs changed; BadInput if one is unknown or out of range."""
        check_names(type(self._algorithm), knobs)
        return dataclasses.replace(self._algorithm, **knobs)

    def set_live_knobs(self, /, **knobs: Value) -> None:
        """Change live knobs while a slider is dragged; the run does not restart, even if it has failed.

        Raises BadInput if a knob is unknown, not live, or out of range.
        """
        declared = knobs_of(self._algorithm)
        check_names(type(self._algorithm), knobs)
        if fixed := [name for name in knobs if not declared[name].live]:
            raise BadInput(
                f"{type(self._algorithm).name}: {fixed[0]} is not live: release it to start again."
            )
        with self._lock:
            self._algorithm = dataclasses.replace(self._algorithm, **knobs)
            self._plan()

    def begin(self, plan: Plan[R]) -> None:
        """Start a new run with this plan."""
        with self._lock:
            self.plan: Any = plan
            self._begin()

    def set_aside(self) -> PastRun:
        """Return the run, so that ``put_back`` can restore it after another run has started."""
        with self._lock:
            return PastRun(self.plan, self._algorithm, self._run, self._snapshot)

    def free(self, past: PastRun) -> None:
        """Free the memory of a run that was set aside; ``put_back`` lets it be rebuilt."""
        with self._chunk:
            if not isinstance(past.run, Rebuild) and past.run is not self._run and past.run.log.complete:
                past.run = Rebuild(past.run, past.snapshot)

    def put_back(self, past: PastRun) -> None:
        """Replace the current run with one that was set aside, and pause."""
        with self._chunk, self._lock:
            self.plan, self._algorithm, self._run = past.plan, past.algorithm, past.run
            self._pace.begin(self._run.n)  # drops the steps that the successor has missed
            self._pace.pause_at(self._run.n)
            if past.snapshot.status == "failed" and not self.at_rest:
                self._store_snapshot(self._run, "failed", past.snapshot.error)
            else:
                self._store_snapshot(self._run, None if self._run.prepared else "starting")
            self._plan()

    def open(self) -> None:
        """Let the run work, and renew the lease; a freed run is rebuilt."""
        with self._lock:
            self._opened = True
            self._asked_at = time.monotonic()
            self._plan()

    def close(self) -> None:
        """Stop the run after the current unit, and return at once; ``open`` continues it."""
        with self._lock:
            self._opened = False
            self._plan()

    def rest(self) -> None:
        """Close, and free the memory of the run; ``open`` rebuilds the run bit for bit.

        This waits for the end of the current chunk. The plan, the knob changes by step and a small last
        snapshot are kept. The memory of a run with too many knob changes to log is not freed.
        """
        self.close()
        with self._chunk, self._lock:
            if isinstance(self._run, Rebuild):
                self._run.drop_steps()
            elif self._run.log.complete:
                if self._stale:
                    self._store_snapshot(self._run)
                self._run = Rebuild(self._run, self._snapshot)
                self._store_snapshot(self._run, "rebuilding")

    def join(self, timeout: float | None = None) -> None:
        """After ``close``, wait until the current unit ends, at most ``timeout`` seconds (None: no limit)."""
        with self._lock:
            self._lock.wait_for(lambda: not self._at_work, timeout)

    # Queries, from any thread.

    def request_snapshot(self) -> Snapshot:
        """Return the newest snapshot, and renew the lease; a sleeping run wakes up."""
        snapshot = self.peek()
        if time.monotonic() - self._asked_at < LEASE_SECONDS / 2:
            self._asked_at = time.monotonic()
            return snapshot
        # Locked, so that no thread sees an expired lease just before its renewal, and lets the run sleep.
        with self._lock:
            asleep, self._asked_at = self._asleep(), time.monotonic()
            if asleep:
                self._restart_pace()
        return snapshot

    def peek(self) -> Snapshot:
        """Return the newest snapshot without renewing the lease."""
        # An unwatched run publishes no snapshots, so make one now, after the current chunk if necessary. A
        # watched run publishes one after each chunk.
        patience = 0 if self.watched else 2 * CHUNK_SECONDS
        if self._stale and self._chunk.acquire(timeout=patience):
            try:
                with self._lock:
                    if self._stale and self._run.prepared:
                        self._store_snapshot(self._run)
            finally:
                self._chunk.release()
        return self._snapshot

    @property
    def watched(self) -> bool:
        """Whether a snapshot was requested within WATCHED_SECONDS, which a slowdown extends."""
        return time.monotonic() - self._asked_at <= WATCHED_SECONDS * self._page.scheduler.slowdown

    @property
    def compiling(self) -> tuple[int, int] | None:
        """The jobs done, of all that runs wait for, while its kernels are compiled; see ``jobs_done``."""
        run = self._run
        return None if isinstance(run, Rebuild) or run.prepared else COMPILING.jobs_done(run.jobs())

    @property
    def algorithm(self) -> Any:
        """The algorithm with its newest knobs."""
        return self._algorithm

    @property
    def at_rest(self) -> bool:
        """Whether the run's memory has been freed, or the run is still being rebuilt."""
        return isinstance(self._run, Rebuild)

    @property
    def awake(self) -> bool:
        """Whether the run is open and its lease has not expired, so that it may work."""
        return self._opened and not self._asleep()

    def bytes(self) -> int:
        """Return an upper bound on the bytes of the run; 0 while it is at rest."""
        return 0 if self.at_rest and not self._opened else self.plan.bytes(self._algorithm)

    def read(self, query: Callable[[R], T]) -> T:
        """Return ``query(run)``, called between two chunks; BadInput while the run is being rebuilt."""
        with self._chunk, self._lock:
            if isinstance(self._run, Rebuild):
                raise BadInput(
                    f"This run is being rebuilt after it had been put to rest ({self._run.share:.0%} done): "
                    "try again in a moment."
                )
            answer = query(self._run)
            self._look_at = -math.inf  # the query may have given the run background work
            self._plan()
            return answer

    def rebuild_data(self, query: Callable[[R], T]) -> tuple[Any, int, tuple[Change, ...], T] | None:
        """Return a consistent set of data to rebuild the run: plan, steps, knob changes and ``query(run)``.

        None if the run has failed, is being rebuilt or prepared, or had too many knob changes, so that it
        cannot be rebuilt.
        """
        with self._chunk, self._lock:
            run = self._run
            failed = self._snapshot.status == "failed"
            if failed or isinstance(run, Rebuild) or not run.prepared or not run.log.complete:
                return None
            return self.plan, run.n, run.log.changes, query(run)

    @property
    def catching_up(self) -> bool:
        """Whether the run is catching up on missed steps."""
        return self._pace.catching_up(self._run.n)

    @property
    def seconds_to_catch_up(self) -> float:
        """Approximate seconds until the run has caught up; 0 if it has missed no steps."""
        return self._pace.seconds_to_catch_up(self._run.n) if self.catching_up else 0.0

    @property
    def caught_up_to(self) -> float:
        """Step up to which the run catches up, or has caught up; 0 if the run has given up."""
        return self._pace.missed_to

    # Internal; callers that are commands hold _lock.

    def _begin(self) -> None:
        """Replace the run with a new run."""
        self._runs += 1
        self._run = self.plan.run(self._runs, self._algorithm)
        self._store_snapshot(self._run, "starting")
        self._pace.begin(self._run.n)
        self._plan()

    def _restart_pace(self) -> None:
        """Restart the timetable after a time without steps."""
        self._pace.restart(self._run.n)
        self._plan()

    def _plan(self, command: bool = True) -> None:
        """Ask the scheduler for the next work, after a command or a unit of work."""
        if self._at_work:  # the unit asks when it ends
            return
        due = self._next_work()
        light = due if self._is_light() else None
        self._page.drive(self, light and light.at, now=command)
        self._page.scheduler.ask(self._task, None if light else due)

    def _next_work(self) -> Due | None:
        """Return the next work and the time at which it is due; None: no work before a command."""
        run, since = self._run, self._worked_at  # work that has waited longest comes first
        if not self._opened or self._snapshot.status == "failed":
            return None
        if isinstance(run, Rebuild):
            return None if self._asleep() else Due(Priority.FULL, since, long=not run.begun)
        if not run.prepared:
            wait = 0.0 if COMPILING.request(run.jobs()) else COMPILING_SECONDS
            # If the kernels are not compiled, the run compiles them itself, which takes many seconds.
            return Due(Priority.START, since + wait, long=self.compiling is not None or run.is_long)
        if self._snapshot.status != self._status() or self._has_knobs_at_once():
            return Due(Priority.PACED, since)
        if self._asleep():
            return None
        at, priority, late = math.inf, Priority.PACED, self.catching_up
        if run.max_steps():
            at = max(self._pace.time_of_next(run.n), since)
        if late or self._pace.at_full_speed:
            priority = Priority.FULL if self.watched else Priority.BACKGROUND
        elif self._pace.running and not self._is_light():  # making several steps at once is cheaper
            at = max(at, since + CHUNK_SECONDS)
        look_at = max(self._look_at, since) if run.has_background_work else math.inf
        return Due(priority, at, look_at, late, run.is_long) if min(at, look_at) < math.inf else None

    def _is_light(self) -> bool:
        """Whether beats drive the run: it is paced, uses little of a core, and has no other work."""
        run, pace = self._run, self._pace
        return (
            not isinstance(run, Rebuild)
            and run.prepared
            and not run.has_background_work
            and not self.catching_up
            and pace.running
            and pace.rate * LIGHT_RUN_PARTS * run.step_seconds < 1
        )

    def _has_knobs_at_once(self) -> bool:
        """Whether there are new knobs that the run applies even if no step is due."""
        run = self._run
        return (run.over or run.knobs_at_once) and run.algorithm is not self._algorithm

    def _backlog(self) -> float:
        """Return the seconds by which steps may be overdue before they are skipped."""
        return LIGHT_BACKLOG_SECONDS if self._is_light() else BACKLOG_SECONDS

    def _is_left(self, run: Run) -> bool:
        """Whether nobody waits for a long step of this run: it was replaced, or its page has gone."""
        return run is not self._run or not self._opened

    def _asleep(self) -> bool:
        return time.monotonic() - self._asked_at > LEASE_SECONDS

    def _status(self) -> Status:
        if self.at_rest:
            return "rebuilding"
        return "finished" if self._run.over else self._pace.status(self._run.n)

    def _due_steps(self) -> int:
        """Return the number of steps to make now; 0 if none are due."""
        if not self._opened or self._asleep() or self._snapshot.status == "failed":
            return 0
        return self._pace.due(self._run.n, self._run.max_steps(), self._backlog())

    # Work, on a thread of the scheduler

    def work(self) -> None:
        """Do one unit of work, and ask for the next."""
        with self._lock:
            if self._at_work or not self._opened:
                return
            self._at_work = True
            run = self._run
        completed = False
        try:
            with self._errors_shown(run), contextlib.suppress(Stopped):
                self._work_on(run)
            completed = True
        finally:
            with self._lock:
                self._at_work = False
                self._worked_at = time.monotonic()
                if completed:
                    self._plan(command=False)
                self._lock.notify_all()

    @contextlib.contextmanager
    def _errors_shown(self, run: Run | Rebuild) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # the page must show any error
            if not isinstance(error, BadInput):
                log.exception("a run failed")
            text = str(error) if isinstance(error, BadInput) else f"Internal error: {error!r}"
            self._publish(run, "failed", text)

    def _work_on(self, run: Run | Rebuild) -> None:
        if isinstance(run, Rebuild):
            self._rebuild(run)
        elif not run.prepared:
            self._prepare(run)
        else:
            with self._chunk:
                self._advance(run)

    def _prepare(self, run: Run) -> None:
        """Prepare a run if its kernels are compiled; this may take long, and the pace allows for it."""
        if not COMPILING.request(run.jobs()):
            return
        with stopping(lambda: self._is_left(run)):
            run.prepare()
        with self._chunk, self._lock:
            if run is self._run:
                self._pace.note_preparation(run.n)
                self._store_snapshot(run)

    def _advance(self, run: Run) -> None:
        """Make about one chunk of the steps that are due; if none are due, do background work."""
        end, worked = time.perf_counter() + CHUNK_SECONDS / 2, False
        while n := self._take_commands(run):
            self._make_steps(run, n)
            worked = True
            if time.perf_counter() > end:
                break
        if n is None:  # the run was replaced, or must be prepared
            return
        if worked:
            self._look_at = -math.inf
        elif self._status() == self._snapshot.status:
            worked = self._work_in_background(run)
        self._complete(run)
        if (worked and self.watched) or self._status() != self._snapshot.status:
            self._publish(run)

    def _take_commands(self, run: Run) -> int | None:
        """Apply new knobs; return how many steps to make now, None if the run or its state was replaced."""
        with self._lock:
            if run is not self._run:  # a command has started another run
                return None
            n = self._due_steps()
            # If no step is due, new knobs can wait, unless the snapshot shows their effect.
            if self._has_knobs_at_once() or (n and run.algorithm is not self._algorithm):
                run.set_knobs(self._algorithm)
                if not run.prepared:  # these knobs need a new state
                    return None
                n = min(n, run.max_steps())  # a knob change may bring the next point of a curve nearer
            return n

    def _make_steps(self, run: Run, n: int) -> None:
        run.watched, run.is_left = self.watched, lambda: self._is_left(run)
        begin = time.perf_counter()
        steps = run.timed_advance(n)
        with self._lock:
            run.record_steps(steps)
            self._stale = run is self._run
            if self.catching_up:
                self._pace.note_computing(self._run.n, time.perf_counter() - begin)

    def _work_in_background(self, run: Run) -> bool:
        """Do a slice of background work; return whether there was any."""
        if not run.has_background_work or self._asleep():
            return False
        worked = run.background_work(paused=not self._pace.running)
        with self._lock:
            self._stale |= worked and run is self._run
            self._look_at = -math.inf if worked else time.monotonic() + BACKGROUND_SECONDS
        return worked

    def _complete(self, run: Run) -> None:
        """Let a run that stops here compute deferred values; ``_chunk`` is held."""
        if run is self._run and run.prepared and self._status() != "running":
            run.complete()

    def _rebuild(self, rebuild: Rebuild) -> None:
        """Rebuild one more chunk of a freed run; after the last chunk, the run replaces the placeholder."""
        with self._chunk:
            if rebuild is not self._run:
                return
            rebuilt = rebuild.work()
            with self._lock:
                if rebuild is self._run and rebuilt is not None:
                    self._run = rebuilt
                    self._pace.restart(rebuilt.n)
            if rebuilt is None:
                self._publish(rebuild, "rebuilding")
            elif rebuild.failure is None:
                self._complete(rebuilt)
                self._publish(rebuilt)
            else:
                self._publish(rebuilt, "failed", rebuild.failure)

    # Snapshots

    def _store_snapshot(
        self, run: Run | Rebuild, status: Status | None = None, error: str | None = None
    ) -> None:
        """Store a new snapshot; ``_lock`` is held, and no other thread is making a chunk."""
        self._stale = False
        snapshot = run.view(status or self._status())
        self._snapshot = snapshot if snapshot.error == error else dataclasses.replace(snapshot, error=error)

    def _publish(self, run: Run | Rebuild, status: Status | None = None, error: str | None = None) -> None:
        with self._lock:
            if run is self._run:  # otherwise a command has started another run
                self._store_snapshot(run, status, error)
