"""The server's queue of sweeps: one sweep runs at a time, on cores that no watched panel needs.

A sweep belongs to the server, not to the page that started it: it continues when the page is closed, and
every page lists it. Each sweep has its own folder of results, with one file per cell, so that a server that
is stopped loses only the running cells. A sweep over a visitor's own models or data is private: it has no
folder, only its visitor's session lists it, and its memory is freed with the session.

``rbmviz.sweeps.execute`` hands out the cells and writes their results, on a thread that exists while a sweep
runs and is mostly idle. One cell per core is computed at a time, slice by slice (``CellRun.step``). Each
slice is a unit with the scheduler's lowest priority, ``SWEEP``.
"""

import contextlib
import functools
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import threading
import time
import weakref
from collections.abc import Mapping, MutableMapping
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Literal

import numpy as np

from rbmviz.array_files import Damaged, is_file, printable, read_file, read_json
from rbmviz.budget import check_memory
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.output import reason, write_whole
from rbmviz.paths import cache_dir
from rbmviz.session.limits import MAX_CELLS_ON_SERVER, VisitorUsage, limits, variable_of
from rbmviz.session.scheduler import (
    LOW_PRIORITY,
    SCHEDULER,
    Due,
    Priority,
    Scheduler,
    Task,
    Tenant,
    lower_priority,
)
from rbmviz.session.sweep_scores import SweepScores
from rbmviz.sweeps import Cell, CellRun, SweepPlan, cells
from rbmviz.sweeps.cell import NOTHING_OWN, Own, forget
from rbmviz.sweeps.choose import one_source
from rbmviz.sweeps.execute import ComputedCell, Execution, Pool, Stopped, SweepProgress
from rbmviz.sweeps.store import Store, encode

SWEEPS_DIR = "RBMVIZ_SWEEPS_DIR"
"""Environment variable for the parent folder of all sweep folders; default ``sweeps`` in the cache folder."""

SWEEP_NOTE = "_sweep.json"
"""File in a sweep's folder with its title and owner; Parquet readers ignore names that begin with "_"."""

SWEEP_NAME = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
"""Pattern of the names of this server's sweeps; nothing else in a link becomes part of a path."""

MAX_SWEEP_TITLE = 100

MAX_SAMPLES_OF_CELL, MAX_SECONDS_OF_CELL = 1_000_000, 600
"""Maximum budget of a cell on a server, in samples and in seconds."""

SweepStatus = Literal["planned", "queued", "running", "paused", "finished", "failed", "stopped"]

log = logging.getLogger(__name__)


