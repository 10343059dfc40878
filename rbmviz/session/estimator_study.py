"""Bias and variance of gradient estimators, measured on models with more and more hidden units.

A live version of section 4.1 and table 1 of population CD. Measured ratios of the bias of CD-1 to the bias of
pop-CD-1 (400 estimates per point, seed 0): on letters 260, 640, 83, 19, 14 and 5 with 1, 2, 4, 8, 12 and 16
hidden units (paper: 3 with 16, 0.2 with 100); on mnist5k 101 with 16 and more than 800 with 2 to 12 (paper:
19 with 16, 0.8 with 500). On 16 pixels the gain persists: on Bars and Stripes it stays at 17 to 60 from 2 to
128 hidden units, and on Artificial Modes pop-CD has no detectable bias.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.gradient import (
    RUNS,
    EstimatorRun,
    GradientQuality,
    GradientReference,
    endless_run,
    enumerated,
    quality,
)
from rbmviz.knobs import knobs_of
from rbmviz.metrics import log_z
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.session.run import CHUNK_SECONDS, Run
from rbmviz.session.snapshot import Snapshot, Status
from rbmviz.session.warm import jobs_of_log_z, jobs_of_trainer
from rbmviz.trainers import Trainer, initial_rbm, make_trainer
from rbmviz.trainers.pop_cd import pop_weights

MANY_HIDDEN = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of hidden units if the visible layer has at most MAX_VISIBLE_ENUMERATED units."""

FEW_HIDDEN = (1, 2, 4, 8, 12, 16)
"""Numbers of hidden units for wider visible layers; then the hidden layer is enumerated."""

MAX_VISIBLE_ENUMERATED = 16

STUDIED_SWEEPS = (1, 2, 5, 10, 20, 50, 100)

BATCHES_PER_ESS = 20
"""Number of batches over which each effective sample size is averaged."""

STUDY_BURN_IN = 100
"""Burn-in sweeps of persistent chains, which start at random bits; few, because small models mix quickly."""

MAX_ESTIMATES = 2000

FINISHED = "Done"
"""Stage of a finished run."""

ESTIMATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "CD-1": ("cd", {}),
    "CD-10": ("cd", {"k": 10}),
    "pop-CD-1": ("pop_cd", {}),
    "pop-CD-10": ("pop_cd", {"k": 10}),
    "pop-CD-1, joint": ("pop_cd", {"proposal": "joint"}),
    "pop-CD-1, mixture": ("pop_cd", {"proposal": "mixture"}),
    "pop-CD-1, LOO": ("pop_cd", {"leave_one_out": True}),
    "PCD-1": ("pcd", {}),
    "UCD": ("ucd", {}),
    "PT": ("pt", {}),
}
"""The compared estimators by label: trainer and knobs. LOO means "leave one out".

Each estimate uses as many samples as a batch has rows. Mixtures have 10 components, PT has 10 temperatures.
"""


