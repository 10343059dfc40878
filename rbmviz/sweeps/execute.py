"""Running the cells of a plan on any ``concurrent.futures.Executor``: threads here, or a Dask cluster.

The kernels release the GIL, so threads fill the cores of one machine. Each cell is computed and encoded on
one thread; the process that started the sweep writes the files. Only a bounded number of cells is under way
at a time. However a sweep ends, its results are in the folder, and running it again computes the rest. The
server's queue runs its sweeps in the same way, on threads that wait for their turns at the cores.
"""

import contextlib
import functools
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rbmviz import checks
from rbmviz.blas import one_blas_thread, one_blas_thread_for_good
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.output import reason
from rbmviz.sweeps.cell import Cell, CellRun, data_of_cell, model_of, version_of
from rbmviz.sweeps.store import Store, encode

WAITING_EACH = 2
"""Cells that an executor has for each of its threads: one runs, the next is ready."""

LOOK_SECONDS = 0.5
"""Seconds between two look-ups of the number of workers of a cluster."""


class FailedCell(NamedTuple):
    """A cell that ended with an error.

    cell : Cell; reason : one sentence
    """

    cell: Cell
    reason: str


@dataclass
class SweepProgress:
    """What a run of a sweep has done.

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
    newest : Cell or None
        The cell that was written, or failed, last.
    """

    cells: int
    stored: int
    computed: int = 0
    failed: list[FailedCell] = field(default_factory=list)
    seconds: float = 0.0
    busy_seconds: float = 0.0
    interrupted: bool = False
    newest: Cell | None = None
    _begin: float = field(default_factory=time.perf_counter)

    @property
    def done(self) -> int:
        """Cells of the plan whose results are in the folder."""
        return self.stored + self.computed

    @property
    def seconds_left(self) -> float:
        """Expected seconds until the end, estimated from the cells computed so far; NaN before the first."""
        ended = self.computed + len(self.failed)
        if not ended:
            return float("nan")
        in_all = (self.cells - self.stored) * self.seconds / ended
        return max(in_all - (time.perf_counter() - self._begin), 0.0)

    def note_time(self) -> None:
        """Update ``seconds``."""
        self.seconds = time.perf_counter() - self._begin


class ComputedCell(NamedTuple):
    """What an executor returns for a cell: the content of its file, and the wall time on its thread."""

    content: bytes
    seconds: float


class Stopped(Exception):
    """The sweep was interrupted while this cell ran."""


def compute(
    cell: Cell,
    stop: threading.Event | None = None,
    begin: Callable[[Cell], CellRun] = CellRun,
    turn: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
) -> ComputedCell:
    """Run one cell to its end on this thread.

    Parameters
    ----------
    cell : Cell
    stop : Event, optional
        Checked between two slices (30 ms): if it is set, the cell is given up.
    begin : callable
        Returns the run of a cell (default: a new run).
    turn : callable
        Returns a context for each slice, which may wait until the slice may run (default: no wait).

    Raises
    ------
    Stopped
        If the cell is given up.
    BadInput
        If the model or the data cannot be loaded, or this process has other code than the process that made
        the cell.
    """
    began = time.perf_counter()
    if version_of(cell.kind, cell.algorithm.partition(":")[0]) != cell.version:
        raise BadInput(
            "The worker has another version of rbmviz than the process that started the sweep: install the "
            "same one on all machines."
        )
    with turn():
        run = begin(cell)
    more = True
    while more:
        if stop is not None and stop.is_set():
            raise Stopped
        with turn():
            more = run.step()
    return ComputedCell(encode(run.columns()), time.perf_counter() - began)


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

    def n_threads() -> int:
        return workers or cores()

    with contextlib.ExitStack() as stack:
        stop, work = None, compute_in_worker
        if executor is None and scheduler is not None:
            from rbmviz.sweeps.cluster import connected

            cluster = stack.enter_context(connected(scheduler, _loaded(todo), on_message or _silent))
            executor, n_threads = cluster.executor, cluster.n_threads
        elif executor is None or isinstance(executor, ThreadPoolExecutor):
            stack.enter_context(one_blas_thread())
            stop = threading.Event()
            executor = executor or stack.enter_context(_threads(n_threads(), stop))
            work = functools.partial(compute, stop=stop)
        pool = Pool(lambda cell: executor.submit(work, cell), lambda: WAITING_EACH * n_threads(), stop)
        sweeping = Sweeping(pool, store, outcome, on_progress or _silent)
        try:
            sweeping.run(todo)
        except OutputFailure as error:
            raise _rescued(sweeping, error) from error
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


class Pool(NamedTuple):
    """Where cells are computed.

    Parameters
    ----------
    submit : callable
        Begins to compute a cell, and returns its future.
    room : callable
        Returns the number of cells that may be under way now.
    stop : Event or None
        If it is set, running cells are given up and no other cell begins; None if cells run in other
        processes, where they cannot be interrupted.
    """

    submit: Callable[[Cell], "Future[ComputedCell]"]
    room: Callable[[], int]
    stop: threading.Event | None = None


