"""The worker of one panel: takes commands, makes the steps of its run, publishes immutable snapshots.

A worker carries out one run after another: ``begin``, and a change of a knob that is not live, make the next
one. It has a thread only while one is needed (``_wait`` ends it), and none of its own while the beat of its
page makes the steps. Which steps are due, its ``pace.Pace`` says.
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
"""If no snapshot has been asked for during this time, the run sleeps; the next request wakes it."""

IDLE_SECONDS = 60.0
"""A run that sleeps, or has had nothing to do for this long, ends its thread; a command starts another."""

BACKLOG_SECONDS = 0.25
"""A run that cannot keep its rate skips steps overdue by more than this, so that a pause acts at once."""

BEAT_BACKLOG_SECONDS = 1.0
"""The same for a run on the beat: it catches up with the steps that a late beat on a full server missed."""

WATCHED_SECONDS = 1.0
"""A run whose snapshot was requested within this time is watched: it publishes each chunk or beat."""

LEAVE_SECONDS = 0.01
"""How long a beat waits for the end of the thread that has handed a run over to it."""

CHUNKS_PER_BEAT = 4
"""A run makes at most this many chunks in one beat; chunks are small after one that waited for a core."""

LIGHT_RUN_PARTS = 16
"""A run is driven by the beat if its rate takes less than 1 / LIGHT_RUN_PARTS of a core.

