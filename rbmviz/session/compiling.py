"""Compiling on a new machine, side by side in separate processes, what the first panels need first.

Compiling holds the interpreter, and one process compiles one kernel at a time. A server therefore lets other
processes fill the cache of kernels (``Compiling.start``), as many as there are cores, and loads the kernels
from there: its pages answer meanwhile, and a panel begins as soon as its own kernels are ready.

All processes read the names of their jobs from one pipe, into which the server writes the next one when one
is done: so the kernels that the panels of a page wait for come before those that nobody has asked for.

On Linux one process compiles the first job, while the server draws its first page, and then forks: what it
has loaded and compiled by then, the others need as well.

The time left (``Compiling.seconds_left``) is computed from the stored processor seconds of each job. The
processes report what they have used, twice a second; from this follow how many times the stored seconds a job
takes on this machine, and which share of a core a process gets beside other programs. Both are kept apart:
the first is a property of the machine, the second changes at any time.
"""

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator

from rbmviz import kernels
from rbmviz.samplers import machine_memory
from rbmviz.session.warm import JOBS, compile_jobs

STARTING_SECONDS = 1.0
"""Processor seconds until a process compiles."""

LOADING_SECONDS = 1.0
"""Processor seconds in which a run loads its kernels, once they are compiled."""

REPORT_SECONDS = 0.5
"""How often a process reports its processor time."""

RECENT_SECONDS = 10.0
"""What a process gets of a core is the average over about this time."""

RECORD = 64
"""Bytes of the name of a job in the pipe: of one length, so that each process reads a whole one."""

NICENESS = 10
"""Niceness of these processes: threads that draw pages have the higher priority."""

MEMORY = 10**9
"""Bytes of the machine's memory for each process that compiles, which takes a third of them."""

FORKS = sys.platform == "linux"
"""Whether a process that has compiled may fork: libraries of macOS do not allow it."""


