"""Numbers and arrays that a person hands over, checked once, at the door: kernels behind it check nothing."""

from numbers import Real
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, shown

LARGEST_EXACT = 2**53
"""Largest whole number that is taken: beyond it float64 does not count by ones."""


def whole(what: str, x: Any, lo: int = 0, hi: int = LARGEST_EXACT) -> int:
    """Return a whole number between lo and hi, both allowed.

    Raises
    ------
    BadInput
        Where x is none; ``what`` is what a message calls it: ``couple: lag``.
    """
    is_number = isinstance(x, Real) and not isinstance(x, bool)
    if is_number and lo <= x <= hi and x == int(x):
        return int(x)
    upper = "up" if hi == LARGEST_EXACT else f"to {hi:,}"
    raise BadInput(f"{what} = {shown(x)} does not do: give a whole number from {lo} {upper}.")


def numbers(what: str, x: Any) -> np.ndarray:
    """Return an array of real numbers, its values not looked at.

    Raises
    ------
    BadInput
        Where x is ragged, or holds texts, objects or complex numbers.
    """
    try:
        found = np.asarray(x)
    except (ValueError, TypeError, OverflowError):
        raise BadInput(f"{what}: this is no array; give rows of numbers, equally long.") from None
    if found.dtype.kind not in "buif":
        raise BadInput(f"{what}: the values are of type {found.dtype}; give an array of numbers.")
    return found


def bits(what: str, x: Any, n_visible: int | None = None) -> np.ndarray:
    """Return rows of 0 and 1, uint8 (n, n_visible) in C order; of any n_visible where None is given.

    Raises
    ------
    BadInput
        Where x has another shape, no row, or other values.
    """
    rows = numbers(what, x)
    if rows.ndim != 2 or not rows.size or n_visible not in (None, rows.shape[1]):
        width = "n_visible" if n_visible is None else n_visible
        raise BadInput(f"{what}: the shape is {rows.shape}; it must be (n, {width}), n > 0.")
    if not ((rows == 0) | (rows == 1)).all():
        raise BadInput(f"{what}: not all values are 0 or 1; binarise them, by a threshold say.")
    return np.ascontiguousarray(rows, dtype=np.uint8)
