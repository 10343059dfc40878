"""The pages: every folder here with a ``page.py`` is one, and the folder's name is its address.

A ``page.py`` says ``TITLE``, ``ICON`` and ``PLACE`` in the navigation. A live page also has ``PAGE``, with
its ``PageSpec``; another page whose address holds settings has ``Settings``.
"""

import functools
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rbmviz_app.session import Setting


@functools.cache
def found() -> dict[str, ModuleType]:
    """Return the ``page.py`` of every page by the page's name, in the order of the navigation."""
    names = {path.parent.name for folder in __path__ for path in Path(folder).glob("*/page.py")}
    modules = {name: import_module(f"{__name__}.{name}.page") for name in names}
    return dict(sorted(modules.items(), key=lambda item: item[1].PLACE))


def file_of(page: str) -> str:
    """Return the file of a page, by which Streamlit switches to it."""
    return str(found()[page].__file__)


def settings(page: str) -> Mapping[str, Setting[Any]]:
    """Return the settings of a page, by name."""
    module = found()[page]
    return module.PAGE.settings if hasattr(module, "PAGE") else getattr(module, "Settings", {})


@functools.cache
def names_of_page(page: str) -> set[str]:
    """Return the names of the address by which a link says what is on this page."""
    live = getattr(found()[page], "PAGE", None)
    parts = (live.spec.panels_key, *live.spec.own_parts) if live else ()
    return {*parts, *settings(page)}


@functools.cache
def names_of_other_pages(page: str) -> list[str]:
    """Return the names of the address that belong to other pages than this one; names that all share stay."""
    names = {name for other in found() for name in names_of_page(other)}
    return sorted(names - names_of_page(page))
