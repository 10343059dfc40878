"""The base class of runs: number, time, size of chunks, snapshots.

A kind of run defines its preparation (``prepare``), its steps (``advance``, ``record_steps``), the contents
of its snapshot (``view``) and its background work, if any.

Only one thread at a time calls ``prepare``, ``advance``, ``record_steps``, ``set_knobs``,
``background_work`` and ``complete``; see ``panel``. Any thread may call ``view``, even before ``prepare``,
but not during a chunk. ``view`` must work even after an error has interrupted a chunk, to show the error. Any
change that ``view`` makes is guarded by the lock that guards chunks.
"""

import abc
import math
import time
from collections.abc import Callable
from typing import Any, ClassVar

from rbmviz.errors import BadInput
from rbmviz.samplers.interleave import on_one_thread
from rbmviz.session.again import Log
from rbmviz.session.limits import limits, variable_of
from rbmviz.session.pools import LONG_SECONDS
from rbmviz.session.snapshot import Snapshot, Status
from rbmviz.support.stopping import Stopped, stopping

CHUNK_SECONDS = 0.03
"""Processor seconds of a chunk of steps; on a free core, a command waits at most this long."""

OPERATIONS_PER_SECOND = 2e10
"""Multiplications and additions of sweeps per second of one core, for the estimate of a step's work."""

CLOCK_SECONDS = time.get_clock_info("thread_time").resolution
"""Smallest measurable processor time."""


def seconds_of_step(algorithm: Any, chains: int, n_visible: int, n_hidden: int) -> float:
    """Estimate the seconds of a step: chains x sweeps x units; any sampler or trainer may have sweeps."""
    sweeps = getattr(algorithm, "k", 1) * getattr(algorithm, "n_temperatures", 1)
    return chains * sweeps * 4 * n_visible * n_hidden / OPERATIONS_PER_SECOND


def check_step(plan: Any, algorithm: Any) -> None:
    """Raise BadInput if a step of such a run is too large for a page, whose server others use as well."""
    seconds, most = plan.seconds_of_step(algorithm), limits().step_seconds
    if seconds > most:
        raise BadInput(
            f"Too large for a shared page: one step would take about {seconds:,.0f} s, and at most {most} s "
            "are allowed. Take fewer chains, sweeps or hidden units, use the command line, or start "
            f"the server with a larger {variable_of('step_seconds')}."
        )


