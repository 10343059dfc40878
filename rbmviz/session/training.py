"""A trainer's run on a data set: replicates, likelihood, fantasy samples, snapshots."""

import bisect
import copy
import math
import operator
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from rbmviz import kernels, metrics, rng
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.knobs import knobs_of, values_of
from rbmviz.metrics.ais import MIN_ESS, ais_steps
from rbmviz.metrics.monte_carlo import MONTE_CARLO_CHAINS, MONTE_CARLO_SWEEPS, monte_carlo_steps
from rbmviz.rbm import RBM, Model
from rbmviz.session.equal_points import CostUnit
from rbmviz.session.run import CHUNK_SECONDS, Run, seconds_of_step
from rbmviz.session.snapshot import NewestSamples, Snapshot, Status
from rbmviz.session.warm import jobs_of_log_z, jobs_of_trainer
from rbmviz.support.blas import one_blas_thread
from rbmviz.trainers import Progress, Trainer, finished, initial_rbm, trained_model
from rbmviz.trainers.batches import USUAL_BATCH
from rbmviz.trainers.checkpoint import load_checkpoint, save_checkpoint
from rbmviz.trainers.likelihood import (
    LIVE_AIS_CHAINS,
    LIVE_AIS_TEMPERATURES,
    climb,
    method_of,
    scored_examples,
)

FANTASY_CHAINS = 144
"""Number of fantasy chains, enough for a 12 x 12 grid."""

MAX_POINTS = 160
"""Maximum number of points of a curve; longer curves keep only every second point, past and future."""

MAX_HIDDEN, MAX_REPLICATES = 2000, 100
"""Maximum numbers of hidden units and of replicates of a training on a page."""

FIRST_SWEEPS_SECONDS = 0.1
"""Seconds of sweeps that move fantasy chains away from random bits before a run's first frame."""

SCORING_SHARE = 1.0
"""Seconds of scoring per second of training at full speed; at a fixed rate, scoring also uses idle time."""


_FIELDS: dict[CostUnit, str] = {"updates": "update", "sweeps": "sweeps", "seconds": "seconds"}
"""Fields of curve points, by unit of comparison."""


BAND_OF_REPLICATES = (0.025, 0.975)
"""Quantiles of the replicates at the edges of a band."""

DISTRIBUTION_BINS = 30
"""Approximate maximum number of bins of a distribution over an update's chains."""


def _mean_and_band(values: np.ndarray) -> tuple[float, float, float]:
    with np.errstate(invalid="ignore"):  # quantiles of infinite values
        low, high = np.quantile(values, BAND_OF_REPLICATES)
    return float(values.mean()), float(low), float(high)


LIVE_MONTE_CARLO_ROWS = 50
"""Number of evenly spaced training examples in the Monte Carlo average; one costs as much as AIS for many."""


class Yardstick(NamedTuple):
    """A log-likelihood of the data.

    label : name on the page; part : part of the data that is scored, "train" or "test"; needs_log_z : whether
    the likelihood depends on log Z, and so on the error of AIS if log Z is estimated
    """

    label: str
    part: str
    needs_log_z: bool = True


YARDSTICKS = {
    "train": Yardstick("training", "train"),
    "test": Yardstick("held out", "test"),
    "monte_carlo": Yardstick("Monte Carlo", "train", needs_log_z=False),
    "pseudo": Yardstick("pseudo", "train", needs_log_z=False),
}
"""The likelihoods of a training, by field name of ``Likelihood``."""


class Likelihood(NamedTuple):
    """Mean log-likelihood of the replicates after an update, in nats per example; float64 (replicates,).

    sweeps, seconds : sweeps of all chains (0 if the trainer counts none), and training time
    train, test : mean over training and over test examples; NaN without a test part
    std_error : standard error of AIS; 0 if log Z is exact
    ess : effective sample size of the ``LIVE_AIS_CHAINS`` weights; NaN if log Z is exact
    monte_carlo : ``metrics.monte_carlo_likelihood`` of ``LIVE_MONTE_CARLO_ROWS`` training examples; NaN if
        not requested
    pseudo : ``metrics.pseudo_likelihood`` of the training examples
    """

    update: int
    sweeps: float
    seconds: float
    train: np.ndarray
    test: np.ndarray
    std_error: np.ndarray
    ess: np.ndarray
    monte_carlo: np.ndarray
    pseudo: np.ndarray

    @property
    def has_average(self) -> bool:
        """Whether the Monte Carlo average was computed."""
        return bool(np.isfinite(self.monte_carlo).any())

    @property
    def doubtful_ess(self) -> float | None:
        """The smallest effective sample size if it is too small for a reliable estimate, else None."""
        least = np.nanmin([*self.ess, np.inf])
        return float(least) if least < MIN_ESS else None

    def band(self, yardstick: str) -> tuple[float, float, float]:
        """Return mean, low and high of one of YARDSTICKS; NaN if a value is not finite.

        The band covers the middle 95 % of the replicates; for a single replicate, two standard errors of AIS
        on each side, if the yardstick needs log Z.
        """
        values: np.ndarray = getattr(self, yardstick)
        if len(values) == 1:
            spread = 2 * float(self.std_error[0]) if YARDSTICKS[yardstick].needs_log_z else 0.0
            return float(values[0]), float(values[0]) - spread, float(values[0]) + spread
        return _mean_and_band(values)


