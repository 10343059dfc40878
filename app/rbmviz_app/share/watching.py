"""The watchers of a shared view: each message is made once and sent to all of them.

A broadcast has one encoder for all watchers of a share. Changes are sent to watchers who are up to date. A
watcher who has just joined, or has fallen too far behind, gets a key frame instead: everything on the page
now. Watchers send signs of life, answers, and requests for a key frame or a tile.
"""

import asyncio
import contextlib
import json
import time
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any

from rbmviz.errors import BadInput
from rbmviz.knobs import values_of
from rbmviz.session import limits
from rbmviz.session.pools import LATENESS
from rbmviz_app.share.view import ENDED, Share, SharedView
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.requests import FrameRequest, Hidden

WATCHED_FPS = 10.0
"""Maximum frames per second for watchers; fewer if the server is short of cores."""

MAX_BYTES_PER_SECOND = 12e6
"""Bandwidth for all watchers of a share: a wireless network's capacity. Large frames come less often."""

SETTLE_SECONDS, LATEST_SECONDS = 0.15, 1.0
"""A page is shown once it has been unchanged for the first time, or after the second time at the latest:
while being drawn, it is neither the old page nor the new one."""

SIGN_OF_LIFE_SECONDS = 5.0
"""Seconds between signs of life sent to watchers while nothing changes."""

MAX_MESSAGES_WAITING = 12
"""Maximum number of messages waiting for a watcher; with more, it gets a key frame instead."""

FRAME_COMPRESSION = 1
"""Compression level of deflate: fast, because the data are mostly zeros and text."""

NAMELESS_SPEC = {
    **{"label": "", "about": [], "equation": [], "colour": "#8a8a94", "dash": []},
    **{"knobs": [], "values": {}, "multiples": [], "readouts": []},
    **{"trace_label": "", "n_hidden": 0},
}
"""Panel data for watchers, in addition to the key, while a quiz hides the panel's algorithm."""

CANVASES_OF_PICTURES = ("sample", "chain", "train")
"""Pages whose panels have content besides names and numbers."""

Message = str | bytes


class Watcher:
    """A watching browser, with the messages that wait to be sent to it."""

    def __init__(self) -> None:
        self.needs_key = True
        """Whether it missed a message sent to the other watchers."""
        self.ended = ""
        """Why no more messages will come; "" while more may come."""
        self._waiting: deque[Message] = deque()
        self._ready = asyncio.Event()
        self._sending = False

    @property
    def idle(self) -> bool:
        """Whether all waiting messages have been sent."""
        return not self._waiting and not self._sending

    def put(self, message: Message) -> None:
        """Queue a message; if too many wait, a key frame replaces them all."""
        if len(self._waiting) >= MAX_MESSAGES_WAITING:
            self._waiting.clear()
            self.needs_key = True
        elif not self.needs_key:
            self._waiting.append(message)
            self._ready.set()

    def end(self, sentence: str) -> None:
        """Stop sending; sentence : the reason."""
        self._waiting.clear()
        self.ended = sentence
        self._ready.set()

    async def take(self) -> Message | None:
        """Wait for the next message; None if no more will come. The one taken before counts as sent."""
        self._sending = False
        while not self._waiting and not self.ended:
            self._ready.clear()
            await self._ready.wait()
        if self.ended:
            return None
        self._sending = True
        return self._waiting.popleft()


