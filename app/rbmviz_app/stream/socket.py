"""The WebSocket route of the live path: the browser requests frames, turns knobs and presses buttons.

Because browsers ask for frames, a slow browser gets fewer frames and a hidden one gets none. The messages are
JSON: a ``FrameRequest`` asks for the next few frames, ``{"panel": key, "knobs": {...}}`` sets live knobs of a
panel, a ``Press`` is answered with its number once it has been carried out, and ``{"panel": key, "sample":
n}`` with what there is to say about a sample (see ``requests`` and ``tiles``). A frame is one self-describing
binary message (see ``frames``).

No browser can take more than its share. A new request replaces the previous one, each knob has one pending
value, and the number of waiting presses is limited. A frame is made once the previous one has been sent.
``sockets`` limits the rate and origin of messages.
"""

import asyncio
import contextlib
import functools
import gc
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import runtime

from rbmviz import BadInput, kernels
from rbmviz.knobs import Value
from rbmviz.session.compiling import COMPILING
from rbmviz.session.pools import LATENESS
from rbmviz_app import insides
from rbmviz_app.access import base_path
from rbmviz_app.process import collect_garbage
from rbmviz_app.race import PageRace, live_path
from rbmviz_app.races import races_by_token
from rbmviz_app.shared import sweep_jobs
from rbmviz_app.stream.encoder import FrameEncoder, registered_views
from rbmviz_app.stream.requests import FrameRequest, Press, Received, TileRequest, read_message
from rbmviz_app.stream.tiles import TILE_SECONDS, tile_of

UNKNOWN_TOKEN = 4403
"""Close code for an unknown token: the page must not reconnect."""

UNSUPPORTED = 1003
"""Standard close code for an invalid message."""

BUSY = 1013
"""Standard close code for too many connections: try again later."""

QUIET_SECONDS = 5.0
"""Seconds between frames while nothing changes, so that dead connections are found."""

KNOB_SECONDS = 1 / 60
"""Minimum seconds between two changes of knobs."""

PRESS_SECONDS = 1 / 50
"""Minimum seconds between two button presses, which come faster only after a lost connection."""

MAX_PRESSES = 200
"""Maximum number of waiting presses; a page has at most half as many unanswered presses."""

POLL_SECONDS, PAUSED_POLL_SECONDS, RESTING_POLL_SECONDS = 0.1, 0.1, 0.3
"""Seconds between checks for something new to send: on a running page, whose jobs also signal their end
(``EndOfJob``), a paused page, and a page at rest. On a paused page, only a command changes anything."""

RESTS_AFTER_SECONDS = 3.0
"""Seconds without a change until a paused page rests; most visitors who press Step soon press it again."""

MAX_SOCKETS = 8
"""Maximum number of connections to a page; a browser has one and, briefly after losing Wi-Fi, dead ones."""


class PendingMessages:
    """Pending messages of one browser: its newest request, the newest value of each knob, all presses."""

    def __init__(self) -> None:
        self._request: FrameRequest | None = None
        self._knobs: dict[int, dict[str, Value]] = {}
        self._has_request, self._has_knobs = asyncio.Event(), asyncio.Event()
        self.presses: asyncio.Queue[Press] = asyncio.Queue(MAX_PRESSES)
        self._tile: TileRequest | None = None
        self._has_tile = asyncio.Event()

    def put(self, message: Received) -> None:
        """Add a message, which replaces an earlier request, tile or earlier values of the same knobs.

        Raises BadInput if more presses wait than our pages ever leave unanswered.
        """
        if isinstance(message, FrameRequest):
            self._request = message
            self._has_request.set()
        elif isinstance(message, Press):
            try:
                self.presses.put_nowait(message)
            except asyncio.QueueFull:
                raise BadInput(f"More than {MAX_PRESSES} presses of buttons wait.") from None
        elif isinstance(message, TileRequest):
            self._tile = message
            self._has_tile.set()
        else:
            self._knobs.setdefault(message.panel, {}).update(message.knobs)
            self._has_knobs.set()

    async def take_request(self) -> FrameRequest:
        """Wait for the next request and remove it."""
        await self._has_request.wait()
        self._has_request.clear()
        assert self._request is not None
        return self._request

    def has_request(self) -> bool:
        """Return whether another request is waiting while one is being answered."""
        return self._has_request.is_set()

    async def newer_request(self, seconds: float) -> FrameRequest | None:
        """Return the next request as soon as there is one; None after the given number of seconds."""
        try:
            async with asyncio.timeout(seconds):
                return await self.take_request()
        except TimeoutError:
            return None

    async def take_knobs(self) -> dict[int, dict[str, Value]]:
        """Wait until knobs have changed; remove and return their values, by panel."""
        await self._has_knobs.wait()
        self._has_knobs.clear()
        knobs, self._knobs = self._knobs, {}
        return knobs

    async def take_tile(self) -> TileRequest:
        """Wait until the reader points at another sample, and return it."""
        await self._has_tile.wait()
        self._has_tile.clear()
        assert self._tile is not None
        return self._tile


