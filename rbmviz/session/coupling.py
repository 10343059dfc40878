"""Coupled chains: one displayed pair per algorithm, and many pairs simulated in the background."""

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from rbmviz import rng
from rbmviz.coupling import (
    ALGORITHMS,
    MAX_PAIRS,
    PAIRS_PER_BLOCK,
    STATISTICS,
    Algorithm,
    PairStream,
    meeting_time_shares,
    tv_bound,
)
from rbmviz.datasets import Dataset
from rbmviz.knobs import check_all, knob
from rbmviz.metrics import model_statistics, probabilities, start_law, sweep_law_steps, total_variation
from rbmviz.rbm import RBM, Statistics
from rbmviz.session.run import CHUNK_SECONDS, Run
from rbmviz.session.snapshot import Snapshot, Status
from rbmviz.trainers.likelihood import MAX_UNITS_EXACT_LIKELIHOOD

MAX_UNITS_EXACT_DISTANCE = 32
"""Maximum number of visible plus hidden units for the exact distance: 32 take one second per sweep."""

MAX_LAW_VISIBLE = 20
"""Maximum number of visible units for the exact distance, which stores every visible state's probability."""


def exact_distance_possible(n_visible: int, n_hidden: int) -> bool:
    """Return whether the exact distance can be computed for a model of this size."""
    return n_visible + n_hidden <= MAX_UNITS_EXACT_DISTANCE and n_visible <= MAX_LAW_VISIBLE


TIMES = 48
"""Number of times, in sweeps, at which the Hamming distance of each pair is recorded."""

EXACT_CURVE_END = 1e-4
"""Distance at which the exact curve ends."""

FIRST_PAIRS = 200
"""Number of pairs that run even while paused, so that no chart stays empty."""

EXACT_SHARE = 4
"""Seconds spent on the exact curve per second spent on a stream of pairs."""

MAX_PATH_POINTS = 300
"""Maximum number of points of a pair's path; if it has more, every second point is dropped."""


@dataclass(frozen=True)
class Coupling:
    """Two Gibbs chains of one model, the first a sweep ahead, drawn jointly so that they meet.

    Each chain alone is an exact Gibbs chain; once the chains are equal, they stay equal. From given states,
    the probability of meeting in the next sweep is the same under algorithm 1 (general), algorithm 3 (for
    RBMs) and the half-step coupling. If they do not meet, algorithm 3 draws both from the same random
    numbers, which brings them closer; the half-step coupling makes their hidden units equal as often as
    possible, and chains with equal hidden units meet one sweep later.
    """

    name: ClassVar[str] = "coupling"
    label: ClassVar[str] = "Coupled chains"
    paper: ClassVar[str] = "Qiu, Zhang, Wang 2020 (unbiased CD), algorithms 1 and 3, and the authors' program"
    about: ClassVar[str] = (
        r"Two Gibbs chains of one model: $\xi$ runs one sweep ahead of $\eta$. They are drawn together, "
        r"so that they meet, $\xi_t = \eta_{t-1}$, and then stay together. Looked at alone, "
        "each is an ordinary Gibbs chain, so that the time until they meet tells how soon a chain forgets "
        "its start."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"p(v, h) \propto e^{-E(v, h)}\ \text{at}\ \knob{scale}\, \theta",
        r"\tau = \min\{\, t > 1 : \xi_t = \eta_{t-1} \,\} \le \knob{max_sweeps}",
    )

    scale: float = knob(
        1.0,
        0.01,
        3,
        scale="log",
        label="Scale of the parameters",
        symbol=r"\sigma",
        help="All weights and biases times this number: the larger they are, the later the chains meet.",
    )
    max_sweeps: int = knob(
        1000,
        10,
        100_000,
        scale="log",
        label="Cut off after",
        symbol=r"t_{\max}",
        unit="sweeps",
        help="Pairs that have not met by then are cut off and counted, which biases the estimates.",
    )

    def __post_init__(self) -> None:
        check_all(self)


class FinishedPair(NamedTuple):
    """A displayed pair that has ended; fields as in ``DisplayedState``, for the pair's last sweep.

    tau : meeting time, or the sweep at which the pair was truncated
    """

    pair: int
    tau: int
    truncated: bool
    v: np.ndarray
    v2: np.ndarray
    path: tuple[int, ...]
    stride: int


