"""A page embedded in another page, such as a learning platform's: panels, their knobs, play and speed.

``ui=min`` in the address turns this on, for every page and after a reload; ``show=eps,alpha`` then names the
visible knobs. Without ``ui=min``, ``show`` is a setting of the Train page.
"""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from rbmviz.errors import MAX_SHOWN
from rbmviz.pages import PAGES
from rbmviz_app.session import EMBEDDED, EMBEDDED_KNOBS, KNOB_NAME, add_link_warning

MAX_NAMED = 12
"""Maximum number of knobs in a link; no algorithm has more."""


def draw_sheet() -> None:
    """Hide all but the embedded part if the address asks for this; call it before the page is drawn."""
    if (asked := st.query_params.get("ui")) is not None and asked != "min":
        add_link_warning(f"The link's ui is '{asked[:MAX_SHOWN]}': it can only be 'min'.")
    if EMBEDDED.ensure():
        st.html(Path(__file__).with_name("embedding.css"))


def _asked() -> list[str]:
    """Return the names in the address of an embedded page."""
    return [name.strip() for name in EMBEDDED_KNOBS.ensure().split(",")] if EMBEDDED.value else []


def shown_knobs() -> list[str]:
    """Return the names of the visible knobs; empty: the usual knobs."""
    return [name for name in _asked() if KNOB_NAME.fullmatch(name)][:MAX_NAMED]


def _has_show(page: str) -> bool:
    """Return whether a page has a setting with the same name as the list of visible knobs."""
    return page in PAGES and "show" in PAGES[page].settings


def warn_of_unknown_knobs(page: str, knobs: Sequence[str]) -> None:
    """Report names in the link that are not among the ``knobs`` of a page's panels."""
    unknown = [name for name in _asked() if name and name not in knobs]
    of_the_page = _has_show(page) and len(unknown) == 1 and unknown[0].isidentifier()
    if unknown and knobs and not of_the_page:
        named = ", ".join(f"'{name[:MAX_SHOWN]}'" for name in unknown[:3])
        add_link_warning(f"The link shows {named}, and these panels have the knobs {', '.join(knobs)}.", page)


def parts(page: str) -> dict[str, list[str]]:
    """Return the address parameters of an embedded page."""
    if not EMBEDDED.value:
        return {}
    own = _has_show(page)
    return {"ui": ["min"]} | ({} if own or not shown_knobs() else {"show": [",".join(shown_knobs())]})
