"""The metadata of a model: the known keys, and the check of their values."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, quoted
from rbmviz.files.arrays import printable

MAX_TEXT = 5000
"""Maximum length in characters of one text; a path has at most 4,096."""

MAX_DEPTH, MAX_VALUES = 8, 10_000
"""Maximum depth of nesting, and maximum number of values in all."""

INTEGER_LIMIT = 2**128
"""Whole numbers, seeds included, must be smaller."""


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shape(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_count(n) and n >= 1 for n in value)


def _knobs(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(knob, dict | list) for knob in value.values())


def _scores(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _number(value.get("log_likelihood") or 0)
        and isinstance(isl := value.get("isl_10000") or {}, dict)
        and all(map(_number, isl.values()))
    )


def _reference(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(line, dict) and _number(line.get("isl")) and _count(line.get("n"))
        for line in value.values()
    )


SCHEMA_OF_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "dataset": (_text, "the name of its training data"),
    "scored_on": (_text, "the name of the data that it is scored on"),
    "binarisation": (_text, "the sentence that says how the bits were made"),
    "source": (_text, "a sentence about whose data they are"),
    "image_shape": (_shape, "two whole numbers, [rows, columns]"),
    "trainer": (_text, "the name of its trainer"),
    "knobs": (_knobs, "an object with a value for each knob"),
    "seed": (_count, "a whole number"),
    "updates": (_count, "a whole number"),
    "scores": (_scores, 'an object of numbers, {"log_likelihood": ..., "isl_10000": {sampler: ...}}'),
    "reference": (_reference, 'an object {kernel: {"isl": number, "n": whole number}}'),
    "command": (_text, "the command that trained it"),
}
"""Key -> (check of a value that is not null, description of a valid value for the error message)."""


def data_name(meta: Mapping[str, Any]) -> str | None:
    """Return the name of the data that a model is scored on, or else was trained on."""
    return meta.get("scored_on") or meta.get("dataset")


def checked(meta: Any, what: str = "The metadata") -> dict[str, Any]:
    """Return a checked copy of a model's metadata; ``what`` is its name at the beginning of an error message.

    Known keys hold None or a value valid under ``SCHEMA_OF_KEYS``; all other keys hold JSON values of bounded
    size. Control characters in texts become spaces; NaN and infinity, which JSON does not have, become None.

    Raises BadInput if a value has the wrong type, is too long, or is nested too deeply.
    """
    if not isinstance(meta, Mapping):
        raise BadInput(f"{what} must be an object of names and values, not {quoted(meta)}.")
    left = [MAX_VALUES]
    cleaned = {
        _key(key, what): _json(value, f"{what}, {quoted(key)}", 1, left) for key, value in meta.items()
    }
    for key, (passes, wanted) in SCHEMA_OF_KEYS.items():
        if cleaned.get(key) is not None and not passes(cleaned[key]):
            raise BadInput(f"{what}: {key} is {quoted(cleaned[key])}; it must be {wanted}.")
    return cleaned


def _key(key: Any, what: str) -> str:
    if not isinstance(key, str) or len(key) > 200:
        raise BadInput(f"{what}: the name {quoted(key)} must be a text of at most 200 characters.")
    return printable(key)


def _json(value: Any, what: str, depth: int, left: list[int]) -> Any:
    """Return a checked JSON value; ``left`` holds one number, the count of values still allowed."""
    left[0] -= 1
    if depth > MAX_DEPTH or left[0] < 0:
        raise BadInput(
            f"{what}: at most {MAX_VALUES:,} values are kept, nested {MAX_DEPTH} deep: leave some out."
        )
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool():
            return value
        case str():
            if len(value) > MAX_TEXT:
                raise BadInput(f"{what}: the text has {len(value):,} characters; {MAX_TEXT:,} are the most.")
            return printable(str(value))
        case int():
            if not -INTEGER_LIMIT < value < INTEGER_LIMIT:
                raise BadInput(f"{what}: a whole number has more than 38 digits.")
            return int(value)
        case float():
            return float(value) if np.isfinite(value) else None
        case list() | tuple():
            return [_json(item, what, depth + 1, left) for item in value]
        case Mapping():
            return {_key(key, what): _json(item, what, depth + 1, left) for key, item in value.items()}
    raise BadInput(
        f"{what}: {quoted(value)} is not a JSON value: give a text, a number, a list or an object."
    )
