"""The live path: the browser asks for each frame over a WebSocket, and drags knobs over the same one.

The browser asks, so a slow one gets fewer frames and a hidden one gets none. A message from it is JSON:
a ``FrameRequest`` asks for the next frame, ``{"tune": key, "knobs": {...}}`` turns live knobs of a panel (see
``asked``). A frame is one binary message: the length of a JSON header (uint32, little endian), the header,
then the bytes that the header announces, panel by panel (see ``wire``).

No browser can take more than its share. Of several messages the newest counts: one frame is owed at most, and
a knob has one value. Messages are read at MESSAGES a second, what comes faster waits at the sender's. A frame
is made when the one before has left, and no run is ever begun here.
"""

import asyncio
import contextlib
import functools
import gc
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import anyio
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import config

from app.asked import FrameRequest, Turned, read_message
from app.process import collect_garbage
from app.session import comparisons_by_token
from app.wire import ClientState, encode
from rbmviz import BadInput
from rbmviz.knobs import Value
from rbmviz.session import Comparison

UNKNOWN = 4403
"""Close code for a token or origin that is not ours: the page must not try again."""

UNSUPPORTED = 1003
"""Close code of the standard for a message that makes no sense."""

BUSY = 1013
"""Close code of the standard for too many connections: try again later."""

QUIET_SECONDS = 5.0
"""Paused runs have no news; a frame is sent at least this often, so that dead connections are found."""

MESSAGES = 250
"""Messages of one connection that are read in a second; a page at 60 frames that drags a knob sends 120."""

TURN_SECONDS = 1 / 60
"""Knobs are turned at most so often."""

MOST_SOCKETS = 8
"""Connections to one page: a browser has one, and for a moment after a lost Wi-Fi the dead ones before it."""


