"""One thread per process frees the memory of runs some seconds after their visitor disconnects."""

import contextlib
import ctypes
import gc
import heapq
import itertools
import logging
import os
import threading
import time
import weakref
from typing import Any

from rbmviz.session.comparison import Comparison

log = logging.getLogger(__name__)


class Janitor:
    """Free the runs of comparisons that stay closed for a given time."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._due: list[tuple[float, int, weakref.ref[Comparison[Any]], float]] = []
        self._order = itertools.count()  # breaks ties, because comparisons have no order
        self._thread: threading.Thread | None = None

    def close(self, comparison: Comparison[Any], seconds: float) -> None:
        """Close a comparison, and free its runs after ``seconds`` unless it is reopened."""
        comparison.close()
        closed_at = comparison.closed_at
        assert closed_at is not None
        with self._wake:
            heapq.heappush(
                self._due, (closed_at + seconds, next(self._order), weakref.ref(comparison), closed_at)
            )
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="rbmviz-janitor", daemon=True)
                self._thread.start()
            self._wake.notify()

    def _work(self) -> None:
        while True:
            found = self._next()
            try:
                for comparison, closed_at in found:
                    comparison.rest(closed_at)
                del found
                trim()
            except Exception:  # later comparisons still need the thread
                log.exception("memory was not given back")

    def _next(self) -> list[tuple[Comparison[Any], float]]:
        """Wait until comparisons are due; return those still closed, with the time of closing."""
        with self._wake:
            while not self._due or self._due[0][0] > time.monotonic():
                self._wake.wait(self._due[0][0] - time.monotonic() if self._due else None)
            found = []
            while self._due and self._due[0][0] <= time.monotonic():
                *_, reference, closed_at = heapq.heappop(self._due)
                comparison = reference()
                if comparison is not None and comparison.closed_at == closed_at:
                    found.append((comparison, closed_at))
            return found


def trim() -> None:
    """Return unused memory to the system.

    Runs hold generators that refer back to them, and only the garbage collector frees such cycles. Also,
    glibc keeps freed memory in a pool per thread, in time even for large arrays, until it is trimmed.
    """
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        c_library().malloc_trim(0)


def c_library() -> Any:
    """Return the C library of this process, None on Windows; memory settings exist in glibc only."""
    return None if os.name == "nt" else ctypes.CDLL(None)


janitor = Janitor()
"""The janitor of this process."""
