"""A sampler's run on a model: chains, scores, snapshots."""

import time
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.files.budget import check_state
from rbmviz.knobs import Value, values_of
from rbmviz.metrics import Kernel, live
from rbmviz.metrics.findings import Findings
from rbmviz.rbm import RBM, Model
from rbmviz.rbm.clamp import FREE, Clamp, as_clamp, clamp_of
from rbmviz.samplers import Sampler, Samples
from rbmviz.samplers.fast_weights import follow_norm
from rbmviz.samplers.interleave import MAX_CHAINS, begin, starts_at_data, whole
from rbmviz.samplers.parallel_tempering import LadderReport
from rbmviz.session import isl_points
from rbmviz.session.again import RunLog, again
from rbmviz.session.diagnosis import Diagnosis
from rbmviz.session.equal_points import Compared, CostUnit
from rbmviz.session.recorder import HELD_SAMPLES, Recorder
from rbmviz.session.run import Run, seconds_of_step
from rbmviz.session.scores import Scores
from rbmviz.session.snapshot import (
    FEWEST_SCORED,
    NOTHING_SPENT,
    Counts,
    NewestSamples,
    Point,
    Segment,
    Snapshot,
    Spent,
    Status,
)
from rbmviz.session.warm import jobs_of
from rbmviz.support import checks

MAX_SHOWN_SAMPLES = 144
"""Number of newest samples in a snapshot, enough for a 12 x 12 grid."""

CONTINUED = 1 / 20
"""A turn of a knob within FEWEST_SCORED samples of the last turn, or within this share of the run, continues
that turn: dragging a slider is one turn, counted from the last value. The limit is in samples, not seconds,
so that a rebuilt run has the same turns. A run has at most about 200 turns."""

Start = Literal["data", "random"]

_STARTS: weakref.WeakKeyDictionary[Dataset, OrderedDict[int, np.ndarray]] = weakref.WeakKeyDictionary()
"""Starts of chains by data set and seed, shared by all panels: 0.8 MB at 784 units."""

