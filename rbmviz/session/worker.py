"""One run, one thread: commands in, the newest immutable snapshot out."""

import dataclasses
import functools
import logging
import math
import os
import threading
import time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.knobs import Value, check_names, knobs_of
from rbmviz.metrics import Kernel
from rbmviz.rbm import Model
from rbmviz.samplers import Sampler, Samples
from rbmviz.session.recorder import Record, Recorder
from rbmviz.session.scores import Scores
from rbmviz.session.snapshot import Frames, Snapshot, Status

CHUNK_SECONDS = 0.03
"""A chunk of samples fills about this long: the delay of a command, and the beat of snapshots."""

LEASE_SECONDS = 30.0
"""Without anybody asking for a snapshot for this long, the thread waits; the next question wakes it."""

BACKLOG_SECONDS = 0.25
"""A run that cannot keep its rate drops what it owes beyond this, so that a pause takes effect at once."""

FRAMES = 144
"""Newest samples in a snapshot, enough for a 12 x 12 grid."""

SLOTS = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Runs of the whole process that compute at the same moment: one a core, however many are open."""

log = logging.getLogger(__name__)


class Pace(NamedTuple):
    """How many samples a run may have made: ``n`` at the time ``at``, ``rate`` more each second."""

    n: int
    at: float
    rate: float

    def allowed(self, now: float) -> float:
        """Return the number allowed by now."""
        return math.inf if math.isinf(self.rate) else self.n + math.floor(self.rate * (now - self.at))


@functools.cache
def _one_blas_thread() -> None:
    # BLAS threads of several runs fight for the cores; a run is one thread by contract.
    threadpool_limits(limits=1, user_api="blas")


class Plan(NamedTuple):
    """What a run is made of; the sampler's knobs may change while it goes on, nothing here may."""

    model: Model
    seed: int
    start: np.ndarray | None
    dataset: Dataset | None
    kernel: Kernel


class Run:
    """One run from its first sample on; only the worker's thread prepares and advances it."""

    def __init__(self, number: int, plan: Plan, sampler: Sampler) -> None:
        self.number, self.plan, self.sampler = number, plan, sampler
        n_visible = plan.model.rbm.n_visible
        self.recorder = Recorder(sampler, plan.seed, plan.start, n_visible)
        self.n, self.sweeps, self.seconds = 0, 0, 0.0
        self.chunk = 1
        self.prepared = False
        self._means = np.zeros((0, n_visible), np.uint8)
        self._drift: float | None = None

    def prepare(self) -> None:
        """Make the chain and what scores it; compile the kernels outside the run's own clock."""
        model, seed, start, dataset, kernel = self.plan
        self.sampler.step(self.sampler.init(model, seed, start), 1)
        self._state = self.sampler.init(model, seed, start)
        self._scores = Scores(dataset, kernel) if dataset is not None else None
        self.prepared = True

    def advance(self, n: int) -> Samples:
        """Make n samples and score them; nothing that another thread reads is touched."""
        begin = time.perf_counter()
        samples = self.sampler.step(self._state, n)
        self.seconds += time.perf_counter() - begin
        if self._scores is not None:
            self._scores.update(samples, self.seconds)
        self._means = np.concatenate([self._means, np.rint(samples.p[-FRAMES:] * 255).astype(np.uint8)])
        self._means = self._means[-FRAMES:]
        self._drift = float(samples.info["drift"][-1]) if "drift" in samples.info else None
        spent = time.perf_counter() - begin
        self.chunk = min(max(int(n * CHUNK_SECONDS / spent), 1), 2 * self.chunk)
        return samples

    def keep(self, samples: Samples) -> None:
        """Count and record what advance has made."""
        self.recorder.keep(samples.v)
        self.n += len(samples.v)
        self.sweeps += int(samples.info["sweeps"].sum())

    def most(self) -> int:
        """Return the most samples of the next chunk: about CHUNK_SECONDS, not past a point of the curve."""
        return self.chunk if self._scores is None else min(self.chunk, self._scores.until_next_point)

    def snapshot(self, status: Status) -> Snapshot:
        """Return what there is to see."""
        v = self.recorder.packed(FRAMES)
        frames = Frames(self.n - len(v), v, self._means, self.plan.model.rbm.n_visible)
        shown = Snapshot(status, self.number, self.n, self.sweeps, self.seconds, self.sampler, frames)
        if not self.prepared:
            return shown
        shown = dataclasses.replace(shown, drift=self._drift)
        if self._scores is None:
            return shown
        return dataclasses.replace(
            shown,
            curve=self._scores.curve,
            newest=self._scores.newest,
            occupancy=self._scores.occupancy,
            bin_width=self._scores.bin_width,
            switches=self._scores.switches,
            spurious=self._scores.spurious if self.n else None,
        )