class EndOfJob:
    """The end of a page's job: its thread signals it, and the event loop waits for it."""

    def __init__(self) -> None:
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
        self._ended = self._waiting = False

    def note(self) -> None:
        """Signal that a job has ended; wake the loop only if it is waiting. Any thread may call this."""
        self._ended = True
        if self._waiting:
            with contextlib.suppress(RuntimeError):  # the loop has since been closed
                self._loop.call_soon_threadsafe(self._woken.set)

    async def wait(self, seconds: float) -> None:
        """Wait until a job has ended since the last call, for at most this many seconds."""
        self._waiting = True  # set before checking ``_ended``; ``note`` uses the opposite order
        if not self._ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
        self._waiting = self._ended = False
        self._woken.clear()


_connections: Counter[str] = Counter()

_opened: set[str] = set()
"""Tokens of the pages that a connection has opened: their last connection leaves them."""


async def live(socket: WebSocket) -> None:
    """Serve one browser until it leaves."""
    token = socket.path_params["token"]
    race = races_by_token().get(token)
    await socket.accept()
    if race is None:
        await socket.close(code=UNKNOWN_TOKEN, reason="This page belongs to a session that has ended.")
        return
    if _connections[token] >= MAX_SOCKETS:
        await socket.close(code=BUSY, reason="This page has too many connections.")
        return
    _connections[token] += 1
    pending, job = PendingMessages(), EndOfJob()
    try:
        with race.listening(job.note):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read_messages, socket, race, pending)
                tasks.start_soon(_change_knobs, race, pending)
                tasks.start_soon(_carry_out_presses, socket, race, pending)
                tasks.start_soon(_answer_tiles, socket, race, pending)
                tasks.start_soon(_send_frames, socket, race, pending, job)
    except* WebSocketDisconnect:
        pass
    except* BadInput as refused:
        reason = str(refused.exceptions[0]).encode()[:120].decode(errors="ignore")  # 123 bytes fit
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has since closed
            await socket.close(code=UNSUPPORTED, reason=reason)
    finally:
        _connections[token] -= 1
        if not _connections[token]:
            del _connections[token]
            if token in _opened:
                _opened.discard(token)
                race.leave()


async def _read_messages(socket: WebSocket, race: PageRace[Any], pending: PendingMessages) -> None:
    """Read the browser's messages and queue them for the other tasks.

    A request for frames opens a page that was left: when Streamlit's connection, or this one, was lost and
    has come back, no script runs that would.
    """
    last, read = "", None
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text")
        if text is None:
            raise BadInput("A message is not text.")
        if read is None or text != last:  # a page repeats the same request
            last, read = text, read_message(text, registered_views())
        if isinstance(read, FrameRequest) and not race.is_open:
            _opened.add(socket.path_params["token"])
            race.open()
        pending.put(read)


async def _change_knobs(race: PageRace[Any], pending: PendingMessages) -> None:
    """Set dragged knobs, always to their newest values."""
    while True:
        for panel, knobs in (await pending.take_knobs()).items():
            # In a thread: a run may hold its lock for a moment, which must not delay other browsers.
            await anyio.to_thread.run_sync(functools.partial(race.set_live_knobs, panel, **knobs))
        await asyncio.sleep(KNOB_SECONDS)


