"""Components: scripts and style sheets of the app that Streamlit mounts as one element."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

APP_FOLDER = Path(__file__).parent


def component(
    name: str, scripts: Sequence[str | Path], styles: Sequence[str | Path] = (), **more: Any
) -> Any:
    """Return the component of these files: paths in the folder of the app, or absolute."""
    js, css = ("\n".join((APP_FOLDER / file).read_text() for file in files) for files in (scripts, styles))
    return st.components.v2.component(f"rbmviz_{name}", js=js, css=css or None, **more)