class Compiling:
    """The processes that compile for this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[tuple[subprocess.Popen[str], threading.Thread]] = []
        self._most = self._now = 1  # jobs at a time: in the end, and before a process has forked
        self._pipe: int | None = None
        self._queue: list[str] = []
        self._wanted: list[str] = []  # what runs wait for, in the order in which they asked
        # Of the jobs that are being compiled: time.monotonic() of the last report, processor seconds by then.
        self._running: dict[str, tuple[float, float]] = {}
        self._done: dict[str, threading.Event] = {}
        self._used = self._passed = 0.1  # recent seconds of the processor, and of the clock
        self._others = 0.0  # how many threads of other programs want a core, before a process has reported
        self._took = self._estimated = 0.0  # processor seconds of all jobs that are done
        self._stopped = False

    def start(self) -> None:
        """Begin to compile what is not in the cache, in other processes; return at once.

        There are as many processes as cores, or fewer if the memory is small.
        """
        with self._lock:
            missing = [name for name in JOBS if not kernels.compiled.is_noted(name)]
            if self._processes or self._stopped or not missing or kernels.compiled.cache_base() is None:
                return
            self._most = max(int(min(os.cpu_count() or 1, machine_memory() / MEMORY)), 1)
            self._now = 1 if FORKS else self._most
            if hasattr(os, "getloadavg"):
                self._others = os.getloadavg()[0]
            self._passed *= self._crowding(self._now)
            self._queue, self._done = missing, {name: threading.Event() for name in missing}
            jobs, self._pipe = os.pipe()
            for _ in range(self._now):
                self._begin(jobs)
            os.close(jobs)
            self._give()
            if not self._processes:
                self._give_up()

    def _begin(self, jobs: int) -> None:
        """Start a process that reads its jobs from a pipe."""
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(self._most)],
                stdin=jobs,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                # A process with a second thread, of BLAS, should not fork.
                env=os.environ
                | {"RBMVIZ_CACHE_DIR": str(kernels.compiled.cache_base()), "OPENBLAS_NUM_THREADS": "1"},
                start_new_session=FORKS,
            )
        except OSError:  # no memory for a process, or no interpreter to be found: the runs compile themselves
            return
        follower = threading.Thread(target=self._follow, args=(process,), name="rbmviz-compiling")
        follower.daemon = True
        self._processes.append((process, follower))
        follower.start()

    def _give(self) -> None:
        """Write the next jobs into the pipe, as many as there are free processes; _lock is held."""
        while self._pipe is not None and self._queue and len(self._running) < self._now:
            name = self._queue.pop(0)
            with contextlib.suppress(OSError):  # the process has ended: its follower will see it
                os.write(self._pipe, name.encode().ljust(RECORD))
            self._running[name] = time.monotonic(), 0.0
        if self._pipe is not None and not self._queue:
            os.close(self._pipe)
            self._pipe = None

    def _give_up(self) -> None:
        """Let those who wait compile, and show the error if there is one; _lock is held."""
        self._queue.clear()
        self._running.clear()
        self._give()
        for event in self._done.values():
            event.set()

    def _follow(self, process: subprocess.Popen[str]) -> None:
        """Read the reports of a process, and give it the next jobs, until it has ended."""
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                name, seconds, is_done = (line.rstrip("\n").split("\t") + 2 * [""])[:3]
                with self._lock:
                    if name in self._running:
                        self._note(name, float(seconds), bool(is_done))
        process.wait()
        with self._lock:
            if all(other.poll() is not None for other, _ in self._processes):
                self._give_up()

    def _note(self, name: str, seconds: float, is_done: bool) -> None:
        """Note how many processor seconds a job has taken so far; _lock is held."""
        (before, used), now = self._running[name], time.monotonic()
        weight = math.exp((before - now) / RECENT_SECONDS)
        self._passed = weight * self._passed + now - before
        self._used = weight * self._used + seconds - used
        self._running[name] = now, seconds
        if is_done:
            del self._running[name]
            self._took += seconds
            self._estimated += self._seconds(name)
            self._done[name].set()
            self._now = self._most
            self._give()

    def wait(self, names: Iterable[str]) -> None:
        """Have other processes compile these jobs next, and wait until they are done."""
        names = [name for name in names if name in self._done]
        with self._lock:
            self._wanted += [name for name in names if name not in self._wanted]
            self._queue.sort(key=[*self._wanted, *self._queue].index)
        for name in names:
            self._done[name].wait()

    def finish(self) -> bool:
        """Wait until the other processes have ended; return False if they have been stopped."""
        for _, follower in self._processes:
            follower.join()
        return not self._stopped

    def _seconds(self, name: str) -> float:
        """Return the stored processor seconds of a job."""
        return JOBS[name].seconds + (STARTING_SECONDS if name == next(iter(self._done), None) else 0.0)

    def _crowding(self, n: int) -> float:
        """Return how many times longer n processes take than with a core each, beside the others."""
        return max((self._others + n) / (os.cpu_count() or 1), 1.0)

    def seconds_left(self, names: Iterable[str]) -> float | None:
        """Return in about how many seconds a run that needs these jobs can begin; None: they are done.

        0.0: it takes longer than expected.
        """
        missing = [name for name in names if not kernels.compiled.is_noted(name)]
        if not missing:
            return None
        with self._lock:
            now, passed_per_used = time.monotonic(), self._passed / max(self._used, 1e-3)
            # Jobs that are done say how many times its stored seconds a job takes, and so does one that has
            # taken more than them already.
            factor = self._took / self._estimated if self._estimated else 1.0
            for name, (_, used) in self._running.items():
                factor = max(factor, (self._took + used) / (self._estimated + self._seconds(name)))
            done_in = {
                name: passed_per_used * (factor * self._seconds(name) - used) - (now - reported)
                for name, (reported, used) in self._running.items()
            }
            slowness = passed_per_used * factor
            later = slowness * self._crowding(self._most) / self._crowding(self._now)
            free = sorted(done_in.values())
            free += (self._most - len(free)) * [free[0] if free else 0.0]  # they wait for the first, to fork
            for name in self._queue:
                first = free.index(min(free))
                free[first] = done_in[name] = free[first] + later * self._seconds(name)
        left = max(done_in.get(name, slowness * JOBS[name].seconds) for name in missing)
        return left + slowness * LOADING_SECONDS if left > 0 else 0.0

    def stop(self) -> None:
        """End the processes: the server ends."""
        with self._lock:
            self._stopped = True
            for process, follower in self._processes:
                with contextlib.suppress(OSError):
                    if not FORKS:
                        process.terminate()
                    elif follower.is_alive():  # until then the number of the group is theirs
                        os.killpg(process.pid, signal.SIGTERM)


COMPILING = Compiling()
"""Those of this process."""


def main() -> None:
    """Compile the jobs that come from the standard input, and report on each of them.

    The command line says how many processes compile all but the first of them.
    """
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    if not _compile_next(began=0.0):  # the time until here is part of the first job
        return
    for _ in range(int(sys.argv[1]) - 1 if FORKS else 0):
        if os.fork() == 0:
            break
    while _compile_next(began=time.process_time()):
        pass


def _compile_next(began: float) -> bool:
    """Compile the next job, which has used the processor since ``began``; return False if there is none."""
    if name := os.read(0, RECORD).decode().rstrip():
        with _reporting(name, began):
            for _ in compile_jobs([name]):
                pass
        _report(name, began, "done")
    return bool(name)


@contextlib.contextmanager
def _reporting(name: str, began: float) -> Iterator[None]:
    """Report on a job while it is compiled."""
    ended = threading.Event()

    def report() -> None:
        _report(name, began)
        while not ended.wait(REPORT_SECONDS):
            _report(name, began)

    thread = threading.Thread(target=report)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()  # a process with a second thread should not fork


def _report(name: str, began: float, state: str = "") -> None:
    """Write a line: the name of a job, its processor seconds, and "done" if it is."""
    # In one piece, because other processes write to the same pipe.
    os.write(1, f"{name}\t{time.process_time() - began:.3f}\t{state}\n".encode())