async def _carry_out_presses(socket: WebSocket, race: PageRace[Any], pending: PendingMessages) -> None:
    """Carry out button presses in order, and report each one to the browser."""
    while True:
        press = await pending.presses.get()
        await anyio.to_thread.run_sync(race.carry_out, *press)
        await _send(socket.send_text(json.dumps({"done": press.n, "running": race.running})))
        await asyncio.sleep(PRESS_SECONDS)


async def _answer_tiles(socket: WebSocket, race: PageRace[Any], pending: PendingMessages) -> None:
    """Answer requests for tiles, always the newest."""
    while True:
        asked = await pending.take_tile()
        tile = await anyio.to_thread.run_sync(tile_of, race, asked)
        await _send(socket.send_text(json.dumps({"tile": tile})))
        await asyncio.sleep(TILE_SECONDS)


async def _send(sending: Awaitable[None]) -> None:
    try:
        await sending
    except RuntimeError as error:  # the server has already closed the connection
        raise WebSocketDisconnect from error


async def _send_frames(
    socket: WebSocket, race: PageRace[Any], pending: PendingMessages, job: EndOfJob
) -> None:
    """Answer each request with a frame when one is due and there is something new to show."""
    encoder, now = FrameEncoder(race), asyncio.get_running_loop().time
    due = changed_at = 0.0  # time of the next allowed frame, and of the last change
    left = 0  # frames of the request still to be sent
    while True:
        if left == 0:
            request = await pending.take_request()
            left = request.frames
        interval = LATENESS.slowdown / request.fps
        if race.running:
            # A frame may come up to one interval early, so that it follows its job or a command at once.
            # The shorter interval soon allows another early frame.
            due = max(due + 0.8 * interval, now())
            wait = due - interval - now()
        else:
            due = max(due + interval, now())
            wait = due - now()
        if wait > 0:
            await asyncio.sleep(wait)
        quiet_until = now() + QUIET_SECONDS
        while True:
            if pending.has_request():  # the page has changed, perhaps to other panels at rest
                request = await pending.take_request()
                left = request.frames
            if encoder.has_news(request):
                changed_at = now()
                break
            # A browser asks again once half of its frames have come: a page that was left sends them at once.
            if now() >= quiet_until or not race.is_open:
                break
            if race.running:
                await job.wait(POLL_SECONDS * LATENESS.slowdown)
            else:  # a newer request, such as for other pictures, replaces this one at once
                rests = now() - changed_at > RESTS_AFTER_SECONDS
                seconds = RESTING_POLL_SECONDS if rests else PAUSED_POLL_SECONDS
                if newer := await pending.newer_request(seconds):
                    request, left = newer, newer.frames
        await _send(socket.send_bytes(encoder.encode_next(request)))
        left -= 1


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Warm up in the background: the server answers at once, and the first page finds most modules loaded.

    On a new machine, other processes meanwhile compile the kernels of the first page, then the others.
    """
    if runtime.exists():
        insides.mend(runtime.get_instance())
    COMPILING.start()
    work = anyio.to_thread.run_sync(_warm_up), collect_garbage()
    tasks = [asyncio.create_task(each) for each in work]
    yield
    COMPILING.stop()
    sweep_jobs().close()
    for task in tasks:
        task.cancel()


def _warm_up() -> None:
    """Import the first page's modules, and load the kernels once they are compiled; runs on a thread."""
    import pandas  # noqa: F401

    from rbmviz.session import warm_up

    kernels.compiled.load_numba()
    if COMPILING.finish():
        warm_up()
    # Everything loaded by now stays: later collections can skip it.
    gc.collect()
    gc.freeze()


def picture_path() -> str:
    """Return the path of the animation that the first page shows while kernels compile."""
    return f"{base_path()}/rbmviz/samplers.gif"


def send_picture(request: Request) -> FileResponse:
    """Send the animation."""
    return FileResponse(Path(__file__).parents[1] / "samplers.gif")


routes = [WebSocketRoute(live_path() + "{token}", live), Route(picture_path(), send_picture)]
