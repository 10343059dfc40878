"""A page inside of another one, as a learning platform frames it: panels, their knobs, play and speed.

``ui=min`` in the address says so, on every page and after a reload; ``show=eps,alpha`` then names the knobs
that stay. Without ``ui=min`` a ``show`` is a setting of the Train page.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from rbmviz.errors import MAX_SHOWN
from rbmviz.pages import PAGES
from rbmviz_app.session import EMBEDDED, EMBEDDED_KNOBS, KNOB_NAME, add_link_warning

MAX_NAMED = 12
"""Knobs that a link can name; no algorithm has more."""


def draw_sheet() -> None:
    """Hide all of the page but what is embedded, if the address says so; call it before the page is drawn."""
    if (asked := st.query_params.get("ui")) is not None and asked != "min":
        add_link_warning(f"The link's ui is '{asked[:MAX_SHOWN]}': it can only be 'min'.")
    if EMBEDDED.ensure():
        st.html(Path(__file__).with_name("embedding.css"))


def shown_knobs() -> list[str]:
    """Return the names of the knobs that stay; none: all that are in sight."""
    names = [name.strip() for name in EMBEDDED_KNOBS.ensure().split(",")] if EMBEDDED.value else []
    return [name for name in names if KNOB_NAME.fullmatch(name)][:MAX_NAMED]


def _has_show(page: str) -> bool:
    """Return whether a page has a setting of its own that is called as the list of shown knobs is."""
    return page in PAGES and "show" in PAGES[page].settings


def warn_of_unknown_knobs(page: str, known: Sequence[str]) -> None:
    """Show which names of the link are none of the ``known`` knobs of the panels of a page."""
    asked = [name.strip() for name in EMBEDDED_KNOBS.ensure().split(",")] if EMBEDDED.value else []
    unknown = [name for name in asked if name and name not in known]
    of_the_page = _has_show(page) and re.fullmatch(r"\w+", ",".join(asked))
    if unknown and known and not of_the_page:
        named = ", ".join(f"'{name[:MAX_SHOWN]}'" for name in unknown[:3])
        add_link_warning(f"The link shows {named}, and these panels have the knobs {', '.join(known)}.", page)


def parts(page: str) -> dict[str, list[str]]:
    """Return what stands in the address of a page that is embedded."""
    if not EMBEDDED.value:
        return {}
    own = _has_show(page)
    return {"ui": ["min"]} | ({} if own or not shown_knobs() else {"show": [",".join(shown_knobs())]})
