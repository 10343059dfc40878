"""Arrays from bytes, and to bytes."""

import json

import numpy as np


def load(content):
    """Return the arrays of a file by name."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        kind = entry["dtype"]
        dtype = "?" if kind == "BOOL" else f"<{kind[0].lower()}{int(kind[1:]) // 8}"
        first, last = entry["data_offsets"]
        part = content[start + first : start + last]
        arrays[name] = np.frombuffer(part, dtype).reshape(entry["shape"]).copy()
    return arrays


def save(arrays, metadata=None):
    """Return the bytes of a file: widest types first, then by name, as safetensors has them."""
    header = {"__metadata__": metadata} if metadata else {}
    parts, offset = [], 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].itemsize, name)):
        array = np.ascontiguousarray(arrays[name])
        kind = "BOOL" if array.dtype.kind == "b" else f"{array.dtype.kind.upper()}{array.itemsize * 8}"
        end = offset + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, end]}
        parts.append(array.tobytes())
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)
