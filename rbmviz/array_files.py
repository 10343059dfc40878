"""Reading files that anybody may have made: what they declare is judged before any of it is unpacked.

A small archive can declare a large array, and lie about it. Here the declared shapes come first; whoever
asks says what it will need for them, which is held against the memory budget; then only the wanted arrays
are read, into memory of the declared size and not a byte beyond. Nothing is ever unpickled.

Two kinds of error: ``BadInput`` where the budget or the file system refuses, a whole sentence; ``Damaged``
where the content is not what it should be, a few words for the caller's sentence.
"""

import io
import json
import math
import os
import re
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rbmviz.budget import check_memory
from rbmviz.errors import BadInput

Content = bytes | Path
"""A file: its bytes, as an upload brings them, or where it lies."""

MOST_DIRECTORY = 2**24
"""Bytes of a zip archive's directory, some 200,000 files; Python's own records take ten times as much."""

DIRECTORY_COST = 12
"""Bytes of Python's records for a byte of a zip archive's directory, measured with the shortest names."""

MOST_HEADER = 2**20
"""Bytes of the JSON header of a .safetensors file, and of one string in an .npz."""

LARGEST_SIZE = 2**62
"""Sizes are counted up to here: what declares more is refused all the same."""

NPY_START = 2**14
"""Bytes that hold the header of an .npy: numpy reads no header longer than 10,000 characters."""

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The other methods of zip ask for as much memory as the file likes, before a byte is out."""

TENSORS = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
}
"""Types of .safetensors that numpy has; not the shorter floats of neural networks."""


class Damaged(ValueError):
    """Content that is not what it should be; the text says why, without a full stop."""


@dataclass(frozen=True)
class Header:
    """What a file declares of one array, before the array is read."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Number of elements, at most ``LARGEST_SIZE``."""
        return min(math.prod(self.shape), LARGEST_SIZE)

    @property
    def nbytes(self) -> int:
        """Bytes of the array, at most ``LARGEST_SIZE``."""
        return min(self.size * self.dtype.itemsize, LARGEST_SIZE)


Headers = Mapping[str, Header]
Need = Callable[[Headers], int]
"""From the headers of the wanted arrays to the bytes that reading and using them takes at the peak; it may
raise ``Damaged`` or ``BadInput`` where shapes or types will not do."""


def why(error: BaseException) -> str:
    """Return the first line of an exception's text, without a full stop, for a sentence about it.

    Without objects of this program, too, as ``<_io.BytesIO object at 0x7f42>``: nobody can look at those.
    """
    lines = re.sub(r"\s*<[^<>]* object at 0x[^<>]*>", "", str(error)).splitlines()
    return printable(lines[0].rstrip(". ") if lines and lines[0] else type(error).__name__)[:300]


def printable(text: str) -> str:
    """Return a text from outside without what a terminal or a page would act upon instead of showing."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def is_file(path: Path) -> bool:
    """Say whether a path is a regular file: no folder, pipe or device, and nothing that cannot be asked."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):  # a name that is too long, a folder that may not be entered, a NUL
        return False


