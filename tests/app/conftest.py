"""The encoders of all panels are known to these tests, as they are once every page has been drawn."""

import functools
import importlib
from pathlib import Path

import pytest

from rbmviz_app.race import PageRace

for panel in (Path(__file__).parents[2] / "app" / "rbmviz_app" / "pages").glob("*/panel.py"):
    importlib.import_module(f"rbmviz_app.pages.{panel.parent.name}.panel")


@pytest.fixture
def make_race():
    """What makes the race of a page."""
    return functools.partial(PageRace, "sample")
