"""The scheduler of all runs, which decides which run works next, on which thread, and when.

A run has no thread of its own. Its handle (``worker.Worker``) says when the run has work and how urgent it is
(``Scheduler.ask``). A thread of the scheduler then does one unit of this work, about 30 ms, and the handle
asks again. Time is divided fairly between tenants; all runs of one visitor form one tenant.

There are three lanes of threads:

- PACED: little work that must be on time, at the priority of the threads that draw pages.
- COMPUTE: all other work that can be divided into units; one thread per core, at a lower priority. A run at
  full speed fills its core, but delays neither pages nor paced runs.
- LONG: work that cannot be divided (compiling, steps that take long), one unit at a time.

The light paced runs of a page are driven together by beats (``Page``): one wake-up for all panels, as often
as the page asks for frames. If beats end late, the server is short of cores. Then beats, frames and charts
become less frequent for all visitors alike (``Lateness``), so that pictures slow down before samples do.
"""

import contextlib
import enum
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

BEAT_SECONDS = 0.05
"""Seconds between beats; pages ask for 20 frames per second, each with new samples."""

UNWATCHED_SECONDS = 0.1
"""Seconds between beats while nobody watches."""

LATE_SECONDS = 0.2
"""A beat is late if it ends more than this long, and more than one interval, after it was due. A delay of one
second (``worker.LIGHT_BACKLOG_SECONDS``) skips samples; a shorter one only makes the pace uneven."""

STARVED_SECONDS = 0.5
"""Seconds without a unit after which sweeps get one although other work waits: a sixteenth of a core."""

SAVED_SECONDS = 1.0
"""Maximum seconds by which a returning tenant may be behind, equal to the head start of START."""

LOW_PRIORITY = 10
"""Niceness of the lanes COMPUTE and LONG (Linux only): pages and paced runs have priority."""

log = logging.getLogger(__name__)


class Priority(enum.Enum):
    """Purpose of a unit; the value is its head start in seconds.

    The unit's tenant goes first even if it has computed up to that much more than another tenant. Within a
    tenant, the unit counts as due that much earlier.
    """

    START = 1.0
    """Preparation of a run, for whose first frame a person is waiting."""
    PACED = 0.25
    """Steps of a run with a rate, and responses to commands: little work, but it must be on time."""
    FULL = 0.0
    """Steps of a run at full speed, which would fill every core."""
    BACKGROUND = -0.25
    """Likelihoods, pairs and log Z, and steps at full speed while nobody watches."""
    SWEEP = -math.inf
    """Cells of sweeps, while no other work needs the core."""


class Due(NamedTuple):
    """When a task has work next. Times are readings of the scheduler's clock.

    priority, at : from this time on the task has work of this priority; background_at : from this time on, it
    has work of priority BACKGROUND; late : whether the run is catching up after a late start (together, such
    runs get every second unit of their tenant, however many other runs the tenant has); long : whether the
    work cannot be divided
    """

    priority: Priority
    at: float
    background_at: float = math.inf
    late: bool = False
    long: bool = False

    @property
    def first(self) -> float:
        """The time from which there is work."""
        return min(self.at, self.background_at)

    def head_start(self, now: float) -> float:
        """Return this work's head start in seconds over other work that is due at the same time."""
        return (self.priority if self.at <= now else Priority.BACKGROUND).value


class Tenant:
    """Runs that share computing time: the runs of one visitor."""

    def __init__(self) -> None:
        self.account = -math.inf  # seconds: the level on arrival, plus the time of finished units
        self.began: list[float] = []  # start times of its current units
        self.late_was_last = False  # whether its newest unit went to a late run

    def used(self, now: float) -> float:
        """Return the account in seconds, including current units."""
        return self.account + sum(now - began for began in self.began)


class Task:
    """A task, whose work is done in units.

    tenant : the tenant whose computing time the task uses
    work : does one unit, and must ``ask`` in order to be called again; never called by two threads at once
    paced : whether to use the lane PACED (default: LONG if the work is long, else COMPUTE)
    """

    def __init__(self, tenant: Tenant, work: Callable[[], object], paced: bool = False) -> None:
        self.tenant, self.work, self.paced = tenant, work, paced
        self.due: Due | None = None
        self.lane: Lane | None = None  # where it waits
        self.at_work = False


