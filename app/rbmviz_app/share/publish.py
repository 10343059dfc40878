"""Reports of a page's script runs to its watchers; without a share, these functions do nothing."""

import weakref
from collections.abc import Mapping, MutableMapping
from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts.plot import Content
from rbmviz_app.race import PageRace
from rbmviz_app.session import SHARED_PAGE
from rbmviz_app.share.prose import marked
from rbmviz_app.share.view import Share, new_token

FOR_WATCHERS = (
    *("view", "pixels", "side", "n_visible", "shape", "panels"),
    *("classes", "data_shares", "vocabulary", "held", "land", "pair_columns", "highlight", "tiles"),
)
"""The only canvas data that watchers get; for example, not the address of the owner's socket."""


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


def tell(**changes: Any) -> None:
    """Publish fields of ``SharedView``."""
    if (share := SHARED_PAGE.value) is not None:
        share.publish(**changes)


def card(content: Mapping[str, Any] | None) -> None:
    """Publish the card of the open step, with its texts as Markdown; None: no lesson is open."""
    if content is not None and SHARED_PAGE.value is not None:
        texts = ("text", "question", "do", "reveal")
        content = {**content, **{name: marked(content[name]) for name in texts}}
    tell(card=content)


def canvas(name: str, race: PageRace[Any], data: Mapping[str, Any]) -> None:
    """Publish the panels of the page."""
    if SHARED_PAGE.value is None:
        return
    fields = {key: value for key, value in data.items() if key in FOR_WATCHERS}
    # Values change while sliders are dragged: they are sent to the watchers separately.
    panels = [{**panel, "values": {}, "multiples": []} for panel in data["panels"]]
    tell(canvas=name, data={**fields, "panels": panels}, race=race)


def chart(key: str, content: Content) -> None:
    """Publish a chart of the page that does not come with the frames."""
    if (share := SHARED_PAGE.value) is not None:
        share.publish_chart(key, content)
