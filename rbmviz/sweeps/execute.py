"""Run the cells of a plan on any ``concurrent.futures.Executor``: threads of this process, or a Dask cluster.

The kernels release the GIL, so threads fill the cores of one machine. Each cell is computed and encoded on
one thread; the process that started the sweep writes the files. The number of submitted cells is bounded.
However a sweep ends, its results are in the folder, and running it again computes the rest.

``run`` is for programs, the command line and recipes. A server's queue of sweeps has its own executor, which
computes cells while nobody else needs the core. Both use ``Execution``.
"""

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rbmviz import checks
from rbmviz.blas import one_blas_thread, one_blas_thread_for_good
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.output import reason, rescue
from rbmviz.sweeps.cell import Cell, CellRun, data_of_cell, model_of, version_of
from rbmviz.sweeps.store import Store, encode

WAITING_EACH = 2
"""Number of cells submitted per thread of an executor: one runs, the next is ready."""

LOOK_SECONDS = 0.5
"""Seconds between two queries for the number of a cluster's threads."""


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
        Number of cells in the plan.
    stored : int
        Number of cells whose results were already in the folder.
    computed : int
        Number of cells computed and written in this run.
    failed : list of FailedCell
        Cells that ended with an error; another run tries them again.
    seconds, busy_seconds : float
        Wall-clock time of the run, and total wall-clock time of its cells, each on its thread.
    interrupted : bool
        Whether Ctrl-C ended the run.
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

    @property
    def seconds_left(self) -> float:
        """Expected seconds until the end, estimated from the cells computed so far; NaN before the first."""
        ended = self.computed + len(self.failed)
        return (self.cells - self.stored - ended) * self.seconds / ended if ended else float("nan")


class ComputedCell(NamedTuple):
    """A cell's result from an executor: the content of its file, and the wall-clock time on its thread."""

    content: bytes
    seconds: float


class Stopped(Exception):
    """Raised in a cell that is running when the sweep is interrupted."""


def compute(cell: Cell, stop: threading.Event | None = None) -> ComputedCell:
    """Run one cell to its end on this thread, or until ``stop`` is set, which is checked every 30 ms.

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
    return ComputedCell(encode(run.columns()), time.perf_counter() - begin)


def compute_in_worker(cell: Cell) -> ComputedCell:
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

    Returns
    -------
    SweepProgress
        The outcome; after Ctrl-C, ``interrupted`` is True.

    Raises
    ------
    BadInput
        If no scheduler answers, or the connection to it is lost.
    OutputFailure
        If results can no longer be written; computed results are kept in a temporary folder, which the
        message names.
    """
    workers = None if workers is None else checks.whole("workers", workers, 1)
    there = store.done(cells)
    todo = list({cell.identity: cell for cell in cells if cell.identity not in there}.values())
    outcome = SweepProgress(cells=len(there) + len(todo), stored=len(there))
    if not todo:
        return outcome
    with contextlib.ExitStack() as stack:
        if isinstance(executor, ThreadPoolExecutor):
            stack.enter_context(one_blas_thread())
            stop = threading.Event()
            pool = Pool(executor, lambda: WAITING_EACH * (workers or cores()), stop)
        elif executor is not None:
            pool = Pool(executor, lambda: WAITING_EACH * (workers or cores()))
        elif scheduler is not None:
            from rbmviz.sweeps.cluster import connected

            cluster = stack.enter_context(connected(scheduler, _loaded(todo), on_message or _silent))
            pool = Pool(cluster.executor, lambda: WAITING_EACH * cluster.n_threads())
        else:
            stack.enter_context(one_blas_thread())
            pool = stack.enter_context(_threads(workers or cores()))
        execution = Execution(pool, store, outcome, on_progress or _silent)
        try:
            execution.run(todo)
        except (BadInput, OutputFailure) as error:
            if not execution.unwritten:
                raise
            raise _rescued(execution, error) from error
    return outcome


def _silent(_: object) -> None:
    pass


def _loaded(cells: Sequence[Cell]) -> list[object]:
    """Return the models and data sets of the cells, each once."""
    loaded: dict[str, object] = {}
    for cell in cells:
        if cell.data_digest not in loaded:
            loaded[cell.data_digest] = data_of_cell(cell)
        if cell.kind == "sampler" and cell.model_digest not in loaded:
            loaded[cell.model_digest] = model_of(cell)
    return list(loaded.values())


@dataclass
class Pool:
    """An executor, the number of cells it may have now, and the event that ends the sweep.

    stop : None if cells run in other processes, where they cannot be interrupted
    """

    executor: Executor
    room: Callable[[], int]
    stop: threading.Event | None = None

    def submit(self, cell: Cell) -> "Future[ComputedCell]":
        """Have a cell computed."""
        if self.stop is not None:
            return self.executor.submit(compute, cell, self.stop)
        return self.executor.submit(compute_in_worker, cell)


