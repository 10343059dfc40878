"""Checks of numbers and arrays from callers. Public functions check once; kernels check sizes only."""

from numbers import Real
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, quoted

MAX_EXACT_INTEGER = 2**53
"""Largest accepted whole number: float64 does not represent every whole number beyond it."""


def whole(what: str, x: Any, lo: int = 0, hi: int = MAX_EXACT_INTEGER) -> int:
    """Return x as an int, after checking that it is a whole number from lo to hi, both included.

    what : name of the number in the error message, such as ``couple: lag``
    x : value to check; a bool is refused, a whole float such as 3.0 is accepted
    lo, hi : range (default 0 to 2^53)

    Raises BadInput if x is not such a number.
    """
    is_number = isinstance(x, Real) and not isinstance(x, bool)
    if is_number and lo <= x <= hi and x == int(x):
        return int(x)
    upper = "up" if hi == MAX_EXACT_INTEGER else f"to {hi:,}"
    raise BadInput(f"{what} = {quoted(x)} is not valid: give a whole number from {lo} {upper}.")


def numbers(what: str, x: Any) -> np.ndarray:
    """Return x as an array of real numbers; the values are not checked.

    what : name of the array in the error message
    x : booleans, integers or floats of any shape

    Raises BadInput if x is ragged, or holds texts, objects or complex numbers.
    """
    try:
        array = np.asarray(x)
    except (ValueError, TypeError, OverflowError):
        raise BadInput(f"{what}: this is not an array; give rows of numbers of equal length.") from None
    if array.dtype.kind not in "buif":
        raise BadInput(f"{what}: the values are of type {array.dtype}; give an array of numbers.")
    return array


def bits(what: str, x: Any, n_visible: int | None = None, least: int = 1) -> np.ndarray:
    """Return x as binary rows, uint8 (n, n_visible) in C order.

    what : name of the array in the error message
    x : array_like (n, n_visible); rows of 0 and 1
    n_visible : required length of a row (default: any)
    least : smallest number of rows, 1 (default) or 0

    Raises BadInput if x has another shape, too few rows, or values other than 0 and 1.
    """
    rows = numbers(what, x)
    if rows.ndim != 2 or n_visible not in (None, rows.shape[1]) or (least and not rows.size):
        width = "n_visible" if n_visible is None else n_visible
        raise BadInput(f"{what}: the shape is {rows.shape}; it must be (n, {width}){', n > 0' * least}.")
    is_uint8 = rows.dtype == np.uint8  # the case of most rows, whose maximum is quick
    if not (rows.max(initial=0) <= 1 if is_uint8 else ((rows == 0) | (rows == 1)).all()):
        raise BadInput(f"{what}: not all values are 0 or 1; binarise them, for example by a threshold.")
    return np.ascontiguousarray(rows, dtype=np.uint8)
