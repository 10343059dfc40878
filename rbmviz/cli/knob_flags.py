"""Knobs as command-line flags: ``--eps 0.03``, ``--max-sweeps=20``."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rbmviz.cli import Parser, WholeNumber
from rbmviz.errors import BadInput
from rbmviz.knobs import Knob, knobs_of
from rbmviz.knobs import read_algorithms as read_with
from rbmviz.registry import Table


def texts_by_knob(rest: Sequence[str], name: str) -> dict[str, str]:
    """Return the text of each knob, by name, from the arguments that the command does not declare itself.

    name : name of the algorithm, or of several, for messages
    """
    texts: dict[str, str] = {}
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
        knob = flag.replace("-", "_")
        if knob in texts:
            raise BadInput(f"{name}: --{flag} is given twice; give it once.")
        texts[knob] = value
    return texts


def read_algorithms(table: Table, texts: Sequence[str], rest: Sequence[str]) -> list[Any]:
    """Return algorithms from texts, see ``knobs.read_algorithms``; ``rest`` has the shared knobs as flags."""
    names = [table[text.partition(":")[0]].name for text in texts]
    return read_with(table, texts, texts_by_knob(rest, " and ".join(names)))


def split_algorithms(text: str) -> list[str]:
    """Return the texts of algorithms separated by commas, such as ``gibbs,rates_fpcd:eps=0.1,k=2``."""
    # A comma before "k=2" separates knobs of one algorithm; every other comma begins the next algorithm.
    return [part.strip() for part in re.split(r",(?![^,:]*=)", text)]


def range_of(cls: Any, name: str) -> WholeNumber:
    """Return the argument type with the range of a whole-number knob."""
    knob = knobs_of(cls)[name]
    return WholeNumber(int(knob.lo), int(knob.hi))


def add_knobs(command: Parser, table: Table) -> None:
    """Let a command take the knobs of all algorithms of a table, and list them in its help."""
    command.set_defaults(takes_knobs=True)
    command.epilog = f"{command.epilog}\n{knob_help(table, list(table))}".replace("%", "%%")


def knob_help(table: Table, names: Sequence[str]) -> str:
    """Return the lines of ``--help`` that list the knobs, starting with the shared ones.

    All algorithms declare a shared knob with the same range and help; the line names defaults that differ.
    """
    knobs = [knobs_of(table[name]) for name in names]
    shared = [
        name
        for name, first in knobs[0].items()
        if len(names) > 1
        and all(
            name in of and (of[name].help, of[name].range_text) == (first.help, first.range_text)
            for of in knobs
        )
    ]
    lines = []
    if shared:
        lines.append(f"\nknobs of all {table.kind}s:")
    for knob in (knobs[0][name] for name in shared):
        defaults = {
            name: of[knob.name].text(of[knob.name].default) for name, of in zip(names, knobs, strict=True)
        }
        common = Counter(defaults.values()).most_common(1)[0][0]
        others = [f"{name} {default}" for name, default in defaults.items() if default != common]
        lines.append(_knob_line(knob, "; ".join([common, *others])))
    for name, of in zip(names, knobs, strict=True):
        if own := [knob for knob in of.values() if knob.name not in shared]:
            lines.append(f"\nknobs of {name}:")
        lines += [_knob_line(knob, knob.text(knob.default)) for knob in own]
    return "\n".join(lines)


def _knob_line(knob: Knob, default: str) -> str:
    flag = f"--{knob.name.replace('_', '-')}"
    return f"  {flag:<16} {knob.help} {knob.range_text}; default {default}"
