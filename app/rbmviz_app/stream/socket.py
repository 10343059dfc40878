"""The WebSocket route of the live path: the browser asks for each frame, and sends values of dragged knobs.

Because the browser asks, a slow one gets fewer frames and a hidden one gets none. A message from it is JSON:
a ``FrameRequest`` asks for the next frame, and ``{"panel": key, "knobs": {...}}`` sets live knobs of a panel
(see ``requests``). A frame is one binary message that describes itself (see ``frames``).

No browser can take more than its share. Of several messages the newest counts: at most one request waits for
its frame, and a knob has one value. A frame is made when the one before it has left, and no run is ever begun
here. How many messages are read in a second, and from whose pages, ``sockets`` says.
"""

import asyncio
import contextlib
import functools
import gc
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import config, runtime

from rbmviz import BadInput
from rbmviz.knobs import Value
from rbmviz.session import Comparison
from rbmviz.session.compiling import COMPILING
from rbmviz.session.slowdown import SLOWDOWN
from rbmviz_app import insides
from rbmviz_app.checkpoints import write_all, write_each_minute
from rbmviz_app.comparisons import comparisons_by_token, views_by_token
from rbmviz_app.process import collect_garbage
from rbmviz_app.shared import sweep_queue
from rbmviz_app.stream.encoder import FrameEncoder, known_views
from rbmviz_app.stream.requests import FrameRequest, KnobChange, read_message

UNKNOWN_TOKEN = 4403
"""Close code for an unknown token: the page must not try again."""

UNSUPPORTED = 1003
"""Close code of the standard for a message that makes no sense."""

BUSY = 1013
"""Close code of the standard for too many connections: try again later."""

QUIET_SECONDS = 5.0
"""While nothing changes, a frame is sent this often all the same, so that dead connections are found."""

KNOB_SECONDS = 1 / 60
"""Seconds between two changes of knobs, at least."""

POLL_SECONDS, PAUSED_POLL_SECONDS, RESTING_POLL_SECONDS = 0.02, 0.1, 0.3
"""Seconds between two looks for something new to send: on a page that runs, one that is paused, and one that
rests. On a paused page only a command brings anything new."""

BEATING_POLL_SECONDS = 0.1
"""The same while the beat drives all panels: it says itself when it has ended (``EndOfBeat``), and only what
comes without it, such as a panel that leaves it, is seen so late."""

RESTS_AFTER_SECONDS = 3.0
"""A paused page rests when nothing has changed for so long: most who step do so again within seconds."""

MAX_SOCKETS = 8
"""Connections to one page: a browser has one, and for a moment after a lost Wi-Fi the dead ones before it."""


