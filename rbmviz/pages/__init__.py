"""The pages with live panels, each declared in one file here: its settings, its panels, what its runs share.

The app draws a page from its ``PageSpec``, links write and read it, lessons and recipes set it. To add a
setting, add a ``SettingSpec`` to the page's file; its widget is drawn by the page in ``app/``.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

from rbmviz.pages import chain, coupling, sample, train, tune, weights
from rbmviz.pages.settings import SettingSpec
from rbmviz.pages.spec import AUTOMATIC, RANDOM_MODEL, PageSpec, Sources

PAGES: dict[str, PageSpec] = {
    module.SPEC.name: module.SPEC for module in (sample, train, coupling, weights, chain, tune)
}
"""The specification of each page, by its name in the address."""


def link_to(page: str, panels: Sequence[str] = (), **settings: str | int | float) -> str:
    """Return the address of a page with these panels and settings, relative to the app.

    Parameters
    ----------
    page : str
        Name of the page, ``sample``.
    panels : sequence of str
        Algorithms with their knobs, as links write them: ``rates_fpcd:eps=0.1``.
    **settings : str, int or float
        Settings by their names in the address.
    """
    parts = [*((PAGES[page].panels_key, panel) for panel in panels), *settings.items()]
    return f"{page}?{urlencode(parts, safe=':,')}"


__all__ = ["AUTOMATIC", "PAGES", "RANDOM_MODEL", "PageSpec", "SettingSpec", "Sources", "link_to"]
