"""The race of a visitor's page, with what the live path needs besides its runs."""

import math
import secrets
import threading
from typing import TypeVar

from rbmviz.session import Race
from rbmviz.session.race import Setup
from rbmviz_app.access import base_path
from rbmviz_app.stream.parts import Parts

S = TypeVar("S", bound=Setup)


def live_path() -> str:
    """Return the path of the pages' WebSocket route, to be followed by a token."""
    return f"{base_path()}/rbmviz/live/"


class PageRace(Race[S]):
    """The race of one page of a session; a reload of the page keeps it.

    page : name of the page
    token : identifies it on the live path, and cannot be guessed
    parts : its charts
    presses : the newest press carried out for each page of a browser, see ``stream.presses``
    """

    def __init__(self, page: str, setup: S, rate: float = math.inf) -> None:
        super().__init__(setup, rate, limited=True)
        self.page, self.token, self.parts = page, secrets.token_urlsafe(24), Parts(self)
        self.presses, self.presses_lock = dict[str, int](), threading.Lock()

    @property
    def path(self) -> str:
        """Path of its live socket."""
        return live_path() + self.token
