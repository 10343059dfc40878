"""The scores of a sweep while it runs, by setting, seed and point, and their comparison at one point.

A sweep has tens of thousands of rows, and its map is drawn ten times per second. Therefore all numbers are in
one array, and ``choose.compare`` gets only the rows near the point, in which settings are numbers instead of
text.
"""

import contextlib
import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.metrics.isl import CURVE_COUNTS
from rbmviz.session.equal_points import CostUnit
from rbmviz.sweeps import Choice, ScoredSetting, SweepPlan, compare, measures, telling_point
from rbmviz.sweeps.choose import COLUMN_OF, SPENT, Robustness, robustness, select
from rbmviz.sweeps.plan import TABLES

FIRST_POINT = 10
"""Minimum number of samples at which settings are compared."""


def first_measure(metrics: tuple[str, ...]) -> str:
    """Return a map's initial measure: the validation ISL if measured, else the first measure."""
    wanted = ("isl_validation", "log_likelihood_validation", "log_likelihood")
    return next((name for name in wanted if name in metrics), metrics[0])


class MeanPoint(NamedTuple):
    """A point of a curve, averaged over the seeds with a score there: cost, mean, spread, number of seeds."""

    spent: float
    mean: float
    std_dev: float
    seeds: int


@dataclass(frozen=True)
class SweepAtPoint:
    """The settings of a sweep at one point.

    choices : the comparison on each model ("" for trainers) on which a setting has reached the point. Models
        are different problems, each with its own best setting.
    scored : settings that have reached the point, by their index in ``SweepScores.settings``
    """

    choices: Mapping[str, Choice]
    scored: Mapping[int, ScoredSetting]


