"""Readouts: numbers under the pictures of a panel, as the page needs them to draw them (``readouts.js``)."""

import math
from collections.abc import Iterable
from typing import Any

from rbmviz.metrics.numbers import Number
from rbmviz_app.formulas import mathml, prose

LEADING = 2
"""The first numbers of a panel, which answer the page's question, are large; the others are folded."""


def readout_specs(numbers: Iterable[Number]) -> list[dict[str, Any]]:
    """Return what the page needs to draw the numbers of a panel, as JSON values.

    The label of a number is a button, which opens what it says in words, then its formula, then where it is
    from.
    """
    return [
        {name: getattr(number, name) for name in ("name", "label", "format", "unit", "source")}
        | {
            "lead": i < LEADING,
            "help": prose(number.help),
            "formula": mathml(number.formula, "block") if number.formula else "",
        }
        for i, number in enumerate(numbers)
    ]


def finite(value: Any) -> Any:
    """Return a value for JSON: None in the place of every number that is not finite, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [finite(part) for part in value]
    return value
