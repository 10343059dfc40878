"""What a run shows of itself: immutable records, published whole by one reference store."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rbmviz.samplers import Sampler

Status = Literal["starting", "paused", "running", "finished", "failed"]


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


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run at one moment.

    Parameters
    ----------
    status : "starting" (compiling, loading), "paused", "running", "finished" (n_max reached), "failed"
    run : int
        Number of the run: every reset, new model or new start begins the next one.
    n, sweeps : int
        Samples and Gibbs (or maximisation) sweeps so far in this run.
    seconds : float
        Time spent inside the sampler, scoring and waiting not counted.
    sampler : Sampler
        The sampler, with its knobs, that made the newest samples.
    frames : Frames
    curve : tuple of Point
        ISL at log-spaced exact numbers of samples; empty where nothing is scored.
    newest : Point or None
        ISL at about this moment; refreshed at most a few times a second.
    drift : float or None
        Norm of theta_F, None for samplers without fast parameters.
    occupancy : int64 (bins, classes)
        Samples per class of the nearest training example, in consecutive stretches of the run.
    bin_width : int
        Samples in one stretch (the last one may be shorter).
    switches : int or None
    spurious : float or None
        Share of samples farther from every training example than held-out data are (99th percentile).
    error : str or None
        One sentence, where status is "failed".
    """

    status: Status
    run: int
    n: int
    sweeps: int
    seconds: float
    sampler: Sampler
    frames: Frames
    curve: tuple[Point, ...] = ()
    newest: Point | None = None
    drift: float | None = None
    occupancy: np.ndarray | None = None
    bin_width: int = 1
    switches: int | None = None
    spurious: float | None = None
    error: str | None = None
