"""The files of the download buttons."""

import contextlib

import pytest
from page_settings import FILES, race_of

from rbmviz import BadInput


@pytest.mark.parametrize(
    ("name", "panels", "part"),
    [("sample", "p", {}), ("weights", "w", {}), ("chain", "l", {"little": "landscape"})],
)
def test_a_page_without_panels_makes_its_files_or_says_why_not(page, name, panels, part):
    FILES.clear()
    test = page(name, **{panels: "none"}, **part)
    assert not race_of(test, name).panels
    assert FILES
    for make in FILES.values():
        with contextlib.suppress(BadInput):
            assert make()
