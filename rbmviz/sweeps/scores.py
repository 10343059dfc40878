"""The scores of a sweep as the Tune page shows them: of the plan's settings, at one point of all curves."""

import math
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.knobs import Knob, knobs_of
from rbmviz.metrics.effort import Unit
from rbmviz.sweeps import Choice, ScoredSetting, SweepPlan, compare
from rbmviz.sweeps.choose import COLUMN_OF, robustness, telling_point
from rbmviz.sweeps.plan import COUNTED, Kind
from rbmviz.sweeps.race import due
from rbmviz.sweeps.tables import Columns, one_source, select

FIRST_POINT = 10
"""Minimum number of samples at which settings are compared."""


def test_of(by: str, metrics: tuple[str, ...]) -> str:
    """Return the test measure that corresponds to a validation measure; "" if there is none."""
    test = by.replace("validation", "test")
    return test if test != by and test in metrics else ""


def units_of(kind: Kind) -> tuple[Unit, ...]:
    """Return the units of comparison for the settings of a sweep."""
    return (COUNTED[kind], "sweeps", "seconds") if kind == "sampler" else (COUNTED[kind], "seconds")


class MeanPoint(NamedTuple):
    """A point of a curve, averaged over the seeds with a score there: cost, mean, spread, number of seeds."""

    spent: float
    mean: float
    std_dev: float
    seeds: int


class SweepScores:
    """The results of a plan that are there.

    plan : the plan
    columns : a table of results, of which those of the plan's settings and seeds are used; of several
        versions of the code or models of a name, the one with the most rows

    n_done : number of complete runs
    """

    def __init__(self, plan: SweepPlan, columns: Columns) -> None:
        self.plan, self.settings = plan, plan.settings()
        self._indices = {(each.algorithm, each.model): i for i, each in enumerate(self.settings)}
        self.columns: dict[str, np.ndarray] = {}
        if len(columns):
            named = zip(columns["setting"], columns["model"], columns["seed"], strict=True)
            seeds = set(plan.seeds)
            keep = np.array([(a, m) in self._indices and s in seeds for a, m, s in named], bool)
            kept = {name: np.asarray(column)[keep] for name, column in columns.items()}
            self.columns = one_source(kept) if keep.any() else {}
        self.n_done = len(set(self.columns["identity"])) if self.columns else 0
        # Several visitors have one map open: what takes a second is computed by the first of them.
        self._lock = threading.Lock()
        self._choices, self._point = lru_cache(8)(self._compared), lru_cache(8)(self._told)

    def complete(self) -> bool:
        """Return whether all runs are there, or all that a race asks for."""
        runs = [(each.algorithm, each.model, seed) for seed, each in self.plan.order()]
        race = self.plan.race and not due(runs, self.columns, self.plan.budget.unit)
        return race or self.n_done == self.plan.size

    def range(self, effort: Unit) -> tuple[float, float] | None:
        """Return the first and the last point with a score of any setting; None before the first score."""
        if not self.columns:
            return None
        n, spent = self.columns["n"], self.columns[COLUMN_OF[effort]].astype(float)
        late = spent[n >= min(FIRST_POINT, n.max())]
        return float(late.min()), float(late.max())

    def end(self, effort: Unit) -> float:
        """Return the last point that all settings can reach: the budget, or what all have spent."""
        if effort == self.plan.budget.unit:
            return float(self.plan.budget.amount)
        if not self.columns:
            return 1.0
        spent, last = self.columns[COLUMN_OF[effort]], dict[str, float]()
        for identity, x in zip(self.columns["identity"], spent, strict=True):
            last[identity] = max(last.get(identity, 0.0), float(x))
        return min(last.values())

    def choices(self, point: float, effort: Unit, by: str) -> Mapping[str, Choice]:
        """Return the comparison on each model ("" for trainers) on which a setting has reached the point."""
        with self._lock:
            return self._choices(point, effort, by)

    def _compared(self, point: float, effort: Unit, by: str) -> dict[str, Choice]:
        found: dict[str, Choice] = {}
        for model in self.plan.models or ("",):
            with suppress(BadInput):  # no setting has reached the point
                rows = select(self.columns, model=model)
                found[model] = compare(rows, point, effort, by, test_of(by, self.plan.metrics) or by)
        return found

    def final_choice(self) -> Choice | None:
        """Return the comparison at the end of the runs on the first model; None before the first score."""
        effort = self.plan.budget.unit
        choices = self.choices(self.end(effort), effort, self.plan.first_measure)
        return next(iter(choices.values()), None)

    def index_of(self, scored: ScoredSetting) -> int:
        """Return the index of a compared setting in ``settings``."""
        return self._indices[scored.setting, scored.model]

    def telling_point(self, effort: Unit, by: str) -> float | None:
        """Return the point at which settings differ most on the first model; None if unknown."""
        with self._lock:
            return self._point(effort, by)

    def _told(self, effort: Unit, by: str) -> float | None:
        with suppress(BadInput):
            return telling_point(select(self.columns, model=(self.plan.models or ("",))[0]), effort, by)
        return None

    def robustness(self, point: float, effort: Unit, by: str) -> list[Any]:
        """Return mean and spread over the models for settings scored on all models; [] for one model."""
        with suppress(BadInput):
            return list(robustness(self.columns, point, effort, by))
        return []

    def mean_curve(self, setting: int, effort: Unit, by: str) -> list[MeanPoint]:
        """Return a setting's curve from ``FIRST_POINT`` samples on, averaged over its seeds."""
        wanted = self.settings[setting]
        rows = select(self.columns, setting=wanted.algorithm, model=wanted.model)
        points = []
        for n in np.unique(rows["n"]) if rows else ():
            here = (rows["n"] == n) & np.isfinite(rows[by])
            spent = float(rows[COLUMN_OF[effort]][here].mean()) if here.any() else 0.0
            if spent > 0 and n >= FIRST_POINT:
                own = rows[by][here]
                spread = float(own.std(ddof=1)) if len(own) > 1 else math.nan
                points.append(MeanPoint(spent, float(own.mean()), spread, len(own)))
        return points


def front_numbers(algorithm: Any) -> list[Knob]:
    """Return the numeric knobs of an algorithm, front knobs first."""
    numeric = [knob for knob in knobs_of(algorithm).values() if knob.kind in (int, float)]
    return sorted(numeric, key=lambda knob: not knob.front)


AROUND = 10.0
"""Factor on each side of a log knob's value: a sweep covers a tenth to ten times the value."""

SHARE_AROUND = 0.1
"""Share of the knob's range on each side of a linear knob's value."""


def range_around(knob: Knob, value: float) -> tuple[float, float]:
    """Return the ends of an axis around a knob's value; for 0 on a log knob, the ends of the knob's range."""
    if knob.scale == "log":
        lo, hi = (value / AROUND, value * AROUND) if value > 0 else (knob.lo, knob.hi)
    else:
        width = SHARE_AROUND * (knob.hi - knob.lo)
        # Near an end of the range (a decay of 1, for example), shift the axis to keep its width.
        middle = min(max(value, knob.lo + width), knob.hi - width)
        lo, hi = middle - width, middle + width
    lo, hi = max(float(f"{lo:.3g}"), knob.lo), min(float(f"{hi:.3g}"), knob.hi)
    return (round(lo), max(round(hi), round(lo) + 1)) if knob.kind is int else (lo, hi)


def spacing_of(knob: Knob) -> str:
    """Return the spacing of a knob's axis: the slider's, or log of 1 - x for a share that defaults to 1."""
    return "log1m" if knob.scale == "linear" and knob.hi == 1 and knob.default == 1 else knob.scale
