"""The line that leads first-time visitors to Learn; the browser remembers that it was closed.

It is in the bar, where nothing else moves when the line disappears.
"""

import streamlit as st

from rbmviz_app import card, links, session
from rbmviz_app.component import component

_line = component("doors", ["storage.js", "doors.js"], ["doors.css"])


def draw_line() -> None:
    """Draw the line, unless a lesson is open or the page is presented or embedded."""
    if card.opened() is not None or links.presenting() or session.EMBEDDED.value:
        return
    with st.container(key="doors"):
        if _line(key="doors line", data={}, on_open_change=lambda: None).open:
            card.switch_page("learn")
