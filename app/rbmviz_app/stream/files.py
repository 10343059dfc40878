"""The route of the download buttons: a click requests a file; the answer is the file or one sentence.

No file is kept: it is made after the click, on a thread, and sent at once. A button makes the file declared
by the last script run that drew the button, as long as the session lasts.
"""

import asyncio
import logging
import secrets
import weakref
from collections.abc import AsyncIterator, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import quote

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from rbmviz import BadInput
from rbmviz_app.access import base_path, is_own_origin

log = logging.getLogger(__name__)

MAX_WAITING = 8
"""Maximum number of files being made for a session at a time."""

PIECE = 2**18
"""Bytes sent at once: a slow browser holds up a file, not the server's memory."""

_pool = ThreadPoolExecutor(2, thread_name_prefix="file")
"""Only two threads: a picture of a chart holds the interpreter for up to a tenth of a second."""


class OfferedFile(NamedTuple):
    """A file that a button offers: its name, and the function that makes it."""

    name: str
    make: Callable[[], bytes]


class OfferedFiles:
    """The files that the buttons of one session offer, by number."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.waiting = 0
        self._files: dict[str, OfferedFile] = {}
        self._numbers: dict[str, str] = {}

    def offer(self, button: str, file: OfferedFile) -> str:
        """Offer a file, which replaces the button's previous file; return its address."""
        number = self._numbers.setdefault(button, str(len(self._numbers)))
        self._files[number] = file
        offered_by_token()[self.token] = self
        return f"{files_path()}{self.token}/{number}"

    def get(self, number: str) -> OfferedFile | None:
        """Return the file with this number; None if there is none."""
        return self._files.get(number)


@st.cache_resource(show_spinner=False)
def offered_by_token() -> MutableMapping[str, OfferedFiles]:
    """Return the files offered by this process's sessions, by the sessions' unguessable tokens."""
    return weakref.WeakValueDictionary()


def files_path() -> str:
    """Return the path of this route, to be followed by a token and a number."""
    return f"{base_path()}/rbmviz/files/"


async def send_file(request: Request) -> Response:
    """Make a file and send it, or answer with a sentence that says why not."""
    if not is_own_origin(request.scope):
        return PlainTextResponse("This page belongs to another server.", 403)
    offered = offered_by_token().get(request.path_params["token"])
    file = offered.get(request.path_params["number"]) if offered is not None else None
    if offered is None or file is None:
        return PlainTextResponse("This page belongs to a session that has ended: reload it.", 404)
    if offered.waiting >= MAX_WAITING:
        return PlainTextResponse("Many files are being made for you: wait for one of them.", 429)
    offered.waiting += 1
    try:
        content = await asyncio.get_running_loop().run_in_executor(_pool, file.make)
    except BadInput as refused:
        return PlainTextResponse(str(refused), 422)
    except Exception:
        log.exception("a file could not be made")
        return PlainTextResponse("This file could not be made: the log of the server says why.", 500)
    finally:
        offered.waiting -= 1
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(file.name)}",
        "content-length": str(len(content)),
        "cache-control": "no-store",
    }
    return StreamingResponse(_pieces(content), media_type="application/octet-stream", headers=headers)


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]


routes = [Route(files_path() + "{token}/{number}", send_file, methods=["POST"])]
