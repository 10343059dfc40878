"""Presenting: the page for a projector, large, fitted to the window, with one or two knobs.

``present`` in the address turns it on, for every page and after a reload: ``1``, or the names of the knobs to
keep. With ``paused=1`` the runs wait for Play, as they also do if the browser asks for reduced motion.
"""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from rbmviz_app import keys, links
from rbmviz_app.component import component
from rbmviz_app.session import (
    MAX_PRESENTED_KNOBS,
    PRESENTED,
    RACES,
    REDUCED_MOTION,
    STARTS_PAUSED,
    widget_value,
)
from rbmviz_app.share import button

folder = Path(__file__).parent
FIRST_SCRIPT = (folder / "broken_page.js").read_text("utf-8")

_reader = component("reader", ["reader.js"])
_copy_link = component("copy_link", ["copy_link.js"], ["bar.css"])


def draw_switch() -> None:
    """Draw the right end of the navigation bar: the list of keys, and the menu of link, share and present."""
    with st.container(key="presenting", horizontal=True, gap="small"):
        keys.draw_list()
        if links.presenting():
            # Not part of the global style sheet: leaving this sheet out turns all its rules off.
            st.html(folder / "presenting.css")
            st.button(
                "Leave",
                icon=":material/close_fullscreen:",
                shortcut=keys.LEAVE.key,
                key="leave",
                on_click=PRESENTED.set,
                args=("",),
                help="Back to all controls.",
            )
        button.draw_opener()
        with st.container(key="share-menu"):
            _copy_link(key="copy link", data={}, width="content")
            if not links.presenting():
                st.button(
                    "Present",
                    icon=":material/present_to_all:",
                    shortcut=keys.PRESENT.key,
                    key="present",
                    on_click=PRESENTED.set,
                    args=("1",),
                    type="tertiary",
                    help="For a projector: question, images and numbers, large and without scrolling, "
                    "on every page until you leave.",
                )
            button.draw()


def draw_settings(page: str, knobs: Mapping[str, str]) -> None:
    """Draw the presenter's choices: which ``knobs`` ({name: label}) stay, and a link that starts paused."""

    def choose() -> None:
        PRESENTED.set(",".join(widget_value(f"{page} presented")) or "1")

    def wait() -> None:
        STARTS_PAUSED.set(widget_value("waits"))

    with st.popover("Presenting", icon=":material/tune:"):
        st.multiselect(
            "Knobs that stay",
            list(knobs),
            [name for name in links.presented_knobs() if name in knobs],
            format_func=knobs.__getitem__,
            max_selections=MAX_PRESENTED_KNOBS,
            key=f"{page} presented",
            on_change=choose,
            placeholder="The first of each panel",
            help="One or two, in every panel that has them.",
        )
        st.toggle(
            "The link starts paused",
            STARTS_PAUSED.ensure(),
            key="waits",
            on_change=wait,
            help="The page opens in its first state, and waits for Play.",
        )


def draw_reader() -> None:
    """Mount the invisible component that reports the browser's preferences and keeps its console clean."""

    def reduce_motion() -> None:
        REDUCED_MOTION.set(True)
        for race in RACES.value.values():
            race.pause()
            if not race.seen:  # it waits for Play in its first state
                race.reset()
                race.drop_undo()

    with st.container(key="reader"):  # takes no space
        # A script from our own file, not a component: components are loaded later than some charts.
        st.html(f"<script>{FIRST_SCRIPT}</script>", unsafe_allow_javascript=True)
        _reader(
            key="browser",
            data={"reduced_motion": REDUCED_MOTION.value},
            on_reduced_motion_change=reduce_motion,
        )
