"""What a sweep measures, by name: one line each, from what a cell has seen so far.

A measure is a function of the *evidence* of a cell, ``SamplerEvidence`` or ``TrainerEvidence``, which
computes only what the measures of its cell need. What cannot be computed is NaN, and the evidence's ``notes``
say why.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics import ISL, Coverage, Kernel, chain_diagnostics, log_z, too_large
from rbmviz.metrics.agreement import Agreement
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.diagnostics import MIN_DRAWS, chains_apart
from rbmviz.metrics.isl import Score, empty_isl
from rbmviz.metrics.numbers import ISL_OF_SAMPLES, NUMBERS, Number
from rbmviz.samplers import Samples
from rbmviz.trainers import STATS, Progress

MAX_UNITS_EACH_POINT = 20
"""Largest smaller layer that is enumerated at each point of a training's curve; 25 units would take a minute
for a curve."""


@dataclass(frozen=True)
class Measure:
    """A number that is measured at each point of a cell's curve.

    Parameters
    ----------
    name : str
        Its name in plans, and its column in tables.
    number : Number
        What it is: its label, unit, meaning, and which of two values is better. A measure of a number in
        percent is a share, 0 to 1.
    kind : "sampler" or "trainer"
        Whose cells it measures.
    take : callable
        Returns the number from the evidence.
    needs : str
        What the evidence has to keep for it: "isl", "test" (ISL of the test part), "coverage",
        "activity", "likelihood" or "".
    part : str
        Part of the data that it describes, in words; "" (the default): of none.
    error : callable or None
        Returns its standard error over test points, column ``<name>_error``; None: it has none.
        Errors over test points are shown, but never used to compare settings: see ``choose``.
    """

    name: str
    number: Number
    kind: Literal["sampler", "trainer"]
    take: Callable[[Any], float]
    needs: str = ""
    part: str = ""
    error: Callable[[Any], float] | None = None

    @property
    def label(self) -> str:
        """What people read, with the part of the data and the unit."""
        return self.number.titled(self.part, "share" if self.number.claimed_unit == "%" else "")

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns in tables: the value and, if it has one, its error."""
        return (self.name, f"{self.name}_error")[: 1 if self.error is None else 2]

    @property
    def best(self) -> Literal["high", "low", ""]:
        """Which of two values is better; "": neither."""
        return self.number.best


@dataclass
class SamplerEvidence:
    """Scores of the samples of a cell so far.

    dataset : data to score on; packed points and examples are shared by all cells of this process
    n_chains : sample t is of chain t % n_chains
    needs : what the measures of the cell need; nothing else is computed
    """

    dataset: Dataset
    kernel: Kernel
    n_chains: int
    needs: Collection[str]
    notes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._isl: ISL | None = None
        self.coverage = Coverage(self.dataset, COMPARED_EXAMPLES, self.n_chains)
        self._score: Score | None = None
        self._n = 0
        self._activity: list[np.ndarray] = []
        if {"isl", "test"} & set(self.needs):
            if len(self.dataset.test) and len(self.dataset.validation):
                # A machine has as many of them as cores, and each is gone after a second or so.
                self._isl = empty_isl(self.dataset, self.kernel, np.uint32, "test" in self.needs)
            else:
                self.notes["isl"] = f"{self.dataset.name} has no test or no validation part: there is no ISL."
        if "coverage" in self.needs and not self.dataset.classes:
            self.notes["coverage"] = f"{self.dataset.name} has no classes: nothing is known of switches."

    def update(self, samples: Samples) -> None:
        """Take the next samples, which must not go past the next point of the curve."""
        self._score, self._n = None, self._n + len(samples.v)
        if self._isl is not None:
            self._isl.update(samples.v if self.kernel == "binary" else samples.p)
        self.coverage.update(samples.v, compare="coverage" in self.needs)
        if "activity" in self.needs:
            self._activity.append(samples.v.sum(axis=1, dtype=np.uint32))

    @property
    def score(self) -> Score:
        """ISL of the samples so far, computed once for each point."""
        if self._score is None:
            none = Score(math.nan, math.nan, self._n, math.nan, math.nan)
            self._score = none if self._isl is None else self._isl.value()
        return self._score

    def ess(self) -> float:
        """Return the effective sample size by the number of active units, over all chains."""
        values = np.concatenate(self._activity)
        self._activity = [values]
        if len(values) < MIN_DRAWS * self.n_chains:
            return math.nan
        size = chain_diagnostics(chains_apart(values, self.n_chains)).ess
        never = "The number of active units never changes: there is no ESS."
        self.notes["activity"] = never if np.isnan(size) else ""
        return size


