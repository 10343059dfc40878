"""Running the cells of a plan on any ``concurrent.futures.Executor``: threads here, or a Dask cluster.

The kernels release the GIL, so threads fill the cores of one machine. Each cell is computed and encoded on
one thread; the process that started the sweep writes the files. Only a bounded number of cells is under way
at a time. However a sweep ends, its results are in the folder, and running it again computes the rest.

``run`` is for programs, the command line and recipes. A server's queue of sweeps has an executor of its own,
which computes cells while nobody else needs the core: both are an ``Execution``.
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
"""Cells that an executor has for each of its threads: one runs, the next is ready."""

LOOK_SECONDS = 0.5
"""Seconds between two look-ups of the number of workers of a cluster."""


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
        Cells of the plan.
    stored : int
        Cells whose results were already in the folder.
    computed : int
        Cells computed and written in this run.
    failed : list of FailedCell
        Cells that ended with an error; another run tries them again.
    seconds, busy_seconds : float
        Wall time of the run, and the sum of the wall times of its cells, each on its thread.
    interrupted : bool
        Whether Ctrl-C ended it.
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
        """Cells of the plan whose results are in the folder."""
        return self.stored + self.computed

    @property
    def seconds_left(self) -> float:
        """Expected seconds until the end, estimated from the cells computed so far; NaN before the first."""
        ended = self.computed + len(self.failed)
        return (self.cells - self.stored - ended) * self.seconds / ended if ended else float("nan")


class ComputedCell(NamedTuple):
    """The result of a cell from an executor: the content of its file, and the wall time on its thread."""

    content: bytes
    seconds: float


class Stopped(Exception):
    """The sweep was interrupted while this cell ran."""


def compute(cell: Cell, stop: threading.Event | None = None) -> ComputedCell:
    """Run one cell to its end on this thread, or until ``stop`` is set, which is checked every 30 ms.

    Raises BadInput if the model or the data cannot be loaded, or this process has other code than the process
    that made the cell.
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
    """Run one cell in a process that does nothing but run cells: BLAS gets one thread there, for good."""
    one_blas_thread_for_good()
    return compute(cell)


def cores() -> int:
    """Return how many cores this process may use."""
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
    """Compute the cells that are not in the folder yet, in their order.

    Parameters
    ----------
    cells : sequence of Cell
        ``rbmviz.sweeps.cells`` of a plan.
    store : Store
        Its folder must exist (``Store.prepare``).
    executor : Executor, optional
        Where cells are computed (default: threads of this process). Its workers load models and data by the
        names in the cells, and must have imported algorithms of your own. It is not shut down.
    workers : int, optional
        Threads, or the number of workers of ``executor``, which gets twice as many cells at a time (default:
        one for each core of this machine).
    scheduler : str, optional
        Address of a Dask scheduler, ``tcp://host:8786``, instead of an executor. Models and data are sent to
        each of its workers once.
    on_progress : callable, optional
        Called after each cell with the outcome so far.
    on_message : callable, optional
        Called with a sentence when workers are lost or there is none.

    Returns
    -------
    SweepProgress
        After Ctrl-C with ``interrupted``.

    Raises
    ------
    BadInput
        If no scheduler answers, or the connection to it is lost.
    OutputFailure
        If results cannot be written any more; those that were computed are kept in a temporary folder, which
        the sentence names.
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
    """An executor, how many cells it may have now, and the event that ends the sweep.

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

    store : None: results are not written
    outcome : counts of the cells done
    on_progress : called after each cell
    unwritten : results by identity that could not be written; ``run`` writes them first
    """

    pool: Pool
    store: Store | None
    outcome: SweepProgress
    on_progress: Callable[[SweepProgress], None]
    unwritten: dict[str, bytes] = field(default_factory=dict)
    _flying: "dict[Future[ComputedCell], Cell]" = field(default_factory=dict)

    def run(self, todo: Sequence[Cell]) -> None:
        """Submit all cells and write their results until the end, a stop, an interrupt, or an error.

        Raises BadInput if the executor computes no more; BadInput or OutputFailure if results cannot be
        written, which ``unwritten`` has then.
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
        # The room of the executor, and when it was looked up.
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
                    except RuntimeError as error:  # it was shut down, or has broken
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
        except Exception as error:  # a mistake in one cell must not cost the others
            self.outcome.failed.append(FailedCell(cell, _sentence(error)))
        else:
            self.unwritten[cell.identity] = computed.content
            self.outcome.busy_seconds += computed.seconds

    def _lost(self, error: BaseException) -> BadInput:
        """Return the error of an executor that computes no more."""
        return BadInput(
            f"The workers, or the connection to them, were lost ({type(error).__name__}): {self.done}, and "
            "the sweep can be resumed."
        )

    def _give_up(self) -> None:
        """Let no other cell begin, and running cells of this process end soon; take those that have ended."""
        if self.pool.stop is not None:
            self.pool.stop.set()
        for future in list(self._flying):
            if not future.cancel() and self.pool.stop is not None:
                future.exception()  # waits for its end
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
