"""Frames, whole and damaged, for their two readers: the browser's, and the one of the tests."""

import json

import numpy as np

from rbmviz.view.frames import Bits, write_frame

REQUEST = {"fps": 20, "view": "sequence", "pixels": "binary", "cells": 4, "n_visible": 11, "panels": [3, 5]}

BITS = np.random.default_rng(2).integers(0, 2, (3, 11), dtype=np.uint8)
ARRAYS = {
    "uint8": np.arange(6, dtype=np.uint8).reshape(2, 3),
    "uint16": np.array([1, 65535], np.uint16),
    "uint32": np.array([[2**32 - 1, 7]], np.uint32),
    "float32": np.array([0.5, -np.inf, np.nan], np.float32),
    "float64": np.array([[1 / 3, 1e300]]),
}
"""A block of each dtype besides bits; the odd bytes before them are no multiple of their sizes."""

HEADS = [{"key": 3, "n": 12, "readouts": {"isl": -93.5, "rhat": None}}, {"key": 5, "n": 0, "warning": "ζ"}]

WHOLE = write_frame(
    REQUEST,
    [
        (HEADS[0], {"v": Bits(np.packbits(BITS, axis=1), 11), "one": np.ones(1, np.uint8), **ARRAYS}),
        (HEADS[1], {"v": Bits(np.zeros((0, 2), np.uint8), 11), "again": ARRAYS["uint16"]}),
    ],
)


def framed(header, data=b""):
    """Return a frame with this header: bytes, or what JSON can hold."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(4, "little") + text + data


def of_block(*block, data=b"\0" * 8):
    """Return a frame with one panel that has one block, described like this."""
    return framed({"request": {}, "panels": [{"key": 0, "blocks": [list(block)]}]}, data)


_two = {"request": {}, "panels": [{"blocks": [["a", "uint8", [4]], ["a", "uint8", [4]]]}]}

DAMAGED = {
    "nothing": b"",
    "half a length": WHOLE[:3],
    "a length alone": WHOLE[:4],
    "half a header": WHOLE[:100],
    "a block cut short": WHOLE[:-1],
    "no block at all": WHOLE[: 4 + int.from_bytes(WHOLE[:4], "little")],
    "a byte too many": WHOLE + b"\0",
    "a huge length": b"\xff\xff\xff\xff" + WHOLE[4:],
    "an axis beyond any array": of_block("a", "uint8", [0, 10**30], data=b""),
    "more axes than an array has": of_block("a", "uint8", [1] * 65, data=b"\0"),
    "no JSON": framed(b"{"),
    "no UTF-8": framed(b'{"request": {}, "panels": [], "\xff": 1}'),
    "a list": framed([]),
    "a null": framed(None),
    "no request": framed({"panels": []}),
    "panels as a number": framed({"request": {}, "panels": 3}),
    "a panel without blocks": framed({"request": {}, "panels": [{"key": 1}]}),
    "a panel that is null": framed({"request": {}, "panels": [None]}),
    "an unknown dtype": of_block("a", "int64", [1]),
    "a dtype of every object": of_block("a", "toString", [1]),
    "a dtype that is a list": of_block("a", ["uint8"], [8]),
    "no shape": of_block("a", "uint8"),
    "a shape in words": of_block("a", "uint8", "8"),
    "a negative size": of_block("a", "uint8", [-1]),
    "half a size": of_block("a", "uint8", [7.5]),
    "a size that is true": of_block("a", "uint8", [True], data=b"\0"),
    "bits without a row": of_block("a", "bits", []),
    "a name that is a number": of_block(1, "uint8", [8]),
    "two blocks of one name": framed(_two, b"\0" * 8),
    "more than there is": of_block("a", "float64", [2]),
    "a size beyond all memory": of_block("a", "uint8", [2**40, 2**40]),
}
"""What is no frame, by what is wrong with it."""
