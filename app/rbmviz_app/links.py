"""The page's address, which holds the state of the screen; its content is not trusted.

Widgets write their own settings there (``Setting.bound``). A component of the page writes the rest, replacing
the address in place. ``st.query_params`` is only read (but for ``drop_unreadable``): writing it adds an entry
to the browser's history.
"""

import math
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from rbmviz.errors import MAX_SHOWN, shown
from rbmviz_app import checkpoints, embedding, pages, session, shared, uploads
from rbmviz_app.share import publish

_address = st.components.v2.component("rbmviz_address", js=Path(__file__).with_name("address.js").read_text())


PAUSED_AT = "paused_at"
"""Name in the address: while a page is paused, the step at which its runs stand, or that of each of them in
order. The browser writes it."""

LESSON, STEP = "lesson", "step"
"""Names in the address of the open lesson, and of its step (from 1)."""

COOKIE = "rbmviz_owner"
"""By it the server knows the browser that has begun a sweep; only that one may stop or delete it."""

OWNER_PATTERN = re.compile(r"[0-9a-f]{24}")
"""96 random bits."""

SWITCHED = {"true": 1.0, "false": 0.0}
"""Numbers that a link may have in place of the words of a switch."""

MAX_REPEATED_STEPS = 20_000
"""Steps that are made again at most when a paused page is opened again: seconds of computing."""


def values(key: str) -> list[str]:
    """Return all values of a name in the address."""
    return st.query_params.get_all(key)


def gives_any(keys: Iterable[str]) -> bool:
    """Return whether the address gives a value to one of these names."""
    return any(key in st.query_params for key in keys)


def gives_settings() -> bool:
    """Return whether the address says more than which step of a lesson is open."""
    return any(key not in (LESSON, STEP) for key in st.query_params)


def owner() -> str:
    """Return the secret of this browser: that of its cookie, or a new one, which becomes the cookie."""
    if not session.OWNER.value:
        given = str(st.context.cookies.get(COOKIE, ""))
        session.OWNER.set(given if OWNER_PATTERN.fullmatch(given) else secrets.token_hex(12))
    return session.OWNER.value


def presenting() -> bool:
    """Return whether the page is drawn for a projector: large, within the window, few controls."""
    return session.PRESENTED.ensure() != ""


def presented_knobs() -> list[str]:
    """Return the names of the knobs that stay while presenting; none: the first one of each panel."""
    text = session.PRESENTED.ensure()
    return [] if text in ("", "1") else text.split(",")


def starts_paused() -> bool:
    """Return whether runs wait for Play when a page is opened: the link says so, or the browser."""
    return session.STARTS_PAUSED.ensure() or session.REDUCED_MOTION.value


def paused_at(n_panels: int) -> list[int]:
    """Return the steps at which the panels stood when the address was written; empty: they were running."""
    texts = values(PAUSED_AT)
    if not all(re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) for text in texts):
        return []
    steps = [int(text) for text in texts]
    return steps if len(steps) == n_panels else [min(steps)] * n_panels if steps else []


def parts_of_step() -> dict[str, str]:
    """Return what the address says of the open step of a lesson; empty without one."""
    place = session.OPEN_STEP.value
    return {} if place is None else {LESSON: place.lesson, STEP: str(place.step + 1)}


def write(
    page: str, parts: Mapping[str, Sequence[str]], settings: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Write these values by name into the address, in the browser; an empty list removes a name.

    settings : values of widgets that are bound to the address; the browser writes them when a user turns one
    """
    with st.container(key="address"):  # the shell takes it out of the page's flow
        texts = {name: list(values) for name, values in parts.items()}
        texts[checkpoints.TOKEN_PART] = checkpoints.tokens(page)
        texts[uploads.PART] = uploads.in_address(page)
        texts |= {"present": [session.PRESENTED.ensure()]} if presenting() else {}
        texts |= {"paused": ["1"]} if session.STARTS_PAUSED.ensure() else {}
        texts |= embedding.parts(page)
        texts |= {name: [text] for name, text in parts_of_step().items()}
        gone = [name for name in ("present", "paused", LESSON, STEP) if name not in texts]
        data = {
            "parts": texts,
            "settings": {name: list(values) for name, values in (settings or {}).items()},
            "takenBack": session.TAKEN_BACK.value,
            "others": [name for name in pages.names_of_other_pages(page) if name not in texts] + gone,
        }
        if texts.get("sweep"):  # what only this browser may delete
            data["cookie"] = f"{COOKIE}={owner()}"
        _address(key=f"{page} address", data=data)
        own = ("present", "paused", "ui", "show") if session.EMBEDDED.value else ("present", "paused")
        shown = {**(settings or {}), **texts}
        publish.link(page, {name: values for name, values in shown.items() if name not in own})


def open_link(page: str) -> None:
    """Read the address with which a session begins."""
    if session.LINK_OPENED.value:
        return
    session.LINK_OPENED.set(True)
    # A link to the page that shows the command's model means what it leaves out.
    is_link = page == "sample" and gives_any(pages.names_of_page("sample"))
    if shared.FIRST_CHOICE and not is_link:
        session.start_with(checkpoints.CHOICES["sample"], shared.FIRST_CHOICE[0])
    checkpoints.open_link(page, values(checkpoints.TOKEN_PART))
    uploads.open_link(page, values(uploads.PART))
    session.SETTINGS_OF_LINK.set({key: values(key) for key in pages.settings(page) if gives_any([key])})


def leave_out(page: str, setting: session.Setting[Any], sentence: str) -> None:
    """Say, in the page's own words, why the value that the link gives to a setting is left out."""
    session.SETTINGS_OF_LINK.ensure().pop(setting.key, None)
    session.add_link_warning(sentence, page)


def name_refused_settings(page: str) -> None:
    """Say which settings of the link have values that their widgets do not take; for the end of a run.

    Streamlit has removed such a value from the address without a word.
    """
    refused = []
    for key, given in session.SETTINGS_OF_LINK.value.items():
        now = session.ALL_SETTINGS[key].chosen
        if now is not None and values(key) != given and not _same_values(given, session.address_texts(now)):
            stands = " ".join(session.address_texts(now))
            refused.append(f"{key} = {stands[:MAX_SHOWN]} (not {shown(' '.join(given))})")
    session.SETTINGS_OF_LINK.set({})
    if refused:
        session.add_link_warning(
            "The link gives values that settings of this page cannot have: it opens with "
            f"{', '.join(refused)}.",
            page,
        )
        st.rerun()


def _same_values(given: Sequence[str], texts: Sequence[str]) -> bool:
    def read(text: str) -> float | str:
        try:
            return SWITCHED[text] if text in SWITCHED else float(text)
        except ValueError:
            return text

    return [read(text) for text in given] == [read(text) for text in texts]


def drop_unreadable() -> None:
    """Remove empty and non-finite values from the address, with which widgets would fail, and rerun the page.

    Streamlit ignores other values that do not fit a widget, but not these two. This is the only place where
    ``st.query_params`` is written.
    """
    broken = [key for key in st.query_params if not all(map(_readable, st.query_params.get_all(key)))]
    if broken:
        for key in broken:
            del st.query_params[key]
        names = ", ".join(key[:MAX_SHOWN] for key in broken[:5])
        sentence = f"The link gives no value that can be read to: {names}."
        session.add_link_warning(sentence)
        st.rerun()


def _readable(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return text != ""
