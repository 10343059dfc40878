"""The fields of a ``Dataset``, made from arrays: bits, parts, labels, names."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.errors import BadInput, quoted
from rbmviz.files.arrays import printable
from rbmviz.support import checks

Fields = dict[str, Any]

PARTS = ("train", "validation", "test")
"""The parts of a data set, in this order."""

MAX_CLASSES = 1000

MAX_WORD_LENGTH = 100
"""Most letters of a word of the vocabulary, or of the name of a class."""


def part_fields(rows: Iterable[np.ndarray], labels: Iterable[np.ndarray | None]) -> dict[str, Any]:
    """Return the rows and labels of PARTS as fields of a ``Dataset``."""
    fields: dict[str, Any] = dict(zip(PARTS, rows, strict=True))
    return fields | {f"{part}_labels": own for part, own in zip(PARTS, labels, strict=True)}


def _highest(name: str, what: str, values: np.ndarray) -> float:
    """Return the largest value of a table of numbers; raise BadInput unless all are from 0 to 255."""
    if values.dtype.kind not in "biuf" or values.ndim < 2 or not values.size:
        raise BadInput(f"'{name}': {what} must be a table of numbers, one row per example.")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 255:
        raise BadInput(
            f"'{name}': {what} must lie between 0 and 1, or between 0 and 255, without NaN: scale the "
            "values; they then become bits by a threshold, at one half unless another is chosen."
        )
    return float(values.max())


def _check_table(name: str, parts: Mapping[str, np.ndarray], rule: str, columns: Sequence[Any]) -> None:
    """Refuse a table in which other numbers stand beside bits, or whose unit is not known.

    parts : examples by part; only rows of numbers are a table, images are not
    columns : names of the columns; empty: they are counted from 1
    """
    x = parts["train"]
    if x.ndim != 2 or (rule != "bernoulli" and float(rule) >= 1):
        return
    low = np.min([part.min(axis=0) for part in parts.values()], axis=0)
    high = np.max([part.max(axis=0) for part in parts.values()], axis=0)
    bits = np.all([((part == 0) | (part == 1)).all(axis=0) for part in parts.values()], axis=0)
    others = np.flatnonzero(~bits)
    beside_bits = 0 < len(others) < (bits & (low < high)).sum()
    if beside_bits or (high.max() > 1 and x.dtype != np.uint8):
        named = [f"'{printable(str(columns[i]))[:40]}'" if len(columns) else f"{i + 1}" for i in others[:5]]
        which = f"{', '.join(named)}{', ...' * (len(others) > 5)}"
        raise BadInput(
            f"'{name}': column {which} holds other numbers than 0 and 1, up to {high[others].max():g}, and a "
            "table does not say whether they are grey levels from 0 to 255: leave it out, give the threshold "
            "in its unit, as 127, or divide by the largest."
        )


def _labels(name: str, y: str, x: str, labels: np.ndarray | None, n: int) -> np.ndarray | None:
    if labels is None:
        return None
    if (
        labels.shape != (n,)
        or labels.dtype.kind not in "iu"
        or not 0 <= labels.min() <= labels.max() < MAX_CLASSES
    ):
        raise BadInput(
            f"'{name}': {y} must hold one whole number from 0 to {MAX_CLASSES - 1} for each row of {x}."
        )
    return labels.astype(np.int64)


def in_parts(name: str, x: dict[str, np.ndarray], y: dict[str, np.ndarray | None], **fields: Any) -> Fields:
    """Return all fields; missing parts are held out of the training rows at random, with a fixed seed.

    x, y : rows and labels by part, which are changed in place
    **fields : the other fields of the ``Dataset``
    """
    rows, labels = x["train"], y.get("train")
    order = rng.generator(0, "split own data").permutation(len(rows))
    share = max(len(rows) // 10, 1)
    for part in ("validation", "test"):
        if part not in x:
            if len(order) < 3:
                raise BadInput(f"'{name}' has too few examples to hold any out; give at least four.")
            taken, order = order[:share], order[share:]
            x[part], y[part] = rows[taken], None if labels is None else labels[taken]
    kept = np.sort(order)
    x["train"], y["train"] = rows[kept], None if labels is None else labels[kept]
    parts = part_fields((x[part] for part in PARTS), (y.get(part) for part in PARTS))
    return {"name": name, **parts, **fields}


def fields_of(
    name: str,
    arrays: dict[str, np.ndarray],
    rule: str,
    called: Callable[[str], str] = lambda array: array,
    vocabulary: tuple[str, ...] | None = None,
    columns: Sequence[Any] = (),
) -> Fields:
    """Return the fields of x_train, y_train, ...; ``called`` gives an array's name in error messages."""
    image = arrays["x_train"].shape[1:]
    raw = {part: arrays.pop(f"x_{part}") for part in PARTS if f"x_{part}" in arrays}
    highest = max(_highest(name, called(f"x_{part}"), rows) for part, rows in raw.items())
    if len({part.shape[1:] for part in raw.values()}) == 1:  # else the record refuses them
        _check_table(name, raw, rule, columns)
    y = {
        part: _labels(name, called(f"y_{part}"), called(f"x_{part}"), arrays.get(f"y_{part}"), len(rows))
        for part, rows in raw.items()
    }
    # One scale for the whole file: a part whose grey levels are all below 1 must not be read as bits.
    bits = highest <= 1
    if bits and rule != "bernoulli" and float(rule) >= 1:
        raise BadInput(f"'{name}': the values lie between 0 and 1: give a threshold between 0 and 1.")
    x = {}
    for part in list(raw):
        x[part] = binarised(raw.pop(part), rule, "own", part, 255.0 if bits else 1.0)
    largest = max((int(part.max()) for part in y.values() if part is not None), default=-1)
    return in_parts(
        full_name(name, rule),
        x,
        y,
        binarisation=f"values from 0 to {1 if bits else 255}: {sentence(rule)}",
        source=f"the file {Path(name).name}",
        classes=tuple(str(c) for c in range(largest + 1)),
        image_shape=(int(image[0]), int(image[1])) if len(image) == 2 else None,
        vocabulary=vocabulary,
    )


