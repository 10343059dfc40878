"""The pages: each folder here with a ``page.py`` is a page, and the folder's name is its address.

A ``page.py`` defines ``TITLE``, ``ICON`` and ``PLACE``, its position in the navigation. The bar shows the
first IN_BAR pages, and *More* lists the others. A live page also defines ``PAGE``, which holds its
``PageSpec``; other pages with settings in their address define ``Settings``.
"""

import functools
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rbmviz_app.session import Setting

IN_BAR = 4


def names() -> set[str]:
    """Return the names of all pages."""
    return {path.parent.name for folder in __path__ for path in Path(folder).glob("*/page.py")}


@functools.cache
def page_modules() -> dict[str, ModuleType]:
    """Return every page's ``page.py`` module by page name, in navigation order."""
    modules = {name: import_module(f"{__name__}.{name}.page") for name in names()}
    return dict(sorted(modules.items(), key=lambda item: item[1].PLACE))


def file_of(page: str) -> str:
    """Return the path of a page's file, which Streamlit needs to switch to the page."""
    return str(page_modules()[page].__file__)


def settings(page: str) -> Mapping[str, Setting[Any]]:
    """Return the settings of a page, by name."""
    live = live_page(page)
    return live.settings if live else getattr(page_modules()[page], "Settings", {})


def live_page(page: str) -> Any:
    """Return the ``LivePage`` of a page, or None if the page has no live panels."""
    return getattr(page_modules()[page], "PAGE", None)


@functools.cache
def names_of_page(page: str) -> set[str]:
    """Return the names of the query parameters that describe this page's content."""
    live = live_page(page)
    parts = (live.spec.panels_key, *live.spec.own_parts) if live else ()
    return {*parts, *settings(page)}


@functools.cache
def names_of_other_pages(page: str) -> list[str]:
    """Return the names of the query parameters that other pages use but this page does not."""
    names = {name for other in page_modules() for name in names_of_page(other)}
    return sorted(names - names_of_page(page))
