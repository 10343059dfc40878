"""From the tables of sweeps to numbers with errors: means over seeds, and differences paired by seeds."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rbmviz.reproduce.claims import Number
from rbmviz.reproduce.drawing import Row

Columns = Mapping[str, np.ndarray]


def where(columns: Columns, **wanted: Any) -> dict[str, np.ndarray]:
    """Return the rows whose columns have these values; numbers must agree to nine digits."""
    keep = np.ones(len(columns["n"]), bool)
    for name, value in wanted.items():
        column = columns[name]
        keep &= np.isclose(column, value, rtol=1e-9) if isinstance(value, float) else column == value
    return {name: column[keep] for name, column in columns.items()}


def by_seed(columns: Columns, measure: str, at: float, effort: str = "n", **wanted: Any) -> dict[int, float]:
    """Return a measure of each seed at the last point at or before ``at``, of the rows that are wanted.

    Parameters
    ----------
    columns : mapping of str to ndarray
        Table in long form.
    measure : str
        Column of the number.
    at : float
        Samples or updates (``effort`` "n"), sweeps or seconds.
    **wanted
        Values that columns must have, see ``where``; they must leave one setting.
    """
    rows = where(columns, **wanted)
    found: dict[int, float] = {}
    for seed in np.unique(rows["seed"]).tolist():
        own = rows["seed"] == seed
        within = np.flatnonzero(own & (rows[effort] <= at * (1 + 1e-9)))
        if len(within):
            found[seed] = float(rows[measure][within[np.argmax(rows[effort][within])]])
    return found


def mean(found: Mapping[int, float]) -> Number:
    """Return mean and error over seeds."""
    return Number.of(list(found.values()))


def difference(one: Mapping[int, float], other: Mapping[int, float]) -> Number:
    """Return the mean of ``one - other`` over their common seeds, with the error of paired differences."""
    return Number.of([one[seed] - other[seed] for seed in one if seed in other])


def curve(
    columns: Columns,
    measure: str,
    series: str,
    panel: str = "",
    x: str = "n",
    least: float = 1,
    **wanted: Any,
) -> list[Row]:
    """Return the rows of a curve: the mean over seeds at each point, with the range from 2.5 to 97.5 %.

    Points that not all seeds have are left out, and those below ``least``.
    """
    rows = where(columns, **wanted)
    seeds = len(np.unique(rows["seed"]))
    found = []
    for n in np.unique(rows["n"]).tolist():
        here = rows["n"] == n
        values, at = rows[measure][here], float(np.mean(rows[x][here]))
        if here.sum() < seeds or at < least or not np.isfinite(values).all():
            continue
        low, high = np.quantile(values, [0.025, 0.975]).tolist() if seeds > 1 else (None, None)
        row: Row = {"x": at, "y": float(values.mean()), "series": series}
        row |= {"panel": panel} if panel else {}
        found.append(row | ({"low": low, "high": high} if low is not None else {}))
    return found


def dots(numbers: Iterable[tuple[Any, Number]], series: str, panel: str = "") -> list[Row]:
    """Return rows of points with their standard errors, from pairs of x and number."""
    found = []
    for x, number in numbers:
        row: Row = {"x": x, "y": number.value, "series": series}
        row |= {"panel": panel} if panel else {}
        known = np.isfinite(number.error) and number.error > 0
        found.append(
            row | ({"low": number.value - number.error, "high": number.value + number.error} if known else {})
        )
    return found
