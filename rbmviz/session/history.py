"""The samples of a recorded run and their classes: enough to show the run again without its model."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics import Coverage
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.samplers import Sampler
from rbmviz.session.sampling import SamplingRun, SamplingSnapshot
from rbmviz.session.snapshot import Segment

ROWS_AT_ONCE = 4096
"""Number of samples unpacked at a time."""


class Kinds(NamedTuple):
    """The class of each sample, and whether it is blank or spurious; see ``Coverage``.

    classes : uint16 (m,), class of the nearest training example; empty without labels
    blank, spurious : uint8 (m,), 0 or 1; spurious is empty if the data have no held-out part
    """

    classes: np.ndarray
    blank: np.ndarray
    spurious: np.ndarray


@dataclass(frozen=True, eq=False)
class RunHistory:
    """Consecutive samples of one run, up to the newest; its knobs were not turned.

    algorithm : the sampler
    first : number (from 0) of the first sample in ``v``
    v : uint8 (m, ceil(n_visible / 8)); the samples, bits packed along the rows
    segments : ISL of the whole run, one segment
    """

    algorithm: Sampler
    first: int
    v: np.ndarray
    n_visible: int
    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, run: SamplingRun) -> Self:
        """Return the history that a run holds now, at the cost of copying the samples."""
        first, v = run.held_packed()
        snapshot = run.view("paused")
        assert isinstance(snapshot, SamplingSnapshot)
        return cls(run.algorithm, first, v, run.plan.model.rbm.n_visible, snapshot.segments)

    @property
    def n(self) -> int:
        """Number of samples of the run, up to the newest."""
        return self.first + len(self.v)

    def last(self, m: int) -> Self:
        """Return the history of the newest m samples (fewer if fewer are held)."""
        m = min(m, len(self.v))
        return replace(self, first=self.n - m, v=self.v[len(self.v) - m :])

    def kinds(self, dataset: Dataset | None) -> Kinds:
        """Return the class of each sample, and whether it is blank or spurious; all empty without data."""
        none = np.zeros(0, np.uint8)
        if dataset is None or not len(self.v):
            return Kinds(np.zeros(0, np.uint16), none, none)
        coverage = Coverage(dataset, COMPARED_EXAMPLES, self.algorithm.n_chains)
        packed = (self.v[at : at + ROWS_AT_ONCE] for at in range(0, len(self.v), ROWS_AT_ONCE))
        each = [coverage.kinds(np.unpackbits(v, axis=1, count=self.n_visible)) for v in packed]
        classes, blank, spurious = map(np.concatenate, zip(*each, strict=True))
        has_threshold = not np.isnan(coverage.threshold)
        return Kinds(
            classes.astype(np.uint16),
            blank.astype(np.uint8),
            spurious.astype(np.uint8) if has_threshold else none,
        )
