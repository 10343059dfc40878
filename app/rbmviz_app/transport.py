"""The Play or Pause, Step and Reset buttons, whose presses travel over the page's own socket.

Streamlit may report the click of its buttons twice or, while a connection is re-established, not at all. A
press of these buttons is numbered, sent again until it is answered, and carried out once
(``stream/presses.py``).
"""

from typing import Any

from rbmviz.view import PANEL_FOLDER
from rbmviz_app import keys
from rbmviz_app.component import component

_scripts = (PANEL_FOLDER / "presses.js", "transport.js")
_buttons = component("transport", _scripts, ["transport.css"], isolate_styles=False)


def draw(page: str, socket: str, running: bool, play: str, step: str, reset: str, held: str) -> None:
    """Draw the buttons; a press that has been carried out redraws their fragment, which has Undo.

    page : name of the page
    socket : path of its live socket
    running : whether the runs are playing now; later changes arrive with the frames
    play, step, reset : help texts of the buttons
    held : why Play and Step are disabled; "" if they are not
    """
    data: dict[str, Any] = {
        "socket": socket,
        "running": running,
        "play": {"help": play, "key": keys.PLAY.key, "held": held},
        "step": {"help": step, "key": keys.ONE_STEP.key, "held": held},
        "reset": {"help": reset, "key": keys.RESET.key, "held": ""},
    }
    _buttons(key=f"{page}_transport", data=data, width="content", on_done_change=lambda: None)
