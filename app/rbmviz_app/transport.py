"""The Play or Pause, Step and Reset buttons, whose presses travel over the page's own socket.

Streamlit may report the click of its buttons twice or, while a connection is re-established, not at all. A
press of these buttons is numbered, sent again until it is answered, and carried out once
(``race.py``).
"""

from typing import Any, NamedTuple

from rbmviz.view import PANEL_FOLDER
from rbmviz_app import keys
from rbmviz_app.component import component

_scripts = (PANEL_FOLDER / "presses.js", "transport.js")
_buttons = component("transport", _scripts, ["transport.css"], isolate_styles=False)


class Transport(NamedTuple):
    """Help texts of play, step and reset, and the width of the speed slider in pixels."""

    play_help: str
    step_help: str
    reset_help: str
    width: int = 200


def draw(page: str, socket: str, running: bool, texts: Transport, held: str) -> None:
    """Draw the buttons; a press that has been carried out redraws their fragment, which has Undo.

    socket : path of the page's live socket
    running : whether the runs are playing now; later changes arrive with the frames
    held : why Play and Step are disabled; "" if they are not
    """
    data: dict[str, Any] = {
        "socket": socket,
        "running": running,
        "play": {"help": texts.play_help, "key": keys.PLAY.key, "held": held},
        "step": {"help": texts.step_help, "key": keys.ONE_STEP.key, "held": held},
        "reset": {"help": texts.reset_help, "key": keys.RESET.key, "held": ""},
    }
    _buttons(key=f"{page}_transport", data=data, width="content", on_done_change=lambda: None)
