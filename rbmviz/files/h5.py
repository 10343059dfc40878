"""Models in HDF5: the archives of rbms (PyTorch).

An HDF5 file can refer to other files, and declare far more than it holds: the app reads those of strangers
in a process with limits (``rbmviz_app.outside``).
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, brought_by
from rbmviz.files.arrays import Damaged, FileContent, damaged, is_file, printable


def _array(file: Any, path: str) -> Any:
    """Return the value at a path, None if there is none; nothing outside of the file is read."""
    if path not in file:
        return None
    at = file[path]
    if not hasattr(at, "dtype") or at.file != file or at.is_virtual or at.external:
        raise Damaged(f"{path} is not an array in this file")
    return at[()]


def _numbers(file: Any, path: str) -> np.ndarray | None:
    array = _array(file, path)
    if array is not None and (not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf"):
        raise Damaged(f"{path} holds no array of numbers")
    return array


def _text(file: Any, path: str) -> str:
    value = _array(file, path)
    text = value.decode(errors="replace") if isinstance(value, bytes) else "" if value is None else str(value)
    return printable(text)[:100]


@contextmanager
def _opened(content: FileContent, what: str) -> Iterator[Any]:
    with brought_by("models", f"Reading {what}"):
        import h5py
    with damaged():
        if isinstance(content, Path) and not is_file(content):
            raise Damaged("it is not a regular file")
        with h5py.File(content if isinstance(content, Path) else io.BytesIO(content), "r") as file:
            yield file


def read_h5(
    content: FileContent, what: str, update: int | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays W, b, c of a model in HDF5, and its metadata.

    what : name of the file in error messages
    update : number of an update in an archive of rbms (default: the last one)

    Raises BadInput if h5py is not installed, or if the file holds another kind of model, or has no such
    update; Damaged if it is not such an archive.
    """
    with _opened(content, what) as file:
        found = (re.fullmatch(r"update_(\d{1,15})", name) for name in file)
        updates = sorted(int(match[1]) for match in found if match)
        if not updates:
            raise Damaged("it is not an archive of rbms")
        if (kind := _text(file, "model_type") or "BBRBM") != "BBRBM":
            raise BadInput(
                f"{what} holds a model of the type {kind}: only BBRBM, binary units 0 and 1, is read."
            )
        n = updates[-1] if update is None else update
        if n not in updates:
            some = updates if len(updates) < 8 else [*updates[:3], "...", *updates[-3:]]
            raise BadInput(f"{what} has no update {n}; it has {', '.join(map(str, some))}.")
        arrays = {}
        for name, theirs in (("W", "weight_matrix"), ("b", "vbias"), ("c", "hbias")):
            array = _numbers(file, f"update_{n}/params/{theirs}")
            array = _numbers(file, f"update_{n}/{theirs}") if array is None else array
            if array is None:
                raise Damaged(f"update {n} has no {theirs}")
            arrays[name] = array
        return arrays, {"trainer": "rbms", "updates": n}


def read_chains(content: FileContent, what: str) -> np.ndarray | None:
    """Return the chains of an archive of rbms, (chains, n_visible); None if it has none."""
    with _opened(content, what) as file:
        return _numbers(file, "parallel_chains")