class PendingMessages:
    """What one browser has asked for and not got yet: its newest request, the newest value of each knob."""

    def __init__(self) -> None:
        self._request: FrameRequest | None = None
        self._knobs: dict[int, dict[str, Value]] = {}
        self._has_request, self._has_knobs = asyncio.Event(), asyncio.Event()

    def put(self, message: FrameRequest | KnobChange) -> None:
        """Add a message; it replaces an earlier request, or earlier values of the same knobs."""
        if isinstance(message, FrameRequest):
            self._request = message
            self._has_request.set()
        else:
            self._knobs.setdefault(message.panel, {}).update(message.knobs)
            self._has_knobs.set()

    async def take_request(self) -> FrameRequest:
        """Wait for the next request, and remove it from here."""
        await self._has_request.wait()
        self._has_request.clear()
        assert self._request is not None
        return self._request

    def has_request(self) -> bool:
        """Return whether a request waits here: another one than that which is being answered."""
        return self._has_request.is_set()

    async def newer_request(self, seconds: float) -> FrameRequest | None:
        """Return the next request as soon as there is one; None if there is none within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                return await self.take_request()
        except TimeoutError:
            return None

    async def take_knobs(self) -> dict[int, dict[str, Value]]:
        """Wait until knobs have changed, and remove their values, by panel, from here."""
        await self._has_knobs.wait()
        self._has_knobs.clear()
        knobs, self._knobs = self._knobs, {}
        return knobs


class EndOfBeat:
    """The end of a beat: its thread notes it, and the event loop waits for it."""

    def __init__(self) -> None:
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
        self._ended = self._waiting = False

    def note(self) -> None:
        """Note that a beat has ended; the loop is woken only where it waits for that. For any thread."""
        self._ended = True
        if self._waiting:
            with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
                self._loop.call_soon_threadsafe(self._woken.set)

    async def wait(self, seconds: float) -> None:
        """Wait for the end of a beat since the last call, at most so many seconds."""
        self._waiting = True  # before it looks whether one has ended: ``note`` does it the other way round
        if not self._ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
        self._waiting = self._ended = False
        self._woken.clear()


_connections: Counter[str] = Counter()
"""Connections by token."""


async def live(socket: WebSocket) -> None:
    """Serve one browser until it leaves."""
    token = socket.path_params["token"]
    comparison: Any = comparisons_by_token().get(token) or views_by_token().get(token)
    await socket.accept()
    if comparison is None:
        await socket.close(code=UNKNOWN_TOKEN, reason="This page belongs to a session that has ended.")
        return
    if _connections[token] >= MAX_SOCKETS:
        await socket.close(code=BUSY, reason="This page has too many connections.")
        return
    _connections[token] += 1
    pending = PendingMessages()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_messages, socket, pending)
            tasks.start_soon(_change_knobs, comparison, pending)
            tasks.start_soon(_send_frames, socket, comparison, pending)
    except* WebSocketDisconnect:
        pass
    except* BadInput as refused:
        reason = str(refused.exceptions[0]).encode()[:120].decode(errors="ignore")  # 123 bytes fit
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has gone meanwhile
            await socket.close(code=UNSUPPORTED, reason=reason)
    finally:
        _connections[token] -= 1
        if not _connections[token]:
            del _connections[token]


async def _read_messages(socket: WebSocket, pending: PendingMessages) -> None:
    """Read what the browser sends, and put it where the other two tasks take it."""
    last, read = "", None
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text")
        if text is None:
            raise BadInput("A message is not text.")
        if read is None or text != last:  # a page asks for its frames with the same words again and again
            last, read = text, read_message(text, known_views())
        pending.put(read)


async def _change_knobs(comparison: Comparison, pending: PendingMessages) -> None:
    """Set the knobs that are dragged, their newest values each time."""
    while True:
        for panel, knobs in (await pending.take_knobs()).items():
            # In a thread: a run may hold its lock for a moment, and nobody else should have to wait for it.
            await anyio.to_thread.run_sync(functools.partial(comparison.set_live_knobs, panel, **knobs))
        await asyncio.sleep(KNOB_SECONDS)


async def _send_frames(socket: WebSocket, comparison: Comparison, pending: PendingMessages) -> None:
    """Answer each request with a frame, when it is due and there is something new to show."""
    beat = EndOfBeat()
    with comparison.listening(beat.note):
        await _answer_requests(socket, comparison, pending, beat)


async def _answer_requests(
    socket: WebSocket, comparison: Comparison, pending: PendingMessages, beat: EndOfBeat
) -> None:
    encoder, now = FrameEncoder(comparison), asyncio.get_running_loop().time
    sent_state: tuple[Any, ...] | None = None
    due = changed_at = 0.0  # when the next frame may be sent, and when there was something new
    while True:
        request = await pending.take_request()
        interval = SLOWDOWN.factor / request.fps
        if comparison.running and comparison.beating:
            # A frame may come up to one interval early: so each follows its beat at once, and one that a
            # command has begun, too. Intervals count for less, so that soon another one may be early.
            due = max(due + 0.8 * interval, now())
            await asyncio.sleep(due - interval - now())
        else:
            due = max(due + interval, now())
            await asyncio.sleep(due - now())
        quiet_until = now() + QUIET_SECONDS
        while True:
            if pending.has_request():  # the page shows something else now: other panels, perhaps, at rest
                request = await pending.take_request()
            state = (request, comparison.running, *comparison.poll())
            if state != sent_state or encoder.is_behind:
                changed_at = now()
                break
            if now() >= quiet_until:
                break
            if comparison.running:
                if comparison.beating:
                    await beat.wait(BEATING_POLL_SECONDS * SLOWDOWN.factor)
                else:
                    await asyncio.sleep(POLL_SECONDS * SLOWDOWN.factor)
                    due = now()  # frames are counted from here
            else:  # a newer request, as of somebody who looks back, replaces this one at once
                rests = now() - changed_at > RESTS_AFTER_SECONDS
                seconds = RESTING_POLL_SECONDS if rests else PAUSED_POLL_SECONDS
                request = await pending.newer_request(seconds) or request
        sent_state, frame = state, encoder.encode_next(request)
        try:
            await socket.send_bytes(frame)
        except RuntimeError as error:  # the server itself has closed the connection meanwhile
            raise WebSocketDisconnect from error


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Warm up in the background: the server answers at once, and the first page finds most of it loaded.

    On a new machine other processes compile meanwhile what the first page needs, and then the rest.
    """
    if runtime.exists():
        insides.mend(runtime.get_instance())
    COMPILING.start()
    work = anyio.to_thread.run_sync(_warm_up), collect_garbage(), write_each_minute()
    tasks = [asyncio.create_task(each) for each in work]
    yield
    COMPILING.stop()
    sweep_queue().close()
    await anyio.to_thread.run_sync(write_all)
    for task in tasks:
        task.cancel()


def _warm_up() -> None:
    """Import what the first page needs, and load the kernels once they are compiled; runs on a thread."""
    import altair  # noqa: F401
    import pandas  # noqa: F401

    from rbmviz.session import warm_up

    if COMPILING.finish():
        warm_up()
    # What is loaded by now stays: later collections need not look through it.
    gc.collect()
    gc.freeze()


def base_path() -> str:
    """Return the path below which the server runs, "" or with a slash before it."""
    base = str(config.get_option("server.baseUrlPath")).strip("/")
    return f"/{base}" if base else ""


def live_path() -> str:
    """Return the path of the WebSocket route of pages, to which a token is added."""
    return f"{base_path()}/rbmviz/live/"


def picture_path() -> str:
    """Return the path of the moving picture that the first page shows while kernels are compiled."""
    return f"{base_path()}/rbmviz/samplers.gif"


def send_picture(request: Request) -> FileResponse:
    """Send the moving picture."""
    return FileResponse(Path(__file__).parents[1] / "samplers.gif")


routes = [WebSocketRoute(live_path() + "{token}", live), Route(picture_path(), send_picture)]
