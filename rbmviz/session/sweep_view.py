"""One page's view of a sweep: its settings at one point.

The live socket treats a view like a comparison with a single panel, the map. While somebody requests the
view, the scheduler has it renew the newest ``MapSnapshot`` up to ten times per second.
"""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbmviz.knobs import Knob, Value, knobs_of, values_of
from rbmviz.session.equal_points import SAMPLER_UNITS, CostUnit
from rbmviz.session.race import Race
from rbmviz.session.scheduler import SCHEDULER, Due, Priority, Task, Tenant
from rbmviz.session.snapshot import Snapshot
from rbmviz.session.sweep_scores import SweepAtPoint, first_measure
from rbmviz.session.sweeps import Sweep
from rbmviz.sweeps import Choice
from rbmviz.sweeps.choose import COLUMN_OF, MOSTLY_BLANK
from rbmviz.sweeps.plan import TABLES, Kind

log = logging.getLogger(__name__)

FIRST_POINT_SHOWN = 100.0
"""Number of samples at the map's first point, before the point where settings differ most is known."""

RENEW_SECONDS = 0.1
"""Seconds between two renewals of the map."""

TELLING_SECONDS = 2.0
"""Seconds between two searches for the point at which settings differ most."""

UNASKED_SECONDS = 5.0
"""Seconds without a request after which a view is no longer renewed."""

IS_KNOWN, IS_IN_REGION, IS_BEST, IS_MOSTLY_BLANK, IS_RUNNING = 1, 2, 4, 8, 16
"""Bits of ``MapSnapshot.state``."""

