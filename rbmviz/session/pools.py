"""The threads of all runs: three pools, each of which does its jobs in the order in which they are due.

The job that advances a page is in one pool at a time, so that the queue is the fairness: nobody waits for
more than one such job of each other page. Preparations, and values only for display, are jobs of their own.

- PACED: light pages at a fixed rate, at the priority of the threads that draw pages.
- FULL_SPEED: pages at full speed, and all other work, one thread per core at a lower priority.
- LONG: steps that take more than a tenth of a second, and kernels that are still to be compiled; one thread.

All threads are daemons: none of them delays the end of the process.
"""

import contextlib
import heapq
import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable

JOB_SECONDS = 0.05
"""Seconds between two jobs of a page that somebody watches, and so between two pictures."""

LONG_SECONDS = 0.1
"""Processor seconds above which a step is a long one, which only the pool LONG makes."""

LOW_PRIORITY = 10
"""Niceness of the pools FULL_SPEED and LONG (Linux only): pages and paced runs have priority."""

MAX_SLOWDOWN = 10.0
"""Largest factor by which pictures and charts are less frequent on a server that is short of cores."""

log = logging.getLogger(__name__)


class Pool:
    """Threads that do jobs at their times; the threads start with the first jobs.

    One idle thread, the watch, sleeps until the next job is due; others sleep until they are called.
    """

    def __init__(self, name: str, most: int, niceness: int = 0) -> None:
        self._name, self._most, self._niceness = name, most, niceness
        lock = threading.Lock()
        self._watch, self._others = threading.Condition(lock), threading.Condition(lock)
        self._jobs: list[tuple[float, int, Callable[[], object]]] = []  # a heap
        self._numbers = itertools.count()
        self._threads = self._idle = 0
        self._watching = False
        self._members: set[int] = set()

    def submit(self, job: Callable[[], object], at: float = 0.0) -> None:
        """Do a job from ``at`` on, a reading of time.monotonic() (default: now)."""
        with self._watch:
            entry = at or time.monotonic(), next(self._numbers), job
            heapq.heappush(self._jobs, entry)
            # A thread of the pool looks for jobs itself when its job has ended.
            if self._jobs[0] is entry or threading.get_ident() not in self._members:
                self._call()

    def _call(self) -> None:
        """Have a thread look at the first job; the lock is held."""
        if self._watching:
            self._watch.notify()
        elif self._idle:
            self._others.notify()
        elif self._threads < self._most:
            # If the system refuses a thread, the next job tries again.
            threading.Thread(target=self._work, name=f"rbmviz-{self._name}", daemon=True).start()
            self._threads += 1

    def _work(self) -> None:
        lower_priority(self._niceness)
        self._members.add(threading.get_ident())
        while True:
            job = self._take()
            try:
                job()
            except Exception:  # a run shows its errors itself; others go on
                log.exception("a job has failed")
            del job
            if self._niceness:
                time.sleep(0.001)  # lets other threads take the interpreter

    def _take(self) -> Callable[[], object]:
        with self._watch:
            while not self._jobs or self._jobs[0][0] > time.monotonic():
                if self._watching:
                    self._idle += 1
                    self._others.wait()
                    self._idle -= 1
                else:
                    self._watching = True
                    self._watch.wait(self._jobs[0][0] - time.monotonic() if self._jobs else None)
                    self._watching = False
            job = heapq.heappop(self._jobs)[2]
            if self._jobs:
                with contextlib.suppress(RuntimeError):  # no other thread: this one looks after its job
                    self._call()
            return job


def lower_priority(niceness: int) -> None:
    """Lower the priority of this thread."""
    if niceness and sys.platform == "linux":  # other systems do not accept a thread id here
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


PACED = Pool("paced", os.cpu_count() or 1)
FULL_SPEED = Pool("full", os.cpu_count() or 1, LOW_PRIORITY)
LONG = Pool("long", 1, LOW_PRIORITY)


class Lateness:
    """How late the jobs of paced pages end: the sign that a server is short of cores."""

    def __init__(self) -> None:
        self._mean, self._noted_at = 0.0, 0.0

    def note(self, seconds: float) -> None:
        """Note how long after it was due a job has ended."""
        self._mean += 0.1 * (seconds - self._mean)
        self._noted_at = time.monotonic()

    @property
    def slowdown(self) -> float:
        """Factor, 1 to MAX_SLOWDOWN, by which pictures and charts are to be less frequent now."""
        if time.monotonic() - self._noted_at > 1:
            return 1.0
        return min(max(self._mean / JOB_SECONDS, 1.0), MAX_SLOWDOWN)


LATENESS = Lateness()
"""The lateness of this process."""
