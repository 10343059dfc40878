"""A reader of the app's frames, whose format ``rbmviz.view.frames`` describes."""

import json
import math
from typing import NamedTuple

import numpy as np

from rbmviz.view.frames import DTYPES, LENGTH_BYTES


class PanelPart(NamedTuple):
    """One panel of a frame: the entries of its header without ``blocks``, and its blocks by name."""

    head: dict
    blocks: dict


class Frame(NamedTuple):
    request: dict
    panels: list[PanelPart]


def read_header(frame):
    return json.loads(frame[LENGTH_BYTES : _begin_of_blocks(frame)])


def _begin_of_blocks(frame):
    return LENGTH_BYTES + int.from_bytes(frame[:LENGTH_BYTES], "little")


def read_frame(frame):
    """Return the content of a whole frame; bits are unpacked to uint8, in the shape in the header."""
    header, at, panels = read_header(frame), _begin_of_blocks(frame), []
    for head in header["panels"]:
        blocks = {}
        for name, dtype, shape in head.pop("blocks"):
            stored = [*shape[:-1], -(-shape[-1] // 8)] if dtype == "bits" else shape
            item = DTYPES["uint8" if dtype == "bits" else dtype]
            array = np.frombuffer(frame, item, math.prod(stored), at).reshape(stored)
            at += array.nbytes
            blocks[name] = np.unpackbits(array, axis=-1, count=shape[-1]) if dtype == "bits" else array
        panels.append(PanelPart(head, blocks))
    assert at == len(frame)
    return Frame(header["request"], panels)
