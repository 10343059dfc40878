"""The watchers' routes: the page, its socket, and the link to a copy of the shared page."""

import asyncio
import contextlib
import json
import re
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from rbmviz.errors import BadInput
from rbmviz.session import limits
from rbmviz_app.access import base_path
from rbmviz_app.races import panels_at_work
from rbmviz_app.share.page import sentence_page, watchers_page
from rbmviz_app.share.publish import shares_by_token
from rbmviz_app.share.view import ENDED, Share
from rbmviz_app.share.watching import Audience, Watcher
from rbmviz_app.stream.requests import TileRequest, checked
from rbmviz_app.stream.socket import BUSY, UNKNOWN_TOKEN, UNSUPPORTED
from rbmviz_app.stream.tiles import TILE_SECONDS, tile_of

ALIVE, KEY_FRAME, VOTE = "alive", "key", re.compile("vote ([0-9])", re.ASCII)
TILE = re.compile("tile ([0-9]{1,9}) ([0-9]{1,15})", re.ASCII)
"""Messages from watchers: a sign of life, a request for a key frame, a vote with an answer's index, and a
request for a tile with its panel's key and its sample's number."""

ALIVE_SECONDS = 90.0
"""Seconds of silence after which a watcher counts as gone: phones that lose the network do not close their
connections."""

SILENT = 4408
"""Close code for a silent watcher: a phone that wakes up reconnects."""

AUDIENCE = Audience()


def watch_path() -> str:
    """Return the path of the watchers' pages, to be followed by a token."""
    return f"{base_path()}/watch/"


def shared(token: str) -> Share | None:
    """Return the share with this token; None if nothing is shared under it now."""
    share = shares_by_token().get(token.lower())  # some phones capitalise the first letter
    return None if share is None or share.over else share


async def open_page(request: Request) -> Response:
    """Answer with the watchers' page, or with the message that the token has expired."""
    if shared(request.path_params["token"]) is None:
        return _sentence(ENDED, 404)
    text, headers = watchers_page()
    return HTMLResponse(text, headers=headers)


async def take_copy(request: Request) -> Response:
    """Redirect to the watcher's own page with the shared settings, if the server has room for it."""
    share = shared(request.path_params["token"])
    if share is None:
        return _sentence(ENDED, 404)
    view, most = share.view, limits().panels_with_copies
    if view.hidden == "names":  # the address of the page names the algorithm
        return _sentence("The shared page asks a question: take a copy once it is answered.", 503)
    panels = len(view.race.panels) if view.race is not None else 0
    if panels_at_work() + panels > most:
        return _sentence(
            f"The server has no room for a copy now: all {most} chains that it allows are running. Keep "
            "watching, and try again later.",
            503,
        )
    return RedirectResponse(
        f"{base_path()}/{view.link or view.page}", 303, headers={"Cache-Control": "no-store"}
    )


def _sentence(sentence: str, status: int) -> Response:
    text, headers = sentence_page(sentence)
    return HTMLResponse(text, status, headers)


async def watch_live(socket: WebSocket) -> None:
    """Stream the share to one browser until it leaves or the share ends."""
    await socket.accept()
    share = shared(socket.path_params["token"])
    if share is None:
        await socket.close(code=UNKNOWN_TOKEN, reason=ENDED)
        return
    watcher = Watcher()
    try:
        AUDIENCE.check_room()
    except BadInput as full:
        await socket.close(code=BUSY, reason=str(full)[:120])
        return
    try:
        with AUDIENCE.watching(share, watcher):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, socket, share, watcher)
                await _send(socket, watcher)
                tasks.cancel_scope.cancel()
    except* WebSocketDisconnect:
        pass
    except* TimeoutError:
        await _close(socket, SILENT, "This page has been silent for too long: reconnecting.")
    except* BadInput as refused:
        await _close(socket, UNSUPPORTED, str(refused.exceptions[0])[:120])


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    """Close a connection with a reason, unless it is already closed."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await socket.close(code=code, reason=reason)


async def _send(socket: WebSocket, watcher: Watcher) -> None:
    """Send a watcher's waiting messages; when no more will come, close the connection with the reason."""
    try:
        while (message := await watcher.take()) is not None:
            await (socket.send_text(message) if isinstance(message, str) else socket.send_bytes(message))
        await socket.close(code=UNKNOWN_TOKEN, reason=watcher.ended)
    except RuntimeError as error:  # the server has already closed the connection
        raise WebSocketDisconnect from error


async def _read(socket: WebSocket, share: Share, watcher: Watcher) -> None:
    """Read a watcher's messages: signs of life, requests for a key frame and for tiles, and votes.

    Raises TimeoutError if it sends nothing for ALIVE_SECONDS, and BadInput if it sends anything else.
    """
    while True:
        async with asyncio.timeout(ALIVE_SECONDS):
            message: Any = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text") or ""
        if text == KEY_FRAME:
            watcher.needs_key = True
        elif vote := VOTE.fullmatch(text):
            share.vote(watcher, int(vote[1]))
        elif tile := TILE.fullmatch(text):
            view = share.view
            if view.race is not None and view.hidden == "nothing":
                asked = checked(TileRequest, {"panel": int(tile[1]), "sample": int(tile[2])})
                answer = await anyio.to_thread.run_sync(tile_of, view.race, asked)
                watcher.put(json.dumps({"tile": answer}))
            await asyncio.sleep(TILE_SECONDS)
        elif text != ALIVE:
            raise BadInput("Watchers cannot send messages.")


routes = [
    Route(watch_path() + "{token}", open_page),
    Route(watch_path() + "{token}/copy", take_copy),
    WebSocketRoute(watch_path() + "{token}/live", watch_live),
]
