"""What the samples of one run are judged by, kept up to date as they come."""

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
"""Training examples that live samples are compared with; all of them would cost more than sampling."""

OCCUPANCY_BINS = 120
"""Most stretches in the history of class occupancy; when they are full, neighbours are merged."""

SCORE_SECONDS = 0.5
"""At least so many seconds lie between two values of the newest ISL while the curve waits for its next count,
and between two comparisons of samples with training examples."""

SCORE_SHARE = 1 / 400
"""Share of the time that values of the newest ISL may take: with 20,000 test and validation points, one takes
some 15 ms, in each of four panels."""

MAX_SCORE_SECONDS = 10.0
"""Somebody who looks waits no longer than this for the next value, however long it takes."""

COMPARED_AT_ONCE = 64
"""Samples that are compared with the training examples at once: one alone takes as long as all of them."""

COMPARED_ROUNDS, COMPARED_DRAWS = 1000, 100_000
"""Most newest rounds that chains are compared over, and most draws of them all together."""

COMPARISON_SECONDS = 3.0
"""Seconds between two comparisons of the chains, each of which takes up to 0.2."""


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="rbmviz-agreement")


_UNUSED: weakref.WeakKeyDictionary[Dataset, dict[Kernel, ISL]] = weakref.WeakKeyDictionary()
_PACKING = threading.Lock()


def _unused_isl(dataset: Dataset, kernel: Kernel) -> ISL:
    """Return the ISL without samples that all runs on a data set share the points of."""
    with _PACKING:
        known = _UNUSED.setdefault(dataset, {})
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
            rounds < MIN_DRAWS
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
        self._isl = _unused_isl(dataset, kernel).without_samples()
        self._coverage = Coverage(dataset, COMPARED_EXAMPLES, n_chains)
        self._agreement = Agreement(n_chains) if n_chains > 1 else None
        self._of_means = kernel == "mean"
        self._valued = self._value_seconds = 0.0  # when the newest value was computed, and how long it took
        self._waiting: list[np.ndarray] = []  # samples that coverage has yet to take
        self._n_covered, self._covered = 0, 0.0
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

    def update(self, samples: Samples) -> None:
        """Take the next samples."""
        self._isl.update(samples.p if self._of_means else samples.v)
        if self._agreement is not None:
            self._agreement.update(samples.v)
        self._waiting.append(samples.v)
        now = time.monotonic()
        if self._isl.n - self._n_covered >= COMPARED_AT_ONCE or now - self._covered > SCORE_SECONDS:
            self._cover()

    def evaluate(self, seconds: float, watched: bool) -> None:
        """Compute the newest value where the curve has a point; between, now and then, where somebody looks.

        seconds: those that the sampler has used so far.
        """
        now = time.monotonic()
        at_count = self._isl.n in CURVE_COUNTS
        rest = min(max(SCORE_SECONDS, self._value_seconds / SCORE_SHARE), MAX_SCORE_SECONDS)
        if at_count or (watched and now - self._valued > rest):
            self._value(seconds)
            if at_count:
                assert self.newest is not None
                self.curve += (self.newest,)

    def complete(self, seconds: float) -> None:
        """Score what waits: the run stops here."""
        self._cover()
        stale = self.newest is not None and self.newest.n < self._isl.n
        if stale and time.monotonic() - self._valued > SCORE_SECONDS:
            self._value(seconds)

    def _value(self, seconds: float) -> None:
        begin = time.perf_counter()
        score = self._isl.value()
        self._value_seconds, self._valued = time.perf_counter() - begin, time.monotonic()
        self.newest = Point(score.n, seconds, score.isl, score.std_error, score.beta)

    def _cover(self) -> None:
        """Compare the samples that wait with the training examples."""
        if self._waiting:
            self._spread(self._coverage.update(np.concatenate(self._waiting)))
            self._n_covered, self._covered = self._isl.n, time.monotonic()
            self._waiting.clear()

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
        return self._bins[: -(-self._n_covered // self.bin_width)].copy()

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
