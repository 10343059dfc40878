"""A visitor's share: the current page, for everybody who knows the token."""

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from rbmviz.charts.plot import Content
from rbmviz_app.race import PageRace
from rbmviz_app.stream.requests import Hidden

AWAY_SECONDS = 600.0
"""Seconds from the closing of the shared page to the end of the share; a session lasts no longer."""

SHARE_SECONDS = 8 * 3600.0
"""Maximum duration of a share, in seconds: nobody remembers it the next day."""

VOTE_SECONDS = 0.5
"""Minimum seconds between two votes of a connection; a vote that comes sooner does not count."""

ENDED = "This view is no longer shared: ask for the new link."
"""Message for watchers whose token has expired or never existed."""

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters of tokens: easy to read from a projector and type on a phone, without l, 1, i, o and 0."""

TOKEN_PARTS, TOKEN_PART_LETTERS = 4, 4
"""Sixteen letters out of 31: 79 bits, which cannot be guessed."""


def new_token() -> str:
    """Return a token that cannot be guessed, such as ``k7mf-q2xw-9hbt-ru3e``."""
    parts = ["".join(secrets.choice(LETTERS) for _ in range(TOKEN_PART_LETTERS)) for _ in range(TOKEN_PARTS)]
    return "-".join(parts)


class SharedView(NamedTuple):
    """The content of the shared page, without the pictures, which come from its race.

    page, title, question : name of the page's folder, title, and question
    caption : the sentence above its panels (see ``prose.marked``)
    link : path and query that open the page's current state for somebody else
    card : the open step of a lesson (its fields: ``card._draw_open``); None: no lesson is open
    canvas : the folder whose ``panel.js`` draws the panels; "": the page has none
    data : data for that script (see ``panel.Canvas.mount``)
    race : the runs of the panels
    drawing : data for the drawing of a small RBM's units (see ``pages.chain.units``); None: no drawing
    charts : contents of the charts that do not come with the frames, by key, in order
    hidden : content kept from watchers while a lesson step waits for an answer
    """

    page: str = ""
    title: str = ""
    question: str = ""
    caption: Sequence[dict[str, Any]] = ()
    link: str = ""
    card: dict[str, Any] | None = None
    canvas: str = ""
    data: dict[str, Any] | None = None
    race: PageRace[Any] | None = None
    drawing: dict[str, Any] | None = None
    charts: Mapping[str, Content] = MappingProxyType({})
    hidden: Hidden = "nothing"


class Share:
    """A shared page, for all who know its token. The script runs of its session write its content."""

    def __init__(self, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = token
        self.view = SharedView()
        """Replaced as a whole: readers see a consistent view without locking."""
        self.watchers = 0
        """Number of browsers watching now."""
        self._clock = clock
        self.changed_at = self._begun_at = clock()
        self._away_since: float | None = None
        self._stopped = False
        self._drawn: set[str] = set()  # by the current run of the whole script
        self._votes: dict[object, tuple[int, float]] = {}  # answer and time, by connection
        self._voted_on: tuple[str, str] | None = None  # the step of these votes
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether the share has ended."""
        now, away = self._clock(), self._away_since
        too_long = now - self._begun_at > SHARE_SECONDS
        return self._stopped or too_long or (away is not None and now - away > AWAY_SECONDS)

    @property
    def away(self) -> bool:
        """Whether the shared page is closed now."""
        return self._away_since is not None

    @property
    def rests(self) -> bool:
        """Whether the shared page is closed and its runs rest: they go on while somebody watches them."""
        race = self.view.race
        return self.away and (race is None or race.closed_at is not None)

    def stop(self) -> None:
        """End the share: its token opens nothing from now on."""
        self._stopped = True

    def leave(self) -> None:
        """Record that the connection to the shared page was lost or closed."""
        self._away_since = self._clock()

    def come_back(self) -> None:
        """Record that the shared page is open again."""
        self._away_since = None

    def vote(self, connection: object, answer: int) -> None:
        """Count a connection's answer to the question on the card; only its last answer counts.

        An answer that the step does not have is ignored, because the watcher's page may be a moment behind.
        """
        card, now = self.view.card, self._clock()
        if card is None or card["right"] >= 0 or not 0 <= answer < len(card["answers"]):
            return
        with self._lock:
            if self._voted_on != _step_of(card):
                self._votes, self._voted_on = {}, _step_of(card)
            if now - self._votes.get(connection, (0, -VOTE_SECONDS))[1] >= VOTE_SECONDS:
                self._votes[connection] = answer, now

    def forget_vote(self, connection: object) -> None:
        """Forget the vote of a connection that has closed, so that nobody votes twice by coming back."""
        with self._lock:
            self._votes.pop(connection, None)

    def votes(self) -> list[int]:
        """Return the number of votes for each answer of the step on the card."""
        card = self.view.card
        if card is None:
            return []
        with self._lock:
            votes = self._votes.values() if self._voted_on == _step_of(card) else ()
            answers = [answer for answer, _ in votes]
        return [answers.count(answer) for answer in range(len(card["answers"]))]

    def publish(self, **changes: Any) -> None:
        """Change fields of the view; a value equal to the current one does not replace it."""
        self._drawn |= changes.keys()
        with self._lock:
            self._away_since = None
            now = self.view._asdict()
            changes = {name: value for name, value in changes.items() if now[name] != value}
            if changes:
                self.view = self.view._replace(**changes)
                self.changed_at = self._clock()

    def begin_run(self, page: str, title: str, hidden: Hidden = "nothing") -> None:
        """Record that the whole page is being redrawn, perhaps as another page or with a quiz.

        hidden : see ``SharedView``; must be set before any part of the page is drawn
        """
        self._drawn = set()
        if page != self.view.page:
            with self._lock:
                self.view = SharedView(page, title, hidden=hidden)
                self.changed_at, self._away_since = self._clock(), None
        else:
            self.publish(hidden=hidden)

    def publish_chart(self, key: str, content: Content) -> None:
        """Show a chart."""
        self._drawn.add(f"chart {key}")
        self.publish(charts={**self.view.charts, key: content})

    def end_run(self) -> None:
        """Remove the parts that the run of the whole page has not redrawn."""
        charts = {key: chart for key, chart in self.view.charts.items() if f"chart {key}" in self._drawn}
        self.publish(charts=charts)
        if "drawing" not in self._drawn:
            self.publish(drawing=None)
        if "canvas" not in self._drawn:
            self.publish(canvas="", data=None, race=None)


def _step_of(card: Mapping[str, Any]) -> tuple[str, str]:
    return card["head"], card["title"]
