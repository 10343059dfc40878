"""Runs that draw importance weights: batches weighted as in an update of pop-CD, with weight statistics."""

import copy
import functools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.metrics import log_z
from rbmviz.metrics.ais import ais_steps
from rbmviz.metrics.importance_weights import EssAtSize, LogMean, ess_by_size, heaviest_shares
from rbmviz.rbm import RBM, Model
from rbmviz.rbm.parameters import FixedParameters
from rbmviz.session.run import CHUNK_SECONDS, Run, seconds_of_step
from rbmviz.session.sampling import Start
from rbmviz.session.snapshot import Snapshot, Status
from rbmviz.session.warm import jobs_of_log_z
from rbmviz.trainers.batches import USUAL_BATCH
from rbmviz.trainers.pop_cd import PopCD, Population

MAX_WEIGHTS = 2**16
"""Number of newest weights used for the histogram, shares and effective sample sizes."""

TILES = 6
"""Number of heaviest, and of lightest, samples of the newest batch that are shown."""

HISTOGRAM_BINS = 60
"""Number of bins of the histogram of log weights."""

SUMMARY_SECONDS = 0.5
"""Seconds between two computations of the ``Summary``."""

RANDOM_STARTS = 1000
"""Number of rows of random bits for chains that do not start at training examples."""

MAX_UNITS_EXACT_LOG_Z = 20
"""Maximum size of the smaller layer for enumerating log Z (one second); larger models use AIS."""

REFERENCE_CHAINS, REFERENCE_TEMPERATURES = 64, 2000
"""Numbers of chains and temperatures of this AIS, which takes a few seconds in all."""


class LogZ(NamedTuple):
    """A reference value of log Z, in nats.

    log_z, std_error : the value, and its standard error (0 if the value is exact)
    method : method of computation
    warning : one sentence if AIS is unreliable, else empty
    """

    log_z: float
    std_error: float
    method: str
    warning: str = ""


class ReferenceLogZ:
    """The reference log Z of a model, computed in small pieces by any run with idle time.

    value : the result; None until it is complete
    """

    def __init__(self, model: Model) -> None:
        self.value: LogZ | None = None
        self._model = model
        self._work: Iterator[None] | None = self._find()
        self._at_work = threading.Lock()

    def work(self, seconds: float) -> bool:
        """Work for ``seconds``; return False if no work is left, or another run is doing it."""
        if self._work is None or not self._at_work.acquire(blocking=False):
            return False
        try:
            end = time.perf_counter() + seconds
            while self._work is not None and time.perf_counter() < end:
                if next(self._work, self) is self:  # also after an error, which its run has already shown
                    self._work = None
        finally:
            self._at_work.release()
        return True

    def _find(self) -> Iterator[None]:
        rbm = self._model.rbm
        if _is_small(rbm):
            self.value = LogZ(log_z(rbm), 0.0, "exact")
            return
        estimate = yield from ais_steps(self._model, n_chains=REFERENCE_CHAINS, betas=REFERENCE_TEMPERATURES)
        self.value = LogZ(estimate.log_z, estimate.std_error, "ais", estimate.warning)


def _is_small(rbm: RBM) -> bool:
    """Return whether log Z is computed exactly."""
    return min(rbm.n_visible, rbm.n_hidden) <= MAX_UNITS_EXACT_LOG_Z


@functools.lru_cache(maxsize=8)
def reference_log_z(model: Model) -> ReferenceLogZ:
    """Return the reference log Z of a model, shared by all runs on that model."""
    return ReferenceLogZ(model)