class Lane:
    """Waiting tasks, and the threads that take them; guarded by the scheduler's lock.

    One idle thread, the watch, sleeps until the next task is due; other idle threads sleep until called.
    """

    def __init__(self, name: str, most: int, niceness: int, lock: threading.RLock) -> None:
        self.name, self.most, self.niceness = name, most, niceness
        self.waiting: dict[Task, None] = {}  # in order of arrival
        self.threads = self.idle = 0
        self.watch_until: float | None = None  # None: no thread is the watch
        self.watch, self.others = threading.Condition(lock), threading.Condition(lock)
        self.longest = 0.0


class Lateness:
    """Slowdown of beats, frames and charts, by a factor from 1 (none) to MAX_FACTOR.

    The signal is late beats: when threads wait for a core, or for the interpreter, many beats end late. Then
    the interval between beats grows, so that each beat makes more samples at less cost. Once beats are on
    time again, the slowdown ends.
    """

    MAX_FACTOR = 10.0
    """Largest slowdown: 2 frames per second instead of 20, and a beat every half second."""

    WINDOW_SECONDS = 1.0
    """Seconds for which beats are counted before the factor changes."""

    LATE_SHARE, IN_TIME_SHARE = 0.25, 0.15
    """The factor grows if more than the first share of beats is late, and falls if at most the second is."""

    GROWTH, FALL = 1.4, 0.7
    """Multipliers of the factor, which rises from 1 to its maximum in 7 s, and falls back in 7 s."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._factor = 1.0  # at the start of the window
        self._window_begin = clock()
        self._beats = self._late = 0  # in the window

    @property
    def factor(self) -> float:
        """Current factor by which beats, frames and charts are less frequent than requested."""
        if self._factor == 1.0:  # the usual case, and called often
            return 1.0
        return self._factor_at(self._clock())

    def _factor_at(self, seconds: float) -> float:
        # Windows without beats count as windows without late beats.
        idle = (seconds - self._window_begin) / self.WINDOW_SECONDS - 1
        return max(self._factor * self.FALL ** max(idle, 0.0), 1.0)

    def note_beat(self, due: float, late: bool) -> None:
        """Count a beat that has just ended.

        due : clock time at which it was due; late : see LATE_SECONDS
        """
        with self._lock:
            if not self._beats and due - self._window_begin > self.WINDOW_SECONDS:  # no beat for a while
                self._factor, self._window_begin = self._factor_at(due), due
            self._beats += 1
            self._late += late
            now = self._clock()
            if now - self._window_begin < self.WINDOW_SECONDS:
                return
            factor, share = self._factor_at(due), self._late / self._beats
            if share > self.LATE_SHARE:
                factor = min(factor * self.GROWTH, self.MAX_FACTOR)
            elif share <= self.IN_TIME_SHARE:
                factor = max(factor * self.FALL, 1.0)
            self._factor, self._window_begin = factor, now
            self._beats = self._late = 0


class Scheduler:
    """The lanes of a process.

    A tenant's account is the time that its units have taken. The next unit of a lane goes to the tenant with
    the lowest account, so that twelve panels of one visitor at full speed get as much as one panel of another
    (start-time fair queueing). A new tenant starts at the lowest account of the tenants present. A returning
    tenant is placed at most SAVED_SECONDS behind that account; otherwise it could block the others for as
    long as it was absent. Units of sweeps do not count.

    n : number of threads in each of the lanes PACED and COMPUTE: one per core
    clock : returns seconds; threads wait correctly only with the default, time.monotonic
    """

    def __init__(self, n: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.n, self.clock = n, clock
        # Guards all tasks, tenants, lanes and pages; held only briefly, never while a unit is done.
        self.lock = threading.RLock()
        self.paced = Lane("paced", n, 0, self.lock)
        self.compute = Lane("compute", n, LOW_PRIORITY, self.lock)
        self.long = Lane("long", 1, LOW_PRIORITY, self.lock)
        self.lateness = Lateness(clock)
        self._at_work: dict[Task, float] = {}  # the tasks at work, with the start of their units
        self._level = 0.0  # the account at which a new tenant begins
        self._sweeps_since = -math.inf  # when the last unit of a sweep began

    @property
    def slowdown(self) -> float:
        """Factor, 1 to 10, by which beats, frames and charts are less frequent than requested."""
        return self.lateness.factor

    @property
    def longest_units(self) -> dict[str, float]:
        """Processor seconds of the longest unit of each lane so far."""
        return {lane.name: lane.longest for lane in (self.paced, self.compute, self.long)}

    def ask(self, task: Task, due: Due | None) -> None:
        """Schedule a unit of a task for when it is due; None: it has no work. Replaces an earlier request."""
        with self.lock:
            task.due = due
            if not task.at_work:  # otherwise ``end`` places it
                self._place(task)

    def _place(self, task: Task, by: Lane | None = None) -> None:
        """Put a task into its lane to wait; ``by`` is the lane of the calling thread."""
        if task.lane is not None:
            del task.lane.waiting[task]
        task.lane = None
        if task.due is None:
            return
        if task.paced:
            lane = self.paced
        else:
            lane = self.long if task.due.long else self.compute
        task.lane = lane
        lane.waiting[task] = None
        if lane.watch_until is not None or lane is not by:  # else the calling thread looks for tasks
            self._call(lane, task.due.first)

    def _call(self, lane: Lane, at: float) -> None:
        """Have a thread of a lane look for due work at this time."""
        if lane.watch_until is not None:
            if at < lane.watch_until:
                lane.watch.notify()
        elif lane.idle:
            lane.idle -= 1
            lane.others.notify()
        elif lane.threads < lane.most:
            # A thread inherits the priority of the one that starts it: start PACED threads first.
            while lane is not self.paced and self.paced.threads < self.paced.most:
                self._start_thread(self.paced)
            self._start_thread(lane)

    def _start_thread(self, lane: Lane) -> None:
        # If the system refuses a thread, the next request tries again.
        threading.Thread(target=self._work, args=(lane,), name=f"rbmviz-{lane.name}", daemon=True).start()
        lane.threads += 1

    def _work(self, lane: Lane) -> None:
        lower_priority(lane.niceness)
        while True:
            self.do_unit(lane, self._wait(lane))
            if lane.niceness:
                time.sleep(0.001)  # lets other threads take the interpreter and the run's lock

    def _wait(self, lane: Lane) -> Task:
        """Wait until a task is due, and take it."""
        with self.lock:
            while (task := self.take(lane)) is None:
                if lane.watch_until is not None:
                    lane.idle += 1
                    lane.others.wait()
                    continue
                at = min((task.due.first for task in lane.waiting if task.due), default=math.inf)
                lane.watch_until = at
                lane.watch.wait(min(at - self.clock(), threading.TIMEOUT_MAX))
                lane.watch_until = None
            if lane.waiting:
                self._call(lane, -math.inf)  # meanwhile another thread takes care of the rest
            return task

    def take(self, lane: Lane) -> Task | None:
        """Take the next due task of a lane; None if no task is due."""
        with self.lock:
            now = self.clock()
            due = [(task, task.due) for task in lane.waiting if task.due and task.due.first <= now]
            task = self._choose(due, now) if due else None
            if task is not None and task.due is not None:
                its, task.due = task.due, None
                del lane.waiting[task]
                task.lane, task.at_work, self._at_work[task] = None, True, now
                if its.priority is Priority.SWEEP:
                    self._sweeps_since = now
                else:
                    task.tenant.began.append(now)
                    task.tenant.late_was_last = its.late
            return task

    def _choose(self, due: list[tuple[Task, Due]], now: float) -> Task:
        sweeps = [(task, its) for task, its in due if its.priority is Priority.SWEEP]
        if sweeps:
            since = max(self._sweeps_since, sweeps[0][1].at)
            if len(sweeps) == len(due) or now - since > STARVED_SECONDS:
                return sweeps[0][0]
        due = [(task, its) for task, its in due if its.priority is not Priority.SWEEP]
        self._update_accounts([task.tenant for task, _ in due], now)
        # Among equal tenants min takes the first, which has waited longest.
        tenant = min(due, key=lambda pair: pair[0].tenant.used(now) - pair[1].head_start(now))[0].tenant
        own = [(task, its) for task, its in due if task.tenant is tenant]
        own = [pair for pair in own if pair[1].late != tenant.late_was_last] or own
        return min(own, key=lambda pair: pair[1].first - pair[1].head_start(now))[0]

    def _update_accounts(self, wanting: Iterable[Tenant], now: float) -> None:
        present = {*wanting, *(task.tenant for task in self._at_work if task.tenant.began)}
        least = min((tenant.used(now) for tenant in present if math.isfinite(tenant.account)), default=0.0)
        self._level = max(self._level, least)
        for tenant in present:
            if math.isinf(tenant.account):
                tenant.account = self._level
            elif (behind := self._level - SAVED_SECONDS - tenant.used(now)) > 0:
                tenant.account += behind

    def do_unit(self, lane: Lane, task: Task) -> None:
        """Do one unit of a task taken from a lane."""
        begin = time.thread_time()
        try:
            task.work()
        except Exception:  # a run shows its errors itself; others continue
            log.exception("a task has been dropped")
        self.end(lane, task, time.thread_time() - begin)

    def end(self, lane: Lane, task: Task, used: float) -> None:
        """Put a task back after a unit that has used this many processor seconds."""
        with self.lock:
            began, now = self._at_work.pop(task), self.clock()
            if began in task.tenant.began:
                task.tenant.began.remove(began)
                task.tenant.account += now - began
            task.at_work = False
            lane.longest = max(lane.longest, used)
            self._place(task, by=lane)


def lower_priority(niceness: int) -> None:
    """Lower the priority of this thread."""
    if niceness and sys.platform == "linux":  # other systems do not accept a thread id here
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


SCHEDULER = Scheduler(os.cpu_count() or 1)
"""The scheduler of this process."""


class LightRun(Protocol):
    """A paced run that takes little of a core."""

    @property
    def watched(self) -> bool: ...  # noqa: D102

    def work(self) -> object:
        """Make the steps that are due."""


class Page:
    """The runs of one page, whose light paced runs advance together in one pass, a beat.

    If each of these runs were scheduled separately, a thread would wake up dozens of times per second for
    each panel, to make a sample or two.

    tenant : the tenant whose computing time the runs use; None: a separate tenant
    scheduler : the scheduler; None: the process's
    """

    def __init__(self, tenant: Tenant | None = None, scheduler: Scheduler | None = None) -> None:
        self.tenant, self.scheduler = tenant or Tenant(), scheduler or SCHEDULER
        self._task = Task(self.tenant, self._beat, paced=True)
        self._next: dict[LightRun, float] = {}  # when the next step of each light run is due
        self._tick = -math.inf  # time of the last beat
        self._due = 0.0  # when the next, or the current, beat is due
        self._in_beat = False
        self._listeners: tuple[Callable[[], None], ...] = ()

    @property
    def seconds(self) -> float:
        """Interval of the beats of a watched page, in seconds."""
        return BEAT_SECONDS * self.scheduler.slowdown

    def drive(self, run: LightRun, at: float | None, now: bool = False) -> None:
        """Let a run work in the first beat from ``at`` on; None: stop driving it.

        now : whether that beat follows a command, so that it need not wait for the interval of beats
        """
        with self.scheduler.lock:
            if at is None:
                if self._next.pop(run, None) is None:
                    return
            else:
                self._next[run] = at
                if now:  # the command takes effect with a step, so the beat comes when a step is due
                    self._tick = min(self._tick, self.scheduler.clock() - self._interval())
            if not self._in_beat:
                self._plan()

    def drives(self, runs: int) -> bool:
        """Return whether at least this many runs are driven by beats."""
        return len(self._next) >= runs

    @contextlib.contextmanager
    def listening(self, ended: Callable[[], None]) -> Iterator[None]:
        """Call ``ended`` after each beat in the ``with`` block, on the beat's thread; it must not block."""
        with self.scheduler.lock:
            self._listeners += (ended,)
        try:
            yield
        finally:
            with self.scheduler.lock:
                self._listeners = tuple(other for other in self._listeners if other is not ended)

    def _interval(self) -> float:
        watched = any(run.watched for run in self._next)
        return self.seconds if watched else max(self.seconds, UNWATCHED_SECONDS)

    def _plan(self) -> None:
        """Ask for the next beat; the lock is held."""
        first = min(self._next.values(), default=math.inf)
        if first == math.inf:
            self.scheduler.ask(self._task, None)
            return
        self._due = max(first, self._tick + self._interval())
        self.scheduler.ask(self._task, Due(Priority.PACED, self._due))

    def _beat(self) -> None:
        with self.scheduler.lock:
            now, due = self.scheduler.clock(), self._due
            # Beats keep their rhythm even if single beats are delayed.
            self._tick = due if now - due < self.seconds else now
            self._in_beat = True
            runs = [run for run, at in self._next.items() if at <= now]
        try:
            for run in runs:
                self._advance(run)
            for ended in self._listeners:
                ended()
            late = self.scheduler.clock() - due > max(self.seconds, LATE_SECONDS)
            self.scheduler.lateness.note_beat(due, late)
        finally:
            with self.scheduler.lock:
                self._in_beat = False
                self._plan()

    def _advance(self, run: LightRun) -> None:
        try:
            run.work()
        except Exception:  # the error could not be shown; other panels continue
            log.exception("a run has left its beat")
            self.drive(run, None)