MAX_STARTS = 16
"""Maximum number of seeds per data set whose starts are kept."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SamplingSnapshot(Snapshot):
    """A sampler's run at one moment.

    Scores cover the samples since the last turn of a knob, or all samples if there was none. The chains
    continue through a turn.

    sweeps : Gibbs (or maximisation) sweeps so far in this run
    begin : cost of the run up to the last turn of a knob
    turned, before : the knobs turned then, with their new values and their values before
    past : scores kept from before that turn
    curve : ISL after fixed numbers of samples, log-spaced; empty without a data set
    counts : coverage by the samples up to each point of the curve, in order; the newest points may not have
        counts yet
    newest : a recent value of the ISL; computed at most twice per second
    fast_norm : norm of theta_F, None for samplers without fast parameters
    occupancy : int64 (bins, classes); samples per class of the nearest training example, in consecutive bins
        of the run; blank samples do not count towards any class
    blanks : int64 (bins,); blank samples in each bin
    bin_width : samples in one bin; the last bin may have fewer
    jumps : int64 (classes + 1, classes + 1); since the last turn of a knob, how often a chain went from one
        class to another or stayed, blank samples last
    covered : coverage by the newest samples; up to 64 of them may not be counted yet
    visited_in_all, spurious_in_all : classes with any sample, and spurious share, of the whole run
    live_numbers : the newest numbers of the live metrics, by name; numbers not known yet may be missing
    ladder : what the replicas of a sampler that swaps them have done; None for others
    findings : what speaks against trusting the samples since the last turn of a knob, or of a part of them;
        None before the first look
    clamp : units that are held, in all rows; None: none are. Then there is no ISL, and there are no findings
    start_picture : uint8 (chains, ceil(n_visible / 8)) or None; before the first sample, the starts of the
        chains, bits packed along the rows; None: not given
    """

    algorithm: Sampler
    sweeps: int
    newest_samples: NewestSamples
    begin: Spent = NOTHING_SPENT
    turned: Mapping[str, Value] = field(default_factory=dict)
    before: Mapping[str, Value] = field(default_factory=dict)
    past: tuple[Segment, ...] = ()
    curve: tuple[Point, ...] = ()
    counts: tuple[Counts, ...] = ()
    newest: Point | None = None
    fast_norm: float | None = None
    occupancy: np.ndarray | None = None
    blanks: np.ndarray | None = None
    bin_width: int = 1
    jumps: np.ndarray | None = None
    covered: Counts | None = None
    visited_in_all: tuple[int, int] | None = None
    spurious_in_all: float | None = None
    live_numbers: Mapping[str, live.Value] = field(default_factory=dict)
    ladder: LadderReport | None = None
    findings: Findings | None = None
    clamp: Clamp | None = None
    start_picture: np.ndarray | None = None

    @property
    def newest_image(self) -> np.ndarray | None:
        """The newest sample or, before the first, the start, uint8 (n_visible,); None if neither is held."""
        held = self.newest_samples.v[-1:] if len(self.newest_samples.v) else self.start_picture
        return None if held is None else np.unpackbits(held[0], count=self.newest_samples.n_visible)

    @property
    def since_turn(self) -> Spent:
        """The cost of the samples since the last turn of a knob."""
        return Spent(self.n, self.sweeps, self.seconds).since(self.begin)

    @property
    def scored_from(self) -> int:
        """Number of samples before the last turn of a knob."""
        return self.begin.samples

    @property
    def too_few(self) -> bool:
        """Whether there are too few samples since the last turn of a knob for scores."""
        return bool(self.past) and self.since_turn.samples < FEWEST_SCORED

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The run's ISL between turns of knobs, one segment each; the newest value ends the last curve."""
        points = self.curve
        # At the common point of all panels the newest value is already a point of the curve.
        if self.newest is not None and (not points or self.newest.n > points[-1].n):
            points += (self.newest,)
        return (*self.past, Segment(self.begin, self.turned, self.before, points))

    @property
    def bins_before(self) -> int:
        """Number of bins of the class history with samples from before the last turn of a knob."""
        return -(-self.begin.samples // self.bin_width)

    def passed(self, cost_unit: CostUnit) -> float | None:
        """Return the number of samples, sweeps or seconds up to which scores are known; None for updates."""
        return None if cost_unit == "updates" else isl_points.passed(self, cost_unit)

    def scores_at(self, cost_unit: CostUnit, point: float) -> isl_points.ScoresAtPoint | None:
        """Return the scores at a point; None if the run has not passed it, or had no sample by then."""
        return isl_points.scores_at(self, cost_unit, point)

    def with_compared(self, compared: Compared) -> Self:
        """Return the snapshot with its scores at the common point."""
        scores: isl_points.ScoresAtPoint | None = compared.scores
        newest, covered = (None, None) if scores is None else scores
        return replace(self, compared=compared, newest=newest, covered=covered)

    def without_arrays(self) -> Self:
        """Return the snapshot with numbers and curves, but without samples."""
        newest = self.newest_samples
        none = NewestSamples(self.n, newest.v[:0].copy(), (), newest.n_visible)
        return replace(self, newest_samples=none)


class SamplingPlan(NamedTuple):
    """Plan of a sampler's run.

    model : the model to sample
    seed : random seed; the same seed gives the same samples
    v0 : uint8 (n_visible,) or (rows, n_visible), or None; the start of all chains, or one row per chain
        (there may be more rows); None: random bits
    dataset : data against which samples are scored; None: no ISL and no classes
    kernel : kernel of the ISL
    held : number of newest samples that the run holds
    clamp : units that are held at values, in the starts, too, and the recoding of ink; None: neither
    """

    model: Model
    seed: int = 0
    v0: np.ndarray | None = None
    dataset: Dataset | None = None
    kernel: Kernel = "binary"
    held: int = HELD_SAMPLES
    clamp: Clamp | None = None

    def run(self, number: int, algorithm: Sampler) -> "SamplingRun":
        """Return the ``number``-th run of a panel."""
        return SamplingRun(number, self, algorithm)

    def seconds_of_step(self, sampler: Sampler) -> float:
        """Estimate the seconds of a sample: one chain's, or the first of a round of chains that share."""
        chains = sampler.n_chains if getattr(sampler, "share", False) else 1
        return seconds_of_step(sampler, chains, *self.model.rbm.W.shape)


class SamplingRun(Run):
    """A sampler's chains; a step is a sample."""

    catches_up = True
    algorithm: Sampler

    def __init__(self, number: int, plan: SamplingPlan, sampler: Sampler) -> None:
        super().__init__(number, plan, sampler)
        self._sampling = plan  # in subclasses ``self.plan`` is another plan
        n_visible = plan.model.rbm.n_visible
        v0 = plan.v0
        if v0 is not None and v0.ndim == 2:
            v0 = v0[: sampler.n_chains] if sampler.n_chains > 1 else v0[0]
        self._clamp = plan.clamp
        self._held = None if plan.clamp is None or not plan.clamp.holds else plan.clamp
        self._v0 = v0 if v0 is None or not self._held else self._held.fill(self._held.free_part(v0))
        self.recorder = Recorder(n_visible, plan.held)
        self.sweeps = 0
        self._means: tuple[np.ndarray, ...] = ()  # of the newest samples, one array per chunk
        self._held_means = 0
        self.fast_norm: float | None = None
        self._scores: Scores | None = None
        self._diagnosis: Diagnosis | None = None
        self._made_with = sampler  # with the knobs of the newest sample,
        self._past_with = sampler  # and with the knobs of the last sample before the last turn
        self._begin = NOTHING_SPENT
        self._turned, self._before = dict[str, Value](), dict[str, Value]()
        self._past: tuple[Segment, ...] = ()

    def jobs(self) -> list[str]:
        """Return the names of the jobs that compile the kernels of the sampler and of its scores."""
        return jobs_of(self.algorithm, scored=self._sampling.dataset is not None)

    def prepare(self) -> None:
        """Make the chains and their scores, and compile the kernels; ``seconds`` excludes this time."""
        model, seed, _, dataset, kernel, _, clamp = self._sampling
        chains = self.algorithm, model, seed, self._v0, clamp
        self.algorithm.step(begin(*chains), 1)
        self._state = follow_norm(begin(*chains))
        n_chains = self.algorithm.n_chains
        if dataset is not None:
            self._scores = Scores(dataset, None if self._held else kernel, n_chains)
        if not self._held:  # the findings would be that the samples are not the model's, nor like the data
            self._diagnosis = Diagnosis(model.rbm, dataset, n_chains)
        self.prepared = True

    def max_steps(self) -> int:
        """Return the maximum size of the next chunk: about CHUNK_SECONDS, not past a point of the curve."""
        if not self.prepared or self._scores is None:
            return self.chunk
        until_next_point = FEWEST_SCORED if self._is_turned else self._scores.until_next_point
        return min(self.chunk, until_next_point)

    def advance(self, n: int) -> Samples:
        """Draw n samples and score them."""
        if self._is_turned:
            self._begin_segment()
        self._made_with = self.algorithm
        begin, began = time.perf_counter(), time.thread_time()
        samples = self.algorithm.step(self._state, n)
        # Processor time: while other panels load their kernels, the first samples wait for the interpreter.
        self.seconds += time.thread_time() - began
        samples = whole(samples, self._clamp)
        if self._scores is not None:
            self._scores.update(samples)
        if self._diagnosis is not None:
            self._diagnosis.update(samples.v)
            if self.watched:
                self._diagnosis.request(visited=self._classes_visited)
        self._add_means(np.rint(samples.p[-MAX_SHOWN_SAMPLES:] * 255).astype(np.uint8))
        self.fast_norm = float(samples.info["fast_norm"][-1]) if "fast_norm" in samples.info else None
        self.size_chunk(n, time.perf_counter() - begin)
        if self._scores is not None:  # after size_chunk: this rare work must not make chunks smaller
            sweeps = self.sweeps + int(samples.info["sweeps"].sum())  # record_steps counts them later
            spent = Spent(self.n + n, sweeps, self.seconds).since(self._begin)
            self._scores.evaluate(spent, self.watched)
        return samples

    @property
    def _is_turned(self) -> bool:
        """Whether the knobs of the next sample differ from the knobs of the newest sample.

        This depends only on the run's log, so that a rebuilt run has the same turns.
        """
        before, now = self._made_with, self.algorithm
        return bool(self.n) and before is not now and values_of(before) != values_of(now)

    def _begin_segment(self) -> None:
        """Score the samples from here on separately, because a knob was turned."""
        before, held = self._made_with, self.n - self._begin.samples
        if not self._past or held >= max(FEWEST_SCORED, CONTINUED * self.n):
            points = self._scores.end(self.spent.since(self._begin)) if self._scores is not None else ()
            self._past += (Segment(self._begin, self._turned, self._before, points),)
            self._past_with = before
        if self._scores is not None:
            self._scores.begin_again()
        if self._diagnosis is not None:
            self._diagnosis.begin_again()
        were = values_of(self._past_with)
        self._turned = {name: x for name, x in values_of(self.algorithm).items() if were[name] != x}
        self._before = {name: were[name] for name in self._turned}
        self._begin = self.spent

    def _add_means(self, means: np.ndarray) -> None:
        """Keep the means of the next samples, and drop means that are no longer shown."""
        parts, held = (*self._means, means), self._held_means + len(means)
        first = 0
        while held - len(parts[first]) >= MAX_SHOWN_SAMPLES:
            held -= len(parts[first])
            first += 1
        self._means, self._held_means = parts[first:], held

    def record_steps(self, samples: Samples) -> None:
        """Count and record the samples that ``advance`` has drawn."""
        self.recorder.append(samples.v)
        self.n += len(samples.v)
        self.sweeps += int(samples.info["sweeps"].sum())

    @property
    def spent(self) -> Spent:
        """Samples, sweeps and seconds of the run so far."""
        return Spent(self.n, self.sweeps, self.seconds)

    def target(self) -> RBM:
        """Return the model that the next sweep samples from; before ``prepare``, the plan's model."""
        return self.algorithm.target(self._state) if self.prepared else self.plan.model.rbm

    @property
    def has_background_work(self) -> bool:
        """Whether the samples are being looked at, or will be."""
        return self._diagnosis is not None and self._diagnosis.is_open

    def background_work(self, paused: bool) -> bool:
        """Take the newest findings, and look again if it is time; return whether there were any."""
        if self._diagnosis is None:
            return False
        self._diagnosis.request(paused, self._classes_visited)
        news, self._diagnosis.has_news = self._diagnosis.has_news, False
        return news

    @property
    def _classes_visited(self) -> tuple[int, int] | None:
        return self._scores.covered.visited if self._scores is not None else None

    def look_now(self) -> None:
        """Make the findings of the samples so far."""
        if self._diagnosis is not None:
            self._diagnosis.look_now()

    def complete(self) -> None:
        """Score the samples that have not been scored yet."""
        if self.prepared and self._scores is not None:
            self._scores.complete(self.spent.since(self._begin))

    def run_log(self) -> RunLog:
        """Return the log of the run so far; ``replay`` reproduces its samples."""
        return RunLog.of(self.log, self._sampling.seed, self._v0)

    def held_packed(self) -> tuple[int, np.ndarray]:
        """Return the number of the oldest held sample, and the held samples, bits packed along the rows."""
        return self.recorder.held_packed()

    def held_samples(self) -> tuple[int, np.ndarray]:
        """Return the number of the oldest held sample, and the held samples, uint8 (m, n_visible)."""
        first, packed = self.held_packed()
        return first, np.unpackbits(packed, axis=1, count=self.plan.model.rbm.n_visible)

    def _ladder(self) -> LadderReport | None:
        ladder = getattr(self.algorithm, "ladder", None)
        return ladder(self._state) if self.prepared and ladder is not None else None

    def view(self, status: Status) -> Snapshot:
        """Return the snapshot of this run."""
        v = self.recorder.newest_packed(MAX_SHOWN_SAMPLES)
        scores = self._scores if self.prepared else None
        start = None
        if not self.n and self._v0 is not None:
            start = np.packbits(np.atleast_2d(self._v0)[:MAX_SHOWN_SAMPLES], axis=1)
        too_few = bool(self._past) and self.n - self._begin.samples < FEWEST_SCORED
        return SamplingSnapshot(
            **self.common(status),
            sweeps=self.sweeps,
            begin=self._begin,
            turned=self._turned,
            before=self._before,
            past=self._past,
            newest_samples=NewestSamples(self.n - len(v), v, self._means, self.plan.model.rbm.n_visible),
            curve=scores.curve if scores else (),
            counts=scores.counts if scores else (),
            newest=scores.newest if scores else None,
            fast_norm=self.fast_norm,
            occupancy=scores.occupancy if scores else None,
            blanks=scores.blanks if scores else None,
            bin_width=scores.bin_width if scores else 1,
            jumps=scores.jumps if scores else None,
            covered=scores.covered if scores and not too_few else None,
            visited_in_all=scores.visited_in_all if scores else None,
            spurious_in_all=scores.spurious_in_all if scores else None,
            live_numbers=scores.live_numbers if scores and not too_few else {},
            ladder=self._ladder(),
            findings=self._diagnosis.newest if self._diagnosis else None,
            clamp=self._held,
            start_picture=start,
        )


def replay(log: RunLog, model: Model, n: int, clamp: Any = None, ink: int = 1) -> Iterator[Samples]:
    """Reproduce the first n samples of a logged run bit for bit, in chunks of about 30 ms.

    clamp : the units that were held, see ``as_clamp``; None: none were
    ink : the value that stood for ink, see ``sample``

    Raises BadInput if the log is invalid (see ``RunLog.check``) or belongs to another model.
    """
    n = checks.whole("replay: n", n)
    changes = log.check()
    sampler = changes.changes[0].algorithm
    n_visible, n_hidden = model.rbm.W.shape
    check_state("The recorded run", sampler, n_visible, n_hidden, "replay one of fewer chains")
    sampler.init(model, log.seed, log.start)  # refuses an invalid seed or start
    held = clamp_of(clamp, ink, model.rbm)
    for _, samples in again(SamplingPlan(model, log.seed, log.start, clamp=held), changes, n):
        if samples is not None:
            yield samples


class SamplingSetup(NamedTuple):
    """The setup of a race of samplers; see ``SamplingPlan``.

    start_from : "data" or "random"
        Whether each chain starts at a held-out example (if there is a data set), or at random bits.
    clamp : ``Clamp.text`` of units that are held in all panels, which fits the model; "": all are free
    ink : the value that stands for ink, see ``rbmviz.sample``
    """

    model: Model
    dataset: Dataset | None = None
    seed: int = 0
    start_from: Start = "data"
    kernel: Kernel = "binary"
    held: int = HELD_SAMPLES
    clamp: str = ""
    ink: int = 1

    def starts(self, n_chains: int) -> np.ndarray | None:
        """Return the starts of chains, uint8 (n_chains, n_visible); None: random bits from the seed.

        See ``starts_at_data``.
        """
        if self.start_from == "random" or self.dataset is None or not len(self.dataset.validation):
            return None
        return starts_at_data(self.dataset.validation, self.seed, n_chains)

    def start_text(self) -> str:
        """Return the sentence of captions about the starts."""
        if self.starts(1) is None or self.dataset is None:
            return "The chains start at random bits."
        return f"The chains start at validation examples of {self.dataset.name}."

    def _all_starts(self) -> np.ndarray | None:
        """Return the starts of the maximum number of chains; all panels and visitors share the array."""
        if self.dataset is None or self.start_from == "random":
            return None
        cached = _STARTS.setdefault(self.dataset, OrderedDict())
        starts = cached.get(self.seed)
        if starts is None:
            starts = self.starts(MAX_CHAINS)
            if starts is not None:
                cached[self.seed] = starts
        while len(cached) > MAX_STARTS:
            cached.popitem(last=False)
        return starts

    def first_state(self) -> np.ndarray | None:
        """Return the starting state of chain 0; None: random bits from the seed."""
        starts = self.starts(1)
        return None if starts is None else starts[0]

    def held_units(self) -> Clamp:
        """Return the units that are held in all panels, and those that are free."""
        return as_clamp(self.clamp or np.full(self.model.rbm.n_visible, FREE), *self.model.rbm.W.shape)

    def plan(self) -> SamplingPlan:
        """Return the plan of each run."""
        clamp = clamp_of(self.clamp or None, self.ink, self.model.rbm)
        starts = self._all_starts()
        return SamplingPlan(self.model, self.seed, starts, self.dataset, self.kernel, self.held, clamp)