@dataclass
class TrainerEvidence:
    """Measurements of a cell's training so far.

    dataset : its training part is used for training; likelihoods are of all three parts
    own_stats : labels of the trainer's own statistics, the most informative one first
    """

    dataset: Dataset
    own_stats: Mapping[str, str]
    notes: dict[str, str] = field(default_factory=dict)
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self._log_z: float | None = None

    def update(self, progress: Progress) -> None:
        """Take the progress at a point of the curve."""
        self.progress, self._log_z = progress, None
        self.notes["warning"] = progress.warning

    def log_likelihood(self, part: Literal["train", "validation", "test"]) -> float:
        """Return the exact mean log-likelihood of a part, nats per example."""
        assert self.progress is not None
        rbm, rows = self.progress.rbm, getattr(self.dataset, part)
        if min(rbm.n_visible, rbm.n_hidden) > MAX_UNITS_EACH_POINT:
            self.notes["likelihood"] = too_large(rbm) or (
                f"The smaller layer has {min(rbm.n_visible, rbm.n_hidden)} units, and likelihoods of a "
                f"sweep are enumerated up to {MAX_UNITS_EACH_POINT}"
            )
            return math.nan
        if not len(rows):
            self.notes[f"likelihood of {part}"] = f"{self.dataset.name} has no {part} part."
            return math.nan
        if self._log_z is None:
            self._log_z = log_z(rbm)
        return float(-rbm.free_energy(rows).mean() - self._log_z)

    def stat(self, name: str) -> float:
        """Return a statistic of the trainer; NaN if it has none of this name."""
        assert self.progress is not None
        return float(self.progress.stats.get(name, math.nan))

    def own_value(self) -> float:
        """Return the trainer's own quantity: the first of ``Trainer.own_stats``; NaN if it has none."""
        if not self.own_stats:
            self.notes["inner"] = "This trainer has no quantity of its own."
        return self.stat(next(iter(self.own_stats), ""))


_OF_SAMPLERS = {**NUMBERS["sample"], **{number.name: number for number in Agreement.numbers}}


def _sampled(name: str, take: Callable[[Any], float], needs: str = "", of: str = "") -> Measure:
    return Measure(name, _OF_SAMPLERS[of or name], "sampler", take, needs)


def _isl(name: str, part: str, take: Callable[[Any], float], error: Any = None) -> Measure:
    needs = "test" if part == "test" else "isl"
    return Measure(name, ISL_OF_SAMPLES, "sampler", take, needs, f"{part} part", error)


def _trained(name: str, of: str, take: Callable[[Any], float]) -> Measure:
    return Measure(name, NUMBERS["train"][of], "trainer", take)


def _likelihood(name: str, part: str, words: str) -> Measure:
    number = NUMBERS["train"]["likelihood"]
    return Measure(name, number, "trainer", lambda e: e.log_likelihood(part), "likelihood", f"{words} part")


_ALL = (
    _isl("isl_validation", "validation", lambda e: e.score.validation),
    _isl("isl_test", "test", lambda e: e.score.isl, lambda e: e.score.std_error),
    _sampled("beta", lambda e: e.score.beta, "isl"),
    _sampled("blank", lambda e: e.coverage.blank),
    _sampled("ink", lambda e: e.coverage.ink),
    _sampled("spurious", lambda e: e.coverage.spurious, "coverage"),
    _sampled("coverage", lambda e: e.coverage.class_coverage, "coverage", of="class_coverage"),
    _sampled("switches", lambda e: e.coverage.switches if e.dataset.classes else math.nan, "coverage"),
    _sampled("ess", lambda e: e.ess(), "activity"),
    _likelihood("log_likelihood", "train", "training"),
    _likelihood("log_likelihood_validation", "validation", "validation"),
    _likelihood("log_likelihood_test", "test", "test"),
    _trained("inner", "inner", lambda e: e.own_value()),
    *(_trained(name, name, lambda e, name=name: e.stat(name)) for name in STATS),  # type: ignore[misc]
)

measures: Mapping[str, Measure] = {measure.name: measure for measure in _ALL}
"""The measures by name."""

DEFAULT_MEASURES = {
    "sampler": ("isl_validation", "isl_test", "blank"),
    "trainer": ("log_likelihood", "log_likelihood_validation", "log_likelihood_test", "inner"),
}
"""The measures of a plan that names none."""


CHOOSING = ("isl_validation", "log_likelihood_validation", "log_likelihood")
"""Measures by which settings are chosen: the first that is there."""

REPORTED = ("isl_test", "log_likelihood_test")
"""Measures of the test part that are reported, used in the same way."""


def columns_of_measures(kind: Literal["sampler", "trainer"]) -> tuple[str, ...]:
    """Return the columns of all measures of samplers, or of trainers: values and their errors."""
    return tuple(name for each in measures.values() if each.kind == kind for name in each.columns)


def list_measures(kind: str | None = None) -> list[str]:
    """Return the names of the measures of samplers or trainers (None: of both), as plans name them.

    kind : "sampler", "trainer" or None
    """
    return [name for name, measure in measures.items() if kind in (None, measure.kind)]
