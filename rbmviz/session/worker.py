"""One run, one thread: commands in, the newest immutable snapshot out."""

import contextlib
import dataclasses
import functools
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

from rbmviz.errors import BadInput
from rbmviz.knobs import Value, check_names, knobs_of
from rbmviz.session.beat import Beat
from rbmviz.session.rebuild import Log, Rebuild
from rbmviz.session.run import CHUNK_SECONDS, Plan, Run
from rbmviz.session.slots import SLOTS, Group, Kind
from rbmviz.session.snapshot import Snapshot, Status

LEASE_SECONDS = 30.0
"""Without anybody asking for a snapshot for this long, the run sleeps; the next question wakes it."""

IDLE_SECONDS = 60.0
"""A run that sleeps, or has had nothing to do for this long, has no thread until somebody wants something."""

BACKLOG_SECONDS = 0.25
"""A run that cannot keep its rate drops what it owes beyond this, so that a pause takes effect at once."""

BEAT_BACKLOG_SECONDS = 1.0
"""The same for a run that takes little: on a full server it catches up with what a late beat has missed."""

WATCHED_SECONDS = 1.0
"""A run whose snapshot was asked for so lately is watched: it makes a new one after each chunk."""

LEAVE_SECONDS = 0.01
"""How long a beat waits for the thread of a run's own to end that has handed the run over."""

CHUNKS_PER_BEAT = 4
"""Most chunks of a run in one beat: after a chunk that had to wait for a core the next ones are small."""

LIGHT = 16
"""A run that takes less than this part of a core at its rate is driven by the beat of its comparison."""

NICE = 10
"""How far the threads of runs stand back behind those that draw pages, where each has a priority (Linux)."""

log = logging.getLogger(__name__)


class Pace(NamedTuple):
    """How many steps a run may have made: ``n`` at the time ``at``, ``rate`` more each second."""

    n: float
    at: float
    rate: float

    def allowed(self, now: float) -> float:
        """Return the number allowed by now."""
        return math.inf if math.isinf(self.rate) else self.n + math.floor(self.rate * (now - self.at))

    def time_of(self, n: int) -> float:
        """Return when n steps are allowed."""
        return self.at + (n - self.n) / self.rate if self.rate > 0 else math.inf


@functools.cache
def _one_blas_thread() -> None:
    # BLAS threads of several runs fight for the cores; a run is one thread by contract.
    threadpool_limits(limits=1, user_api="blas")


def _stand_back() -> None:
    """Lower the priority of this thread."""
    if sys.platform == "linux":  # elsewhere the number of a thread is none that the system would take
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


R = TypeVar("R", bound=Run)
T = TypeVar("T")


