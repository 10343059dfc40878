"""Messages on a page, with external text escaped, because Streamlit reads every message as Markdown."""

import re
from collections.abc import Callable
from typing import Any

import streamlit as st

from rbmviz_app.session import CLOSED_ALERTS, LINK_WARNINGS, TOASTS

MAX_MESSAGE = 400

MARKS = re.compile(r"[\\`*\[\]<>~$#|]|(?<!\w)_|_(?!\w)|:(?=\w)")
"""Characters that begin code, emphasis, a link, a picture, HTML, mathematics, a heading or a directive."""

ADDRESS = re.compile(r"https?(?=://)|\bwww(?=\.)|(?=@[-\w.]+\.[a-z])", re.IGNORECASE)
"""Places in web and mail addresses; Markdown turns addresses into links even if all marks are escaped."""

WORD_JOINER = "\u2060"
"""A zero-width character; it ends an address, because no address contains it."""


COMMAND = re.compile(
    r"\s*\([^()]*'(?:rbmviz|pip) [^']*'[^()]*\)"
    r"|\s*[:;,]\s[^.:;,]*(?:'(?:rbmviz|pip) [^']*'|RBMVIZ_\w+|names=\{[^}]*\})[^:;]*?(?=[.;](?:\s|$)|$)"
)
"""The part of one of the package's messages that suggests a command, an environment variable or an argument:
a page has controls instead."""


def without_commands(text: str) -> str:
    """Return the text without the parts of its sentences that suggest commands."""
    return COMMAND.sub("", text)


def plain(text: object) -> str:
    """Return Markdown that shows the text literally, on one line: no links, pictures, HTML, commands."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)[: 2 * MAX_MESSAGE]).split())
    line = without_commands(line)
    if len(line) > MAX_MESSAGE:
        line = line[:MAX_MESSAGE] + "…"
    return MARKS.sub(r"\\\g<0>", ADDRESS.sub(rf"\g<0>{WORD_JOINER}", line))


def error(sentence: object) -> None:
    """Show an error: what could not be done, and why."""
    st.error(plain(sentence), icon=":material/error:")


def refused(sentence: object) -> None:
    """Queue a message for ``show_toasts`` that says why a click or drag was refused; for callbacks.

    If only a fragment runs, anything a callback draws replaces the app's first elements, including its style
    sheet.
    """
    TOASTS.set((*TOASTS.value, (str(sentence), "error")))


def inform(sentence: object) -> None:
    """Queue a message for ``show_toasts`` about a side effect of a click; for callbacks."""
    TOASTS.set((*TOASTS.value, (str(sentence), "info")))


def show_toasts() -> None:
    """Show the queued messages about clicks and drags over the page, for ten seconds.

    An error within the page would push the panels down, and with them the slider being dragged.
    """
    for sentence, icon in TOASTS.value:
        st.toast(plain(sentence), icon=f":material/{icon}:", duration="long")
    TOASTS.set(())


def note(sentence: object) -> None:
    """Show a note: an explanation of the current state."""
    st.info(plain(sentence), icon=":material/info:")


def alert(place: str, sentence: object) -> None:
    """Show an error over the page until it is closed; within the page it would push the panels down.

    place : the control that the error is about; a control shows one error at a time
    sentence : the error; "" clears it, so that the same sentence is shown again next time
    """
    text = plain(sentence)
    if not text or CLOSED_ALERTS.value.get(place) != text:
        CLOSED_ALERTS.ensure().pop(place, None)
    with st.container(key=f"alert {place}"):  # always present, see draw_link_warnings; style.css places it
        if text and place not in CLOSED_ALERTS.value:
            st.error(text, icon=":material/error:")
            _draw_close(place, CLOSED_ALERTS.value.update, {place: text})


def _draw_close(place: str, close: Callable[..., Any], argument: object) -> None:
    key = f"{place} close alert"
    st.button("Close", icon=":material/close:", key=key, on_click=close, args=(argument,), type="tertiary")


def draw_link_warnings(page: str = "") -> None:
    """Show over the page which parts of a link are ignored ("": on all pages), until it is closed."""
    # Always present: otherwise closing the message would rebuild the page below.
    with st.container(key=f"alert link {page}"):
        sentences = LINK_WARNINGS.value.get(page, ())
        for sentence in sentences:
            st.warning(plain(sentence), icon=":material/link_off:")
        if sentences:
            _draw_close(f"{page} link warnings", lambda page: LINK_WARNINGS.value.pop(page, None), page)