class Run(abc.ABC):
    """One run from its first step on. A step is a sample, an update or a batch.

    number : number of the run of its panel, from 1
    algorithm : sampler, trainer or coupling, with its initial knobs
    n, seconds : if this run continues another, the steps already made, and the seconds spent on them
    log : the knobs of the run, by step
    prepared : whether ``prepare`` has been called and its result is valid, as ``advance`` requires
    chunk : estimated number of steps in CHUNK_SECONDS of processor time
    step_seconds : estimated processor time of a step
    watched : whether snapshots are being requested; if not, values used only for display can be skipped
    is_left : returns whether nobody waits for the run any more, so that a long step stops after a sweep
    """

    knobs_at_once: ClassVar[bool] = False
    """Whether to apply new knobs even if no step is due, because the snapshot depends on them."""

    catches_up: ClassVar[bool] = False
    """Whether a run that starts later than others in its race first makes up their steps at full
    speed."""

    def __init__(self, number: int, plan: Any, algorithm: Any, n: int = 0, seconds: float = 0.0) -> None:
        self.number, self.plan, self.algorithm = number, plan, algorithm
        self.n, self.seconds = n, seconds
        self.log = Log(n, algorithm)
        self.chunk = 1
        self.step_seconds, self._chunk_begin = math.inf, 0.0
        self.prepared = False
        self.watched = True
        self.is_left: Callable[[], bool] = lambda: False

    @property
    def is_long(self) -> bool:
        """Whether the next step takes long, by the last one or, before the first, by the estimate."""
        return self.expected_seconds > LONG_SECONDS

    @property
    def expected_seconds(self) -> float:
        """Processor seconds of the next step: as measured or, before the first, as estimated."""
        seconds = self.step_seconds
        return seconds if math.isfinite(seconds) else self.plan.seconds_of_step(self.algorithm)

    @abc.abstractmethod
    def prepare(self) -> None:
        """Make the state and its scores, and compile the kernels; ``seconds`` excludes this time."""

    def jobs(self) -> list[str]:
        """Return the names of the ``warm.JOBS`` that compile the kernels of the run, if any."""
        return []

    def max_steps(self) -> int:
        """Return the maximum number of steps in the next chunk."""
        return self.chunk

    def timed_advance(self, n: int) -> Any:
        """Make n steps by ``advance`` on this thread alone, whose processor time then measures them.

        Raises Stopped if this is a long step that nobody waits for; the run is as before.
        """
        state = self.copied_state() if self.is_long else None
        self._chunk_begin = time.thread_time()
        try:
            with on_one_thread(), stopping(None if state is None else self.is_left):
                return self.advance(n)
        except Stopped:
            self.put_back(state)
            raise

    def copied_state(self) -> Any:
        """Return a copy of everything that ``advance`` changes, for ``put_back``; None: it never stops."""
        return None

    def put_back(self, state: Any) -> None:
        """Undo an incomplete ``advance``, given the ``copied_state`` from before it."""
        raise NotImplementedError

    def advance_to(self, n: int) -> None:
        """Make and record steps up to the n-th, or up to the end of the run."""
        while self.n < n and not self.over:
            self.record_steps(self.timed_advance(min(self.max_steps(), n - self.n)))

    @property
    def over(self) -> bool:
        """Whether the run has made all its steps, so that no command makes it continue."""
        return False

    @abc.abstractmethod
    def advance(self, n: int) -> Any:
        """Make n steps, and return them for ``record_steps``, the only method that changes ``n``.

        ``view`` is never called during ``advance``, so that other threads do not see a partial chunk.
        ``advance`` must call ``size_chunk`` after its steps; otherwise chunks stay one step long.
        """

    def size_chunk(self, steps: int, spent: float, seconds: float = CHUNK_SECONDS) -> None:
        """Adjust ``chunk`` and ``step_seconds`` to the steps just made; each at most doubles.

        This uses processor time. By wall-clock time, a chunk that waited for a core would look slow, the next
        chunks would be smaller, and an overloaded server would make each step at the highest cost.

        steps : number of steps; spent : wall-clock seconds that they took; seconds : target length of a chunk
        """
        used = time.thread_time() - self._chunk_begin
        self.chunk = min(max(int(steps * seconds / min(max(used, CLOCK_SECONDS), spent)), 1), 2 * self.chunk)
        # The addend is for clocks too coarse to measure a chunk.
        self.step_seconds = min(used / max(steps, 1), 2 * self.step_seconds + 1e-6)

    def record_steps(self, steps: Any) -> None:
        """Count and store the steps that ``advance`` has returned; by default, it returns their number."""
        self.n += steps

    def set_knobs(self, algorithm: Any) -> None:
        """Use this algorithm from the next step on; set ``prepared`` to False if it needs a new state."""
        if self.plan.seconds_of_step(algorithm) > self.plan.seconds_of_step(self.algorithm):
            self.chunk, self.step_seconds = 1, math.inf  # the next step may be a long one
        self.algorithm = algorithm
        self.log.note(self.n, algorithm)

    @property
    def has_background_work(self) -> bool:
        """Whether ``background_work`` may do anything; if not, it is not called."""
        return False

    def background_work(self, paused: bool) -> bool:
        """Do one slice (at most CHUNK_SECONDS) of background work; return False if there is none."""
        return False

    def complete(self) -> None:  # noqa: B027
        """Compute deferred values, because the run stops here and its snapshot remains visible."""

    def kept_state(self) -> Any:
        """Return data to keep while the run is freed, because recomputing them is slow: a few hundred kB."""
        return None

    def restore(self, kept: Any) -> None:
        """Restore the data from ``kept_state``; called before ``prepare``."""
        raise NotImplementedError

    @abc.abstractmethod
    def view(self, status: Status) -> Snapshot:
        """Return the snapshot; any thread may call this between two chunks, and before ``prepare``."""

    def common(self, status: Status) -> dict[str, Any]:
        """Return the fields common to all snapshots, by name."""
        return {
            "status": status,
            "run": self.number,
            "n": self.n,
            "seconds": self.seconds,
            "algorithm": self.algorithm,
        }
