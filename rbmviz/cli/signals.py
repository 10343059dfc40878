"""Handling of Ctrl-C while a command runs, and of SIGTERM and SIGHUP (batch systems, closed terminals)."""

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

SAME_SIGNAL_SECONDS = 1.0
"""Signals within this many seconds count as one: a key is held down, or a launcher forwards its signal."""


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Install a signal handler in the block; signals that the parent process ignored stay ignored."""
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():  # only this thread may set handlers
            for number in STOP_SIGNALS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt in the block when a signal arrives; yield the list of arrived signals."""
    arrived: list[int] = []
    last = -SAME_SIGNAL_SECONDS

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if time.monotonic() - last < SAME_SIGNAL_SECONDS:
            return
        last = time.monotonic()
        arrived.append(number)
        jit = sys.modules.get("rbmviz.kernels._jit")  # not imported here, because numba is slow to import
        if jit is None or not jit.after_compiling(interrupt):
            interrupt()

    def interrupt() -> None:
        if inside:
            raise KeyboardInterrupt

    def raise_later(unraisable: "sys.UnraisableHookArgs") -> None:
        """Repeat an interrupt that a destructor or a callback from C has swallowed."""
        nonlocal last
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            return hook(unraisable)
        last = -SAME_SIGNAL_SECONDS
        again = threading.Timer(0.05, repeat)
        again.daemon = True
        again.start()

    def repeat() -> None:
        if inside:
            _thread.interrupt_main(signal.Signals(arrived[-1]))

    hook, inside = sys.unraisablehook, True
    sys.unraisablehook = raise_later
    try:
        with _handled_by(stop):
            yield arrived
    finally:
        inside, sys.unraisablehook = False, hook


@contextmanager
def signals_deferred() -> Iterator[list[int]]:
    """Collect signals instead of acting on them, while results are written; yield the list of signals."""
    arrived: list[int] = []
    with _handled_by(lambda number, frame: arrived.append(number)):
        yield arrived
