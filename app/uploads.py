"""Models and data that a visitor has brought or trained: read once, counted, forgotten with their file.

``place`` is the key of an uploader, by which its file is found. Its bytes come by a route of Streamlit, which
holds them until the session ends: ``CountedUploads`` stands before it.
"""

import hashlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rbmviz import BadInput, Model
from rbmviz.budget import reading
from rbmviz.datasets import Dataset, load_bytes
from rbmviz.rbm import load_model_bytes
from rbmviz.session import VisitorUsage, limits
from rbmviz.session.sweep_scores import SweepScores
from rbmviz.session.sweeps import Sweep
from rbmviz_app import insides
from rbmviz_app.session import (
    EMPTIED_UPLOADERS,
    KEPT_UPLOADS,
    READ_UPLOADS,
    TRAINED,
    UPLOADED_SWEEPS,
    VISITOR,
    setting_value,
    visitors,
)

U = TypeVar("U", Model, Dataset)


ROUTE = "/_stcore/upload_file/"
"""Below this path of Streamlit's browsers put files: the id of their session, and one of the file."""


class UploadedFiles(VisitorUsage):
    """The files that Streamlit holds, or is being sent: in the server's budget they are one more visitor."""

    def __init__(self) -> None:
        super().__init__(visitors())
        self._coming: Counter[str] = Counter()  # bytes by session
        self._lock = threading.Lock()

    def bytes(self, but: Any = None) -> int:
        """Return the bytes of all files."""
        return sum(insides.stored_bytes().values()) + self._coming.total()

    def expect(self, session: str, size: int) -> None:
        """Count a file that a session is about to send; BadInput if there is no room for it.

        All files together may take what one visitor may, and those of a session half of what others leave: so
        nobody takes the room of all.
        """
        with self._lock:
            own = insides.stored_bytes().get(session, 0) + self._coming[session]
            most = (limits().session_mb * 10**6 - (self.bytes() - own)) // 2
            if own + size > most or size > self.room():
                most = max(min(most, own + self.room()), 0)
                raise BadInput(
                    f"The server has no room for this file of {size / 1e6:,.0f} MB: the files of one visitor "
                    f"may take {most / 1e6:,.0f} MB now. Give a smaller one, or try again later."
                )
            self._coming[session] += size

    def came(self, session: str, size: int) -> None:
        """Count a file no longer that has come, which Streamlit holds now, or has been refused."""
        with self._lock:
            self._coming[session] -= size
            self._coming += Counter()  # drops what is 0


@st.cache_resource(show_spinner=False)
def uploaded_files() -> UploadedFiles:
    """Return the files that the visitors of this server have sent."""
    return UploadedFiles()


