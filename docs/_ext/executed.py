"""Pages whose Python runs when the site is built: the value of each block stands below it.

Each page of the gallery is a notebook, too, which is written beside it without its outputs.
"""

from __future__ import annotations

import ast
import contextlib
import html
import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbmviz.sweeps.figures import rendered

if TYPE_CHECKING:  # the tests run the rest without Sphinx
    from sphinx.application import Sphinx

PAGES = re.compile(r"gallery/(?!index)|figures$")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def value_of(text: str, names: dict[str, Any]) -> Any:
    """Run a block as a cell of a notebook; return the value of its last line, None if it has none."""
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "page", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "page", "eval"), names)


def shown(value: Any) -> str:
    """Return a value as HTML: a chart as SVG, what notebooks show as a picture, other values as text."""
    if hasattr(value, "to_dict") and hasattr(value, "save"):
        return f'<div class="chart">{rendered(value.to_dict(), "svg").decode()}</div>'
    if hasattr(value, "_repr_html_"):
        return f"<div>{value._repr_html_()}</div>"
    return f"<pre>{html.escape(repr(value))}</pre>"


def executed(source: str) -> str:
    """Return a page with the value of each block below it.

    A block that begins with ``python notebook`` needs somebody's notebook, and is not run.
    """
    names: dict[str, Any] = {"__name__": "page"}

    def with_value(block: re.Match[str]) -> str:
        value = value_of(block[1], names)
        return block[0] if value is None else f"{block[0]}\n\n```{{raw}} html\n{shown(value)}\n```\n"

    return BLOCK.sub(with_value, source)


def notebook(source: str) -> dict[str, Any]:
    """Return a page as a notebook (nbformat 4.5) without outputs."""
    cells: list[dict[str, Any]] = []
    for i, part in enumerate(BLOCK.split(source.replace("```python notebook\n", "```python\n"))):
        cell = {"cell_type": "code" if i % 2 else "markdown", "id": f"cell-{i}", "metadata": {}}
        code = {"execution_count": None, "outputs": []} if i % 2 else {}
        if part.strip():
            cells.append(cell | code | {"source": part.strip()})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    if PAGES.match(page):
        text = source[0]
        if page.startswith("gallery/"):
            file = Path(app.outdir).resolve() / f"{page}.ipynb"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(notebook(text), indent=1))
            link = f'<p><a href="{file.name}" download>Download as a notebook</a></p>'
            text = re.sub(
                r"^(# .*)$", rf"\1\n\n```{{raw}} html\n{link}\n```", text, count=1, flags=re.MULTILINE
            )
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # examples make files
            source[0] = executed(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Run the pages when they are read."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
