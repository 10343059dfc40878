"""Random, seeded damage to JSON values, arrays, array files, texts and raw bytes."""

import copy
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

Rng = np.random.Generator

JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    7,
    2**31,
    2**63,
    2**64,
    10**30,
    -(10**12),
    0.5,
    -0.5,
    1e308,
    1e-320,
    float("nan"),
    float("inf"),
    "",
    "x",
    "28x28",
    "0",
    "1e9",
    "nan",
    "../../../etc/passwd",
    "/etc/passwd",
    "http://127.0.0.1:9/",
    "<script>alert(1)</script>",
    "\x00",
    "\n\n",
    "\ud800",
    "é" * 3000,
    [],
    {},
    [[]],
    [None],
    [1, 2],
    [28, 28],
    [0, 0],
    [-1, -784],
    [1e9, 1e9],
    {"a": 1},
    {"$array": "json"},
    {"$array": "state.theta.W"},
    {"$generator": {}},
    {"$parameters": []},
    ["a"] * 1000,
]
"""Values of wrong types or ranges."""


def pick(rng: Rng, among: Any) -> Any:
    """Return a random element of a sequence, without converting it to a numpy type."""
    return among[int(rng.integers(len(among)))]


def deep(depth: int) -> str:
    """Return a JSON text of nested lists."""
    return "[" * depth + "]" * depth


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a JSON value, itself included."""
    found = [path]
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        found += places(part, (*path, key))
    return found


def json_value(rng: Rng, value: Any) -> Any:
    """Return a JSON value with one change, which need not make it invalid."""
    value = copy.deepcopy(value)
    path = pick(rng, places(value))
    if not path:
        return pick(rng, JUNK)
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    key, old = path[-1], holder[path[-1]]
    match int(rng.integers(6)):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[pick(rng, ("x", "", "n_chains", "__class__", "state", str(key) + "s"))] = holder.pop(key)
        case 2 if isinstance(old, int | float):
            factor = pick(rng, (-1, 2, 10, 1000, 10**6, 10**9, 0.1, 1e-9))
            holder[key] = type(old)(old * factor) if abs(old) < 1e30 else 0
        case 3 if isinstance(holder, list):
            holder.append(copy.deepcopy(old))
        case 4 if isinstance(old, int | float):
            holder[key] = str(old)
        case _:
            holder[key] = pick(rng, JUNK)
    return value


TYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64".split()


def array(rng: Rng, a: np.ndarray) -> np.ndarray:
    """Return an array with another dtype, shape, order or values; sometimes all that a dtype can hold."""
    a = np.array(a)
    words = a.dtype.kind not in "biufc"
    match int(rng.integers(1, 7) if words else rng.integers(11)):
        case 0:
            with np.errstate(all="ignore"):
                return a.astype(pick(rng, TYPES))
        case 1 if a.ndim > 1:
            return np.ascontiguousarray(np.swapaxes(a, 0, -1))
        case 2 if a.ndim:
            return a[: pick(rng, (0, 1, max(len(a) - 1, 0)))]
        case 3 if a.ndim:
            return np.concatenate([a, a[:1]]) if len(a) else a[None]
        case 4:
            return a.reshape(-1)
        case 5:
            return a[None]
        case 6 if a.ndim:
            return np.concatenate([a, a], axis=-1)
        case 7:
            return np.frombuffer(rng.bytes(a.nbytes), a.dtype).reshape(a.shape)
        case 8:
            fill = 0 if a.dtype.kind in "biu" else pick(rng, (0.0, np.nan, np.inf, 1e38, -1e38))
            return np.full_like(a, fill)
        case 9:
            extreme = np.iinfo(a.dtype).max if a.dtype.kind in "iu" else True if a.dtype.kind == "b" else 1e38
            return np.full_like(a, extreme)
    changed = a.copy()
    if changed.size:
        with np.errstate(all="ignore"):
            value = pick(rng, (2, 255, -1, np.nan, np.inf, 1e30, 10**6))
            where = int(rng.integers(changed.size))
            try:
                changed.flat[where] = value
            except (ValueError, OverflowError, TypeError):
                changed.flat[where] = 1
    return changed


def raw(rng: Rng, content: bytes) -> bytes:
    """Return bytes with some of them changed, cut off, repeated or zeroed."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        # Headers stand at the beginning, the folder of a zip at its end.
        near = pick(rng, (len(data), min(len(data), 300), min(len(data), 64)))
        at = int(rng.integers(max(near, 1)))
        at = len(data) - 1 - at if rng.random() < 0.3 else at
        at = min(max(at, 0), max(len(data) - 1, 0))
        match int(rng.integers(5)):
            case 0 if data:
                data[at] ^= 1 << int(rng.integers(8))
            case 1 if data:
                data[at] = int(pick(rng, (0, 1, 127, 128, 255)))
            case 2:
                del data[at:]
            case 3:
                data[at:at] = rng.bytes(int(rng.integers(1, 9)))
            case _:
                size = int(rng.integers(1, 65))
                data[at : at + size] = bytes(size)
    return bytes(data)


