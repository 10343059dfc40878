"""The button that copies the address of the page, which contains its whole state."""

from pathlib import Path

import streamlit as st

_button = st.components.v2.component(
    "rbmviz_copy_link",
    js=Path(__file__).with_name("copy_link.js").read_text(),
    css=Path(__file__).with_name("bar.css").read_text(),
)


def draw_button() -> None:
    """Draw the button; if the browser offers no clipboard, it shows the address, selected."""
    _button(key="copy link", data={}, width="content")
