"""Readouts: numbers under the pictures of a panel, as data for the page (``readouts.js``)."""

import math
from collections.abc import Iterable
from typing import Any

from rbmviz.metrics.numbers import Number
from rbmviz_app.formulas import mathml, prose

LEADING = 2
"""Number of large readouts at the top of a panel, which answer the page's question; others are folded."""


def readout_specs(numbers: Iterable[Number]) -> list[dict[str, Any]]:
    """Return the data for drawing a panel's numbers, as JSON values.

    The label of a number is a button that opens its explanation, formula and source.
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
    """Return a value for JSON: None for every number that is not finite, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [finite(part) for part in value]
    return value
