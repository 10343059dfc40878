"""Random, seeded damage to JSON values, arrays, array files, texts and raw bytes."""

import copy
import io
import json
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

Rng = np.random.Generator

NUMBERS = (0, -1, 1, 7, 2**31, 2**63, 10**30, 0.5, 1e308, 1e-320, float("nan"), float("inf"))
TEXTS = ("", "x", "28x28", "1e9", "nan", "/etc/passwd", "<script>", "\x00", "\n\n", "\ud800", "é" * 3000)
NESTED: tuple[Any, ...] = ([], {}, [[]], [None], [28, 28], [-1, -784], [1e9, 1e9], {"a": 1}, ["a"] * 1000)
OURS = ({"$array": "json"}, {"$array": "state.theta.W"}, {"$generator": {}}, {"$parameters": []})
JUNK = (None, True, *NUMBERS, *TEXTS, *NESTED, *OURS)
"""Values of wrong types or ranges; the last are words of a checkpoint."""


def pick(rng: Rng, among: Any) -> Any:
    """Return a random element of a sequence, without converting it to a numpy type."""
    return among[int(rng.integers(len(among)))]


def deep(depth: int) -> str:
    """Return a JSON text of nested lists."""
    return "[" * depth + "]" * depth


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return each list or object inside a JSON value with each of its keys."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in inside for place in ((value, key), *places(part))]


def json_value(rng: Rng, value: Any) -> Any:
    """Return a JSON value with one change, which need not make it invalid."""
    value = copy.deepcopy(value)
    if not (found := places(value)) or rng.random() < 0.05:
        return pick(rng, JUNK)
    holder, key = pick(rng, found)
    match int(rng.integers(5)):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[pick(rng, ("x", "", "n_chains", "__class__", "state", f"{key}s"))] = holder.pop(key)
        case 2 if isinstance(holder[key], int | float) and abs(holder[key]) < 1e30:
            factor = pick(rng, (-1, 2, 1000, 10**6, 10**9, 0.1))
            holder[key] = type(holder[key])(holder[key] * factor)
        case 3 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        case _:
            holder[key] = pick(rng, JUNK)
    return value


TYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64".split()


def array(rng: Rng, a: np.ndarray) -> np.ndarray:
    """Return an array with another dtype, shape, order or values; sometimes all that a dtype can hold."""
    a = np.atleast_1d(a)
    with np.errstate(all="ignore"):
        match int(rng.integers(9)):
            case 0:
                return a.astype(pick(rng, TYPES))
            case 1:
                return a.T  # in another order
            case 2:
                return a[: pick(rng, (0, 1, max(len(a) - 1, 0)))]
            case 3:
                return np.concatenate([a, a], axis=pick(rng, (0, -1)))
            case 4:
                return a.reshape(-1)
            case 5:
                return a[None]
            case 6:
                return np.frombuffer(rng.bytes(a.nbytes), a.dtype).reshape(a.shape)
            case 7 if a.dtype.kind == "f":
                return np.full_like(a, pick(rng, (0, np.nan, np.inf, 1e38, -1e38)))
            case 7:
                return np.full_like(a, True if a.dtype.kind == "b" else np.iinfo(a.dtype).max)
        changed = a.copy()
        value = pick(rng, (np.nan, np.inf, 1e30) if a.dtype.kind == "f" else (2, 127, 100))
        changed.flat[int(rng.integers(max(a.size, 1))) :][:1] = value
        return changed


