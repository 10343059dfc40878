"""The worker of one panel: take commands, make the steps of a run, publish immutable snapshots.

A worker carries out one run after another: ``begin``, or a change of a knob that is not live, starts the next
run. The worker has a thread only while it needs one (``_wait`` ends it), and none while the beat of its page
makes the steps. ``pace.Pace`` decides which steps are due.
"""

import contextlib
import copy
import dataclasses
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from rbmviz.blas import one_blas_thread_for_good
from rbmviz.errors import BadInput
from rbmviz.knobs import Value, check_names, knobs_of
from rbmviz.session.again import Change, Log, Rebuild
from rbmviz.session.beat import Beat
from rbmviz.session.compiling import COMPILING
from rbmviz.session.pace import CATCH_UP_SECONDS, Pace
from rbmviz.session.run import CHUNK_SECONDS, Plan, Run
from rbmviz.session.slots import SLOTS, Group, Kind
from rbmviz.session.slowdown import SLOWDOWN
from rbmviz.session.snapshot import Snapshot, Status

LEASE_SECONDS = 30.0
"""A run without a snapshot request for this long sleeps; the next request wakes it."""

IDLE_SECONDS = 60.0
"""A run that sleeps, or has been idle for this long, ends its thread; a command starts another."""

BACKLOG_SECONDS = 0.25
"""A run that falls behind its rate skips steps overdue by more than this, so that a pause acts at once."""

BEAT_BACKLOG_SECONDS = 1.0
"""The same for a run on the beat, which makes up for steps that a late beat missed."""

WATCHED_SECONDS = 1.0
"""A run is watched if a snapshot was requested within this time; then it publishes each chunk or beat."""

LEAVE_SECONDS = 0.01
"""How long a beat waits for the end of the thread that handed it a run."""

CHUNKS_PER_BEAT = 4
"""Maximum number of chunks of a run in one beat; chunks are small after one that waited for a core."""

LIGHT_RUN_PARTS = 16
"""The beat drives a run if the run's rate takes less than 1 / LIGHT_RUN_PARTS of a core.

The limit is on processor time: on an overloaded server, chunks also wait for a core, and if runs left the
beat for that, an overload would create even more threads.
"""

RUN_NICENESS = 10
"""Niceness of the runs' own threads (Linux only): pages and the beat have priority."""

log = logging.getLogger(__name__)


def _lower_priority() -> None:
    """Lower the priority of this thread."""
    if sys.platform == "linux":  # other systems do not accept a thread id here
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), RUN_NICENESS)


class PastRun:
    """A replaced run that its worker can restore; see ``Worker.set_aside``."""

    def __init__(self, plan: Any, algorithm: Any, run: "Run | Rebuild", shown: Snapshot) -> None:
        self.plan, self.algorithm, self.run, self.shown = plan, algorithm, run, shown

    def bytes(self) -> int:
        """Return an upper bound of its bytes."""
        return 0 if isinstance(self.run, Rebuild) else self.plan.bytes(self.algorithm)


R = TypeVar("R", bound=Run)
T = TypeVar("T")


