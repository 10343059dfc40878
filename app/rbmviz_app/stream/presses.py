"""Presses of Play, Pause, Step and Reset, each carried out once although a browser may send it again.

A browser numbers its presses, and sends those without an answer again when its socket has been reopened.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any

from rbmviz import BadInput
from rbmviz.session import Comparison
from rbmviz_app.stream.requests import Press

CARRIES_OUT: dict[str, Callable[[Comparison[Any]], None]] = {
    "play": Comparison.resume,
    "pause": Comparison.pause,
    "step": Comparison.step,
    "reset": Comparison.reset,
}
"""What each button does. Play and Pause are two commands, so that no press means the opposite on arrival."""

MAX_PAGES = 16
"""Number of pages of a browser, each with its own count, that a comparison remembers."""


class PressCounts:
    """The newest press that each page of a browser has had carried out."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.newest: dict[str, int] = {}


_counts: weakref.WeakKeyDictionary[Comparison[Any], PressCounts] = weakref.WeakKeyDictionary()


def carry_out(comparison: Any, press: Press) -> None:
    """Carry out a press, unless it has been already; call it from any thread except the event loop's.

    Raises BadInput if the socket's page has no runs to command.
    """
    if not isinstance(comparison, Comparison):
        raise BadInput("This page has nothing to play.")
    counts = _counts.setdefault(comparison, PressCounts())
    with counts.lock:  # also against the dead connection that the browser has replaced
        if press.n <= counts.newest.get(press.page, 0):
            return
        CARRIES_OUT[press.press](comparison)
        counts.newest[press.page] = press.n
        while len(counts.newest) > MAX_PAGES:
            del counts.newest[next(iter(counts.newest))]