def is_folder(path: Path) -> bool:
    """Say whether a path is a folder that can be asked about."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def read_file(path: Path, what: str, *, factor: int = 1) -> bytes:
    """Return the bytes of a regular file, refused by its size before it is read.

    Parameters
    ----------
    path : Path
    what : str
        The file as the person knows it, for the refusal.
    factor : int
        Memory that the caller will take, in sizes of the file (default 1).

    Raises
    ------
    BadInput
        Where the budget does not allow it.
    Damaged
        Where it is no regular file, or cannot be read.
    """
    if not is_file(path):
        raise Damaged("it is no regular file")
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            check_memory(what, factor * size, "give a smaller file")
            content = file.read(size + 1)
    except OSError as error:
        raise Damaged(why(error)) from None
    if len(content) != size:
        raise Damaged("it changed while it was read")
    return content


@contextmanager
def _opened(content: Content) -> Iterator[BinaryIO]:
    if isinstance(content, Path):
        if not is_file(content):
            raise Damaged("it is no regular file")
        with content.open("rb") as file:
            yield file
    else:
        yield io.BytesIO(content)


@contextmanager
def _damaged() -> Iterator[None]:
    """Turn whatever a damaged file does to the libraries that read it into ``Damaged``."""
    try:
        yield
    except (BadInput, Damaged):
        raise
    except Exception as error:  # zip, zlib, struct, header, JSON, recursion, memory, file system
        raise Damaged(why(error)) from None


class _Bounded(io.BufferedIOBase):
    """A file for ``ZipFile``, which reads the whole directory at once, however long it says it is."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.most = 0

    def read(self, n: int | None = -1, /) -> bytes:
        if n is None or n < 0:  # the comment at the end, of at most 64 kB
            return self._file.read(2**17)
        if n > MOST_DIRECTORY:
            raise Damaged("its directory is too long")
        self.most = max(self.most, n)
        return self._file.read(n)

    def seek(self, at: int, whence: int = 0, /) -> int:
        return self._file.seek(at, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


@contextmanager
def zip_archive(content: Content, what: str) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive whose directory is of a bearable length; damage inside the block is ``Damaged``.

    Raises
    ------
    Damaged
        Where it is no zip archive, two files in it have one name, or, inside the block, on any failure.
    BadInput
        Where its directory alone is more than the budget allows.
    """
    with _damaged(), _opened(content) as file:
        if not zipfile.is_zipfile(file):
            raise Damaged("it is no zip archive, or not a whole one")
        bounded = _Bounded(file)
        with zipfile.ZipFile(bounded) as archive:
            check_memory(what, bounded.most * DIRECTORY_COST, "put fewer files into it")
            names = set()
            for info in archive.infolist():
                if info.filename in names:
                    raise Damaged(f"it holds '{printable(info.filename)[:100]}' twice")
                names.add(info.filename)
            yield archive


def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    """Open one file of an archive, unpacked as it is read and never beyond its declared size."""
    if info.flag_bits & 1:
        raise Damaged("it is encrypted")
    if info.compress_type not in METHODS:
        raise Damaged("it is packed by another method than deflate")
    return archive.open(info)  # type: ignore[return-value]


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return one file of an archive, of at most its declared size, which the caller has judged."""
    content = bytearray()
    with open_member(archive, info) as file:
        while block := file.read(2**20):
            content += block
    return bytes(content)


def unpacked(file: BinaryIO, most: int) -> bytes:
    """Return what a packed stream (gzip, bzip2) holds; ``Damaged`` where that is more than ``most`` bytes."""
    with _damaged():
        content = file.read(most + 1)
    if len(content) > most:
        raise Damaged(f"it unpacks to more than {most / 1e6:,.0f} MB")
    return content


def _npy_header(file: BinaryIO, size: int) -> tuple[Header, bool, bytes]:
    """Return what an .npy of this size declares, whether in Fortran's order, and the first of its data."""
    start = io.BytesIO(file.read(NPY_START))
    version = np.lib.format.read_magic(start)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(start)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(start)
    else:
        raise Damaged(f"its format {version[0]}.{version[1]} is for tables of several columns only")
    header, left = _header(shape, dtype), size - start.tell()
    if header.nbytes != left:
        raise Damaged(f"it declares {header.nbytes:,} bytes and has {left:,}")
    return header, fortran, start.read()


def _header(shape: Any, dtype: np.dtype) -> Header:
    shape = tuple(shape)
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape):
        raise Damaged(f"it declares the shape {str(shape)[:100]}")
    if len(shape) > 8:
        raise Damaged(f"it declares {len(shape)} dimensions")
    if dtype.kind not in "biufUS" or dtype.subdtype is not None or not dtype.itemsize:
        raise Damaged(f"it is of type {str(dtype)[:60]}: neither numbers nor text")
    return Header(shape, dtype)


def _fill(file: BinaryIO, first: bytes, header: Header, fortran: bool, own_size: bool) -> np.ndarray:
    """Read exactly the declared array, in native byte order."""
    array = np.empty(header.size, header.dtype)
    memory = array.view(np.uint8).data if header.nbytes else memoryview(b"")
    at = min(len(first), len(memory))
    memory[:at] = first[:at]
    while at < len(memory):
        block = file.read(min(2**20, len(memory) - at))
        if not block:
            raise Damaged("it ends before its data do")
        memory[at : at + len(block)] = block
        at += len(block)
    # At its very end zipfile compares the checksum.
    if own_size and (len(first) > len(memory) or file.read(1)):
        raise Damaged("it goes on behind its data")
    del memory
    if array.dtype.kind == "b":  # a byte that is neither 0 nor 1 is no truth value to numpy
        np.not_equal(array.view(np.uint8), 0, out=array)
    if not array.dtype.isnative:
        array = array.byteswap(inplace=True).view(array.dtype.newbyteorder("="))
    if array.dtype.kind == "U" and array.size:
        codes = array.view(np.uint32)
        if codes.max() > sys.maxunicode or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise Damaged("it holds codes that are no characters")  # numpy makes broken texts of them
    return array.reshape(header.shape, order="F" if fortran else "C")


