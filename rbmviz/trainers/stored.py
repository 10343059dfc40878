"""What a checkpoint may hold in a field of a training's state: metadata of the field, beside its type."""

from dataclasses import dataclass
from typing import Any

NOT_SAVED = {"saved": False}
"""Metadata of a field of a state that is not the training's own: no checkpoint holds it."""


@dataclass(frozen=True)
class Stored:
    """What a checkpoint may hold in a field of a state, where the state that ``init`` makes does not tell.

    Without it an array has the fresh one's shape and type, and no NaN or negative count unless that has; a
    number lies between 0 and 2^53; None stays None.

    Parameters
    ----------
    shape : tuple
        Sizes of an array that may change its shape, or None at first: numbers, "n_visible", "n_hidden", or
        another word for any number from 1 up, the same wherever the word stands in one record.
    dtypes : tuple of str
        Types of an array, if it may have another one than the fresh array, or be None at first.
    bits : bool
        Every value is 0 or 1.
    lanes : bool
        Random states of kernels, (..., 4, lanes): no lane is 0 throughout, for it would stay so.
    share : bool
        Every value lies between 0 and 1.
    rows : bool
        Numbers of rows of the data, no two alike, as many or as few as there are.
    like : str
        A field of the same record: this one is None, or parameters of those shapes.
    """

    shape: tuple[int | str, ...] = ()
    dtypes: tuple[str, ...] = ()
    bits: bool = False
    lanes: bool = False
    share: bool = False
    rows: bool = False
    like: str = ""


def stored(**more: Any) -> dict[str, Stored]:
    """Return the metadata of a field with a ``Stored``."""
    return {"stored": Stored(**more)}


def stored_rows(n: str) -> dict[str, Stored]:
    """Return the metadata of rows of 0 and 1, n of them, see ``Stored.shape``; or none yet."""
    return stored(shape=(n, "n_visible"), dtypes=("float32",), bits=True)