MAP_KEY = 0
"""Key of the map, a view's only panel."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MapSnapshot(Snapshot):
    """A sweep at one point. Arrays have one element per setting, in order of the settings, NaN where unknown.

    n : number of complete runs; each setting has one per seed
    sweep_status : status of the sweep: "planned", "queued", "running", "paused", "finished", "failed" or
        "stopped"
    progress : share of the work done, 0 to 1
    seconds_left : estimated seconds left; None: unknown
    cost_unit, by : unit of comparison (settings are compared at equal numbers of units), and the compared
        measure
    point : number of samples, updates, Gibbs sweeps or seconds, depending on ``cost_unit``
    ends : (float, float) or None; the first and the last point; None before the first score
    telling : the point at which settings differ most; None if not known yet
    moved : whether the map has moved to this point automatically
    seeds : number of compared seeds, for each model with scores
    mean, std_dev, difference, std_error, test, test_std_dev, blank, seconds_of, samples : float32; see
        ``ScoredSetting``, where ``seconds_of`` is ``seconds`` and ``samples`` is ``n``
    state : uint8; IS_KNOWN, IS_IN_REGION (statistically tied with the best), IS_BEST, IS_MOSTLY_BLANK,
        IS_RUNNING (one of its runs is running now)
    border : one sentence for each axis whose border the best setting lies on
    """

    sweep_status: str
    cost_unit: CostUnit
    by: str
    mean: np.ndarray
    std_dev: np.ndarray
    difference: np.ndarray
    std_error: np.ndarray
    test: np.ndarray
    test_std_dev: np.ndarray
    blank: np.ndarray
    seconds_of: np.ndarray
    samples: np.ndarray
    state: np.ndarray
    progress: float = 0.0
    seconds_left: float | None = None
    point: float = FIRST_POINT_SHOWN
    ends: tuple[float, float] | None = None
    telling: float | None = None
    moved: bool = False
    seeds: tuple[int, ...] = ()
    border: tuple[str, ...] = ()


MAP_ARRAYS = {
    **dict.fromkeys(("mean", "std_dev", "difference", "std_error", "test", "test_std_dev", "blank")),
    "seconds_of": "seconds",
    "samples": "n",
}
"""Arrays of a ``MapSnapshot``, mapped to the attribute of ``ScoredSetting`` (None: the same name)."""


class SweepView:
    """A page's view of a sweep.

    The view has the attributes that the live socket and ``FrameEncoder`` need from a comparison (``poll``,
    ``running``, ``panels``, ``set_live_knobs``, ``beating``, ``listening``); it also serves as its own single
    panel.

    on_setting : called on the socket's thread with the index of the setting that the page points at
    """

    key, beating = MAP_KEY, False

    def __init__(self, sweep: Sweep, by: str = "", cost_unit: CostUnit = "samples") -> None:
        self.sweep = sweep
        units = units_of(sweep.plan.kind)
        self.cost_unit: CostUnit = cost_unit if cost_unit in units else units[0]
        self.by = by if by in sweep.plan.metrics else first_measure(sweep.plan.metrics)
        # A recording opens at its end, which shows the outcome.
        recorded = not sweep.name and sweep.status == "finished"
        self.asked_point: float | None = sweep.plan.budget.amount if recorded else None
        self.setting: int | None = None  # the setting that the page points at
        self.model = ""  # model of the runs beside the map
        self.on_setting: Callable[[int], object] = lambda setting: None
        self._telling: float | None = None
        self._looked_at, self._looked_through = -math.inf, (-1, -1)
        self._lock = threading.Lock()  # held while the map is computed
        self._task = Task(Tenant(), self._renew)
        self._asked_at = self._seconds = 0.0  # time of the last request; duration of the last renewal
        self._newest = self._empty()
        self._computed_from: object = None
        self._at_point = SweepAtPoint({}, {})
        # The frame encoder's interface to a panel: no readouts, ready at once.
        self.plan, self.algorithm, self.compiling = sweep.plan, None, None
        self.panels = (self,)

    @property
    def running(self) -> bool:
        """Whether the map still changes without commands."""
        return self.sweep.status == "running"

    def listening(self, ended: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
        """Never call ``ended``, because maps are not made in beats."""
        return contextlib.nullcontext()

    def poll(self) -> list[tuple[int, MapSnapshot]]:
        """Return key and newest snapshot of the map, and have the map renewed."""
        self._asked_at = time.monotonic()
        if self._task.due is None and not self._task.at_work:
            self._renew_in(0)
        return [(MAP_KEY, self._newest)]

    def now(self) -> MapSnapshot:
        """Compute a snapshot now, and return it."""
        with self._lock:
            return self._compute()

    def choice(self) -> Choice | None:
        """Return the comparison on the model of the setting that the page points at, or else of the runs."""
        with self._lock:
            self._compute()
            choices = self._at_point.choices
        model = self.model if self.setting is None else self.sweep.scores.settings[self.setting].model
        return choices.get(model) or next(iter(choices.values()), None)

    def choices(self) -> list[Choice]:
        """Return the comparison on each model at the map's point."""
        with self._lock:
            self._compute()
            return list(self._at_point.choices.values())

    def set_live_knobs(self, key: int, /, **knobs: Value) -> None:
        """Accept a request from the page: ``point``, ``cost_unit``, ``by``, or the ``setting`` it points at.

        These are not knobs of an algorithm. Invalid values are ignored.
        """
        units = units_of(self.sweep.plan.kind)
        cost_unit, by, point, setting = (knobs.get(name) for name in ("cost_unit", "by", "point", "setting"))
        if cost_unit in units and cost_unit != self.cost_unit:
            self.cost_unit = cost_unit  # type: ignore[assignment]
            self.asked_point, self._telling, self._looked_at = None, None, -math.inf
        if by in self.sweep.plan.metrics and by != self.by:
            self.by, self._telling, self._looked_at = str(by), None, -math.inf
        if isinstance(point, int | float) and math.isfinite(point) and point >= 0:
            self.asked_point = float(point) or None  # 0: where the settings differ most
        if isinstance(setting, int | float) and 0 <= setting < len(self.sweep.scores.settings):
            self.setting = int(setting)
            self.on_setting(self.setting)
        self._renew_in(0)

    def _renew_in(self, seconds: float) -> None:
        SCHEDULER.ask(self._task, Due(Priority.PACED, SCHEDULER.clock() + seconds))

    def _renew(self) -> None:
        began = time.monotonic()
        if began - self._asked_at >= UNASKED_SECONDS:
            return
        # A large map uses at most a third of a core. Requests from the page bring the renewal forward.
        self._renew_in(max(RENEW_SECONDS, 3 * self._seconds))
        try:
            with self._lock:
                self._newest = self._compute()
        except Exception:  # the next attempt may succeed
            log.exception("a map was not renewed")
        self._seconds = time.monotonic() - began

    def _compute(self) -> MapSnapshot:
        sweep, scores = self.sweep, self.sweep.scores
        sweep.show_running()
        ends = scores.range(self.cost_unit)
        now = time.monotonic()
        # If the sweep is not running, search at once, unless these scores have been searched already.
        rests = not self.running and self._looked_through != (sweep.version, scores.n_rows)
        if scores.n_done and (rests or now - self._looked_at > TELLING_SECONDS):
            self._telling, self._looked_at = scores.telling_point(self.cost_unit, self.by), now
            self._looked_through = sweep.version, scores.n_rows
        point = self.asked_point or self._telling or self._first_point(ends)
        point = scores.rounded(point, self.cost_unit)
        state = sweep.version, scores.n_rows, point, self.cost_unit, self.by
        if state != self._computed_from:
            self._computed_from, self._at_point = state, scores.at(point, self.cost_unit, self.by)
            self._newest = self._snapshot_of(self._at_point)
        at_work = {cell % len(scores.settings) for cell in sweep.running_cells}
        flags = self._newest.state & ~np.uint8(IS_RUNNING)
        flags[list(at_work)] |= IS_RUNNING
        now_shown: dict[str, Any] = {
            "status": "failed" if sweep.status == "failed" else "running" if self.running else "paused",
            "error": sweep.error or None,
            "n": scores.n_done,
            "sweep_status": sweep.status,
            "progress": sweep.progress,
            "cost_unit": self.cost_unit,
            "by": self.by,
            "point": point,
            "ends": ends,
            "telling": self._telling,
            "moved": self.asked_point is None and self._telling is not None,
        }
        looks_the_same = np.array_equal(flags, self._newest.state) and all(
            getattr(self._newest, name) == value for name, value in now_shown.items()
        )
        if looks_the_same:
            return self._newest
        return replace(self._newest, **now_shown, seconds_left=sweep.seconds_left, state=flags)

    def _first_point(self, ends: tuple[float, float] | None) -> float:
        """Return the map's first point: 100 samples or updates, else the geometric mean of the ends."""
        if ends is None or COLUMN_OF[self.cost_unit] == "n":
            return FIRST_POINT_SHOWN
        return math.sqrt(ends[0] * ends[1]) if ends[0] > 0 else ends[1]

    def _empty(self) -> MapSnapshot:
        n = len(self.sweep.scores.settings)
        empty: dict[str, Any] = {name: np.full(n, math.nan, np.float32) for name in MAP_ARRAYS}
        return MapSnapshot(
            status="starting",
            run=0,
            n=0,
            seconds=0.0,
            algorithm=None,
            sweep_status=self.sweep.status,
            cost_unit=self.cost_unit,
            by=self.by,
            **empty,
            state=np.zeros(n, np.uint8),
        )

    def _snapshot_of(self, at_point: SweepAtPoint) -> MapSnapshot:
        empty, several = self._empty(), len(at_point.choices) > 1
        best = {id(choice.best) for choice in at_point.choices.values()}
        for i, setting in at_point.scored.items():
            for name, attribute in MAP_ARRAYS.items():
                getattr(empty, name)[i] = getattr(setting, attribute or name)
            compared = len(at_point.choices[setting.model].seeds) > 1
            empty.state[i] = IS_KNOWN
            empty.state[i] |= IS_IN_REGION if setting.in_region and compared else 0
            empty.state[i] |= IS_BEST if id(setting) in best else 0
            empty.state[i] |= IS_MOSTLY_BLANK if setting.blank > MOSTLY_BLANK else 0
        border = tuple(
            f"{model}: {sentence}" if several else sentence
            for model, choice in at_point.choices.items()
            for sentence in choice.border
        )
        return replace(
            empty, seeds=tuple(len(choice.seeds) for choice in at_point.choices.values()), border=border
        )


def follow(comparison: Race[Any], key: int, sweep: Sweep, index: int) -> None:
    """Set the live knobs of one panel to the values of a setting, if both have the same sampler.

    Knobs that would restart the run stay unchanged, because the pointer is only passing over the setting.
    """
    algorithm = TABLES[sweep.plan.kind].read(sweep.scores.settings[index].algorithm)
    wanted = {name: getattr(algorithm, name) for name, knob in knobs_of(algorithm).items() if knob.live}
    for panel in comparison.panels:
        if panel.key == key and panel.algorithm.name == algorithm.name:
            now = values_of(panel.algorithm)
            changed = {name: value for name, value in wanted.items() if now[name] != value}
            if changed:
                comparison.set_live_knobs(key, **changed)


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


def units_of(kind: Kind) -> tuple[CostUnit, ...]:
    """Return the units of comparison for the settings of a sweep."""
    return SAMPLER_UNITS if kind == "sampler" else ("updates", "seconds")
