"""Reading array files from untrusted sources: the declared sizes are checked before anything is unpacked.

A small archive can declare a large array, and the declaration can be false. Reading has three steps: read the
headers with the declared shapes; check the caller's estimate of the memory needed against the memory budget;
read only the wanted arrays, each into exactly the declared amount of memory. Nothing is ever unpickled.

There are two errors. ``BadInput`` has a whole sentence: the memory budget or the file system refuses the
file. ``Damaged`` says in a few words how the content is invalid; the caller completes the sentence.
"""

import io
import json
import math
import os
import re
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
"""Content of a file: the bytes of an upload, or the path."""

is_file, is_folder = os.path.isfile, os.path.isdir
"""Tests for a regular file and for a folder; False for invalid paths, unlike the methods of ``Path``."""

MAX_ZIP_DIRECTORY = 2**24
"""Maximum size in bytes of a zip archive's directory, enough for some 200,000 files."""

DIRECTORY_COST = 12
"""Bytes of Python objects for each byte of a zip archive's directory, measured with the shortest names."""

MAX_HEADER = 2**20
"""Maximum size in bytes of the JSON header of a .safetensors file, and of one string in an .npz."""

MAX_SIZE = 2**62
"""Cap on computed sizes, so that they fit into an int64; every memory budget is smaller."""

NPY_START = 2**14
"""Bytes enough for the whole header of an .npy: numpy reads no header of more than 10,000 characters."""

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Accepted compression methods; with others, the file decides how much memory unpacking allocates first."""

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
"""Types of .safetensors that numpy supports; bfloat16 and the 8-bit floats are not among them."""


class Damaged(ValueError):
    """Invalid content; the text gives the reason, without a full stop."""


@dataclass(frozen=True)
class Header:
    """Shape and type that a file declares for one array, read before the array itself."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Number of elements, at most ``MAX_SIZE``."""
        return min(math.prod(self.shape), MAX_SIZE)

    @property
    def nbytes(self) -> int:
        """Bytes of the array, at most ``MAX_SIZE``."""
        return min(self.size * self.dtype.itemsize, MAX_SIZE)


Headers = Mapping[str, Header]
Need = Callable[[Headers], int]
"""Function that takes the headers of the wanted arrays and returns the peak memory, in bytes, for reading and
using them. It may raise ``Damaged`` or ``BadInput`` if a shape or type is not acceptable."""


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


def read_file(path: Path, what: str, *, factor: int = 1) -> bytes:
    """Return the bytes of a regular file; its size is checked against the memory budget before reading.

    path : the file to read
    what : name of the file in error messages
    factor : memory that the caller will use, as a multiple of the file's size (default 1)

    Raises
    ------
    BadInput
        If the file needs more than the memory budget.
    Damaged
        If it is not a regular file, or cannot be read.
    """
    if not is_file(path):
        raise Damaged("it is not a regular file")
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
            raise Damaged("it is not a regular file")
        with content.open("rb") as file:
            yield file
    else:
        yield io.BytesIO(content)


@contextmanager
def damaged() -> Iterator[None]:
    """Turn every error that a library raises on a damaged file into ``Damaged``."""
    try:
        yield
    except (BadInput, Damaged):
        raise
    except Exception as error:  # zip, zlib, struct, header, JSON, recursion, memory, file system
        raise Damaged(why(error)) from None


class _Bounded(io.BufferedIOBase):
    """A file that refuses long reads: ``ZipFile`` reads a directory of any declared length at once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.most = 0

    def read(self, n: int | None = -1, /) -> bytes:
        if n is None or n < 0:  # how ZipFile reads the comment at the end, at most 64 kB
            return self._file.read(2**17)
        if n > MAX_ZIP_DIRECTORY:
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
    """Open a zip archive after checking the size of its directory; errors in the block become ``Damaged``.

    Raises
    ------
    Damaged
        If it is not a zip archive, if two files in it have the same name, or if reading fails in the block.
    BadInput
        If the directory alone needs more than the memory budget.
    """
    with damaged(), _opened(content) as file:
        if not zipfile.is_zipfile(file):
            raise Damaged("it is not a zip archive, or not a whole one")
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
    """Open one file of an archive; reading unpacks it, up to its declared size."""
    if info.flag_bits & 1:
        raise Damaged("it is encrypted")
    if info.compress_type not in METHODS:
        raise Damaged("it is packed by another method than deflate")
    return archive.open(info)  # type: ignore[return-value]


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return one file of an archive, up to its declared size, which the caller has checked."""
    content = bytearray()
    with open_member(archive, info) as file:
        while block := file.read(2**20):
            content += block
    return bytes(content)


def unpacked(file: BinaryIO, most: int) -> bytes:
    """Return the content of a compressed stream (gzip, bzip2).

    Raises Damaged if the content has more than ``most`` bytes, or the stream is damaged.
    """
    with damaged():
        content = file.read(most + 1)
    if len(content) > most:
        raise Damaged(f"it unpacks to more than {most / 1e6:,.0f} MB")
    return content


