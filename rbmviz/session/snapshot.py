"""What a run shows of itself: immutable records, published whole by one reference store."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np

Status = Literal["starting", "rebuilding", "paused", "running", "finished", "failed"]


@dataclass(frozen=True, eq=False)
class Frames:
    """The newest consecutive samples of a chain, for pictures.

    Parameters
    ----------
    first : int
        Number (from 0) of the oldest sample held.
    v : uint8 (m, ceil(n_visible / 8)), bits packed along the row (numpy.packbits)
    p : uint8 (m, n_visible), the mean of v given h in 255ths
    n_visible : int
    """

    first: int
    v: np.ndarray
    p: np.ndarray
    n_visible: int


class Point(NamedTuple):
    """One point of an ISL curve: samples, seconds spent in the sampler, nats a test point, kernel beta."""

    n: int
    seconds: float
    isl: float
    std_error: float
    beta: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Snapshot:
    """A run at one moment; each kind of run adds what it has to show.

    Parameters
    ----------
    status : str
        "starting" (compiling, loading), "rebuilding" (making the steps again that were there before a rest),
        "paused", "running", "finished" (n_max reached) or "failed".
    run : int
        Number of the run: every reset, new plan or new start begins the next one.
    n : int
        Steps so far in this run: samples of a sampler, updates of a trainer.
    seconds : float
        Time spent inside the algorithm, scoring and waiting not counted.
    algorithm : Sampler or Trainer
        The algorithm, with its knobs, that made the newest steps.
    error : str or None
        One sentence, where status is "failed".
    rebuilt : float
        How much of the run is there again, from 0 to 1, where status is "rebuilding".
    """

    status: Status
    run: int
    n: int
    seconds: float
    algorithm: Any
    error: str | None = None
    rebuilt: float = 0.0

    def at_rest(self) -> Self:
        """Return the snapshot without what is large, to be shown while the run itself is not there."""
        return self