def read_npz(content: Content, what: str, wanted: Callable[[str], bool], need: Need) -> dict[str, np.ndarray]:
    """Return the wanted arrays of an .npz file.

    Parameters
    ----------
    content : bytes or Path
    what : str
        The file as the person knows it, for the refusal.
    wanted : name -> bool
    need : see ``Need``

    Returns
    -------
    arrays
        Numbers or text, in native byte order, in C's order or Fortran's.

    Raises
    ------
    BadInput
        Where ``need`` is more than the budget, before anything is unpacked.
    Damaged
        Where the file is no .npz or damaged, or a wanted array is neither of numbers nor of text.
    """
    with zip_archive(content, what) as archive:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if wanted(name):
                if name in members:
                    raise Damaged(f"it holds {name} twice")
                members[name] = info
        headers = {}
        for name, info in members.items():
            with _named(name), open_member(archive, info) as file:
                headers[name], _, _ = _npy_header(file, info.file_size)
        check_memory(what, min(need(headers), LARGEST_SIZE), "give fewer or smaller arrays")
        arrays = {}
        for name, info in members.items():
            with _named(name), open_member(archive, info) as file:
                header, fortran, first = _npy_header(file, info.file_size)
                if header != headers[name]:
                    raise Damaged("it changed while it was read")
                arrays[name] = _fill(file, first, header, fortran, own_size=True)
        return arrays


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say which array of a file is the damaged one."""
    try:
        with _damaged():
            yield
    except Damaged as error:
        raise Damaged(f"{name}: {error}") from None


def names_in_npz(content: Content, what: str) -> list[str]:
    """Return the names of the arrays of an .npz file, at most twenty, for a message."""
    with zip_archive(content, what) as archive:
        return [printable(info.filename.removesuffix(".npy"))[:60] for info in archive.infolist()[:20]]


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text: every key once; numbers that are none (NaN) become None.

    Raises
    ------
    Damaged
        Where it is longer than ``MOST_HEADER``, nested too deep, or no JSON.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Damaged("its header names something twice")
        return found

    if len(text) > MOST_HEADER:
        raise Damaged(f"its header is longer than {MOST_HEADER:,} bytes")
    with _damaged():
        return json.loads(text, object_pairs_hook=once, parse_constant=lambda name: None)


def text_of(array: np.ndarray | None, name: str) -> str:
    """Return the text of an array of one string; '{}' without one.

    Raises
    ------
    Damaged
        Where it is anything else.
    """
    if array is None:
        return "{}"
    if array.shape != () or array.dtype.kind not in "US":
        raise Damaged(f"{name} is not one text")
    with _named(name):
        return array.item() if array.dtype.kind == "U" else array.item().decode()


def read_safetensors(
    content: Content, what: str, wanted: Callable[[str], bool], need: Need
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the wanted arrays of a .safetensors file, and the texts of its header.

    Read here and not by the library of that name, which takes headers of up to 100 MB, and an upload only
    whole. Parameters and errors are those of ``read_npz``.
    """
    with _damaged(), _opened(content) as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= MOST_HEADER:
            raise Damaged("it is no .safetensors file, or its header is too long")
        begin = 8 + length
        size = file.seek(0, os.SEEK_END) - begin
        file.seek(8)
        found = read_json(file.read(length))
        if not isinstance(found, dict):
            raise Damaged("its header is no JSON object")
        texts = found.pop("__metadata__", None) or {}
        if not (isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values())):
            raise Damaged("the texts in its header are no texts")
        end = max((_end(name, entry) for name, entry in found.items()), default=0)
        if end != size:
            raise Damaged(f"it declares {end:,} bytes and has {size:,}")
        headers = {}
        for name, entry in found.items():
            if wanted(name):
                with _named(name):
                    headers[name] = _tensor_header(entry)
        check_memory(what, min(need(headers), LARGEST_SIZE), "give fewer or smaller arrays")
        arrays = {}
        for name, header in headers.items():
            with _named(name):
                file.seek(begin + found[name]["data_offsets"][0])
                arrays[name] = _fill(file, b"", header, False, own_size=False)
        return arrays, texts


def _end(name: str, entry: Any) -> int:
    match entry:
        case {"dtype": str(), "shape": list(), "data_offsets": [int(first), int(last)]} if (
            0 <= first <= last <= LARGEST_SIZE
        ):
            return last
    raise Damaged(f"its header does not say what {printable(name)[:60]} is")


def _tensor_header(entry: dict[str, Any]) -> Header:
    if entry["dtype"] not in TENSORS:
        raise Damaged(f"it is of type {printable(entry['dtype'])[:20]}: save it as F32")
    header = _header(entry["shape"], np.dtype(TENSORS[entry["dtype"]]))
    first, last = entry["data_offsets"]
    if last - first != header.nbytes:
        raise Damaged(f"it declares {header.nbytes:,} bytes and has {last - first:,}")
    return header