def _npy_header(file: BinaryIO, size: int) -> tuple[Header, bool, bytes]:
    """Return the header of an .npy of ``size`` bytes, whether it is in Fortran order, and its first data."""
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
    memory = array.view(np.uint8).data if header.nbytes else memoryview(bytearray())
    at = min(len(first), len(memory))
    memory[:at] = first[:at]
    while at < len(memory):
        block = file.read(min(2**20, len(memory) - at))
        if not block:
            raise Damaged("it ends before its data do")
        memory[at : at + len(block)] = block
        at += len(block)
    # Reading to the very end makes zipfile verify the checksum.
    if own_size and (len(first) > len(memory) or file.read(1)):
        raise Damaged("it has more bytes than it declares")
    del memory
    if array.dtype.kind == "b":  # numpy miscalculates with booleans whose byte is neither 0 nor 1
        np.not_equal(array.view(np.uint8), 0, out=array)
    if not array.dtype.isnative:
        array = array.byteswap(inplace=True).view(array.dtype.newbyteorder("="))
    if array.dtype.kind == "U" and array.size:
        codes = array.view(np.uint32)
        if codes.max() > sys.maxunicode or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise Damaged("it holds codes that are not characters")  # numpy would make broken strings of them
    return array.reshape(header.shape, order="F" if fortran else "C")


def read_npz(content: Content, what: str, wanted: Callable[[str], bool], need: Need) -> dict[str, np.ndarray]:
    """Return the wanted arrays of an .npz file.

    content : the file
    what : name of the file in error messages
    wanted : function that takes the name of an array and returns whether to read it
    need : see ``Need``

    Returns
    -------
    dict of str to ndarray
        Arrays of numbers or text by name, in native byte order, in C or Fortran order.

    Raises
    ------
    BadInput
        If ``need`` exceeds the memory budget; nothing is unpacked in that case.
    Damaged
        If the file is not an .npz or is damaged, or if a wanted array holds neither numbers nor text.
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
        check_memory(what, min(need(headers), MAX_SIZE), "give fewer or smaller arrays")
        arrays = {}
        for name, info in members.items():
            with _named(name), open_member(archive, info) as file:
                header, fortran, first = _npy_header(file, info.file_size)
                if header != headers[name]:
                    raise Damaged("it changed while it was read")
                arrays[name] = _fill(file, first, header, fortran, own_size=True)
        return arrays


def read_npy(content: Content, what: str, need: Callable[[Header], int]) -> np.ndarray:
    """Return the array of an .npy file, in native byte order.

    content : the file
    what : name of the file in error messages
    need : function that takes the declared header and returns the peak memory in bytes, see ``Need``

    Raises
    ------
    BadInput
        If ``need`` exceeds the memory budget; only the header is read in that case.
    Damaged
        If the file is not an .npy or is damaged, or holds neither numbers nor text (a pickle, for example).
    """
    with damaged(), _opened(content) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        header, fortran, first = _npy_header(file, size)
        check_memory(what, min(need(header), MAX_SIZE), "give a smaller array")
        return _fill(file, first, header, fortran, own_size=True)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the name of the array before the text of every ``Damaged`` raised in the block."""
    try:
        with damaged():
            yield
    except Damaged as error:
        raise Damaged(f"{name}: {error}") from None


def names_in_npz(content: Content, what: str) -> list[str]:
    """Return the names of the first twenty arrays of an .npz file, for an error message."""
    with zip_archive(content, what) as archive:
        return [printable(info.filename.removesuffix(".npy"))[:60] for info in archive.infolist()[:20]]


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; NaN and infinite numbers become None.

    Raises Damaged if the text is longer than ``MAX_HEADER``, is nested too deeply, is not JSON, or repeats a
    key.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        header = dict(pairs)
        if len(header) != len(pairs):
            raise Damaged("its header names something twice")
        return header

    if len(text) > MAX_HEADER:
        raise Damaged(f"its header is longer than {MAX_HEADER:,} bytes")
    with damaged():
        return json.loads(text, object_pairs_hook=once, parse_constant=lambda name: None)


def text_of(array: np.ndarray | None, name: str) -> str:
    """Return the string in an array of one element, or '{}' (empty JSON) if the array is None.

    Raises Damaged if the array does not hold exactly one string.
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

    The library ``safetensors`` (0.8) is not used: it maps a file into memory, and SIGBUS ends the process if
    the file shrinks meanwhile; given bytes, it copies all arrays, wanted or not, before their headers can be
    checked. Parameters and errors are the same as for ``read_npz``.
    """
    with damaged(), _opened(content) as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= MAX_HEADER:
            raise Damaged("it is not a .safetensors file, or its header is too long")
        begin = 8 + length
        size = file.seek(0, os.SEEK_END) - begin
        file.seek(8)
        entries = read_json(file.read(length))
        if not isinstance(entries, dict):
            raise Damaged("its header is not a JSON object")
        texts = entries.pop("__metadata__", None) or {}
        if not (isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values())):
            raise Damaged("the texts in its header are not texts")
        end = max((_end(name, entry) for name, entry in entries.items()), default=0)
        if end != size:
            raise Damaged(f"it declares {end:,} bytes and has {size:,}")
        headers = {}
        for name, entry in entries.items():
            if wanted(name):
                with _named(name):
                    headers[name] = _tensor_header(entry)
        check_memory(what, min(need(headers), MAX_SIZE), "give fewer or smaller arrays")
        arrays = {}
        for name, header in headers.items():
            with _named(name):
                file.seek(begin + entries[name]["data_offsets"][0])
                arrays[name] = _fill(file, b"", header, False, own_size=False)
        return arrays, texts


def _end(name: str, entry: Any) -> int:
    match entry:
        case {"dtype": str(), "shape": list(), "data_offsets": [int(first), int(last)]} if (
            0 <= first <= last <= MAX_SIZE
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