class DisplayedState(NamedTuple):
    """The displayed pair of one algorithm.

    algorithm : one of ALGORITHMS
    pair : number of the pair, from 0
    t : sweeps of the first chain
    v, v2 : uint8 (ceil(n_visible / 8),); states xi_t and eta_{t-1}, bits packed
    path : Hamming distances at t = 1, 1 + stride, ...
    stride : sweeps between two points of the path
    met, truncated : whether the chains met, or were truncated, in this sweep; the next step then starts
        another pair
    ended : the last finished pair, possibly this one
    counted : statistics of the background pairs
    """

    algorithm: Algorithm
    pair: int
    t: int
    v: np.ndarray
    v2: np.ndarray
    path: tuple[int, ...]
    stride: int
    met: bool
    truncated: bool
    ended: FinishedPair | None
    counted: "PairStatistics"


@dataclass(frozen=True, eq=False, kw_only=True)
class CouplingSnapshot(Snapshot):
    """Coupled chains at one moment; a step is one sweep of each algorithm's displayed pair."""

    algorithm: Coupling
    n_visible: int
    displayed_pairs: tuple[DisplayedState, ...]
    began: int = 0  # step at which the current knobs' first pair began
    truth: tuple[float, ...] | None = None  # exact value of each statistic; None: unknown

    def without_arrays(self) -> Self:
        """Return the snapshot without pairs, because they belong to the streams, which are freed."""
        return replace(self, displayed_pairs=())


class RunningEstimate(NamedTuple):
    """An estimate and its standard error by number of pairs, int64 and float64 (points,)."""

    pairs: np.ndarray
    mean: np.ndarray
    std_error: np.ndarray


