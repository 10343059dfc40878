"""Tabs of browsers: a reloaded page continues with its runs, lesson, files and share.

A tab has a key, which its browser stores and sends with each connection (``tab.js``). A new session of the
tab takes over the entries of the one before, as long as Streamlit has that session: ten minutes after a
disconnect.
"""

import re
import weakref
from collections.abc import MutableMapping
from typing import Any

import streamlit as st

from rbmviz_app.links import PAUSED_AT
from rbmviz_app.pages import names_of_other_pages
from rbmviz_app.races import close_work, connect
from rbmviz_app.session import LINK, SHARED_PAGE, WRITTEN, Link, Tab, enter_tab, tab_of_session

TAB_COOKIE = "rbmviz_tab"
"""Cookie with the key of the tab that connects; ``tab.js`` sets it."""

KEY_PATTERN = re.compile(r"[0-9a-f]{32}")
"""128 random bits."""


@st.cache_resource(show_spinner=False)
def tabs_by_key() -> MutableMapping[str, Tab]:
    """Return this process's tabs, by key."""
    return weakref.WeakValueDictionary()


def key_of_browser() -> str:
    """Return the key that the browser has sent; "" without a valid one."""
    key = str(st.context.cookies.get(TAB_COOKIE, ""))
    return key if KEY_PATTERN.fullmatch(key) else ""


def open_tab(page: str) -> None:
    """Give a new session the entries of its tab; call it first in a run of the whole script.

    If the address is not the one that the tab has written, a link was opened in it: everything begins anew
    except the share, which follows to the link.
    """
    if tab_of_session() is None:
        key = key_of_browser()
        tab = tabs_by_key().get(key)
        address = {name: st.query_params.get_all(name) for name in st.query_params}
        if tab is None or not _has_written(tab, page, address):
            values: dict[str, Any] = {}
            if tab is not None:
                values = {name: tab.values[name] for name in (SHARED_PAGE.key,) if name in tab.values}
                close_work(tab, for_good=True)
            tab = Tab(values)
            if key:
                tabs_by_key()[key] = tab
        elif LINK.key in tab.values:
            tab.values[LINK.key] = Link(page, address, is_open=tab.values[LINK.key].is_open)
        enter_tab(tab)
    connect()


def _has_written(tab: Tab, page: str, address: dict[str, list[str]]) -> bool:
    """Return whether the page's address is the one that the tab has written; the browser adds PAUSED_AT."""
    written = tab.values.get(WRITTEN.key, {}).get(page)
    if written is None:
        return False
    known = {*written, *names_of_other_pages(page)} - {PAUSED_AT}
    in_address = {name: values for name, values in address.items() if name in known}
    return in_address == {name: values for name, values in written.items() if values}
