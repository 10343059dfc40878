"""The scheduler of sweeps, and of the maps that show them: it decides which task works next.

A task does one unit of work at a time, about 30 ms, and asks again. Time is divided fairly between tenants.
There are three lanes of threads: PACED for little work that must be on time, COMPUTE for all other work that
can be divided into units, and LONG for work that cannot, one unit at a time.
"""

import enum
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rbmviz.session.pools import LOW_PRIORITY, lower_priority

STARVED_SECONDS = 0.5
"""Seconds without a unit after which sweeps get one although other work waits: a sixteenth of a core."""

SAVED_SECONDS = 1.0
"""Maximum seconds by which a returning tenant may be behind, equal to the head start of START."""

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
        self._at_work: dict[Task, float] = {}  # the tasks at work, with the start of their units
        self._level = 0.0  # the account at which a new tenant begins
        self._sweeps_since = -math.inf  # when the last unit of a sweep began

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
            self._place(task, by=lane)


SCHEDULER = Scheduler(os.cpu_count() or 1)
"""The scheduler of this process."""