class Worker(Generic[R]):
    """Runs one algorithm by a plan.

    Parameters
    ----------
    plan : Plan
    algorithm : Sampler or Trainer
        Its live knobs may be turned while it runs.
    rate : float
        Steps a second at most; infinity (the default) is full speed.
    n_max : int or None
        The run is finished at this many steps; None: endless.
    group : Group or None
        Whose turns at the cores the run takes; None: a group of its own.
    beat : Beat or None
        What drives the run while it goes at a rate and takes little; None: a beat of its own.

    Commands return at once and take effect between two chunks, within about 30 ms. Runs that shall go
    in step get the same ``at`` (a time.monotonic() reading) with a command.
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
        _one_blas_thread()
        self._group = group or Group()
        self._beat = beat or Beat(self._group)
        self._beating = False  # driven by the beat, not by a thread of its own
        # Guards what commands write; held for moments only, never while a chunk is made.
        self._wake = threading.Condition()
        # Held while a chunk is made: who wants the state itself waits for its end.
        self._chunk = threading.Lock()
        # Held by the one thread that may advance the run; a second one waits until the first has left.
        self._owner = threading.Lock()
        self._thread: threading.Thread | None = None
        self._leave = threading.Event()
        self._run: Any  # a Run, or the Rebuild that stands in for it
        self._log: Log
        self._snapshot: Snapshot
        self._stale = False  # steps have been made since the snapshot
        self._opened = False  # may have a thread, and has one while there is something to do
        self._busy_at = time.monotonic()
        self._algorithm, self._rate = algorithm, rate
        self._end = math.inf if n_max is None else n_max
        self._running = False  # going on until told otherwise; else only up to _stop_at
        self._stop_at: float = 0
        self._asked = time.monotonic()
        self._runs = 0
        self.begin(plan)

    # Commands, from any thread.

    def resume(self, at: float | None = None) -> None:
        """Go on, or begin."""
        with self._wake:
            # Steps that are still due before a pause count as made, so that panels stay in step.
            n = self._run.n if self._running else max(self._stop_at, self._run.n)
            self._running = True
            self._set_pace(at, n)

    def pause(self, at: float | None = None) -> None:
        """Stop; runs of one rate paused at one time stop at the same step."""
        with self._wake:
            if self._running:
                self._drop_backlog()
                allowed = self._pace.allowed(time.monotonic() if at is None else at)
                self._stop_at = self._run.n if math.isinf(allowed) else max(allowed, self._run.n)
                self._running = False
            self._rouse()

    def step(self, n: int = 1) -> None:
        """Make n more steps at full speed, then pause."""
        with self._wake:
            begin = self._run.n if self._running else max(self._stop_at, self._run.n)
            self._running, self._stop_at = False, begin + n
            self._rouse()

    def set_rate(self, rate: float, at: float | None = None) -> None:
        """Change the steps a second (infinity: full speed)."""
        with self._wake:
            self._rate = rate
            self._set_pace(at)

    def tune(self, **knobs: Value) -> None:
        """Change knobs while the run goes on; one that is not live, or a failed run, begins anew."""
        with self._wake:
            self._algorithm = self.tuned(**knobs)
            live = all(knobs_of(self._algorithm)[name].live for name in knobs)
            if self._snapshot.status == "failed" or not live:
                self._begin()
            self._rouse()

    def tuned(self, **knobs: Value) -> Any:
        """Return the algorithm with other knobs; BadInput where one is unknown or out of its range."""
        check_names(type(self._algorithm), knobs)
        return dataclasses.replace(self._algorithm, **knobs)

    def set_knobs(self, **knobs: Value) -> None:
        """Change live knobs, as they are dragged: no run is begun, not even for a failed one.

        Raises
        ------
        BadInput
            If a knob is unknown, not live, or out of range.
        """
        known = knobs_of(self._algorithm)
        check_names(type(self._algorithm), knobs)
        if fixed := [name for name in knobs if not known[name].live]:
            raise BadInput(f"{type(self._algorithm).name}: {fixed[0]} is not live: let it go to begin anew.")
        with self._wake:
            self._algorithm = dataclasses.replace(self._algorithm, **knobs)
            self._rouse()

    def begin(self, plan: Plan[R]) -> None:
        """Begin a new run by this plan."""
        with self._wake:
            self.plan: Any = plan
            self._begin()

    def open(self) -> None:
        """Let the run have a thread; one that was put to rest is made again."""
        with self._wake:
            self._opened = True
            self._asked = time.monotonic()
            self._rouse()

    def close(self) -> None:
        """Let the thread end after its chunk, without waiting for it; ``open`` takes the run up again."""
        with self._wake:
            self._opened = False
            self._leave.set()
            self._leave_beat()
            self._wake.notify()

    def sleep(self) -> None:
        """End the lease now, as if nobody had looked for LEASE_SECONDS; the next question renews it."""
        with self._wake:
            self._asked = -math.inf
            self._wake.notify()

    def rest(self) -> None:
        """Close, and give the memory of the run back; ``open`` makes it again, bit for bit.

        What stays is the plan, the changes of knobs by step and a small last snapshot. Waits for the end of
        the chunk that is being made. A run whose knobs were changed too often to be logged keeps its memory.
        """
        self.close()
        with self._chunk, self._wake:
            if isinstance(self._run, Rebuild):
                self._run.forget()
            elif self._log.complete:
                if self._stale:
                    self._show(self._run)
                self._run = Rebuild(self._run, self._log, self._snapshot)
                self._show(self._run, "rebuilding")

    def join(self, timeout: float | None = None) -> None:
        """Wait until no thread is at the run any more (after ``close``)."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        if self._owner.acquire(timeout=-1 if timeout is None else timeout):
            self._owner.release()

    # Answers, to any thread.

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot; asking renews the lease."""
        shown = self.peek()
        if self._asleep():
            with self._wake:
                self._asked = time.monotonic()
                self._set_pace(None)  # which wakes the thread, too
        self._asked = time.monotonic()
        return shown

    def peek(self) -> Snapshot:
        """Return the newest snapshot without renewing the lease."""
        # Nobody has looked for a while, so that none has been made. A chunk that is being made is waited for,
        # unless a snapshot follows it in any case.
        patience = 0 if self.watched else 2 * CHUNK_SECONDS
        if self._stale and self._chunk.acquire(timeout=patience):
            try:
                with self._wake:
                    if self._stale and self._run.prepared:
                        self._show(self._run)
            finally:
                self._chunk.release()
        return self._snapshot

    @property
    def watched(self) -> bool:
        """Whether somebody looks at this moment."""
        return time.monotonic() - self._asked <= WATCHED_SECONDS

    @property
    def algorithm(self) -> Any:
        """The algorithm with its knobs as they were last set."""
        return self._algorithm

    @property
    def at_rest(self) -> bool:
        """Whether the run is not there: put to rest, or not yet made again."""
        return isinstance(self._run, Rebuild)

    @property
    def awake(self) -> bool:
        """Whether somebody may be looking: the run has a thread where it has something to do."""
        return self._opened and not self._asleep()

    def bytes(self) -> int:
        """Return the bytes that the run takes at most; 0 at rest."""
        return 0 if self.at_rest and not self._opened else self.plan.bytes(self._algorithm)

    def read(self, question: Callable[[R], T]) -> T:
        """Return what ``question`` reads off the run between two chunks.

        Raises
        ------
        BadInput
            While the run is being made again after a rest.
        """
        with self._chunk, self._wake:
            if isinstance(self._run, Rebuild):
                raise BadInput(
                    f"This run is being rebuilt after it had been put to rest ({self._run.share:.0%} done): "
                    "try again in a moment."
                )
            answer = question(self._run)
            if not self._asleep():
                self._rouse()  # what was asked may give the run something to do
            return answer

    # Inside; _wake is held where commands call these.

    def _begin(self) -> None:
        self._runs += 1
        self._run = self.plan.run(self._runs, self._algorithm)
        self._log = Log(self._run.n, self._algorithm)
        self._stop_at = 0
        self._show(self._run, "starting")
        self._set_pace(None)

    def _set_pace(self, at: float | None, n: float | None = None) -> None:
        begin = self._run.n if n is None else n
        self._pace = Pace(begin, time.monotonic() if at is None else at, self._rate)
        self._rouse()

    def _rouse(self) -> None:
        """Wake the thread for a command, or start one where the last has ended."""
        if self._beating:
            self._beat.rouse()
        elif self._opened and (self._thread is None or self._leave.is_set()):
            self._leave = threading.Event()
            self._thread = threading.Thread(
                target=self._work, args=(self._leave,), name="rbmviz-run", daemon=True
            )
            self._thread.start()
        self._wake.notify()

    def _drop_backlog(self) -> None:
        now = time.monotonic()
        most = max(BACKLOG_SECONDS, BEAT_BACKLOG_SECONDS) if self._beating else BACKLOG_SECONDS
        if self._pace.allowed(now) - self._run.n > self._rate * most + 1:
            self._pace = Pace(self._run.n, now - most, self._rate)

    def _asleep(self) -> bool:
        return time.monotonic() - self._asked > LEASE_SECONDS

    def _status(self) -> Status:
        if self.at_rest:
            return "rebuilding"
        if self._run.n >= self._end:
            return "finished"
        return "running" if self._running or self._run.n < self._stop_at else "paused"

    def _due(self) -> int:
        """Return how many steps to make now; 0: wait."""
        if self._asleep() or self._snapshot.status == "failed":
            return 0
        self._drop_backlog()
        allowed = self._pace.allowed(time.monotonic()) if self._running else self._stop_at
        return max(int(min(self._run.max_steps(), min(allowed, self._end) - self._run.n)), 0)

    def _work(self, leave: threading.Event) -> None:
        _stand_back()
        with self._owner:
            self._busy_at = time.monotonic()
            while not leave.is_set():
                run = self._run
                with self._errors_shown(run):
                    self._once(run)

    @contextlib.contextmanager
    def _errors_shown(self, run: Run | Rebuild) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # the thread must tell, whatever it was
            if not isinstance(error, BadInput):
                log.exception("a run failed")
            text = str(error) if isinstance(error, BadInput) else f"Internal error: {error!r}"
            self._publish(run, "failed", text)

    def _once(self, run: Run | Rebuild) -> None:
        """Do one chunk of what is due, or wait for something to do."""
        if isinstance(run, Rebuild):
            self._rebuild(run)
            return
        if not run.prepared and self._snapshot.status != "failed":
            with SLOTS.turn(self._group, Kind.START):
                run.prepare()
            self._publish(run)
        n = self._take_commands(run)
        if n is None:
            return
        if n == 0:
            self._rest(run)
            return
        # Single steps are somebody's click: they do not wait behind full speed either.
        kind = Kind.FULL if self._running and math.isinf(self._rate) else Kind.PACED
        with SLOTS.turn(self._group, kind):
            self._make(run, n)
        time.sleep(0.001)  # lets the other threads of the process have the interpreter

    def _take_commands(self, run: Run) -> int | None:
        """Return how many steps to make now; None: begin again, with another run or state."""
        with self._wake:
            if run is not self._run:  # a command has begun another one meanwhile
                return None
            n = self._due()
            if (n or run.knobs_at_once) and run.algorithm is not self._algorithm:
                run.set_knobs(self._algorithm)
                self._log.note(run.n, self._algorithm)
                if not run.prepared:  # knobs that its state is made of
                    return None
        if not n and self._snapshot.status not in ("failed", self._status()):
            with self._chunk:
                self._complete(run)
            self._publish(run)
        return n

    def _make(self, run: Run, n: int) -> None:
        """Make n steps, with a turn at a core."""
        with self._chunk:
            if run is not self._run:  # put to rest meanwhile
                return
            run.watched = self.watched
            made = run.advance(n)
            with self._wake:
                run.record_steps(made)
                self._stale = run is self._run
            self._complete(run)
        if self.watched or self._status() != self._snapshot.status:
            self._publish(run)
        self._busy_at = time.monotonic()

    def _complete(self, run: Run) -> None:
        """Let a run that stops here compute what it has put off; the chunk is held."""
        if run is self._run and run.prepared and self._status() != "running":
            run.complete()

    def _rebuild(self, rest: Rebuild) -> None:
        """Make a little more of a run that was put to rest; the last piece puts it back into its place."""
        if self._asleep() or self._snapshot.status == "failed":
            self._wait(rest)
            return
        with SLOTS.turn(self._group, Kind.FULL), self._chunk:
            if rest is not self._run or self._leave.is_set():
                return
            again = rest.work()
            with self._wake:
                if rest is self._run and again is not None:
                    self._run = again
                    self._set_pace(None)
            if again is not None and rest.failure is None:
                self._complete(again)
        if again is None:
            self._publish(rest, "rebuilding")
        elif rest.failure is None:
            self._publish(again)
        else:
            self._publish(again, "failed", rest.failure)
        self._busy_at = time.monotonic()
        time.sleep(0.001)

    def _rest(self, run: Run) -> None:
        """Do background work, or wait for a command."""
        awake = run is self._run and self._snapshot.status != "failed" and not self._asleep()
        if awake and run.has_background_work:
            with SLOTS.turn(self._group, Kind.FULL), self._chunk:
                worked = run is self._run and run.background_work(paused=not self._running)
                with self._wake:
                    self._stale |= worked and run is self._run
            if worked:
                if self.watched:
                    self._publish(run)
                self._busy_at = time.monotonic()
                return
        self._wait(run)

    def _wait(self, run: Run | Rebuild) -> None:
        """Wait for a command; after a while, or where the run sleeps, the thread ends."""
        with self._wake:
            if run is not self._run or self._due():
                return
            pacing = self._pacing()
            if self._asleep() or (not pacing and time.monotonic() - self._busy_at > IDLE_SECONDS):
                if self._thread is threading.current_thread():  # else ``close`` has told this one to leave
                    self._leave.set()
            elif self._light() and self._thread is threading.current_thread():
                self._leave.set()
                self._beating = True
                self._beat.join(self)
            else:
                self._wake.wait(CHUNK_SECONDS if pacing else 0.5)

    def _pacing(self) -> bool:
        return self._running and not self._asleep() and self._snapshot.status != "failed"

    # Driven by the beat.

    def _light(self) -> bool:
        """Whether the run has nothing to do but a few steps now and then, and takes little for them."""
        run = self._run
        return (
            self._opened
            and self._pacing()
            and not self.at_rest
            and run.prepared
            and not run.has_background_work
            and run.n < self._end
            and self._rate * CHUNK_SECONDS * LIGHT < run.chunk
        )

    def _leave_beat(self) -> None:
        if self._beating:
            self._beating = False
            self._beat.leave(self)

    def next_step(self) -> float:
        """Return the time.monotonic() at which the next step is due."""
        return self._pace.time_of(self._run.n + 1)

    def on_beat(self) -> None:
        """Make the steps that are due; where there is more to do, a thread of its own takes over."""
        # The thread that has handed the run over may need a moment to leave. Another one that has come since
        # may itself wait for a turn, and the beat has one: it must not wait for that thread.
        if not self._beating or not self._owner.acquire(timeout=LEAVE_SECONDS):
            return
        try:
            run = self._run
            with self._errors_shown(run):
                for _ in range(CHUNKS_PER_BEAT):
                    if not self._beating or not (n := self._take_commands(run)):
                        break
                    self._make(run, n)
            with self._wake:
                if self._beating and not self._light():
                    self._leave_beat()
                    self._rouse()
        finally:
            self._owner.release()

    # Snapshots.

    def _show(self, run: Run | Rebuild, status: Status | None = None, error: str | None = None) -> None:
        """Make the newest snapshot; _wake is held, and no chunk is being made by another thread."""
        self._stale = False
        self._snapshot = dataclasses.replace(run.view(status or self._status()), error=error)

    def _publish(self, run: Run | Rebuild, status: Status | None = None, error: str | None = None) -> None:
        with self._wake:
            if run is self._run:  # else a command has begun another run meanwhile
                self._show(run, status, error)
