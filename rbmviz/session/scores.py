"""The scores of one run, updated with each chunk of samples: ISL, classes, live metrics.

Scores cover the samples since the last turn of a knob, or all samples if there was none. They are kept at
the numbers of samples in ``equal_points.POINTS``, 14 % apart, so that runs can be compared at any equal point
that they have passed. Only the class history and two counts cover the whole run.

Cells of sweeps use ``measures.SamplerEvidence`` instead. Both only feed the accumulators ``ISL`` and
``Coverage``, so that equal samples have equal scores. A run defers updates until they are cheap, restarts its
scores after a turn of a knob, and keeps a history; a cell computes its plan's measures at exact points.
"""

import bisect
import time
from dataclasses import replace

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics import Coverage, Kernel, live
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.isl import empty_isl
from rbmviz.samplers import Samples
from rbmviz.session.equal_points import POINTS
from rbmviz.session.snapshot import FEWEST_SCORED, Counts, Point, Spent

OCCUPANCY_BINS = 120
"""Maximum number of bins of the class history; when all are full, adjacent bins are merged in pairs."""

SCORE_SECONDS = 0.5
"""Minimum seconds between two interim ISL values, which are not points of the curve."""

SCORE_SHARE = 1 / 2000
"""Share of the time spent on interim ISL values, which only extend a curve until its next point. With 3,000
test and validation points, one value takes about 5 ms in each of four panels."""

MAX_SCORE_SECONDS = 10.0
"""Maximum seconds between two interim ISL values while the run is watched."""

COMPARED_AT_ONCE = 64
"""Number of samples compared with the training examples at a time; a single one takes as long as 64."""

COMPARED_SECONDS = 1.1
"""Maximum seconds between two of these comparisons, just enough to fill one at 60 samples per second."""

_COUNTS = [int(n) for n in POINTS["samples"]]
_COUNTS_AFTER_TURN = [n for n in _COUNTS if n >= FEWEST_SCORED]
_NO_GROUPS = np.zeros(0)


