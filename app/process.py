"""What is set for the whole process of the server, and done in it again and again: memory, garbage, files."""

import asyncio
import contextlib
import logging
import os

from streamlit.watcher import polling_path_watcher

from rbmviz.session.release import c_library, trim
from rbmviz_app.download_files import delete_old

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


SETTINGS_SECONDS = 1.0
"""Seconds between two looks at Streamlit's settings files, which nobody edits while the server runs.

Streamlit itself looks five times a second, for 0.2 % of a core, and has no option for it.
"""


def look_rarely_at_settings() -> None:
    """Have Streamlit look rarely whether its settings files have changed."""
    polling_path_watcher._POLLING_PERIOD_SECS = SETTINGS_SECONDS  # type: ignore[misc]


COLLECT_SECONDS = 10
"""Seconds between two full collections, after which free memory goes back to the system.

A page with charts leaves some 60 objects a second in reference cycles (Altair's charts are such). Python
counts them until they are many: its own full collections are tens of minutes apart, and the process grew by
0.8 MB a minute for each page that was open. A collection takes 1 ms for one visitor.
"""


async def collect_garbage() -> None:
    """Collect garbage, delete old downloads, and give free memory back, again and again until cancelled."""
    while True:
        await asyncio.sleep(COLLECT_SECONDS)
        try:
            delete_old()
            trim()
        except Exception:  # the next time comes all the same
            log.exception("garbage was not collected")
