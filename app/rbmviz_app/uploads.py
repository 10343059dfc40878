"""A visitor's uploaded or trained models and data: read once, counted, kept while the session lasts.

``place`` is the key of an uploader, which identifies its file. The bytes arrive through a route of Streamlit,
which holds them until the session ends; ``CountedUploads`` guards this route.
"""

import hashlib
import itertools
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rbmviz import BadInput, Model
from rbmviz.datasets import Dataset
from rbmviz.session import memory
from rbmviz_app import insides, messages, outside
from rbmviz_app.races import discard_sweeps_of
from rbmviz_app.session import REFUSED_UPLOADS, TRAINED, UPLOADS, widget_value
from rbmviz_app.shared import MODELS_OF_COMMAND

TRAINING_DATA, SCORED_DATA = "own_data", "score_data"
"""The uploaders of data to train on, and to score against; data of each can be chosen for both."""

MODEL_SUFFIXES = ["safetensors", "npz", "h5", "hdf5"]

DATA_SUFFIXES = ["npz", "npy", "csv", "txt", "zip"]

FORGOTTEN = "The server forgets the file when you open another link, or ten minutes after you leave."
"""Note on when the server forgets a file."""


class Upload(NamedTuple):
    """Content read from a file: name, identifying key, and the model or data."""

    name: str
    key: object
    content: Any


def uploader(place: str, label: str, suffixes: list[str], help: str) -> Any:
    """Draw an uploader; return its file, or None without one.

    On a reopened page the uploader is empty, but the content read before stays until the visitor removes it.
    """

    def changed() -> None:
        if widget_value(place) is None:
            drop_upload(place)

    return st.file_uploader(label, suffixes, key=place, on_change=changed, help=help)


ROUTE = "/_stcore/upload_file/"
"""Streamlit's path for file uploads, followed by the ids of the session and the file."""


class CountedUploads:
    """Middleware that refuses a file larger than half of the memory that the server has left.

    Files that are still coming count as there. The bytes of a refused file are discarded.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._coming = app, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        if scope["type"] != "http" or scope["method"] != "PUT" or ROUTE not in scope.get("path", ""):
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 16):
            await PlainTextResponse("Say how long the file is.", 411)(scope, receive, send)
            return
        size, most = int(length), max(memory.room() - self._coming, 0) // 2
        if size > most:
            while (await receive()).get("more_body"):
                pass  # a browser cut off while sending would not read the answer
            full = (
                f"The server has no room for this file of {size / 1e6:,.0f} MB: one may have "
                f"{most / 1e6:,.0f} MB now. Give a smaller one, or try again later."
            )
            await PlainTextResponse(full, 413)(scope, receive, send)
            return
        self._coming += size
        try:
            await self._app(scope, receive, send)
        finally:
            self._coming -= size


def _limits() -> dict[str, Any]:
    """Return the limits for reading a file: the server's free memory, and while the page is open."""

    def stop_with_the_page() -> None:
        if not insides.page_is_open():
            st.stop()

    return {"room": memory.room(), "go_on": stop_with_the_page}


def offer_to_leave(place: str, file: Any) -> None:
    """Offer to remove an upload that is no longer in its uploader."""
    if file is None and place in UPLOADS.value:
        name = messages.plain(UPLOADS.value[place].name)
        st.button(f"Continue without {name}", key=f"{place} leave", on_click=drop_upload, args=(place,))


def send_model(title: str, model: Model) -> str:
    """Keep a model trained in this session for the other pages; BadInput if there is no room.

    Returns its title, numbered if another model has this title.
    """
    trained = TRAINED.ensure()
    title = next(
        candidate
        for candidate in itertools.chain([title], (f"{title} ({n})" for n in itertools.count(2)))
        if candidate not in trained or np.array_equal(trained[candidate].rbm.W, model.rbm.W)
    )
    memory.check_room(_size(model))
    trained[title] = model
    return title


def own_model(place: str, file: Any) -> Upload | None:
    """Return the model of an uploader's file, or the last one read; None if there is none."""
    return _read_once(place, file, "", lambda: outside.read_model(file.getvalue(), file.name, **_limits()))


def _free_name(place: str, name: str) -> str:
    """Return the name of a file, numbered if a model of another uploader or of the command line has it."""
    others = {upload.name for other, upload in UPLOADS.value.items() if other != place}
    taken = others | MODELS_OF_COMMAND.keys()
    path = PurePath(name)
    numbered = (f"{path.stem} ({n}){path.suffix}" for n in itertools.count(2))
    return next(candidate for candidate in itertools.chain([name], numbered) if candidate not in taken)


def own_data(place: str, file: Any, rule: str) -> Upload | None:
    """Return the data of an uploader's file, or the data last read; rule : turns grey values into bits."""

    def read() -> Dataset:
        how = {} if file.name.lower().endswith(".txt") else {"binarise": rule}
        return outside.read_data(file.getvalue(), file.name, how, **_limits())

    return _read_once(place, file, rule, read)


def put_in_place(place: str, name: str, content: Model | Dataset, key: object = None) -> Upload:
    """Replace an uploader's model or data; BadInput if there is no room.

    key : identifies the file of the content; None: the content comes from elsewhere
    """
    memory.check_room(_size(content))
    UPLOADS.ensure()[place] = Upload(name, key, content)
    return UPLOADS.value[place]


def drop_upload(place: str) -> None:
    """Forget the content of an uploader's file, and delete the sweeps that use it."""
    gone = UPLOADS.value.pop(place, None)
    if gone is not None:
        discard_sweeps_of(gone.content)


def _read_once(place: str, file: Any, rule: str, read: Callable[[], Model | Dataset]) -> Upload | None:
    """Read an uploader's file (None: the last one read); the same file gives the same object."""
    if file is None:
        return UPLOADS.value.get(place)
    key = file.name, hashlib.sha256(file.getvalue()).digest(), rule
    upload = UPLOADS.ensure().get(place)
    if upload is not None and upload.key == key:
        return upload
    if place in REFUSED_UPLOADS.value and REFUSED_UPLOADS.value[place][0] == file.file_id:
        raise BadInput(REFUSED_UPLOADS.value[place][1])  # without reading it again
    try:
        content = read()
    except BadInput as refused:
        REFUSED_UPLOADS.ensure()[place] = file.file_id, str(refused)
        raise
    drop_upload(place)  # only now: a file that is refused leaves the one before in its place
    name = _free_name(place, file.name) if isinstance(content, Model) else file.name
    return put_in_place(place, name, content, key)


def _size(x: Model | Dataset) -> int:
    """Return the total bytes of all arrays of a model or data set."""
    if isinstance(x, Model):
        parts = [*vars(x.rbm).values(), *(vars(x.rates).values() if x.rates else ())]
    else:
        parts = list(vars(x).values())
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