Processor time counts, not that of the clock: on a full server a chunk also waits, and runs that left the beat
for that would have the more threads the fuller the server is.
"""

RUN_NICENESS = 10
"""Niceness of the threads that runs have of their own (Linux only): pages, and the beat, come before them."""

log = logging.getLogger(__name__)


def _lower_priority() -> None:
    """Lower the priority of this thread."""
    if sys.platform == "linux":  # other systems do not take the id of a thread here
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), RUN_NICENESS)


class PastRun:
    """A run that a new one has replaced: its worker can go on with it, see ``Worker.set_aside``."""

    def __init__(self, plan: Any, algorithm: Any, run: "Run | Rebuild", shown: Snapshot) -> None:
        self.plan, self.algorithm, self.run, self.shown = plan, algorithm, run, shown

    def bytes(self) -> int:
        """Return the bytes that it takes at most."""
        return 0 if isinstance(self.run, Rebuild) else self.plan.bytes(self.algorithm)


R = TypeVar("R", bound=Run)
T = TypeVar("T")


class Worker(Generic[R]):
    """What carries out the commands of one panel: it holds the panel's run, and publishes its snapshots.

    Three commands leave less and less of a run: ``pause`` makes no steps; ``close`` ends the thread; ``rest``
    also frees the memory of the run, and ``open`` then computes the run again. A run of which no snapshot is
    requested for LEASE_SECONDS sleeps: it makes no steps until the next request.

    Parameters
    ----------
    plan : Plan
    algorithm : Sampler, Trainer or Coupling
        Its live knobs may change while it runs.
    rate : float
        Steps per second at most; infinity (the default) is full speed.
    n_max : int or None
        The run is finished after this many steps; None (the default): it has no end.
    group : Group or None
        The group in whose turns at the cores the run computes; None: a group of its own.
    beat : Beat or None
        The thread that drives the run while it is paced and light; None: a beat of its own.

    Commands return at once and take effect between two chunks, within about 30 ms; only ``rest``, ``free``,
    ``put_back`` and the queries ``read`` and ``rebuild_data`` wait for the end of a chunk, which takes longer
    where a run that is made again is being prepared. Runs that have to stay in step get the same ``at`` (a
    time.monotonic() reading) with a command.

    Who needs several locks takes them in this order: ``Comparison._together``, ``_owner``, a turn at a core,
    ``_chunk``, ``_wake``, the lock of the beat. The beat has a turn before it takes ``_owner``, and waits for
    that a moment only.
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
        # A run is one thread by contract: BLAS threads of several runs would compete for the cores.
        one_blas_thread_for_good()
        self._group = group or Group()
        self._beat = beat or Beat(self._group)
        self._beating = False  # driven by the beat, not by a thread of its own
        # Guards what commands write; held for moments only, never while a chunk is made.
        self._wake = threading.Condition()
        # Held while a chunk is made: to read the state of the run is to wait for the end of the chunk.
        self._chunk = threading.Lock()
        # Held by the one thread that may advance the run; a second one waits until the first has left.
        self._owner = threading.Lock()
        self._thread: threading.Thread | None = None
        self._leave = threading.Event()
        self._commanded = False  # a command has come that the thread may not have seen
        self._run: Any  # a Run, or the Rebuild that stands in for it
        self._snapshot: Snapshot
        self._stale = False  # steps have been made since the snapshot
        self._opened = False  # may have a thread, and has one while there is something to do
        self._busy_at = time.monotonic()
        self._algorithm = algorithm
        self._pace = Pace(rate, math.inf if n_max is None else n_max)
        self._asked_at = time.monotonic()
        self._runs = 0
        self.begin(plan)

    # Commands, from any thread.

    def resume(self, at: float | None = None) -> None:
        """Make steps from now on, or from ``at`` on, a time.monotonic() reading."""
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
        """The number of steps with which a run that is paused stops, or has stopped."""
        return self._pace.stop_at

    def stop_no_later(self, n: float) -> None:
        """Let a paused run that is catching up stop with n steps, if it would go further."""
        with self._wake:
            self._pace.stop_no_later(self._run.n, n)

    def hold_steps(self) -> contextlib.AbstractContextManager[Any]:
        """Let no step become due within a ``with`` block: so several runs can take a command in step."""
        return self._wake

    def step(self, n: int = 1) -> None:
        """Make n more steps at full speed, then pause."""
        with self._wake:
            self._pace.step(self._run.n, n)
            self._wake_thread()

    def catch_up(self, other: "Worker[Any]", seconds: float = CATCH_UP_SECONDS) -> None:
        """Make the steps that another run has made, at full speed; then go on in step with it.

        seconds : of computing; a run that needs more goes on at its rate from where it is by then

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
        """Change knobs as a slider is released; a new run begins if one is not live, or this one failed."""
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
        """Change live knobs while a slider is dragged: no new run begins, not even if this one has failed.

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
        """Begin a new run by this plan."""
        with self._wake:
            self.plan: Any = plan
            self._begin()

    def set_aside(self) -> PastRun:
        """Return the run, to put it back after another one has begun."""
        with self._wake:
            return PastRun(self.plan, self._algorithm, self._run, self._snapshot)

    def free(self, past: PastRun) -> None:
        """Free the memory of a run that was set aside; put back, it is computed again."""
        with self._chunk:
            if not isinstance(past.run, Rebuild) and past.run is not self._run and past.run.log.complete:
                past.run = Rebuild(past.run, past.shown)

    def put_back(self, past: PastRun) -> None:
        """Go on with a run that was set aside, paused, instead of the one that has replaced it."""
        with self._chunk, self._wake:
            self.plan, self._algorithm, self._run = past.plan, past.algorithm, past.run
            self._pace.pause_at(self._run.n)
            self._store_snapshot(self._run, None if self._run.prepared else "starting")
            self._restart_pace()

    def open(self) -> None:
        """Allow the run a thread, and renew the lease; a run at rest is rebuilt."""
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
        """Close, and free the memory of the run; ``open`` computes the run again, bit for bit.

        The plan, the changes of knobs by step and a small last snapshot are kept. Waits for the end of
        the chunk that is being made. A run whose knobs were changed too often to be logged keeps its memory.
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
        """Return the newest snapshot, and renew the lease: a run that sleeps wakes up."""
        shown = self.peek()
        if time.monotonic() - self._asked_at < LEASE_SECONDS / 2:
            self._asked_at = time.monotonic()
            return shown
        # With the lock, so that the thread cannot find the lease ended, and end, just before it is renewed.
        with self._wake:
            asleep, self._asked_at = self._asleep(), time.monotonic()
            if asleep:
                self._restart_pace()
        return shown

    def peek(self) -> Snapshot:
        """Return the newest snapshot without renewing the lease."""
        # An unwatched run publishes no snapshots: make one now, and wait for the end of a chunk if need be.
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
        """Whether a snapshot was requested within WATCHED_SECONDS; on a full server they are rarer."""
        return time.monotonic() - self._asked_at <= WATCHED_SECONDS * SLOWDOWN.factor

    @property
    def seconds_to_start(self) -> float | None:
        """In about how many seconds the run can begin while its kernels compile; see ``seconds_left``."""
        run = self._run
        return None if isinstance(run, Rebuild) or run.prepared else COMPILING.seconds_left(run.jobs())

    @property
    def algorithm(self) -> Any:
        """The algorithm with its knobs as they were last set."""
        return self._algorithm

    @property
    def at_rest(self) -> bool:
        """Whether the memory of the run is freed, or its steps are still being computed again."""
        return isinstance(self._run, Rebuild)

    @property
    def awake(self) -> bool:
        """Whether the run is open and its lease has not ended, so that it may have a thread."""
        return self._opened and not self._asleep()

    def bytes(self) -> int:
        """Return the bytes that the run takes at most; 0 at rest."""
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
        """Return what makes the run again: plan, steps, changes of knobs and ``query(run)``, of one moment.

        None if the run cannot be made again from them: it has failed, is being rebuilt or prepared, or its
        knobs have been changed too often.
        """
        with self._chunk, self._wake:
            run = self._run
            failed = self._snapshot.status == "failed"
            if failed or isinstance(run, Rebuild) or not run.prepared or not run.log.complete:
                return None
            return self.plan, run.n, run.log.changes, query(run)

    def continue_from(self, n: int, changes: tuple[Change, ...], kept: Any) -> None:
        """Go on at step n with the run of another worker, by its ``rebuild_data``.

        n : steps of the run; changes : of its knobs; kept : see ``KeepsState``
        """
        with self._wake:
            self._algorithm = changes[-1].algorithm
            self._run = Rebuild(self._run, self._snapshot, Log.of(changes), n, kept)
            self._store_snapshot(self._run, "rebuilding")
            self._restart_pace()

    @property
    def catching_up(self) -> bool:
        """Whether the run is making steps that it has missed."""
        return self._pace.catching_up(self._run.n)

    @property
    def seconds_to_catch_up(self) -> float:
        """In about how many seconds the run has made the steps that it has missed; 0: it has missed none."""
        return self._pace.seconds_to_catch_up(self._run.n) if self.catching_up else 0.0

    @property
    def caught_up_to(self) -> float:
        """Step up to which the run has made, or makes, those that it has missed; 0: it has given up."""
        return self._pace.missed_to

    # Internal; commands hold _wake when they call these.

    def _begin(self) -> None:
        """Replace the run by a new one."""
        self._runs += 1
        self._run = self.plan.run(self._runs, self._algorithm)
        self._store_snapshot(self._run, "starting")
        self._pace.begin(self._run.n)
        self._wake_thread()

    def _restart_pace(self) -> None:
        """Count steps as due from now on, after a time in which none could be made."""
        self._pace.restart(self._run.n)
        self._wake_thread()

    def _wake_thread(self) -> None:
        """Wake the thread or the beat that drives the run, or start a thread if the last one has ended."""
        if self._beating:
            self._beat.start_now()
        elif self._opened and (self._thread is None or self._leave.is_set()):
            leave = threading.Event()
            thread = threading.Thread(target=self._work, args=(leave,), name="rbmviz-run", daemon=True)
            thread.start()  # the system may refuse it: then there is none, and the next command tries again
            self._leave, self._thread = leave, thread
        self._notify()

    def _notify(self) -> None:
        """Have the thread look at what is new, even if it has not begun to wait yet."""
        self._commanded = True
        self._wake.notify()

    def _backlog(self) -> float:
        """Return the seconds by which steps may be overdue; later ones are skipped."""
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
        except Exception as error:  # whatever it is, the page has to show it
            if not isinstance(error, BadInput):
                log.exception("a run failed")
            text = str(error) if isinstance(error, BadInput) else f"Internal error: {error!r}"
            self._publish(run, "failed", text)

    def _work_once(self, run: Run | Rebuild) -> None:
        """Do one chunk of what is due, or wait for something to do."""
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
        # Single steps are a person's click: they must not wait behind runs at full speed either.
        late = self.catching_up
        kind = Kind.FULL if late or self._pace.at_full_speed else Kind.PACED
        with SLOTS.turn(self._group, kind, late):
            self._make_steps(run, n)
            self._publish_made(run)
        time.sleep(0.001)  # lets the other threads of the process have the interpreter

    def _take_commands(self, run: Run) -> int | None:
        """Apply new knobs; return how many steps to make now, None if the run or its state was replaced."""
        with self._wake:
            if run is not self._run:  # a command has begun another run
                return None
            n = self._due_steps()
            # Without a step to make, new knobs can wait, unless the snapshot shows what they do.
            if (n or run.over or run.knobs_at_once) and run.algorithm is not self._algorithm:
                run.set_knobs(self._algorithm)
                if not run.prepared:  # the state has to be made again for these knobs
                    return None
                n = min(n, run.max_steps())  # a turn brings the next point of a curve nearer
            return n

    def _publish_status(self, run: Run) -> None:
        """If the status is another one than is shown (the run has just stopped, say), publish a snapshot."""
        if self._snapshot.status not in ("failed", self._status()):
            with self._chunk:
                self._complete(run)
            self._publish(run)

    def _make_steps(self, run: Run, n: int) -> None:
        """Make n steps, with a turn at a core."""
        with self._chunk:
            if run is not self._run:  # put to rest meanwhile
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
        """Publish the steps just made, if somebody looks or the run has come to a stop."""
        if self.watched or self._status() != self._snapshot.status:
            self._publish(run)

    def _note_prepared(self, run: Run) -> None:
        """Take into account what has happened while the run was prepared, which may have taken long."""
        with self._chunk, self._wake:
            if run is self._run:
                self._pace.note_preparation(run.n)

    def _complete(self, run: Run) -> None:
        """If the run stops here, let it compute what it has deferred; _chunk is held."""
        if run is self._run and run.prepared and self._status() != "running":
            run.complete()

    def _rebuild(self, rebuild: Rebuild) -> None:
        """Compute one more chunk of a run whose memory was freed; after the last one the run replaces it."""
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
        """No step is due: do background work, or wait for a command."""
        awake = run is self._run and self._snapshot.status != "failed" and not self._asleep()
        if awake and run.has_background_work:
            # On a full server a turn may be long in coming: the next step must not wait for it.
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
        """Wait for a command, or end the thread after a long wait or in sleep."""
        with self._wake:
            if run is not self._run or self._commanded or self._due_steps():
                self._commanded = False
                return
            pacing = self._pacing()
            # Where this is not the newest thread of the run, ``close`` has already asked it to end.
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
            else:  # background work may come by itself: the end of what another thread computes
                self._wake.wait(0.5 if run.has_background_work else rests_in + 0.01)

    def _pacing(self) -> bool:
        going = self._snapshot.status not in ("failed", "finished")
        return self._pace.running and not self._asleep() and going

    # When the beat drives the run.

    def _handed_over(self) -> bool:
        """Hand the run to the beat if that can drive it, even while steps are due; this thread then ends.

        On a full server steps are always due: dozens of threads would stay, each waiting for all the others.
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
        """Return the time.monotonic() at which the next step is due."""
        return self._pace.time_of_next(self._run.n)

    def on_beat(self) -> None:
        """Make the steps that are due; if other work appears, a thread of its own takes over."""
        # The thread that has handed the run over may need a moment to end. A newer thread may itself wait for
        # a turn, which the beat holds: the beat must not wait for that thread.
        if not self._beating or not self._owner.acquire(timeout=LEAVE_SECONDS):
            return
        try:
            run = self._run
            with self._errors_shown(run):
                made = False
                for _ in range(CHUNKS_PER_BEAT):
                    # A run that has begun anew is prepared by a thread of its own.
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
                    if not whole:  # these were all
                        break
                if made:
                    self._publish_made(run)
            with self._wake:
                if self._beating and not self._is_light():
                    self._leave_beat()
                    self._wake_thread()
        finally:
            self._owner.release()

    # Snapshots.

    def _store_snapshot(
        self, run: Run | Rebuild, status: Status | None = None, error: str | None = None
    ) -> None:
        """Store a new snapshot; _wake is held, and no other thread is making a chunk."""
        self._stale = False
        shown = run.view(status or self._status())
        self._snapshot = shown if shown.error == error else dataclasses.replace(shown, error=error)

    def _publish(self, run: Run | Rebuild, status: Status | None = None, error: str | None = None) -> None:
        with self._wake:
            if run is self._run:  # else a command has begun another run
                self._store_snapshot(run, status, error)