# Files of arrays

SAFE = {
    "bool": "BOOL",
    "int8": "I8",
    "uint8": "U8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}
ODD = ("BF16", "F8_E5M2", "F8_E4M3", "F4", "X9", "F8_E8M0", "", None, 3)
HUGE = ([2**31, 2**31], [10**5, 10**4], [20000, 10000], [0], [2**62], [-1, 5], [1e3], "5", None, [10**19])


def safetensors(rng: Rng | None, arrays: Mapping[str, np.ndarray], metadata: Any = None) -> bytes:
    """Return a .safetensors file with a false header of one array; without rng, a valid file."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    parts, at = [], 0
    for name, a in arrays.items():
        a = np.ascontiguousarray(a)
        dtype = SAFE.get(a.dtype.name, "U8")
        header[name] = {"dtype": dtype, "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        parts.append(a.tobytes())
        at += a.nbytes
    text = None
    if rng is not None and header:
        entry = header[pick(rng, list(arrays))] if arrays else {}
        match int(rng.integers(10)):
            case 0:
                entry["dtype"] = pick(rng, ODD)
            case 1:
                entry["shape"] = pick(rng, HUGE)
            case 2:
                entry["data_offsets"] = pick(
                    rng, ([0, 2**40], [0, 0], [5, 1], [-1, 4], None, [0], [2**63, 2**64])
                )
            case 3:
                header = pick(rng, JUNK)
            case 4:
                header["__metadata__"] = pick(rng, JUNK)
            case 5:
                text = deep(int(pick(rng, (100, 2000, 200_000)))).encode()
            case 6:
                header["extra"] = dict(entry)
            case 7:
                header = json_value(rng, header)
            case 8:
                parts.append(rng.bytes(40))
    if text is None:
        text = json.dumps(header).encode("utf-8", "surrogatepass")
    size = len(text)
    if rng is not None and rng.random() < 0.1:
        size = int(pick(rng, (0, 1, size - 1, size + 1, 2**31, 2**62, 2**64 - 1)))
    return struct.pack("<Q", size) + text + b"".join(parts)


def npy(rng: Rng | None, a: np.ndarray) -> bytes:
    """Return an .npy file with a false header; without rng, a valid file."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(a), allow_pickle=a.dtype == object)
    if rng is None:
        return out.getvalue()
    descr: Any = np.lib.format.dtype_to_descr(a.dtype)
    shape: Any = a.shape
    order: Any = False
    match int(rng.integers(7)):
        case 0:
            odd = ("|O", "<U9999999", "|S0", "<M8[s]", "V8", ">f4", "<f2", "<c8", "x", [("a", "<f4")], "<f16")
            descr = pick(rng, odd)
        case 1:
            shape = pick(
                rng, ((2**31, 2**31), (10**5, 10**4), (20000, 10000), (2**62,), (-1, 5), (0, 5), (), "5")
            )
        case 2:
            order = pick(rng, (True, None, 1))
        case 3:
            return raw(rng, out.getvalue())
        case 4:
            return np.lib.format.magic(1, 0) + struct.pack("<H", 60000) + b"(" * 60000
        case 5:
            return out.getvalue()[: -int(rng.integers(1, 60))]
    header = repr({"descr": descr, "fortran_order": order, "shape": shape}).encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return np.lib.format.magic(1, 0) + struct.pack("<H", len(header)) + header + a.tobytes()


def zipped(rng: Rng | None, members: Mapping[str, bytes]) -> bytes:
    """Return a zip archive; with rng, damaged by another method, a repeated name, or false sizes."""
    out = io.BytesIO()
    method = zipfile.ZIP_STORED
    if rng is not None:
        methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
        method = pick(rng, methods)
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        if rng is not None and members and rng.random() < 0.1:
            with np.testing.suppress_warnings() as quiet:
                quiet.filter(UserWarning)
                archive.writestr(pick(rng, list(members)), b"twin")
    content = bytearray(out.getvalue())
    if rng is not None and rng.random() < 0.3 and members:
        # Central and local headers: method at 10 and 8, flags at 8 and 6, sizes at 20 and 18.
        central, local = content.find(b"PK\x01\x02"), 0
        match int(rng.integers(4)):
            case 0:
                odd = struct.pack("<H", pick(rng, (1, 6, 9, 97, 99)))
                content[central + 10 : central + 12] = content[local + 8 : local + 10] = odd
            case 1:
                content[central + 8] |= 1  # encrypted
                content[local + 6] |= 1
            case 2:
                content[central + 24 : central + 28] = struct.pack("<I", pick(rng, (0, 5, 2**31, 2**32 - 2)))
            case 3:
                content[central + 20 : central + 24] = struct.pack("<I", pick(rng, (0, 5, 2**31)))
    return bytes(content)


def bomb_member(shape: tuple[int, ...], dtype: str) -> tuple[bytes, int, int]:
    """Return a deflated .npy of zeros of this shape (its bytes, its checksum, its size), made in pieces."""
    header = io.BytesIO()
    fields = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, fields)
    packer, check, size = zlib.compressobj(1, zlib.DEFLATED, -15), 0, 0
    left = int(np.prod(shape)) * np.dtype(dtype).itemsize
    packed, block = [], header.getvalue()
    zeros = bytes(2**20)
    while block:
        packed.append(packer.compress(block))
        check, size = zlib.crc32(block, check), size + len(block)
        block = zeros[: min(left, len(zeros))]
        left -= len(block)
    return b"".join([*packed, packer.flush()]), check, size


