"""Page fragments that Streamlit redraws every second, for what does not come with the frames of panels."""

from collections.abc import Callable

import streamlit as st


def while_running(draw: Callable[[], None], running: bool) -> None:
    """Draw a part of the page; while ``running``, redraw it every second without the rest of the page.

    It has its own container: if the timer fires just as the whole page has been drawn, Streamlit removes the
    fragment for a moment, and the elements below would move up.
    """
    with st.container():
        st.fragment(run_every=1.0 if running else None)(draw)()
