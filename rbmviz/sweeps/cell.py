"""A cell: one run of a sweep, small enough to send, and what identifies it.

``cells(plan)`` loads models and data once and returns the cells in the order of the plan. ``CellRun(cell)``
runs one, slice by slice; it loads what the cell names, once in each process.
"""

import dataclasses
import functools
import hashlib
import json
import math
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from rbmviz.datasets import Dataset, data_of, load_dataset, load_registered
from rbmviz.errors import BadInput, unknown
from rbmviz.knobs import knobs_of
from rbmviz.metrics import Kernel
from rbmviz.metrics.isl import CURVE_COUNTS
from rbmviz.models import load_model, load_pretrained
from rbmviz.rbm import Model
from rbmviz.registry import samplers, trainers
from rbmviz.samplers import Sampler, Samples
from rbmviz.samplers.interleave import on_one_thread, starts_at_data
from rbmviz.sweeps.measures import SamplerEvidence, TrainerEvidence, columns_of_measures, measures
from rbmviz.sweeps.plan import COUNTED, TABLES, Budget, Kind, SweepPlan
from rbmviz.sweeps.tables import SPENT, CellResult
from rbmviz.trainers import Trainer, Training, train

SLICE_SECONDS = 0.03
"""Target duration of a slice, the same as of a live run's chunk."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run: hashable, picklable, less than 2 kB. Models and data are sent by name and digest.

    Parameters
    ----------
    kind : "sampler" or "trainer"
        What the algorithm is.
    algorithm : str
        With *all* knobs, ``rates_fpcd:eps=0.03,alpha=1.0,...``.
    model, model_digest : str
        Name and digest of the model; "" for trainers.
    data, data_digest : str
        Name and digest of the data.
    seed : int
        Same seed, same bits.
    start : "data" or "random"
        See ``SweepPlan``.
    budget : Budget
        How long it runs.
    metrics : tuple of str
        Sorted names of measures.
    kernel : "binary" or "mean"
        Kernel of the ISL.
    n_hidden : int
        Trainers: hidden units; 0 for samplers.
    curve : bool
        Whether it is measured at all points of its curve, or at its end only.
    version : str
        ``version_of`` the algorithm: what computes it.
    """

    kind: Kind
    algorithm: str
    model: str = field(compare=False)
    model_digest: str
    data: str = field(compare=False)
    data_digest: str
    seed: int
    start: Literal["data", "random"]
    budget: Budget
    metrics: tuple[str, ...]
    kernel: Kernel
    n_hidden: int
    curve: bool
    version: str

    @property
    def identity(self) -> str:
        """Hash of everything that the result depends on, 32 hexadecimal digits.

        Names of models and data are not part of it: the same model under another name has the same results.
        """
        content = [getattr(self, each.name) for each in dataclasses.fields(self) if each.compare]
        text = json.dumps(content, default=dataclasses.astuple)  # of the budget
        return hashlib.sha256(text.encode()).hexdigest()[:32]


_PACKAGE = Path(__file__).parents[1]


def version_of(kind: Kind, name: str) -> str:
    """Return the version of the code that computes an algorithm's results.

    It is the version of the package where that is installed. In a checkout it is a hash of all its Python
    files, and for an algorithm from outside the package also of the file that has it: computing a sweep again
    is better than a table with the results of two programs. A process reads the files once.
    """
    table = TABLES[kind]
    if name not in table:
        raise unknown(f"{kind} of this process", name, list(table))
    algorithm = table[name]
    if algorithm.__module__.startswith("rbmviz."):
        return _version_of_package()
    return f"{_version_of_package()}+{_hash_of_module(algorithm)}"


@functools.cache
def _version_of_package() -> str:
    if not (_PACKAGE.parent / "pyproject.toml").is_file():
        return version("rbmviz")
    return _hash_of(sorted(_PACKAGE.rglob("*.py")), _PACKAGE)


@functools.cache
def _hash_of_module(algorithm: type) -> str:
    """Return a hash of the file of a class; it is read once for each class of that name."""
    file = getattr(sys.modules[algorithm.__module__], "__file__", None)
    if file is None:
        name = getattr(algorithm, "name", algorithm.__name__)
        raise BadInput(f"{name} was typed in, and has no source that can be kept: put it into a file.")
    return _hash_of([Path(file)], Path(file).parent)


