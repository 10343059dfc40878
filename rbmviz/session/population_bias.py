"""The bias of pop-CD by number of samples, measured on a small model with up to 10^6 samples.

Population CD, section 3.2: the estimate is consistent, so its bias vanishes as the population grows, provided
that a batch can contain the heaviest weights. On a model whose samples miss part of the probability, the
bias stops falling until the population is large enough to contain the missing heavy samples.
"""

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.gradient import EstimatorRun, GradientQuality, GradientReference, quality
from rbmviz.metrics import log_z
from rbmviz.metrics.exact import model_statistics, too_large
from rbmviz.rbm import RBM
from rbmviz.session.importance_weights import WeightSetup
from rbmviz.session.run import Run
from rbmviz.session.snapshot import Snapshot, Status
from rbmviz.session.warm import jobs_of_log_z, jobs_of_trainer
from rbmviz.trainers.parameters import FixedParameters
from rbmviz.trainers.pop_cd import PopCD, populate

POPULATION_RUNS = 8
"""Number of independent runs, from which the errors of the biases are estimated."""

GROWTH = 4
"""Ratio of consecutive population sizes."""

POPULATION_SIZES = tuple(GROWTH**i for i in range(1, 11))
"""Population sizes, from 4 to 1,048,576 samples."""

BLOCK = 4096
"""Number of samples in a step, one of POPULATION_SIZES."""

FINE_BLOCKS = 32
"""Number of blocks of each run that also form populations smaller than a block."""

MAX_UNITS_POPULATION = 64
"""Maximum number of units of the larger layer; larger models would take minutes."""

PLAIN_CD = "CD"
"""Name of the unweighted estimate."""