class StudySetup(NamedTuple):
    """The setup of a study, and the plan of its run.

    dataset : training data of all models
    batch : examples per batch, and samples per estimate
    updates : number of updates in each model's training
    seed : random seed; the same seed gives the same study
    """

    dataset: Dataset
    batch: int = 32
    updates: int = 5000
    seed: int = 0

    def plan(self) -> "StudySetup":
        """Return the plan of each run."""
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of hidden units of each model."""
        return MANY_HIDDEN if self.dataset.n_visible <= MAX_VISIBLE_ENUMERATED else FEW_HIDDEN

    def progress(self, models: int, estimates: int) -> float:
        """Return the share of the work, 0 to 1, that these numbers of models and estimates amount to."""
        return min((models / len(self.sizes) + 3 * estimates / MAX_ESTIMATES) / 4, 1.0)

    def estimators(self) -> dict[str, Trainer]:
        """Return the compared estimators by label."""
        estimators = {}
        for label, (name, knobs) in ESTIMATORS.items():
            declared = knobs_of(trainers[name])["n_chains"]
            chains = {} if declared.zero else {"n_chains": self.batch}  # 0: as many as the batch has rows
            estimators[label] = make_trainer(name, batch_size=self.batch, **knobs, **chains)
        return estimators

    def run(self, number: int, algorithm: Trainer) -> "StudyRun":
        """Return the ``number``-th run of a worker; ``algorithm`` trains the models."""
        return StudyRun(number, self, algorithm)

    def seconds_of_step(self, algorithm: Trainer) -> float:
        """Estimate the seconds of a step."""
        return 0.0

    def bytes(self, algorithm: Trainer) -> int:
        """Return an upper bound on the bytes of a run, without the data."""
        m = self.dataset.n_visible
        each = [(n, trainer) for n in self.sizes for trainer in self.estimators().values()]
        return sum(RUNS * trainer.state_bytes(m, n) for n, trainer in each)


@dataclass(frozen=True, eq=False)
class StudiedModel:
    """One trained model and its measurements.

    n_hidden : number of hidden units
    log_likelihood : mean over the training examples, in nats
    ess : effective sample size over batch size, 0 to 1, by number k of sweeps of pop-CD
    qualities : measured quality, by estimator label; estimators not yet measured are missing
    """

    n_hidden: int
    log_likelihood: float
    ess: dict[int, float]
    qualities: dict[str, GradientQuality]


@dataclass(frozen=True, eq=False, kw_only=True)
class StudySnapshot(Snapshot):
    """A study at one moment; its steps are pieces of work that take milliseconds.

    stage : current work, in a few words
    models : the models trained so far, smallest first
    estimates : number of estimates that every estimator has made on every model
    """

    stage: str
    models: tuple[StudiedModel, ...]
    estimates: int


class EstimatorOnModel:
    """One estimator on one model: independent runs that make one estimate at a time."""

    def __init__(self, plan: StudySetup, rbm: RBM, reference: GradientReference, trainer: Trainer) -> None:
        data = plan.dataset.train
        self._reference = reference
        self._endless = [endless_run(rbm, data, trainer, i, plan.seed, STUDY_BURN_IN) for i in range(RUNS)]
        self.quality: GradientQuality | None = None

    def work(self) -> Iterator[None]:
        """Make one more estimate in each run; yield after each."""
        runs: list[EstimatorRun] = []
        for endless in self._endless:
            runs.append(next(endless))
            yield
        self.quality = quality(self._reference, runs)


class StudyRun(Run):
    """Train and measure a model of each size, then measure all models in turn; a step is a piece of work."""

    plan: StudySetup
    algorithm: Trainer

    def __init__(self, number: int, plan: StudySetup, trainer: Trainer) -> None:
        super().__init__(number, plan, trainer)
        self._estimates = 0
        self._stage = "Compiling the kernels"
        self._models: dict[int, tuple[float, dict[int, float], dict[str, EstimatorOnModel]]] = {}
        self._work = self._all()

    def jobs(self) -> list[str]:
        """Return the names of the jobs that compile the kernels of all estimators."""
        estimators = self.plan.estimators().values()
        visible = self.plan.dataset.n_visible
        jobs = [job for trainer in estimators for job in jobs_of_trainer(trainer.name, visible)]
        return [*jobs, *jobs_of_log_z(exact=True)]

    def prepare(self) -> None:
        """Compile the kernels, on a model with one hidden unit."""
        data = self.plan.dataset.train
        for trainer in self.plan.estimators().values():
            trainer.step(trainer.init(initial_rbm(data, 1, 0), data, 0), 1)
        self.prepared = True

    def _all(self) -> Iterator[None]:
        for n_hidden in self.plan.sizes:
            yield from self._grow(n_hidden)
            for _ in range(2):  # a standard error needs two estimates
                yield from self._measure(n_hidden)
        while self._estimates < MAX_ESTIMATES:
            for n_hidden in self.plan.sizes:
                yield from self._measure(n_hidden)
            self._estimates = min(
                cell.quality.replications
                for *_, cells in self._models.values()
                for cell in cells.values()
                if cell.quality is not None
            )
        self._stage = FINISHED

    def _grow(self, n_hidden: int) -> Iterator[None]:
        dataset, batch, updates, seed = self.plan
        data, trainer = dataset.train, self.algorithm
        self._stage = f"Training {n_hidden} hidden unit{'s' * (n_hidden > 1)} by {trainer.label}"
        state = trainer.init(initial_rbm(data, n_hidden, seed, trainer), data, seed)
        progress = trainer.step(state, 1)
        while progress.update < updates:
            progress = trainer.step(state, min(20, updates - progress.update))
            yield
        rbm = progress.rbm
        ess = {}
        for k in STUDIED_SWEEPS:
            share = 0.0
            for i in range(BATCHES_PER_ESS):
                rows = rng.generator(seed, f"weighed {k}", i).integers(len(data), size=batch)
                share += pop_weights(rbm, data[rows], k, rng.child(seed, f"weights {k}", i)).ess / batch
                yield
            ess[k] = share / BATCHES_PER_ESS
        reference = enumerated(rbm, data)
        cells = {
            label: EstimatorOnModel(self.plan, rbm, reference, trainer)
            for label, trainer in self.plan.estimators().items()
        }
        likelihood = float(-rbm.free_energy(data).mean()) - log_z(rbm)
        self._models[n_hidden] = likelihood, ess, cells
        yield

    def _measure(self, n_hidden: int) -> Iterator[None]:
        self._stage = f"Measuring {n_hidden} hidden unit{'s' * (n_hidden > 1)}"
        for cell in self._models[n_hidden][2].values():
            yield from cell.work()

    @property
    def over(self) -> bool:
        """Whether all work is done."""
        return self._stage == FINISHED

    def max_steps(self) -> int:
        """Return the maximum number of pieces in a chunk of about CHUNK_SECONDS; 0 when all work is done."""
        return 0 if self.over else self.chunk

    def advance(self, n: int) -> int:
        """Do n pieces of work; the last chunk may have fewer."""
        begin = time.perf_counter()
        done = 0
        for _ in range(n):
            if next(self._work, self) is self:
                break
            done += 1
            # Times of pieces vary a hundredfold.
            if time.perf_counter() - begin > CHUNK_SECONDS:
                break
        spent = time.perf_counter() - begin
        self.seconds += spent
        self.size_chunk(done, spent)
        return done

    def view(self, status: Status) -> StudySnapshot:
        """Return the snapshot of this run."""
        models = []
        for n_hidden, (likelihood, ess, cells) in self._models.items():
            qualities = {label: cell.quality for label, cell in cells.items() if cell.quality is not None}
            models.append(StudiedModel(n_hidden, likelihood, ess, qualities))
        return StudySnapshot(
            **self.common(status),
            stage=self._stage,
            models=tuple(models),
            estimates=self._estimates,
        )