class Worker:
    """Runs one sampler on one model and scores what it makes.

    Parameters
    ----------
    model : Model
    sampler : Sampler
    seed : int, default 0
    start : uint8 (n_visible,) or None
        First state of the chain; None: random bits of the seed.
    dataset : Dataset or None
        What the samples are scored against; None: no ISL, no classes.
    kernel : "binary" or "mean"
        Kernel of ISL.
    rate : float
        Samples a second at most; infinity (the default) is full speed.
    n_max : int or None
        The run is finished at this many samples; None: endless.

    Commands return at once and take effect between two chunks, within about 30 ms. Runs that shall go
    in step get the same ``at`` (a time.monotonic() reading) with a command.
    """

    def __init__(
        self,
        model: Model,
        sampler: Sampler,
        *,
        seed: int = 0,
        start: np.ndarray | None = None,
        dataset: Dataset | None = None,
        kernel: Kernel = "binary",
        rate: float = math.inf,
        n_max: int | None = None,
    ) -> None:
        _one_blas_thread()
        # Guards what commands write; held for moments only, never while sampling.
        self._wake = threading.Condition()
        # Held by the one thread that may advance the run; a second one waits until the first has left.
        self._owner = threading.Lock()
        self._thread: threading.Thread | None = None
        self._leave = threading.Event()
        self._sampler, self._rate = sampler, rate
        self._end = math.inf if n_max is None else n_max
        self._running = False  # going on until told otherwise; else only up to _stop_at
        self._stop_at: float = 0
        self._asked = time.monotonic()
        self._runs = 0
        with self._wake:
            self._begin(Plan(model, seed, start, dataset, kernel))

    # Commands, from any thread.

    def resume(self, at: float | None = None) -> None:
        """Go on, or begin."""
        with self._wake:
            self._running = True
            self._set_pace(at)

    def pause(self, at: float | None = None) -> None:
        """Stop; runs of one rate paused at one time stop at the same number of samples."""
        with self._wake:
            if self._running:
                self._drop_backlog()
                allowed = self._pace.allowed(time.monotonic() if at is None else at)
                self._stop_at = self._run.n if math.isinf(allowed) else max(allowed, self._run.n)
                self._running = False
            self._wake.notify()

    def step(self, n: int = 1) -> None:
        """Make n more samples at full speed, then pause."""
        with self._wake:
            begin = self._run.n if self._running else max(self._stop_at, self._run.n)
            self._running, self._stop_at = False, begin + n
            self._wake.notify()

    def set_rate(self, rate: float, at: float | None = None) -> None:
        """Change the samples a second (infinity: full speed)."""
        with self._wake:
            self._rate = rate
            self._set_pace(at)

    def tune(self, **knobs: Value) -> None:
        """Change knobs while the run goes on; one that is not live, or a failed run, begins anew."""
        with self._wake:
            check_names(type(self._sampler), knobs)
            self._sampler = dataclasses.replace(self._sampler, **knobs)  # type: ignore[type-var]
            live = all(knobs_of(self._sampler)[name].live for name in knobs)
            if self._snapshot.status == "failed" or not live:
                self._begin(self._run.plan)
            self._wake.notify()

    def reset(self, seed: int) -> None:
        """Begin a new run from sample 0; everything but the seed stays."""
        with self._wake:
            self._begin(self._run.plan._replace(seed=seed))

    def swap_model(
        self,
        model: Model,
        *,
        seed: int,
        start: np.ndarray | None = None,
        dataset: Dataset | None = None,
        kernel: Kernel = "binary",
    ) -> None:
        """Begin a new run on another model, scored against another data set."""
        with self._wake:
            self._begin(Plan(model, seed, start, dataset, kernel))

    def open(self) -> None:
        """Give the run a thread, where it has none."""
        with self._wake:
            if self._thread is None or self._leave.is_set() or not self._thread.is_alive():
                self._leave = threading.Event()
                self._thread = threading.Thread(
                    target=self._work, args=(self._leave,), name="rbmviz-run", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Let the thread end after its chunk, without waiting for it; ``open`` takes the run up again."""
        with self._wake:
            self._leave.set()
            self._wake.notify()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended (after ``close``)."""
        if self._thread is not None:
            self._thread.join(timeout)

    # Answers, to any thread.

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot; asking renews the lease."""
        if self._asleep():
            with self._wake:
                self._asked = time.monotonic()
                self._set_pace(None)
        self._asked = time.monotonic()
        return self._snapshot

    def peek(self) -> Snapshot:
        """Return the newest snapshot without renewing the lease."""
        return self._snapshot

    @property
    def sampler(self) -> Sampler:
        """The sampler with its knobs as they were last set."""
        return self._sampler

    def record(self) -> Record:
        """Return the log of the run so far: with it, ``replay`` makes the same samples."""
        with self._wake:
            return self._run.recorder.record()

    def kept(self) -> tuple[int, np.ndarray]:
        """Return the number of the first sample kept and the newest samples, uint8 (m, n_visible)."""
        with self._wake:
            first, packed = self._run.recorder.kept()
        return first, np.unpackbits(packed, axis=1, count=self._run.plan.model.rbm.n_visible)

    # Inside; _wake is held where commands call these.

    def _begin(self, plan: Plan) -> None:
        self._runs += 1
        self._run = Run(self._runs, plan, self._sampler)
        self._stop_at = 0
        self._snapshot = self._run.snapshot("starting")
        self._set_pace(None)

    def _set_pace(self, at: float | None) -> None:
        self._pace = Pace(self._run.n, time.monotonic() if at is None else at, self._rate)
        self._wake.notify()

    def _drop_backlog(self) -> None:
        now = time.monotonic()
        if self._pace.allowed(now) - self._run.n > self._rate * BACKLOG_SECONDS + 1:
            self._pace = Pace(self._run.n, now - BACKLOG_SECONDS, self._rate)

    def _asleep(self) -> bool:
        return time.monotonic() - self._asked > LEASE_SECONDS

    def _status(self) -> Status:
        if self._run.n >= self._end:
            return "finished"
        return "running" if self._running or self._run.n < self._stop_at else "paused"

    def _due(self) -> int:
        """Return how many samples to make now; 0: wait."""
        if self._asleep() or self._snapshot.status == "failed":
            return 0
        self._drop_backlog()
        allowed = self._pace.allowed(time.monotonic()) if self._running else self._stop_at
        return max(int(min(self._run.most(), min(allowed, self._end) - self._run.n)), 0)

    def _work(self, leave: threading.Event) -> None:
        with self._owner:
            while not leave.is_set():
                run = self._run
                try:
                    self._once(run)
                except Exception as error:  # the thread must tell, whatever it was
                    if not isinstance(error, BadInput):
                        log.exception("a run failed")
                    text = str(error) if isinstance(error, BadInput) else f"Internal error: {error!r}"
                    self._publish(run, "failed", text)

    def _once(self, run: Run) -> None:
        """Do one chunk of what is due, or wait for something to do."""
        if not run.prepared and self._snapshot.status != "failed":
            with SLOTS:
                run.prepare()
            self._publish(run)
        with self._wake:
            n = self._due() if run is self._run else 0
            if self._snapshot.status != "failed" and self._status() != self._snapshot.status:
                self._snapshot = run.snapshot(self._status())
            if n == 0:
                self._wake.wait(CHUNK_SECONDS if self._running else 0.5)
                return
            if run.sampler is not self._sampler:
                run.sampler = self._sampler
                run.recorder.note(run.sampler)
        with SLOTS:
            samples = run.advance(n)
        with self._wake:
            run.keep(samples)
        self._publish(run)
        time.sleep(0.001)  # lets the other threads of the process have the interpreter

    def _publish(self, run: Run, status: Status | None = None, error: str | None = None) -> None:
        with self._wake:
            if run is self._run:  # else a command has begun another run meanwhile
                shown = run.snapshot(status or self._status())
                self._snapshot = dataclasses.replace(shown, error=error)
