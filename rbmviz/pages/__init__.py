"""The pages with live panels, one file per page: its settings, its panels, and the setup of its runs.

The app draws a page from its ``PageSpec``, links write and read it, and lessons and recipes set it. To add a
setting, add a ``SettingSpec`` to the page's file; the page in ``app/`` draws its widget.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

from rbmviz.models import AUTOMATIC
from rbmviz.pages import chain, coupling, sample, train, tune, weights
from rbmviz.pages.settings import SettingSpec
from rbmviz.pages.spec import RANDOM_MODEL, PageSpec, Sources

PAGES: dict[str, PageSpec] = {
    module.SPEC.name: module.SPEC for module in (sample, train, coupling, weights, chain, tune)
}
"""The specification of each page, by its name in the address."""


def link_to(page: str, panels: Sequence[str] = (), **settings: str | int | float) -> str:
    """Return the address of a page with these panels and settings, relative to the app.

    page : name of the page, for example ``sample``
    panels : algorithms with their knobs in the format of links: ``rates_fpcd:eps=0.1``
    **settings : settings by name in the address
    """
    parts = [*((PAGES[page].panels_key, panel) for panel in panels), *settings.items()]
    return f"{page}?{urlencode(parts, safe=':,')}"
