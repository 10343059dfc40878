"""Compile the kernels of the first panels on a new machine, in parallel processes.

Compilation blocks the interpreter, and a process compiles one kernel at a time. The server therefore starts
one process per core to fill the kernel cache (``Compiling.start``), and loads compiled kernels from there.
Meanwhile its pages respond, and a panel starts as soon as its own kernels are ready.

All processes read the names of their jobs from one pipe. The server writes the next name when a job is done,
so that kernels that a panel is waiting for come before all others.

On Linux, one process loads the compiler while the server draws its first page, and then forks, so that the
other processes inherit the loaded compiler.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable

from rbmviz import kernels
from rbmviz.samplers import machine_memory
from rbmviz.session.pools import LOW_PRIORITY
from rbmviz.session.warm import COMPILER, JOBS, compile_jobs

RECORD = 64
"""Fixed length in bytes of a job name in the pipe, so that a process always reads a whole name."""

MEMORY = 10**9
"""Bytes of memory required per compiling process, which actually uses a third of that."""

FORKS = sys.platform == "linux"
"""Whether a process that has compiled may fork; on macOS, system libraries forbid it."""


class Compiling:
    """The processes that compile for this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[tuple[subprocess.Popen[str], threading.Thread]] = []
        self._most = self._now = 1  # maximum of parallel jobs: in all, and until a process has forked
        self._pipe: int | None = None
        self._queue: list[str] = []
        self._wanted: list[str] = []  # jobs that runs are waiting for, in order of request
        self._running: set[str] = set()
        self._missing: set[str] = set()  # jobs that are not done
        self._stopped = False

    def start(self) -> None:
        """Start compiling the kernels that are missing from the cache, in other processes; return at once.

        There is one process per core, or fewer if memory is small.
        """
        with self._lock:
            missing = [name for name in JOBS if name == COMPILER or not kernels.compiled.is_noted(name)]
            if missing == [COMPILER] or self._processes or self._stopped or not kernels.compiled.cache_base():
                return
            self._most = max(int(min(os.cpu_count() or 1, machine_memory() / MEMORY)), 1)
            self._now = 1 if FORKS else self._most
            self._queue, self._missing = missing, {*missing}
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
                encoding="utf-8",
                # A process with a BLAS thread should not fork.
                env=os.environ
                | {"RBMVIZ_CACHE_DIR": str(kernels.compiled.cache_base()), "OPENBLAS_NUM_THREADS": "1"},
                start_new_session=FORKS,
            )
        except OSError:  # no memory, or no interpreter found: each run compiles its kernels
            return
        follower = threading.Thread(target=self._follow, args=(process,), name="rbmviz-compiling")
        follower.daemon = True
        self._processes.append((process, follower))
        follower.start()

    def _give(self) -> None:
        """Write the next jobs to the pipe, one per free process; _lock is held."""
        while self._pipe is not None and self._queue and len(self._running) < self._now:
            name = self._queue.pop(0)
            with contextlib.suppress(OSError):  # the process has ended; its follower notices
                os.write(self._pipe, name.encode().ljust(RECORD))
            self._running.add(name)
        if self._pipe is not None and not self._queue:
            os.close(self._pipe)
            self._pipe = None

    def _give_up(self) -> None:
        """Let waiting runs compile their own kernels, and show any error; _lock is held."""
        self._queue.clear()
        self._running.clear()
        self._give()
        self._missing.clear()

    def _follow(self, process: subprocess.Popen[str]) -> None:
        """Read the names of a process's finished jobs, and give it jobs until it ends."""
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                name = line.rstrip("\n")
                with self._lock:
                    if name in self._running:
                        self._running.discard(name)
                        self._missing.discard(name)
                        self._now = self._most
                        self._give()
        process.wait()
        with self._lock:
            if all(other.poll() is not None for other, _ in self._processes):
                self._give_up()

    def request(self, names: Iterable[str]) -> bool:
        """Let other processes compile these jobs next; return whether all are done."""
        with self._lock:
            # Another server may have compiled them into the same cache.
            self._missing -= {
                name for name in self._missing.intersection(names) if kernels.compiled.is_noted(name)
            }
            missing = [name for name in names if name in self._missing]
            if new := [name for name in missing if name not in self._wanted]:
                self._wanted += new
                self._queue.sort(key=[*self._wanted, *self._queue].index)
            return not missing

    def finish(self) -> bool:
        """Wait until the other processes have ended; return False if they were stopped."""
        for _, follower in self._processes:
            follower.join()
        return not self._stopped

    def jobs_done(self, names: Iterable[str]) -> tuple[int, int] | None:
        """Return how many jobs that runs wait for are done, and of how many; None: ``names`` are done."""
        if all(kernels.compiled.is_noted(name) for name in names):
            return None
        with self._lock:
            return sum(name not in self._missing for name in self._wanted), len(self._wanted)

    def stop(self) -> None:
        """End the processes when the server shuts down."""
        with self._lock:
            self._stopped = True
            for process, follower in self._processes:
                with contextlib.suppress(OSError):
                    if not FORKS:
                        process.terminate()
                    elif follower.is_alive():  # its process group id is still valid
                        os.killpg(process.pid, signal.SIGTERM)


COMPILING = Compiling()
"""The shared instance of this process."""


def main() -> None:
    """Compile the jobs read from standard input, and write the name of each finished job.

    The command-line argument is the number of processes that compile jobs after the first job.
    """
    if hasattr(os, "nice"):
        os.nice(LOW_PRIORITY)
    if not _compile_next():
        return
    for _ in range(int(sys.argv[1]) - 1 if FORKS else 0):
        if os.fork() == 0:
            break
    while _compile_next():
        pass


def _compile_next() -> bool:
    """Compile the next job; return False if there is none."""
    if name := os.read(0, RECORD).decode().rstrip():
        for _ in compile_jobs([name]):
            pass
        os.write(1, f"{name}\n".encode())  # one write, because other processes write to the same pipe
    return bool(name)