def bomb(members: Mapping[str, tuple[bytes, int, int]]) -> bytes:
    """Return a decompression bomb: an .npz that is small on disk and large when unpacked."""
    out, folder = io.BytesIO(), []
    for name, (packed, check, size) in members.items():
        at, label = out.tell(), f"{name}.npy".encode()
        common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, check, len(packed), size, len(label), 0)
        out.write(b"PK\x03\x04" + common + label + packed)
        folder.append(
            b"PK\x01\x02"
            + struct.pack("<H", 20)
            + common
            + bytes(2 + 2 + 2 + 4)
            + struct.pack("<I", at)
            + label
        )
    begin, listing = out.tell(), b"".join(folder)
    end = struct.pack("<HHHHIIH", 0, 0, len(folder), len(folder), len(listing), begin, 0)
    return out.getvalue() + listing + b"PK\x05\x06" + end


# Texts

ODDITIES = [
    *(";", ",,", "\t", "\x00", "nan", "inf", "-1", "1e400", "1,5", "256", '"', "'", "#", "é", "\ufeff", "\r"),
    *(
        "\n\n\n",
        "a",
        "0x10",
        "1_000",
        " ",
        "9" * 400,
        "٣",
        "=1+1",
        "True",
        "\u2028",
        "\x1a",
        "-0",
        "1/2",
        "½",
    ),
]


def text(rng: Rng, content: str) -> bytes:
    """Return a text with unusual characters added, lines repeated or cut, in a random encoding."""
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(content) + 1))
        match int(rng.integers(6)):
            case 0 | 1:
                content = content[:at] + pick(rng, ODDITIES) + content[at:]
            case 2:
                content = content[:at]
            case 3:
                content = content.replace(
                    *pick(rng, ((",", ";"), (",", "\t"), ("\n", "\r\n"), ("\n", ""), (".", ",")))
                )
            case 4:
                content = content[:at] + content[at : at + 50] * int(rng.integers(2, 200)) + content[at:]
            case 5:
                content = (
                    pick(rng, ("a,b,c\n", "pixel1;pixel2\n", "# a remark\n", "\ufeff", "label\n")) + content
                )
    coding = pick(rng, ("utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig"))
    return content.encode(coding, "replace")
