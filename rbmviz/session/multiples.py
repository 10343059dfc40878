"""Variants of a panel: one knob at three times or a third of its value, or at four values over its range."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from rbmviz.knobs import Knob, Value, check_names, knobs_of, values_of

FACTOR = 3.0
"""Ratio of neighbouring values on a logarithmic scale; two steps are about a decade."""

VALUES = 4
"""Number of panels in a row of small multiples."""


class Multiple(NamedTuple):
    """Panels to open beside a panel: the knob that differs, and its values.

    instead : whether these panels and the original replace all other panels; False: they are added
    """

    knob: str
    values: tuple[Value, ...]
    instead: bool


def multiples_of(algorithm: Any) -> list[Multiple]:
    """Return the variants of a panel with this algorithm, over all its live numeric knobs."""
    multiples = []
    values = values_of(algorithm)
    for name, knob in knobs_of(algorithm).items():
        if not knob.live or knob.kind not in (int, float):
            continue
        value = values[name]
        if knob.scale == "log" and value:
            multiples += [
                Multiple(name, (near,), False)
                for near in (_scaled(knob, value, FACTOR), _scaled(knob, value, 1 / FACTOR))
                if near != value and knob.lo <= near <= knob.hi
            ]
        others = tuple(other for other in four_values(knob, value) if other != value)
        if others:
            multiples.append(Multiple(name, others, True))
    return multiples


def four_values(knob: Knob, value: Any) -> list[Any]:
    """Return up to four values of a knob over its range, including the given value, in order.

    On a logarithmic scale, each value is FACTOR times the previous value, and the given value comes second if
    there is room. On other scales, values are evenly spaced, and the given value replaces the nearest one.
    """
    if knob.scale == "log":
        start = value or _scaled(knob, knob.hi, FACTOR ** -(VALUES - 1))
        near = {_scaled(knob, start, FACTOR**power) for power in range(-VALUES, VALUES + 1) if power}
        allowed = sorted({x for x in near if knob.lo <= x <= knob.hi} | {start})
        first = max(0, min(allowed.index(start) - 1, len(allowed) - VALUES))
        chosen = allowed[first : first + VALUES]
        return chosen if value else [value, *chosen[1:]]
    span = [knob.lo + (knob.hi - knob.lo) * i / (VALUES - 1) for i in range(VALUES)]
    nearest = min(range(VALUES), key=lambda i: abs(span[i] - value))
    others = [round(x) if knob.kind is int else float(f"{x:.3g}") for x in span]
    return sorted({value, *others[:nearest], *others[nearest + 1 :]})


def _scaled(knob: Knob, value: Any, factor: float) -> Any:
    """Return a value times a factor, rounded to three digits."""
    x = float(f"{value * factor:.3g}")
    return round(x) if knob.kind is int else x


def with_knob(algorithm: Any, knob: str, values: Sequence[Any]) -> list[Any]:
    """Return a copy of the algorithm for each value of a knob; BadInput for an unknown knob or bad value."""
    check_names(type(algorithm), {knob: None})
    return [dataclasses.replace(algorithm, **{knob: value}) for value in values]
