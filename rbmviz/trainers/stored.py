"""What a checkpoint may contain for a field of a training's state, declared in the metadata of the field."""

from dataclasses import dataclass
from typing import Any

NOT_SAVED = {"saved": False}
"""Metadata of a field that is not saved, because the caller provides it: the training data."""


@dataclass(frozen=True)
class Stored:
    """What a checkpoint may contain for a field, beyond the state that ``init`` makes.

    A field without this metadata is compared with that initial state: an array must have the same shape and
    dtype, no negative integers, and no NaN or infinity (one that is all NaN at first may still be all NaN); a
    number must lie between 0 and 2^53; None must be None.

    Parameters
    ----------
    shape : tuple
        Shape of an array that changes its shape during training, or is None in the initial state. Each size
        is a number, "n_visible", "n_hidden", or another word: a size from 1 up, the same wherever the word
        appears in one record.
    dtypes : tuple of str
        Allowed dtypes, if they differ from the initial array's dtype, or if the array is None at first.
    bits : bool
        Whether every value must be 0 or 1.
    lanes : bool
        Whether the array is a random stream of kernels, (..., 4, lanes). No lane may be all zeros: its
        generator would return zeros forever.
    share : bool
        Whether every value must lie between 0 and 1.
    rows : bool
        Whether the values must be distinct indices of rows of the training data, however many.
    like : str
        Name of a field of the same record; this one must be None, or parameters of the same shapes.
    signed : bool
        Whether a number, or an array of integers, may lie below 0, down to -2^53.
    most : int or None
        Largest value of a number, or of an array of integers, as of indices; None: 2^53.
    """

    shape: tuple[int | str, ...] = ()
    dtypes: tuple[str, ...] = ()
    bits: bool = False
    lanes: bool = False
    share: bool = False
    rows: bool = False
    like: str = ""
    signed: bool = False
    most: int | None = None


def stored(**more: Any) -> dict[str, Stored]:
    """Return the metadata of a field with a ``Stored``."""
    return {"stored": Stored(**more)}


def stored_rows(n: str) -> dict[str, Stored]:
    """Return the metadata of an array (n, n_visible) of 0 and 1 that may be None; n: see ``Stored.shape``."""
    return stored(shape=(n, "n_visible"), dtypes=("float32",), bits=True)
