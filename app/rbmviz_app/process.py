"""Settings and periodic tasks of the whole server process: memory, garbage, files."""

import asyncio
import contextlib
import logging
import os

from rbmviz.session.memory import c_library, trim
from rbmviz_app.insides import tidy

log = logging.getLogger(__name__)

MMAP_THRESHOLD, ARENA_MAX = -3, -8
"""Names of options of glibc's allocator."""

LARGE = 2**20
"""Arrays of at least this many bytes are mapped separately, and returned to the system when freed.

By default, this bound rises to the largest array ever freed, and memory that visitors leave behind stays
between blocks in use: four visitors at full speed took 174 MB and left 147; with this bound, 102 and 18.
"""

ARENAS = 2
"""Number of memory pools for all threads; glibc would create up to eight per core.

Each pool keeps free space between blocks in use: 60 MB with eight visitors, 12 MB with two pools.
"""


def configure_allocators() -> None:
    """Make the allocators return freed memory to the system: glibc's, if that is the C library, and Arrow's.

    Call it before pyarrow is imported: Streamlit sends Arrow tables, and Arrow's own allocator would grow a
    little every minute.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with contextlib.suppress(AttributeError, OSError):
        libc = c_library()
        libc.mallopt(MMAP_THRESHOLD, LARGE)
        libc.mallopt(ARENA_MAX, ARENAS)


COLLECT_SECONDS = 10
"""Seconds between full collections, after which free memory returns to the system.

Pages leave objects in reference cycles, and Python waits until there are many: its own full collections are
tens of minutes apart. A collection takes 1 ms for one visitor.
"""


OPEN_FILES = 8192
"""File descriptors that the server requests; the common default, 1,024, suffices for 200 open pages."""


def allow_open_files() -> None:
    """Raise the limit to OPEN_FILES file descriptors, or as many as the system allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if open_files() < most:
        with contextlib.suppress(ValueError, OSError):  # the system has its own limit as well
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def open_files() -> int:
    """Return how many file descriptors the process may have; OPEN_FILES if they are not limited."""
    try:
        import resource
    except ImportError:
        return OPEN_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_FILES if soft == resource.RLIM_INFINITY else soft


async def collect_garbage() -> None:
    """Periodically drop ended sessions, collect garbage and return free memory, until cancelled."""
    while True:
        await asyncio.sleep(COLLECT_SECONDS)
        try:
            tidy()
            trim()
        except Exception:  # the loop must go on
            log.exception("garbage was not collected")
