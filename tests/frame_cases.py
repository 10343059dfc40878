"""Frames, whole and damaged, for their two readers: the browser's, and the one of the tests."""

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


DAMAGED = {
    "nothing": b"",
    "half a length": WHOLE[:3],
    "a length alone": WHOLE[:4],
    "half a header": WHOLE[:100],
    "a block cut short": WHOLE[:-1],
    "no block at all": WHOLE[: 4 + int.from_bytes(WHOLE[:4], "little")],
    "a byte too many": WHOLE + b"\0",
    "a huge length": b"\xff\xff\xff\xff" + WHOLE[4:],
    "no JSON": b"\1\0\0\0{",
    "a list": b"\2\0\0\0[]",
}
"""What is no frame, by what is wrong with it."""