def _hash_of(files: Sequence[Path], folder: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        text = file.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


_LOADED: dict[str, Any] = {}
"""Models and data sets of this process by digest."""

_LOADED_LOCK = threading.Lock()


def provide(loaded: Model | Dataset) -> str:
    """Keep a model or a data set for the cells of this process, and return its digest.

    A worker process on another machine, which does not have the file that a cell names, is given it this way
    once.
    """
    digest = loaded.digest()
    with _LOADED_LOCK:
        _LOADED.setdefault(digest, loaded)
    return digest


def forget() -> None:
    """Free the models and data sets that are kept for cells."""
    with _LOADED_LOCK:
        _LOADED.clear()


def _load(what: str, name: str, digest: str, load: Any) -> Any:
    with _LOADED_LOCK:
        if digest not in _LOADED:
            item = load(name)
            if item.digest() != digest:
                raise BadInput(
                    f"The {what} '{name}' is not the one with which the sweep was made: give all "
                    "machines the same file."
                )
            _LOADED[digest] = item
        return _LOADED[digest]


def model_of(cell: Cell) -> Model:
    """Return the cell's model, loaded once in this process; BadInput if it is not there, or another."""
    return _load("model", cell.model, cell.model_digest, load_model)


def data_of_cell(cell: Cell) -> Dataset:
    """Return the cell's data, loaded once in this process; BadInput if they are not there, or others."""
    return _load("data set", cell.data, cell.data_digest, load_dataset)


def cells(
    plan: SweepPlan, registered: bool = False, own: Mapping[str, Model | Dataset] = MappingProxyType({})
) -> list[Cell]:
    """Return the cells of a plan, in the order in which they are run; load and check what it names.

    Parameters
    ----------
    plan : SweepPlan
        What is run.
    registered : bool
        Accept names of pretrained models and of registered data only, no files: for plans that come from a
        link, a page or somebody else's file, which must not make this machine read a file (default False).
    own : dict of str to Model or Dataset
        Models and data to use for these names (default: none).

    Raises
    ------
    BadInput
        If a model or data cannot be loaded or do not fit each other, or a sampler needs rates that a model
        does not have.
    """
    sources = _sources(plan, registered, own)
    common: dict[str, Any] = {
        **{"kind": plan.kind, "start": plan.start, "budget": plan.budget, "kernel": plan.kernel},
        "metrics": tuple(sorted(plan.metrics)),
        "n_hidden": plan.n_hidden if plan.kind == "trainer" else 0,
        "curve": not plan.race,
    }
    return [
        Cell(
            algorithm=setting.algorithm,
            model=setting.model,
            seed=seed,
            version=version_of(plan.kind, setting.algorithm.partition(":")[0]),
            **sources[setting.model],
            **common,
        )
        for seed, setting in plan.order()
    ]


def _sources(
    plan: SweepPlan, registered: bool, own: Mapping[str, Model | Dataset]
) -> dict[str, dict[str, Any]]:
    """Return the digest of each model of a plan, and name and digest of its data, as attributes of cells."""
    load_data = load_dataset if plan.data and not registered else load_registered

    def data_named(name: str) -> Any:
        return own[name] if name in own else load_data(name)

    def source(model_digest: str, name: str, dataset: Dataset) -> dict[str, Any]:
        return {"model_digest": model_digest, "data": name, "data_digest": provide(dataset)}

    if plan.kind == "trainer":
        return {"": source("", plan.data, data_named(plan.data))}
    found, names = dict[str, dict[str, Any]](), dict[str, str]()
    for name in plan.models:
        model: Any = own.get(name) or (load_pretrained(name) if registered else load_model(name))
        dataset = data_of(model, plan.data or None, data_named)
        for text in plan.algorithms:
            algorithm = TABLES[plan.kind].read(text)
            if algorithm.needs_rates and model.rates is None:
                raise BadInput(
                    f"{algorithm.name} needs the rates of a training set and {name} has none: 'rbmviz "
                    "export-model --dataset' computes them."
                )
        digest = provide(model)
        if (same := names.setdefault(digest, name)) != name:
            raise BadInput(f"The models '{same}' and '{name}' are the same: name one of them.")
        found[name] = source(digest, plan.data or dataset.name, dataset)
    return found


_OF_CELL = ("model", "model_digest", "data", "data_digest", "start", "kernel", "seed", "n_hidden")
"""Attributes of a cell that are columns of tables."""


class _SamplingWork:
    """The chains of a cell, and what their samples show."""

    def __init__(self, cell: Cell) -> None:
        model, dataset = model_of(cell), data_of_cell(cell)
        self.sampler: Sampler = samplers.read(cell.algorithm)
        n_chains, v0 = self.sampler.n_chains, None
        needs = {measures[name].needs for name in cell.metrics}
        self.evidence = SamplerEvidence(dataset, cell.kernel, n_chains, needs)
        if cell.start == "data" and len(dataset.validation):
            v0 = starts_at_data(dataset.validation, cell.seed, n_chains)
        elif cell.start == "data":
            self.evidence.notes["start"] = (
                f"{dataset.name} has no validation part: chains began at random bits."
            )
        if cell.algorithm not in _COMPILED:
            self.sampler.step(self.sampler.init(model, cell.seed, v0), 1)
            _COMPILED.add(cell.algorithm)
        self._state = self.sampler.init(model, cell.seed, v0)

    def make(self, n: int) -> np.ndarray:
        """Make n samples; return the Gibbs sweeps of each."""
        self._made = self.sampler.step(self._state, n)
        return self._made.info["sweeps"]

    def take(self, n: int) -> None:
        """Measure the first n of the samples that were made last."""
        samples: Samples = self._made
        kept = samples if n == len(samples.v) else Samples(samples.v[:n], samples.p[:n], {})
        self.evidence.update(kept)


class _TrainingWork:
    """The training of a cell, and the likelihoods of its models."""

    def __init__(self, cell: Cell) -> None:
        dataset = data_of_cell(cell)
        trainer: Trainer = trainers.read(cell.algorithm)

        def begin() -> Training:
            return train(dataset, trainer, cell.n_hidden, trainer.iterations, cell.seed)

        if trainer.name not in _COMPILED:
            warming = begin()
            warming.trainer.step(warming.state, 1)
            _COMPILED.add(trainer.name)
        self._training = begin()
        self.evidence = TrainerEvidence(dataset, trainer.own_stats)

    def make(self, n: int) -> np.ndarray:
        """Make n updates; return the Gibbs sweeps of their chains, as if the last one had made them all."""
        before = self._training.state.sweeps
        self._progress = self._training.trainer.step(self._training.state, n)
        return np.append(np.zeros(n - 1, np.int64), self._progress.sweeps - before)

    def take(self, n: int) -> None:
        """Measure the model after the updates that were made last."""
        self.evidence.update(self._progress)


_COMPILED: set[str] = set()
"""Samplers with their knobs, and names of trainers, whose kernels have been compiled outside any clock."""


class CellRun:
    """One cell as it runs, slice by slice.

    Bits do not depend on the slices, on the thread that makes each, or on how many cells run side by side,
    except in the column ``seconds``, and in ``n`` where the budget is in seconds. A training that diverges
    has points up to its end, with NaN in the measures and the reason in ``note``.

    Parameters
    ----------
    cell : Cell
        What is run.

    Attributes
    ----------
    cell : Cell
        The same.
    n : int
        Samples or updates so far.

    Raises
    ------
    BadInput
        If the model or data cannot be loaded, or are not the ones that the cell was made for.

    Examples
    --------
    >>> from rbmviz.sweeps import Budget, CellRun, SweepPlan, cells
    >>> plan = SweepPlan(algorithms=["gibbs"], models=["bas_pcd"], budget=Budget("samples", 1000))
    >>> last = CellRun(cells(plan)[0]).finish().points[-1]
    >>> last["n"], last["isl_test"] < 0
    (1000, True)
    """

    def __init__(self, cell: Cell) -> None:
        self.cell, self.n = cell, 0
        self._work = (_SamplingWork if cell.kind == "sampler" else _TrainingWork)(cell)
        self._points: list[dict[str, float]] = []
        self._gibbs_sweeps, self._seconds = 0, 0.0
        self._chunk, self._each = 1, math.inf  # samples of the next chunk, seconds of one
        self._over, self._failure = False, ""

    @property
    def done(self) -> float:
        """Share of the budget that is used, 0 to 1."""
        return 1.0 if self._over else self.cell.budget.used(self.n, self._gibbs_sweeps, self._seconds)

    def step(self, seconds: float = SLICE_SECONDS) -> bool:
        """Run for about ``seconds``; return whether there is more to do.

        Chains are advanced on the calling thread alone, so that as many cells as there are cores fill them.
        """
        end = time.perf_counter() + seconds
        with on_one_thread():
            while not self._over:
                self._advance()
                if time.perf_counter() >= end:
                    break
        return not self._over

    def _next_point(self) -> int:
        """Return the next number of samples or updates at which there is a point."""
        later = CURVE_COUNTS[np.searchsorted(CURVE_COUNTS, self.n, side="right") :][: self.cell.curve]
        return min([*later.tolist(), self.cell.budget.steps])

    def _advance(self) -> None:
        """Make and measure one chunk, at most up to the next point of the curve."""
        budget, point = self.cell.budget, self._next_point()
        n = min(self._chunk, point - self.n, budget.chunk(self._seconds, self._each))
        if budget.unit == "sweeps" and self.cell.kind == "trainer":
            n = 1  # an update too many cannot be undone; its model is not measured
        begin, clock = time.perf_counter(), time.thread_time()
        try:
            gibbs_sweeps = self._work.make(n)
        except BadInput as error:
            self._fail(str(error))
            return
        spent = time.thread_time() - clock
        if budget.unit == "sweeps":
            if not (self._gibbs_sweeps or gibbs_sweeps.any()):  # it would never end
                name, counted = self.cell.algorithm.partition(":")[0], COUNTED[self.cell.kind]
                raise BadInput(f"{name} makes no Gibbs sweeps: give it a budget in {counted} or seconds.")
            kept = budget.within(self._gibbs_sweeps + np.cumsum(gibbs_sweeps))
            kept = max(kept, 1 - self.n)  # at least one sample, or update, in all
            self._over = kept < n
            spent, gibbs_sweeps, n = spent * min(kept / n, 1.0), gibbs_sweeps[:kept], min(kept, n)
        if n:
            self._work.take(n)
        self.n += n
        self._gibbs_sweeps += int(gibbs_sweeps.sum())
        self._seconds += spent
        self._each = spent / n if n and spent else self._each
        self._over |= self.done >= 1
        if self.n == point or (self._over and self.n > (self._points[-1]["n"] if self._points else 0)):
            self._add_point()
        took = max(time.perf_counter() - begin, 1e-7)
        self._chunk = min(max(int(n * SLICE_SECONDS / took), 1), 2 * self._chunk)

    def _add_point(self, measured: bool = True) -> None:
        values = dict.fromkeys(columns_of_measures(self.cell.kind), math.nan)
        for name in self.cell.metrics if measured else ():
            measure = measures[name]
            values[name] = float(measure.take(self._work.evidence))
            if measure.error is not None:
                values[f"{name}_error"] = float(measure.error(self._work.evidence))
        spent = dict(zip(SPENT, (self.n, self._gibbs_sweeps, self._seconds), strict=True))
        self._points.append(spent | values)

    def _fail(self, reason: str) -> None:
        """End the cell: its remaining points are NaN."""
        self._failure = reason
        # With a budget in another unit the number of remaining points is not known: one stands for them.
        end = self.cell.budget.steps if self.cell.budget.unit == "updates" else self.n + 1
        while self.n < end:
            self.n = self._next_point()
            self._add_point(measured=False)
        self._over = True

    def finish(self) -> CellResult:
        """Run to the end and return ``result()``."""
        while self.step(math.inf):
            pass
        return self.result()

    def result(self) -> CellResult:
        """Return the curve so far. The points are the ``CURVE_COUNTS`` reached, and the last sample."""
        cell, algorithm = self.cell, TABLES[self.cell.kind].read(self.cell.algorithm)
        notes = [self._failure, *self._work.evidence.notes.values()]
        knobs = {
            name: float(value) if knob.kind in (int, float) else knob.text(value)
            for name, knob in knobs_of(algorithm).items()
            for value in [getattr(algorithm, name)]
        }
        about = {
            "identity": cell.identity,
            "version": cell.version,
            "setting": cell.algorithm,
            "algorithm": algorithm.name,
            **{name: getattr(cell, name) for name in _OF_CELL},
            **{"budget_unit": cell.budget.unit, "budget_amount": float(cell.budget.amount)},
            "knobs": json.dumps(knobs),
            "note": " ".join(note if note.endswith(".") else f"{note}." for note in notes if note),
        }
        return CellResult(about, list(self._points))
