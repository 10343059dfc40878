"""Messages from a browser on the live socket: requests for frames and tiles, turned knobs, button presses.

Anybody who knows the token can send messages, so names, types and numbers are checked before use; ``sockets``
limits the length of messages.
"""

import json
import re
from collections.abc import Collection
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


def read_message(text: str, views: Collection[str]) -> Received:
    """Parse a message, with one of these views; BadInput if the text is not JSON, or not a valid message.

    Raises BadInput if the text is not JSON, or not a valid message.
    """
    try:
        message = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadInput("A message is not JSON, or nested too deeply.") from None
    if not isinstance(message, dict):
        raise BadInput("A message is not an object.")
    if set(message) == {"panel", "knobs"}:
        return _knob_change(message)
    if set(message) == set(Press._fields):
        return _press(message)
    if set(message) == set(TileRequest._fields):
        return tile_request(message["panel"], message["sample"])
    if set(message) == set(FrameRequest._fields):
        return _frame_request(message, views)
    raise BadInput(
        f"A message has neither panel and knobs, nor panel and sample, nor {', '.join(Press._fields)}, "
        f"nor {', '.join(FrameRequest._fields)}."
    )


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _knob_change(message: dict[str, Any]) -> KnobChange:
    panel, knobs = message["panel"], message["knobs"]
    # Values out of range and unknown names are refused later, by ``knobs``.
    if not _whole(panel, 0, 2**31) or not isinstance(knobs, dict) or not 1 <= len(knobs) <= 30:
        raise BadInput("panel is not the number of a panel, or knobs is not an object of 1 to 30 knobs.")
    if not all(isinstance(value, int | float | str) for value in knobs.values()):
        raise BadInput("The value of a knob is neither a number nor a text.")
    # A very large integer does not fit a float: comparing the two would fail.
    if any(isinstance(value, int) and abs(value) > MAX_INTEGER for value in knobs.values()):
        raise BadInput("The value of a knob is a whole number beyond 2^53.")
    return KnobChange(panel, knobs)


def tile_request(panel: Any, sample: Any) -> TileRequest:
    """Return the request for a tile; BadInput if its numbers are not whole, or out of range."""
    if not _whole(panel, 0, 2**31) or not _whole(sample, 0, MAX_INTEGER):
        raise BadInput("panel is not the number of a panel, or sample not the number of a sample.")
    return TileRequest(panel, sample)


def _press(message: dict[str, Any]) -> Press:
    press = Press(**message)
    if press.press not in PRESSES:
        raise BadInput(f"press is not one of {', '.join(PRESSES)}.")
    if not isinstance(press.page, str) or not PAGE_OF_PRESSES.fullmatch(press.page):
        raise BadInput("page is not 16 hexadecimal digits.")
    if not _whole(press.n, 1, MAX_INTEGER):
        raise BadInput("n is not a whole number from 1.")
    return press


def _frame_request(message: dict[str, Any], views: Collection[str]) -> FrameRequest:
    request = FrameRequest(**message)
    fps, panels = request.fps, request.panels
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not 1 <= fps <= MAX_FPS:
        raise BadInput(f"fps is not a number from 1 to {MAX_FPS}.")
    if not isinstance(request.view, str) or request.view not in views or request.pixels not in PIXELS:
        raise BadInput("view or pixels is unknown.")
    for name, most in MOST.items():
        if not _whole(message[name], 1, most):
            raise BadInput(f"{name} is not a whole number from 1 to {most}.")
    if not isinstance(panels, list) or len(panels) > MAX_PANELS:
        raise BadInput(f"panels is not a list of at most {MAX_PANELS} numbers.")
    if not all(_whole(panel, 0, 2**31) for panel in panels):
        raise BadInput("panels holds something other than numbers of panels.")
    return request


def _whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
