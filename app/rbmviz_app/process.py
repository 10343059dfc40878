"""What is set for the whole process of the server, and done in it again and again: memory, garbage, files."""

import asyncio
import contextlib
import logging
import os

from rbmviz.session.release import c_library, trim
from rbmviz_app.download_files import delete_old
from rbmviz_app.insides import tidy

log = logging.getLogger(__name__)

MMAP_THRESHOLD, ARENA_MAX = -3, -8
"""Names of options of glibc's allocator."""

LARGE = 2**20
"""Arrays of this many bytes or more are mapped by themselves, and given back when they are freed.

By default this bound rises to the largest array that was ever freed, and what visitors leave behind stays
between what others use: four visitors at full speed took 174 MB and left 147, with this bound 102 and 18.
"""

ARENAS = 2
"""Pools from which all threads take memory; glibc would make up to eight for each core.

Each keeps free space between what is in use: with eight visitors 60 MB, and 12 MB in two pools.
"""


def configure_allocators() -> None:
    """Let memory that is freed go back to the system: glibc's, if that is the C library, and Arrow's.

    Call it before pyarrow is imported: the tables that Streamlit sends are Arrow's, and its own allocator
    would take a little more with every minute.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with contextlib.suppress(AttributeError, OSError):
        libc = c_library()
        libc.mallopt(MMAP_THRESHOLD, LARGE)
        libc.mallopt(ARENA_MAX, ARENAS)


COLLECT_SECONDS = 10
"""Seconds between two full collections, after which free memory goes back to the system.

A page with charts leaves some 60 objects a second in reference cycles (Altair's charts are such). Python
counts them until they are many: its own full collections are tens of minutes apart, and the process grew by
0.8 MB a minute for each page that was open. A collection takes 1 ms for one visitor.
"""


OPEN_FILES = 8192
"""File descriptors that the server asks for; the default of many systems, 1,024, is for 200 open pages."""


def allow_open_files() -> None:
    """Let the process have OPEN_FILES file descriptors, or as many as the system lets it have."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):  # the system has a limit of its own besides
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def collect_garbage() -> None:
    """Drop what has ended, collect garbage, and give free memory back, again and again until cancelled."""
    while True:
        await asyncio.sleep(COLLECT_SECONDS)
        try:
            delete_old()
            tidy()
            trim()
        except Exception:  # the next time comes all the same
            log.exception("garbage was not collected")
