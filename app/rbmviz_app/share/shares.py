"""The shares of this process: start them, end them, and find them by token."""

import weakref
from collections.abc import MutableMapping

import streamlit as st

from rbmviz import BadInput
from rbmviz_app.session import SHARED_PAGE
from rbmviz_app.share.view import Share, new_token

MAX_SHARES = 50


@st.cache_resource(show_spinner=False)
def shares_by_token() -> MutableMapping[str, Share]:
    """Return the shares of this process, by token."""
    return weakref.WeakValueDictionary()


def begin_sharing() -> None:
    """Share the page of this session; BadInput if the server has no room for another share."""
    shared = [share for share in list(shares_by_token().values()) if not share.over]
    if len(shared) >= MAX_SHARES:
        raise BadInput(f"This server shares {MAX_SHARES} views already: try again when one has ended.")
    share = Share(new_token())
    shares_by_token()[share.token] = share
    SHARED_PAGE.set(share)


def stop_sharing() -> None:
    """End this session's share, if it has one."""
    if (share := SHARED_PAGE.value) is not None:
        share.stop()
        SHARED_PAGE.set(None)


def share_of_session() -> Share | None:
    """Return this session's share; None if nothing is shared."""
    share = SHARED_PAGE.value
    if share is not None and share.over:
        SHARED_PAGE.set(None)
        return None
    return share
