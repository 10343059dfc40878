"""Readouts: numbers under the pictures of a panel, declared once in Python and drawn by ``readouts.js``."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Format = Literal[
    "fixed1",
    "fixed2",
    "fixed3",
    "signed2",
    "digits3",
    "precision2",
    "precision3",
    "compact",
    "share",
    "plus_minus",
    "of",
    "pair",
]
"""How a number is written: ``FORMATS`` in ``readouts.js`` has the same names, as a test makes sure."""

Value = float | str | tuple[float, float] | None
"""A number, two numbers ("of", "pair"), words that are shown as they are, or None: not known yet."""


@dataclass(frozen=True)
class Readout:
    """A number that a panel shows while its run goes on.

    Parameters
    ----------
    name : str
        Its key in the frames.
    label, help : str
        Texts on the page; ``help`` is one sentence that says what to look for.
    value : callable
        Its value in a snapshot. NaN and infinity are shown as not known.
    format : str
        How numbers are written.
    unit : str
        What is written behind a number; empty if the help names the unit.
    slow : bool
        Whether it is sent only with the slow parts of a frame: for values that take long to compute.
    """

    name: str
    label: str
    help: str
    value: Callable[[Any], Value]
    format: Format = "digits3"
    unit: str = ""
    slow: bool = False

    def spec(self) -> dict[str, str]:
        """Return what the page needs to draw it, as JSON values."""
        return {name: getattr(self, name) for name in ("name", "label", "help", "format", "unit")}


def finite(value: Any) -> Any:
    """Return a value for JSON: None in the place of every number that is not finite, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [finite(part) for part in value]
    return value


def digits3(x: float) -> str:
    """Return a number as text, as the format "digits3" writes it."""
    return f"{float(f'{x:.3g}'):.15g}"
