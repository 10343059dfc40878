"""The format of a frame: new pictures and numbers of a page's panels, in one self-describing message.

A frame consists of the length of its header in bytes (uint32), the header (JSON), and the bytes of all
blocks, without gaps. All numbers are little endian. The header has ``"request"``, the request that
the frame answers, ``"running"``, whether the page runs, and ``"panels"``, an object for each panel, whose
entry ``blocks`` lists the name, dtype and shape of each of its blocks. The bytes of the blocks follow in the
order of these lists. If a chart is new, ``"charts"`` has all charts of the page.

A dtype is the name of a numpy dtype, or ``"bits"``: in that case the last axis of the shape counts bits,
packed along it (``numpy.packbits``), so that each row ends at a byte boundary.

``rbmviz/view/panel/frame.js`` reads frames.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

DTYPES = {
    name: np.dtype(name).newbyteorder("<") for name in ("uint8", "uint16", "uint32", "float32", "float64")
}
"""Dtypes of blocks, besides bits."""

_NAMES = {dtype: name for name, dtype in DTYPES.items()}

LENGTH_BYTES = 4
"""Number of bytes for the header's length, at the start of a frame."""

_to_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Bits(NamedTuple):
    """A block of bits: uint8 (..., ceil(n / 8)), packed along the last axis, with n bits in each row."""

    packed: np.ndarray
    n: int


Block = np.ndarray | Bits


def write_frame(
    request: Mapping[str, Any],
    panels: Iterable[tuple[dict[str, Any], Mapping[str, Block]]],
    running: bool = False,
    charts: Mapping[str, Any] | None = None,
) -> bytes:
    """Return a frame.

    request : the request that the frame answers, as JSON values
    panels : iterable of (head, blocks); the entries of each panel's header, as JSON values, and its blocks by
        name
    running : whether the page plays
    charts : contents of the page's charts by key, or true for those that the browser has; None: it has all

    Raises ValueError if a number in the header is not finite, which JSON cannot express.
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
    header: dict[str, Any] = {"request": request, "running": running, "panels": heads}
    parts[1] = _to_json(header if charts is None else header | {"charts": charts}).encode()
    parts[0] = len(parts[1]).to_bytes(LENGTH_BYTES, "little")
    return b"".join(parts)
