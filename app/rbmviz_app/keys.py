"""The keys of a page: one table for the buttons' shortcuts and the list of keys.

``?`` or a button opens the list. A switch in it turns off single-key shortcuts, and the browser remembers the
choice (WCAG 2.2, 2.1.4).
"""

from typing import NamedTuple

from rbmviz_app.component import component


class Key(NamedTuple):
    """A key that does something on a page.

    key : its name as in Streamlit's ``shortcut``, or as text for the reader
    does : its effect, in a few words
    where : CSS selector of its control; the list shows the key while the page has the control. "" (the
        default): on every page.
    """

    key: str
    does: str
    where: str = ""


PLAY = Key("P", "Play, or pause", ".transport .play")
ONE_STEP = Key("S", "One step", ":is(.transport .step, .st-key-units_step button)")
RESET = Key("0", "Reset", ":is(.transport .reset, .st-key-units_reset button)")
PRESENT = Key("F", "Present: large, for a projector", ":root:has(.st-key-present)")
LEAVE = Key("Esc", "Leave the presentation", ".st-key-leave button")
BACK = Key("Left", "Previous step of the lesson", ".st-key-lesson-back button")
NEXT = Key("Right", "Next step of the lesson", ".st-key-lesson_moves button[kind=primary]")
LIST = Key("?", "This list")

SINGLE = (PLAY, ONE_STEP, RESET, BACK, NEXT, PRESENT, LEAVE, LIST)
"""Keys that work wherever no text is being typed."""

FOCUSED = (
    Key("Tab", "Next control; with Shift, the previous one"),
    Key("Enter, Space", "Press a button, open a fold"),
    Key("← →", "Move a slider", "input[type=range], [role=slider]"),
    Key("Page Up, Page Down", "Move a slider in larger steps", "input[type=range]"),
    Key("Home, End", "Move a slider to its ends", "input[type=range], [role=slider]"),
    Key("↑ ↓", "Choose an answer", ".st-key-lesson [role=radiogroup]"),
    Key("← → ↑ ↓", "Choose a cell of the map; Enter opens it", "section.panel .map"),
    Key("Esc", "Close what is open"),
)
"""Keys of the focused control."""

_list = component("keys", ["storage.js", "keys.js"], ["bar.css"])


def draw_list() -> None:
    """Draw the button that opens the list of keys; its script also disables keys in text fields."""
    _list(
        key="keys",
        data={
            "groups": [
                {"title": "On this page", "keys": [key._asdict() for key in SINGLE]},
                {"title": "In the focused control", "keys": [key._asdict() for key in FOCUSED]},
            ],
            "label": "Single-key shortcuts",
            "help": "Turn off if you use voice control or hit keys by accident. This browser remembers it.",
        },
        width="content",
    )
