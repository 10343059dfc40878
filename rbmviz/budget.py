"""The memory budget of one input (file, upload, checkpoint, link), and the error for larger inputs."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from rbmviz.errors import BadInput

SETTING = "RBMVIZ_MEMORY_MB"
"""Environment variable that sets the budget, in megabytes of 10^6 bytes."""

DEFAULT_MB = 1000


class Reading(NamedTuple):
    """A server's limits for reading one file, see ``reading``."""

    room: int
    go_on: Callable[[], object]


_READING: ContextVar[Reading | None] = ContextVar("reading", default=None)


@contextmanager
def reading(room: int, go_on: Callable[[], object]) -> Iterator[None]:
    """Limit the reading of a file to a server's free memory, and to the time that someone waits for it.

    room : maximum number of bytes for reading; ``memory_budget()`` is a second limit
    go_on : called between the parts of a long file; an exception from it ends the reading
    """
    token = _READING.set(Reading(room, go_on))
    try:
        yield
    finally:
        _READING.reset(token)


def go_on() -> None:
    """Stop reading if nobody waits for the file any more; readers call this between the parts of a file."""
    if (now := _READING.get()) is not None:
        now.go_on()


def memory_budget() -> int:
    """Return the maximum number of bytes for opening a file, upload, checkpoint or link; default 10^9 (1 GB).

    Raises BadInput if the environment variable ``RBMVIZ_MEMORY_MB`` is not a positive whole number.
    """
    text = os.environ.get(SETTING) or str(DEFAULT_MB)
    if not (text.isascii() and text.isdecimal()) or len(text) > 12 or int(text) < 1:
        raise BadInput(
            f"{SETTING} = {text[:40]!r} is not a number of megabytes: give a whole number from 1 up."
        )
    return int(text) * 10**6


def check_memory(what: str, needed: int, advice: str) -> None:
    """Raise ``BadInput`` if an input needs more than the memory budget, before any memory is allocated.

    what : name of the input, at the beginning of a sentence: ``'samples.npz'``
    needed : estimated peak memory in bytes, from the declared shapes
    advice : what to do instead of raising the budget, as an imperative: ``give fewer rows``

    Raises BadInput if ``needed`` is more than ``memory_budget()``, or than a server has left (``reading``).
    """
    budget, now = memory_budget(), _READING.get()
    if now is not None and now.room < needed <= budget:
        raise BadInput(
            f"{what} needs {needed / 1e9:,.2f} GB of memory and the server has "
            f"{max(now.room, 0) / 1e9:,.2f} GB left: {advice}, or try again later."
        )
    if needed > budget:
        raise BadInput(
            f"{what} needs {needed / 1e9:,.2f} GB of memory and the budget is {budget / 1e9:,.2f} GB: "
            f"{advice}, or set {SETTING} to a larger number of megabytes."
        )