def raw(rng: Rng, content: bytes) -> bytes:
    """Return bytes with some of them changed, cut off, repeated or zeroed."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        # Headers stand at the beginning, the folder of a zip at its end.
        near = min(max(len(data), 1), pick(rng, (64, 300, 10**9)))
        at = int(rng.integers(near))
        at = max(len(data) - 1 - at, 0) if rng.random() < 0.3 else at
        match int(rng.integers(4)):
            case 0:
                data[at : at + 1] = bytes([pick(rng, (0, 1, 127, 128, 255))])
            case 1:
                del data[at:]
            case 2:
                data[at:at] = rng.bytes(int(rng.integers(1, 9)))
            case 3:
                size = int(rng.integers(1, 65))
                data[at : at + size] = bytes(size)
    return bytes(data)


# Files of arrays

SAFE = {"bool": "BOOL", "float16": "F16", "float32": "F32", "float64": "F64", "complex64": "C64"}
SAFE |= {f"{sign}int{n}": f"{sign.upper() or 'I'}{n}" for sign in ("", "u") for n in (8, 16, 32, 64)}
HUGE: tuple[Any, ...] = ([2**31, 2**31], [20000, 10000], [0], [2**62], [-1, 5], [1e3], "5", None, [10**19])


def safetensors(rng: Rng | None, arrays: Mapping[str, np.ndarray], metadata: Any = None) -> bytes:
    """Return a .safetensors file with a false header of one array; without rng, a valid file."""
    header: Any = {} if metadata is None else {"__metadata__": metadata}
    parts, at = [], 0
    for name, a in arrays.items():
        offsets = [at, at := at + a.nbytes]
        header[name] = {"dtype": SAFE.get(a.dtype.name, "U8"), "shape": [*a.shape], "data_offsets": offsets}
        parts.append(a.tobytes())
    text, size = "", 0
    if rng is not None:
        entry = header[pick(rng, list(arrays))]
        match int(rng.integers(7)):
            case 0:
                entry["dtype"] = pick(rng, ("BF16", "F8_E5M2", "F4", "X9", "", None, 3))
            case 1:
                entry["shape"] = pick(rng, HUGE)
            case 2:
                entry["data_offsets"] = pick(rng, ([0, 2**40], [0, 0], [5, 1], [-1, 4], None, [2**63, 2**64]))
            case 3:
                header["__metadata__"] = pick(rng, JUNK)
            case 4:
                text = deep(int(pick(rng, (100, 2000, 200_000))))
            case 5:
                header = json_value(rng, header)
            case 6:
                size = int(pick(rng, (1, 2**31, 2**62, 2**64 - 1)))
    packed = (text or json.dumps(header)).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", size or len(packed)) + packed + b"".join(parts)


def npy(rng: Rng | None, a: np.ndarray) -> bytes:
    """Return an .npy file with a false header; without rng, a valid file."""
    out = io.BytesIO()
    np.lib.format.write_array(out, a, allow_pickle=a.dtype == object)
    if rng is None:
        return out.getvalue()
    fields: dict[str, Any] = {"descr": a.dtype.str, "fortran_order": False, "shape": a.shape}
    match int(rng.integers(5)):
        case 0:
            odd = ("|O", "<U9999999", "|S0", "<M8[s]", "V8", ">f4", "<f2", "<c8", "x", [("a", "<f4")])
            fields["descr"] = pick(rng, odd)
        case 1:
            shapes = ((2**31, 2**31), (20000, 10000), (2**62,), (-1, 5), (0, 5), (), "5")
            fields["shape"] = pick(rng, shapes)
        case 2:
            fields["fortran_order"] = pick(rng, (True, None, 1))
        case 3:
            return raw(rng, out.getvalue())
        case 4:
            return np.lib.format.magic(1, 0) + struct.pack("<H", 60000) + b"(" * 60000
    header = repr(fields).encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return np.lib.format.magic(1, 0) + struct.pack("<H", len(header)) + header + a.tobytes()


METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def zipped(rng: Rng | None, members: Mapping[str, bytes]) -> bytes:
    """Return a zip archive; with rng, damaged by another method, or false sizes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if rng is None else pick(rng, METHODS)) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    content = bytearray(out.getvalue())
    if rng is not None and rng.random() < 0.5:
        # Method at 10 of the central header and 8 of the local one, flags at 8 and 6, sizes at 24 and 20.
        central = content.find(b"PK\x01\x02")
        match int(rng.integers(3)):
            case 0:
                odd = struct.pack("<H", pick(rng, (1, 6, 9, 97, 99)))
                content[central + 10 : central + 12] = content[8:10] = odd
            case 1:
                content[central + 8] |= 1  # encrypted
                content[6] |= 1
            case 2:
                at = central + pick(rng, (20, 24))
                content[at : at + 4] = struct.pack("<I", pick(rng, (0, 5, 2**31, 2**32 - 2)))
    return bytes(content)


def bomb(**members: tuple[tuple[int, ...], str]) -> bytes:
    """Return an .npz that is small on disk and large when unpacked: zeros of these shapes and dtypes."""
    out, zeros = io.BytesIO(), bytes(2**20)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, (shape, dtype) in members.items():
            with archive.open(f"{name}.npy", "w") as member:
                fields = {"descr": dtype, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, fields)
                left = int(np.prod(shape)) * np.dtype(dtype).itemsize
                while left:
                    left -= member.write(zeros[:left])
    return out.getvalue()


# Texts

ODDITIES = (
    *("\n\n\n", "\t", "\r", "\x00", "\x1a", "\ufeff", "\u2028", ";", ",,", '"', "'", "#", "é", "a", "½", "٣"),
    *("nan", "inf", "-1", "-0", "1e400", "1,5", "256", "0x10", "1_000", "9" * 400, "=1+1", "True", "1/2"),
)


def text(rng: Rng, content: str) -> bytes:
    """Return a text with unusual characters added, lines repeated or cut, in a random encoding."""
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(content) + 1))
        match int(rng.integers(5)):
            case 0 | 1:
                content = content[:at] + pick(rng, ODDITIES) + content[at:]
            case 2:
                content = content[:at]
            case 3:
                content = content.replace(*pick(rng, (",;", ("\n", "\r\n"), ("\n", ""), ".,")))
            case 4:
                content = content[:at] + content[at : at + 50] * int(rng.integers(2, 200)) + content[at:]
    content = pick(rng, ("", "", "", "a,b,c\n", "pixel1;pixel2\n", "# a remark\n", "label\n")) + content
    coding = pick(rng, ("utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig"))
    return content.encode(coding, "replace")
