"""Tables of results in long form: a row for each point of each cell's curve."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rbmviz.errors import brought_by

Columns = Mapping[str, np.ndarray]
"""A table in long form: one-dimensional arrays of equal length."""

SPENT = ("n", "sweeps", "seconds")
"""What has been spent up to a point: samples or updates, Gibbs sweeps of all chains, seconds of processor
time in the algorithm."""


class CellResult(NamedTuple):
    """What a cell has given.

    about : what was run, by column: identity, version, setting, algorithm, model, model_digest, data,
        data_digest, start, kernel, seed, n_hidden, budget_unit, budget_amount; knobs, as JSON; note, which
        says why a number is NaN, or ""
    points : for each point of the curve, ``SPENT`` and the measures by column; NaN where there is none
    """

    about: dict[str, Any]
    points: list[dict[str, float]]


def table(results: Iterable[CellResult]) -> dict[str, np.ndarray]:
    """Return results as one table in long form: columns (rows,), a row for each point of each cell.

    Knobs have columns such as ``knob_eps``; a knob or measure that a cell does not have is NaN, or "".

    results : what ``CellRun.finish`` returns, or ``Store.read`` has kept
    """
    results = list(results)
    about = [result.about for result in results]
    lengths = [len(result.points) for result in results]
    points = {
        name: np.array([point[name] for result in results for point in result.points])
        for name in (results[0].points[0] if sum(lengths) else ())
    }
    return columns_of(about, np.repeat(np.arange(len(about)), lengths), points)


def columns_of(
    about: Sequence[Mapping[str, Any]], of: np.ndarray, points: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the table of these cells and points; of : int (rows,), the cell of each point."""
    columns: dict[str, np.ndarray] = {}
    if not about:
        return columns
    read = [json.loads(each["knobs"]) for each in about]
    knobs = dict.fromkeys(name for each in read for name in each)
    values: dict[str, list[Any]] = {
        name: [each[name] for each in about] for name in about[0] if name != "knobs"
    }
    for name in knobs:
        column = [each.get(name) for each in read]
        none: Any = "" if any(isinstance(x, str) for x in column) else math.nan
        values[f"knob_{name}"] = [type(none)(none if x is None else x) for x in column]
    for name, each in values.items():
        columns[name] = np.array(each, object if isinstance(each[0], str) else None)[of]
    for name, numbers in points.items():
        columns[name] = numbers.astype(np.float64 if name not in ("n", "sweeps") else np.int64)
    return columns


def select(columns: Columns, **values: object) -> dict[str, np.ndarray]:
    """Return the rows of a table whose columns have these values: ``select(table, model="bas_pcd")``.

    columns : mapping of names to arrays (rows,), such as ``table`` returns
    values : by column; a name of no column is a KeyError
    """
    if not columns:
        return {}
    keep = np.ones(len(next(iter(columns.values()))), bool)
    for name, value in values.items():
        keep &= np.asarray(columns[name] == value)
    return {name: column[keep] for name, column in columns.items()}


def one_source(columns: Columns) -> dict[str, np.ndarray]:
    """Return, for each algorithm and model name, only the rows from one code version and one model.

    The version and model with the most rows are kept. Each algorithm has its own versions.
    """
    frame = frame_of(columns)
    sizes = frame.groupby(["algorithm", "model", "version", "model_digest"], sort=False).size().reset_index()
    most = sizes.loc[sizes.groupby(["algorithm", "model"], sort=False)[0].idxmax()].drop(columns=0)
    kept = frame.reset_index().merge(most)["index"].sort_values().to_numpy()
    return {name: np.asarray(column)[kept] for name, column in columns.items()}


def frame_of(columns: Columns) -> Any:
    """Return a table as a pandas DataFrame."""
    with brought_by("sweep", "A comparison of settings"):
        import pandas
    return pandas.DataFrame({name: np.asarray(column) for name, column in columns.items()})
