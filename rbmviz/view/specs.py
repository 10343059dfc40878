"""Data that the scripts of panels draw: knobs, numbers, texts, the shape of pictures."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.datasets import Dataset
from rbmviz.knobs import Knob
from rbmviz.metrics.numbers import Number
from rbmviz.view.formulas import mathml, prose

HELD = (
    "While a part is held, samples follow the distribution of the rest given that part. So they are not "
    "compared with the whole model, the test data or the class shares of the data."
)
"""Why a panel has no ISL, no class coverage and no verdict."""

NOT_SCORED: Any = {"mark": "unsure", "verdict": "not scored: a part is held", "findings": [(HELD, "")]}
"""What such a panel says in place of a verdict, see ``VerdictHead`` in ``panel/verdict.js``."""

LEADING = 2
"""Number of large readouts at the top of a panel, which answer the page's question; others are folded."""


def readout_specs(numbers: Iterable[Number]) -> list[dict[str, Any]]:
    """Return the data for drawing a panel's numbers, as JSON values.

    The label of a number is a button that opens its explanation, formula and source.
    """
    return [
        {name: getattr(number, name) for name in ("name", "label", "format", "unit", "source")}
        | {
            "lead": i < LEADING,
            "help": prose(number.help),
            "formula": mathml(number.formula, "block") if number.formula else "",
        }
        for i, number in enumerate(numbers)
    ]


def finite(value: Any) -> Any:
    """Return a value for JSON: None for every number that is not finite, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [finite(part) for part in value]
    return value


def knob_spec(knob: Knob) -> dict[str, Any]:
    """Return the data for drawing a knob's control, as JSON values."""
    return {
        "name": knob.name,
        "kind": knob.kind.__name__,
        "label": knob.label + (f" ({knob.unit})" if knob.unit else ""),
        "symbol": mathml(knob.symbol) if knob.symbol else "",
        "help": knob.help,
        "range": knob.range_text,
        "scale": knob.scale,
        "zero": knob.zero,
        "choices": knob.choices,
        "live": knob.live,
        # Knobs with infinite bounds have no slider; among samplers' knobs these are only switches and lists.
        "lo": knob.lo if math.isfinite(knob.lo) else None,
        "hi": knob.hi if math.isfinite(knob.hi) else None,
    }


def shape_of(
    n_visible: int, declared: Sequence[int] | None = None, dataset: Dataset | None = None
) -> tuple[int, int]:
    """Return (rows, columns) of a picture: as declared, as in the data, or else nearly square."""
    if declared is None and dataset is not None:
        declared = dataset.image_shape
    if declared is not None and math.prod(declared) == n_visible:
        return declared[0], declared[1]
    columns = math.isqrt(n_visible - 1) + 1
    return -(-n_visible // columns), columns


def rarest_first(dataset: Dataset | None, n_visible: int) -> list[tuple[str, int]]:
    """Return the words of the visible units with their indices, the rarest in the examples first."""
    if dataset is None or dataset.vocabulary is None or dataset.n_visible != n_visible:
        return []
    order = dataset.train.mean(axis=0).argsort(kind="stable")
    return [(dataset.vocabulary[i], int(i)) for i in order]


def class_names(dataset: Dataset | None) -> list[str]:
    """Return the names of the classes; empty without labels."""
    return [] if dataset is None or dataset.train_labels is None else list(dataset.classes)


def class_shares(dataset: Dataset | None) -> list[float]:
    """Return the share of each class in the training part."""
    if dataset is None or dataset.train_labels is None:
        return []
    labels = dataset.train_labels
    return [float((labels == c).mean()) for c in range(len(dataset.classes))]


def about(algorithm: Any) -> str:
    """Return a paragraph about an algorithm, with its source; LaTeX is between dollar signs.

    Without an ``about``, an algorithm is described by its docstring.
    """
    cls = type(algorithm)
    text = getattr(cls, "about", "") or " ".join((cls.__doc__ or "").replace("$", "").split())
    return f"{text} Source: {cls.paper}."  # type: ignore[attr-defined]
