"""Pages that run when the site is built: values stand below their blocks; notebooks have the same code."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "# A\n\nText.\n\n```python\nx = 6\n```\n\n```python\nx * 7\n```\n"


@pytest.fixture(scope="module")
def extension():
    loader = SourceFileLoader("executed", str(DOCS / "_ext" / "executed.py"))
    module = module_from_spec(spec_from_loader("executed", loader))
    loader.exec_module(module)
    return module


def test_a_value_stands_below_its_block(extension):
    page = extension.executed(PAGE)
    assert page.count("<pre>") == 1
    assert page.index("x * 7") < page.index("<pre>42</pre>")


def test_a_chart_is_a_picture(extension):
    block = "import rbmviz\nrbmviz.plot.filters('bas_pcd')"
    assert "<svg" in extension.shown(extension.value_of(block, {}))
    assert "<img" in extension.shown(extension.value_of("import rbmviz\nrbmviz.load_model('bas_pcd')", {}))


def test_a_notebook_has_all_blocks(extension):
    book = extension.notebook(PAGE)
    assert [cell["cell_type"] for cell in book["cells"]] == ["markdown", "code", "code"]
    assert book["cells"][-1]["source"] == "x * 7"


def test_the_index_names_every_notebook(extension):
    names = {path.name for path in (DOCS / "gallery").glob("*.md")} - {"index.md"}
    assert len(names) == 7
    assert set(re.findall(r"\]\((\w+\.md)\)", (DOCS / "gallery" / "index.md").read_text())) == names
    assert all(extension.PAGES.match(f"gallery/{name.removesuffix('.md')}") for name in names)
    assert not extension.PAGES.match("gallery/index")
