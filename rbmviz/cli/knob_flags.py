"""Knobs as command-line flags: ``--eps 0.03``, ``--max-sweeps=20``."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rbmviz.cli import WholeNumber
from rbmviz.errors import BadInput
from rbmviz.knobs import Knob, check_names, knobs_of, parse_knobs, read_knobs
from rbmviz.registry import Table


def texts_by_knob(rest: Sequence[str], name: str) -> dict[str, str]:
    """Return the text of each knob, by name, in the arguments that the command itself does not declare.

    name : of the algorithm, or several, for messages
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
    """Return the algorithms of texts like ``rates_fpcd:eps=0.1,k=2``, or of bare names.

    Parameters
    ----------
    table : Table
        Samplers or trainers.
    texts : sequence of str
        One text for each algorithm; the knobs in a text are set for that algorithm only.
    rest : sequence of str
        Arguments that the command itself does not declare: knobs as flags. A flag sets the knob of every
        algorithm that has it and whose text does not name it.

    Raises
    ------
    BadInput
        If an algorithm or a knob is unknown, a value is out of range, or a flag sets no knob.
    """
    classes = [table[text.partition(":")[0]] for text in texts]
    flags = texts_by_knob(rest, " and ".join(cls.name for cls in classes))
    accepted, used, algorithms = set(), set(), []
    for cls, text in zip(classes, texts, strict=True):
        own, knobs = read_knobs(cls, text.partition(":")[2]), knobs_of(cls)
        mine = [flag for flag in flags if flag in knobs]
        free = [flag for flag in mine if flag not in own]
        accepted.update(mine)
        used.update(free)
        algorithms.append(cls(**own, **parse_knobs(cls, {flag: flags[flag] for flag in free})))
    check_names(classes[0], {flag: "" for flag in flags if flag not in accepted})
    if idle := accepted - used:
        raise BadInput(
            f"{texts[0]}: {min(idle)} is given twice, as a flag and behind the colon; give it once."
        )
    return algorithms


def split_algorithms(text: str) -> list[str]:
    """Return the texts of algorithms that are separated by commas, as ``gibbs,rates_fpcd:eps=0.1,k=2``."""
    # A comma before "k=2" separates knobs of one algorithm; every other comma begins the next algorithm.
    return [part.strip() for part in re.split(r",(?![^,:]*=)", text)]


def range_of(cls: Any, name: str) -> WholeNumber:
    """Return the argument type with the range of a whole-number knob."""
    knob = knobs_of(cls)[name]
    return WholeNumber(int(knob.lo), int(knob.hi))


def knob_help(table: Table, names: Sequence[str]) -> str:
    """Return the lines of ``--help`` that list the knobs, starting with the shared ones.

    All algorithms declare a shared knob with the same range and help; uncommon defaults are named.
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
