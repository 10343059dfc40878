"""Run the cells of a plan on any ``concurrent.futures.Executor``: threads here, or a Dask cluster.

The kernels release the GIL, so threads fill the cores of one machine. Each cell is computed on one thread;
the thread that calls ``run`` writes the results. However a sweep ends, its results are in the folder, and
running it again computes the rest.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from typing import NamedTuple

from rbmviz.errors import BadInput, OutputFailure
from rbmviz.files.output import reason
from rbmviz.support import checks
from rbmviz.support.blas import one_blas_thread, one_blas_thread_for_good
from rbmviz.support.stopping import Stopped
from rbmviz.sweeps.cell import Cell, CellRun, data_of_cell, model_of, version_of
from rbmviz.sweeps.race import due
from rbmviz.sweeps.store import Store
from rbmviz.sweeps.tables import CellResult

WAITING_EACH = 2
"""Number of cells submitted per thread of an executor: one runs, the next is ready."""

LOOK_SECONDS = 0.5
"""Seconds between two looks at a cluster's threads, and at whether the sweep is to stop."""


class FailedCell(NamedTuple):
    """A cell that ended with an error; reason : one sentence."""

    cell: Cell
    reason: str


@dataclass
class SweepProgress:
    """The outcome of a run of a sweep.

    Parameters
    ----------
    cells : int
        Number of cells in the plan; in a race, of those that are due so far.
    stored : int
        Number of cells whose results were already in the folder.
    computed : int
        Number of cells computed and written in this run.
    failed : list of FailedCell
        Cells that ended with an error; another run tries them again.
    seconds, busy_seconds : float
        Wall-clock time of the run, and total wall-clock time of its cells, each on its thread.
    interrupted : bool
        Whether Ctrl-C, or ``stop``, ended the run.
    """

    cells: int
    stored: int
    computed: int = 0
    failed: list[FailedCell] = field(default_factory=list)
    seconds: float = 0.0
    busy_seconds: float = 0.0
    interrupted: bool = False

    @property
    def done(self) -> int:
        """Number of cells of the plan whose results are in the folder."""
        return self.stored + self.computed


def compute(cell: Cell, stop: threading.Event | None = None) -> tuple[CellResult, float]:
    """Return a cell's result and its seconds; ends early if ``stop`` is set, which is checked every 30 ms.

    Raises BadInput if the model or the data cannot be loaded, or if the code of this process differs from
    the code of the process that made the cell.
    """
    begin = time.perf_counter()
    if version_of(cell.kind, cell.algorithm.partition(":")[0]) != cell.version:
        raise BadInput(
            "The worker has another version of rbmviz than the process that started the sweep: install the "
            "same one on all machines."
        )
    run = CellRun(cell)
    while run.step():
        if stop is not None and stop.is_set():
            raise Stopped
    return run.result(), time.perf_counter() - begin


def compute_in_worker(cell: Cell) -> tuple[CellResult, float]:
    """Run one cell in a process that only runs cells, so that BLAS has a single thread there for good."""
    one_blas_thread_for_good()
    return compute(cell)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    cells: Sequence[Cell],
    store: Store,
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    on_progress: Callable[[SweepProgress], None] | None = None,
    on_message: Callable[[str], None] | None = None,
    stop: threading.Event | None = None,
    race: bool = False,
) -> SweepProgress:
    """Compute, in order, the cells that are not in the folder yet.

    Parameters
    ----------
    cells : sequence of Cell
        ``rbmviz.sweeps.cells`` of a plan.
    store : Store
        Store of the results, whose folder must exist (``Store.prepare``).
    executor : Executor, optional
        Executor of the cells (default: threads of this process). Its workers load models and data by the
        names in the cells, and must have imported any algorithms of your own. It is not shut down.
    workers : int, optional
        Number of threads, or of workers of ``executor``, which gets twice as many cells at a time (default:
        one per core of this machine).
    scheduler : str, optional
        Address of a Dask scheduler, ``tcp://host:8786``, to use instead of an executor. Models and data are
        sent once to each of its workers.
    on_progress : callable, optional
        Called after each cell with the outcome so far.
    on_message : callable, optional
        Called with a sentence if workers are lost or there are none.
    stop : threading.Event, optional
        Set it to end the run early, as Ctrl-C does.
    race : bool
        Leave out the cells that decide nothing (see ``rbmviz.sweeps.race``; default False).

    Returns
    -------
    SweepProgress
        The outcome; after Ctrl-C, ``interrupted`` is True.

    Raises
    ------
    BadInput
        If no scheduler answers, or the connection to it is lost.
    OutputFailure
        If results can no longer be written; those written before are kept.
    """
    workers = None if workers is None else checks.whole("workers", workers, 1)
    there = store.done(cells)
    missing = list({cell.identity: cell for cell in cells if cell.identity not in there}.values())
    outcome = SweepProgress(cells=len(there) + len(missing), stored=len(there))

    def in_race() -> list[Cell]:
        by_run = {(cell.algorithm, cell.model, cell.seed): cell for cell in cells}
        failed = [run for run, cell in by_run.items() if cell in {each.cell for each in outcome.failed}]
        found = due(list(by_run), store.read(cells), cells[0].budget.unit, failed)
        outcome.cells = outcome.done + len(outcome.failed) + len(found)
        return [by_run[run] for run in found]

    todo = in_race() if race else missing
    if not todo:
        return outcome
    stop = threading.Event() if stop is None else stop
    n = workers or cores()

    def threads() -> int:
        return n

    with contextlib.ExitStack() as stack:
        if executor is None and scheduler is not None:
            from rbmviz.sweeps.cluster import connected

            first = {cell.data_digest: cell for cell in todo} | {cell.model_digest: cell for cell in todo}
            loaded: list[object] = [data_of_cell(cell) for cell in first.values()]
            loaded += [model_of(cell) for cell in first.values() if cell.kind == "sampler"]
            executor, threads = stack.enter_context(connected(scheduler, loaded, on_message or _silent))
        if here := executor is None or isinstance(executor, ThreadPoolExecutor):
            stack.enter_context(one_blas_thread())
            executor = executor or stack.enter_context(ThreadPoolExecutor(n))
        assert executor is not None
        while todo:
            own = threading.Event() if here else None  # running cells of this process end when it is set
            _Running(store, outcome, executor, threads, own, stop, on_progress or _silent).run(todo)
            todo = in_race() if race and not outcome.interrupted else []
    if outcome.interrupted:  # perhaps between the writing of a cell and its count
        outcome.computed = len(store.done(missing))
    return outcome