def _hashed(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()


class Sweep:
    """One sweep of the server. Any thread may read its attributes; only the queue changes them.

    name : name in links, and name of the sweep's folder
    own : the visitor's own models and data; a sweep with any is private, and held by the visitor's session
    status : "planned" (not queued yet), "queued", "running", "paused", "finished", "failed" (could not
        start), or "stopped" (by a person, or with the server)
    error : one sentence that says why the sweep has failed or is paused, or that cells have failed; or ""
    scores : the scores so far, with the curves of running cells
    version : number that grows with every change
    """

    def __init__(
        self,
        name: str,
        title: str,
        plan: SweepPlan,
        owner: str,
        folder: Path | None,
        own: Own = NOTHING_OWN,
        memory: VisitorUsage | None = None,
    ) -> None:
        self.name, self.title, self.plan, self._owner, self.folder = name, title, plan, owner, folder
        self.own, self._memory = own, memory  # the visitor charged for its scores
        self.status: SweepStatus = "queued" if name else "planned"
        self.error = ""
        self.version = 0
        self.scores = SweepScores(plan)
        self.loaded = False  # whether the files in the folder have been read
        self._loading = threading.Lock()  # held while loading; never acquired while holding the queue's lock
        self._places: dict[Cell, int] = {}  # indices of cells in the plan, once models and data are loaded
        self._runs: dict[int, CellRun] = {}  # runs of running and interrupted cells
        self._interrupt = threading.Event()
        self._outcome = SweepProgress(plan.size, 0)
        self._unwritten: dict[str, bytes] = {}  # results not written, because the disk was full
        # When the sweep last started: the time, the share of work done, and the number of complete cells.
        self._begun_at, self._progress_before, self._done_before = 0.0, 0.0, 0

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.plan.size

    @property
    def dated(self) -> bool:
        """Whether the sweep's name contains its start time, as in ``20261122-140000-...``."""
        return SWEEP_NAME.fullmatch(self.name) is not None

    @property
    def active(self) -> bool:
        """Whether the sweep is queued or running."""
        return self.status in ("queued", "running")

    @property
    def failed_cells(self) -> int:
        """Number of cells that have failed."""
        return len(self._outcome.failed)

    @property
    def progress(self) -> float:
        """Share of the work done, 0 to 1."""
        part = sum(run.done for run in list(self._runs.values()))
        return min((self.scores.n_done + self.failed_cells + part) / self.size, 1.0)

    @property
    def running_cells(self) -> tuple[int, ...]:
        """Indices of the cells that are running now."""
        return tuple(self._runs) if self.status == "running" else ()

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds left; None unless it is running and a cell has finished since it started."""
        gained = self.progress - self._progress_before
        if self.status != "running" or self.scores.n_done == self._done_before or gained <= 0:
            return None
        return (time.monotonic() - self._begun_at) * (1 - self.progress) / gained

    @classmethod
    def planned(cls, plan: SweepPlan) -> "Sweep":
        """Return a sweep that is not queued yet and has an empty map."""
        return cls("", "", plan, "", None)

    @classmethod
    def recorded(cls, plan: SweepPlan, columns: Mapping[str, np.ndarray]) -> "Sweep":
        """Return a complete sweep with the cells of a table; it has no folder, and accepts no commands."""
        sweep = cls("", "", plan, "", None)
        for cell, table in _tables_of(sweep.scores, columns):
            sweep.scores.put(cell, table)
        sweep.status = "finished"
        return sweep

    def belongs_to(self, owner: str) -> bool:
        """Return whether this is the secret of the visitor who started the sweep."""
        return bool(self._owner) and secrets.compare_digest(self._owner, _hashed(owner))

    def show_running(self) -> None:
        """Add the curves of running cells to the scores."""
        for cell, run in list(self._runs.items()):
            if run.n and not self.scores.is_done(cell):
                self.scores.put(cell, run.columns(), done=False)


class _Slices(Executor):
    """Computes cells of a sweep as units of a scheduler, until the sweep is interrupted."""

    def __init__(self, sweep: Sweep, scheduler: Scheduler) -> None:
        self._sweep, self._scheduler, self._tenant = sweep, scheduler, Tenant()

    def submit(self, _: object, cell: Cell, *__: object) -> "Future[ComputedCell]":  # type: ignore[override]
        future: Future[ComputedCell] = Future()
        future.set_running_or_notify_cancel()  # an interruption takes effect at the end of a slice
        task = Task(self._tenant, lambda: self._unit(task, cell, future))
        self._ask(task)
        return future

    def _ask(self, task: Task) -> None:
        self._scheduler.ask(task, Due(Priority.SWEEP, self._scheduler.clock()))

    def _unit(self, task: Task, cell: Cell, future: "Future[ComputedCell]") -> None:
        """Do a slice of a cell; after the last slice, set the future's result."""
        sweep, place = self._sweep, self._sweep._places[cell]
        if sweep._interrupt.is_set():
            future.set_exception(Stopped())
            return
        content, failure = b"", None
        try:
            run = sweep._runs.get(place)
            if run is None:
                sweep._runs[place] = CellRun(cell, sweep.own)
            if run is None or run.step():
                self._ask(task)
                return
            table = run.columns()
            if sweep.folder is not None:
                content = encode(table)
            sweep.scores.put(place, table)
        except BadInput as error:
            failure = error
        except Exception:
            log.exception("a cell of a sweep has failed")
            failure = BadInput("The server has made a mistake in a run: its log says which.")
        sweep._runs.pop(place, None)
        future.set_exception(failure) if failure else future.set_result(ComputedCell(content, 0.0))


class SweepQueue:
    """The sweeps of a server.

    folder : parent of the sweep folders; created with mode 0700 when the first sweep starts
    scheduler : scheduler of the cells (default: the process's)
    memory : an extra visitor of the server, charged for scores in memory (default: scores are not counted)
    """

    def __init__(
        self, folder: Path, scheduler: Scheduler = SCHEDULER, memory: VisitorUsage | None = None
    ) -> None:
        self.folder, self._scheduler, self._memory = folder, scheduler, memory
        self._lock = threading.RLock()
        # In order of their start. Private sweeps are held by their visitors' sessions.
        self._sweeps: MutableMapping[str, Sweep] = weakref.WeakValueDictionary()
        self._public: dict[str, Sweep] = {}
        self._closed = False
        self.at_work = False  # whether its thread exists
        self._find()

    # Queries from pages

    def list(self) -> list[Sweep]:
        """Return all sweeps that are not private, newest first."""
        with self._lock:
            return list(self._public.values())[::-1]

    def get(self, name: str) -> Sweep:
        """Return the sweep with this name, which must not be private.

        Raises BadInput if there is no such sweep, or no room for its scores.
        """
        sweep = self._listed(name, self._public)
        self._load(sweep)
        return sweep

    def _listed(self, name: str, sweeps: Mapping[str, Sweep]) -> Sweep:
        with self._lock:
            sweep = sweeps.get(name)
        if sweep is None:
            raise BadInput(
                "There is no such sweep on this server: choose one from the list. A sweep of your own models "
                "or data goes when you remove them, or reload or close the page."
            )
        return sweep

    # Commands; all return at once

    def add(
        self,
        plan: SweepPlan,
        title: str,
        owner: str,
        own: Own = NOTHING_OWN,
        visitor: VisitorUsage | None = None,
    ) -> Sweep:
        """Put a sweep at the end of the queue.

        owner : the visitor's secret; only a visitor with this secret may pause, stop and delete the sweep
        own : the visitor's own models and data in the plan (default: none). If there are any, the sweep is
            private, and lasts as long as the caller holds it.
        visitor : the visitor charged for the memory of a private sweep's scores

        Raises BadInput if the sweep exceeds a limit of the server, or there is no room for its scores;
        OutputFailure if its folder cannot be written.
        """
        check_size(plan)
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        title = printable(title)[:MAX_SWEEP_TITLE]
        with self._lock:
            self._check_room(owner)
            folder = None if any(own) else self.folder / name
            memory = visitor if any(own) else self._memory
            sweep = Sweep(name, title, plan, _hashed(owner), folder, own, memory)
            self._count(sweep)
            try:
                self._write_note(sweep)
            except BaseException:
                self._count(sweep, 0)
                raise
            sweep.loaded = True
            self._keep(sweep)
        self._begin()
        return sweep

    def _keep(self, sweep: Sweep) -> None:
        self._sweeps[sweep.name] = sweep
        if not any(sweep.own):
            self._public[sweep.name] = sweep

    def _check_room(self, owner: str) -> None:
        most = limits()
        every = list(self._sweeps.values())
        own = [sweep for sweep in every if sweep.belongs_to(owner)]
        if sum(sweep.status in ("queued", "running", "paused") for sweep in own) >= most.sweeps_of_visitor:
            raise BadInput(
                f"You have {most.sweeps_of_visitor} sweeps that have not ended, a quarter of what the server "
                f"keeps: stop one, or start the server with a larger {variable_of('sweeps')}."
            )
        kept = [sweep for sweep in every if sweep.dated]
        if len(kept) >= most.sweeps:
            raise BadInput(
                f"The server keeps {most.sweeps} sweeps, and has no room for another one: delete one that "
                f"has ended, or start the server with a larger {variable_of('sweeps')}."
            )

    def extend(self, name: str, plan: SweepPlan, owner: str) -> Sweep:
        """Queue a finished sweep again with a larger plan; complete cells do not run again.

        Raises BadInput if the sweep has not finished, belongs to another visitor, or exceeds a limit of the
        server; OutputFailure if its folder cannot be written.
        """
        check_size(plan)
        with self._lock:
            before = self._own(name, owner)
            if before.status != "finished":
                raise BadInput("This sweep has not ended: it can be extended then.")
            sweep = Sweep(name, before.title, plan, before._owner, before.folder, before.own, before._memory)
            self._count(sweep)
            try:
                if before.folder is not None:
                    Store(before.folder).prepare(plan, "rbmviz app")
            except BaseException:
                self._count(before)
                raise
            sweep.loaded, sweep.version = True, before.version + 1
            _copy_cells(before.scores, sweep.scores)
            self._keep(sweep)
        self._begin()
        return sweep

    def pause(self, name: str, owner: str) -> None:
        """Pause a sweep after its current slices; meanwhile the next sweep in the queue may run."""
        self._set(name, owner, "paused", ("queued", "running"))

    def resume(self, name: str, owner: str) -> None:
        """Queue a paused, stopped or failed sweep again, or a finished one with failed cells.

        Complete cells do not run again. Cells interrupted by a pause continue; failed cells, and cells
        interrupted by ``stop``, restart.
        """
        ended = ("finished",) if self._own(name, owner).failed_cells else ()
        self._set(name, owner, "queued", ("paused", "stopped", "failed", *ended))

    def stop(self, name: str, owner: str) -> None:
        """Stop a sweep; complete cells are kept."""
        self.halt(self._own(name, owner))

    def halt(self, sweep: Sweep, reason: str = "") -> None:
        """Stop a sweep on behalf of its owner, such as a visitor's session; reason : one sentence."""
        with self._lock:
            if sweep.status in ("queued", "running", "paused"):
                self._change(sweep, "stopped")
                sweep.error = reason or sweep.error
            sweep._runs = {}
        self._begin()

    def delete(self, name: str, owner: str) -> None:
        """Delete a sweep that is not running, with its results."""
        with self._lock:
            sweep = self._own(name, owner)
            if sweep.status in ("queued", "running"):
                raise BadInput("This sweep has not ended: stop it first.")
            self.discard(sweep)

    def discard(self, sweep: Sweep) -> None:
        """Stop and delete a sweep on behalf of its owner."""
        self.halt(sweep)
        name = sweep.name
        with self._lock:
            self._sweeps.pop(name, None)
            self._public.pop(name, None)
            self._count(sweep, 0)
        if sweep.folder is not None and SWEEP_NAME.fullmatch(name):
            shutil.rmtree(sweep.folder, ignore_errors=True)

    def close(self) -> None:
        """Start no more slices; the next server can resume the sweeps on command."""
        with self._lock:
            self._closed = True
            for sweep in self._sweeps.values():
                sweep._interrupt.set()

    def _own(self, name: str, owner: str) -> Sweep:
        sweep = self._listed(name, self._sweeps)
        if not sweep.belongs_to(owner):
            raise BadInput("Another visitor has begun this sweep: only that browser can command it.")
        return sweep

    def _set(self, name: str, owner: str, status: SweepStatus, before: tuple[str, ...]) -> Sweep:
        with self._lock:
            sweep = self._own(name, owner)
            if sweep.status in before:
                self._change(sweep, status)
        self._begin()
        return sweep

    def _change(self, sweep: Sweep, status: SweepStatus) -> None:
        if sweep.status == "running" and status != "running":
            sweep._interrupt.set()
        if status == "running":
            sweep._begun_at = time.monotonic()
            sweep._progress_before, sweep._done_before = sweep.progress, sweep.scores.n_done
        if status in ("queued", "running"):
            sweep.error = ""
        sweep.status = status
        sweep.version += 1

    def _count(self, sweep: Sweep, times: int = 1) -> None:
        """Charge a sweep's scores to the visitor responsible for them; times 0: stop charging."""
        if sweep._memory is None:
            return
        needed = times * SweepScores.bytes(sweep.plan)
        try:
            sweep._memory.keep(f"sweep {sweep.name}", needed)
        except BadInput:
            raise BadInput(
                f"The scores of this sweep take {needed / 1e6:,.0f} MB of memory, which the server has not "
                f"left: delete sweeps that have ended, or start it with a larger {variable_of('server_mb')}."
            ) from None

    # Folders

    def add_results(self, folder: Path, plan: SweepPlan) -> Sweep:
        """List a read-only folder of results that were made elsewhere, with its plan.

        The sweep's name is a hash of the path, so that links do not contain the path.
        """
        name = f"results-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
        with self._lock:
            if name not in self._public:
                self._add_stopped(name, folder.name, plan, "", folder)
            return self._public[name]

    def _add_stopped(self, name: str, title: str, plan: SweepPlan, owner: str, folder: Path) -> None:
        title = printable(title)[:MAX_SWEEP_TITLE]
        sweep = Sweep(name, title, plan, owner, folder, memory=self._memory)
        sweep.status = "stopped"
        self._keep(sweep)

    def _write_note(self, sweep: Sweep) -> None:
        if sweep.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sweep.folder.mkdir(mode=0o700)
        except OSError as error:
            raise OutputFailure(f"'{self.folder}' cannot be written: {reason(error)}.") from error
        note = {"title": sweep.title, "owner": sweep._owner}
        write_whole(sweep.folder / SWEEP_NOTE, json.dumps(note).encode())
        Store(sweep.folder).prepare(sweep.plan, "rbmviz app")

    def _find(self) -> None:
        """List the sweeps whose folders exist."""
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.iterdir()):
                if SWEEP_NAME.fullmatch(path.name) and is_file(path / SWEEP_NOTE):
                    try:
                        note = read_json(read_file(path / SWEEP_NOTE, "The note of a sweep"))
                        title, owner = str(note["title"]), str(note["owner"])
                        plan = Store(path).plan()
                    except (BadInput, Damaged, OSError, KeyError, TypeError, ValueError) as error:
                        log.warning("the sweep %s is left out: %s", path.name, error)
                        continue
                    self._add_stopped(path.name, title, plan, owner, path)

    def _load(self, sweep: Sweep) -> None:
        """Read the results of a sweep that an earlier server or another program has made.

        Raises BadInput if there is no room for its scores.
        """
        if sweep.loaded or sweep.folder is None:
            return
        with sweep._loading:  # a second caller must wait, or complete cells would run again
            if sweep.loaded:
                return
            with self._lock:
                self._count(sweep)
            try:
                tables, sentences = _read_cells(sweep)
            except (BadInput, OutputFailure) as error:
                tables, sentences = [], [str(error)]
            for cell, table in tables:
                sweep.scores.put(cell, table)
            sweep.error = " ".join(sentences)
            with self._lock:
                if sweep.status == "stopped" and sweep.scores.n_done == sweep.size:
                    sweep.status = "finished"
                sweep.version += 1
                sweep.loaded = True

    # Work, on a thread that waits for the scheduler

    def _begin(self) -> None:
        """Start the thread if there is work and no thread yet."""
        with self._lock:
            if not self.at_work and self._next() is not None:
                self.at_work = True
                threading.Thread(target=self._work, name="rbmviz-sweeps", daemon=True).start()

    def _next(self) -> Sweep | None:
        """Return the first sweep of the queue."""
        queued = (sweep for sweep in list(self._sweeps.values()) if sweep.status == "queued")
        return None if self._closed else next(queued, None)

    def _work(self) -> None:
        """Run one sweep after another."""
        lower_priority(LOW_PRIORITY)
        while True:
            with self._lock:
                sweep = self._next()
                if sweep is None:
                    self.at_work = False
                    forget()  # no cell needs models or data any more
                    return
                sweep._interrupt.clear()
                sweep._outcome.failed.clear()  # failed cells are tried again
                self._change(sweep, "running")
            self._run(sweep)
            del sweep

    def _run(self, sweep: Sweep) -> None:
        """Have the cells of a sweep computed until all have ended or the sweep is interrupted."""
        refused = ""
        try:
            if not sweep._places:
                self._load(sweep)
                every = cells(sweep.plan, registered=True, own=sweep.own)
                sweep._places = {cell: i for i, cell in enumerate(every)}
            pool = Pool(_Slices(sweep, self._scheduler), lambda: self._scheduler.n, sweep._interrupt)
            store = Store(sweep.folder) if sweep.folder is not None else None
            note = functools.partial(self._note, sweep)
            missing = [cell for cell, i in sweep._places.items() if not sweep.scores.is_done(i)]
            Execution(pool, store, sweep._outcome, note, sweep._unwritten).run(missing)
        except (BadInput, OutputFailure) as error:
            refused = str(error)
        except Exception:
            log.exception("a sweep could not begin")
            refused = "The server has made a mistake: its log says which."
        with self._lock:
            if sweep.active and not sweep._places:  # a stopped sweep fails only when resumed
                sweep.error = refused
                self._change(sweep, "failed")
            elif refused and sweep.status == "running":
                sweep.error = f"{refused} Nothing is lost: make room, and let the sweep go on."
                self._change(sweep, "paused")
            elif sweep.status == "running" and not self._closed:
                self._change(sweep, "finished")
            elif sweep.status == "stopped":
                sweep._runs = {}

    def _note(self, sweep: Sweep, outcome: SweepProgress) -> None:
        """Record that a cell has ended."""
        with self._lock:
            sweep.version += 1
            if outcome.failed:
                reason = outcome.failed[-1].reason
                sweep.error = f"{len(outcome.failed)} of {sweep.size} runs have failed. {reason}"


