"""The grammar of links: conversion of a page's address from text to algorithms and back.

A link names the algorithms of the panels, ``rates_fpcd:eps=0.03,k=2``, and values of settings; the others
keep their defaults. The app writes every knob of a panel, so that an address opens the same runs even after a
default has changed.
"""

import math
from collections.abc import Collection, Sequence
from typing import Any

from rbmviz.errors import MAX_SHOWN, BadInput
from rbmviz.knobs import values_of, write_algorithm
from rbmviz.registry import Table

NO_PANEL = "none"
"""Entry in a link for a page without panels."""


def read_panels(table: Table, texts: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Return the algorithms that can be read, and one sentence for each that cannot."""
    read, refused = [], []
    for text in texts:
        try:
            read.append(table.read(text))
        except BadInput as error:
            refused.append(f"The link's panel '{text[:MAX_SHOWN]}' is left out. {error}")
    return read, refused


def write_changed_panel(algorithm: Any) -> str:
    """Write a sampler or trainer with the knobs that differ from their defaults: ``gibbs:k=2``."""
    default = values_of(type(algorithm)())
    return write_algorithm(
        algorithm, [name for name, value in values_of(algorithm).items() if value != default[name]]
    )


def write_panels(algorithms: Sequence[Any], only: Collection[str] | None = None) -> list[str]:
    """Write the panels of a page; ``only`` limits the knobs to these names (None: all)."""
    return [write_algorithm(algorithm, only) for algorithm in algorithms] or [NO_PANEL]


def address_text(value: Any) -> str:
    """Return the value of a setting as written in the address; infinity is "full", for full speed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "full" if math.isinf(value) else f"{value:g}"
    return str(value)


def address_texts(value: Any) -> list[str]:
    """Return the values of a setting as written in the address; several if it is a list of choices."""
    return [address_text(x) for x in value] if isinstance(value, list) else [address_text(value)]
