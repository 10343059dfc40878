"""One name for one thing: no public class or constant is defined in two modules."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from rbmviz import rng
from rbmviz.glossary import glossary
from rbmviz.kernels import random as kernels

ROOT = Path(__file__).parents[2]

OF_EVERY_PAGE = {
    *("TITLE", "ICON", "PLACE", "PAGE", "ABOUT"),
    *("Settings", "PRESETS", "Preset", "READOUTS", "READING_NOTES"),
}
"""What each page of the app says of itself, under one name with one meaning."""

ONE_MEANING = {"STREAM_LANES", "SPEC"}
"""Said twice because kernels import nothing of the package but its paths, and the values are equal; the
specification of each page."""


def defined(tree: ast.Module) -> set[str]:
    """Return the public classes and the constants (all capitals) that a module defines at its top."""
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        made = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(made, ast.Call) and getattr(made.func, "id", "") == "TypeVar":
            continue
        parts = [part for target in targets for part in getattr(target, "elts", [target])]
        names |= {part.id for part in parts if isinstance(part, ast.Name) and part.id.isupper()}
    return {name for name in names if not name.startswith("_")}


def test_no_name_has_two_meanings():
    where = defaultdict(list)
    for folder in ("rbmviz", "app"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in defined(ast.parse(path.read_text())):
                where[name].append(str(path.relative_to(ROOT)))
    twice = {name: paths for name, paths in where.items() if len(paths) > 1}
    pages = {name for name, paths in twice.items() if all(path.startswith("app/") for path in paths)}
    assert not {
        name: paths for name, paths in twice.items() if name not in (OF_EVERY_PAGE & pages) | ONE_MEANING
    }


def test_duplicated_constants_agree():
    assert kernels.STREAM_LANES == rng.STREAM_LANES


def test_duplicated_name_is_found():
    source = "A = 1\nB: int = 2\n(C, D) = 3, 4\nT = TypeVar('T')\n_E = 5\nclass F: ...\nlower = 6\n"
    assert defined(ast.parse(source)) == {"A", "B", "C", "D", "F"}


def test_every_word_of_the_glossary_is_used_and_stands_once():
    words = [word for part in glossary() for term in part.meanings for word in term.split(", ")]
    assert len(words) > 50
    assert len(set(words)) == len(words)
    assert all(words)
    files = [path for path in (ROOT / "rbmviz").rglob("*.py") if path.name != "glossary.py"]
    used = "\n".join(path.read_text() for path in [*files, ROOT / "tests" / "naive.py"])
    unused = [word for word in words if not re.search(rf"\b{re.escape(word)}s?\b", used, re.IGNORECASE)]
    assert not unused
