"""The scores of one run, updated with each chunk of samples: ISL, classes, live metrics.

They are kept at about 125 numbers of samples, 14 % apart, so that runs can be compared at any equal point
that they have passed: see ``equal_points``.
"""

import bisect
import time
from collections.abc import Mapping

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.knobs import Value
from rbmviz.metrics import ISL, Coverage, Kernel, live
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.isl import CURVE_COUNTS, GROUPS, Score, empty_isl
from rbmviz.samplers import Samples
from rbmviz.session.snapshot import ChangedKnobs, Counts, Point, SinceChange, Spent

OCCUPANCY_BINS = 120
"""Maximum number of bins of the class history; when all are full, neighbours are merged in pairs."""

SCORE_SECONDS = 0.5
"""Minimum seconds between two values of the newest ISL that are no points of the curve."""

SCORE_SHARE = 1 / 2000
"""Share of the time that values of the newest ISL may take: they only prolong a curve up to its next point.
With 3,000 test and validation points, one takes some 5 ms, in each of four panels."""

MAX_SCORE_SECONDS = 10.0
"""Maximum seconds between two values of the newest ISL while the run is watched."""

COMPARED_AT_ONCE = 64
"""Samples that are compared with the training examples at once: one sample alone takes as long as 64."""

COMPARED_SECONDS = 1.1
"""Maximum seconds between two such comparisons: at 60 samples a second there are just enough for one."""

POINTS_SINCE_CHANGE = 2500
"""Test points, and as many validation points, on which the ISL since the last change of a knob is computed:
its histograms are a second set, which has to be small where the data are large."""


