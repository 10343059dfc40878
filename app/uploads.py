"""Models and data that a visitor has brought or trained: read once, counted, forgotten with their file.

``place`` is the key of an uploader, by which its file is found.
"""

import hashlib
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from rbmviz import Model
from rbmviz.datasets import Dataset, load_bytes
from rbmviz.rbm import load_model_bytes
from rbmviz.session.sweep_scores import SweepScores
from rbmviz.session.sweeps import Sweep
from rbmviz_app.session import (
    EMPTIED_UPLOADERS,
    KEPT_UPLOADS,
    READ_UPLOADS,
    TRAINED,
    UPLOADED_SWEEPS,
    VISITOR,
    setting_value,
)

U = TypeVar("U", Model, Dataset)


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
