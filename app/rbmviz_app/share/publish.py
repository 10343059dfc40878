"""What the script runs of a page say to those who watch it; nothing happens where nothing is shared."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from rbmviz_app.comparisons import comparisons_by_token
from rbmviz_app.session import SHARED_PAGE
from rbmviz_app.share.prose import marked
from rbmviz_app.share.shares import kept_share
from rbmviz_app.share.view import Share
from rbmviz_app.stream.requests import Hidden

FOR_WATCHERS = (
    *("view", "pixels", "side", "n_visible", "shape", "panels"),
    *("classes", "data_shares", "vocabulary", "land", "pair_columns", "highlight", "tiles"),
)
"""The data of a canvas that watchers get; no others, such as the address of the owner's socket."""


def _shared() -> Share | None:
    """Return what this session shares; None: nothing."""
    return SHARED_PAGE.value


def begin_run(page: str, title: str, hidden: Hidden) -> None:
    """Say that the whole page is drawn now; hidden : what watchers do not get."""
    if (share := kept_share()) is not None:
        share.begin_run(page, title, hidden)


def end_run() -> None:
    """Say that the whole page has been drawn."""
    if (share := _shared()) is not None:
        share.end_run()


def heading(question: str) -> None:
    """Say what the page asks."""
    if (share := _shared()) is not None:
        share.publish(question=question)


def caption(text: str) -> None:
    """Say the sentence above the panels, as Markdown; "": there is none."""
    if (share := _shared()) is not None:
        share.publish(caption=marked(text))


def card(shown: Mapping[str, Any] | None) -> None:
    """Say what stands on the card of the open step; texts are Markdown. None: no lesson is open."""
    share = _shared()
    if share is None:
        return
    if shown is not None:
        texts = ("text", "question", "do", "reveal")
        shown = {**shown, **{name: marked(shown[name]) for name in texts}}
    share.publish(card=shown)


def link(page: str, parts: Mapping[str, Sequence[str]]) -> None:
    """Say which address opens the page as it stands."""
    if (share := _shared()) is not None:
        query = urlencode({name: list(values) for name, values in parts.items() if values}, doseq=True)
        share.publish(link=f"{page}?{query}" if query else page)


def canvas(name: str, data: Mapping[str, Any]) -> None:
    """Say what the panels of the page are; those of a map, which is no comparison, are not shared."""
    share = _shared()
    if share is None:
        return
    comparison = comparisons_by_token().get(data["url"].rpartition("/")[2])
    if comparison is None:
        return
    shown = {key: value for key, value in data.items() if key in FOR_WATCHERS}
    # Values change while sliders are dragged: they go to the watchers by themselves.
    panels = [{**panel, "values": {}, "multiples": []} for panel in data["panels"]]
    share.publish_canvas(name, {**shown, "panels": panels}, comparison)


def drawing(data: dict[str, Any]) -> None:
    """Say how the units of a small RBM are drawn."""
    if (share := _shared()) is not None:
        share.publish_drawing(data)


def chart(key: str, rows: Any, spec: dict[str, Any], label: str) -> None:
    """Say what a chart of the page shows."""
    if (share := _shared()) is not None:
        share.publish_chart(key, rows, spec, label)
