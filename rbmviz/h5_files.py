"""Models in HDF5: the archives of rbms (PyTorch).

An HDF5 file can refer to other files and run its own filters. Here only numbers and texts in the file itself
are read, uncompressed or packed by deflate, after a check of their declared sizes.
"""

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.array_files import MAX_SIZE, Content, Damaged, damaged, is_file, printable
from rbmviz.budget import check_memory
from rbmviz.errors import BadInput, brought_by

MAX_LINKS = 100_000
"""Maximum number of entries of an archive: rbms writes one for each update that it keeps."""

FILTERS = {"gzip", None}


class _File:
    """An open HDF5 file, with its name for error messages and the number of bytes read so far."""

    def __init__(self, file: Any, what: str) -> None:
        self.file, self.what, self.nbytes = file, what, 0

    def names(self) -> list[str]:
        """Return the names at the top level."""
        if len(self.file) > MAX_LINKS:
            raise Damaged(f"it has {len(self.file):,} entries")
        return list(self.file)

    def _own(self, path: str) -> Any:
        """Return the data set at a path, or None if there is none; links and outside data are refused."""
        import h5py

        at = self.file
        for name in path.split("/"):
            if not isinstance(at, h5py.Group) or name not in at:
                return None
            if not isinstance(at.get(name, getlink=True), h5py.HardLink):
                raise Damaged(f"{path} is a link")
            at = at[name]
        if not isinstance(at, h5py.Dataset):
            raise Damaged(f"{path} is not an array")
        if at.is_virtual or at.external or at.compression not in FILTERS:
            raise Damaged(f"{path} does not lie in the file, or is packed by another method than deflate")
        return at

    def array(self, path: str) -> np.ndarray | None:
        """Return an array of numbers; None if there is none."""
        dataset = self._own(path)
        if dataset is None:
            return None
        if dataset.dtype.kind not in "biuf" or dataset.shape is None or len(dataset.shape) > 8:
            raise Damaged(f"{path} holds no array of numbers")
        # Memory holds each array in the file's type and in float32, and one copy while it is transposed.
        # Chunks are unpacked whole, and may be larger than the array.
        size, itemsize = math.prod(dataset.shape), dataset.dtype.itemsize
        beyond = max(math.prod(dataset.chunks or ()) - size, 0)
        self.nbytes += min(size * (itemsize + 8) + beyond * itemsize, MAX_SIZE)
        check_memory(self.what, min(self.nbytes, MAX_SIZE), "give fewer or smaller arrays")
        array: np.ndarray = dataset[()]
        return np.asarray(array)

    def text(self, path: str) -> str:
        """Return a text, "" if there is none."""
        dataset = self._own(path)
        if dataset is None:
            return ""
        if dataset.shape != () or dataset.dtype.kind not in "SO" or dataset.id.get_storage_size() > 1000:
            raise Damaged(f"{path} is not a short text")
        value = dataset[()]
        return printable(value.decode(errors="replace") if isinstance(value, bytes) else str(value))[:100]


@contextmanager
def _opened(content: Content, what: str) -> Iterator[_File]:
    with brought_by("models", f"Reading {what}"):
        import h5py
    with damaged():
        if isinstance(content, Path) and not is_file(content):
            raise Damaged("it is not a regular file")
        with h5py.File(content if isinstance(content, Path) else io.BytesIO(content), "r") as file:
            yield _File(file, what)


def read_h5(
    content: Content, what: str, update: int | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays W, b, c of a model in HDF5, and its metadata.

    what : name of the file in error messages
    update : number of an update in an archive of rbms (default: the last one)

    Raises BadInput if h5py is not installed, or if the file needs more than the memory budget, holds another
    kind of model, or has no such update; Damaged if it is not such an archive.
    """
    with _opened(content, what) as file:
        updates = _updates(file.names())
        if not updates:
            raise Damaged("it is not an archive of rbms")
        if (kind := file.text("model_type") or "BBRBM") != "BBRBM":
            raise BadInput(
                f"{what} holds a model of the type {kind}: only BBRBM, binary units 0 and 1, is read."
            )
        n = updates[-1] if update is None else update
        if n not in updates:
            some = updates if len(updates) < 8 else [*updates[:3], "...", *updates[-3:]]
            raise BadInput(f"{what} has no update {n}; it has {', '.join(map(str, some))}.")
        arrays = {}
        for name, theirs in (("W", "weight_matrix"), ("b", "vbias"), ("c", "hbias")):
            array = file.array(f"update_{n}/params/{theirs}")
            array = file.array(f"update_{n}/{theirs}") if array is None else array
            if array is None:
                raise Damaged(f"update {n} has no {theirs}")
            arrays[name] = array
        return arrays, {"trainer": "rbms", "updates": n}


def _updates(names: list[str]) -> list[int]:
    return sorted(int(n[1]) for name in names if (n := re.fullmatch(r"update_(\d{1,15})", name)))


def read_chains(content: Content, what: str) -> np.ndarray | None:
    """Return the chains of an archive of rbms, (chains, n_visible); None if it has none."""
    with _opened(content, what) as file:
        return file.array("parallel_chains")
