"""Records of scalars: state that kernels and plain Python read and write by name, ``record.field += 1``.

To a kernel a record is one pointer, where an array is seven words, and what a kernel writes to it stays.
"""

import operator
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

FIELD_TYPES: dict[type, type] = {int: np.int64, float: np.float64, bool: np.bool_}


def record(declared: type[T]) -> type[T]:
    """Make a class of annotated fields (int, float, bool) a numpy scalar with these fields.

    numpy's own ``np.record`` would do, but its attributes are looked up in Python: reading one takes six
    times as long, and so does handing a record to a kernel.
    """

    def field(name: str) -> property:
        return property(operator.itemgetter(name), lambda self, value: operator.setitem(self, name, value))

    names = declared.__annotations__
    members: dict[str, Any] = {name: field(name) for name in names}
    members |= {"__doc__": declared.__doc__, "__slots__": ()}
    made: Any = type(declared.__name__, (np.void,), members)
    fields = np.dtype([(name, FIELD_TYPES[kind]) for name, kind in names.items()], align=True)
    made.layout = np.dtype((made, fields))
    return made


def new_record(kind: type[T], **values: float) -> T:
    """Return a record of a class that ``record`` has made, with these values and zeros elsewhere."""
    made = np.zeros(1, kind.layout)[0]  # type: ignore[attr-defined]
    for name, value in values.items():
        made[name] = value
    return made


def record_bytes(kind: type) -> int:
    """Return the bytes of a record's fields."""
    return kind.layout.itemsize  # type: ignore[attr-defined]
