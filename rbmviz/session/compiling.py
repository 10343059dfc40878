"""Compile the kernels of the first panels on a new machine, in parallel processes.

Compilation blocks the interpreter, and a process compiles one kernel at a time. The server therefore starts
one process per core to fill the kernel cache (``Compiling.start``), and loads compiled kernels from there.
Meanwhile its pages respond, and a panel starts as soon as its own kernels are ready.

All processes read the names of their jobs from one pipe. The server writes the next name when a job is done,
so that kernels that a panel is waiting for come before all others.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterable

from rbmviz import kernels
from rbmviz.files.budget import machine_memory
from rbmviz.session.pools import LOW_PRIORITY
from rbmviz.session.warm import JOBS, compile_jobs

RECORD = 64
"""Fixed length in bytes of a job name in the pipe, so that a process always reads a whole name."""

MEMORY = 10**9
"""Bytes of memory required per compiling process, which actually uses a third of that."""


class Compiling:
    """The processes that compile for this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[tuple[subprocess.Popen[str], threading.Thread]] = []
        self._most = 1  # maximum of parallel jobs
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
            missing = [name for name in JOBS if not kernels.compiled.is_noted(name)]
            if not missing or self._processes or self._stopped or not kernels.compiled.cache_base():
                return
            self._most = max(int(min(os.cpu_count() or 1, machine_memory() / MEMORY)), 1)
            self._queue, self._missing = missing, {*missing}
            jobs, self._pipe = os.pipe()
            for _ in range(self._most):
                self._begin(jobs)
            os.close(jobs)
            self._give()
            if not self._processes:
                self._give_up()

    def _begin(self, jobs: int) -> None:
        """Start a process that reads its jobs from a pipe."""
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
                stdin=jobs,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                # Threads of BLAS would only take the cores from the other processes.
                env=os.environ
                | {"RBMVIZ_CACHE_DIR": str(kernels.compiled.cache_base()), "OPENBLAS_NUM_THREADS": "1"},
            )
        except OSError:  # no memory, or no interpreter found: each run compiles its kernels
            return
        follower = threading.Thread(target=self._follow, args=(process,), name="rbmviz-compiling")
        follower.daemon = True
        self._processes.append((process, follower))
        follower.start()

    def _give(self) -> None:
        """Write the next jobs to the pipe, one per free process; _lock is held."""
        while self._pipe is not None and self._queue and len(self._running) < self._most:
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
            for process, _ in self._processes:
                process.terminate()


COMPILING = Compiling()
"""The shared instance of this process."""


def main() -> None:
    """Compile the jobs read from standard input, and write the name of each finished job."""
    if hasattr(os, "nice"):
        os.nice(LOW_PRIORITY)
    while name := os.read(0, RECORD).decode().rstrip():
        for _ in compile_jobs([name]):
            pass
        os.write(1, f"{name}\n".encode())
