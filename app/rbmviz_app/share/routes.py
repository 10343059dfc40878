"""The routes of those who watch: the page, its socket, and the way to a copy of what is shared."""

import asyncio
import contextlib
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from rbmviz.errors import BadInput
from rbmviz.session import limits
from rbmviz_app.session import visitors
from rbmviz_app.share.page import sentence_page, watchers_page
from rbmviz_app.share.shares import shares_by_token
from rbmviz_app.share.view import ENDED, Share
from rbmviz_app.share.watching import Audience, Watcher
from rbmviz_app.stream.socket import BUSY, UNKNOWN_TOKEN, UNSUPPORTED, base_path

ALIVE, KEY_FRAME = "alive", "key"
"""What a watcher may say: that it is there, and that it needs a key frame."""

ALIVE_SECONDS = 90.0
"""Who has said nothing for so long has gone: a phone whose network is away closes no connection."""

SILENT = 4408
"""Close code for a watcher who has said nothing for so long: a phone that wakes up connects again."""

AUDIENCE = Audience()
"""All who watch on this server."""


def watch_path() -> str:
    """Return the path of the watchers' pages, to which a token is added."""
    return f"{base_path()}/watch/"


def shared(token: str) -> Share | None:
    """Return what is shared under a token; None: nothing any more."""
    share = shares_by_token().get(token.lower())  # some phones begin what is typed with a capital
    return None if share is None or share.over else share


async def open_page(request: Request) -> Response:
    """Answer with the watchers' page, or with the sentence that the token is over."""
    if shared(request.path_params["token"]) is None:
        return _sentence(ENDED, 404)
    text, headers = watchers_page()
    return HTMLResponse(text, headers=headers)


async def take_copy(request: Request) -> Response:
    """Lead to a page of one's own, with the settings of the shared one, if the server has room for it."""
    share = shared(request.path_params["token"])
    if share is None:
        return _sentence(ENDED, 404)
    view, most = share.view, limits().panels_with_copies
    if view.hidden == "names":  # the address of the page says who draws
        return _sentence("The shared page asks a question: take a copy once it is answered.", 503)
    panels = len(view.comparison.panels) if view.comparison is not None else 0
    if sum(visitor.awake() for visitor in list(visitors())) + panels > most:
        return _sentence(
            f"The server has no room for a copy now: it lets {most} chains run at a time, and they do. Watch "
            "on, and try again later.",
            503,
        )
    return RedirectResponse(
        f"{base_path()}/{view.link or view.page}", 303, headers={"Cache-Control": "no-store"}
    )


def _sentence(sentence: str, status: int) -> Response:
    text, headers = sentence_page(sentence)
    return HTMLResponse(text, status, headers)


async def watch_live(socket: WebSocket) -> None:
    """Send one browser what is shared, until it leaves or the share ends."""
    await socket.accept()
    share = shared(socket.path_params["token"])
    if share is None:
        await socket.close(code=UNKNOWN_TOKEN, reason=ENDED)
        return
    watcher = Watcher(packed=socket.query_params.get("packed") == "1")
    try:
        AUDIENCE.check_room()
    except BadInput as full:
        await socket.close(code=BUSY, reason=str(full)[:120])
        return
    try:
        with AUDIENCE.watching(share, watcher):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, socket, watcher)
                await _send(socket, watcher)
                tasks.cancel_scope.cancel()
    except* WebSocketDisconnect:
        pass
    except* TimeoutError:
        await _close(socket, SILENT, "Nothing has been heard of this page for too long: connecting again.")
    except* BadInput as refused:
        await _close(socket, UNSUPPORTED, str(refused.exceptions[0])[:120])


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    """Close a connection with a reason, unless it has gone meanwhile."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await socket.close(code=code, reason=reason)


async def _send(socket: WebSocket, watcher: Watcher) -> None:
    """Send what waits for a watcher; when no more will come, close the connection with the reason."""
    try:
        while (message := await watcher.take()) is not None:
            await (socket.send_text(message) if isinstance(message, str) else socket.send_bytes(message))
        await socket.close(code=UNKNOWN_TOKEN, reason=watcher.ended)
    except RuntimeError as error:  # the server itself has closed the connection meanwhile
        raise WebSocketDisconnect from error


async def _read(socket: WebSocket, watcher: Watcher) -> None:
    """Read what a watcher says: that it is there, or that it needs a key frame.

    Raises
    ------
    TimeoutError
        If it says nothing for ALIVE_SECONDS.
    BadInput
        If it says anything else.
    """
    while True:
        async with asyncio.timeout(ALIVE_SECONDS):
            message: Any = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text")
        if text == KEY_FRAME:
            watcher.needs_key = True
        elif text != ALIVE:
            raise BadInput("Who watches can say nothing here.")


routes = [
    Route(watch_path() + "{token}", open_page),
    Route(watch_path() + "{token}/copy", take_copy),
    WebSocketRoute(watch_path() + "{token}/live", watch_live),
]
