"""The beginning of a run, recorded: it is shown on a new machine while the kernels of the run are compiled.

The run itself makes the same samples as soon as it can, compares them with the recorded ones, and goes on
where the recording has got to (see ``Worker.show_recording``). A recording holds samples of a model, what
was counted of them, and the scores at the points of the curve: no data, and nothing that a clock has
measured.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.metrics import Coverage
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.session.sampling import MAX_SHOWN_SAMPLES, SamplingPlan, SamplingRun, SamplingSnapshot
from rbmviz.session.scores import OCCUPANCY_BINS
from rbmviz.session.snapshot import Counts, NewestSamples, Point, Spent

SCORE_TOLERANCE = 1e-3
"""Nats by which a recorded score may differ from the run's: logarithms differ between processors."""


def _digest(start: np.ndarray) -> np.ndarray:
    return np.frombuffer(hashlib.sha256(np.packbits(start).tobytes()).digest(), np.uint8)


@dataclass(frozen=True, eq=False)
class Recording:
    """The first n samples of one sampling run with a single chain, as arrays that a file can hold.

    Parameters
    ----------
    sampler : str
        Registered name; the knobs have their defaults.
    seed : uint64 (1,)
    start : uint8 (32,)
        SHA-256 of the packed start: a start from other data, or from random bits, is another run.
    v : uint8 (n, ceil(n_visible / 8))
        The samples, bits packed along the rows.
    n_visible : int64 (1,)
    sweeps : int64 (n,)
        Sweeps of each sample.
    fast_norm : float32 (n,) or (0,)
        Norm of theta_F after each sample; empty for a sampler without fast parameters.
    classes : uint8 (n,)
        Class of the nearest training example of each sample; the number of classes if the sample is blank.
    points : int64 (points,)
        Numbers of samples at which the run was scored.
    scores : float64 (points, 3)
        ISL, its standard error and the parameter of its kernel at each point.
    groups : float32 (points, groups)
        Mean log density of each group of test points at each point.
    counts : float64 (points, 6)
        At each point: switches, classes visited, classes in all, class coverage, shares of blank and of
        spurious samples.
    """

    sampler: str
    seed: np.ndarray
    start: np.ndarray
    v: np.ndarray
    n_visible: np.ndarray
    sweeps: np.ndarray
    fast_norm: np.ndarray
    classes: np.ndarray
    points: np.ndarray
    scores: np.ndarray
    groups: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, run: SamplingRun, n: int) -> Self:
        """Make the first n samples of a run that has made none yet, and record them.

        n : at most MAX_HELD_SAMPLES

        Raises
        ------
        BadInput
            If the run has several chains, or is not scored against data with classes.
        """
        plan, dataset = run.plan, run.plan.dataset
        if run.algorithm.n_chains > 1 or dataset is None or dataset.train_labels is None:
            raise BadInput("Only the run of one chain that is scored against labelled data can be recorded.")
        run.prepare()
        run.watched = False
        sweeps, norms = [], []
        while run.n < n:
            samples = run.timed_advance(min(run.max_steps(), n - run.n))
            run.record_steps(samples)
            sweeps.append(samples.info["sweeps"])
            norms.append(samples.info.get("fast_norm", np.zeros(0)))
        run.complete()
        first, v = run.held_samples()
        shown = _view(run)
        points, counts = shown.curve, shown.counts
        coverage = Coverage(dataset, COMPARED_EXAMPLES)
        return cls(
            run.algorithm.name,
            np.array([plan.seed], np.uint64),
            _digest(first_state(plan)),
            run.held_packed()[1][: n - first],
            np.array([v.shape[1]]),
            np.concatenate(sweeps).astype(np.int64),
            np.concatenate(norms).astype(np.float32),
            np.where(coverage.is_blank(v), len(coverage.occupancy), coverage.update(v)).astype(np.uint8),
            np.array([point.n for point in points[: len(counts)]], np.int64),
            np.array([(point.isl, point.std_error, point.beta) for point in points[: len(counts)]]),
            np.array([point.groups for point in points[: len(counts)]], np.float32),
            np.array([_numbers(one) for one in counts], np.float64),
        )

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.v)

    def is_of(self, plan: Any, algorithm: Any) -> bool:
        """Return whether this is how a run of the plan begins, as far as can be told without making it.

        The model is not compared: the samples are, as soon as the run makes them (``is_repeated_by``).
        """
        return (
            isinstance(plan, SamplingPlan)
            and algorithm == type(algorithm)()
            and algorithm.name == self.sampler
            and plan.seed == int(self.seed[0])
            and plan.model.rbm.n_visible == int(self.n_visible[0])
            and plan.dataset is not None
            and np.array_equal(_digest(first_state(plan)), self.start)
        )

    def is_repeated_by(self, run: SamplingRun) -> bool:
        """Return whether the samples of a run so far, and its scores, are those of the recording."""
        first, packed = run.held_packed()
        length = min(run.n, self.n)
        if not np.array_equal(packed[: max(length - first, 0)], self.v[first:length]):
            return False
        shown = _view(run)
        known = min(len(shown.counts), len(self.points))
        for i in range(known):
            mine, its = self._point(i, 0), shown.curve[i]
            if mine.n != its.n or abs(mine.isl - its.isl) > SCORE_TOLERANCE:
                return False
            if not np.allclose(_numbers(shown.counts[i]), self.counts[i], rtol=0, atol=1e-9):
                return False
        return True

    def view(self, n: int, run: int, algorithm: Any) -> SamplingSnapshot:
        """Return the snapshot after n samples, of the run with this number."""
        n = min(n, self.n)
        known = int(np.searchsorted(self.points, n, side="right"))
        total = np.cumsum(self.sweeps)
        curve = tuple(self._point(i, int(total[self.points[i] - 1])) for i in range(known))
        counts = tuple(self._counts(i) for i in range(known))
        newest = counts[-1] if counts else None
        bins, width = self._bins(n)
        occupancy, blanks = bins[:, :-1], bins[:, -1]
        n_visible = int(self.n_visible[0])
        v = self.v[max(n - MAX_SHOWN_SAMPLES, 0) : n]
        return SamplingSnapshot(
            status="recorded",
            run=run,
            n=n,
            seconds=0.0,
            algorithm=algorithm,
            sweeps=int(total[n - 1]) if n else 0,
            newest_samples=NewestSamples(n - len(v), v, (), n_visible),
            curve=curve,
            counts=counts,
            newest=curve[-1] if curve else None,
            fast_norm=float(self.fast_norm[n - 1]) if n and len(self.fast_norm) else None,
            occupancy=occupancy,
            blanks=blanks,
            bin_width=width,
            switches=newest.switches if newest else 0,
            visited=newest.visited if newest else None,
            class_coverage=newest.class_coverage if newest else None,
            blank=newest.blank if newest else None,
            spurious=newest.spurious if newest else None,
        )

    def _point(self, i: int, sweeps: int) -> Point:
        isl, std_error, beta = self.scores[i].tolist()
        spent = Spent(int(self.points[i]), sweeps, 0.0)
        return Point(spent, isl, std_error, beta, self.groups[i].astype(np.float64))

    def _counts(self, i: int) -> Counts:
        switches, visited, classes, coverage, blank, spurious = self.counts[i].tolist()
        return Counts(
            int(self.points[i]), int(switches), (int(visited), int(classes)), coverage, blank, spurious
        )

    def _bins(self, n: int) -> tuple[np.ndarray, int]:
        """Return the samples per class, and the blank ones, in consecutive bins, and the width of a bin."""
        width = 1
        while n > OCCUPANCY_BINS * width:
            width *= 2
        n_classes = int(self.counts[0, 2]) if len(self.counts) else 0
        bins = np.zeros((-(-n // width), n_classes + 1), np.int64)
        np.add.at(bins, (np.arange(n) // width, self.classes[:n]), 1)
        return bins, width


def first_state(plan: SamplingPlan) -> np.ndarray:
    """Return the start of the first chain, uint8 (n_visible,); one of zeros if the run draws its own."""
    v0 = plan.v0
    if v0 is None:
        return np.zeros(plan.model.rbm.n_visible, np.uint8)
    return v0 if v0.ndim == 1 else v0[0]


def _view(run: SamplingRun) -> SamplingSnapshot:
    shown = run.view("running")
    assert isinstance(shown, SamplingSnapshot)
    return shown


def _numbers(counts: Counts) -> tuple[float, ...]:
    visited, classes = counts.visited or (0, 0)
    switches = counts.switches or 0
    return (switches, visited, classes, counts.class_coverage, counts.blank, counts.spurious)


def write_recordings(path: Path, recordings: Sequence[Recording]) -> None:
    """Write recordings to a file (.npz): the arrays of each, under names that begin with the sampler's.

    Of the samples, what differs from one to the next is stored: it is compressed to a fifth.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for recording in recordings:
            for name, array in _arrays(recording).items():
                content = io.BytesIO()
                np.save(content, array)
                # With a date of its own the file would differ each time it is made.
                entry = zipfile.ZipInfo(f"{recording.sampler}.{name}.npy", (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_LZMA
                archive.writestr(entry, content.getvalue())


def read_recordings(path: Path) -> dict[str, Recording]:
    """Return the recordings of a file by the names of their samplers."""
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path, allow_pickle=False) as arrays:
        for name in arrays.files:
            sampler, _, part = name.partition(".")
            found.setdefault(sampler, {})[part] = arrays[name]
    for parts in found.values():
        parts["v"] = np.bitwise_xor.accumulate(parts["v"], axis=0)
    return {sampler: Recording(sampler, **parts) for sampler, parts in found.items()}


def _arrays(recording: Recording) -> dict[str, np.ndarray]:
    arrays: Mapping[str, Any] = vars(recording)
    v = recording.v.copy()
    v[1:] ^= recording.v[:-1]
    return {name: value for name, value in arrays.items() if name != "sampler"} | {"v": v}
