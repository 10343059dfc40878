"""Free the memory of runs some seconds after their visitor disconnects."""

import contextlib
import ctypes
import gc
import os
import weakref
from typing import Any

from rbmviz.session.comparison import Comparison
from rbmviz.session.scheduler import SCHEDULER, Due, Priority, Task, Tenant


def close_and_free(comparison: Comparison[Any], seconds: float) -> None:
    """Close a comparison, and free its runs after ``seconds`` unless it is opened again."""
    comparison.close()
    closed_at, reference = comparison.closed_at, weakref.ref(comparison)

    def free() -> None:
        referent = reference()
        if referent is not None and referent.closed_at == closed_at:
            referent.rest(closed_at)
            del referent
            trim()

    due = Due(Priority.BACKGROUND, SCHEDULER.clock() + seconds)
    SCHEDULER.ask(Task(Tenant(), free), due)


def trim() -> None:
    """Return unused memory to the system.

    Runs hold generators that refer back to them, and only the garbage collector frees such cycles. Also,
    glibc keeps freed memory, eventually even of large arrays, in a pool per thread until it is trimmed.
    """
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        c_library().malloc_trim(0)


def c_library() -> Any:
    """Return the C library of this process, None on Windows; only glibc has memory settings."""
    return None if os.name == "nt" else ctypes.CDLL(None)
