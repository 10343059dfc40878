"""Components: scripts and style sheets of the app that are one element, and timed fragments."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from rbmviz.view import PANEL_FOLDER

APP_FOLDER = Path(__file__).parent

MOUNT = """
// Streamlit calls a script at each change of its data. It also calls the clean-up of a call that a newer
// one has overtaken: then the element is still in the document, and stays as it is.
export default component => {
  const cleanUp = mounted(component);
  return () => { if (!component.parentElement.isConnected) cleanUp?.(); };
};
"""


def component(
    name: str, scripts: Sequence[str | Path], styles: Sequence[str | Path] = (), **more: Any
) -> Any:
    """Return a component of these files of the app, or absolute ones, after element.js and component.css."""
    js, css = (
        "\n".join((APP_FOLDER / file).read_text("utf-8") for file in files)
        for files in ((PANEL_FOLDER / "element.js", *scripts), ("component.css", *styles))
    )
    return st.components.v2.component(f"rbmviz_{name}", js=mounting(js), css=css if styles else None, **more)


def mounting(script: str) -> str:
    """Return a component's script that runs its clean-up, the default export's result, on unmounting."""
    return script.replace("export default ", "const mounted = ") + MOUNT


def while_running(draw: Callable[[], None], running: bool) -> None:
    """Draw a part of the page; while ``running``, redraw it every second without the rest of the page.

    It has its own container: if the timer fires just as the whole page has been drawn, Streamlit removes the
    fragment for a moment, and the elements below would move up.
    """
    with st.container():
        st.fragment(run_every=1.0 if running else None)(draw)()
