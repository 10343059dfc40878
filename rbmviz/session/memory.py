"""The memory of this process: its size against the server's limit, and free memory returned to the system."""

import contextlib
import ctypes
import gc
import os
from pathlib import Path
from typing import Any

from rbmviz.errors import BadInput
from rbmviz.session.limits import limits, variable_of


def process_bytes() -> int:
    """Return the bytes of memory that this process occupies now; 0 if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        pass
    try:
        import psutil  # with [app], for macOS and Windows
    except ImportError:
        return 0
    return int(psutil.Process().memory_info().rss)


def room() -> int:
    """Return the bytes that the server may still take; negative if it has taken more than its limit."""
    return limits().server_mb * 10**6 - process_bytes()


def check_room(needed: int = 0) -> None:
    """Raise BadInput if the server's memory is used up, or this many more bytes would not fit."""
    if room() <= needed:
        trim()
    if (left := room()) <= needed:
        raise BadInput(
            f"The server has {max(left, 0) / 1e6:,.0f} MB of memory left"
            + (f", and this takes {needed / 1e6:,.0f} MB" if needed else "")
            + ": close a panel, close tabs that you no longer need, or start the server with a larger "
            f"{variable_of('server_mb')}."
        )


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