class WeightSetup(NamedTuple):
    """The setup of a race of populations, and the plan of each run.

    model : the model, which is not trained
    dataset : data at whose training examples chains start; None: chains start at random bits
    seed : random seed; the same seed gives the same batches
    start_from : whether chains start at training examples or at random bits
    """

    model: Model
    dataset: Dataset | None = None
    seed: int = 0
    start_from: Start = "data"

    def plan(self) -> "WeightSetup":
        """Return the plan of each run."""
        return self

    def starts(self) -> np.ndarray:
        """Return the rows at which chains start, uint8 (n, n_visible).

        Raises BadInput if the data are not as wide as the model.
        """
        n_visible = self.model.rbm.n_visible
        if self.start_from == "random" or self.dataset is None:
            shape = (RANDOM_STARTS, n_visible)
            return rng.generator(self.seed, "random starts").integers(0, 2, shape, dtype=np.uint8)
        if self.dataset.n_visible != n_visible:
            raise BadInput(
                f"{self.dataset.name} has {self.dataset.n_visible} units and the model {n_visible}: "
                "choose other data."
            )
        return self.dataset.train

    def run(self, number: int, algorithm: PopCD) -> "WeightRun":
        """Return the ``number``-th run of a panel."""
        return WeightRun(number, self, algorithm)

    def seconds_of_step(self, trainer: PopCD) -> float:
        """Estimate the seconds of a batch."""
        chains = trainer.n_chains or trainer.batch_size or USUAL_BATCH
        return seconds_of_step(trainer, chains, *self.model.rbm.W.shape)


@dataclass(frozen=True, eq=False)
class Batch:
    """The newest batch, heaviest sample first.

    log_weights : float64 (n,); log weights, in descending order
    shares : float64 (n,); normalised weights; their sum is 1
    v : uint8 (n, n_visible); the samples
    ess : effective sample size of the batch
    """

    log_weights: np.ndarray
    shares: np.ndarray
    v: np.ndarray
    ess: float

    @classmethod
    def of(cls, population: Population) -> "Batch":
        """Return a population as a batch, sorted by weight."""
        order = np.argsort(-population.log_weights, kind="stable")
        v = population.v[order].astype(np.uint8)
        return cls(population.log_weights[order], population.weights[order], v, population.ess)


@dataclass(frozen=True, eq=False)
class Summary:
    """Statistics of the newest (at most MAX_WEIGHTS) weights of a run.

    n : number of weights
    low, high : ends of the histogram, in nats
    counts : int64 (HISTOGRAM_BINS,); the histogram of the log weights
    samples, held : float64 (points,); shares of the samples, heaviest first, and the share of the total
        weight that these hold
    sizes : effective sample sizes of batches of different sizes
    """

    n: int
    low: float
    high: float
    counts: np.ndarray
    samples: np.ndarray
    held: np.ndarray
    sizes: list[EssAtSize]

    @classmethod
    def of(cls, log_weights: np.ndarray) -> "Summary":
        """Return the summary of weights, float64 (n,), n > 0."""
        low, high = float(log_weights.min()), float(log_weights.max())
        if high - low < 1e-6:  # all weights are equal
            low, high = low - 0.5, high + 0.5
        counts, _ = np.histogram(log_weights, HISTOGRAM_BINS, (low, high))
        samples, held = heaviest_shares(log_weights)
        return cls(len(log_weights), low, high, counts, samples, held, ess_by_size(log_weights))


class LogZEstimate(NamedTuple):
    """Log of the mean of the first n weights, with its standard error (NaN after one batch), in nats."""

    n: int
    log_z: float
    std_error: float


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightSnapshot(Snapshot):
    """A run of weighted batches at one moment; its steps are batches.

    summary : statistics, computed twice per second; None before the first batch
    estimates : estimates of log Z at log-spaced numbers of weights
    newest : the estimate from all weights so far
    ess_share, max_share : effective sample size over batch size, and the largest share of a sample in its
        batch; means over the batches
    pooled : number of weights since the start or the last knob change. All fields describe these weights;
        ``summary`` uses only the newest ``MAX_WEIGHTS`` of them.
    reference : the reference value of log Z, exact or by AIS; None until it is computed
    """

    algorithm: PopCD
    batch: Batch | None
    summary: Summary | None
    estimates: tuple[LogZEstimate, ...]
    newest: LogZEstimate | None
    ess_share: float
    max_share: float
    pooled: int
    reference: LogZ | None
    n_visible: int

    def without_arrays(self) -> Self:
        """Return the snapshot with numbers and curves, but without the newest batch."""
        return replace(self, batch=None)


