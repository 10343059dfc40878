"""The scores of one run, updated with each chunk of samples: ISL, classes, agreement of chains."""

import functools
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics import ISL, Coverage, Diagnostics, Kernel, chain_diagnostics
from rbmviz.metrics.diagnostics import MIN_DRAWS, chains_apart
from rbmviz.metrics.isl import CURVE_COUNTS
from rbmviz.samplers import Samples
from rbmviz.session.snapshot import Point

COMPARED_EXAMPLES = 5000
"""Live samples are compared with this many training examples; all would cost more than sampling."""

OCCUPANCY_BINS = 120
"""Maximum number of bins of the class history; when all are full, neighbours are merged in pairs."""

SCORE_SECONDS = 0.5
"""Minimum seconds between two values of the newest ISL that are no points of the curve, and maximum seconds
between two comparisons of samples with training examples."""

SCORE_SHARE = 1 / 400
"""Share of the time that values of the newest ISL may take: with 20,000 test and validation points, one takes
some 15 ms, in each of four panels."""

MAX_SCORE_SECONDS = 10.0
"""Maximum seconds between two values of the newest ISL while the run is watched."""

COMPARED_AT_ONCE = 64
"""Samples that are compared with the training examples at once: one sample alone takes as long as 64."""

COMPARED_ROUNDS, COMPARED_DRAWS = 1000, 100_000
"""Chains are compared over their newest rounds: at most so many rounds, and so many draws of all chains."""

COMPARISON_SECONDS = 3.0
"""Seconds between two comparisons of the chains; one takes up to 0.2 seconds."""


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="rbmviz-agreement")


_EMPTY_ISL: weakref.WeakKeyDictionary[Dataset, dict[Kernel, ISL]] = weakref.WeakKeyDictionary()
_EMPTY_ISL_LOCK = threading.Lock()


def _empty_isl(dataset: Dataset, kernel: Kernel) -> ISL:
    """Return an ISL without samples, whose packed data points all runs on the data set share."""
    with _EMPTY_ISL_LOCK:
        known = _EMPTY_ISL.setdefault(dataset, {})
        if kernel not in known:
            known[kernel] = ISL(dataset.test, dataset.validation, kernel=kernel, counts=())
        return known[kernel]


class Agreement:
    """Whether the chains of a run agree: R-hat and ESS of their newest rounds, by the number of active units.

    Computed on a thread beside the run, and out of date by a few seconds.
    """

    def __init__(self, n_chains: int) -> None:
        self.n_chains = n_chains
        self.rounds = min(COMPARED_ROUNDS, COMPARED_DRAWS // n_chains)
        self._n, self._compared_at = 0, 0.0
        self._ring = np.zeros(self.rounds * n_chains)
        self._asked: Future[Diagnostics] | None = None
        self._newest: Diagnostics | None = None

    def update(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (n, n_visible), interleaved over the chains."""
        newest = v[-len(self._ring) :].sum(axis=1)
        self._n += len(v)
        self._ring[np.arange(self._n - len(newest), self._n) % len(self._ring)] = newest
        now, rounds = time.monotonic(), self._n // self.n_chains
        if (
            rounds < MIN_DRAWS
            or now - self._compared_at < COMPARISON_SECONDS
            or (self._asked and not self._asked.done())
        ):
            return
        # Leave out the oldest round: an unfinished newest round has overwritten a part of it.
        first = max(rounds - self.rounds + 1, 0) * self.n_chains
        values = self._ring[np.arange(first, rounds * self.n_chains) % len(self._ring)]
        self._newest, self._compared_at = self.newest, now
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
        self._isl = _empty_isl(dataset, kernel).without_samples()
        self._coverage = Coverage(dataset, COMPARED_EXAMPLES, n_chains)
        self._agreement = Agreement(n_chains) if n_chains > 1 else None
        self._of_means = kernel == "mean"
        self._valued_at = self._value_seconds = (
            0.0  # when the newest value was computed, and how long it took
        )
        self._not_covered: list[np.ndarray] = []  # samples that coverage has yet to take
        self._n_covered, self._covered_at = 0, 0.0
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
        """Samples until the next point of the curve; if a chunk ends there, its time is exact."""
        later = CURVE_COUNTS[np.searchsorted(CURVE_COUNTS, self._isl.n, side="right") :]
        return int(later[0]) - self._isl.n if len(later) else 2**62

    def update(self, samples: Samples) -> None:
        """Take the next samples."""
        self._isl.update(samples.p if self._of_means else samples.v)
        if self._agreement is not None:
            self._agreement.update(samples.v)
        self._not_covered.append(samples.v)
        now = time.monotonic()
        if self._isl.n - self._n_covered >= COMPARED_AT_ONCE or now - self._covered_at > SCORE_SECONDS:
            self._update_coverage()

    def evaluate(self, seconds: float, watched: bool) -> None:
        """Compute the ISL if the curve has a point here, or if the run is watched and the last value is old.

        seconds: time that the sampler has used so far.
        """
        now = time.monotonic()
        at_count = self._isl.n in CURVE_COUNTS
        interval = min(max(SCORE_SECONDS, self._value_seconds / SCORE_SHARE), MAX_SCORE_SECONDS)
        if at_count or (watched and now - self._valued_at > interval):
            self._add_value(seconds)
            if at_count:
                assert self.newest is not None
                self.curve += (self.newest,)

    def complete(self, seconds: float) -> None:
        """Score the samples that have not been scored, because the run stops here."""
        self._update_coverage()
        stale = self.newest is not None and self.newest.n < self._isl.n
        if stale and time.monotonic() - self._valued_at > SCORE_SECONDS:
            self._add_value(seconds)

    def _add_value(self, seconds: float) -> None:
        begin = time.perf_counter()
        score = self._isl.value()
        self._value_seconds, self._valued_at = time.perf_counter() - begin, time.monotonic()
        self.newest = Point(score.n, seconds, score.isl, score.std_error, score.beta)

    def _update_coverage(self) -> None:
        """Compare the samples since the last time with the training examples."""
        if self._not_covered:
            self._add_to_bins(self._coverage.update(np.concatenate(self._not_covered)))
            self._n_covered, self._covered_at = self._isl.n, time.monotonic()
            self._not_covered.clear()

    def _add_to_bins(self, classes: np.ndarray) -> None:
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
        """Samples per class in each bin of ``bin_width`` samples, int64 (bins so far, classes)."""
        return self._bins[: -(-self._n_covered // self.bin_width)].copy()

    @property
    def agreement(self) -> Diagnostics | None:
        """R-hat and ESS of the newest rounds of several chains; None for one chain, or before the first."""
        return None if self._agreement is None else self._agreement.newest

    @property
    def switches(self) -> int | None:
        """Class changes between consecutive samples of a chain; None if the data have no classes."""
        return self._coverage.switches if len(self._coverage.occupancy) else None

    @property
    def visited(self) -> tuple[int, int] | None:
        """Classes visited, and classes in all; None if the data have no classes."""
        classes = len(self._coverage.occupancy)
        return (self._coverage.visited, classes) if classes else None

    @property
    def class_coverage(self) -> float:
        """How much of the data's classes the samples cover, from 0 to 1; NaN if the data have none."""
        return self._coverage.class_coverage

    @property
    def blank(self) -> float:
        """Share (0 to 1) of blank samples; see ``Coverage``."""
        return self._coverage.blank

    @property
    def spurious(self) -> float:
        """Share (0 to 1) of samples that are far from every example, or blank; see ``Coverage``."""
        return self._coverage.spurious
