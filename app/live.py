"""The live path: the browser asks for each frame over a WebSocket, and drags knobs over the same one.

The browser asks, so a slow one gets fewer frames and a hidden one gets none. A message from it is JSON:
a ``Wish`` asks for the next frame, ``{"tune": key, "knobs": {...}}`` changes knobs of a panel. A frame is
one binary message: the length of a JSON header (uint32, little endian), the header, then the bytes that
the header announces, panel by panel (see ``wire``).
"""

import asyncio
import contextlib
import gc
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import anyio
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import config

from app.state import hub
from app.wire import Sent, Wish, news_of
from rbmviz.session import Race

UNKNOWN = 4403
"""Close code for a token or origin that is not ours: the page must not try again."""

UNSUPPORTED = 1003
"""Close code of the standard for a message that makes no sense."""

QUIET_SECONDS = 5.0
"""Paused runs have no news; a frame is sent at least this often, so that dead connections are found."""


class Viewer:
    """One browser: remembers what it has, so that each frame carries only what is new."""

    def __init__(self, race: Race) -> None:
        self._race = race
        self._wish: Wish | None = None
        self._sent: dict[int, Sent] = {}

    def frame(self, wish: Wish) -> bytes:
        """Return the next frame."""
        if wish != self._wish:
            self._wish = wish
            self._sent.clear()
        heads, parts = [], []
        for key, snapshot in self._race.snapshots():
            if key not in wish.panels:
                continue
            status = "waiting" if self._race.launching and snapshot.status == "paused" else snapshot.status
            sent = self._sent.get(key)
            if sent is None or sent.run != snapshot.run:
                sent = self._sent[key] = Sent(snapshot.run)
            news = news_of(snapshot, wish, sent)
            if news is not None:
                common: dict[str, Any] = {"run": snapshot.run, "status": status, "error": snapshot.error}
                common |= {"n": snapshot.n, "seconds": snapshot.seconds, "rebuilt": snapshot.rebuilt}
                heads.append({"key": key, **common, **news[0]})
                parts += news[1]
        header = json.dumps({"wish": wish._asdict(), "panels": heads}).encode()
        return b"".join([len(header).to_bytes(4, "little"), header, *parts])


def _of_this_page(socket: WebSocket) -> bool:
    """Whether the request comes from a page that this server served (custom routes get no such check)."""
    origin = socket.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == socket.headers.get("host")


async def live(socket: WebSocket) -> None:
    """Serve one browser until it leaves."""
    race = hub().get(socket.path_params["token"])
    if race is None or not _of_this_page(socket):
        await socket.close(code=UNKNOWN)
        return
    await socket.accept()
    wishes: asyncio.Queue[Wish] = asyncio.Queue()
    sender = asyncio.create_task(_send_frames(socket, race, wishes))
    try:
        async for text in socket.iter_text():
            message = json.loads(text)
            if "tune" in message:
                race.tune(message["tune"], **message["knobs"])
            else:
                wishes.put_nowait(Wish(**message))
    except WebSocketDisconnect:
        pass
    except (ValueError, TypeError, KeyError) as error:  # BadInput, too: no page of ours sends such a message
        await socket.close(code=UNSUPPORTED, reason=str(error)[:100])
    finally:
        sender.cancel()


async def _send_frames(socket: WebSocket, race: Race, wishes: asyncio.Queue[Wish]) -> None:
    viewer, clock, before = Viewer(race), asyncio.get_running_loop().time, None
    due = 0.0
    while True:
        wish = await wishes.get()
        due = max(due + 1 / min(max(wish.fps, 1), 60), clock())
        await asyncio.sleep(due - clock())
        quiet = clock() + QUIET_SECONDS
        while (news := (wish, race.running, *race.snapshots())) == before and clock() < quiet:
            await asyncio.sleep(0.02)
        before = news
        await socket.send_bytes(viewer.frame(wish))


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Warm up in the background: the server answers at once, and the first page finds most of it loaded."""
    warming = asyncio.create_task(anyio.to_thread.run_sync(_warm_up))
    yield
    warming.cancel()


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