class PairStatistics(NamedTuple):
    """Finished pairs of one algorithm, in order; see PairStream for the arrays."""

    algorithm: Algorithm
    lag: int
    k: int
    max_sweeps: int
    n: int
    tau: np.ndarray
    rejected: np.ndarray
    truncated: np.ndarray
    loops_given_up: int
    cd_estimate: np.ndarray
    unbiased: np.ndarray
    times: np.ndarray
    distances: np.ndarray

    def first(self, n: int) -> Self:
        """Return the first n pairs."""
        arrays = ("tau", "rejected", "truncated", "cd_estimate", "unbiased")
        return self._replace(n=n, **{name: getattr(self, name)[:n] for name in arrays})

    @property
    def truncated_share(self) -> float:
        """Share of pairs that had not met by max_sweeps."""
        return float(self.truncated.mean()) if self.n else 0.0

    @property
    def tau_mean(self) -> float:
        """Mean meeting time; too small if pairs were truncated."""
        return float(self.tau.mean()) if self.n else float("nan")

    @property
    def rejected_mean(self) -> tuple[float, float]:
        """Mean number of rejected proposals per pair, for the first and the second chain."""
        first, second = self.rejected.mean(axis=0) if self.n else (float("nan"), float("nan"))
        return float(first), float(second)

    def tau_shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return edges (bins + 1,) and shares (bins,) of the meeting times of pairs that met.

        A bin covers the whole numbers from its lower edge to below its upper edge; later bins are wider.
        The shares and ``truncated_share`` add up to 1.
        """
        return meeting_time_shares(self.tau, self.truncated, self.max_sweeps)

    def rejected_shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return edges (bins + 1,): 0, 1, 2, 4, 8, ..., and the shares (bins, 2) for each chain."""
        most = int(self.rejected.max()) if self.n else 0
        edges = np.array([0, *(2 ** np.arange(max(most, 7).bit_length() + 1))])
        counts = [np.histogram(chain, edges)[0] for chain in self.rejected.T]
        return edges, np.transpose(counts) / max(self.n, 1)

    def distance_quantiles(self, shares: tuple[float, ...]) -> np.ndarray:
        """Return Hamming distance quantiles at ``times`` (0 for pairs that met), int64 (times, shares)."""
        below = self.distances.cumsum(axis=1)
        wanted = np.array(shares) * max(self.n, 1)
        return np.array([np.searchsorted(row, wanted) for row in below]).reshape(len(self.times), -1)

    def mean_distance(self) -> np.ndarray:
        """Return the mean Hamming distance at ``times``, float64 (times,)."""
        return self.distances @ np.arange(self.distances.shape[1]) / max(self.n, 1)

    def bound(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bound on the total variation distance after t sweeps, and its standard error."""
        return tv_bound(self.tau, self.lag, t)

    @property
    def last_bound(self) -> float:
        """The last time for which the bound is valid; later, truncated pairs would count as met."""
        return self.max_sweeps - self.lag - 1 if self.truncated.any() else float("inf")

    def running(self, statistic: str) -> tuple[RunningEstimate, RunningEstimate]:
        """Return the UCD and the CD-k estimate of one of STATISTICS, after the first 2, 3, ... pairs."""
        at = np.unique(np.rint(np.geomspace(2, max(self.n, 2), 80)).astype(np.int64))
        at = at[at <= self.n]
        return _running(self.unbiased, statistic, at), _running(self.cd_estimate, statistic, at)


def _running(values: np.ndarray, statistic: str, at: np.ndarray) -> RunningEstimate:
    x = values[:, STATISTICS.index(statistic)]
    mean, square = (np.cumsum(y)[at - 1] / at for y in (x, x**2))
    return RunningEstimate(at, mean, np.sqrt(np.maximum(square - mean**2, 0) / (at - 1)))


class Results(NamedTuple):
    """The results of the pairs so far.

    pairs : tuple of PairStatistics, one per algorithm, lag 1
    lagged : tuple of PairStatistics, one per algorithm, with the requested lag
    unit : (int, int); visible and hidden unit used in STATISTICS, the two joined by the largest weight
    truth : exact values of STATISTICS; None if the model is too large to enumerate
    exact : float64 (sweeps + 1,); exact total variation distance after 0, 1, ... sweeps, as far as it has
        been computed
    exact_possible : whether the model is small enough for the exact distance
    """

    pairs: tuple[PairStatistics, ...]
    lagged: tuple[PairStatistics, ...]
    unit: tuple[int, int]
    truth: tuple[float, ...] | None
    exact: np.ndarray
    exact_possible: bool


class CouplingSetup(NamedTuple):
    """The plan of a run of coupled chains, and the setup of its race, which has one panel.

    rbm : the model at scale 1
    dataset : pairs start at training examples of these data; None: at random bits
    seed : random seed; the same seed gives the same pairs
    """

    rbm: RBM
    dataset: Dataset | None = None
    seed: int = 0

    def plan(self) -> "CouplingSetup":
        """Return the plan of each run."""
        return self

    def run(self, number: int, algorithm: Coupling) -> "CouplingRun":
        """Return the ``number``-th run of a panel."""
        return CouplingRun(number, self, algorithm)

    def seconds_of_step(self, algorithm: Coupling) -> float:
        """Estimate the seconds of a sweep of one pair: next to nothing."""
        return 0.0

    def starts(self, block: int) -> np.ndarray:
        """Return the starts of a block, uint8 (PAIRS_PER_BLOCK, n_visible); the same for all algorithms."""
        g = rng.generator(self.seed, "starts", block)
        if self.dataset is None:
            return g.integers(0, 2, (PAIRS_PER_BLOCK, self.rbm.n_visible), dtype=np.uint8)
        return self.dataset.train[g.integers(len(self.dataset.train), size=PAIRS_PER_BLOCK)]

    def start_law(self) -> np.ndarray:
        """Return the distribution of a start, float64 (2^n_visible,)."""
        if self.dataset is None:
            return np.full(2**self.rbm.n_visible, 0.5**self.rbm.n_visible)
        return start_law(self.dataset.train)


class DisplayedPair:
    """The displayed pair of one algorithm, sweep by sweep."""

    def __init__(self, stream: PairStream) -> None:
        self.stream = stream
        self.ended: FinishedPair | None = None
        self._begin()

    def _begin(self) -> None:
        self._path: list[int] = []
        self._stride, self._t = 1, 0

    def sweep(self) -> None:
        """Make one sweep; the first sweep after a meeting starts the next pair."""
        stream, before = self.stream, self.stream.finished
        if stream.t == 0:
            self._begin()
        stream.advance(1)
        self._t += 1
        if (self._t - 1) % self._stride == 0:
            (v, _), (v2, _) = stream.chains()
            self._path.append(int((v != v2).sum()))
        if len(self._path) > MAX_PATH_POINTS:
            self._path, self._stride = self._path[::2], 2 * self._stride
        if stream.finished > before:
            v, v2 = (np.packbits(v) for v, _ in stream.chains())
            truncated = bool(stream.truncated[before])
            self.ended = FinishedPair(before, self._t, truncated, v, v2, tuple(self._path), self._stride)

    def state(self, counted: PairStatistics) -> DisplayedState:
        """Return the state of the pair, with the statistics of the background pairs."""
        stream, over = self.stream, self._t > 0 and self.stream.t == 0
        v, v2 = (np.packbits(v) for v, _ in stream.chains())
        return DisplayedState(
            algorithm=stream.algorithm,
            pair=stream.finished - over,
            t=self._t,
            v=v,
            v2=v2,
            path=tuple(self._path),
            stride=self._stride,
            met=over and not (self.ended is not None and self.ended.truncated),
            truncated=over and self.ended is not None and self.ended.truncated,
            ended=self.ended,
            counted=counted,
        )


Key = tuple[Algorithm, int, int]
"""A stream of pairs: algorithm, lag, k."""


class CouplingRun(Run):
    """One displayed pair per algorithm, and streams of pairs that run in the background."""

    plan: CouplingSetup
    algorithm: Coupling
    has_background_work = True
    knobs_at_once = True

    def __init__(self, number: int, plan: CouplingSetup, coupling: Coupling) -> None:
        super().__init__(number, plan, coupling)
        self._lag, self._k, self._exact_wanted = 1, 1, False
        self.set_knobs(coupling)

    def set_knobs(self, algorithm: Coupling) -> None:
        """Drop all pairs, because they had other knobs; ``prepare`` starts again at the first pair."""
        super().set_knobs(algorithm)
        self.began, self.chunk, self.prepared = self.n, 1, False
        self._pairs_to_restore: dict[Key, int] = {}
        self._displayed: tuple[DisplayedPair, ...] = ()
        self._streams: dict[Key, PairStream] = {}
        self._spent: dict[Key | str, float] = {}
        self._speed: dict[Key, float] = {}
        self._exact: list[float] = []
        self._work: Generator[None, None, None] | None = None

    def jobs(self) -> list[str]:
        """Return the names of the jobs that compile the kernels."""
        return ["trainer ucd"]  # UCD runs its pairs with the same kernels

    def prepare(self) -> None:
        """Make the chains, and compile the kernels; ``seconds`` excludes this time."""
        base, scale = self.plan.rbm, self.algorithm.scale
        self.rbm = rbm = RBM(scale * base.W, scale * base.b, scale * base.c)
        i, j = np.unravel_index(np.abs(base.W).argmax(), base.W.shape)
        self.unit = int(i), int(j)
        self._stream("rbm", 1, 1).advance(1)
        self._displayed = tuple(DisplayedPair(self._stream(algorithm, 1, 1)) for algorithm in ALGORITHMS)
        self._truth = self._enumerated() if min(rbm.W.shape) <= MAX_UNITS_EXACT_LIKELIHOOD else None
        if exact_distance_possible(*rbm.W.shape):
            self._work = self._compute_exact_curve()
        self.prepared = True

    def _stream(self, algorithm: Algorithm, lag: int, k: int) -> PairStream:
        most = max(self.algorithm.max_sweeps, lag + 1)
        times = np.unique(np.rint(np.geomspace(lag, most, TIMES)).astype(np.int64))
        plan, seed = self.plan, self.plan.seed
        return PairStream(self.rbm, plan.starts, algorithm, most, lag, seed, k=k, unit=self.unit, times=times)

    def _enumerated(self) -> tuple[float, ...]:
        model: Statistics = model_statistics(self.rbm)
        i, j = self.unit
        values = model.b.mean(), model.c.mean(), model.b[i], model.c[j], model.W[i, j]
        return tuple(float(x) for x in values)

    def _compute_exact_curve(self) -> Generator[None, None, None]:
        """Append the exact distance after each sweep to ``_exact``; yield between pieces of work."""
        model, law = probabilities(self.rbm), self.plan.start_law()
        while True:
            self._exact.append(total_variation(law, model))
            if self._exact[-1] < EXACT_CURVE_END or len(self._exact) > self.algorithm.max_sweeps:
                return
            yield
            law = yield from sweep_law_steps(self.rbm, law)

    def _keys(self) -> list[Key]:
        """Return the stream keys for the current lag and k; for lag 1, one stream serves both charts."""
        wanted = [(a, 1, self._k) for a in ALGORITHMS]
        return wanted if self._lag == 1 else wanted + [(a, self._lag, 1) for a in ALGORITHMS]

    def _update_streams(self) -> None:
        """Make the streams of ``_keys``, and drop all other streams to free their memory."""
        # A new stream starts with the least time of any stream; from 0, it would get all the time at first.
        level = min((self._spent[key] for key in self._streams), default=0.0)
        for key in self._keys():
            if key not in self._streams:
                self._spent[key] = level
        self._streams = {key: self._streams.get(key) or self._stream(*key) for key in self._keys()}

    def request_results(self, lag: int = 1, k: int = 1, exact: bool = True) -> Results | None:
        """Use pairs of this lag and k from now on; return the results so far, None before ``prepare``.

        exact : whether to compute the exact curve as well
        """
        self._lag, self._k, self._exact_wanted = lag, k, exact
        if not self.prepared:
            return None
        self._update_streams()
        return Results(
            tuple(self._counted((a, 1, k)) for a in ALGORITHMS),
            tuple(self._counted((a, lag, k if lag == 1 else 1)) for a in ALGORITHMS),
            self.unit,
            self._truth,
            np.array(self._exact),
            exact_distance_possible(*self.rbm.W.shape),
        )

    def _counted(self, key: Key) -> PairStatistics:
        s = self._streams[key]
        n = s.finished
        # Rows of finished pairs never change; distance counts do.
        return PairStatistics(
            s.algorithm, s.lag, s.k, s.max_sweeps, n, s.tau[:n], s.rejected[:n], s.truncated[:n],
            s.loops_given_up, s.cd_estimate[:n], s.unbiased[:n], s.times, s.distances.copy(),
        )  # fmt: skip

    def advance(self, n: int) -> int:
        """Make n sweeps of the displayed pairs, and run background pairs for the same time."""
        begin = time.perf_counter()
        for _ in range(n):
            for pair in self._displayed:
                pair.sweep()
        spent = time.perf_counter() - begin
        self.seconds += spent
        self.size_chunk(n, spent, CHUNK_SECONDS / 2)
        self._count(spent, MAX_PAIRS)
        return n

    def kept_state(self) -> tuple[int, int, bool, dict[Key, int]]:
        """Return lag, k, whether the exact curve is wanted, and each stream's number of finished pairs."""
        finished = {key: stream.finished for key, stream in self._streams.items()}
        return self._lag, self._k, self._exact_wanted, finished

    def restore(self, kept: tuple[int, int, bool, dict[Key, int]]) -> None:
        """Let ``background_work`` run that many pairs again, even while paused."""
        self._lag, self._k, self._exact_wanted, self._pairs_to_restore = kept

    def background_work(self, paused: bool) -> bool:
        """Run pairs while no sweep is due; while paused, at most FIRST_PAIRS per stream."""
        return self.prepared and self._count(CHUNK_SECONDS, FIRST_PAIRS if paused else MAX_PAIRS)

    def _count(self, seconds: float, max_pairs: int) -> bool:
        """Spend ``seconds`` on the streams and the exact curve, always on whichever has had the least time.

        Returns False if every stream has ``max_pairs`` pairs and the curve is complete or not wanted.
        """
        self._update_streams()  # lag and k may have changed while the run was prepared
        end = time.perf_counter() + seconds
        worked = False
        while (begin := time.perf_counter()) < end:
            wanted = {key: max(max_pairs, self._pairs_to_restore.get(key, 0)) for key in self._keys()}
            open_ = [key for key in wanted if self._streams[key].finished < wanted[key]]
            curve_begins = len(self._exact) < 50  # even while the run is paused
            exact = (
                self._exact_wanted and self._work is not None and (max_pairs > FIRST_PAIRS or curve_begins)
            )
            if exact and (not open_ or self._spent.get("exact", 0.0) < min(self._spent[k] for k in open_)):
                if next(self._work, self) is self:  # type: ignore[arg-type]
                    self._work = None
                self._spent["exact"] = (
                    self._spent.get("exact", 0.0) + (time.perf_counter() - begin) / EXACT_SHARE
                )
            elif open_:
                key = min(open_, key=self._spent.__getitem__)
                sweeps = max(int(self._speed.get(key, 0) * (end - begin)), 1)
                used = self._streams[key].advance(sweeps)
                spent = time.perf_counter() - begin
                self._spent[key] += spent
                self._speed[key] = min(used / spent, 2 * self._speed.get(key, 0) + 100)
            else:
                break
            worked = True
        return worked

    def view(self, status: Status) -> CouplingSnapshot:
        """Return the snapshot of this run."""
        if self.prepared:
            self._update_streams()
        return CouplingSnapshot(
            **self.common(status),
            n_visible=self.plan.rbm.n_visible,
            began=self.began,
            truth=self._truth if self.prepared else None,
            displayed_pairs=tuple(
                pair.state(self._counted((pair.stream.algorithm, 1, self._k)))
                for pair in self._displayed
                if self.prepared
            ),
        )
