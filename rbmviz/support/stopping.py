"""Points at which long work stops when nobody waits for it any more: between two sweeps of an update."""

import contextlib
import threading
from collections.abc import Callable, Iterator

_THIS_THREAD = threading.local()


class Stopped(Exception):
    """Work has stopped at a stop point; whatever it was changing is incomplete."""


@contextlib.contextmanager
def stopping(when: Callable[[], bool] | None) -> Iterator[None]:
    """Let ``stop_point`` raise Stopped on this thread within the block, once ``when`` returns True."""
    before = getattr(_THIS_THREAD, "when", None)
    _THIS_THREAD.when = when
    try:
        yield
    finally:
        _THIS_THREAD.when = before


def stop_point() -> None:
    """Raise Stopped if nobody waits for this thread's work; see ``stopping``."""
    when = getattr(_THIS_THREAD, "when", None)
    if when is not None and when():
        raise Stopped
