"""Compiling on a new machine: what the first panels need comes first, side by side in processes of their own.

Compiling holds the interpreter, and one process compiles one kernel at a time. A server therefore lets other
processes fill the cache of kernels (``Compiling.start``), as many as there are cores, and loads the kernels
from there: its pages answer meanwhile, and a panel begins as soon as its own kernels are ready.

On Linux one process compiles what the first panel needs, while the server draws its first page, and then
forks: what it has loaded and compiled by then, the others need as well.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence

from rbmviz import kernels
from rbmviz.samplers import Sampler, machine_memory
from rbmviz.session.warm import FIRST_JOBS, JOBS, compile_jobs, jobs_of

STARTING_SECONDS = 1.0
"""About how long a process takes until it compiles."""

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
        self._done: dict[str, threading.Event] = {}  # of the first jobs
        self._due: dict[str, float] = {}  # seconds after the start, as estimated
        self._began, self._stopped = 0.0, False
        self._slowness = 1.0  # of this machine, by the jobs that are done

    def start(self) -> None:
        """Begin to compile what is not in the cache, in other processes; return at once.

        There are as many processes as cores, or fewer if the memory is small.
        """
        n = max(int(min(os.cpu_count() or 1, machine_memory() / MEMORY)), 1)
        missing = [name for name in JOBS if not kernels.compiled.is_noted(name)]
        divided = [(missing, n)] if FORKS else [(share, 1) for share in divide(missing, n)]
        with self._lock:
            if self._processes or self._stopped or not missing or kernels.compiled.cache_base() is None:
                return
            self._began = time.monotonic()
            for names, processes in divided:
                self._begin(names, processes)

    def _begin(self, names: Sequence[str], n: int) -> None:
        """Start a process that compiles these jobs, as n processes once the first job is done."""
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(n), *names],
                stdin=subprocess.DEVNULL,
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
        first = [name for name in names if name in FIRST_JOBS]
        self._done |= {name: threading.Event() for name in first}
        forked = STARTING_SECONDS + JOBS[names[0]].seconds
        for share in [names[:1], *divide(names[1:], n)]:
            due = STARTING_SECONDS if share == names[:1] else forked
            for name in share:
                due += JOBS[name].seconds
                if name in FIRST_JOBS:
                    self._due[name] = due
        follower = threading.Thread(target=self._follow, args=(process, first), name="rbmviz-compiling")
        follower.daemon = True
        self._processes.append((process, follower))
        follower.start()

    def _follow(self, process: subprocess.Popen[str], names: Sequence[str]) -> None:
        """Note which first jobs a process has done, until it has ended."""
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                name = line.strip()
                if name in self._done:
                    self._slowness = max((time.monotonic() - self._began) / self._due[name], 0.5)
                    self._done[name].set()
        process.wait()
        for name in names:  # after an error, too: those who wait will compile, and show the error
            self._done[name].set()

    def wait(self, names: Iterable[str]) -> None:
        """Wait while other processes compile these jobs, as far as they are among the first."""
        for name in names:
            if name in self._done:
                self._done[name].wait()

    def finish(self) -> bool:
        """Wait until the other processes have ended; return False if they have been stopped."""
        for _, follower in self._processes:
            follower.join()
        return not self._stopped

    def seconds_left(self, names: Iterable[str]) -> float:
        """Return in about how many seconds these jobs are done; 0 if they are, in this process or another."""
        passed = time.monotonic() - self._began
        pending = [due for name, due in self._due.items() if not self._done[name].is_set()]
        slowness = max(self._slowness, passed / min(pending)) if pending else self._slowness
        left = [
            self._due[name] * slowness - passed if name in self._due else JOBS[name].seconds
            for name in names
            if not kernels.compiled.is_noted(name)
        ]
        return max(*left, 0.1) if left else 0.0

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


def divide(names: Sequence[str], n: int) -> list[list[str]]:
    """Divide jobs among at most n processes: each in turn goes to the one that is free first."""
    shares: list[list[str]] = [[] for _ in range(max(min(n, len(names)), 1))]
    for name in names:
        min(shares, key=lambda share: sum(JOBS[one].seconds for one in share)).append(name)
    return [share for share in shares if share]


def seconds_to_compile(samplers: Iterable[Sampler]) -> float:
    """Return in about how many seconds the kernels of these samplers are compiled; 0 if they are."""
    return COMPILING.seconds_left({job for one in samplers for job in jobs_of(one)})


def main() -> None:
    """Compile the jobs that the command line names, and print the name of each that is done.

    Before the names comes the number of processes that compile all but the first.
    """
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    n, first, *others = sys.argv[1:]
    _compile([first])
    mine, *shares = divide(others, int(n)) or [[]]
    for share in shares:
        if os.fork() == 0:
            mine = share
            break
    _compile(mine)


def _compile(names: Sequence[str]) -> None:
    for done in compile_jobs(names):
        sys.stdout.write(f"{done}\n")  # at once: other processes write to the same pipe
        sys.stdout.flush()
