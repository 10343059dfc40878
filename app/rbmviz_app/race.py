"""The race of a visitor's page, with what the live path needs besides its runs."""

import math
import secrets
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from rbmviz.session import Race
from rbmviz.session.race import Setup
from rbmviz_app.access import base_path
from rbmviz_app.parts import Parts

S = TypeVar("S", bound=Setup)


CARRIES_OUT: dict[str, Callable[[Race[Any]], None]] = {
    "play": Race.resume,
    "pause": Race.pause,
    "step": Race.step,
    "reset": Race.reset,
}
"""Action of each button. Play and Pause are two commands, so that no press means the opposite on arrival."""

MAX_PAGES = 16
"""Maximum number of pages of browsers, each with its own count of presses, that a race remembers."""


def live_path() -> str:
    """Return the path of the pages' WebSocket route, to be followed by a token."""
    return f"{base_path()}/rbmviz/live/"


class PageRace(Race[S]):
    """The race of one page of a session; a reload of the page keeps it.

    page : name of the page
    token : identifies it on the live path, and cannot be guessed
    parts : its charts
    presses : number of the newest press carried out, by page of a browser
    shown_model : name and model that its panels show: the limits may have refused the chosen one
    undo_settings : the command that can be undone (``undoable_commands``), and the settings that it changed
    drawn_settings, drawn_command, drawn_panels : settings by name, ``undoable_commands``, and keys of the
        panels when the page was last drawn; Undo restores such settings after the next change
    preset : name (in the address) of the preset on the screen; "": none
    """

    def __init__(self, page: str, setup: S, rate: float = math.inf) -> None:
        super().__init__(setup, rate, limited=True)
        self.page, self.token, self.parts = page, secrets.token_urlsafe(24), Parts(self)
        self.presses, self._presses_lock = dict[str, int](), threading.Lock()
        self.shown_model: tuple[str, Any] = "", None
        self.undo_settings: tuple[int, dict[str, Any]] = 0, {}
        self.drawn_settings, self.drawn_command, self.drawn_panels = dict[str, Any](), 0, list[int]()
        self.preset = ""

    @property
    def path(self) -> str:
        """Path of its live socket."""
        return live_path() + self.token

    def carry_out(self, press: str, page: str, n: int) -> None:
        """Carry out the n-th press of a page of a browser unless this was done before.

        Call it from any thread except the event loop's.

        A browser sends unanswered presses again when its socket has been reopened.
        """
        with self._presses_lock:  # a dead connection, which the browser has replaced, may still carry out one
            if n > self.presses.get(page, 0):
                CARRIES_OUT[press](self)
                self.presses[page] = n
                while len(self.presses) > MAX_PAGES:
                    del self.presses[next(iter(self.presses))]