def thinned(likelihoods: Sequence[Likelihood]) -> list[Likelihood]:
    """Return every second likelihood, and the best one, so that ``below_best`` does not change."""
    means = [float(likelihood.train.mean()) for likelihood in likelihoods]
    best = max(range(len(means)), key=lambda i: means[i] if math.isfinite(means[i]) else -math.inf)
    return [likelihood for i, likelihood in enumerate(likelihoods) if i % 2 == 0 or i == best]


class Trace(NamedTuple):
    """Statistics of the trainer after ``update`` updates, by name: float64 (replicates,)."""

    update: int
    sweeps: float
    seconds: float
    stats: dict[str, np.ndarray]

    def band(self, statistic: str) -> tuple[float, float, float]:
        """Return mean and middle 95 % of the replicates; NaN if a value is missing or not finite."""
        return _mean_and_band(self.stats.get(statistic, np.array([np.nan])))


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingSnapshot(Snapshot):
    """A trainer's run at one moment; its steps are updates, including those before a branch.

    models : the newest finite parameters of every replicate
    fantasy : newest states of ``FANTASY_CHAINS`` Gibbs chains of replicate 0; None before the run is prepared
    method : method of computing log Z, "exact" or "ais"
    newest : current statistics by name, averaged over the replicates
    per_chain : values of each chain in the last update (meeting times, log weights), by label
    warning : one sentence about a problem with replicate 0, or empty
    sweeps : sweeps of all chains so far, averaged over the replicates
    """

    algorithm: Trainer
    models: tuple[RBM, ...]
    fantasy: NewestSamples | None
    method: str
    likelihoods: tuple[Likelihood, ...]
    traces: tuple[Trace, ...]
    newest: dict[str, float]
    per_chain: dict[str, np.ndarray]
    warning: str
    sweeps: float = 0.0

    def distribution(self, label: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Return edges (bins + 1,) and shares (bins,) of a quantity of ``per_chain`` over the chains.

        Bins of whole numbers (meeting times) range from one edge to below the next, and become wider; bins of
        other numbers (log weights) have equal widths. None: there is no such quantity, or no value yet.
        """
        values = self.per_chain.get(label, np.zeros(0))
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        if values.dtype.kind == "i":
            widening = np.geomspace(values.min(), values.max() + 1, DISTRIBUTION_BINS)
            edges = np.unique(np.rint(widening).astype(np.int64))
        else:
            edges = np.histogram_bin_edges(values, DISTRIBUTION_BINS)
        counts, edges = np.histogram(values, edges)
        return edges, counts / len(values)

    @property
    def ended(self) -> bool:
        """Whether the training has ended, so that it keeps its last likelihood and delays no other run."""
        return self.status == "finished"

    def passed(self, cost_unit: CostUnit) -> float | None:
        """Return the last update, sweep or second with a known likelihood.

        None for sweeps if the trainer does not count them, and for samples, which a training does not draw.
        """
        if cost_unit == "samples":
            return None
        if not self.likelihoods:
            return 0
        newest = self.likelihoods[-1]
        if cost_unit == "sweeps" and newest.update and not newest.sweeps:
            return None
        return float(getattr(newest, _FIELDS[cost_unit]))

    def scores_at(self, cost_unit: CostUnit, point: float) -> Likelihood | None:
        """Return the likelihood at a point, by linear interpolation between the neighbouring updates.

        None if the run has not passed the point, or started after it, as a branch may.
        """
        passed = self.passed(cost_unit)
        if passed is None:
            return None
        if self.ended and point > passed and self.likelihoods:
            return self.likelihoods[-1]  # training has ended
        name = _FIELDS[cost_unit]
        i = bisect.bisect_right(self.likelihoods, point, key=operator.attrgetter(name)) - 1
        if i < 0 or point > passed:
            return None
        a = self.likelihoods[i]
        if point == getattr(a, name):
            return a
        b = self.likelihoods[i + 1]
        weight = (point - getattr(a, name)) / (getattr(b, name) - getattr(a, name))
        pairs: Iterator[tuple[Any, Any]] = zip(a, b, strict=True)
        interpolated = Likelihood(*(x + weight * (y - x) for x, y in pairs))
        return interpolated._replace(update=int(interpolated.update))

    def without_arrays(self) -> Self:
        """Return the snapshot with curves, but without models and samples."""
        return replace(self, models=(), fantasy=None, traces=(), per_chain={})


class WarmStart(NamedTuple):
    """Where a run starts that goes on from parameters of another one, or of a model.

    models : parameters of each replicate
    update, seconds, sweeps : updates, training time and sweeps of all chains up to the branch
    path : label of each trainer so far, and the update at which it began
    """

    models: tuple[RBM, ...]
    update: int
    seconds: float
    path: tuple[tuple[str, int], ...]
    sweeps: float = 0.0


class TrainingPlan(NamedTuple):
    """Plan of a trainer's run.

    n_hidden : number of hidden units
    seed, replicates : replicates have the seeds seed, seed + 1, ..., and each equals ``rbmviz.train`` with
        its seed
    warm_start : start at these parameters (a warm start; UCD, figure 9); None: at small random weights
    checkpoint : continue from this checkpoint, with one replicate; empty: no checkpoint
    """

    dataset: Dataset
    n_hidden: int
    seed: int = 0
    replicates: int = 1
    warm_start: WarmStart | None = None
    checkpoint: bytes = b""

    def first_models(self, trainer: Trainer) -> tuple[RBM, ...]:
        """Return the initial parameters of every replicate of a trainer."""
        if self.warm_start is not None:
            return self.warm_start.models
        data = self.dataset.train
        return tuple(initial_rbm(data, self.n_hidden, self.seed + r, trainer) for r in range(self.replicates))

    def run(self, number: int, algorithm: Trainer) -> "TrainingRun":
        """Return the ``number``-th run of a panel."""
        return TrainingRun(number, self, algorithm)

    def seconds_of_step(self, trainer: Trainer) -> float:
        """Estimate the seconds of an update of all replicates."""
        chains = max(getattr(trainer, "n_chains", 0), trainer.batch_size or USUAL_BATCH)
        units = self.dataset.n_visible, self.n_hidden
        return self.replicates * seconds_of_step(trainer, chains, *units)


class TrainingSetup(NamedTuple):
    """The setup of a race of trainers: data, hidden units, seed, replicates."""

    dataset: Dataset
    n_hidden: int = 16
    seed: int = 0
    replicates: int = 1

    @property
    def kept_seconds(self) -> float:
        """Seconds for which runs are kept after their page was closed: trainings take long to repeat."""
        return 600.0

    @property
    def step_unit(self) -> CostUnit:
        """Unit in which steps are counted."""
        return "updates"

    def plan(self) -> TrainingPlan:
        """Return the plan of each run."""
        return TrainingPlan(*self)

    def plan_from(self, warm_start: WarmStart) -> TrainingPlan:
        """Return the plan of a run that starts at learned weights and has as many hidden units as they do."""
        models = warm_start.models
        return TrainingPlan(self.dataset, models[0].n_hidden, self.seed, len(models), warm_start=warm_start)


def climb_of(points: Iterable[Likelihood]) -> tuple[float, float, bool] | None:
    """Return ``climb`` of the means over replicates."""
    return climb((at.update, float(at.train.mean()), float(at.std_error.max())) for at in points)


class LikelihoodEstimator:
    """Log-likelihoods of the models at certain updates, computed in small pieces of work.

    monte_carlo : whether to compute the Monte Carlo average as well, from the next model on
    """

    def __init__(self, plan: TrainingPlan) -> None:
        self._data = plan.dataset.train
        self._train, self._test = scored_examples(plan.dataset.train), scored_examples(plan.dataset.test)
        self._seed = plan.seed
        self.monte_carlo = False
        self.method = method_of(plan.dataset.n_visible, plan.n_hidden)
        self.points: list[Likelihood] = []
        self._work: Iterator[None] | None = None
        self.newest = -1

    @property
    def busy(self) -> bool:
        """Whether an estimate is in progress."""
        return self._work is not None

    def start(self, update: int, sweeps: float, seconds: float, models: tuple[RBM, ...]) -> None:
        """Start an estimate for these models, unless one is in progress."""
        if self._work is None and update > self.newest:
            self.newest = update
            self._work = self._score(update, sweeps, seconds, models)

    def work(self, seconds: float) -> float:
        """Work on the estimate for at most ``seconds``; return the seconds used."""
        begin = time.perf_counter()
        while self._work is not None and time.perf_counter() < begin + seconds:
            if next(self._work, self) is self:
                self._work = None
        return time.perf_counter() - begin

    def _score(self, update: int, sweeps: float, seconds: float, models: tuple[RBM, ...]) -> Iterator[None]:
        train, test, error, ess, average, pseudo = (np.full(len(models), np.nan) for _ in range(6))
        for r, rbm in enumerate(models):
            if self.method == "exact":
                log_z, error[r] = metrics.log_z(rbm), 0.0
            else:
                estimate = yield from ais_steps(
                    rbm,
                    self._data,
                    n_chains=LIVE_AIS_CHAINS,
                    betas=LIVE_AIS_TEMPERATURES,
                    seed=self._seed + r,
                )
                log_z, error[r], ess[r] = estimate.log_z, estimate.std_error, estimate.ess
            train[r] = -rbm.free_energy(self._train).mean() - log_z
            test[r] = -rbm.free_energy(self._test).mean() - log_z if len(self._test) else np.nan
            pseudo[r] = metrics.pseudo_likelihood(rbm, self._train)
            yield
            if self.monte_carlo:
                average[r] = yield from self._average(rbm, self._seed + r)
        if self.points and self.points[-1].update == update:
            self.points.pop()  # a likelihood without the average
        self.points.append(Likelihood(update, sweeps, seconds, train, test, error, ess, average, pseudo))

    def _average(self, rbm: RBM, seed: int) -> Generator[None, None, float]:
        """Return the Monte Carlo average, one row per piece, with the same random numbers for all models."""
        total, rows = 0.0, scored_examples(self._train, LIVE_MONTE_CARLO_ROWS)
        for i in range(len(rows)):
            own = rng.child(seed, "monte carlo", i)
            [logs] = monte_carlo_steps(
                rbm, rows[i : i + 1], chains=MONTE_CARLO_CHAINS, sweeps=MONTE_CARLO_SWEEPS, seed=own
            )
            total += float(logs[0])
            yield
        return total / len(rows)


class Fantasy:
    """Gibbs chains that start at random bits and make occasional sweeps of the current model."""

    def __init__(self, n_visible: int, seed: rng.Seed) -> None:
        self._v = (
            rng.generator(seed, "fantasy").integers(0, 2, (FANTASY_CHAINS, n_visible)).astype(np.float32)
        )
        self._mean = self._v
        self._rng = rng.kernel_state(seed, "fantasy")

    def sweep(self, rbm: RBM) -> None:
        """Advance every chain by one sweep of the model."""
        with one_blas_thread():
            h = self._v @ rbm.W
            kernels.random.bernoulli_rows(self._rng, h, rbm.c, h, h)
            v = h @ rbm.W.T
        self._mean, self._v = np.empty_like(v), v
        kernels.random.bernoulli_rows(self._rng, v, rbm.b, self._mean, v)

    def newest(self, n: int) -> NewestSamples:
        """Return the states of the chains."""
        v = np.packbits(self._v.astype(np.uint8), axis=1)
        return NewestSamples(n, v, (np.rint(255 * self._mean).astype(np.uint8),), self._v.shape[1])


class TrainingRun(Run):
    """Replicates of one training; a step is one update of each."""

    plan: TrainingPlan
    algorithm: Trainer
    has_background_work = True
    catches_up = True

    def __init__(self, number: int, plan: TrainingPlan, trainer: Trainer) -> None:
        before = plan.warm_start
        super().__init__(number, plan, trainer, *((before.update, before.seconds) if before else ()))
        self.sweeps = before.sweeps if before else 0.0
        self._begun = self.n, self.sweeps, self.seconds
        self._resumed = None
        if plan.checkpoint:
            checkpoint = load_checkpoint(plan.checkpoint, plan.dataset.train)
            self._resumed, self._resumed_trainer = checkpoint.state, checkpoint.trainer
            self.n = self._resumed.update
            self.sweeps = float(self._resumed.sweeps)
            self.seconds = self._resumed.seconds
        self.progress: tuple[Progress, ...] = ()
        self._models: tuple[RBM, ...] = ()
        self._fantasy: NewestSamples | None = None
        self._traces: list[Trace] = []
        self._likelihood_estimator = LikelihoodEstimator(plan)
        self._stride = 1
        self._dreamed = self._credit = 0.0

    def _check_resumed(self) -> None:
        """Refuse knobs that do not fit the array sizes in the checkpoint."""
        now, stored = values_of(self.algorithm), values_of(self._resumed_trainer)
        if self._resumed_trainer.name != self.algorithm.name:
            raise BadInput(
                f"The checkpoint is one of {self._resumed_trainer.name}, and this panel's trainer is "
                f"{self.algorithm.name}: use the same."
            )
        for name, knob in knobs_of(self.algorithm).items():
            if not knob.live and now[name] != stored.get(name):
                raise BadInput(
                    f"The checkpoint was made with {name} = {stored.get(name)}: set it back to continue, or "
                    f"add a panel that starts again with {name} = {now[name]}."
                )

    def jobs(self) -> list[str]:
        """Return the names of the jobs that compile kernels for trainer, fantasy chains and likelihoods."""
        exact = self._likelihood_estimator.method == "exact"
        return [*jobs_of_log_z(exact), *jobs_of_trainer(self.algorithm.name)]

    def prepare(self) -> None:
        """Make the states, start the first likelihood, and compile the kernels; ``seconds`` excludes this."""
        plan, data = self.plan, self.plan.dataset.train
        if self._resumed is not None:
            self._check_resumed()
        models = plan.first_models(self.algorithm)
        self.algorithm.step(self.algorithm.init(models[0], data, plan.seed), 1)
        if self._resumed is not None:
            self._states, models = [self._resumed], (RBM(*self._resumed.theta),)
        else:
            self._states = [self.algorithm.init(rbm, data, plan.seed + r) for r, rbm in enumerate(models)]
        self._models = models
        self._show_model(models[0])
        self._likelihood_estimator.start(self.n, self.sweeps, self.seconds, models)
        self.prepared = True

    def _show_model(self, rbm: RBM) -> None:
        """Start the fantasy chains with this model, so that samples are shown before the next update."""
        self._chains = Fantasy(self.plan.dataset.n_visible, self.plan.seed)
        begin = time.perf_counter()
        self._chains.sweep(rbm)
        # With small random weights, any number of sweeps gives only noise.
        while self.n and time.perf_counter() < begin + FIRST_SWEEPS_SECONDS:
            self._chains.sweep(rbm)
        self._fantasy = self._chains.newest(self.n)

    def copied_state(self) -> Any:
        """Return copies of the states, which share the data."""
        data = self.plan.dataset.train
        return [
            copy.deepcopy(state, {id(data): data, id(state.batches.data): state.batches.data})
            for state in self._states
        ]

    def put_back(self, state: Any) -> None:
        """Take the states from before an update that was stopped."""
        self._states = state

    def max_steps(self) -> int:
        """Return the maximum size of the next chunk: about CHUNK_SECONDS, but not past a point of a curve."""
        if self.over:
            return 0
        most = min(self.chunk, self._stride - self.n % self._stride)
        return most if self._last_update is None else min(most, self._last_update - self.n)

    @property
    def _last_update(self) -> int | None:
        """The update at which a linear schedule's learning rate reaches zero; None: no such schedule."""
        knobs = values_of(self.algorithm)
        return int(knobs["iterations"]) if knobs.get("schedule") == "linear" else None

    @property
    def over(self) -> bool:
        """Whether the schedule or the trainer has ended, so that updates would change nothing."""
        if self._last_update is not None and self.n >= self._last_update:
            return True
        return self.prepared and all(finished(self.algorithm, state) for state in self._states)

    def advance(self, n: int) -> tuple[Progress, ...]:
        """Make n updates of every replicate, and do some of the scoring."""
        begin = time.perf_counter()
        progress = tuple(self.algorithm.step(state, n) for state in self._states)
        self._credit += SCORING_SHARE * (time.perf_counter() - begin)
        self._credit -= self._likelihood_estimator.work(self._credit)
        if time.perf_counter() - self._dreamed > CHUNK_SECONDS:
            self._dreamed = time.perf_counter()
            self._chains.sweep(progress[0].rbm)
            self._fantasy = self._chains.newest(self.n + n)
        if (self.n + n) % self._stride == 0:
            models = tuple(replicate.rbm for replicate in progress)
            self._likelihood_estimator.start(*self._spent(progress), models)
        self.size_chunk(n, time.perf_counter() - begin)
        return progress

    def _spent(self, progress: tuple[Progress, ...]) -> tuple[int, float, float]:
        """Return updates, sweeps and seconds, averaged over replicates, including steps before a branch."""
        n, sweeps, seconds = self._begun
        sweeps += float(np.mean([replicate.sweeps for replicate in progress]))
        seconds += float(np.mean([replicate.seconds for replicate in progress]))
        return n + progress[0].update, sweeps, seconds

    def record_steps(self, progress: tuple[Progress, ...]) -> None:
        """Count the updates that ``advance`` has made; thin out curves that are too long."""
        self.progress = progress
        self._models = tuple(replicate.rbm for replicate in progress)
        self.n, self.sweeps, self.seconds = self._spent(progress)
        if self.n % self._stride == 0:
            stats = {
                name: np.array([replicate.stats[name] for replicate in progress])
                for name in progress[0].stats
            }
            self._traces.append(Trace(self.n, self.sweeps, self.seconds, stats))
        if len(self._traces) > MAX_POINTS:
            self._stride *= 2
            self._traces = [trace for trace in self._traces if trace.update % self._stride == 0]
        if len(self._likelihood_estimator.points) > MAX_POINTS:
            self._likelihood_estimator.points = thinned(self._likelihood_estimator.points)

    def request_monte_carlo(self, wanted: bool) -> None:
        """Start or stop computing the Monte Carlo average with each likelihood, from the current one on."""
        if wanted and not self._likelihood_estimator.monte_carlo:
            self._likelihood_estimator.newest -= 1
        self._likelihood_estimator.monte_carlo = wanted

    def background_work(self, paused: bool) -> bool:
        """Work on the current estimate; if paused or at the end, start one for the displayed update."""
        if not self.prepared:
            return False
        stops, estimator = paused or self.over, self._likelihood_estimator
        if stops and not estimator.busy and estimator.newest != self.n:
            self._likelihood_estimator.start(self.n, self.sweeps, self.seconds, self._models)
        if not self._likelihood_estimator.busy:
            return False
        self._likelihood_estimator.work(CHUNK_SECONDS)
        return True

    def warm_start(self) -> WarmStart:
        """Return the starting point for a branch from the current model."""
        before = self.plan.warm_start.path if self.plan.warm_start else ()
        models = self._models or self.plan.first_models(self.algorithm)
        path = (*before, (self.algorithm.label, self._begun[0]))
        return WarmStart(models, self.n, self.seconds, path, self.sweeps)

    def model(self, **more: Any) -> Model | None:
        """Return the model of replicate 0, with rates and provenance; None before the first update."""
        if not self.progress:
            return None
        more["updates"] = self.n
        if self.plan.warm_start is not None:
            more["warm_start"] = [list(stage) for stage in self.plan.warm_start.path]
        return trained_model(self.plan.dataset, self.algorithm, self.progress[0], self.plan.seed, **more)

    def checkpoint(self) -> bytes:
        """Return a checkpoint of replicate 0, from which to continue; empty before the first update."""
        if not self.progress:
            return b""
        return save_checkpoint(self.algorithm, self._states[0], self.plan.seed)

    def _warning(self, newest: Progress) -> str:
        if self._last_update is not None and newest.update >= self._last_update:
            return (
                f"The linear schedule has ended: the learning rate is zero after {self._last_update:,} "
                "updates. To continue, raise the iterations or choose another schedule."
            )
        if self.over:
            return (
                f"The gradient has fallen to stop_at after {newest.update:,} updates. To continue, lower it."
            )
        return newest.warning

    def view(self, status: Status) -> TrainingSnapshot:
        """Return the snapshot of this run."""
        newest = self.progress[0] if self.progress else None
        return TrainingSnapshot(
            **self.common(status),
            models=self._models,
            fantasy=self._fantasy,
            method=self._likelihood_estimator.method,
            likelihoods=tuple(self._likelihood_estimator.points),
            traces=tuple(self._traces),
            newest={
                name: float(np.mean([replicate.stats[name] for replicate in self.progress]))
                for name in (newest.stats if newest else ())
            },
            per_chain=newest.per_chain if newest else {},
            warning=self._warning(newest) if newest else "",
            sweeps=self.sweeps,
        )
