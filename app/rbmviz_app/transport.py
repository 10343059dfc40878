"""The buttons Play or Pause, Step and Reset, whose presses travel over the page's own socket.

Streamlit may report the click of its buttons twice or, while a connection is re-established, not at all. A
press of these buttons is numbered, sent again until it is answered, and carried out once
(``stream/presses.py``).
"""

from pathlib import Path
from typing import Any

import streamlit as st

from rbmviz.view import PANEL_FOLDER
from rbmviz_app import keys

_buttons = st.components.v2.component(
    "rbmviz_transport",
    js="\n".join(
        file.read_text()
        for file in (
            PANEL_FOLDER / "element.js",
            PANEL_FOLDER / "presses.js",
            Path(__file__).with_name("transport.js"),
        )
    ),
    css=Path(__file__).with_name("transport.css").read_text(),
    isolate_styles=False,
)


def draw(page: str, socket: str, running: bool, play: str, step: str, reset: str, held: str) -> bool:
    """Draw the buttons; return whether the server has just carried out presses.

    Parameters
    ----------
    page : str
        Name of the page.
    socket : str
        Path of its live socket.
    running : bool
        Whether it plays. From then on the frames say it.
    play, step, reset : str
        What each button does.
    held : str
        Why Play and Step are disabled; "": they are not.
    """
    data: dict[str, Any] = {
        "socket": socket,
        "running": running,
        "play": {"help": play, "key": keys.PLAY.key, "held": held},
        "step": {"help": step, "key": keys.ONE_STEP.key, "held": held},
        "reset": {"help": reset, "key": keys.RESET.key, "held": ""},
    }
    drawn = _buttons(key=f"{page}_transport", data=data, width="content", on_done_change=lambda: None)
    return drawn.done is not None
