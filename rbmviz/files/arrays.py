"""Reading files of arrays, with numpy and safetensors; nothing is ever unpickled.

The app reads files of strangers by the same functions, in a process with limits (``rbmviz_app.outside``).

There are two errors. ``BadInput`` has a whole sentence. ``Damaged`` says in a few words how the content is
invalid; the caller completes the sentence.
"""

import io
import json
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

from rbmviz.errors import BadInput
from rbmviz.files.budget import check_memory

FileContent = bytes | Path
"""Content of a file: the bytes of an upload, or the path."""

is_file, is_folder = os.path.isfile, os.path.isdir
"""Tests for a regular file and for a folder; False for invalid paths, unlike the methods of ``Path``."""

MAX_HEADER = 2**20
"""Maximum size in bytes of the JSON header of a .safetensors file, and of one string in an .npz."""

Choose = Callable[[list[str]], Collection[str]]
"""Function from the names of all arrays of a file to those that are read; it may raise ``BadInput``."""


class Damaged(ValueError):
    """Invalid content; the text gives the reason, without a full stop."""


def why(error: BaseException) -> str:
    """Return the first line of an exception's text, without a full stop, for use in an error message.

    Representations of Python objects, such as ``<_io.BytesIO object at 0x7f42>``, are removed: they mean
    nothing to a user.
    """
    lines = re.sub(r"\s*<[^<>]* object at 0x[^<>]*>", "", str(error)).splitlines()
    return printable(lines[0].rstrip(". ") if lines and lines[0] else type(error).__name__)[:300]


def printable(text: str) -> str:
    """Return a text with every unprintable character (control codes, line breaks) replaced by a space."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


@contextmanager
def damaged() -> Iterator[None]:
    """Turn every error that a library raises on a damaged file into ``Damaged``."""
    try:
        yield
    except (BadInput, Damaged):
        raise
    except MemoryError:
        raise Damaged("it needs more memory than there is") from None
    except Exception as error:  # zip, zlib, struct, header, JSON, recursion, memory, file system
        text = why(error)  # numpy's advice is to allow pickles
        raise Damaged("it holds neither numbers nor text alone" if "pickle" in text else text) from None


def read_file(path: Path, what: str) -> bytes:
    """Return the bytes of a regular file; its size is checked against the memory budget before reading.

    path : the file to read
    what : name of the file in error messages

    Raises BadInput if the file needs more than the memory budget. Raises Damaged if it is not a regular file,
    or cannot be read.
    """
    if not is_file(path):
        raise Damaged("it is not a regular file")
    check_memory(what, path.stat().st_size, "give a smaller file")
    with damaged():
        return path.read_bytes()


def _numbers_or_text(array: Any, name: str) -> np.ndarray:
    """Return an array in native byte order; Damaged if it holds neither numbers nor text."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufUS":
        kind = str(getattr(array, "dtype", "bytes"))[:60]
        raise Damaged(f"{printable(name)[:60]} is of type {kind}: neither numbers nor text")
    if array.dtype.kind == "b":  # numpy miscalculates with booleans whose byte is neither 0 nor 1
        return np.asarray(array.view(np.uint8) != 0)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def read_arrays(
    content: FileContent, suffix: str, choose: Choose
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return arrays of an .npz, .npy or .safetensors file, and the texts in the header of the latter.

    Raises Damaged also if a chosen array holds neither numbers nor text, as a pickle.

    content : the file
    suffix : its format, as ".npz"
    choose : see ``Choose``; an .npy has one array, without a name
    """
    with damaged():
        if isinstance(content, Path) and not is_file(content):
            raise Damaged("it is not a regular file")
        if suffix == ".safetensors":
            content = content.read_bytes() if isinstance(content, Path) else content
            found: Any = load(content)
            header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
            texts = header.get("__metadata__") or {}
            return {name: _numbers_or_text(found[name], name) for name in choose(list(found))}, texts
        with content.open("rb") if isinstance(content, Path) else io.BytesIO(content) as file:
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray) != (suffix == ".npy"):
                raise Damaged(f"it is not an {suffix}")
            if suffix == ".npy":
                return {"": _numbers_or_text(found, "the array")}, {}
            return {name: _numbers_or_text(found[name], name) for name in choose(found.files)}, {}


def read_npz(content: FileContent, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """Return those arrays of an .npz file that are wanted and that it has; see ``read_arrays``."""
    return read_arrays(content, ".npz", lambda names: [name for name in names if name in wanted])[0]


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; NaN and infinite numbers become None.

    Raises Damaged if the text is longer than ``MAX_HEADER``, is nested too deeply, or is not JSON.
    """
    if len(text) > MAX_HEADER:
        raise Damaged(f"its header is longer than {MAX_HEADER:,} bytes")
    with damaged():
        return json.loads(text, parse_constant=lambda name: None)


def text_of(array: np.ndarray | None, name: str) -> str:
    """Return the string in an array of one element, or '{}' (empty JSON) if the array is None."""
    if array is None:
        return "{}"
    if array.shape != () or array.dtype.kind not in "US":
        raise Damaged(f"{name} is not one text")
    with damaged():
        return array.item() if array.dtype.kind == "U" else array.item().decode()
