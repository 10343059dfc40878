"""Words from outside as plain text: Streamlit reads every message as Markdown."""

import re

import streamlit as st

MAX_MESSAGE = 400
"""Characters of a message; what is longer is cut."""

MARKS = re.compile(r"[\\`*\[\]<>~$#|]|(?<!\w)_|_(?!\w)|:(?=\w)")
"""What would begin code, emphasis, a link, a picture, HTML, mathematics, a heading or a directive."""

ADDRESS = re.compile(r"https?(?=://)|\bwww(?=\.)|(?=@[-\w.]+\.[a-z])", re.IGNORECASE)
"""The beginning of what Markdown turns into a link by itself, whatever is escaped; what stands before @."""

WORD_JOINER = "\u2060"
"""Has no width, and no address has it."""


def plain(text: object) -> str:
    """Return Markdown that shows a text as it is, on one line: no link, no picture, no HTML comes of it."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)[: MAX_MESSAGE + 1]).split())
    if len(line) > MAX_MESSAGE:
        line = line[:MAX_MESSAGE] + "…"
    return MARKS.sub(r"\\\g<0>", ADDRESS.sub(rf"\g<0>{WORD_JOINER}", line))


def error(sentence: object) -> None:
    """Show what could not be done."""
    st.error(plain(sentence), icon=":material/error:")


def note(sentence: object) -> None:
    """Show what is as it is for a reason."""
    st.info(plain(sentence), icon=":material/info:")


def left_out(sentence: object) -> None:
    """Show what of a link is not taken."""
    st.warning(plain(sentence), icon=":material/link_off:")