@contextlib.contextmanager
def _threads(n: int, stop: threading.Event) -> Iterator[ThreadPoolExecutor]:
    executor = ThreadPoolExecutor(n, thread_name_prefix="rbmviz-sweep")
    try:
        yield executor
    finally:
        stop.set()
        executor.shutdown(wait=True, cancel_futures=True)


class Sweeping:
    """A sweep under way: the cells that a pool computes now, and where results go.

    Parameters
    ----------
    pool : Pool
    store : Store
        Receives the results.
    outcome : SweepProgress
        Updated with each cell.
    on_progress : callable
        Called after each cell with the outcome so far.
    """

    def __init__(
        self, pool: Pool, store: Store, outcome: SweepProgress, on_progress: Callable[[SweepProgress], object]
    ) -> None:
        self.pool, self.store, self.outcome, self.on_progress = pool, store, outcome, on_progress
        self._flying: dict[Future[ComputedCell], Cell] = {}
        self._ended: queue.SimpleQueue[Future[ComputedCell]] = queue.SimpleQueue()

    def run(self, todo: Sequence[Cell]) -> None:
        """Submit all cells and write their results until the end, a stop, an interrupt, or an error.

        Raises
        ------
        BadInput
            If the executor computes no more.
        OutputFailure
            If a result cannot be written; ``keep`` writes it and others to another folder.
        """
        try:
            self._go_through(todo)
        except KeyboardInterrupt:
            self.outcome.interrupted = True
            self._give_up()
            self.outcome.computed += self.keep(self.store)
        except OutputFailure:
            self._give_up()
            raise
        except BaseException:
            self._give_up()
            with contextlib.suppress(OutputFailure):
                self.keep(self.store)
            raise
        finally:
            self.outcome.note_time()

    def _go_through(self, todo: Sequence[Cell]) -> None:
        # When the number of threads was looked up, and how many cells those threads may hold.
        waiting, looked, room = iter(todo), -LOOK_SECONDS, 0
        more = True
        while more or self._flying:
            if time.perf_counter() - looked > LOOK_SECONDS:
                room, looked = self.pool.room(), time.perf_counter()
            more = more and not (self.pool.stop is not None and self.pool.stop.is_set())
            while more and len(self._flying) < room:
                cell = next(waiting, None)
                more = cell is not None
                if cell is not None:
                    try:
                        future = self.pool.submit(cell)
                    except RuntimeError as error:  # it was shut down, or has broken
                        raise self._lost(error) from None
                    self._flying[future] = cell
                    future.add_done_callback(self._ended.put)
            try:
                self._take(self._ended.get(timeout=LOOK_SECONDS))
            except queue.Empty:
                continue

    def _take(self, future: "Future[ComputedCell]") -> None:
        """Write the result of a future; its cell counts as under way until then."""
        cell = self._flying[future]
        try:
            computed = future.result()
        except Stopped:
            del self._flying[future]
            return
        except (CancelledError, BrokenExecutor) as error:
            raise self._lost(error) from None
        except Exception as error:  # a mistake in one cell must not cost the others
            computed = None
            self.outcome.failed.append(FailedCell(cell, _sentence(error)))
        if computed is not None:
            try:
                self.store.write(cell.identity, computed.content)
            except BadInput as error:  # the folder is gone
                raise OutputFailure(str(error)) from error
            self.outcome.computed += 1
            self.outcome.busy_seconds += computed.seconds
        del self._flying[future]
        self.outcome.newest = cell
        self.outcome.note_time()
        self.on_progress(self.outcome)

    def _lost(self, error: BaseException) -> BadInput:
        """Return the error of an executor that computes no more."""
        return BadInput(
            f"The workers, or the connection to them, were lost ({type(error).__name__}): "
            f"{self.outcome.done:,} of {self.outcome.cells:,} cells are in '{self.store.folder}', and "
            "the sweep can be resumed."
        )

    def _give_up(self) -> None:
        """Let no other cell begin, and let running cells of this process end soon."""
        if self.pool.stop is not None:
            self.pool.stop.set()
        for future in self._flying:
            if not future.cancel() and self.pool.stop is not None:
                future.exception()  # waits for its end

    def keep(self, store: Store) -> int:
        """Write the results of cells under way that have ended, and return their number."""
        ended = [future for future in self._flying if future.done() and not future.cancelled()]
        results = {self._flying[future]: future.result() for future in ended if not future.exception()}
        self._flying.clear()
        for cell, computed in results.items():
            store.write(cell.identity, computed.content)
        return len(results)


def _rescued(sweeping: Sweeping, error: OutputFailure) -> OutputFailure:
    """Keep what is computed in a temporary folder, and return the error that names it."""
    outcome, folder, n = sweeping.outcome, "", 0
    with contextlib.suppress(OSError):
        folder = tempfile.mkdtemp(prefix="rbmviz-kept-")
        n = sweeping.keep(Store(folder))
    there = f"{outcome.done:,} of {outcome.cells:,} cells are in '{sweeping.store.folder}'"
    if n:
        return OutputFailure(
            f"{error} {there}, {n} more in '{folder}': make room, move these files there, and resume "
            "the sweep."
        )
    return OutputFailure(f"{error} {there}: make room, and resume the sweep.")


def _sentence(error: Exception) -> str:
    if isinstance(error, BadInput):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or type(error).__name__}: {reason(error)}."
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first[:300]}"
