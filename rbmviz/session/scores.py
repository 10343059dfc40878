"""What the samples of one run are judged by, kept up to date as they come."""

import functools
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics import ISL, Coverage, Diagnostics, Kernel, chain_diagnostics
from rbmviz.metrics.diagnostics import LEAST_DRAWS, chains_apart
from rbmviz.metrics.isl import CURVE_COUNTS
from rbmviz.samplers import Samples
from rbmviz.session.snapshot import Point

COMPARED_EXAMPLES = 5000
"""Training examples that live samples are compared with; all of them would cost more than sampling."""

OCCUPANCY_BINS = 120
"""Most stretches in the history of class occupancy; when they are full, neighbours are merged."""

SCORE_SECONDS = 0.5
"""Seconds between two values of the newest ISL while the curve waits for its next count."""


COMPARED_ROUNDS, COMPARED_DRAWS = 1000, 100_000
"""Most newest rounds that chains are compared over, and most draws of them all together."""

COMPARISON_SECONDS = 3.0
"""Seconds between two comparisons of the chains, each of which takes up to 0.2."""


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="rbmviz-agreement")


class Agreement:
    """Whether the chains of a run agree: R-hat and ESS of their newest rounds, by the number of active units.

    Computed on a thread beside the run, and out of date by a few seconds.
    """

    def __init__(self, n_chains: int) -> None:
        self.n_chains = n_chains
        self.rounds = min(COMPARED_ROUNDS, COMPARED_DRAWS // n_chains)
        self._n, self._looked = 0, 0.0
        self._ring = np.zeros(self.rounds * n_chains)
        self._asked: Future[Diagnostics] | None = None
        self._newest: Diagnostics | None = None

    def update(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (n, n_visible), of the chains in turns."""
        newest = v[-len(self._ring) :].sum(axis=1)
        self._n += len(v)
        self._ring[np.arange(self._n - len(newest), self._n) % len(self._ring)] = newest
        now, rounds = time.monotonic(), self._n // self.n_chains
        if (
            rounds < LEAST_DRAWS
            or now - self._looked < COMPARISON_SECONDS
            or (self._asked and not self._asked.done())
        ):
            return
        # The oldest round in the ring has lost what an unfinished one at the end has written over.
        first = max(rounds - self.rounds + 1, 0) * self.n_chains
        values = self._ring[np.arange(first, rounds * self.n_chains) % len(self._ring)]
        self._newest, self._looked = self.newest, now
        self._asked = _pool().submit(chain_diagnostics, chains_apart(values, self.n_chains))

    @property
    def newest(self) -> Diagnostics | None:
        """The newest comparison; None before there is one."""
        return self._asked.result() if self._asked and self._asked.done() else self._newest


class Scores:
    """ISL curve, class occupancy and spurious share of one run; owned by the run's thread.

    Parameters
    ----------
    dataset : Dataset
        ISL is against its test part (bandwidth from its validation part), classes and the spurious
        threshold from at most ``COMPARED_EXAMPLES`` of its training examples.
    kernel : "binary" or "mean"
        Kernel of ISL.
    n_chains : int
        Chains that take turns: class switches are counted within each.
    """

    def __init__(self, dataset: Dataset, kernel: Kernel, n_chains: int = 1) -> None:
        self._isl = ISL(dataset.test, dataset.validation, kernel=kernel, counts=())
        self._coverage = Coverage(dataset, COMPARED_EXAMPLES, n_chains)
        self._agreement = Agreement(n_chains) if n_chains > 1 else None
        self._of_means = kernel == "mean"
        self._looked = 0.0
        self._bins = np.zeros((OCCUPANCY_BINS, len(self._coverage.occupancy)), np.int64)
        self.bin_width = 1
        self.curve: tuple[Point, ...] = ()
        self.newest: Point | None = None

    @staticmethod
    def bytes(dataset: Dataset, kernel: Kernel, n_chains: int) -> int:
        """Return the bytes that the scores of a run take at most."""
        points, width = len(dataset.test) + len(dataset.validation), dataset.n_visible
        packed = -(-width // 64) * 8
        # Histograms have columns up to the largest distance, hardly ever more than half of the width. Of the
        # means: the rows, and for each beta of the grid a sum.
        isl = points * (packed + 2 * width + 512 if kernel == "binary" else 4 * width + 8 * 32)
        coverage = min(len(dataset.train), COMPARED_EXAMPLES) * (packed + 8)
        return isl + coverage + 8 * min(COMPARED_ROUNDS * n_chains, COMPARED_DRAWS) * (n_chains > 1)

    @property
    def until_next_point(self) -> int:
        """Samples to the next count of the curve; a chunk that ends there has its exact time, too."""
        later = CURVE_COUNTS[np.searchsorted(CURVE_COUNTS, self._isl.n, side="right") :]
        return int(later[0]) - self._isl.n if len(later) else 2**62

    def update(self, samples: Samples, seconds: float) -> None:
        """Take the next samples, and the seconds that the sampler has used so far."""
        self._isl.update(samples.p if self._of_means else samples.v)
        self._spread(self._coverage.update(samples.v))
        if self._agreement is not None:
            self._agreement.update(samples.v)
        at_count = self._isl.n in CURVE_COUNTS
        if at_count or time.monotonic() - self._looked > SCORE_SECONDS:
            self._looked = time.monotonic()
            score = self._isl.value()
            self.newest = Point(score.n, seconds, score.isl, score.std_error, score.beta)
            if at_count:
                self.curve += (self.newest,)

    def _spread(self, classes: np.ndarray) -> None:
        if not self._bins.shape[1]:
            return
        n = self._isl.n
        while n > OCCUPANCY_BINS * self.bin_width:
            pairs = self._bins[0::2] + self._bins[1::2]
            self._bins = np.concatenate([pairs, np.zeros_like(pairs)])
            self.bin_width *= 2
        np.add.at(self._bins, (np.arange(n - len(classes), n) // self.bin_width, classes), 1)

    @property
    def occupancy(self) -> np.ndarray:
        """Samples per class in each stretch of ``bin_width`` samples, int64 (stretches so far, classes)."""
        return self._bins[: -(-self._isl.n // self.bin_width)].copy()

    @property
    def agreement(self) -> Diagnostics | None:
        """R-hat and ESS of the newest rounds of several chains."""
        return None if self._agreement is None else self._agreement.newest

    @property
    def switches(self) -> int | None:
        """Class changes between consecutive samples of a chain; None where the data have no classes."""
        return self._coverage.switches if len(self._coverage.occupancy) else None

    @property
    def spurious(self) -> float:
        """Share of samples farther from every example than 99 % of the held-out data are."""
        return self._coverage.spurious