class Scores:
    """ISL curve, class occupancy and spurious share of one run; only the run's thread changes them.

    dataset : its test part gives the ISL, its validation part the kernel parameter, and at most
        ``COMPARED_EXAMPLES`` of its training examples the classes and the spurious threshold
    kernel : of the ISL; None: no ISL, which is NaN at all points, because the samples are not meant to have
        the distribution of the data
    n_chains : number of interleaved chains; class switches are counted within each chain
    curve : ISL at each of POINTS reached so far; after a turn of a knob, from FEWEST_SCORED samples on
    counts : coverage by the samples up to each point of the curve; may lag behind the curve by a moment
    newest : the newest ISL value
    covered : coverage by the samples since the last turn of a knob, without up to COMPARED_AT_ONCE of the
        newest samples
    occupancy : int64 (bins so far, classes); samples of the whole run per class in each bin, without blank
        samples
    blanks : int64 (bins so far,); blank samples in each bin; zero if there are no classes
    jumps : int64 (classes + 1, classes + 1); since the last turn of a knob, how often a chain went from one
        class to another or stayed, blank samples last
    """

    def __init__(self, dataset: Dataset, kernel: Kernel | None, n_chains: int = 1) -> None:
        self._isl = None if kernel is None else empty_isl(dataset, kernel)
        self._coverage = Coverage(dataset, COMPARED_EXAMPLES, n_chains)
        self._new_live = lambda: [metric(dataset, n_chains) for metric in live.live_metrics_of(n_chains)]
        self._live = self._new_live()
        self._of_means = kernel == "mean"
        self._valued_at = 0.0  # time at which the newest value was computed
        self._value_seconds = 0.0  # time taken to compute it
        self._counts, self._fewest = _COUNTS, 1
        self._n_before, self._n = 0, 0  # samples before the last turn of a knob, and since
        self._not_measured: list[np.ndarray] = []  # samples not yet passed to live metrics
        self._not_scored: list[np.ndarray] = []  # samples, or their means, not yet passed to the ISL
        self._not_covered: list[np.ndarray] = []  # samples not yet passed to coverage
        self._n_covered, self._covered_at = 0, 0.0
        # The last column counts blank samples, which belong to no class.
        states = len(self._coverage.occupancy) + 1
        self._bins = np.zeros((OCCUPANCY_BINS, states), np.int64)
        self._n_chains, self._last = n_chains, np.zeros(0, np.int64)  # column of each chain's last sample
        self._jumps = np.zeros((states, states), np.int64)
        self.bin_width = 1
        self.curve: tuple[Point, ...] = ()
        self.counts: tuple[Counts, ...] = ()
        self.newest: Point | None = None
        # Counts before the last turn of a knob, for the totals of the whole run.
        self._recognised_before, self._spurious_before = np.zeros_like(self._coverage.recognised), 0.0
        self._note_covered()

    @property
    def until_next_point(self) -> int:
        """Samples until the next point of the curve; a chunk that ends there makes the point's time exact."""
        i = bisect.bisect_right(self._counts, self._n)
        return self._counts[i] - self._n if i < len(self._counts) else 2**62

    def update(self, samples: Samples) -> None:
        """Take the next samples."""
        self._n += len(samples.v)
        self._not_scored.append(samples.p if self._of_means else samples.v)
        self._not_covered.append(samples.v)
        self._not_measured.append(samples.v)
        if self._n >= self._fewest:
            self._update_live()
        if (
            self._n - self._n_covered >= COMPARED_AT_ONCE
            or time.monotonic() - self._covered_at > COMPARED_SECONDS
        ):
            self._update_coverage()

    def evaluate(self, spent: Spent, watched: bool) -> None:
        """Compute the ISL at points of the curve, and also if the run is watched and the last value is old.

        spent : cost of the samples since the last turn of a knob
        """
        if self._n < self._fewest:
            return
        now = time.monotonic()
        i = bisect.bisect_left(self._counts, self._n)
        at_count = i < len(self._counts) and self._counts[i] == self._n
        interval = min(max(SCORE_SECONDS, self._value_seconds / SCORE_SHARE), MAX_SCORE_SECONDS)
        if at_count or (watched and now - self._valued_at > interval):
            self._add_value(spent)
            if at_count:
                assert self.newest is not None
                self.curve += (self.newest,)
                self._note_counts()
            if self._n == self._fewest:
                self._update_coverage()  # so that the first score after a turn of a knob has counts

    def end(self, spent: Spent) -> tuple[Point, ...]:
        """Return the curve since the last turn, up to the newest sample, because a knob is turned now.

        spent : cost of these samples
        """
        if self._n >= self._fewest and (self.newest is None or self.newest.n < self._n):
            self._add_value(spent)
        points = self.curve
        if self.newest is not None and (not points or self.newest.n > points[-1].n):
            points += (self.newest,)
        return tuple(replace(point, groups=_NO_GROUPS) for point in points)

    def begin_again(self) -> None:
        """Restart the scores after a turn of a knob; only the class history and two counts continue."""
        self._not_scored.clear()
        self._not_measured.clear()
        self._update_coverage()
        self._recognised_before += self._coverage.recognised
        self._spurious_before += self._coverage.spurious * self._coverage.n if self._coverage.n else 0.0
        self._counts, self._fewest = _COUNTS_AFTER_TURN, FEWEST_SCORED
        self._n_before, self._n, self._n_covered = self._n_before + self._n, 0, 0
        self._isl = None if self._isl is None else self._isl.without_samples()
        self._coverage = self._coverage.without_samples()
        self._live = self._new_live()
        self._last, self._jumps = self._last[:0], np.zeros_like(self._jumps)
        self.curve, self.counts, self.newest = (), (), None
        self._note_covered()

    def complete(self, spent: Spent) -> None:
        """Score all remaining samples, because the run stops here.

        An ISL value younger than SCORE_SECONDS is kept, since it records its number of samples.
        """
        self._update_coverage()
        stale = self.newest is not None and self.newest.n < self._n
        if stale and time.monotonic() - self._valued_at > SCORE_SECONDS:
            self._add_value(spent)

    def _add_value(self, spent: Spent) -> None:
        if self._isl is None:
            self.newest = Point(spent, np.nan, np.nan, np.nan, _NO_GROUPS)
            return
        begin = time.perf_counter()
        self._update_isl()
        score, groups = self._isl.value_by_group()
        self._value_seconds, self._valued_at = time.perf_counter() - begin, time.monotonic()
        self.newest = Point(spent, score.isl, score.std_error, score.beta, groups)

    def _update_isl(self) -> None:
        """Pass the collected samples to the ISL, because one call costs far less than many."""
        if self._isl is not None and self._not_scored:
            self._isl.update(np.concatenate(self._not_scored))
        self._not_scored.clear()

    def _update_live(self) -> None:
        v = np.concatenate(self._not_measured)
        self._not_measured.clear()
        for metric in self._live:
            metric.update(v)

    def _update_coverage(self) -> None:
        """Compare the collected samples with the training examples."""
        self._update_isl()
        if not self._not_covered:
            return
        v = np.concatenate(self._not_covered)
        self._not_covered.clear()
        for part in np.split(v, [point.n - self._n_covered for point in self.curve[len(self.counts) :]]):
            if len(part):  # the last part may be empty
                self._n_covered += len(part)
                self._add_to_bins(self._coverage.update(part), self._coverage.is_blank(part))
                self._note_counts()
        self._note_covered()
        self._covered_at = time.monotonic()

    def _note_counts(self) -> None:
        """If coverage has just reached a point of the curve, keep its counts."""
        if len(self.counts) < len(self.curve) and self.curve[len(self.counts)].n == self._n_covered:
            self.counts += (self._count_covered(),)

    def _note_covered(self) -> None:
        """Update ``covered``, which snapshots use until coverage takes more samples."""
        bins = self._bins[: -(-(self._n_before + self._n_covered) // self.bin_width)]
        self.covered = self._count_covered()
        self.occupancy = bins[:, :-1].copy()
        self.blanks = bins[:, -1].copy()
        self.jumps = self._jumps.copy()

    def _count_covered(self) -> Counts:
        coverage, classes = self._coverage, len(self._coverage.occupancy)
        return Counts(
            coverage.n,
            coverage.switches if classes else None,
            (coverage.visited, classes) if classes else None,
            coverage.class_coverage,
            coverage.blank,
            coverage.spurious,
            coverage.ink,
        )

    def _add_to_bins(self, classes: np.ndarray, blank: np.ndarray) -> None:
        n_classes = self._bins.shape[1] - 1
        if not n_classes:
            return
        n = self._n_before + self._n_covered
        while n > OCCUPANCY_BINS * self.bin_width:
            pairs = self._bins[0::2] + self._bins[1::2]
            self._bins = np.concatenate([pairs, np.zeros_like(pairs)])
            self.bin_width *= 2
        columns = np.where(blank, n_classes, classes)
        np.add.at(self._bins, (np.arange(n - len(classes), n) // self.bin_width, columns), 1)
        columns = np.concatenate([self._last, columns])
        np.add.at(self._jumps, (columns[: -self._n_chains], columns[self._n_chains :]), 1)
        self._last = columns[-self._n_chains :]

    @property
    def visited_in_all(self) -> tuple[int, int] | None:
        """Number of classes with a sample in the whole run, and of classes; None without classes."""
        recognised = self._recognised_before + self._coverage.recognised
        return (int(np.count_nonzero(recognised)), len(recognised)) if len(recognised) else None

    @property
    def spurious_in_all(self) -> float | None:
        """Share of spurious samples in the whole run; None before the first, NaN without a threshold."""
        n = self._n_before + self._n_covered
        now = self._coverage.spurious * self._coverage.n if self._coverage.n else 0.0
        return (self._spurious_before + now) / n if n else None

    @property
    def live_numbers(self) -> dict[str, live.Value]:
        """The newest numbers of the live metrics, by name; numbers not known yet may be missing."""
        return {name: value for metric in self._live for name, value in metric.values().items()}
