"""Presses of Play, Pause, Step and Reset, each carried out once even if a browser sends it again.

A browser numbers its presses, and sends unanswered presses again when its socket has been reopened.
"""

from collections.abc import Callable
from typing import Any

from rbmviz.session import Race
from rbmviz_app.stream.race import PageRace
from rbmviz_app.stream.requests import Press

CARRIES_OUT: dict[str, Callable[[Race[Any]], None]] = {
    "play": Race.resume,
    "pause": Race.pause,
    "step": Race.step,
    "reset": Race.reset,
}
"""Action of each button. Play and Pause are two commands, so that no press means the opposite on arrival."""

MAX_PAGES = 16
"""Maximum number of pages, each with its own count of presses, that a race remembers."""


def carry_out(race: PageRace[Any], press: Press) -> None:
    """Carry out a press unless this was done before; call it from any thread except the event loop's.

    Raises BadInput if the socket's page has no runs to control.
    """
    newest = race.presses
    with race.presses_lock:  # a dead connection, which the browser has replaced, may still carry out presses
        if press.n > newest.get(press.page, 0):
            CARRIES_OUT[press.press](race)
            newest[press.page] = press.n
            while len(newest) > MAX_PAGES:
                del newest[next(iter(newest))]