class FrameEncoder:
    """One browser: remembers what it has, so that each frame carries only what is new."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._wish: FrameRequest | None = None
        self._sent: dict[int, ClientState] = {}

    def frame(self, request: FrameRequest) -> bytes:
        """Return the next frame."""
        if request != self._wish:
            self._wish = request
            self._sent.clear()
        heads, parts = [], []
        for key, snapshot in self._comparison.snapshots():
            if key not in request.panels:
                continue
            status = (
                "waiting"
                if self._comparison.waiting_for_all and snapshot.status == "paused"
                else snapshot.status
            )
            sent = self._sent.get(key)
            if sent is None or sent.run != snapshot.run:
                sent = self._sent[key] = ClientState(snapshot.run)
            news = encode(snapshot, request, sent)
            if news is not None:
                common: dict[str, Any] = {"run": snapshot.run, "status": status, "error": snapshot.error}
                common |= {"n": snapshot.n, "seconds": snapshot.seconds, "rebuilt": snapshot.rebuilt}
                heads.append({"key": key, **common, **news[0]})
                parts += news[1]
        header = json.dumps({"wish": request._asdict(), "panels": heads}).encode()
        return b"".join([len(header).to_bytes(4, "little"), header, *parts])


class Desk:
    """What one browser has asked for and not got yet: the newest wish, and the newest value of each knob."""

    def __init__(self) -> None:
        self._wish: FrameRequest | None = None
        self._knobs: dict[int, dict[str, Value]] = {}
        self._wished, self._turned = asyncio.Event(), asyncio.Event()

    def put(self, message: FrameRequest | Turned) -> None:
        """Take a message in; what it says anew takes the place of what was said before."""
        if isinstance(message, FrameRequest):
            self._wish = message
            self._wished.set()
        else:
            self._knobs.setdefault(message.panel, {}).update(message.knobs)
            self._turned.set()

    async def request(self) -> FrameRequest:
        """Wait for the next wish, and take it."""
        await self._wished.wait()
        self._wished.clear()
        assert self._wish is not None
        return self._wish

    async def knobs(self) -> dict[int, dict[str, Value]]:
        """Wait until knobs have been turned, and take them, by panel."""
        await self._turned.wait()
        self._turned.clear()
        knobs, self._knobs = self._knobs, {}
        return knobs


def of_our_page(origin: str | None, host: str | None) -> bool:
    """Return whether a connection comes from a page that this server served.

    Browsers always say where a page is from. What says nothing is a program: it is let in with the token,
    which only the session's own page is told. The host has been checked against the server's names
    (``access``): else a page of any name could be of our origin.
    """
    return origin is None or urlsplit(origin).netloc == host


_open: Counter[str] = Counter()
"""Connections by token."""


async def live(socket: WebSocket) -> None:
    """Serve one browser until it leaves."""
    token = socket.path_params["token"]
    comparison = comparisons_by_token().get(token)
    if not of_our_page(socket.headers.get("origin"), socket.headers.get("host")):
        await socket.close(code=UNKNOWN)
        return
    await socket.accept()
    if comparison is None:
        await socket.close(code=UNKNOWN, reason="This page belongs to a session that has ended.")
        return
    if _open[token] >= MOST_SOCKETS:
        await socket.close(code=BUSY, reason="This page has too many connections.")
        return
    _open[token] += 1
    desk = Desk()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_messages, socket, desk)
            tasks.start_soon(_turn_knobs, comparison, desk)
            tasks.start_soon(_send_frames, socket, comparison, desk)
    except* WebSocketDisconnect:
        pass
    except* BadInput as refused:
        reason = str(refused.exceptions[0]).encode()[:120].decode(errors="ignore")  # 123 bytes fit
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has gone meanwhile
            await socket.close(code=UNSUPPORTED, reason=reason)
    finally:
        _open[token] -= 1
        if not _open[token]:
            del _open[token]


async def _read_messages(socket: WebSocket, desk: Desk) -> None:
    clock = asyncio.get_running_loop().time
    free = 0.0  # the moment from which on there is nothing to wait for
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text")
        if text is None:
            raise BadInput("A message is not text.")
        desk.put(read_message(text))
        free = max(free, clock() - 1) + 1 / MESSAGES  # a second's worth may come at once
        await asyncio.sleep(max(free - clock(), 0))


async def _turn_knobs(comparison: Comparison, desk: Desk) -> None:
    while True:
        for panel, knobs in (await desk.knobs()).items():
            # In a thread: a run may hold its lock for a moment, and nobody else should have to wait for it.
            await anyio.to_thread.run_sync(functools.partial(comparison.set_knobs, panel, **knobs))
        await asyncio.sleep(TURN_SECONDS)


async def _send_frames(socket: WebSocket, comparison: Comparison, desk: Desk) -> None:
    viewer, clock, before = FrameEncoder(comparison), asyncio.get_running_loop().time, None
    due = 0.0
    while True:
        request = await desk.request()
        due = max(due + 1 / request.fps, clock())
        await asyncio.sleep(due - clock())
        quiet = clock() + QUIET_SECONDS
        while (news := (request, comparison.running, *comparison.snapshots())) == before and clock() < quiet:
            await asyncio.sleep(0.02)
        before = news
        try:
            await socket.send_bytes(viewer.frame(request))
        except RuntimeError as error:  # the server itself has closed the connection meanwhile
            raise WebSocketDisconnect from error


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Warm up in the background: the server answers at once, and the first page finds most of it loaded."""
    tasks = [asyncio.create_task(anyio.to_thread.run_sync(_warm_up)), asyncio.create_task(collect_garbage())]
    yield
    for task in tasks:
        task.cancel()


def _warm_up() -> None:
    import altair  # noqa: F401
    import pandas  # noqa: F401

    from rbmviz.session import warm_up

    warm_up()
    # What is loaded by now stays: later collections need not look through it.
    gc.collect()
    gc.freeze()


def live_path() -> str:
    """Return the path of the WebSocket route, with the base path that the server runs under."""
    base = config.get_option("server.baseUrlPath").strip("/")
    return (f"/{base}" if base else "") + "/rbmviz/live/"


routes = [WebSocketRoute(live_path() + "{token}", live)]