class Worker(Generic[R]):
    """Execute the commands of one panel: hold the panel's run, and publish its snapshots.

    Three commands stop a run, each more than the last: ``pause`` stops its steps; ``close`` ends its thread;
    ``rest`` also frees its memory, and ``open`` then rebuilds it. A run without a snapshot request for
    LEASE_SECONDS sleeps: it makes no steps until the next request.

    Parameters
    ----------
    plan : Plan
    algorithm : Sampler, Trainer or Coupling
        Its live knobs may change while it runs.
    rate : float
        Maximum number of steps per second; infinity (the default) is full speed.
    n_max : int or None
        The run is finished after this many steps; None (the default): no limit.
    group : Group or None
        Steps are made in turns of this group; None: a separate group.
    beat : Beat or None
        The beat that drives the run while it is paced and light; None: a separate beat.

    Commands return at once and take effect between two chunks, within about 30 ms. Only ``rest``, ``free``,
    ``put_back`` and the queries ``read`` and ``rebuild_data`` wait for the end of a chunk, which may take
    longer while a rebuilt run is prepared. Commands to runs that have to stay in step get the same ``at``,
    a time.monotonic() reading.

    Code that needs several locks takes them in this order: ``Comparison._together``, ``_owner``, a turn at a
    core, ``_chunk``, ``_wake``, the lock of the beat. The beat has a turn before it takes ``_owner``, for
    which it waits only briefly.
    """

    def __init__(
        self,
        plan: Plan[R],
        algorithm: Any,
        *,
        rate: float = math.inf,
        n_max: int | None = None,
        group: Group | None = None,
        beat: Beat | None = None,
    ) -> None:
        # By contract a run uses one thread: BLAS threads of several runs would compete for the cores.
        one_blas_thread_for_good()
        self._group = group or Group()
        self._beat = beat or Beat(self._group)
        self._beating = False  # driven by the beat, not by its own thread
        # Guards fields that commands write; held only briefly, never during a chunk.
        self._wake = threading.Condition()
        # Held during a chunk: code that reads the state of the run waits for the end of the chunk.
        self._chunk = threading.Lock()
        # Held by the one thread that may advance the run; a second thread waits until the first has ended.
        self._owner = threading.Lock()
        self._thread: threading.Thread | None = None
        self._leave = threading.Event()
        self._commanded = False  # there is a command that the thread may not have seen
        self._run: Any  # a Run, or the Rebuild in its place
        self._snapshot: Snapshot
        self._stale = False  # steps were made since the snapshot
        self._opened = False  # may have a thread, while there is work
        self._busy_at = time.monotonic()
        self._algorithm = algorithm
        self._pace = Pace(rate, math.inf if n_max is None else n_max)
        self._asked_at = time.monotonic()
        self._runs = 0
        self.begin(plan)

    # Commands, from any thread.

    def resume(self, at: float | None = None) -> None:
        """Make steps from now on, or from ``at``, a time.monotonic() reading."""
        with self._wake:
            self._pace.resume(self._run.n, at)
            self._wake_thread()

    def pause(self, at: float | None = None) -> None:
        """Stop; runs with the same rate that are paused with the same ``at`` stop at the same step."""
        with self._wake:
            self._pace.pause(self._run.n, self._backlog(), at)
            self._wake_thread()

    @property
    def stops_at(self) -> float:
        """The number of steps at which a paused run stops, or has stopped."""
        return self._pace.stop_at

    def stop_no_later(self, n: float) -> None:
        """Let a paused run that is catching up stop at n steps, if it would go further."""
        with self._wake:
            self._pace.stop_no_later(self._run.n, n)

    def hold_steps(self) -> contextlib.AbstractContextManager[Any]:
        """Let no step become due within a ``with`` block, so that several runs can take a command in step."""
        return self._wake

    def step(self, n: int = 1) -> None:
        """Make n more steps at full speed, then pause."""
        with self._wake:
            self._pace.step(self._run.n, n)
            self._wake_thread()

    def catch_up(self, other: "Worker[Any]", seconds: float = CATCH_UP_SECONDS) -> None:
        """Make the steps that another run has made, at full speed; then stay in step with it.

        seconds : computing time; a run that needs more continues at its rate from where it is by then

        Nothing happens if runs of this kind do not catch up, see ``Run.catches_up``.
        """
        if not self._run.catches_up:
            return
        with other._wake:
            pace, n = copy.copy(other._pace), other._run.n
        with self._wake:
            self._pace.catch_up_with(pace, n, seconds)
            self._wake_thread()

    def set_rate(self, rate: float, at: float | None = None) -> None:
        """Set the steps per second; infinity is full speed."""
        with self._wake:
            self._pace.set_rate(self._run.n, rate, self._backlog(), at)
            self._wake_thread()

    def apply_knobs(self, /, **knobs: Value) -> None:
        """Change knobs after a slider is released; the run restarts if it failed or a knob is not live."""
        with self._wake:
            self._algorithm = self.with_knobs(**knobs)
            live = all(knobs_of(self._algorithm)[name].live for name in knobs)
            if self._snapshot.status == "failed" or not live:
                self._begin()
            self._wake_thread()

    def with_knobs(self, /, **knobs: Value) -> Any:
        """Return the algorithm with these knobs changed; BadInput if one is unknown or out of range."""
        check_names(type(self._algorithm), knobs)
        return dataclasses.replace(self._algorithm, **knobs)

    def set_live_knobs(self, /, **knobs: Value) -> None:
        """Change live knobs while a slider is dragged; the run does not restart, even if it has failed.

        Raises
        ------
        BadInput
            If a knob is unknown, not live, or out of range.
        """
        known = knobs_of(self._algorithm)
        check_names(type(self._algorithm), knobs)
        if fixed := [name for name in knobs if not known[name].live]:
            raise BadInput(f"{type(self._algorithm).name}: {fixed[0]} is not live: release it to begin anew.")
        with self._wake:
            self._algorithm = dataclasses.replace(self._algorithm, **knobs)
            self._wake_thread()

    def begin(self, plan: Plan[R]) -> None:
        """Start a new run with this plan."""
        with self._wake:
            self.plan: Any = plan
            self._begin()

    def set_aside(self) -> PastRun:
        """Return the run, so that ``put_back`` can restore it after another has started."""
        with self._wake:
            return PastRun(self.plan, self._algorithm, self._run, self._snapshot)

    def free(self, past: PastRun) -> None:
        """Free the memory of a run that was set aside; once put back, it is rebuilt."""
        with self._chunk:
            if not isinstance(past.run, Rebuild) and past.run is not self._run and past.run.log.complete:
                past.run = Rebuild(past.run, past.shown)

    def put_back(self, past: PastRun) -> None:
        """Replace the current run by one that was set aside, paused."""
        with self._chunk, self._wake:
            self.plan, self._algorithm, self._run = past.plan, past.algorithm, past.run
            self._pace.pause_at(self._run.n)
            self._store_snapshot(self._run, None if self._run.prepared else "starting")
            self._restart_pace()

    def open(self) -> None:
        """Allow the run a thread, and renew the lease; a freed run is rebuilt."""
        with self._wake:
            self._opened = True
            self._asked_at = time.monotonic()
            self._wake_thread()

    def close(self) -> None:
        """Ask the thread to end after its chunk, and return at once; ``open`` continues the run."""
        with self._wake:
            self._opened = False
            self._leave.set()
            self._leave_beat()
            self._notify()

    def rest(self) -> None:
        """Close, and free the memory of the run; ``open`` rebuilds the run bit for bit.

        The plan, the knob changes by step and a small last snapshot are kept. Waits for the end of the
        current chunk. A run with too many knob changes to log keeps its memory.
        """
        self.close()
        with self._chunk, self._wake:
            if isinstance(self._run, Rebuild):
                self._run.drop_steps()
            elif self._run.log.complete:
                if self._stale:
                    self._store_snapshot(self._run)
                self._run = Rebuild(self._run, self._snapshot)
                self._store_snapshot(self._run, "rebuilding")

    def join(self, timeout: float | None = None) -> None:
        """After ``close``: wait at most ``timeout`` seconds (None: any time) until no thread has the run."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        if self._owner.acquire(timeout=-1 if timeout is None else timeout):
            self._owner.release()

    # Queries, from any thread.

    def request_snapshot(self) -> Snapshot:
        """Return the newest snapshot, and renew the lease; a sleeping run wakes up."""
        shown = self.peek()
        if time.monotonic() - self._asked_at < LEASE_SECONDS / 2:
            self._asked_at = time.monotonic()
            return shown
        # Locked, so that the thread cannot see the lease expired, and end, just before it is renewed.
        with self._wake:
            asleep, self._asked_at = self._asleep(), time.monotonic()
            if asleep:
                self._restart_pace()
        return shown

    def peek(self) -> Snapshot:
        """Return the newest snapshot without renewing the lease."""
        # An unwatched run publishes no snapshots: make one now, and wait for the end of a chunk if necessary.
        # A watched run publishes one after the chunk in any case.
        patience = 0 if self.watched else 2 * CHUNK_SECONDS
        if self._stale and self._chunk.acquire(timeout=patience):
            try:
                with self._wake:
                    if self._stale and self._run.prepared:
                        self._store_snapshot(self._run)
            finally:
                self._chunk.release()
        return self._snapshot

    @property
    def watched(self) -> bool:
        """Whether a snapshot was requested within WATCHED_SECONDS, or longer ago during a slowdown."""
        return time.monotonic() - self._asked_at <= WATCHED_SECONDS * SLOWDOWN.factor

    @property
    def seconds_to_start(self) -> float | None:
        """Approximate seconds until the run can begin while its kernels compile; see ``seconds_left``."""
        run = self._run
        return None if isinstance(run, Rebuild) or run.prepared else COMPILING.seconds_left(run.jobs())

    @property
    def algorithm(self) -> Any:
        """The algorithm with its newest knobs."""
        return self._algorithm

    @property
    def at_rest(self) -> bool:
        """Whether the memory of the run is freed, or the run is still being rebuilt."""
        return isinstance(self._run, Rebuild)

    @property
    def awake(self) -> bool:
        """Whether the run is open and its lease has not expired, so that it may have a thread."""
        return self._opened and not self._asleep()

    def bytes(self) -> int:
        """Return an upper bound of the bytes of the run; 0 at rest."""
        return 0 if self.at_rest and not self._opened else self.plan.bytes(self._algorithm)

    def read(self, query: Callable[[R], T]) -> T:
        """Return ``query(run)``, called between two chunks.

        Raises
        ------
        BadInput
            While the run is being rebuilt.
        """
        with self._chunk, self._wake:
            if isinstance(self._run, Rebuild):
                raise BadInput(
                    f"This run is being rebuilt after it had been put to rest ({self._run.share:.0%} done): "
                    "try again in a moment."
                )
            answer = query(self._run)
            if not self._asleep():
                self._wake_thread()  # the query may have given the run background work
            return answer

    def rebuild_data(self, query: Callable[[R], T]) -> tuple[Any, int, tuple[Change, ...], T] | None:
        """Return the data to rebuild the run: plan, steps, knob changes and ``query(run)``, at one moment.

        None if the run cannot be rebuilt from them: it has failed, is being rebuilt or prepared, or had too
        many knob changes.
        """
        with self._chunk, self._wake:
            run = self._run
            failed = self._snapshot.status == "failed"
            if failed or isinstance(run, Rebuild) or not run.prepared or not run.log.complete:
                return None
            return self.plan, run.n, run.log.changes, query(run)

    def continue_from(self, n: int, changes: tuple[Change, ...], kept: Any) -> None:
        """Continue at step n with the run of another worker, given its ``rebuild_data``.

        n : steps of the run; changes : its knob changes; kept : see ``KeepsState``
        """
        with self._wake:
            self._algorithm = changes[-1].algorithm
            self._run = Rebuild(self._run, self._snapshot, Log.of(changes), n, kept)
            self._store_snapshot(self._run, "rebuilding")
            self._restart_pace()

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
        """Step up to which the run catches up, or has caught up; 0 if it has given up."""
        return self._pace.missed_to

    # Internal; callers that are commands hold _wake.

    def _begin(self) -> None:
        """Replace the run by a new one."""
        self._runs += 1
        self._run = self.plan.run(self._runs, self._algorithm)
        self._store_snapshot(self._run, "starting")
        self._pace.begin(self._run.n)
        self._wake_thread()

    def _restart_pace(self) -> None:
        """Restart the timetable after a time without steps."""
        self._pace.restart(self._run.n)
        self._wake_thread()

    def _wake_thread(self) -> None:
        """Wake the thread or the beat that drives the run, or start a thread if the last one has ended."""
        if self._beating:
            self._beat.start_now()
        elif self._opened and (self._thread is None or self._leave.is_set()):
            leave = threading.Event()
            thread = threading.Thread(target=self._work, args=(leave,), name="rbmviz-run", daemon=True)
            thread.start()  # if the system refuses it, the next command tries again
            self._leave, self._thread = leave, thread
        self._notify()

    def _notify(self) -> None:
        """Make the thread look for new commands, even if it is not waiting yet."""
        self._commanded = True
        self._wake.notify()

    def _backlog(self) -> float:
        """Return how many seconds overdue steps may be before they are skipped."""
        return BEAT_BACKLOG_SECONDS if self._beating else BACKLOG_SECONDS

    def _asleep(self) -> bool:
        return time.monotonic() - self._asked_at > LEASE_SECONDS

    def _status(self) -> Status:
        if self.at_rest:
            return "rebuilding"
        return "finished" if self._run.over else self._pace.status(self._run.n)

    def _due_steps(self) -> int:
        """Return how many steps to make now; 0: none is due."""
        if self._asleep() or self._snapshot.status == "failed":
            return 0
        return self._pace.due(self._run.n, self._run.max_steps(), self._backlog())

    def _work(self, leave: threading.Event) -> None:
        _lower_priority()
        with self._owner:
            self._busy_at = time.monotonic()
            while not leave.is_set():
                run = self._run
                with self._errors_shown(run):
                    self._work_once(run)

    @contextlib.contextmanager
    def _errors_shown(self, run: Run | Rebuild) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # the page has to show any error
            if not isinstance(error, BadInput):
                log.exception("a run failed")
            text = str(error) if isinstance(error, BadInput) else f"Internal error: {error!r}"
            self._publish(run, "failed", text)

    def _work_once(self, run: Run | Rebuild) -> None:
        """Make one chunk of due steps, or wait for work."""
        if isinstance(run, Rebuild):
            self._rebuild(run)
            return
        if not run.prepared and self._snapshot.status != "failed":
            COMPILING.wait(run.jobs())
            with SLOTS.turn(self._group, Kind.START):
                run.prepare()
            self._note_prepared(run)
            self._publish(run)
        n = self._take_commands(run)
        if n is None or self._handed_over():
            return
        if n == 0:
            self._publish_status(run)
            self._idle(run)
            return
        # A single step is a person's click: it must not wait behind runs at full speed.
        late = self.catching_up
        kind = Kind.FULL if late or self._pace.at_full_speed else Kind.PACED
        with SLOTS.turn(self._group, kind, late):
            self._make_steps(run, n)
            self._publish_made(run)
        time.sleep(0.001)  # gives the interpreter to other threads of the process

    def _take_commands(self, run: Run) -> int | None:
        """Apply new knobs; return how many steps to make now, None if the run or its state was replaced."""
        with self._wake:
            if run is not self._run:  # a command has started another run
                return None
            n = self._due_steps()
            # If no step is due, new knobs can wait, unless the snapshot shows their effect.
            if (n or run.over or run.knobs_at_once) and run.algorithm is not self._algorithm:
                run.set_knobs(self._algorithm)
                if not run.prepared:  # these knobs need a new state
                    return None
                n = min(n, run.max_steps())  # a knob change may bring the next point of a curve nearer
            return n

    def _publish_status(self, run: Run) -> None:
        """If the status has changed (for example the run has just stopped), publish a snapshot."""
        if self._snapshot.status not in ("failed", self._status()):
            with self._chunk:
                self._complete(run)
            self._publish(run)

    def _make_steps(self, run: Run, n: int) -> None:
        """Make n steps, with a turn at a core."""
        with self._chunk:
            if run is not self._run:  # replaced, or freed
                return
            run.watched = self.watched
            begin = time.perf_counter()
            made = run.timed_advance(n)
            with self._wake:
                run.record_steps(made)
                self._stale = run is self._run
                if self.catching_up:
                    self._pace.note_computing(self._run.n, time.perf_counter() - begin)
            self._complete(run)
        self._busy_at = time.monotonic()

    def _publish_made(self, run: Run) -> None:
        """Publish the steps just made, if the run is watched or its status has changed."""
        if self.watched or self._status() != self._snapshot.status:
            self._publish(run)

    def _note_prepared(self, run: Run) -> None:
        """Account for the time of the preparation, which may have been long."""
        with self._chunk, self._wake:
            if run is self._run:
                self._pace.note_preparation(run.n)

    def _complete(self, run: Run) -> None:
        """If the run stops here, let it compute deferred values; _chunk is held."""
        if run is self._run and run.prepared and self._status() != "running":
            run.complete()

    def _rebuild(self, rebuild: Rebuild) -> None:
        """Rebuild one more chunk of a freed run; after the last chunk the run replaces the placeholder."""
        if self._asleep() or self._snapshot.status == "failed":
            self._wait(rebuild)
            return
        with SLOTS.turn(self._group, Kind.FULL), self._chunk:
            if rebuild is not self._run or self._leave.is_set():
                return
            rebuilt = rebuild.work()
            with self._wake:
                if rebuild is self._run and rebuilt is not None:
                    self._run = rebuilt
                    self._restart_pace()
            if rebuilt is not None and rebuild.failure is None:
                self._complete(rebuilt)
        if rebuilt is None:
            self._publish(rebuild, "rebuilding")
        elif rebuild.failure is None:
            self._publish(rebuilt)
        else:
            self._publish(rebuilt, "failed", rebuild.failure)
        self._busy_at = time.monotonic()
        time.sleep(0.001)

    def _idle(self, run: Run) -> None:
        """Do background work, or wait for a command, because no step is due."""
        awake = run is self._run and self._snapshot.status != "failed" and not self._asleep()
        if awake and run.has_background_work:
            # On an overloaded server a turn may be late: the next step must not wait for it.
            step_in = self._pace.time_of_next(run.n) - time.monotonic()
            patience = min(max(step_in, CHUNK_SECONDS), 1.0) if self._pace.running else None
            with SLOTS.turn(self._group, Kind.FULL, patience=patience) as granted:
                worked = granted and self._work_in_background(run)
            if not granted:
                return
            if worked:
                if self.watched:
                    self._publish(run)
                self._busy_at = time.monotonic()
                return
        self._wait(run)

    def _work_in_background(self, run: Run) -> bool:
        """Do a slice of background work; return whether there was any."""
        with self._chunk:
            worked = run is self._run and run.background_work(paused=not self._pace.running)
            with self._wake:
                self._stale |= worked and run is self._run
        return worked

    def _wait(self, run: Run | Rebuild) -> None:
        """Wait for a command; end the thread after a long wait, or if the run sleeps."""
        with self._wake:
            if run is not self._run or self._commanded or self._due_steps():
                self._commanded = False
                return
            pacing = self._pacing()
            # If this is not the newest thread of the run, ``close`` has already asked it to end.
            newest = self._thread is threading.current_thread()
            now = time.monotonic()
            rests_in = LEASE_SECONDS - (now - self._asked_at)
            if not pacing:
                rests_in = min(rests_in, IDLE_SECONDS - (now - self._busy_at))
            if rests_in < 0:
                if newest:
                    self._leave.set()
            elif pacing:
                self._wake.wait(CHUNK_SECONDS)
            else:  # background work may appear when another thread ends a computation
                self._wake.wait(0.5 if run.has_background_work else rests_in + 0.01)

    def _pacing(self) -> bool:
        going = self._snapshot.status not in ("failed", "finished")
        return self._pace.running and not self._asleep() and going

    # While the beat drives the run

    def _handed_over(self) -> bool:
        """Hand the run to the beat if it is light, even while steps are due; then this thread ends.

        On an overloaded server steps are always due: otherwise dozens of threads would stay and wait for each
        other.
        """
        with self._wake:
            if self._thread is not threading.current_thread() or not self._is_light():
                return False
            self._beat.join(self)
            self._leave.set()
            self._beating = True
            return True

    def _is_light(self) -> bool:
        """Whether the beat can drive the run: it is paced, needs little of a core, and has no other work."""
        run = self._run
        return (
            self._opened
            and self._pacing()
            and not self.at_rest
            and run.prepared
            and not run.has_background_work
            and not self.catching_up
            and run.n < self._pace.end
            and self._pace.rate * LIGHT_RUN_PARTS * run.step_seconds < 1
        )

    def _leave_beat(self) -> None:
        if self._beating:
            self._beating = False
            self._beat.leave(self)

    def next_step(self) -> float:
        """Return when the next step is due, as a ``time.monotonic()`` reading."""
        return self._pace.time_of_next(self._run.n)

    def on_beat(self) -> None:
        """Make the due steps; if there is other work, the run's own thread takes over."""
        # The thread that handed the run over may need a moment to end. A newer thread may be waiting for a
        # turn, which the beat holds: the beat must not wait for that thread.
        if not self._beating or not self._owner.acquire(timeout=LEAVE_SECONDS):
            return
        try:
            run = self._run
            with self._errors_shown(run):
                made = False
                for _ in range(CHUNKS_PER_BEAT):
                    # A restarted run is prepared by its own thread.
                    if not (self._beating and run.prepared):
                        break
                    n = self._take_commands(run)
                    if n == 0:
                        self._publish_status(run)
                    if not n:
                        break
                    whole = n >= run.max_steps()
                    self._make_steps(run, n)
                    made = True
                    if not whole:  # no more steps are due
                        break
                if made:
                    self._publish_made(run)
            with self._wake:
                if self._beating and not self._is_light():
                    self._leave_beat()
                    self._wake_thread()
        finally:
            self._owner.release()

    # Snapshots

    def _store_snapshot(
        self, run: Run | Rebuild, status: Status | None = None, error: str | None = None
    ) -> None:
        """Store a new snapshot; _wake is held, and no other thread is making a chunk."""
        self._stale = False
        shown = run.view(status or self._status())
        self._snapshot = shown if shown.error == error else dataclasses.replace(shown, error=error)

    def _publish(self, run: Run | Rebuild, status: Status | None = None, error: str | None = None) -> None:
        with self._wake:
            if run is self._run:  # otherwise a command has started another run
                self._store_snapshot(run, status, error)
