"""Claims measured without a browser, at full speed: the same runs, made in this thread."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rbmviz.datasets import Dataset, load_registered
from rbmviz.lessons.claims import StepClaim, measure
from rbmviz.lessons.state import PageState
from rbmviz.pages import Sources
from rbmviz.session.rebuild import Change
from rbmviz.session.run import Run
from rbmviz.session.sweep_scores import SweepScores
from rbmviz.sweeps import CellRun, cells
from rbmviz.sweeps.from_settings import plan_of

JUDGED_POINTS = 60
"""Points of a training, equally spaced, whose likelihoods are computed to find the best one."""

CoreTurn = Callable[[], contextlib.AbstractContextManager[object]]
"""Gives a turn at a core for one chunk of steps; it may also refuse to go on."""


class Measured(NamedTuple):
    """A claim and its two numbers.

    Parameters
    ----------
    claim : StepClaim
    value : float or None
        The number of its panel; None: it could not be known.
    other : float or None
        What that is compared with.
    holds : bool
    n : int
        Steps after which they were taken: those of the claim, or the first within which it held.
    """

    claim: StepClaim
    value: float | None
    other: float | None
    holds: bool
    n: int


class _Replay:
    """A run that is made with changes of knobs at known steps, as ``Worker.rebuild_data`` returns them."""

    def __init__(
        self, plan: Any, changes: Sequence[Change], at_core: CoreTurn, judged_at: Iterable[int] = ()
    ) -> None:
        first, *self._waiting = changes
        self._at_core = at_core
        self._judged: list[Any] = []  # likelihoods of a training, which itself drops points of a long curve
        self._judged_at = sorted(judged_at)
        self.run: Any = plan.run(1, first.algorithm)
        with at_core():
            self._take_knobs()
            self.run.prepare()

    def _take_knobs(self) -> None:
        while self._waiting and self._waiting[0].n <= self.run.n:
            self.run.set_knobs(self._waiting.pop(0).algorithm)

    def advance(self, n: int) -> None:
        """Bring the run to its n-th step and score it there, as a pause does."""
        run: Run = self.run
        while run.n < n:
            self._take_knobs()
            end = min([n, *(change.n for change in self._waiting[:1])])
            with self._at_core():
                if not run.prepared:  # these knobs need a new state
                    run.prepare()
                run.record_steps(run.timed_advance(min(run.max_steps(), end - run.n)))
        run.complete()

    def snapshot(self, page: str, n: int, names: Iterable[str]) -> Any:
        """Return the snapshot after n steps; of coupled chains, after n pairs of each algorithm."""
        if page == "coupling":
            while min(pair.counted.n for pair in self.run.view("paused").displayed_pairs) < n:
                with self._at_core():
                    self.run.background_work(False)
        else:
            before = self._judged[-1].update if self._judged else -1
            ends = {end for end in self._judged_at if max(before + 1, self.run.n) <= end <= n}
            for end in sorted(ends | {n}):
                self.advance(end)
                if end in ends or {"likelihood", "gap"} & set(names):
                    self._complete_background_work()
                    if page == "train":
                        self._judged.append(self.run.view("paused").likelihoods[-1])
        shown = self.run.view("paused")
        return dataclasses.replace(shown, likelihoods=tuple(self._judged)) if page == "train" else shown

    def _complete_background_work(self) -> None:
        worked = True
        while worked:
            with self._at_core():
                worked = self.run.background_work(True)


def measure_claims(
    state: PageState,
    claims: Sequence[StepClaim],
    data: Callable[[str], Dataset] = load_registered,
    changes: Sequence[Sequence[Change]] = (),
    at_core: CoreTurn = contextlib.nullcontext,
) -> list[Measured]:
    """Return each claim about a page with its numbers, in the order of the claims.

    Parameters
    ----------
    state : PageState
        The page, whose runs are made.
    claims : sequence of StepClaim
    data : callable
        Loads registered data by name.
    changes : sequence of sequence of Change
        The knobs of each panel by step; empty (the default): those of the page, which nobody turns.
    at_core : callable
        Returns the context in which a chunk of steps is made (default: one that does nothing).

    Raises
    ------
    BadInput
        If data are not on this machine.
    """
    if state.page == "tune":
        return _measure_map(state, claims, at_core)
    changes = changes or [[Change(0, algorithm)] for algorithm in state.algorithms()]
    plan = state.setup(Sources(data=data)).plan()
    found: dict[tuple[int, str, int], float | None] = {}
    reached: dict[StepClaim, tuple[int, float]] = {}  # goals that say "within", and held
    for panel in sorted({panel for claim in claims for panel, _ in claim.about}):
        # One panel at a time: the samples of each are kept.
        asked = _numbers_by_step(claims, panel)
        within = [claim for claim in claims if claim.within and claim.panel == panel]
        if panel < len(state.panels):
            replay = _Replay(plan, changes[panel], at_core, _judged_at(asked))
            if state.page == "coupling":
                replay.run.request_results(k=_k_of_estimates(state.settings), exact=False)
        else:
            branch = state.branches[panel - len(state.panels)]
            before = _Replay(plan, changes[branch.of], at_core)
            before.advance(branch.at)
            algorithm = state.all_algorithms()[panel]
            plan_of_branch = plan._replace(origin=before.run.origin())
            replay = _Replay(plan_of_branch, [Change(branch.at, algorithm)], at_core, _judged_at(asked))
        for n in sorted({*asked, *range(1, max((claim.n for claim in within), default=0) + 1)}):
            looked_for = [claim for claim in within if claim.n >= n and claim not in reached]
            if n not in asked and not looked_for:
                continue
            names = asked.get(n, [])
            shown = replay.snapshot(state.page, n, names)
            for name in names:
                found[panel, name, n] = measure(state, (panel, name), shown, n)
            for claim in looked_for:
                value = measure(state, (panel, claim.metric), shown, n)
                if value is not None and claim.holds({(panel, claim.metric): value}):
                    reached[claim] = n, value
    return [_result(claim, found, reached.get(claim)) for claim in claims]


def _k_of_estimates(settings: Mapping[str, Any]) -> int:
    """Return the k of CD-k and UCD that the page Coupling asks for: its control is among further charts.

    The lag there belongs to other pairs, which no claim is about.
    """
    return int(settings["estimate_k"]) if settings["coupling_more"] else 1


def _judged_at(asked: Mapping[int, Sequence[str]]) -> set[int]:
    """Return the updates whose likelihoods are computed to find the best of a training.

    A training computes likelihoods as it finds time: the best is one of always the same updates, whatever
    other numbers are measured before.
    """
    ends = [n for n, names in asked.items() if "below_best" in names]
    return {n * i // JUDGED_POINTS for n in ends for i in range(1, JUDGED_POINTS + 1)}


def _measure_map(state: PageState, claims: Sequence[StepClaim], at_core: CoreTurn) -> list[Measured]:
    """Return each claim about the map of a sweep, whose runs are made one after the other."""
    plan = plan_of(state.settings)
    scores, found = SweepScores(plan), dict[tuple[int, str, int], float | None]()
    asked = _numbers_by_step(claims, 0)
    for i, cell in enumerate(cells(plan, registered=True)[: max(asked, default=0)]):
        run, more = CellRun(cell), True
        while more:
            with at_core():
                more = run.step()
        scores.put(i, run.columns())
        for name in asked.get(i + 1, ()):
            found[0, name, i + 1] = measure(state, (0, name), scores, i + 1)
    for n, names in asked.items():
        for name in names:
            found.setdefault((0, name, n), None)  # the map has fewer runs
    return [_result(claim, found, None) for claim in claims]


def _numbers_by_step(claims: Sequence[StepClaim], panel: int) -> dict[int, list[str]]:
    """Return the names of the numbers of a panel that claims compare, by the steps after which they do."""
    asked: dict[int, list[str]] = {}
    for claim in claims:
        for about, metric in claim.about:
            if about == panel:
                asked.setdefault(claim.n, []).append(metric)
    return asked


def _result(
    claim: StepClaim, found: dict[tuple[int, str, int], float | None], reached: tuple[int, float] | None
) -> Measured:
    if reached is not None:
        n, value = reached
        return Measured(claim, value, claim.number, True, n)
    values = {(panel, name): found[panel, name, claim.n] for panel, name in claim.about}
    other = claim.number if claim.of is None else values[claim.of]
    if claim.of is not None and other is not None:
        other += claim.number
    return Measured(claim, values[claim.panel, claim.metric], other, claim.holds(values), claim.n)