class WeightRun(Run):
    """Batches of pop-CD on a fixed model; a step is a batch."""

    plan: WeightSetup
    algorithm: PopCD
    has_background_work = True

    def __init__(self, number: int, plan: WeightSetup, trainer: PopCD) -> None:
        super().__init__(number, plan, trainer)
        self._reference, self._shown_reference = reference_log_z(plan.model), False
        self._clear()

    def _clear(self) -> None:
        self._log_weights = np.zeros(0)
        self._total = LogMean()
        self._ess = self._largest = 0.0
        self._estimates: list[LogZEstimate] = []
        self._next_estimate_at = 1.0
        self._batch: Batch | None = None
        self._summary: Summary | None = None
        self._summarised_at = 0.0

    def jobs(self) -> list[str]:
        """Return the names of the jobs that compile the kernels of pop-CD and of the reference log Z."""
        rbm = self.plan.model.rbm
        return [*jobs_of_log_z(_is_small(rbm)), "weights"]

    def prepare(self) -> None:
        """Make the state, and compile the kernels; ``seconds`` excludes this time."""
        rbm, rows, seed = self.plan.model.rbm, self.plan.starts(), self.plan.seed
        self._draw(self.algorithm.init(rbm, rows, seed))
        self._state = self.algorithm.init(rbm, rows, seed)
        self.prepared = True

    def copied_state(self) -> Any:
        """Return a copy of the state, which shares the starts."""
        rows = self._state.batches.data
        return copy.deepcopy(self._state, {id(rows): rows})

    def put_back(self, state: Any) -> None:
        """Take the state from before a batch that was stopped."""
        self._state = state

    def _draw(self, state) -> Population:  # type: ignore[no-untyped-def]
        # Draw the negative statistics of one update, without updating.
        batch = state.batches.next(self.algorithm.batch_size)
        self.algorithm.negative(state, FixedParameters(*state.theta), batch)
        return state.own_state

    def advance(self, n: int) -> list[Population]:
        """Draw n batches, and spend the same time on the reference value of log Z."""
        if len(self._log_weights) and time.perf_counter() - self._summarised_at > SUMMARY_SECONDS:
            self._summarise()
        begin = time.perf_counter()
        populations = [self._draw(self._state) for _ in range(n)]
        spent = time.perf_counter() - begin
        self.seconds += spent
        self.size_chunk(n, spent)
        self._reference.work(spent)
        return populations

    def record_steps(self, populations: list[Population]) -> None:
        """Count the batches that ``advance`` has drawn."""
        for population in populations:
            self._total.update(population.log_weights)
            self._ess += population.ess / len(population.log_weights)
            self._largest += population.max_weight
            if self._total.n >= self._next_estimate_at:
                self._estimates.append(self._estimate())
                self._next_estimate_at = max(self._total.n, self._next_estimate_at * 10**0.05)
        self.n += len(populations)
        self._batch = Batch.of(populations[-1])
        all_weights = np.concatenate(
            [self._log_weights, *(population.log_weights for population in populations)]
        )
        self._log_weights = all_weights[-MAX_WEIGHTS:]

    def _estimate(self) -> LogZEstimate:
        return LogZEstimate(self._total.n, self._total.value, self._total.std_error)

    def _summarise(self) -> None:
        self._summary = Summary.of(self._log_weights)
        self._summarised_at = time.perf_counter()

    def set_knobs(self, algorithm: PopCD) -> None:
        """Use these knobs, and drop all weights so that weights of different proposals are not mixed."""
        super().set_knobs(algorithm)
        self._clear()

    def background_work(self, paused: bool) -> bool:
        """Compute a slice of the reference log Z or, while paused, update the summary."""
        if not self.prepared:
            return False
        if self._reference.work(CHUNK_SECONDS):
            return True
        if self._reference.value is not None and not self._shown_reference:
            self._shown_reference = True  # computed by another run
            return True
        in_summary = 0 if self._summary is None else self._summary.n
        if paused and in_summary != len(self._log_weights):
            self._summarise()
            return True
        return False

    def log_weights(self) -> np.ndarray:
        """Return the newest (at most MAX_WEIGHTS) log weights, float64 (n,)."""
        return self._log_weights

    def view(self, status: Status) -> WeightSnapshot:
        """Return the snapshot of this run."""
        batches = max(self._total.batches, 1)
        return WeightSnapshot(
            **self.common(status),
            batch=self._batch,
            summary=self._summary,
            estimates=tuple(self._estimates),
            newest=self._estimate() if self._total.batches else None,
            ess_share=self._ess / batches,
            max_share=self._largest / batches,
            pooled=self._total.n,
            reference=self._reference.value,
            n_visible=self.plan.model.rbm.n_visible,
        )
