"""Limits of all WebSockets of the server: origin, message length, and messages per second.

One middleware guards all sockets: Streamlit's, the live path's, and the watchers'. Without it, one program
sending 36-byte messages would freeze all pages, because each message makes Streamlit run a script.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from rbmviz_app.access import is_own_origin
from rbmviz_app.race import live_path
from rbmviz_app.share.routes import watch_path

POLICY = 1008
"""Standard close code for messages that violate the server's policy."""


class Rate(NamedTuple):
    """Limits of a socket.

    per_second : messages read per second; messages that come faster wait
    burst : messages read at once after a pause, such as a lost connection
    size : maximum bytes of a message
    """

    per_second: float
    burst: int
    size: int


STREAMLIT = Rate(20, 30, 64_000)
"""Streamlit's own socket. A person clicks a few times a second, each timer of a page fires once a second, and
a held key turns a knob five times a second (``rbmviz/view/panel/base.js``)."""

TOGETHER = Rate(30, 60, 64_000)
"""Streamlit's sockets of all visitors together. Beyond this rate, messages of all connections are read in
turn, and less often if the scripts that they run take more than their share (``ScriptTime``)."""

SCRIPTS_SHARE, SCRIPTS_BURST = 0.3, 5.0
"""Share of a core for the scripts of all pages, and seconds of it that they may use at once: a script holds
Python's interpreter, which everybody's pictures need."""

LIVE = Rate(250, 250, 4096)
"""The live path: a dragged knob sends 60 messages a second, and every second frame brings a request."""

WATCHING = Rate(4, 4, 64)
"""Watchers send four words."""

PATIENCE_SECONDS = 10.0
"""Maximum seconds that a message waits; a sender further ahead is refused: it is not one of our pages."""

PENALTY_SECONDS = 5.0
"""Seconds that a refused connection stays open, unread, so that reconnecting at once gains nothing."""


def rate_of(path: str) -> Rate:
    """Return the limits of the socket at this path."""
    if path.startswith(live_path()):
        return LIVE
    return WATCHING if path.startswith(watch_path()) else STREAMLIT


class ScriptTime:
    """Processor time of the pages' scripts."""

    def __init__(self) -> None:
        self._lock, self._free_at, self._mean = threading.Lock(), 0.0, 0.0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the processor time of this thread in the ``with`` block, the script of a page."""
        begin = time.thread_time()
        try:
            yield
        finally:
            self.count(time.thread_time() - begin, time.monotonic())

    def count(self, seconds: float, now: float) -> None:
        """Count a script that ends now and has used so many seconds."""
        with self._lock:
            self._free_at = max(self._free_at, now - SCRIPTS_BURST) + seconds / SCRIPTS_SHARE
            self._mean += 0.2 * (seconds - self._mean)

    def interval(self, now: float) -> float:
        """Return the seconds between two scripts: 0 while their share is not used up."""
        return self._mean / SCRIPTS_SHARE if self._free_at > now else 0.0


SCRIPTS = ScriptTime()


class Turns:
    """The times at which messages are due that are read at a rate, or as the time of scripts allows."""

    def __init__(self, rate: Rate, scripts: ScriptTime | None = None) -> None:
        self._rate, self._scripts, self._turn = rate, scripts, 0.0

    def due(self, now: float) -> float:
        """Return when the next message is due."""
        interval = self._scripts.interval(now) if self._scripts else 0.0
        if interval:
            return max(self._turn + interval, now)
        earliest = max(self._turn, now - self._rate.burst / self._rate.per_second)
        return earliest + 1 / self._rate.per_second

    def take(self, now: float) -> float:
        """Give the next message its turn; return when that is."""
        self._turn = self.due(now)
        return self._turn


class Inbox:
    """The messages of one connection, read at its rate.

    receive : waits for the next message of the connection
    together : turns that it shares with other connections, each of which waits with one message
    """

    def __init__(self, rate: Rate, receive: Receive, together: Turns | None = None) -> None:
        self._rate, self._receive, self._turns, self._together = rate, receive, Turns(rate), together
        self._now = asyncio.get_running_loop().time
        self._waiting: asyncio.Queue[tuple[Message, float]] = asyncio.Queue()
        self._over = asyncio.Event()  # no more will come
        self.refusal = ""

    async def fill(self) -> None:
        """Read messages as they arrive, until the connection ends or must end (``refusal`` says why)."""
        rate = self._rate
        while not self._over.is_set():
            message, now, turn = await self._receive(), self._now(), 0.0
            if message["type"] == "websocket.receive":
                turn = self._turns.take(now)
                if _length(message) > rate.size:
                    self.refusal = f"A message is longer than {rate.size:,} bytes."
                elif max(turn - now, self._waiting.qsize() / rate.per_second) > PATIENCE_SECONDS:
                    self.refusal = f"More than {rate.per_second:g} messages a second, for too long."
            if self.refusal:
                message = {"type": "websocket.disconnect", "code": POLICY, "reason": self.refusal}
            if message["type"] == "websocket.disconnect":
                turn = 0.0
                self._over.set()
            self._waiting.put_nowait((message, turn))

    async def take(self) -> Message:
        """Return the next message when it is due; the end of the connection is returned without delay."""
        while True:
            message, turn = await self._waiting.get()
            if not turn or (await self._reaches(turn) and await self._has_shared_turn()):
                return message

    async def _has_shared_turn(self) -> bool:
        """Wait for a turn among all connections; one that has ended takes none that others wait for."""
        if self._together is None:
            return True
        now = self._now()
        if self._over.is_set() and self._together.due(now) > now:
            return False
        return await self._reaches(self._together.take(now))

    async def _reaches(self, turn: float) -> bool:
        """Wait until a time; return False at once if the connection ends before."""
        if turn > self._now():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(turn):
                    await self._over.wait()
                return False
        return True


class Sockets:
    """Middleware that reads sockets at their rates, and closes sockets that no page of ours would open."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._together = app, Turns(TOGETHER, SCRIPTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on or refuse it."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        if not is_own_origin(scope):
            await WebSocketClose(POLICY, "This page belongs to another server.")(scope, receive, send)
            return
        rate = rate_of(scope["path"])
        inbox = Inbox(rate, receive, self._together if rate is STREAMLIT else None)

        async def send_while_open(message: Message) -> None:
            if not inbox.refusal:
                await send(message)

        filling = asyncio.create_task(inbox.fill())
        try:
            await self._app(scope, inbox.take, send_while_open)
        finally:
            filling.cancel()
        if inbox.refusal:
            await asyncio.sleep(PENALTY_SECONDS)
            with contextlib.suppress(OSError, RuntimeError):  # it has since closed
                await send({"type": "websocket.close", "code": POLICY, "reason": inbox.refusal})


def _length(message: Message) -> int:
    """Return the length of a received message in bytes."""
    text = message.get("text")
    return len(message.get("bytes") or b"") if text is None else len(text.encode(errors="replace"))
