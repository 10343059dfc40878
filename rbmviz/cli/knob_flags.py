"""Knobs as command-line flags: ``--eps 0.03``, ``--max-sweeps=20``."""

from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.errors import BadInput
from rbmviz.knobs import Value, check_names, knobs_of
from rbmviz.registry import Table


def read_knobs(cls: Any, rest: Sequence[str]) -> dict[str, Value]:
    """Read the arguments that the command itself does not know as knobs of an algorithm."""
    given: dict[str, str] = {}
    words = list(rest)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise BadInput(f"{cls.name}: '{word}' is not a flag; knobs are given as --name value.")
        name, separator, value = word[2:].partition("=")
        if not separator:
            if not words:
                raise BadInput(f"{cls.name}: --{name} needs a value.")
            value = words.pop(0)
        given[name.replace("-", "_")] = value
    check_names(cls, given)
    known = knobs_of(cls)
    return {name: known[name].parse(value, cls.name) for name, value in given.items()}


def knob_help(table: Table, names: Iterable[str]) -> str:
    """Return lines that list the knobs of each algorithm, for ``--help``."""
    lines = []
    for name in names:
        lines.append(f"\nknobs of {name}:")
        for knob in knobs_of(table[name]).values():
            flag = f"--{knob.name.replace('_', '-')}"
            lines.append(f"  {flag:<16} {knob.help} {knob.range_text}; default {knob.text(knob.default)}")
    return "\n".join(lines)
