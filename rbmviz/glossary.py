"""The glossary, as data: its words stand in the docstring of ``rbmviz.rbm``, where contributors read them."""

import re
from typing import NamedTuple

from rbmviz import rbm


class Words(NamedTuple):
    """A part of the glossary: its title, and each word, or several with one meaning, with what it means."""

    title: str
    meanings: dict[str, str]


def glossary() -> list[Words]:
    """Return the parts of the glossary in order; none where Python keeps no docstrings (``-OO``)."""
    text = (rbm.__doc__ or "").partition("------\n")[2].strip()
    parts = [part.splitlines() for part in text.split("\n\n")] if text else []
    return [Words(lines[0], dict(_entry(line) for line in lines[1:])) for lines in parts]


def _entry(line: str) -> tuple[str, str]:
    """Return word and meaning of a line; two spaces or more stand between them."""
    word, meaning = re.split(r"\s{2,}", line, maxsplit=1)
    return word, meaning
