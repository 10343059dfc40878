"""What every kind of run has in common: its number, its time, the size of its chunks, its snapshots.

A kind of run says how it is prepared (``prepare``), how it advances (``advance``, ``record_steps``), what its
snapshot holds (``view``) and, if it has any, its background work.

``prepare``, ``advance``, ``record_steps``, ``set_knobs``, ``background_work`` and ``complete`` are called by
the thread that owns the run; see ``worker``. ``view`` may be called by any thread, but never while a chunk is
made, and also before ``prepare``. It bears a chunk that an error has broken off, to show that error. What it
changes, if anything, is guarded as a chunk is.
"""

import abc
import math
import time
from typing import Any, ClassVar, Protocol, TypeVar

from rbmviz.samplers.interleave import on_one_thread
from rbmviz.session.again import Log
from rbmviz.session.snapshot import Snapshot, Status

CHUNK_SECONDS = 0.03
"""Processor time of a chunk of steps: where a core is free, the longest delay of a command."""

CLOCK_SECONDS = time.get_clock_info("thread_time").resolution
"""Shortest processor time that can be told from none."""


class Run(abc.ABC):
    """One run from its first step on. A step is what the run counts: a sample, an update, a batch.

    Parameters
    ----------
    number : int
        Number of the run in its worker, from 1.
    plan : Plan
        What the run is made of: model, data, seed, start.
    algorithm : Sampler, Trainer or Coupling
        The algorithm with its first knobs.
    n : int
        Steps that were made before this run continues them (default 0).
    seconds : float
        Seconds spent on those steps (default 0).

    Attributes
    ----------
    log : Log
        The knobs of the run, by step.
    prepared : bool
        Whether ``prepare`` has been called and its result is valid; ``advance`` needs it.
    chunk : int
        Estimate of the steps that take CHUNK_SECONDS of processor time.
    step_seconds : float
        Estimate of the processor time of a step.
    watched : bool
        Whether snapshots are being requested; if not, what is only displayed need not be computed.
    """

    has_background_work: ClassVar[bool] = False
    """Whether ``background_work`` ever does anything; if not, no turn is requested for it.

    A run that has some always has a thread of its own: the beat does not drive it, and its delays do not
    count for the slowdown of the process (``beat``, ``slowdown``).
    """

    knobs_at_once: ClassVar[bool] = False
    """Whether new knobs are applied even while no step is due, because the snapshot depends on them."""

    catches_up: ClassVar[bool] = False
    """Whether a run that begins later than the others of a comparison first makes their steps, at full
    speed."""

    def __init__(self, number: int, plan: Any, algorithm: Any, n: int = 0, seconds: float = 0.0) -> None:
        self.number, self.plan, self.algorithm = number, plan, algorithm
        self.n, self.seconds = n, seconds
        self.log = Log(n, algorithm)
        self.chunk = 1
        self.step_seconds, self._chunk_begin = math.inf, 0.0
        self.prepared = False
        self.watched = True

    @abc.abstractmethod
    def prepare(self) -> None:
        """Make the state and what scores it; compile the kernels, which ``seconds`` leaves out."""

    def jobs(self) -> list[str]:
        """Return the names of ``warm.JOBS`` that compile the kernels of the run, as far as there are any."""
        return []

    def max_steps(self) -> int:
        """Return the most steps that the next chunk may have."""
        return self.chunk

    def timed_advance(self, n: int) -> Any:
        """Do n steps by ``advance`` on this thread alone, whose processor time then tells what they take."""
        self._chunk_begin = time.thread_time()
        with on_one_thread():
            return self.advance(n)

    @property
    def over(self) -> bool:
        """Whether it has made all of its steps, whatever is commanded."""
        return False

    @abc.abstractmethod
    def advance(self, n: int) -> Any:
        """Do n steps and return them for ``record_steps``, which alone changes ``n``.

        ``view`` is never called meanwhile, so that other threads see no half of it.
        Has to call ``size_chunk`` after its steps: without it each chunk stays one step long.
        """

    def size_chunk(self, steps: int, spent: float, seconds: float = CHUNK_SECONDS) -> None:
        """Fit ``chunk`` and ``step_seconds`` to the steps just made; each at most doubles.

        Processor time counts. By the clock, a chunk that has waited for a core looks slow: the next ones
        would be smaller, and a full server would make each step at the highest cost.

        steps : how many they were; spent : the seconds they took, by the clock; seconds : how long a chunk
            should take
        """
        used = time.thread_time() - self._chunk_begin
        self.chunk = min(max(int(steps * seconds / min(max(used, CLOCK_SECONDS), spent)), 1), 2 * self.chunk)
        # What is added is for clocks by which a chunk takes no time.
        self.step_seconds = min(used / max(steps, 1), 2 * self.step_seconds + 1e-6)

    @abc.abstractmethod
    def record_steps(self, made: Any) -> None:
        """Count and store the steps that ``advance`` has returned."""

    def set_knobs(self, algorithm: Any) -> None:
        """Use this algorithm from the next step on; set ``prepared`` to False if that needs another state."""
        self.algorithm = algorithm
        self.log.note(self.n, algorithm)

    def background_work(self, paused: bool) -> bool:
        """Do one slice (at most CHUNK_SECONDS) of work besides steps; return False if there is none."""
        return False

    def complete(self) -> None:  # noqa: B027
        """Compute what has been deferred, because the run stops here and its snapshot stays."""

    @abc.abstractmethod
    def view(self, status: Status) -> Snapshot:
        """Return the snapshot; any thread may call it between two chunks, and before ``prepare``."""

    def common(self, status: Status) -> dict[str, Any]:
        """Return the fields that every snapshot has, by name."""
        return {
            "status": status,
            "run": self.number,
            "n": self.n,
            "seconds": self.seconds,
            "algorithm": self.algorithm,
        }


R_co = TypeVar("R_co", bound=Run, covariant=True)


class Plan(Protocol[R_co]):
    """What a run is made of besides its algorithm: nothing here changes while the run goes on."""

    def run(self, number: int, algorithm: Any) -> R_co:
        """Return the ``number``-th run of a worker."""

    def bytes(self, algorithm: Any) -> int:
        """Return an upper bound of the bytes of a run, without the model and the data; allocates nothing."""