class SweepScores:
    """Scores of the cells of a plan, updated as they arrive.

    settings : in order of execution; cell i is setting ``i % len(settings)`` with seed
        ``plan.seeds[i // len(settings)]``
    columns : columns stored for each point: ``SPENT``, then each measure and its error
    others : knobs that are not an axis, but differ between settings of one algorithm
    n_rows : number of rows received so far, which grows with every change
    """

    def __init__(self, plan: SweepPlan) -> None:
        self.plan, self.settings = plan, plan.settings()
        self.columns = (*SPENT, *columns_of_measures(plan.metrics))
        self._values = np.full((0, 0, 0, 0), math.nan)
        self._lock = threading.Lock()
        self.n_rows = 0
        self._done = np.zeros((len(self.settings), len(plan.seeds)), bool)
        texts = [setting.algorithm for setting in self.settings]
        algorithms = [TABLES[plan.kind].read(text) for text in texts]
        on_axis = [axis.knob for axis in plan.axes]
        self.others = tuple(name for name in plan.differing_knobs() if name not in on_axis)
        self._knobs = {
            name: np.array([_as_number(getattr(algorithm, name, math.nan)) for algorithm in algorithms])
            for name in (*on_axis, *self.others)
        }
        self._algorithms = np.array([text.partition(":")[0] for text in texts])
        # Tables for ``choose`` use short names for settings, which are the same on all models.
        numbers = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        names = [f"{name}:{numbers[text]}" for name, text in zip(self._algorithms, texts, strict=True)]
        self._names = np.array(names)
        models = [setting.model for setting in self.settings]
        self._models = np.array(models)
        self._indices = {key: i for i, key in enumerate(zip(names, models, strict=True))}

    @staticmethod
    def bytes(plan: SweepPlan) -> int:
        """Return an upper bound on the bytes of a plan's scores."""
        return 8 * plan.size * (_n_points(plan)) * (len(SPENT) + len(columns_of_measures(plan.metrics)))

    @property
    def n_done(self) -> int:
        """Number of complete cells."""
        return int(self._done.sum())

    def is_done(self, cell: int) -> bool:
        """Return whether the cell with this index in the plan is complete."""
        seed, setting = divmod(cell, len(self.settings))
        return bool(self._done[setting, seed])

    def put(self, cell: int, table: Mapping[str, np.ndarray], done: bool = True) -> None:
        """Store the table of the cell with this index in the plan; done : whether the cell is complete."""
        seed, setting = divmod(cell, len(self.settings))
        rows = np.column_stack([np.asarray(table[name], float) for name in self.columns])
        with self._lock:
            if self._done[setting, seed] and not done:
                return  # outdated: the cell is complete by now
            if not self._values.size:
                shape = (len(self.settings), len(self.plan.seeds), _n_points(self.plan), len(self.columns))
                self._values = np.full(shape, math.nan)
            n = min(len(rows), self._values.shape[2])
            n_stored = int((~np.isnan(self._values[setting, seed, :, 0])).sum())
            self.n_rows += max(n - n_stored, 0)  # a restarted cell has fewer rows
            self._values[setting, seed, :n] = rows[:n]
            self._done[setting, seed] |= done

    def curves(self, setting: int) -> dict[str, np.ndarray]:
        """Return the scores of a setting by column, float64 (seeds, points), NaN where missing."""
        with self._lock:
            if not self._values.size:
                return {name: np.full((len(self.plan.seeds), 0), math.nan) for name in self.columns}
            return {name: self._values[setting, :, :, i].copy() for i, name in enumerate(self.columns)}

    def mean_curve(self, setting: int, cost_unit: CostUnit, by: str) -> list[MeanPoint]:
        """Return a setting's curve from ``FIRST_POINT`` samples on, averaged over the seeds known so far."""
        curves, points = self.curves(setting), []
        spent, values = curves[COLUMN_OF[cost_unit]], curves[by]
        for i in range(spent.shape[1]):
            finite = np.isfinite(values[:, i])
            if not finite.any() or curves["n"][finite, i].min() < FIRST_POINT:
                continue
            own = values[finite, i]
            spread = float(own.std(ddof=1)) if len(own) > 1 else math.nan
            points.append(MeanPoint(float(spent[finite, i].mean()), float(own.mean()), spread, len(own)))
        return [point for point in points if point.spent > 0]

    def long_form(self) -> dict[str, Any]:
        """Return all scores as columns, with one row per point of each cell."""
        with self._lock:
            filled = ~np.isnan(self._values[..., 0]) if self._values.size else np.zeros((0, 0, 0), bool)
            setting, seed, _ = np.nonzero(filled)
            values = self._values[filled] if self._values.size else np.zeros((0, len(self.columns)))
        algorithms = np.array([setting.algorithm for setting in self.settings])
        columns: dict[str, Any] = {"setting": algorithms[setting], "algorithm": self._algorithms[setting]}
        columns |= {"model": self._models[setting], "seed": np.array(self.plan.seeds)[seed]}
        columns |= {f"knob_{name}": column[setting] for name, column in self._knobs.items()}
        return columns | {name: values[:, i] for i, name in enumerate(self.columns)}

    def range(self, cost_unit: CostUnit) -> tuple[float, float] | None:
        """Return the first and the last point with a score of any setting; None before the first score."""
        with self._lock:
            if not self._values.size:
                return None
            n, spent = self._values[..., 0], self._values[..., SPENT.index(COLUMN_OF[cost_unit])]
            if np.isnan(n).all():  # the first cell has no score yet
                return None
            late = spent[n >= min(FIRST_POINT, np.nanmax(n))]
        return float(np.nanmin(late)), float(np.nanmax(late))

    def rounded(self, point: float, cost_unit: CostUnit) -> float:
        """Return a point within the range, rounded for display: whole numbers, or seconds to three digits."""
        ends = self.range(cost_unit)
        if ends is None:
            return point
        short = float(f"{point:.3g}") if COLUMN_OF[cost_unit] == "seconds" else float(round(point))
        return min(max(short, ends[0]), ends[1])

    def at(self, point: float, cost_unit: CostUnit, by: str) -> SweepAtPoint:
        """Return the settings at a point, compared by the measure ``by``."""
        table = self._table(by, point, cost_unit)
        choices = {}
        for model in self.plan.models or ("",):
            rows = None if table is None else select(table, model=model)
            if rows is not None and len(rows["n"]):
                with contextlib.suppress(BadInput):  # no setting has reached the point
                    choices[model] = compare(rows, point, cost_unit, by, test_of(by, self.plan.metrics) or by)
        settings = (setting for choice in choices.values() for setting in choice.settings)
        return SweepAtPoint(choices, {self.index_of(setting): setting for setting in settings})

    def final_choice(self) -> Choice | None:
        """Return the comparison at the end of the runs on the first model; None before the first score."""
        effort = self.plan.budget.unit
        ends = self.range(effort)
        if ends is None:
            return None
        return next(iter(self.at(ends[1], effort, first_measure(self.plan.metrics)).choices.values()), None)

    def index_of(self, scored: ScoredSetting) -> int:
        """Return the index of a setting of a ``SweepAtPoint``, whose names differ from the plan's."""
        return self._indices[scored.setting, scored.model]

    def robustness(self, point: float, cost_unit: CostUnit, by: str) -> list[Robustness]:
        """Return mean and spread over the models for settings scored on all models; [] for one model.

        A setting's name is its text in the plan.
        """
        table = self._table(by, point, cost_unit)
        try:
            summaries = [] if table is None else robustness(table, point, cost_unit, by)
        except BadInput:
            return []
        texts = {name: self.settings[i].algorithm for (name, _), i in self._indices.items()}
        return [replace(summary, setting=texts[summary.setting]) for summary in summaries]

    def telling_point(self, cost_unit: CostUnit, by: str) -> float | None:
        """Return the point at which settings differ most on the first model; None if unknown."""
        table = self._table(by)
        if table is not None and self.plan.models:
            table = select(table, model=self.plan.models[0])
        try:
            return None if table is None or not len(table["n"]) else telling_point(table, cost_unit, by)
        except BadInput:
            return None

    def _table(self, by: str, point: float | None = None, cost_unit: CostUnit = "samples") -> dict | None:
        """Return the rows as a table; ``point`` limits them to rows nearby."""
        wanted = dict.fromkeys((*SPENT, by, test_of(by, self.plan.metrics), "blank"))
        names = [name for name in self.columns if name in wanted or name.removesuffix("_error") in wanted]
        columns = [self.columns.index(name) for name in names]
        with self._lock:
            if not self._values.size:
                return None
            filled = ~np.isnan(self._values[..., 0])
            if point is not None:
                spent = self._values[..., SPENT.index(COLUMN_OF[cost_unit])]
                passed = np.nansum(spent <= point, axis=-1)  # rows up to the point
                rows = np.arange(filled.shape[-1])
                near = (rows >= passed[..., None] - 1) & (rows <= passed[..., None])
                if COLUMN_OF[cost_unit] != "n":
                    near |= self._ends_of_diverged(filled, columns)
                filled &= near
            setting, seed, _ = np.nonzero(filled)
            values = self._values[filled][:, columns]
        if not len(values):
            return None
        table = {"setting": self._names[setting], "model": self._models[setting]}
        table |= {"algorithm": self._algorithms[setting]}
        table["identity"] = seed * len(self.settings) + setting
        table |= {f"knob_{name}": column[setting] for name, column in self._knobs.items()}
        table |= {"seed": np.array(self.plan.seeds)[seed]}
        table |= {name: values[:, i] for i, name in enumerate(names)}
        return table

    def _ends_of_diverged(self, filled: np.ndarray, columns: list[int]) -> np.ndarray:
        """Return the last live row and the last row of diverged cells, which ``compare`` extrapolates."""
        rows = np.arange(filled.shape[-1])
        measured = [i for i in columns if self.columns[i] in measures]
        live = filled & ~np.isnan(self._values[..., measured]).all(axis=-1)
        last_live, last = ((rows * of).max(axis=-1, keepdims=True) for of in (live, filled))
        return (last_live < last) & ((rows == last_live) | (rows == last))


def columns_of_measures(metrics: Iterable[str]) -> tuple[str, ...]:
    """Return the table columns of these measures: the value and the error of each."""
    return tuple(column for name in sorted(metrics) for column in measures[name].columns)


def test_of(by: str, metrics: Iterable[str]) -> str:
    """Return the test measure that corresponds to a validation measure; "" if there is none."""
    test = by.replace("validation", "test")
    return test if test != by and test in metrics else ""


def _n_points(plan: SweepPlan) -> int:
    unit, amount = plan.budget.unit, plan.budget.amount
    if unit == "seconds":
        return len(CURVE_COUNTS) + 1
    return int(np.searchsorted(CURVE_COUNTS, amount, side="right")) + 1


def _as_number(value: object) -> object:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