@contextlib.contextmanager
def _threads(n: int) -> Iterator[Pool]:
    stop = threading.Event()
    executor = ThreadPoolExecutor(n, thread_name_prefix="rbmviz-sweep")
    try:
        yield Pool(executor, lambda: WAITING_EACH * n, stop)
    finally:
        stop.set()
        executor.shutdown(wait=True, cancel_futures=True)


@dataclass
class Execution:
    """Has cells computed, and writes their results.

    store : store of the results; None: results are not written
    outcome : numbers of cells done so far
    on_progress : called with the outcome after each cell
    unwritten : results that could not be written, by identity; ``run`` writes them first
    """

    pool: Pool
    store: Store | None
    outcome: SweepProgress
    on_progress: Callable[[SweepProgress], None]
    unwritten: dict[str, bytes] = field(default_factory=dict)
    _flying: "dict[Future[ComputedCell], Cell]" = field(default_factory=dict)

    def run(self, todo: Sequence[Cell]) -> None:
        """Submit all cells and write their results until the end, a stop, an interrupt, or an error.

        Raises BadInput if the executor has broken down; BadInput or OutputFailure if results cannot be
        written, which are then in ``unwritten``.
        """
        begin = time.perf_counter() - self.outcome.seconds
        try:
            self.write()
            self._go_through(todo, begin)
        except KeyboardInterrupt:
            self.outcome.interrupted = True
        finally:
            self._give_up()
            self.outcome.seconds = time.perf_counter() - begin
            self.write()

    def write(self) -> None:
        """Write the results that are still unwritten."""
        for identity in list(self.unwritten):
            if self.store is not None:
                self.store.write(identity, self.unwritten[identity])
            del self.unwritten[identity]
            self.outcome.computed += 1

    @property
    def done(self) -> str:
        """The progress so far, in words."""
        there = f" in '{self.store.folder}'" if self.store is not None else ""
        return f"{self.outcome.done:,} of {self.outcome.cells:,} cells are{there}"

    def _go_through(self, todo: Sequence[Cell], begin: float) -> None:
        # The executor's room, and the time at which it was queried.
        waiting, looked, room = iter(todo), -LOOK_SECONDS, 0
        ended: queue.SimpleQueue[Future[ComputedCell]] = queue.SimpleQueue()
        more = True
        while (more or self._flying) and not (self.pool.stop and self.pool.stop.is_set()):
            if time.perf_counter() - looked > LOOK_SECONDS:
                room, looked = self.pool.room(), time.perf_counter()
            while more and len(self._flying) < room:
                cell = next(waiting, None)
                more = cell is not None
                if cell is not None:
                    try:
                        future = self.pool.submit(cell)
                    except RuntimeError as error:  # the executor was shut down, or has broken
                        raise self._lost(error) from None
                    self._flying[future] = cell
                    future.add_done_callback(ended.put)
            try:
                self._take(ended.get(timeout=LOOK_SECONDS))
            except queue.Empty:
                continue
            self.write()
            self.outcome.seconds = time.perf_counter() - begin
            self.on_progress(self.outcome)

    def _take(self, future: "Future[ComputedCell]") -> None:
        cell = self._flying.pop(future)
        try:
            computed = future.result()
        except Stopped:
            return
        except (CancelledError, BrokenExecutor) as error:
            raise self._lost(error) from None
        except Exception as error:  # an error in one cell must not affect the others
            self.outcome.failed.append(FailedCell(cell, _sentence(error)))
        else:
            self.unwritten[cell.identity] = computed.content
            self.outcome.busy_seconds += computed.seconds

    def _lost(self, error: BaseException) -> BadInput:
        """Return the error to raise for an executor that has broken down."""
        return BadInput(
            f"The workers, or the connection to them, were lost ({type(error).__name__}): {self.done}, and "
            "the sweep can be resumed."
        )

    def _give_up(self) -> None:
        """Start no more cells, let running cells of this process end soon, and take cells that have ended."""
        if self.pool.stop is not None:
            self.pool.stop.set()
        for future in list(self._flying):
            if not future.cancel() and self.pool.stop is not None:
                future.exception()  # waits for the cell's end
            if future.done():
                with contextlib.suppress(BadInput):  # it was lost
                    self._take(future)
        self._flying.clear()


def _rescued(execution: Execution, error: Exception) -> OutputFailure:
    """Keep computed results in a temporary folder, and return the error that names it."""
    done, n = execution.done, len(execution.unwritten)

    def write(folder: Path) -> None:
        execution.store = Store(folder)
        execution.write()

    folder = rescue("", write)
    more = f", {n} more in '{folder}': make room, move these files there," if folder else ": make room,"
    return OutputFailure(f"{error} {done}{more} and resume the sweep.")


def _sentence(error: Exception) -> str:
    if isinstance(error, BadInput):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or type(error).__name__}: {reason(error)}."
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first[:300]}"