class Broadcast:
    """Makes the messages of one share while it has watchers."""

    def __init__(self, share: Share, clock: Callable[[], float] = time.monotonic) -> None:
        self._share, self._clock = share, clock
        self.watchers: set[Watcher] = set()
        self._view = SharedView()
        self._view_at = -1e9  # when it was adopted from the share
        self._texts: dict[str, str] = {}  # newest message of each kind
        self._encoder: FrameEncoder | None = None
        self._encoder_of: Any = None  # the encoder's race and hidden content
        self._scene = 0  # number of the encoder: a new one begins with empty panels
        self._canvas_of: Any = None  # the scene and data in the newest canvas message
        self._shows_panels = False  # whether there was a frame in the last step, or nothing new in it
        self._sent_at = -1e9  # when something was last sent
        self.seconds_to_next = 1 / WATCHED_FPS
        """Seconds until the next step is due."""

    async def run(self) -> None:
        """Run steps until nobody watches."""
        try:
            while self.watchers and not self._share.over:
                self.step()
                await asyncio.sleep(self.seconds_to_next)
        finally:
            for watcher in self.watchers:
                watcher.end(
                    ENDED if self._share.over else "This view cannot be shown any more: reload the page."
                )

    def step(self) -> None:
        """Send each watcher the changes or a key frame."""
        self._take_view()
        changed = self._changed_texts()
        in_step = [watcher for watcher in self.watchers if not watcher.needs_key]
        n_bytes = 0
        for text in changed:
            n_bytes += len(text) * len(in_step)
            for watcher in in_step:
                watcher.put(text)
        frame = self._next_frame()
        if frame is not None:
            n_bytes += _put_frame(frame, [watcher for watcher in in_step if not watcher.needs_key])
        late = [watcher for watcher in self.watchers if watcher.needs_key and watcher.idle]
        if late:
            for watcher in late:
                watcher.needs_key = False
                for text in self._texts.values():
                    watcher.put(text)
            key = self._key_frame()
            n_bytes += _put_frame(key, late) if key is not None else 0
        now = self._clock()
        if changed or frame is not None:
            self._sent_at = now
        elif now - self._sent_at > SIGN_OF_LIFE_SECONDS:
            self._sent_at = now
            for watcher in in_step:
                watcher.put('{"alive":true}')
        # As on the page itself, frames slow down before samples do.
        self.seconds_to_next = max(LATENESS.slowdown / WATCHED_FPS, n_bytes / MAX_BYTES_PER_SECOND)

    def _take_view(self) -> None:
        """Adopt the page's content once it has been drawn."""
        share, now = self._share, self._clock()
        view = share.view
        if view is self._view:
            return
        if now - share.changed_at >= SETTLE_SECONDS or now - self._view_at >= LATEST_SECONDS:
            self._view, self._view_at = view, now

    def _changed_texts(self) -> list[str]:
        """Rebuild the messages about the page; return the changed ones."""
        view, race, away, hidden = self._view, self._view.race, self._share.rests, self._hidden
        nameless = hidden == "names"
        if (race, hidden) != self._encoder_of:
            self._encoder_of = race, hidden
            self._encoder = FrameEncoder(race, hidden) if race is not None else None
            self._scene += 1
        page = {name: getattr(view, name) for name in ("page", "title", "question", "caption")}
        parts: dict[str, Any] = {
            "page": page | {"away": away, "copy": bool(view.link) and not nameless},
            "card": view.card,
            "drawing": None if nameless else view.drawing,
            "charts": [*view.charts.values()] if hidden == "nothing" else [],
            "knobs": _knobs(race) if race is not None and not nameless else {},
        }
        if (self._scene, view.data) != self._canvas_of:  # compare identity first: this part is the largest
            self._canvas_of = self._scene, view.data
            data = _nameless_data(view.canvas, view.data) if nameless else view.data
            parts = {"canvas": {"scene": self._scene, "name": view.canvas, "data": data}} | parts
        changed = []
        for kind, part in parts.items():
            text = json.dumps({kind: part}, separators=(",", ":"), allow_nan=False)
            if text != self._texts.get(kind):
                self._texts[kind] = text
                changed.append(text)
        return changed

    def _request(self) -> FrameRequest | None:
        """Return the request for the page's frames; None if it has no panels to show now."""
        data = self._view.data
        if (
            data is None
            or self._share.rests
            or (self._hidden == "names" and self._view.canvas not in CANVASES_OF_PICTURES)
        ):
            return None
        keys = [panel["key"] for panel in data["panels"]]
        cells = data["side"] ** 2
        return FrameRequest(WATCHED_FPS, data["view"], data["pixels"], cells, data["n_visible"], keys)

    def _next_frame(self) -> bytes | None:
        """Return a frame with the changes since the last one; None if there are none."""
        request, race = self._request(), self._view.race
        if request is None or race is None or self._encoder is None:
            self._shows_panels = False
            return None
        # A frame signals that the page is back, even if it is paused.
        is_due = not self._shows_panels or self._encoder.has_news(request)
        self._shows_panels = True
        return self._encoder.encode_next(request) if is_due else None

    def _key_frame(self) -> bytes | None:
        """Return a frame with everything in the panels; None if there are no panels."""
        request, race = self._request(), self._view.race
        if request is None or race is None:
            return None
        return FrameEncoder(race, self._hidden).encode_next(request)

    @property
    def _hidden(self) -> Hidden:
        """Content kept from watchers, on the displayed page or on the page being drawn.

        A step's runs begin before its page is drawn, and the previous step's runs end after the answer.
        """
        asked = {self._view.hidden, self._share.view.hidden}
        return "names" if "names" in asked else "numbers" if "numbers" in asked else "nothing"


def _nameless_data(canvas: str, data: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a canvas's data without anything that identifies its algorithms; None if nothing is left."""
    if data is None or canvas not in CANVASES_OF_PICTURES:
        return None
    return data | {"panels": [{"key": panel["key"]} | NAMELESS_SPEC for panel in data["panels"]]}


def _put_frame(frame: bytes, watchers: list[Watcher]) -> int:
    """Compress a frame once and queue it for all of these watchers; return the number of bytes to send."""
    packed = zlib.compress(frame, FRAME_COMPRESSION) if watchers else b""
    for watcher in watchers:
        watcher.put(packed)
    return len(packed) * len(watchers)


def _knobs(race: Any) -> dict[int, dict[str, Any]]:
    """Return the values of all knobs of all panels, by key and name."""
    return {panel.key: values_of(panel.algorithm) for panel in race.panels}


class Audience:
    """All watchers on this server, by share; on the server's event loop."""

    def __init__(self) -> None:
        self._broadcasts: dict[str, tuple[Broadcast, asyncio.Task[None]]] = {}

    @property
    def watchers(self) -> int:
        """Number of watching browsers."""
        return sum(len(broadcast.watchers) for broadcast, _ in list(self._broadcasts.values()))

    def check_room(self) -> None:
        """Raise BadInput if there is no room for one more watcher."""
        most = limits().watchers
        if self.watchers >= most:
            raise BadInput(f"The server is at its limit of watching browsers ({most:,}): try again later.")

    @contextlib.contextmanager
    def watching(self, share: Share, watcher: Watcher) -> Any:
        """Serve the share to a watcher while this context is open."""
        broadcast, task = self._broadcasts.get(share.token, (None, None))
        if broadcast is None or task is None or task.done():
            broadcast = Broadcast(share)
            task = asyncio.create_task(broadcast.run())
            self._broadcasts[share.token] = broadcast, task
        broadcast.watchers.add(watcher)  # before its first step: without watchers it would end
        share.watchers = len(broadcast.watchers)
        try:
            yield
        finally:
            broadcast.watchers.discard(watcher)
            share.forget_vote(watcher)
            share.watchers = len(broadcast.watchers)
            if not broadcast.watchers and self._broadcasts.get(share.token, (None,))[0] is broadcast:
                task.cancel()
                del self._broadcasts[share.token]
                if share.away and share.view.race is not None:
                    share.view.race.close()
