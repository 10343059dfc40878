"""What a browser may say over the live socket: which frame it asks for, and which live knobs have changed.

Anybody who knows the token can write there, so that nothing is believed: names, types and sizes are checked
before anything is done.
"""

import json
from collections.abc import Collection
from typing import Any, NamedTuple

from rbmviz import BadInput
from rbmviz.knobs import Value

MAX_MESSAGE_BYTES = 4096
"""Of one message, in UTF-8; those of our pages have some hundred."""

MAX_PANELS = 100
MAX_CELLS = 1000
MAX_VISIBLE_ASKED = 100_000
MAX_FPS = 60
"""Frames a second, at most: a screen shows no more."""

PIXELS = ("binary", "mean")


class FrameRequest(NamedTuple):
    """What a browser can show next; where it changes, the browser forgets what it had.

    Parameters
    ----------
    fps : float
        Frames a second.
    view : str
        One of the views that the page's ``panel.py`` declares: of a sampler "sequence", or "single" (only the
        newest sample, with its mean); of a trainer "samples", "filters" or "both".
    pixels : str
        "binary" or "mean".
    cells : int
        Pictures that fit into one panel.
    n_visible : int
        Pixels of a picture.
    panels : list of int
        Keys of the panels.
    """

    fps: float
    view: str
    pixels: str
    cells: int
    n_visible: int
    panels: list[int]


class KnobChange(NamedTuple):
    """New values of live knobs of one panel, while a slider is dragged, say."""

    panel: int
    knobs: dict[str, Value]


def read_message(text: str, views: Collection[str]) -> FrameRequest | KnobChange:
    """Return what a message asks for.

    Parameters
    ----------
    text : str
        The message as it came.
    views : collection of str
        The views that may be asked for.

    Raises
    ------
    BadInput
        If it is too long, no JSON, or asks for what no page of ours asks for.
    """
    if len(text.encode(errors="replace")) > MAX_MESSAGE_BYTES:
        raise BadInput(f"A message has more than {MAX_MESSAGE_BYTES} bytes.")
    try:
        message = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadInput("A message is not JSON, or nested too deeply.") from None
    if not isinstance(message, dict):
        raise BadInput("A message is not an object.")
    if set(message) == {"tune", "knobs"}:
        return _knob_change(message)
    if set(message) == set(FrameRequest._fields):
        return _frame_request(message, views)
    raise BadInput(f"A message has neither tune and knobs, nor {', '.join(FrameRequest._fields)}.")


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _knob_change(message: dict[str, Any]) -> KnobChange:
    panel, knobs = message["tune"], message["knobs"]
    # A value that is out of range is refused by the knob, and so is a name that is none of a knob.
    if not _whole(panel, 0, 2**31) or not isinstance(knobs, dict) or not 1 <= len(knobs) <= 30:
        raise BadInput("tune is not the number of a panel, or knobs holds none.")
    if not all(isinstance(value, int | float | str) for value in knobs.values()):
        raise BadInput("A knob is neither a number nor a word.")
    return KnobChange(panel, knobs)


def _frame_request(message: dict[str, Any], views: Collection[str]) -> FrameRequest:
    request = FrameRequest(**message)
    fps, panels = request.fps, request.panels
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not 1 <= fps <= MAX_FPS:
        raise BadInput(f"fps is not a number from 1 to {MAX_FPS}.")
    if not isinstance(request.view, str) or request.view not in views or request.pixels not in PIXELS:
        raise BadInput("view or pixels is unknown.")
    if not _whole(request.cells, 1, MAX_CELLS):
        raise BadInput(f"cells is not a whole number from 1 to {MAX_CELLS}.")
    if not _whole(request.n_visible, 1, MAX_VISIBLE_ASKED):
        raise BadInput(f"n_visible is not a whole number from 1 to {MAX_VISIBLE_ASKED}.")
    if not isinstance(panels, list) or len(panels) > MAX_PANELS:
        raise BadInput(f"panels is not a list of at most {MAX_PANELS} numbers.")
    if not all(_whole(panel, 0, 2**31) for panel in panels):
        raise BadInput("panels holds something else than numbers of panels.")
    return request


def _whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
