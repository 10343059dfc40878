"""The keys of a page: one table, of which the buttons take theirs and the list of keys is made.

The list opens by ``?`` and by a button. In it a switch turns off the shortcuts that are a single key, which
the browser remembers (WCAG 2.2, 2.1.4).
"""

from pathlib import Path
from typing import NamedTuple

import streamlit as st


class Key(NamedTuple):
    """A key that does something on a page.

    Parameters
    ----------
    key : str
        As Streamlit's ``shortcut`` calls it, or as people read it.
    does : str
        What it does, in a few words.
    where : str
        CSS selector of the control that it belongs to; the list has the key while the page has the control.
        "" (the default): on every page.
    """

    key: str
    does: str
    where: str = ""


PLAY = Key("P", "Play, or pause", ".st-key-toolbar [class*=_play] button")
ONE_STEP = Key("S", "One step", ".st-key-toolbar [class*=_step] button")
RESET = Key("0", "Reset: begin anew", ".st-key-toolbar [class*=_reset] button")
PRESENT = Key("F", "Present: large, for a projector", ".st-key-present button")
LEAVE = Key("Esc", "Leave the presentation", ".st-key-leave button")
BACK = Key("Left", "Back, to the step before", ".st-key-lesson_back button")
NEXT = Key("Right", "Next step of the lesson", ".st-key-lesson_moves button[kind=primary]")
LIST = Key("?", "This list")

SINGLE = (PLAY, ONE_STEP, RESET, BACK, NEXT, PRESENT, LEAVE, LIST)
"""Keys that count wherever no text is typed."""

FOCUSED = (
    Key("Tab", "To the next control; with Shift to the one before"),
    Key("Enter, Space", "Press a button, open a fold"),
    Key("← →", "Turn a slider", "input[type=range], [role=slider]"),
    Key("Page Up, Page Down", "Turn a slider in larger steps", "input[type=range]"),
    Key("Home, End", "Turn a slider to its ends", "input[type=range], [role=slider]"),
    Key("↑ ↓", "Choose an answer", ".st-key-lesson [role=radiogroup]"),
    Key("← → ↑ ↓", "Choose a cell of the map; Enter opens it", "section.panel .map"),
    Key("Esc", "Close what is open"),
)
"""Keys of the control that has the focus."""

_list = st.components.v2.component(
    "rbmviz_keys",
    js=Path(__file__).with_name("keys.js").read_text(),
    css=Path(__file__).with_name("bar.css").read_text(),
)


def draw_list() -> None:
    """Draw the button that opens the list of keys; with it, keys stop to count in text fields."""
    _list(
        key="keys",
        data={
            "groups": [
                {"title": "On this page", "keys": [key._asdict() for key in SINGLE]},
                {"title": "In the control that has the focus", "keys": [key._asdict() for key in FOCUSED]},
            ],
            "label": "Shortcuts of a single key, as the buttons show them",
            "help": "Off: no key alone does anything, for those who speak to their computer or whose hand "
            "shakes. This browser remembers it.",
        },
        width="content",
    )
