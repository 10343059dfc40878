"""Structured scalars that kernels and Python read and write by name: ``state[0].field += 1``.

A structured scalar lives in an array of length 1, because numba takes 0.7 microseconds longer to pass it
alone. Within a kernel ``state[0]`` is one pointer, where an array is seven words.
"""

import operator
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

FIELD_TYPES: dict[type, type] = {int: np.int64, float: np.float64, bool: np.bool_}


def structured(declared: type[T]) -> type[T]:
    """Make a class of annotated fields (int, float, bool) a numpy scalar with these fields.

    ``np.record`` looks attributes up in Python, which takes six times as long.
    """

    def field(name: str) -> property:
        return property(operator.itemgetter(name), lambda self, value: operator.setitem(self, name, value))

    names = declared.__annotations__
    members: dict[str, Any] = {name: field(name) for name in names}
    members |= {"__doc__": declared.__doc__, "__slots__": ()}
    scalar: Any = type(declared.__name__, (np.void,), members)
    fields = np.dtype([(name, FIELD_TYPES[kind]) for name, kind in names.items()], align=True)
    scalar.layout = np.dtype((scalar, fields))
    return scalar


def new_record(kind: type, **values: float) -> np.ndarray:
    """Return an array of one ``structured`` scalar; fields without a value are 0."""
    array: Any = np.zeros(1, kind.layout)  # type: ignore[attr-defined]
    for name, value in values.items():
        array[name] = value
    return array