class CountedUploads:
    """Middleware that refuses a file for which the server has no room, and lets go of what comes of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        _, _, after = scope.get("path", "").partition(ROUTE)
        if scope["type"] != "http" or scope["method"] != "PUT" or not after:
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 16):
            await PlainTextResponse("Say how long the file is.", 411)(scope, receive, send)
            return
        session, size, files = after.partition("/")[0], int(length), uploaded_files()
        try:
            files.expect(session, size)
        except BadInput as full:
            while (await receive()).get("more_body"):
                pass  # a browser that is cut off while it sends would not read the answer
            await PlainTextResponse(str(full), 413)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            files.came(session, size)


_ONE_READER = threading.Lock()

WAIT_SECONDS = 0.2
"""Between two looks whether the page is still there whose file waits to be read."""


@contextmanager
def one_reader() -> Iterator[None]:
    """Read a file of a visitor: one at a time, within what the server has left, while its page is open.

    What reading takes for a moment is a multiple of the file, and nobody else is to add to it.
    """

    def stop_with_the_page() -> None:
        if not insides.page_is_open():
            st.stop()

    while not _ONE_READER.acquire(timeout=WAIT_SECONDS):
        stop_with_the_page()
    try:
        with reading(VISITOR.ensure().room(), stop_with_the_page):
            yield
    finally:
        _ONE_READER.release()


def uploader_key(place: str) -> str:
    """Return the key under which an uploader is drawn; ``place``, until it has been emptied."""
    times = EMPTIED_UPLOADERS.value.get(place, 0)
    return f"{place} {times}" if times else place


def empty_uploader(place: str) -> bool:
    """Take the file out of an uploader, or the kept one in its place; return whether there was one."""
    if setting_value(uploader_key(place)) is None and place not in KEPT_UPLOADS.value:
        return False
    drop_kept_file(place)
    EMPTIED_UPLOADERS.set(EMPTIED_UPLOADERS.value | {place: EMPTIED_UPLOADERS.value.get(place, 0) + 1})
    return True


def send_model(title: str, model: Model) -> str:
    """Keep a model that this session has trained for the other pages; BadInput if there is no room.

    Returns its title, with a number if another model has this title.
    """
    known = TRAINED.ensure()
    title = next(
        one
        for one in itertools.chain([title], (f"{title} ({n})" for n in itertools.count(2)))
        if one not in known or np.array_equal(known[one].rbm.W, model.rbm.W)
    )
    VISITOR.ensure().keep(f"model {title}", _size(model))
    known[title] = model
    return title


def uploaded(name: str, content: bytes, place: str) -> Model:
    """Read an uploaded model file; the same file is the same object, so that its runs go on."""
    key = name, hashlib.sha256(content).digest()
    return _read_once(place, key, lambda: load_model_bytes(content, name))


def uploaded_data(name: str, content: bytes, rule: str, place: str) -> Dataset:
    """Read an uploaded data file; the same file is the same object, so that its runs go on."""
    how = {} if name.lower().endswith(".txt") else {"binarise": rule}
    key = name, hashlib.sha256(content).digest(), rule
    return _read_once(place, key, lambda: load_bytes(content, name, **how))


def uploaded_sweep(name: str, content: bytes) -> Sweep:
    """Read an uploaded archive of a sweep's folder, once; BadInput if it is none, or there is no room."""
    digest = hashlib.sha256(content).hexdigest()[:12]
    known = UPLOADED_SWEEPS.value.get(f"upload-{digest}")
    if known is None:
        with one_reader():
            known = Sweep.uploaded(name, content)
        VISITOR.ensure().keep("sweep", SweepScores.bytes(known.plan))
        UPLOADED_SWEEPS.set({known.name: known})
    return known


def use_kept_file(place: str, name: str, content: bytes) -> None:
    """Let a kept file take the place of an uploader's; BadInput if there is no room for it."""
    VISITOR.ensure().keep(f"kept {place}", len(content))
    KEPT_UPLOADS.ensure()[place] = name, content


def drop_kept_file(place: str) -> None:
    """Forget the kept file that has taken the place of an uploader's."""
    if KEPT_UPLOADS.value.pop(place, None) is not None:
        VISITOR.value.keep(f"kept {place}", 0)


def drop_upload(place: str) -> None:
    """Forget the upload of an uploader whose file was removed."""
    if READ_UPLOADS.value.pop(place, None) is not None:
        VISITOR.value.keep(place, 0)


def _read_once(place: str, key: tuple[Any, ...], read: Callable[[], U]) -> U:
    """Return the model or data of an uploader's file; only the newest file of each uploader is kept."""
    kept = READ_UPLOADS.ensure()
    if place not in kept or kept[place][0] != key:
        with one_reader():
            found = read()
        VISITOR.ensure().keep(place, _size(found))
        kept[place] = key, found
    return kept[place][1]


def _size(x: Model | Dataset) -> int:
    """Return the bytes of all arrays of a model or a data set."""
    if isinstance(x, Model):
        parts = [*vars(x.rbm).values(), *(vars(x.rates).values() if x.rates else ())]
    else:
        parts = list(vars(x).values())
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
