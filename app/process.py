"""How the server's process treats memory: it goes back to the system, and garbage is collected in time."""

import asyncio
import contextlib
import ctypes

from rbmviz.session.release import trim

MMAP_THRESHOLD = -3
"""Name of an option of glibc's allocator."""

LARGE = 2**20
"""Arrays from so many bytes on are mapped by themselves, and given back when they are freed.

By default this bound rises to the largest array that was ever freed, and what visitors leave behind stays
between what others use: four of them at full speed took 174 MB and left 147, with it 102 and 18.
"""


def give_large_arrays_back() -> None:
    """Fix the bound from which on an array is mapped by itself; nothing is done without glibc."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE)


COLLECT_SECONDS = 20
"""Seconds between two full collections, after which free memory goes back to the system.

A page with charts leaves some 60 objects a second in reference cycles (Altair's charts are such). Python
counts them until they are many: its own full collections are tens of minutes apart, and the process grew by
0.8 MB a minute for each page that was open. A collection takes 1 ms for one visitor.
"""


async def collect_garbage() -> None:
    """Collect garbage, and give free memory back, again and again until cancelled."""
    while True:
        await asyncio.sleep(COLLECT_SECONDS)
        trim()