def check_size(plan: SweepPlan) -> None:
    """Raise BadInput if a plan has too many cells for a server, or cells that take too long."""
    if plan.size > MAX_CELLS_ON_SERVER:
        raise BadInput(
            f"This sweep has {plan.size:,} runs and the server allows {MAX_CELLS_ON_SERVER:,}: take fewer "
            "values or seeds."
        )
    longest = MAX_SECONDS_OF_CELL if plan.budget.unit == "seconds" else MAX_SAMPLES_OF_CELL
    if plan.budget.amount > longest:
        raise BadInput(
            f"A run of {plan.budget.amount:,.10g} {plan.budget.unit} is too long for a server: give "
            f"{longest:,} at most."
        )


def check_scores(plan: SweepPlan, what: str) -> None:
    """Raise BadInput if the scores of a plan would exceed the memory budget."""
    check_memory(what, SweepScores.bytes(plan), "look at a part of it with 'rbmviz sweep show'")


def _read_cells(sweep: Sweep) -> tuple[list[tuple[int, dict[str, np.ndarray]]], list[str]]:
    """Return index and table of each cell in a sweep's folder, and messages about other contents.

    Cells are identified by setting, model and seed, so that the models need not be present. If the folder has
    results of several versions of the program, or of different models with the same name, only the largest
    group of each algorithm's cells is used. Cells of other plans are ignored.
    """
    assert sweep.folder is not None
    names = ("identity", "setting", "algorithm", "model", "seed", "version", "model_digest")
    stored = Store(sweep.folder).read(names=[*names, *sweep.scores.columns])
    return _tables_of(sweep.scores, stored.columns) if stored.cells else [], stored.refused


