"""Messages on a page, with text from outside escaped: Streamlit reads every message as Markdown."""

import re
from collections.abc import Callable

import streamlit as st

from rbmviz_app.session import CLOSED_ALERTS, LINK_WARNINGS, TOASTS, close_link_warnings

MAX_MESSAGE = 400
"""Longest message, in characters; longer ones are cut."""

MARKS = re.compile(r"[\\`*\[\]<>~$#|]|(?<!\w)_|_(?!\w)|:(?=\w)")
"""Characters that begin code, emphasis, a link, a picture, HTML, mathematics, a heading or a directive."""

ADDRESS = re.compile(r"https?(?=://)|\bwww(?=\.)|(?=@[-\w.]+\.[a-z])", re.IGNORECASE)
"""Places in web and mail addresses, which Markdown turns into links even if all its marks are escaped."""

WORD_JOINER = "\u2060"
"""A character without width; it ends an address, because no address contains it."""


def plain(text: object) -> str:
    """Return Markdown that shows the text literally, on one line, without links, pictures or HTML."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)[: MAX_MESSAGE + 1]).split())
    if len(line) > MAX_MESSAGE:
        line = line[:MAX_MESSAGE] + "…"
    return MARKS.sub(r"\\\g<0>", ADDRESS.sub(rf"\g<0>{WORD_JOINER}", line))


def error(sentence: object) -> None:
    """Show an error: an explanation of what could not be done."""
    st.error(plain(sentence), icon=":material/error:")


def refused(sentence: object) -> None:
    """Let ``show_toasts`` show why a click or a drag is not carried out; for callbacks.

    What a callback draws itself takes the place of the first elements of the app, its sheet of styles among
    them, if only a fragment runs.
    """
    TOASTS.set((*TOASTS.value, (str(sentence), "error")))


def done(sentence: object) -> None:
    """Let ``show_toasts`` show what a click has done besides what it says; for callbacks."""
    TOASTS.set((*TOASTS.value, (str(sentence), "info")))


def show_toasts() -> None:
    """Show, for ten seconds and over the page, why clicks and drags were not carried out, or what they did.

    An error within the page would push the panels down, and the slider in hand with them.
    """
    for sentence, icon in TOASTS.value:
        st.toast(plain(sentence), icon=f":material/{icon}:", duration="long")
    TOASTS.set(())


def note(sentence: object) -> None:
    """Show a note: an explanation of the current state."""
    st.info(plain(sentence), icon=":material/info:")


def alert(place: str, sentence: object) -> None:
    """Show an error over the page, until it is closed: within the page it would push the panels down.

    place : the control that it is about, of which there is one such error at a time
    sentence : "" ends what was said there, so that the same sentence is shown again the next time
    """
    text = plain(sentence)
    if not text or CLOSED_ALERTS.value.get(place) != text:
        CLOSED_ALERTS.ensure().pop(place, None)
    with st.container(key=f"alert {place}"):  # always there, see draw_link_warnings; style.css says where
        if text and place not in CLOSED_ALERTS.value:
            st.error(text, icon=":material/error:")
            _draw_close(place, CLOSED_ALERTS.value.update, {place: text})


def _draw_close(place: str, close: Callable[..., None], argument: object) -> None:
    key = f"{place} close alert"
    st.button("Close", icon=":material/close:", key=key, on_click=close, args=(argument,), type="tertiary")


def draw_link_warnings(page: str = "") -> None:
    """Show over the page which parts of a link are ignored, until that is closed.

    page : whose sentences; "" (the default): those of all pages
    """
    # Always there: else the page below would be built again when it is closed.
    with st.container(key=f"alert link {page}"):
        sentences = LINK_WARNINGS.value.get(page, ())
        for sentence in sentences:
            st.warning(plain(sentence), icon=":material/link_off:")
        if sentences:
            _draw_close(f"{page} link warnings", close_link_warnings, page)
