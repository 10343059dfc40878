"""The grammar of links: conversion of a page's address from text to algorithms and back.

A link names the algorithms of the panels, ``rates_fpcd:eps=0.03,k=2``, and values of settings; the others
keep their defaults. The app writes every knob of a panel, so that an address opens the same runs even after a
default has changed.
"""

import math
from collections.abc import Collection, Sequence
from typing import Any, Protocol

import numpy as np

from rbmviz.errors import MAX_SHOWN, BadInput
from rbmviz.knobs import read_algorithm, values_of, write_algorithm

NO_PANEL = "none"
"""Entry in a link for a page without panels."""


class Algorithms(Protocol):
    """Algorithms by name: a table of the registry, or a dictionary."""

    def __getitem__(self, name: str, /) -> Any: ...


def read_panels(table: Algorithms, texts: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Return the algorithms that can be read, and one sentence for each that cannot."""
    read, refused = [], []
    for text in texts:
        try:
            read.append(read_algorithm(table, text))
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


def read_number(text: str, what: str) -> float:
    """Return the finite number that a text holds; BadInput if it holds none."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"The link's {what} is left out: '{text[:MAX_SHOWN]}' is not a number.")
    return number


def write_matrix(A: np.ndarray) -> str:
    """Write a matrix, float64 (rows, columns), row by row: ``0.9,0.1;0.2,0.8``."""
    return ";".join(",".join(f"{p:.6g}" for p in row) for row in A)


def read_matrix(text: str, least: int, most: int) -> np.ndarray:
    """Return the square matrix in a text, float64 (n, n), with ``least`` to ``most`` rows of numbers 0 to 1.

    Raises
    ------
    BadInput
        If the text holds anything else; a larger matrix is never built.
    """
    rows = [row.split(",", most) for row in text.split(";", most)]
    if not least <= len(rows) <= most or {len(row) for row in rows} != {len(rows)}:
        raise BadInput(
            f"The link's matrix is left out: it is not square; give {least} to {most} rows as long, as "
            "0.9,0.1,0;0.1,0.8,0.1;0,0.5,0.5."
        )
    try:
        A = np.array([[float(p) for p in row] for row in rows])
    except ValueError:
        A = np.full((1, 1), np.nan)
    if not ((A >= 0) & (A <= 1)).all():
        raise BadInput("The link's matrix is left out: it holds something else than numbers from 0 to 1.")
    return A
