"""Claims measured without a browser, at full speed: the same runs, made in this thread."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rbmviz.datasets import Dataset, load_registered
from rbmviz.lessons.claims import StepClaim, measure
from rbmviz.lessons.reading import Lesson
from rbmviz.lessons.state import PageState
from rbmviz.session.run import Run


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
    """

    claim: StepClaim
    value: float | None
    other: float | None
    holds: bool


def advance(run: Run, n: int) -> None:
    """Bring a run to its n-th step and score it there, as a pause does."""
    while run.n < n:
        run.record_steps(run.advance(min(run.max_steps(), n - run.n)))
    run.complete()


def _snapshot(state: PageState, run: Any, n: int, names: list[str]) -> Any:
    """Return the snapshot of a run after n steps; of coupled chains, after n pairs of each algorithm."""
    if state.page == "coupling":
        while min(pair.counted.n for pair in run.view("paused").displayed_pairs) < n:
            run.background_work(False)
    else:
        advance(run, n)
    if {"likelihood", "below_best", "gap"} & set(names):
        while run.background_work(True):
            pass
    return run.view("paused")


def measure_claims(
    state: PageState, claims: tuple[StepClaim, ...], data: Callable[[str], Dataset] = load_registered
) -> list[Measured]:
    """Return each claim about a page with its numbers, in the order of the claims.

    Raises
    ------
    BadInput
        If data are not on this machine.
    """
    asked: dict[tuple[int, int], list[str]] = {}  # the numbers of a panel after so many steps
    for claim in claims:
        for panel, metric in claim.about:
            asked.setdefault((panel, claim.n), []).append(metric)
    plan, algorithms = state.setup(data).plan(), state.algorithms()
    runs: dict[int, Any] = {}
    found: dict[tuple[int, str, int], float | None] = {}
    for (panel, n), names in sorted(asked.items()):
        if panel not in runs:
            runs = {panel: plan.run(1, algorithms[panel])}  # one at a time: their samples are kept
            runs[panel].prepare()
        shown = _snapshot(state, runs[panel], n, names)
        for name in names:
            found[panel, name, n] = measure(state, (panel, name), shown, n)
    return [_result(claim, found) for claim in claims]


def _result(claim: StepClaim, found: dict[tuple[int, str, int], float | None]) -> Measured:
    values = {(panel, name): found[panel, name, claim.n] for panel, name in claim.about}
    other = claim.number if claim.of is None else values[claim.of]
    if claim.of is not None and other is not None:
        other += claim.number
    return Measured(claim, values[claim.panel, claim.metric], other, claim.holds(values))


def check_lesson(lesson: Lesson) -> Iterator[tuple[int, list[Measured]]]:
    """Yield the number (from 1) and the measured claims of each step that claims something.

    Raises
    ------
    BadInput
        If the data of a step are not on this machine.
    """
    for i, step in enumerate(lesson.steps, start=1):
        if step.claims:
            yield i, measure_claims(step.state, step.claims)
