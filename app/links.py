"""Panels as text in the page's address, so that a link reproduces what is on the screen."""

from collections.abc import Collection
from typing import Any

from rbmviz import BadInput
from rbmviz.knobs import check_names, knobs_of, values_of
from rbmviz.registry import Table


def write_panel(algorithm: Any, only: Collection[str] | None = None) -> str:
    """Write a sampler or trainer: ``rates_fpcd:eps=0.03,alpha=1.0,k=1,statistics=sampled``."""
    return f"{algorithm.name}:{write_knobs(algorithm, only)}"


def write_knobs(algorithm: Any, only: Collection[str] | None = None) -> str:
    """Write the knobs alone: ``eps=0.03,alpha=1.0``; ``only`` those that matter on a page, None: all."""
    values = values_of(algorithm)
    return ",".join(
        f"{name}={knob.text(values[name])}"
        for name, knob in knobs_of(algorithm).items()
        if only is None or name in only
    )


def read_knobs(cls: Any, text: str) -> dict[str, Any]:
    """Read what write_knobs writes; some may be left out.

    Raises
    ------
    BadInput
        Where a knob is unknown or out of range.
    """
    given = dict(pair.partition("=")[::2] for pair in text.split(",") if pair)
    check_names(cls, given)
    known = knobs_of(cls)
    return {knob: known[knob].parse(value, cls.name) for knob, value in given.items()}


def read_panel(table: Table, text: str) -> Any:
    """Read what write_panel writes; knobs left out take their defaults.

    Raises
    ------
    BadInput
        Where the algorithm or a knob is unknown, or a value is out of range.
    """
    name, _, knobs = text.partition(":")
    cls = table[name]
    return table.make(name, **read_knobs(cls, knobs))


def read_panels(table: Table, texts: list[str]) -> tuple[list[Any], list[str]]:
    """Return the algorithms that can be read, and one sentence for each that cannot."""
    read, refused = [], []
    for text in texts:
        try:
            read.append(read_panel(table, text))
        except BadInput as error:
            refused.append(f"The link's panel '{text}' is left out. {error}")
    return read, refused
