"""Points at which long work stops when nobody waits for it any more: between two sweeps of an update."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_WHEN: ContextVar[Callable[[], bool] | None] = ContextVar("when", default=None)  # of each thread its own


class Stopped(Exception):
    """Work has stopped at a stop point; whatever it was changing is incomplete."""


@contextlib.contextmanager
def stopping(when: Callable[[], bool] | None) -> Iterator[None]:
    """Let ``stop_point`` raise Stopped on this thread within the block, once ``when`` returns True."""
    token = _WHEN.set(when)
    try:
        yield
    finally:
        _WHEN.reset(token)


def stop_point() -> None:
    """Raise Stopped if nobody waits for this thread's work; see ``stopping``."""
    if (when := _WHEN.get()) is not None and when():
        raise Stopped
