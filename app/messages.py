"""Messages on a page, with text from outside escaped: Streamlit reads every message as Markdown."""

import re

import streamlit as st

from rbmviz_app.session import LINK_WARNINGS, REFUSED, close_link_warnings

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
    """Let ``show_refused`` show why a click or a drag is not carried out; for callbacks.

    What a callback draws itself takes the place of the first elements of the app, its sheet of styles among
    them, if only a fragment runs.
    """
    REFUSED.set((*REFUSED.value, str(sentence)))


def show_refused() -> None:
    """Show, for ten seconds and over the page, why clicks and drags were not carried out.

    An error within the page would push the panels down, and the slider in hand with them.
    """
    for sentence in REFUSED.value:
        st.toast(plain(sentence), icon=":material/error:", duration="long")
    REFUSED.set(())


def note(sentence: object) -> None:
    """Show a note: an explanation of the current state."""
    st.info(plain(sentence), icon=":material/info:")


def draw_link_warnings(page: str = "") -> None:
    """Show which parts of a link are ignored, until that is closed: what goes by itself lets the page jump.

    page : whose sentences; "" (the default): those of all pages
    """
    with st.container():  # always there: else the page below would be built again when it is closed
        sentences = LINK_WARNINGS.value.get(page, ())
        for sentence in sentences:
            st.warning(plain(sentence), icon=":material/link_off:")
        if sentences:
            st.button(
                "Close",
                icon=":material/close:",
                key=f"{page} close left out",
                on_click=close_link_warnings,
                args=(page,),
                type="tertiary",
            )
