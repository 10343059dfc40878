"""Messages from a browser on the live socket: requests for frames and tiles, turned knobs, button presses.

Anybody who knows the token can send messages, so names, types and numbers are checked before use; ``sockets``
limits the length of messages.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, NamedTuple

from rbmviz import BadInput
from rbmviz.knobs import Value

MAX_PANELS = 100

MOST = {"cells": 1000, "n_visible": 100_000, "frames": 8}
"""Maximum numbers in a request, by name; pages ask for far less. A slow connection may have to deliver all
frames before a turned knob shows."""

MAX_INTEGER = 2**53
"""Maximum absolute value of an integer in a message; up to it, integers are exact in JavaScript, too."""

MAX_FPS = 60
"""Maximum frames per second; few screens show more."""

Hidden = Literal["nothing", "numbers", "names"]
"""Content hidden during a quiz: "numbers", or with "names" also anything that identifies the algorithm."""

PRESSES = ("play", "pause", "step", "reset")

PAGE_OF_PRESSES = re.compile(r"[0-9a-f]{16}")
"""Random name of a page, which counts its own presses."""

PIXELS = ("binary", "mean")
"""Content of pictures: the 0/1 samples, or their means."""


class FrameRequest(NamedTuple):
    """The frames that a browser requests; when its request changes, the browser drops all earlier data.

    view : one of the views declared in the page's ``panel.py``. For a sampler: "sequence", or "single" (only
        the newest sample, with its mean).
    pixels : "binary" or "mean"
    cells : pictures that fit into one panel
    n_visible : pixels of a picture
    """

    fps: float
    view: str
    pixels: str
    cells: int
    n_visible: int
    panels: list[int]
    frames: int = 1


class KnobChange(NamedTuple):
    """New values of a panel's live knobs, for example while a slider is dragged."""

    panel: int
    knobs: dict[str, Value]


class Press(NamedTuple):
    """A press of a button, with the random name of the page in the browser, and its number on this page."""

    press: str
    page: str
    n: int


class TileRequest(NamedTuple):
    """A sample that the reader points at: the key of its panel, and its number from 0."""

    panel: int
    sample: int


Received = FrameRequest | KnobChange | Press | TileRequest

Holds = Callable[[Any], bool]


def _whole(least: int, most: int) -> Holds:
    return lambda x: isinstance(x, int) and not isinstance(x, bool) and least <= x <= most


_is_panel = _whole(0, 2**31)


def _are_knobs(knobs: Any) -> bool:
    """Return whether these may be knobs; values out of range and unknown names are refused later."""
    if not isinstance(knobs, dict) or not 1 <= len(knobs) <= 30:
        return False
    # A very large integer does not fit a float: comparing the two would fail.
    large = any(isinstance(value, int) and abs(value) > MAX_INTEGER for value in knobs.values())
    return not large and all(isinstance(value, int | float | str) for value in knobs.values())


MAY_BE: dict[type[Received], dict[str, Holds]] = {
    FrameRequest: {
        "fps": lambda fps: isinstance(fps, int | float) and not isinstance(fps, bool) and 1 <= fps <= MAX_FPS,
        "view": lambda view: isinstance(view, str),
        "pixels": PIXELS.__contains__,
        **{name: _whole(1, most) for name, most in MOST.items()},
        "panels": lambda x: isinstance(x, list) and len(x) <= MAX_PANELS and all(map(_is_panel, x)),
    },
    KnobChange: {"panel": _is_panel, "knobs": _are_knobs},
    Press: {
        "press": PRESSES.__contains__,
        "page": lambda page: isinstance(page, str) and PAGE_OF_PRESSES.fullmatch(page) is not None,
        "n": _whole(1, MAX_INTEGER),
    },
    TileRequest: {"panel": _is_panel, "sample": _whole(0, MAX_INTEGER)},
}
"""What each entry of a message may be."""


def read_message(text: str, views: Collection[str]) -> Received:
    """Return the message in a text from a browser, which may ask for one of these views.

    Raises BadInput if the text is not JSON, or not a valid message.
    """
    try:
        message = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadInput("A message is not JSON, or nested too deeply.") from None
    for kind, entries in MAY_BE.items():
        if isinstance(message, dict) and set(message) == set(entries):
            read = checked(kind, message)
            if isinstance(read, FrameRequest) and read.view not in views:
                raise BadInput("A message asks for an unknown view.")
            return read
    raise BadInput("A message has other entries than any that a page sends.")


def checked(kind: type[Received], entries: Mapping[str, Any]) -> Any:
    """Return a message with these entries; BadInput if one of them cannot be."""
    for name, may_be in MAY_BE[kind].items():
        if not may_be(entries[name]):
            raise BadInput(f"A message has another {name} than any that a page sends.")
    return kind(**entries)


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
