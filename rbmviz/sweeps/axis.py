"""An axis of a sweep: the values that it gives to one knob."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rbmviz.errors import BadInput, quoted, unknown
from rbmviz.knobs import Knob, Value, knobs_of
from rbmviz.support.checks import whole

MAX_VALUES_OF_AXIS = 10_000
"""Maximum number of values of one axis."""

SCALES = ("log", "linear", "log1m")
"""Spacing of the values of an axis: equal ratios of x, equal steps, or equal ratios of 1 - x."""

LEAST_BELOW_1 = 0.001
"""Distance from 1 of the last value below 1 on a log1m axis that ends at 1, where 1 - x has no logarithm."""


@dataclass(frozen=True)
class Axis:
    """The values that a sweep gives to one knob.

    Parameters
    ----------
    knob : str
        Name of the knob.
    values : sequence of int, float, bool or str
        One or more distinct values; the plan checks them against the knob's range.

    Raises
    ------
    BadInput
        If there are no values, more than ``MAX_VALUES_OF_AXIS``, or a value occurs twice.
    """

    knob: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        what = f"The axis {quoted(self.knob)}"
        if not isinstance(self.knob, str):
            raise BadInput(f"{what} is not the name of a knob: give a text, as 'eps'.")
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise BadInput(f"{what} has the values {quoted(self.values)}: give a list.")
        values = tuple(value.item() if isinstance(value, np.generic) else value for value in self.values)
        if not values:
            raise BadInput(f"{what} is empty: give it at least one value.")
        if len(values) > MAX_VALUES_OF_AXIS:
            raise BadInput(f"{what} has {len(values):,} values: give {MAX_VALUES_OF_AXIS:,} at most.")
        for value in values:
            if not isinstance(value, int | float | str):
                raise BadInput(f"{what}: {quoted(value)} is not a number, text or bool.")
        refuse_twice(f"value of the axis '{self.knob}'", values)
        object.__setattr__(self, "values", values)

    @classmethod
    def spaced(cls, knob: Knob, lo: float, hi: float, n: int, scale: str = "") -> Self:
        """Return an axis of about n values from lo to hi inclusive, rounded for a whole-number knob.

        Parameters
        ----------
        knob : Knob
            The knob, which has a kind, a range and a scale.
        lo, hi : float
            Ends of the axis, lo <= hi; positive on a log scale.
        n : int
            Number of values, at least 1. Values on a log scale are rounded to four digits.
        scale : "linear", "log", "log1m" or ""
            Spacing (default "": the scale of the knob's slider). "log1m" is a log scale of 1 - x, for knobs
            whose values close to 1 matter: if hi is 1, it ends with ``1 - LEAST_BELOW_1`` and 1.

        Raises
        ------
        BadInput
            If the knob is not a number, or the ends do not fit the scale.
        """
        if knob.kind not in (int, float):
            raise BadInput(f"The knob {knob.name} is not a number: list its values, {knob.range_text}.")
        n = whole(f"The axis {knob.name}: the number of values", n, 1, MAX_VALUES_OF_AXIS)
        scale = scale or knob.scale
        log = scale == "log"
        if scale == "log1m":
            return cls(knob.name, _below_1(knob, lo, hi, n))
        if not (math.isfinite(lo) and math.isfinite(hi)) or lo > hi or (log and lo <= 0):
            raise BadInput(
                f"The axis {knob.name} cannot run from {quoted(lo)} to {quoted(hi)}: give the smaller number "
                f"first{', both above 0 on a log scale' if log else ''}."
            )
        spaced = np.geomspace(lo, hi, n) if log else np.linspace(lo, hi, n)
        texts = [f"{x:.4g}" if log else f"{x:.10g}" for x in spaced]
        ends = {0: lo, n - 1: hi} if n > 1 else {0: lo}
        # After rounding, a value next to an end may lie beyond that end.
        numbers = [ends.get(i, min(max(float(text), lo), hi)) for i, text in enumerate(texts)]
        values = dict.fromkeys(round(x) if knob.kind is int else float(x) for x in numbers)
        return cls(knob.name, tuple(values))

    @classmethod
    def read(cls, text: str, algorithms: Sequence[Any]) -> Self:
        """Parse an axis, such as ``eps=0.01,0.03,0.1``, ``eps=0.001:1:13`` or ``alpha=0.9:1:5:linear``.

        Parameters
        ----------
        text : str
            A knob, and values or ``lo:hi:n``, optionally with a scale (default: the slider's).
        algorithms : sequence
            Samplers or trainers (classes or instances), at least one of which has the knob.

        Raises
        ------
        BadInput
            If no algorithm has the knob, or the values cannot be read.
        """
        name, equals, rest = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise BadInput(
                f"The axis {quoted(text)} gives no values: write it as eps=0.01,0.1 or eps=0.001:1:13."
            )
        knob = knob_named(name, algorithms)
        if ":" not in rest:
            return cls(knob.name, tuple(knob.parse(x.strip(), "axis") for x in rest.split(",") if x.strip()))
        try:
            parts = rest.split(":")
            if parts[0] in ("lin", *SCALES):  # the scale may also come first, lin:0.1:1:4
                first = parts.pop(0)
                parts.append("linear" if first == "lin" else first)
            lo, hi, n, *scale = parts
            if len(scale) > 1 or not {*scale} <= {*SCALES}:
                raise ValueError
            ends = float(lo), float(hi), int(n)
        except ValueError:
            raise BadInput(
                f"The axis {quoted(text)} cannot be read: write lo:hi:number, as eps=0.001:1:13, followed "
                "by ':log', ':linear' or ':log1m' if needed."
            ) from None
        return cls.spaced(knob, *ends, *scale)


def _below_1(knob: Knob, lo: float, hi: float, n: int) -> tuple[float, ...]:
    """Return about n values from lo to hi with equal ratios of 1 - x; if hi is 1, the last value is 1."""
    last = 1 - LEAST_BELOW_1 if hi == 1 else hi
    if n == 1:
        return (lo,)
    if knob.kind is not float or not 0 <= lo < last < 1:
        raise BadInput(
            f"The axis {knob.name} cannot run from {quoted(lo)} to {quoted(hi)} on a log scale of 1 - x: "
            f"give numbers from 0 to 1, the smaller one first and below {1 - LEAST_BELOW_1:g}."
        )
    distances = np.geomspace(1 - lo, 1 - last, max(n - (hi == 1), 1))
    values = [lo, *(float(f"{1 - x:.4g}") for x in distances[1:-1]), last][: len(distances)]
    return tuple(dict.fromkeys((*values, *((1.0,) if hi == 1 else ()))))


def knob_named(name: str, algorithms: Sequence[Any]) -> Knob:
    """Return a knob from the first of these algorithms that has it; BadInput if none does."""
    for algorithm in algorithms:
        if name in knobs_of(algorithm):
            return knobs_of(algorithm)[name]
    names = {knob for algorithm in algorithms for knob in knobs_of(algorithm)}
    raise unknown("knob", name, names)


def refuse_twice(what: str, names: Sequence[Any]) -> None:
    """Raise BadInput if a name occurs twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise BadInput(f"The {what} {quoted(twice[0])} occurs twice in the sweep: give it once.")
