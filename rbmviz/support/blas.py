"""Limit BLAS to one thread, for computations that fill the cores themselves or must add in a fixed order.

The number of BLAS threads belongs to the whole process. If each computation set and restored it, the first of
two overlapping computations to end would lift the other's limit.
"""

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Result = TypeVar("Result")

_LOCK = threading.Lock()
_holders = 0
_limit: Any = None


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # finding the libraries takes a millisecond; numpy is loaded by now


def _hold() -> None:
    global _holders, _limit
    with _LOCK:
        if _holders == 0:
            OpenBLASController.clear_controlling_thread(force=True)  # else it obeys the first that held it
            _limit = _controller().limit(limits=1, user_api="blas")
        _holders += 1


def _release() -> None:
    global _holders
    with _LOCK:
        _holders -= 1
        if _holders == 0:
            OpenBLASController.clear_controlling_thread(force=True)
            _limit.restore_original_limits()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the block; if blocks overlap, the limit holds until the last one ends."""
    _hold()
    try:
        yield
    finally:
        _release()


@functools.cache
def one_blas_thread_for_good() -> None:
    """Limit BLAS to one thread from now on, in a process that only runs chains."""
    _hold()


def in_threads(
    run: Callable[[Any, threading.Event], Result], jobs: Iterable[Any], workers: int | None = None
) -> Iterator[Result]:
    """Yield ``run(job, stop)`` for each job, in order; BLAS has one thread meanwhile.

    run : does a job; it should return soon after closing the generator has set ``stop``
    workers : jobs at a time, each on its own thread (default: one per core); 1: on the calling thread
    """
    stop = threading.Event()
    with one_blas_thread():
        if workers == 1:
            yield from (run(job, stop) for job in jobs)
            return
        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            try:
                yield from pool.map(lambda job: run(job, stop), jobs)
            finally:
                stop.set()