def _silent(_: object) -> None:
    pass


@dataclass
class _Running:
    """Cells on an executor.

    threads : returns the number of its threads now
    own : ends the running cells of this process when it is set; None: they run in other processes
    """

    store: Store
    outcome: SweepProgress
    executor: Executor
    threads: Callable[[], int]
    own: threading.Event | None
    stop: threading.Event
    on_progress: Callable[[SweepProgress], None]

    def run(self, todo: Sequence[Cell]) -> None:
        """Submit all cells and write their results until the end, a stop, an interrupt, or an error."""
        waiting, flying, more = iter(todo), dict[Future[tuple[CellResult, float]], Cell](), True
        begin, looked, room = time.perf_counter() - self.outcome.seconds, -LOOK_SECONDS, 0
        try:
            while (more or flying) and not self.stop.is_set():
                if time.perf_counter() - looked > LOOK_SECONDS:
                    room, looked = WAITING_EACH * self.threads(), time.perf_counter()
                while more and len(flying) < room:
                    cell = next(waiting, None)
                    more = cell is not None
                    if cell is not None:
                        flying[self._submit(cell)] = cell
                if not flying:
                    self.stop.wait(LOOK_SECONDS)  # for a worker
                for future in wait(flying, LOOK_SECONDS, FIRST_COMPLETED).done:
                    self._take(future, flying.pop(future))
                    self.outcome.seconds = time.perf_counter() - begin
                    self.on_progress(self.outcome)
            self.outcome.interrupted = self.stop.is_set()
        except KeyboardInterrupt:
            self.outcome.interrupted = True
        finally:
            self._give_up(flying)
            self.outcome.seconds = time.perf_counter() - begin

    def _submit(self, cell: Cell) -> "Future[tuple[CellResult, float]]":
        try:
            if self.own is not None:
                return self.executor.submit(compute, cell, self.own)
            return self.executor.submit(compute_in_worker, cell)
        except RuntimeError as error:  # the executor was shut down, or has broken
            raise self._lost(error) from None

    def _take(self, future: "Future[tuple[CellResult, float]]", cell: Cell) -> None:
        try:
            result, seconds = future.result()
        except Stopped:
            return
        except (CancelledError, BrokenExecutor) as error:
            raise self._lost(error) from None
        except Exception as error:  # an error in one cell must not affect the others
            self.outcome.failed.append(FailedCell(cell, _sentence(error)))
            self.store.write_failure(cell, _sentence(error))
        else:
            self.store.write(result)
            self.outcome.computed += 1
            self.outcome.busy_seconds += seconds

    def _lost(self, error: BaseException) -> BadInput:
        """Return the error to raise for an executor that has broken down."""
        return BadInput(
            f"The workers, or the connection to them, were lost ({type(error).__name__}): "
            f"{self.outcome.done:,} of {self.outcome.cells:,} cells are in '{self.store.folder}', and the "
            "sweep can be resumed."
        )

    def _give_up(self, flying: "dict[Future[tuple[CellResult, float]], Cell]") -> None:
        """Start no more cells, let running cells of this process end soon, and take cells that have ended."""
        if self.own is not None:
            self.own.set()
        for future, cell in flying.items():
            if not future.cancel() and self.own is not None:
                wait([future])
            if future.done() and not future.cancelled():
                with contextlib.suppress(BadInput, OutputFailure):  # lost, or the error is on its way already
                    self._take(future, cell)


def _sentence(error: Exception) -> str:
    if isinstance(error, BadInput):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or type(error).__name__}: {reason(error)}."
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first[:300]}"