_COUNTS: list[int] = CURVE_COUNTS.tolist()


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

    Attributes
    ----------
    curve : tuple of Point
        ISL at each of CURVE_COUNTS that has been reached.
    counts : tuple of Counts
        What the samples up to a point of the curve have covered; they may come a moment after the point.
    newest : Point or None
        The newest value of ISL.
    changes : tuple of ChangedKnobs
        At most one in each stretch between two points of the curve: of a slider that is dragged the last.
    covered : Counts
        What the samples up to now have covered; up to COMPARED_AT_ONCE of the newest may be left out.
    occupancy : int64 (bins so far, classes)
        Samples per class in each bin, without blank ones.
    blanks : int64 (bins so far,)
        Blank samples in each bin; zero where there are no classes.
    """

    def __init__(self, dataset: Dataset, kernel: Kernel, n_chains: int = 1) -> None:
        self._isl = empty_isl(dataset, kernel)
        self._empty_few = empty_isl(dataset, kernel, POINTS_SINCE_CHANGE)
        self._coverage = Coverage(dataset, COMPARED_EXAMPLES, n_chains)
        self._live = [metric(dataset, n_chains) for metric in live.live_metrics_of(n_chains)]
        self._of_means = kernel == "mean"
        self._valued_at = 0.0  # when the newest value was computed,
        self._value_seconds = 0.0  # and how long it took
        self._n = 0
        self._not_scored: list[np.ndarray] = []  # samples, or their means, that the ISL has yet to take
        self._not_covered: list[np.ndarray] = []  # samples that coverage has yet to take, these among them
        self._n_covered, self._covered_at = 0, 0.0
        # The last column counts the blank samples, which visit no class.
        self._bins = np.zeros((OCCUPANCY_BINS, len(self._coverage.occupancy) + 1), np.int64)
        self.bin_width = 1
        self.curve: tuple[Point, ...] = ()
        self.counts: tuple[Counts, ...] = ()
        self.newest: Point | None = None
        self.changes: tuple[ChangedKnobs, ...] = ()
        self._isl_since: ISL | None = None  # of the samples since the last change; None before there is one
        self._score_since: Score | None = None
        self._note_covered()
        self._before_change = self.covered
        self._recognised_before_change = self._coverage.recognised.copy()

    @staticmethod
    def bytes(dataset: Dataset, kernel: Kernel, n_chains: int) -> int:
        """Return the bytes that the scores of a run take at most."""
        parts, width = (len(dataset.test), len(dataset.validation)), dataset.n_visible
        points, packed = sum(parts), -(-width // 64) * 8
        # Histograms have columns up to the largest distance, hardly ever more than half of the width. Of the
        # means: the rows, and for each beta of the grid a sum.
        isl = points * (packed + 2 * width + 512 if kernel == "binary" else 4 * width + 8 * 32)
        if kernel == "binary":  # since the last change
            isl += sum(min(part, POINTS_SINCE_CHANGE) for part in parts) * (packed + 2 * width + 512)
        curve = len(CURVE_COUNTS) * (8 * GROUPS + 500)
        coverage = min(len(dataset.train), COMPARED_EXAMPLES) * (packed + 8)
        others = sum(metric.bytes(n_chains) for metric in live.live_metrics_of(n_chains))
        return isl + curve + coverage + others

    @property
    def until_next_point(self) -> int:
        """Samples until the next point of the curve; if a chunk ends there, its time is exact."""
        i = bisect.bisect_right(_COUNTS, self._n)
        return _COUNTS[i] - self._n if i < len(_COUNTS) else 2**62

    def update(self, samples: Samples) -> None:
        """Take the next samples."""
        self._n += len(samples.v)
        self._not_scored.append(samples.p if self._of_means else samples.v)
        self._not_covered.append(samples.v)
        for metric in self._live:
            metric.update(samples.v)
        if (
            self._n - self._n_covered >= COMPARED_AT_ONCE
            or time.monotonic() - self._covered_at > COMPARED_SECONDS
        ):
            self._update_coverage()

    def evaluate(self, spent: Spent, watched: bool) -> None:
        """Compute the ISL if the curve has a point here, or if the run is watched and the last value is old.

        spent : what the run has spent
        """
        now = time.monotonic()
        i = bisect.bisect_left(_COUNTS, self._n)
        at_count = i < len(_COUNTS) and _COUNTS[i] == self._n
        interval = min(max(SCORE_SECONDS, self._value_seconds / SCORE_SHARE), MAX_SCORE_SECONDS)
        if at_count or (watched and now - self._valued_at > interval):
            self._add_value(spent, since_change=watched)
            if at_count:
                assert self.newest is not None
                self.curve += (self.newest,)
                self._note_counts()

    def note_change(self, spent: Spent, knobs: Mapping[str, Value]) -> None:
        """Note that knobs have other values from the next sample on."""
        self._update_coverage()
        if self.changes and spent.samples < self._next_point_after(self.changes[-1].spent.samples):
            knobs = {**self.changes[-1].knobs, **knobs}
            self.changes = self.changes[:-1]
        self.changes += (ChangedKnobs(spent, knobs),)
        # A value of the mean kernel costs hundreds of times more: there is none since the change.
        self._isl_since = None if self._of_means else self._empty_few.without_samples()
        self._score_since = None
        self._before_change = self.covered
        self._recognised_before_change = self._coverage.recognised.copy()

    @staticmethod
    def _next_point_after(n: int) -> float:
        i = bisect.bisect_right(_COUNTS, n)
        return _COUNTS[i] if i < len(_COUNTS) else np.inf

    def complete(self, spent: Spent) -> None:
        """Score the samples that have not been scored, because the run stops here.

        An ISL that is younger than SCORE_SECONDS stays: it says of how many samples it is.
        """
        self._update_coverage()
        stale = self.newest is not None and self.newest.n < self._n
        if stale and time.monotonic() - self._valued_at > SCORE_SECONDS:
            self._add_value(spent, since_change=True)

    def _add_value(self, spent: Spent, since_change: bool) -> None:
        begin = time.perf_counter()
        self._update_isl()
        score, groups = self._isl.value_by_group()
        if since_change and self._isl_since is not None and self._isl_since.n:
            self._score_since = self._isl_since.value()
        self._value_seconds, self._valued_at = time.perf_counter() - begin, time.monotonic()
        self.newest = Point(spent, score.isl, score.std_error, score.beta, groups)

    def _update_isl(self) -> None:
        """Let the ISL take the samples since the last time: in one call they cost far less than in many."""
        if not self._not_scored:
            return
        centres = np.concatenate(self._not_scored)
        self._not_scored.clear()
        self._isl.update(centres)
        if self._isl_since is not None:
            self._isl_since.update(centres)

    def _update_coverage(self) -> None:
        """Compare the samples since the last time with the training examples."""
        self._update_isl()
        if not self._not_covered:
            return
        v = np.concatenate(self._not_covered)
        self._not_covered.clear()
        for part in np.split(v, [point.n - self._n_covered for point in self.curve[len(self.counts) :]]):
            if len(part):  # the last one may be empty
                self._n_covered += len(part)
                self._add_to_bins(self._coverage.update(part), self._coverage.is_blank(part))
                self._note_counts()
        self._note_covered()
        self._covered_at = time.monotonic()

    def _note_counts(self) -> None:
        """If coverage has just reached a point of the curve, keep what it has counted."""
        if len(self.counts) < len(self.curve) and self.curve[len(self.counts)].n == self._n_covered:
            self.counts += (self._count_covered(),)

    def _note_covered(self) -> None:
        """Count what is covered: once for all snapshots until coverage takes more samples."""
        bins = self._bins[: -(-self._n_covered // self.bin_width)]
        self.covered, self.occupancy, self.blanks = (
            self._count_covered(),
            bins[:, :-1].copy(),
            bins[:, -1].copy(),
        )

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
        n = self._n_covered
        while n > OCCUPANCY_BINS * self.bin_width:
            pairs = self._bins[0::2] + self._bins[1::2]
            self._bins = np.concatenate([pairs, np.zeros_like(pairs)])
            self.bin_width *= 2
        columns = np.where(blank, n_classes, classes)
        np.add.at(self._bins, (np.arange(n - len(classes), n) // self.bin_width, columns), 1)

    @property
    def since_change(self) -> SinceChange | None:
        """The scores of the samples since the last change of a knob; None if there was none."""
        if not self.changes:
            return None
        before, now, score = self._before_change, self.covered, self._score_since
        n, classes = now.n - before.n, self._recognised_before_change
        far = now.spurious * now.n - (before.spurious * before.n if before.n else 0)
        switches = visited = None
        if now.switches is not None and before.switches is not None:
            switches = now.switches - before.switches
            visited = int((self._coverage.recognised > classes).sum()), len(classes)
        return SinceChange(
            self._n - before.n,
            None if score is None else score.isl,
            None if score is None else score.std_error,
            switches,
            visited,
            float(far) / n if n else None,
        )

    @property
    def live_numbers(self) -> dict[str, live.Value]:
        """The newest numbers of the live metrics, by name; those that are not known yet may be missing."""
        return {name: value for metric in self._live for name, value in metric.values().items()}
