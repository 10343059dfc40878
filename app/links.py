"""The page's address, which holds what is on the screen; anybody may have written it.

Widgets write their own settings there (``Setting.bound``). All else is written by a component of the page,
which replaces the address in place: ``st.query_params`` is read, and would leave an entry in the browser's
history where it is written.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from app import session
from rbmviz.errors import MAX_SHOWN
from rbmviz.links import VERSION, VERSION_KEY, left_out, version_of

_address = st.components.v2.component("rbmviz_address", js=Path(__file__).with_name("address.js").read_text())


def values(key: str) -> list[str]:
    """Return what the address says under a name."""
    return st.query_params.get_all(key)


def version() -> int:
    """Return the version of the link, whose defaults hold for what it leaves out."""
    return version_of(st.query_params.get(VERSION_KEY))[0]


def presenting() -> bool:
    """Return whether the page is for a projector: pictures and charts, hardly any words."""
    return st.query_params.get("present") == "1"


def write(page: str, parts: Mapping[str, Sequence[str]]) -> None:
    """Let the address say these values under these names; an empty list takes a name away."""
    with st.container(key="address"):  # the shell takes it out of the page's flow
        said = {VERSION_KEY: [str(VERSION)], **{name: list(values) for name, values in parts.items()}}
        _address(key=f"{page} address", data={"page": page, "parts": said})


def open_link(page: str) -> None:
    """Look through the address with which a session begins: its version, and what it leaves out."""
    if session.LINK_OPENED.value:
        return
    session.LINK_OPENED.set(True)
    known, sentence = version_of(st.query_params.get(VERSION_KEY))
    for key, value in left_out(page, list(st.query_params), known).items():
        session.start_with(key, value)
    if sentence:
        session.LINK_SENTENCES.set((*session.LINK_SENTENCES.value, sentence))


def without_unreadable() -> None:
    """Begin the page again without what its widgets would fall over: empty values, and infinite numbers.

    Streamlit reads a widget's value from the address when it draws it, and leaves out what does not fit, but
    not these two; so it is here alone that the address is changed by ``st.query_params``.
    """
    broken = [key for key in st.query_params if not all(map(_readable, st.query_params.get_all(key)))]
    if broken:
        for key in broken:
            del st.query_params[key]
        names = ", ".join(key[:MAX_SHOWN] for key in broken[:5])
        sentence = f"The link gives no value that can be read to: {names}."
        session.LINK_SENTENCES.set((*session.LINK_SENTENCES.value, sentence))
        st.rerun()


def _readable(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return text != ""