class PopulationSetup(NamedTuple):
    """The setup of a measurement, and the plan of its run.

    weights : the model, which must be small enough for exact statistics; the rows at which chains start,
        all equally often; and the seed
    """

    weights: WeightSetup

    @property
    def rbm(self) -> RBM:
        """The model."""
        return self.weights.model.rbm

    def plan(self) -> "PopulationSetup":
        """Return the plan of each run; BadInput if the model is too large."""
        if refusal := too_large(self.rbm):
            raise BadInput(f"{refusal}; the bias is measured against the exact statistics.")
        if max(self.rbm.n_visible, self.rbm.n_hidden) > MAX_UNITS_POPULATION:
            raise BadInput(f"A million samples are drawn of models with up to {MAX_UNITS_POPULATION} units.")
        return self

    def run(self, number: int, algorithm: PopCD) -> "PopulationRun":
        """Return the ``number``-th run of a worker."""
        return PopulationRun(number, self, algorithm)

    def seconds_of_step(self, algorithm: PopCD) -> float:
        """Estimate the seconds of a step."""
        return 0.0

    def bytes(self, algorithm: PopCD) -> int:
        """Return an upper bound on the bytes of a run."""
        parameters = self.rbm.W.size + self.rbm.b.size + self.rbm.c.size
        return 8 * parameters * (2 * BLOCK // GROWTH + 4 * POPULATION_RUNS * len(POPULATION_SIZES))


@dataclass(frozen=True, eq=False, kw_only=True)
class PopulationSnapshot(Snapshot):
    """A measurement at one moment; its steps are blocks of BLOCK samples.

    pop_cd : bias and variance by number of samples per estimate, for the sizes known so far
    cd : bias and variance of CD, whose bias does not depend on the number of samples
    """

    pop_cd: dict[int, GradientQuality]
    cd: GradientQuality | None


def _sums(v: np.ndarray, h: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Return the sums of weighted statistics, and of weights, over consecutive groups of ``size`` samples.

    v, h, weights : float64 (n, n_visible), (n, n_hidden) and (n,); result : (n / size, parameters + 1)
    """
    groups = len(v) // size
    v, h = (weights[:, None] * v).reshape(groups, size, -1), h.reshape(groups, size, -1)
    ones = weights.reshape(groups, size, 1)
    products = np.matmul(v.transpose(0, 2, 1), h).reshape(groups, -1)
    total_h = np.matmul(ones.transpose(0, 2, 1), h)[:, 0]
    return np.concatenate([products, v.sum(axis=1), total_h, ones.sum(axis=1)], axis=1)


class _Stream:
    """The estimates of one independent run, by number of samples per estimate."""

    def __init__(self, n_parameters: int, stream: np.ndarray) -> None:
        self.stream, self._blocks = stream, 0
        nothing = 0, np.zeros(n_parameters), 0.0
        self._noted = dict.fromkeys((PLAIN_CD, *POPULATION_SIZES), nothing)
        self._waiting: dict[int, list[np.ndarray]] = {size: [] for size in POPULATION_SIZES if size >= BLOCK}

    def _note(self, what: str | int, sums: np.ndarray) -> None:
        estimates = sums[:, :-1] / sums[:, -1:]
        n, total, square = self._noted[what]
        self._noted[what] = n + len(sums), total + estimates.sum(axis=0), square + float((estimates**2).sum())

    def add(self, v: np.ndarray, h: np.ndarray, weights: np.ndarray) -> None:
        """Add a block of samples with the means of their hidden units."""
        self._note(PLAIN_CD, _sums(v, h, np.ones(BLOCK), BLOCK))
        # The first blocks give more than enough small populations.
        size = POPULATION_SIZES[0] if self._blocks < FINE_BLOCKS else BLOCK
        self._blocks += 1
        sums = _sums(v, h, weights, size)
        while True:
            self._note(size, sums)
            if size == POPULATION_SIZES[-1]:
                return
            if size >= BLOCK:
                waiting = self._waiting[size]
                waiting.append(sums)
                if len(waiting) < GROWTH:
                    return
                self._waiting[size], sums = [], np.concatenate(waiting)
            size, sums = size * GROWTH, sums.reshape(-1, GROWTH, sums.shape[1]).sum(axis=1)

    def estimate(self, what: str | int) -> EstimatorRun | None:
        """Return the estimates by CD, or by pop-CD with this number of samples; None before the first."""
        n, total, square = self._noted[what]
        return EstimatorRun(n, total / n, square / n) if n else None


class PopulationRun(Run):
    """Draw blocks of weighted samples in turn for each of POPULATION_RUNS runs; a step is a block."""

    plan: PopulationSetup
    algorithm: PopCD

    def __init__(self, number: int, plan: PopulationSetup, algorithm: PopCD) -> None:
        super().__init__(number, plan, algorithm)
        self._pop_cd: dict[int, GradientQuality] = {}
        self._cd: GradientQuality | None = None

    def jobs(self) -> list[str]:
        """Return the names of the jobs that compile the kernels."""
        return [*jobs_of_trainer("pop_cd", *self.plan.rbm.W.shape), *jobs_of_log_z(exact=True)]

    def prepare(self) -> None:
        """Compute the exact statistics and log Z."""
        rbm, seed, starts = self.plan.rbm, self.plan.weights.seed, self.plan.weights.starts()
        self._theta = FixedParameters(rbm.W, rbm.b, rbm.c)
        exact = model_statistics(rbm)
        target = np.concatenate([np.ravel(x) for x in (exact.W, exact.b, exact.c)], dtype=np.float64)
        self._reference, self._log_z = GradientReference("enumeration", target[None]), log_z(rbm)
        names = [rng.child(seed, "population", i) for i in range(POPULATION_RUNS)]
        self._streams = [_Stream(len(target), rng.kernel_state(name, "chain")) for name in names]
        # Use all starts equally often, so that a population starts from the data, not from a random draw.
        order = np.resize(np.arange(len(starts)), BLOCK)
        self._starts = starts[rng.generator(seed, "starts").permutation(order)].astype(np.float32)
        self.prepared = True

    @property
    def over(self) -> bool:
        """Whether every run has a population of the largest size."""
        return self.n >= POPULATION_RUNS * POPULATION_SIZES[-1] // BLOCK

    def max_steps(self) -> int:
        """Return the maximum number of blocks in a chunk; 0 when all blocks are done."""
        return 0 if self.over else min(self.chunk, POPULATION_RUNS - self.n % POPULATION_RUNS)

    def advance(self, n: int) -> int:
        """Draw n blocks; after each round over the runs, compare the estimates with the exact statistics."""
        begin = time.perf_counter()
        theta, (k, proposal, mixture) = self._theta, self._knobs()
        for i in range(self.n, self.n + n):
            stream = self._streams[i % POPULATION_RUNS]
            population = populate(theta, self._starts, k, proposal, mixture, stream.stream)
            v, h = population.v.astype(np.float64), self.plan.rbm.mean_hidden(population.v).astype(np.float64)
            stream.add(v, h, np.exp(population.log_weights - self._log_z))
        if (self.n + n) % POPULATION_RUNS == 0:
            self._measure()
        spent = time.perf_counter() - begin
        self.seconds += spent
        self.size_chunk(n, spent)
        return n

    def _knobs(self) -> tuple[int, str, int]:
        return self.algorithm.k, self.algorithm.proposal, self.algorithm.mixture

    def _measure(self) -> None:
        qualities = {}
        for what in (PLAIN_CD, *POPULATION_SIZES):
            runs = [run for stream in self._streams if (run := stream.estimate(what)) is not None]
            if len(runs) == POPULATION_RUNS:
                qualities[what] = quality(self._reference, runs)
        self._cd = qualities.pop(PLAIN_CD)
        self._pop_cd = qualities

    def view(self, status: Status) -> PopulationSnapshot:
        """Return the snapshot of this run."""
        return PopulationSnapshot(**self.common(status), pop_cd=self._pop_cd, cd=self._cd)
