"""What the samples of one run are judged by, kept up to date as they come."""

import time

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics import ISL, Coverage, Kernel
from rbmviz.metrics.isl import COUNTS
from rbmviz.samplers import Samples
from rbmviz.session.snapshot import Point

EXAMPLES = 5000
"""Training examples that live samples are compared with; all of them would cost more than sampling."""

BINS = 120
"""Most stretches in the history of class occupancy; when they are full, neighbours are merged."""

REFRESH = 0.5
"""Seconds between two values of the newest ISL while the curve waits for its next count."""


class Scores:
    """ISL curve, class occupancy and spurious share of one run; owned by the run's thread.

    Parameters
    ----------
    dataset : Dataset
        ISL is against its test part (bandwidth from its validation part), classes and the spurious
        threshold from at most ``EXAMPLES`` of its training examples.
    kernel : "binary" or "mean"
        Kernel of ISL.
    n_chains : int
        Chains that take turns: class switches are counted within each.
    """

    def __init__(self, dataset: Dataset, kernel: Kernel, n_chains: int = 1) -> None:
        self._isl = ISL(dataset.test, dataset.validation, kernel=kernel, counts=())
        self._coverage = Coverage(dataset, EXAMPLES, n_chains)
        self._of_means = kernel == "mean"
        self._looked = 0.0
        self._bins = np.zeros((BINS, len(self._coverage.occupancy)), np.int64)
        self.bin_width = 1
        self.curve: tuple[Point, ...] = ()
        self.newest: Point | None = None

    @property
    def until_next_point(self) -> int:
        """Samples to the next count of the curve; a chunk that ends there has its exact time, too."""
        later = COUNTS[np.searchsorted(COUNTS, self._isl.n, side="right") :]
        return int(later[0]) - self._isl.n if len(later) else 2**62

    def update(self, samples: Samples, seconds: float) -> None:
        """Take the next samples, and the seconds that the sampler has used so far."""
        self._isl.update(samples.p if self._of_means else samples.v)
        self._spread(self._coverage.update(samples.v))
        at_count = self._isl.n in COUNTS
        if at_count or time.monotonic() - self._looked > REFRESH:
            self._looked = time.monotonic()
            score = self._isl.value()
            self.newest = Point(score.n, seconds, score.isl, score.std_error, score.beta)
            if at_count:
                self.curve += (self.newest,)

    def _spread(self, classes: np.ndarray) -> None:
        if not self._bins.shape[1]:
            return
        n = self._isl.n
        while n > BINS * self.bin_width:
            pairs = self._bins[0::2] + self._bins[1::2]
            self._bins = np.concatenate([pairs, np.zeros_like(pairs)])
            self.bin_width *= 2
        np.add.at(self._bins, (np.arange(n - len(classes), n) // self.bin_width, classes), 1)

    @property
    def occupancy(self) -> np.ndarray:
        """Samples per class in each stretch of ``bin_width`` samples, int64 (stretches so far, classes)."""
        return self._bins[: -(-self._isl.n // self.bin_width)].copy()

    @property
    def switches(self) -> int | None:
        """Class changes between consecutive samples of a chain; None where the data have no classes."""
        return self._coverage.switches if len(self._coverage.occupancy) else None

    @property
    def spurious(self) -> float:
        """Share of samples farther from every example than 99 % of the held-out data are."""
        return self._coverage.spurious
