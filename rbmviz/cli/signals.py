"""What Ctrl-C does while a command runs; and SIGTERM and SIGHUP, of batch systems and closed windows."""

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

TOGETHER_SECONDS = 1.0
"""Signals so close together are one wish to stop: a key that was held, a launcher that passes its own on."""


@contextmanager
def _answered(answer: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let ``answer`` be what signals call inside; those that the parent told us to ignore stay ignored."""
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():  # the only one that signals reach
            for number in STOPS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    before[number] = signal.signal(number, answer)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stoppable() -> Iterator[list[int]]:
    """Let a signal raise KeyboardInterrupt inside; the list that is yielded holds those that came."""
    arrived: list[int] = []
    last = -TOGETHER_SECONDS

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if time.monotonic() - last < TOGETHER_SECONDS:
            return
        last = time.monotonic()
        arrived.append(number)
        jit = sys.modules.get("rbmviz.kernels._jit")  # imported late, for it is slow
        if jit is None or not jit.after_compiling(interrupt):
            interrupt()

    def interrupt() -> None:
        if inside:
            raise KeyboardInterrupt

    def swallowed(unraisable: "sys.UnraisableHookArgs") -> None:
        """Raise again, a moment later, what came while a destructor or a callback from C was running."""
        nonlocal last
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            return hook(unraisable)
        last = -TOGETHER_SECONDS
        again = threading.Timer(0.05, once_more)
        again.daemon = True
        again.start()

    def once_more() -> None:
        if inside:
            _thread.interrupt_main(signal.Signals(arrived[-1]))

    hook, inside = sys.unraisablehook, True
    sys.unraisablehook = swallowed
    try:
        with _answered(stop):
            yield arrived
    finally:
        inside, sys.unraisablehook = False, hook


@contextmanager
def held() -> Iterator[list[int]]:
    """Let signals wait while results are written; the list that is yielded holds those that came."""
    arrived: list[int] = []
    with _answered(lambda number, frame: arrived.append(number)):
        yield arrived
