"""Measure claims without a browser: make the same runs at full speed in this thread."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rbmviz.lessons.claims import Measured, StepClaim, measure
from rbmviz.lessons.reading import Lesson
from rbmviz.lessons.state import PageState
from rbmviz.pages import PAGES, Sources
from rbmviz.sweeps import CellRun, SweepPlan, cells, table
from rbmviz.sweeps.scores import SweepScores
from rbmviz.sweeps.tables import CellResult

COMPUTED_BESIDE = {
    *("likelihood", "likelihood_error", "held_out", "monte_carlo", "pseudo_likelihood"),
    *("gap", "truth", "truth_error"),
}
"""Numbers that a run computes in the background, between its steps."""

JUDGED_POINTS = 60
"""Number of equally spaced points of a training at which the likelihood is computed to find the best one."""


class _MeasuredRun:
    """One panel's run, advanced to the steps at which claims are checked."""

    def __init__(self, state: PageState, plan: Any, algorithm: Any, judged_at: Iterable[int] = ()) -> None:
        self._state = state
        self._judged: list[Any] = []  # likelihoods; the run itself drops points of a long curve
        self._judged_at = sorted(judged_at)
        self.run: Any = plan.run(1, algorithm)
        self.run.prepare()

    def advance(self, n: int) -> None:
        """Advance the run to its n-th step and score it there, as a pause does."""
        PAGES[self._state.page].advance(self.run, self._state.settings, n)

    def snapshot(self, n: int, names: Iterable[str]) -> Any:
        """Return the snapshot after n steps."""
        before = self._judged[-1].update if self._judged else -1
        ends = {end for end in self._judged_at if max(before + 1, self.run.n) <= end <= n}
        for end in sorted(ends | {n}):
            self.advance(end)
            if end in ends or COMPUTED_BESIDE & set(names):
                while self.run.background_work(True):
                    pass
                if self._judged_at:
                    self._judged.append(self.run.view("paused").likelihoods[-1])
        if "findings" in names:
            self.run.look_now()
        snapshot = self.run.view("paused")
        return dataclasses.replace(snapshot, likelihoods=tuple(self._judged)) if self._judged else snapshot


def measure_claims(state: PageState, claims: Sequence[StepClaim]) -> list[Measured]:
    """Return each claim with its numbers, in the given order.

    state : state of the page that the claims are about

    Raises BadInput if the data are not on this machine.
    """
    if (sweep := PAGES[state.page].sweep) is not None:
        return _measure_map(state, sweep(state.settings), claims)
    plan, algorithms = state.setup(Sources()).plan(), state.all_algorithms()
    values: dict[tuple[int, str, int], float | None] = {}
    for panel in sorted({panel for claim in claims for panel, _ in claim.about}):
        # Measure one panel at a time, because each run holds its samples.
        asked, plan_of_panel = _numbers_by_step(claims, panel), plan
        if panel >= len(state.panels):
            branch = state.branches[panel - len(state.panels)]
            before = _MeasuredRun(state, plan, algorithms[branch.of])
            before.advance(branch.at)
            plan_of_panel = plan._replace(warm_start=before.run.warm_start())
        measured = _MeasuredRun(state, plan_of_panel, algorithms[panel], _judged_at(asked))
        if any("monte_carlo" in names for names in asked.values()):
            measured.run.request_monte_carlo(True)
        for n, names in sorted(asked.items()):
            snapshot = measured.snapshot(n, names)
            for name in names:
                values[panel, name, n] = measure(state, (panel, name), snapshot, n)
    return [claim.judged(*map(values.get, claim.points)) for claim in claims]


def _judged_at(asked: Mapping[int, Sequence[str]]) -> set[int]:
    """Return the updates at which the likelihood is computed to find a training's best one.

    A training run computes likelihoods whenever there is time. With fixed updates, the best one does not
    depend on earlier measurements.
    """
    ends = [n for n, names in asked.items() if "below_best" in names]
    return {n * i // JUDGED_POINTS for n in ends for i in range(1, JUDGED_POINTS + 1)}


def _measure_map(state: PageState, plan: SweepPlan, claims: Sequence[StepClaim]) -> list[Measured]:
    """Return each claim about a sweep's map with its numbers; the runs are made one after another."""
    results, values = list[CellResult](), dict[tuple[int, str, int], float | None]()
    asked = _numbers_by_step(claims, 0)
    for i, cell in enumerate(cells(plan, registered=True)[: max(asked, default=0)]):
        results.append(CellRun(cell).finish())
        for name in asked.get(i + 1, ()):
            scores = SweepScores(plan, table(results))
            values[0, name, i + 1] = measure(state, (0, name), scores, i + 1)
    for n, names in asked.items():
        for name in names:
            values.setdefault((0, name, n), None)  # the map has fewer than n runs
    return [claim.judged(*map(values.get, claim.points)) for claim in claims]


def _numbers_by_step(claims: Sequence[StepClaim], panel: int) -> dict[int, list[str]]:
    """Return the names of a panel's numbers that claims compare, keyed by step."""
    asked: dict[int, list[str]] = {}
    for claim in claims:
        for about, metric, n in claim.points:
            if about == panel:
                asked.setdefault(n, []).append(metric)
    return asked


def check_lesson(lesson: Lesson) -> Iterator[tuple[int, list[Measured]]]:
    """Yield the number (from 1) and the measured claims of each step that has claims.

    For a challenge, the claim is that its goal is reached on the ``won_by`` page of its file.

    Raises BadInput if the data of a step are not on this machine.
    """
    for i, step in enumerate(lesson.steps, start=1):
        if step.claims:
            yield i, measure_claims(step.state, step.claims)
        if step.won_by:
            yield i, measure_claims(step.won_by, step.goal)
