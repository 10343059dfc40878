"""What every kind of run has in common: its number, its clock, the size of its chunks, its snapshots.

A kind of run says how it is prepared, how it advances, and what there is to see of it (``view``), and what it
works at in the background, if anything. Only the thread that owns a run calls these; see ``worker``.
"""

import abc
from typing import Any, ClassVar, Protocol, TypeVar

from rbmviz.session.snapshot import Snapshot, Status

CHUNK_SECONDS = 0.03
"""A chunk of steps fills about this long: the delay of a command."""


class Run(abc.ABC):
    """One run from its first step on. A step is what the run counts: a sample, an update, a batch.

    Parameters
    ----------
    number : int
        The how many-th run of its worker.
    plan : Plan
        What the run is made of.
    algorithm : Sampler, Trainer or Coupling
        With the knobs that it begins with.
    n : int
        Steps made before, where it goes on from there (default 0).
    seconds : float
        Time spent on those (default 0).

    Attributes
    ----------
    prepared : bool
        Whether ``advance`` may be called.
    chunk : int
        Steps that fill about CHUNK_SECONDS, as far as is known.
    watched : bool
        Whether somebody looks at this moment: what is only for their eyes need not be computed else.
    """

    has_background_work: ClassVar[bool] = False
    """Whether ``background_work`` may ever do anything: where not, nobody waits for a turn for it."""

    knobs_at_once: ClassVar[bool] = False
    """Whether other knobs are taken while no step is due, too: there is something to show of them."""

    def __init__(self, number: int, plan: Any, algorithm: Any, n: int = 0, seconds: float = 0.0) -> None:
        self.number, self.plan, self.algorithm = number, plan, algorithm
        self.n, self.seconds = n, seconds
        self.chunk = 1
        self.prepared = False
        self.watched = True

    @abc.abstractmethod
    def prepare(self) -> None:
        """Make the state and what scores it; compile the kernels outside the run's own clock."""

    def max_steps(self) -> int:
        """Return the most steps that the next chunk may have."""
        return self.chunk

    @abc.abstractmethod
    def advance(self, n: int) -> Any:
        """Do n steps; nothing that another thread reads is touched."""

    def size_chunk(self, steps: int, spent: float, seconds: float = CHUNK_SECONDS) -> None:
        """Let the next chunk fill so many seconds, as these steps took ``spent``; at most twice the last."""
        self.chunk = min(max(int(steps * seconds / spent), 1), 2 * self.chunk)

    @abc.abstractmethod
    def record_steps(self, made: Any) -> None:
        """Count and record what ``advance`` has made."""

    def set_knobs(self, algorithm: Any) -> None:
        """Take other values of live knobs from the next step on; the run may have to be prepared again."""
        self.algorithm = algorithm

    def background_work(self, paused: bool) -> bool:
        """Do one slice (at most CHUNK_SECONDS) of work besides steps; return False where there is none."""
        return False

    def complete(self) -> None:  # noqa: B027
        """Compute what has been put off: the run stops here, and its snapshot stays."""

    @abc.abstractmethod
    def view(self, status: Status) -> Snapshot:
        """Return what there is to see."""

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
    """What a run is made of; the algorithm's knobs may change while it goes on, nothing here may."""

    def run(self, number: int, algorithm: Any) -> R_co:
        """Return the ``number``-th run of a worker."""

    def bytes(self, algorithm: Any) -> int:
        """Return the bytes that a run takes at most, beyond the model and the data, before any are taken."""
