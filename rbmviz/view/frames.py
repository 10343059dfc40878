"""The format of a frame: new pictures and numbers of a page's panels, in one self-describing message.

A frame consists of the length of its header in bytes (uint32), the header (JSON), and the bytes of all
blocks, without gaps. All numbers are little endian. The header is ``{"request": ..., "panels": [...]}``: the
request that the frame answers, and an object for each panel. The entry ``blocks`` of such an object lists
name, dtype and shape of each block of the panel. The bytes of the blocks follow in the order of these lists.

A dtype is the name of a numpy dtype, or ``"bits"``: then the last axis of the shape counts bits, packed along
that axis (``numpy.packbits``), so that each row ends at a byte.

This module has the only writer of frames, and a reader for tests and scripts; the app's reader is
``rbmviz/view/panel/frame.js``.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rbmviz import BadInput

DTYPES = {
    name: np.dtype(name).newbyteorder("<") for name in ("uint8", "uint16", "uint32", "float32", "float64")
}
"""Dtypes of a block, besides bits."""

_NAMES = {dtype: name for name, dtype in DTYPES.items()}

MAX_AXIS_SIZE, MAX_AXES = 2**31, 8
"""Maximum size of an axis, and number of axes: no numpy array could be much larger."""

LENGTH_BYTES = 4
"""Bytes of the header's length, at the start of a frame."""

_to_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Bits(NamedTuple):
    """A block of bits: uint8 (..., ceil(n / 8)), packed along the last axis, with n bits in each row."""

    packed: np.ndarray
    n: int


Block = np.ndarray | Bits


class PanelPart(NamedTuple):
    """One panel of a frame: the entries of its header without ``blocks``, and its blocks by name."""

    head: dict[str, Any]
    blocks: dict[str, np.ndarray]


class Frame(NamedTuple):
    """A frame that has been read."""

    request: dict[str, Any]
    panels: list[PanelPart]


def write_frame(
    request: Mapping[str, Any],
    panels: Iterable[tuple[dict[str, Any], Mapping[str, Block]]],
    running: bool = False,
) -> bytes:
    """Return a frame.

    Parameters
    ----------
    request : mapping
        The request that the frame answers, as JSON values.
    panels : iterable of (head, blocks)
        The entries of each panel's header, as JSON values, and its blocks by name.
    running : bool
        Whether the page plays.

    Raises
    ------
    ValueError
        If a number in the header is not finite, which JSON cannot express.
    """
    heads, parts = [], [b"", b""]
    for head, blocks in panels:
        described = []
        for name, block in blocks.items():
            if isinstance(block, Bits):
                array, dtype, shape = block.packed, "bits", (*block.packed.shape[:-1], block.n)
            else:
                array = block if block.dtype in _NAMES else block.astype(block.dtype.newbyteorder("<"))
                dtype, shape = _NAMES[array.dtype], array.shape
            described.append((name, dtype, shape))
            parts.append(array.tobytes())
        heads.append({**head, "blocks": described})
    parts[1] = _to_json({"request": request, "running": running, "panels": heads}).encode()
    parts[0] = len(parts[1]).to_bytes(LENGTH_BYTES, "little")
    return b"".join(parts)


def read_header(frame: bytes) -> dict[str, Any]:
    """Return the header of a frame, without reading the blocks.

    Raises
    ------
    BadInput
        If there is no such header.
    """
    end = LENGTH_BYTES + int.from_bytes(frame[:LENGTH_BYTES], "little")
    if not LENGTH_BYTES < end <= len(frame):
        raise BadInput("A frame is damaged: it ends within its header.")
    try:
        header = json.loads(frame[LENGTH_BYTES:end])
        lists = isinstance(header["request"], dict) and all(
            isinstance(p["blocks"], list) for p in header["panels"]
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        lists = False
    if not lists:
        raise BadInput("A frame is damaged: its header cannot be read.")
    return header


def read_frame(frame: bytes) -> Frame:
    """Return the content of a frame; bits are unpacked to uint8, in the shape in the header.

    Raises
    ------
    BadInput
        If the frame is cut short, too long, or its header describes no blocks.
    """
    header = read_header(frame)
    at = LENGTH_BYTES + int.from_bytes(frame[:LENGTH_BYTES], "little")
    panels = []
    for head in header["panels"]:
        blocks: dict[str, np.ndarray] = {}
        for described in head.pop("blocks"):
            name, dtype, shape = _check_block(described, blocks)
            stored = (*shape[:-1], -(-shape[-1] // 8)) if dtype == "bits" else shape
            item = np.dtype(np.uint8) if dtype == "bits" else DTYPES[dtype]
            count = math.prod(stored)
            if at + count * item.itemsize > len(frame):
                raise BadInput(f"A frame is damaged: it ends within the block {name!r}.")
            array = np.frombuffer(frame, item, count, at).reshape(stored)
            blocks[name] = np.unpackbits(array, axis=-1, count=shape[-1]) if dtype == "bits" else array
            at += count * item.itemsize
        panels.append(PanelPart(head, blocks))
    if at != len(frame):
        raise BadInput(f"A frame is damaged: {len(frame) - at} bytes follow its last block.")
    return Frame(header["request"], panels)


def _check_block(described: Any, known: Mapping[str, Any]) -> tuple[str, str, tuple[int, ...]]:
    """Return name, dtype and shape of a block, as described in the header."""
    if isinstance(described, list) and len(described) == 3:
        name, dtype, shape = described
        words = isinstance(name, str) and isinstance(dtype, str)
        if words and name not in known and (dtype == "bits" or dtype in DTYPES):
            sizes = isinstance(shape, list) and all(
                type(size) is int and 0 <= size <= MAX_AXIS_SIZE for size in shape
            )
            sizes = sizes and len(shape) <= MAX_AXES
            if sizes and (shape or dtype != "bits"):
                return name, dtype, tuple(shape)
    raise BadInput("A frame is damaged: its header describes a block that cannot be read.")
