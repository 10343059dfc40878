"""The pages with live panels, each declared in one file here: its settings, its panels, what its runs share.

The app draws a page from its ``PageSpec``, links write and read it, lessons and recipes set it. To add a
setting, add a ``SettingSpec`` to the page's file; its widget is drawn by the page in ``app/``.
"""

from rbmviz.pages import chain, coupling, sample, train, tune, weights
from rbmviz.pages.settings import SettingSpec
from rbmviz.pages.spec import AUTOMATIC, RANDOM_MODEL, PageSpec, Sources

PAGES: dict[str, PageSpec] = {
    module.SPEC.name: module.SPEC for module in (sample, train, coupling, weights, chain, tune)
}
"""The specification of each page, by its name in the address."""

__all__ = ["AUTOMATIC", "PAGES", "RANDOM_MODEL", "PageSpec", "SettingSpec", "Sources"]
