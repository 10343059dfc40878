"""Knobs as command-line flags: ``--eps 0.03``, ``--max-sweeps=20``."""

from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.cli import WholeNumber
from rbmviz.errors import BadInput
from rbmviz.knobs import Value, check_names, current_names, knobs_of
from rbmviz.registry import Table


def texts_by_knob(rest: Sequence[str], name: str) -> dict[str, str]:
    """Return the text of each knob, by name, in the arguments that the command itself does not declare.

    name : of the algorithm, or several, for messages
    """
    given: dict[str, str] = {}
    words = list(rest)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise BadInput(f"{name}: '{word}' is not a flag; knobs are given as --name value.")
        flag, separator, value = word[2:].partition("=")
        if not separator:
            if not words:
                raise BadInput(f"{name}: --{flag} needs a value.")
            value = words.pop(0)
        given[flag.replace("-", "_")] = value
    return given


def read_knobs(cls: Any, rest: Sequence[str]) -> dict[str, Value]:
    """Read the arguments that the command itself does not know as knobs of an algorithm."""
    given = current_names(cls, texts_by_knob(rest, cls.name))
    known = knobs_of(cls)
    return {name: known[name].parse(value, cls.name) for name, value in given.items()}


def read_shared_knobs(classes: Sequence[Any], rest: Sequence[str]) -> list[dict[str, Value]]:
    """Return the knobs of several algorithms; each knob must belong to at least one of them."""
    given = texts_by_knob(rest, " and ".join(cls.name for cls in classes))
    nowhere = {
        name: text for name, text in given.items() if not any(name in knobs_of(cls) for cls in classes)
    }
    check_names(classes[0], nowhere)
    return [
        {name: known[name].parse(value, cls.name) for name, value in given.items() if name in known}
        for cls, known in ((cls, knobs_of(cls)) for cls in classes)
    ]


def range_of(cls: Any, name: str) -> WholeNumber:
    """Return the argument type with the range of a whole-number knob."""
    found = knobs_of(cls)[name]
    return WholeNumber(int(found.lo), int(found.hi))


def knob_help(table: Table, names: Iterable[str]) -> str:
    """Return the lines of ``--help`` that list the knobs of each algorithm."""
    lines = []
    for name in names:
        lines.append(f"\nknobs of {name}:")
        for knob in knobs_of(table[name]).values():
            flag = f"--{knob.name.replace('_', '-')}"
            lines.append(f"  {flag:<16} {knob.help} {knob.range_text}; default {knob.text(knob.default)}")
    return "\n".join(lines)
