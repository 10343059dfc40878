"""Snapshots: immutable records of all that a run shows, published by storing one reference."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from rbmviz.knobs import Value
from rbmviz.metrics.effort import Unit

Status = Literal["starting", "rebuilding", "paused", "running", "finished", "failed"]


@dataclass(frozen=True, eq=False)
class NewestSamples:
    """The newest consecutive samples of a chain, for display.

    first : number (from 0) of the oldest sample held
    v : uint8 (m, ceil(n_visible / 8)), bits packed along the row (numpy.packbits)
    means : tuple of uint8 (., n_visible); mean of v given h for each sample, in 255ths, split into parts; the
        first part may start before ``first``
    """

    first: int
    v: np.ndarray
    means: tuple[np.ndarray, ...]
    n_visible: int

    @property
    def p(self) -> np.ndarray:
        """The means as one array, uint8 (m, n_visible); empty if they are not held."""
        if not self.means:
            return np.zeros((0, self.n_visible), np.uint8)
        joined = np.concatenate(self.means)
        return joined[max(len(joined) - len(self.v), 0) :]


class Spent(NamedTuple):
    """The cost of a run so far, in each unit of comparison.

    samples : number of samples; sweeps : Gibbs or maximisation sweeps; seconds : time spent in the sampler
    """

    samples: int
    sweeps: int
    seconds: float

    def plus(self, other: "Spent") -> "Spent":
        """Return the sum of both costs."""
        return Spent(self.samples + other.samples, self.sweeps + other.sweeps, self.seconds + other.seconds)

    def since(self, begin: "Spent") -> "Spent":
        """Return the cost since ``begin``."""
        return Spent(self.samples - begin.samples, self.sweeps - begin.sweeps, self.seconds - begin.seconds)


NOTHING_SPENT = Spent(0, 0, 0.0)

FEWEST_SCORED = 50
"""Minimum number of samples after a turn for a score: a score of fewer says little, and while a slider is
dragged, each turn would cost the time of a score."""


@dataclass(frozen=True, eq=False)
class Point:
    """One point of an ISL curve.

    spent : cost of the samples since the last turn of a knob; only these samples are scored
    isl, std_error : ISL in nats per test point, and its standard error over the test points
    beta : kernel parameter
    groups : float64 (n_groups,); mean log density of each group of test points. All runs on a data set have
        the same groups, so that two runs can be compared group by group. Empty for samples before a turn of a
        knob.
    """

    spent: Spent
    isl: float
    std_error: float
    beta: float
    groups: np.ndarray

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.spent.samples


class Counts(NamedTuple):
    """Coverage by the first n samples since a knob was last turned; see ``Coverage``.

    switches : class changes within each chain, summed over the chains; None without classes
    visited : number of classes with more than 1 % of the samples, and number of classes; None without classes
    class_coverage : coverage of the data's classes by the samples, from 0 to 1; NaN without classes
    blank : share of samples (0 to 1) that are blank
    spurious : share of samples (0 to 1) that are blank, or farther from every training example than the 99th
        percentile of held-out data
    ink : mean share of the pixels that are on
    """

    n: int
    switches: int | None
    visited: tuple[int, int] | None
    class_coverage: float
    blank: float
    spurious: float
    ink: float


class Segment(NamedTuple):
    """The samples of a run from one turn of a knob to the next.

    begin : cost of the run before the first of these samples
    turned : the knobs turned then, with their new values; empty at the start of a run, and if all knobs were
        turned back
    before : the values of the same knobs before
    curve : ISL of the first n samples of the segment
    """

    begin: Spent
    turned: Mapping[str, Value]
    before: Mapping[str, Value]
    curve: tuple[Point, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Snapshot:
    """A run at one moment; each kind of run adds its own fields.

    status : "starting" (compiling, loading), "rebuilding" (recomputing the steps of a freed run), "paused",
        "running", "finished" (all work is done) or "failed"
    run : number of the run; every reset, new plan or restart adds one
    n : number of steps so far in this run: samples of a sampler, updates of a trainer
    seconds : time spent inside the algorithm, excluding scoring and waiting (for samplers, processor time)
    algorithm : the algorithm, with the knobs of the newest steps
    error : one sentence if status is "failed", else None
    rebuilt : share of the steps that have been recomputed, from 0 to 1, if status is "rebuilding"
    compared : the common point of a race, at which scores were taken (``equal_points.Compared``); None:
        the scores are the newest
    """

    status: Status
    run: int
    n: int
    seconds: float
    algorithm: Any
    error: str | None = None
    rebuilt: float = 0.0
    compared: Any = None

    @property
    def scored_from(self) -> int:
        """Number of steps before the first scored step; scores restart at each turn of a knob."""
        return 0

    @property
    def ended(self) -> bool:
        """Whether the run has made all its steps and keeps its last scores; other runs do not wait for it."""
        return False

    @property
    def too_few(self) -> bool:
        """Whether a knob was turned so recently that the run has no scores; other runs do not wait for it."""
        return False

    def passed(self, cost_unit: Unit) -> float | None:
        """Return the last point at which scores are known; None if the run does not count this unit."""
        return None

    def scores_at(self, cost_unit: Unit, point: float) -> Any:
        """Return the scores at a point; None if the run has not passed it, or had no scores yet."""
        return None

    def with_compared(self, compared: Any) -> Self:
        """Return the snapshot with its scores at the common point."""
        return replace(self, compared=compared)

    def without_arrays(self) -> Self:
        """Return the snapshot without its large arrays, for display while the run is freed."""
        return self
