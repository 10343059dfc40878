"""Snapshots: what a run shows, as immutable records that are published by storing one reference."""

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
    """One point of an ISL curve.

    n: samples; seconds: time spent in the sampler; isl, std_error: nats per test point; beta: of the kernel.
    """

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
        "starting" (compiling, loading), "rebuilding" (computing again the steps that a rest has freed),
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
        One sentence if status is "failed", else None.
    rebuilt : float
        Share of the steps that are computed again, from 0 to 1, if status is "rebuilding".
    """

    status: Status
    run: int
    n: int
    seconds: float
    algorithm: Any
    error: str | None = None
    rebuilt: float = 0.0

    def at_rest(self) -> Self:
        """Return the snapshot without its large arrays, to be shown while the run is freed."""
        return self