def _copy_cells(old: SweepScores, new: SweepScores) -> None:
    """Copy complete cells from the scores of a plan to those of a larger plan with the same seeds."""
    places = {(setting.algorithm, setting.model): i for i, setting in enumerate(new.settings)}
    for i, setting in enumerate(old.settings):
        place, curves = places[setting.algorithm, setting.model], old.curves(i)
        for k in range(len(old.plan.seeds)):
            if old.is_done(k * len(old.settings) + i):
                filled = ~np.isnan(curves["n"][k])
                table = {name: column[k, filled] for name, column in curves.items()}
                new.put(k * len(new.settings) + place, table)


def _tables_of(
    scores: SweepScores, columns: Mapping[str, np.ndarray]
) -> list[tuple[int, dict[str, np.ndarray]]]:
    """Return index and table of each cell of the plan that is in a joined table."""
    indices = {(setting.algorithm, setting.model): i for i, setting in enumerate(scores.settings)}
    seeds = {seed: k for k, seed in enumerate(scores.plan.seeds)}

    def cell_of(columns: Mapping[str, np.ndarray], row: int) -> int | None:
        setting = indices.get((columns["setting"][row], columns["model"][row]))
        seed = seeds.get(int(columns["seed"][row]))
        return None if setting is None or seed is None else seed * len(scores.settings) + setting

    planned = np.array([cell_of(columns, row) is not None for row in range(len(columns["n"]))])
    columns = one_source({name: column[planned] for name, column in columns.items()})
    if not len(columns["n"]):
        return []
    starts = np.flatnonzero(columns["identity"][1:] != columns["identity"][:-1]) + 1
    tables = {
        cell_of(columns, rows[0]): {name: columns[name][rows] for name in scores.columns}
        for rows in np.split(np.arange(len(columns["n"])), starts)
    }
    return list(tables.items())  # type: ignore[arg-type]


def sweeps_folder() -> Path:
    """Return the parent folder of all sweep folders, as set in the environment."""
    folder = os.environ.get(SWEEPS_DIR)
    return Path(folder) if folder else cache_dir() / "sweeps"