def given_fields(
    name: str,
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    binarise: str | float,
    image_shape: tuple[int, int] | None,
) -> Fields:
    """Return the fields of a data set of arrays given in Python; see ``Dataset.from_arrays``.

    x, y : x_train, x_validation, x_test; y_train, ...; those that are not given are None
    """
    rule = rule_of(binarise, f"'{name}'", 255)
    arrays = {
        key: checks.numbers(f"'{name}': {key.removesuffix('_train')}", rows)
        for key, rows in x.items()
        if rows is not None
    }
    labels = {
        key: _array(
            values, f"'{name}': {key.removesuffix('_train')} is not a list of classes, one for each row."
        )
        for key, values in y.items()
        if values is not None
    }
    for key in labels:
        if f"x{key[1:]}" not in arrays:
            raise BadInput(f"'{name}': there are labels {key} without x{key[1:]}: give both.")
    classes: tuple[str, ...] = ()
    if any(values.dtype.kind not in "iu" for values in labels.values()):
        words = {key: values.astype(str) for key, values in labels.items()}
        classes = tuple(np.unique(np.concatenate([values.ravel() for values in words.values()])).tolist())
        labels = {key: np.searchsorted(classes, values) for key, values in words.items()}
    columns = getattr(x["x_train"], "columns", ())
    fields = fields_of(name, arrays | labels, rule, lambda key: key.removesuffix("_train"), None, columns)
    shape, width = fields["image_shape"], fields["train"].shape[1]
    if image_shape is not None:
        sides = tuple(image_shape) if np.iterable(image_shape) else ()
        if len(sides) != 2:
            raise BadInput(
                f"'{name}': image_shape = {quoted(image_shape)} is not two numbers, (rows, columns)."
            )
        rows, columns = (checks.whole(f"'{name}': image_shape", side, 1) for side in sides)
        shape = rows, columns
    if shape is not None and math.prod(shape) != width:
        raise BadInput(f"'{name}': a row has {width} values, not {shape[0]} x {shape[1]}.")
    own = {"image_shape": shape, "classes": classes or fields["classes"], "source": "arrays given in Python"}
    return fields | own


def _array(values: Any, otherwise: str) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        raise BadInput(otherwise) from None
