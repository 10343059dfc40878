"""What every file of the app keeps to: where the session state is, who writes the address, no mathematics."""

import ast
import re
from pathlib import Path

from rbmviz_app import pages

ROOT = Path(__file__).parents[2]
APP = ROOT / "app" / "rbmviz_app"
SOURCES = {str(path.relative_to(APP)): path.read_text() for path in sorted(APP.rglob("*.py"))}
PAGES = sorted(path.parent.name for path in APP.glob("pages/*/panel.py"))


def files_with(pattern):
    return [name for name, text in SOURCES.items() if re.search(pattern, text)]


def test_the_session_state_stands_in_one_file():
    used = [
        name
        for name, text in SOURCES.items()
        if any(
            isinstance(node, ast.Attribute) and node.attr == "session_state"
            for node in ast.walk(ast.parse(text))
        )
    ]
    assert used == ["session.py"]


def test_the_address_is_only_read():
    """Else each change would be an entry of the browser's history."""
    writes = r"query_params\[.*\] *=|query_params\.(pop|update|clear|from_dict)|query_params = |bind="
    assert files_with(writes + r"|del st\.query_params") == []


def test_widgets_of_settings_are_drawn_in_one_file():
    """Their values are read from the record, never from what a widget returns."""
    assert files_with(r"setting\.(widget|fold)\(") == ["controls.py"]


def test_only_one_function_redraws_every_second():
    """Else what stands below moves up now and then: see ``rbmviz_app.component.while_running``."""
    assert files_with("run_every=") == ["component.py"]


def test_no_key_of_the_address_belongs_to_two_pages():
    names = [name for page in pages.page_modules() for name in pages.settings(page)]
    assert len(set(names)) == len(names)


def test_names_of_other_pages_are_neither_shared_nor_the_pages_own():
    names = pages.names_of_other_pages("train")
    assert {"p", "seed", "model", "c"} <= set(names)
    assert not {"t", "train_seed", "present", "lesson"} & set(names)


MATHEMATICS = set("linalg fft mean std var median quantile cumsum eig einsum dot matmul".split())
"""What a page does not compute: it is of the package, where it is tested."""


def computed(source):
    """Return the calls and operators of a source that are mathematics."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in MATHEMATICS
        ):
            yield node.func.attr
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield "@"


def test_pages_compute_nothing():
    """Charts and files may turn arrays into rows and pixels; the rest of a page does not know numpy."""
    pages = {name: text for name, text in SOURCES.items() if not re.search(r"panel|stream", name)}
    assert len(pages) > 25
    assert {name: found for name, text in pages.items() if (found := list(computed(text)))} == {}
    arrays = [name for name, text in pages.items() if "import numpy" in text]
    drawing = [name for name in arrays if "charts" in name]
    keeping = {f"{name}.py" for name in ("code", "outside", "uploads")}
    keeping |= {"pages/chain/matrix.py"}
    assert set(arrays) - set(drawing) == keeping
    assert list(computed("x.mean(); np.linalg.eigvals(A); A @ B")) == ["mean", "@"]
