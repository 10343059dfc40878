"""Estimates from the tables of sweeps (means over seeds, differences paired by seed), and rows of figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from papers.claims import Estimate
from papers.drawing import Row

Columns = Mapping[str, np.ndarray]


def where(columns: Columns, **wanted: Any) -> dict[str, np.ndarray]:
    """Return the rows with these values in their columns; floats must agree to nine digits."""
    keep = np.ones(len(columns["n"]), bool)
    for name, value in wanted.items():
        column = columns[name]
        keep &= np.isclose(column, value, rtol=1e-9) if isinstance(value, float) else column == value
    return {name: column[keep] for name, column in columns.items()}


def by_seed(columns: Columns, measure: str, at: float, effort: str = "n", **wanted: Any) -> dict[int, float]:
    """Return a measure by seed at the last point at or before ``at``.

    at : samples or updates (``effort`` "n"), sweeps or seconds
    **wanted : values of columns that select one setting, see ``where``
    """
    rows = where(columns, **wanted)
    values: dict[int, float] = {}
    for seed in np.unique(rows["seed"]).tolist():
        own = rows["seed"] == seed
        within = np.flatnonzero(own & (rows[effort] <= at * (1 + 1e-9)))
        if len(within):
            values[seed] = float(rows[measure][within[np.argmax(rows[effort][within])]])
    return values


def mean(values: Mapping[int, float]) -> Estimate:
    """Return mean and error over seeds."""
    return Estimate.of(list(values.values()))


def difference(values: Mapping[int, float], others: Mapping[int, float]) -> Estimate:
    """Return the mean of ``values - others`` over their common seeds, with the paired error."""
    return Estimate.of([values[seed] - others[seed] for seed in values if seed in others])


def paired(values: Sequence[float], others: Sequence[float]) -> Estimate:
    """Return the mean of the paired differences of two sequences of equal length."""
    return Estimate.of([value - other for value, other in zip(values, others, strict=True)])


def ratio(values: Sequence[float], others: Sequence[float]) -> Estimate:
    """Return the mean of the paired ratios of two sequences of equal length."""
    return Estimate.of([value / other for value, other in zip(values, others, strict=True)])


def best_setting(columns: Columns, column: str, at: float, values: Iterable[Any] | None = None) -> Any:
    """Return the value of a column (default: all of its values) with the best ISL on the validation part."""
    choices = np.unique(columns[column]).tolist() if values is None else values
    return max(choices, key=lambda v: mean(by_seed(columns, "isl_validation", at, **{column: v})).value)


def _tenths(curves: Iterable[Mapping[str, Sequence[float]]], key: str) -> np.ndarray:
    """Return the means over every tenth of each curve, of (trainings, places)."""
    values = np.array([curve[key] for curve in curves], np.float64)
    width = max(1, values.shape[1] // 10)
    return np.lib.stride_tricks.sliding_window_view(values, width, axis=1).mean(axis=2)


def falls(curves: Iterable[Mapping[str, Sequence[float]]], key: str = "log_likelihood") -> list[float]:
    """Return how far each training ends, in its last tenth, below the tenth where the mean of all is highest.

    Each training's own maximum would be that of its noise: the noisier a trainer, the farther it would fall.
    """
    each = _tenths(curves, key)
    return list((each[:, each.mean(axis=0).argmax()] - each[:, -1]).tolist())


def late(curves: Iterable[Mapping[str, Sequence[float]]], key: str = "log_likelihood") -> list[float]:
    """Return the mean of the last tenth of each curve."""
    return list(_tenths(curves, key)[:, -1].tolist())


def last(curves: Iterable[Mapping[str, Sequence[float]]], key: str = "log_likelihood") -> list[float]:
    """Return the last value of each curve."""
    return [curve[key][-1] for curve in curves]


Spread = Callable[[np.ndarray], Sequence[float]]


def extremes(values: np.ndarray) -> tuple[float, float]:
    """Return minimum and maximum."""
    return float(values.min()), float(values.max())


def central(values: np.ndarray) -> tuple[float, float]:
    """Return the 2.5 and 97.5 percentiles."""
    low, high = np.quantile(values, [0.025, 0.975]).tolist()
    return low, high


def band(
    x: Sequence[float], curves: Sequence[Sequence[float]], spread: Spread = extremes, **names: str
) -> list[Row]:
    """Return the rows of the mean of some curves, with a band: by default from minimum to maximum."""
    rows: list[Row] = []
    for at, values in zip(x, np.transpose(curves) if len(curves) else (), strict=False):
        low, high = spread(values)
        row: Row = {"x": at, "y": float(np.mean(values)), "low": float(low), "high": float(high)}
        rows.append(row | names)
    return rows


def curve(
    columns: Columns,
    measure: str,
    series: str,
    panel: str = "",
    x: str = "n",
    least: float = 1,
    **wanted: Any,
) -> list[Row]:
    """Return the rows of a curve: the mean over seeds at each point, with a band from 2.5 to 97.5 %.

    Points below ``least``, or without a value for every seed, are left out.
    """
    rows = where(columns, **wanted)
    seeds = len(np.unique(rows["seed"]))
    points = []
    for n in np.unique(rows["n"]).tolist():
        here = rows["n"] == n
        values, at = rows[measure][here], float(np.mean(rows[x][here]))
        if here.sum() < seeds or at < least or not np.isfinite(values).all():
            continue
        low, high = np.quantile(values, [0.025, 0.975]).tolist() if seeds > 1 else (None, None)
        row: Row = {"x": at, "y": float(values.mean()), "series": series}
        row |= {"panel": panel} if panel else {}
        points.append(row | ({"low": low, "high": high} if low is not None else {}))
    return points


def best_curve(columns: Columns, measure: str, series: str, least: float = 1) -> list[Row]:
    """Return the rows of a curve that has, at each point, the setting that is best there.

    The setting is chosen on the validation part; for the other parameters see ``curve``.
    """
    points: list[Row] = []
    for n in np.unique(columns["n"]).tolist():
        here = where(columns, n=n)
        setting = best_setting(here, "setting", n)
        points += curve(here, measure, series, least=least, setting=setting)
    return points


def dots(numbers: Iterable[tuple[Any, Estimate]], series: str, panel: str = "") -> list[Row]:
    """Return rows of points with their standard errors, from pairs of x and estimate."""
    points = []
    for x, number in numbers:
        row: Row = {"x": x, "y": number.value, "series": series}
        row |= {"panel": panel} if panel else {}
        if np.isfinite(number.error) and number.error > 0:
            row |= {"low": number.value - number.error, "high": number.value + number.error}
        points.append(row)
    return points
