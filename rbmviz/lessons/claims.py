"""Claims and goals such as ``panel2.classes > 9 at 1800 samples``; they are parsed, never run as code."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rbmviz.errors import BadInput, quoted, unknown
from rbmviz.lessons.state import PageState
from rbmviz.pages import PAGES

MAX_STEPS = 100_000
"""Maximum number of samples, updates, batches or pairs after which a claim is measured."""

GRAMMAR = re.compile(
    r"panel([1-9])\.([a-z]\w*) (>=|<=|>|<|=) "
    r"(?:(-?[0-9]+(?:\.[0-9]+)?)"
    r"|panel([1-9])\.([a-z]\w*)(?:@([0-9][0-9,]*))?(?: ([+-]) ([0-9]+(?:\.[0-9]+)?))?) "
    r"at ([0-9][0-9,]*) ([a-z]+)(?:, not of panel([1-9]))?",
    re.ASCII,
)

COMPARED: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
}

MEASURED_BY_THE_CLOCK = {"rate", "own_speed"}
"""Numbers that differ between machines, so that claims cannot use them."""

SIGNS = {operator: {">=": "≥", "<=": "≤"}.get(operator, operator) for operator in COMPARED}
"""Operators as displayed when a claim is put into words."""


def _number_words(page: str, names: Sequence[str], panel: int, metric: str) -> str:
    return f"{names[panel]}: {PAGES[page].number(metric).in_words}".removeprefix(": ")


class StepClaim(NamedTuple):
    """A claim that after n steps a panel's number is above, or below, another number.

    panel : index of the panel, from 0
    metric : name of the number, one of the page's ``PageSpec.numbers``
    operator : one of ``COMPARED``
    number : the other number; with ``of``, an offset that is added to the other panel's number
    of : (int, str) or None; index and metric of another panel
    n : number of steps after which the claim is checked
    text : the claim as written
    unit : unit of the steps as written, for example "samples"
    n_of : number of steps after which the other panel's number is taken
    control : index of the negative control: the claim must not hold for this panel instead of ``panel``;
        None: no control
    """

    panel: int
    metric: str
    operator: str
    number: float
    of: tuple[int, str] | None
    n: int
    text: str
    unit: str
    n_of: int
    control: int | None = None

    def is_so(self, value: float | None, other: float | None) -> bool:
        """Return whether the claim holds for its number and the other number; None: unknown."""
        return value is not None and other is not None and COMPARED[self.operator](value, other)

    def compared_with(self, other: float | None) -> float | None:
        """Return the right-hand side of the claim; ``other`` is the other panel's number, None: unknown."""
        if self.of is None:
            return self.number
        return None if other is None else other + self.number

    def of_control(self) -> "StepClaim":
        """Return the claim that must not hold: this claim with the control in place of the panel."""
        assert self.control is not None
        of = (self.control, self.of[1]) if self.of and self.of[0] == self.panel else self.of
        return self._replace(panel=self.control, of=of, control=None)

    def holds(self, values: dict[tuple[int, str], float | None]) -> bool:
        """Return whether the claim holds for these numbers, by panel index and metric; None: unknown."""
        other = None if self.of is None else values[self.of]
        return self.is_so(values[self.panel, self.metric], self.compared_with(other))

    def number_words(self, page: str, names: Sequence[str]) -> str:
        """Return the claim's subject in words; ``names`` are the panels' names, "" for panels without one."""
        return _number_words(page, names, self.panel, self.metric)

    def words(self, page: str, names: Sequence[str]) -> str:
        """Return the claim in words, see ``number_words``."""
        said = self.with_unit(page, f"{self.number:g}")
        if self.of is not None:
            offset = f" {'−' if self.number < 0 else '+'} {abs(self.number):g}" if self.number else ""
            said = f"{_number_words(page, names, *self.of)}{offset}"
        return f"{self.number_words(page, names)} {SIGNS[self.operator]} {said}, {self.when(page)}"

    def with_unit(self, page: str, number: str) -> str:
        """Return a claimed or measured number with its unit, if any."""
        unit, number = PAGES[page].number(self.metric).claimed_unit, number.replace("-", "−")
        return f"{number}\u00a0{unit}" if unit else number

    def when(self, page: str) -> str:
        """Return in words the number of steps after which the claim is checked."""
        called = PAGES[page].steps
        if self.n == 1:
            called = "batch" if called == "batches" else called.removesuffix("s")
        return f"after {self.n:,} {called}"

    @property
    def about(self) -> tuple[tuple[int, str], ...]:
        """Panel index and metric of each compared number."""
        return ((self.panel, self.metric),) if self.of is None else ((self.panel, self.metric), self.of)

    @property
    def points(self) -> tuple[tuple[int, str, int], ...]:
        """Panel index, metric and number of steps of each compared number."""
        own = (self.panel, self.metric, self.n)
        return (own,) if self.of is None else (own, (*self.of, self.n_of))


def parse_claim(text: str, example: str = "panel2.isl > panel1.isl + 50 at 1800 samples") -> StepClaim:
    """Parse a claim; the names of its numbers are not checked.

    Raises BadInput if the text does not follow the grammar; the message gives the example.
    """
    match = GRAMMAR.fullmatch(text)
    if match is None:
        raise BadInput(f"the claim {quoted(text)} is not written as '{example}'.")
    panel, metric, operator, number, other, other_metric, at, sign, offset = match.groups()[:9]
    n_text, unit, control = match.groups()[9:]
    n, n_of = (int(steps.replace(",", "")[:12]) for steps in (n_text, at or n_text))
    of = (int(other) - 1, other_metric) if other else None
    value = float(number) if number else float(f"{sign or '+'}{offset or 0}")
    place = int(control) - 1 if control else None
    return StepClaim(int(panel) - 1, metric, operator, value, of, n, text, unit, n_of, place)


def read_claim(text: str, state: PageState) -> StepClaim:
    """Return the claim that a text makes about the panels of a page.

    Raises BadInput if the text is not a claim, or if the page lacks a panel or a number that it names.
    """
    unit = PAGES[state.page].steps
    measurable = [name for name in PAGES[state.page].numbers(None) if name not in MEASURED_BY_THE_CLOCK]
    claim = parse_claim(text, f"panel1.{measurable[0]} > 3 at 600 {unit}")
    for panel, name in claim.about + (() if claim.control is None else claim.of_control().about):
        if panel >= (most := len(state.panels) + len(state.branches)):
            raise BadInput(f"the claim {quoted(text)} is about panel {panel + 1} of {most}.")
        if name not in measurable:
            raise unknown(f"number of the page {state.page}", name, measurable)
    if claim.unit != unit or not (1 <= claim.n <= MAX_STEPS and 1 <= claim.n_of <= MAX_STEPS):
        raise BadInput(f"the claim {quoted(text)} has to end in 1 to {MAX_STEPS:,} {unit}.")
    return claim


def measure(state: PageState, name: tuple[int, str], snapshot: Any, n: int) -> float | None:
    """Return a number of a snapshot for its first n steps; None if it is not known yet or not finite."""
    return PAGES[state.page].number(name[1]).measured(_ending_at(state.page, snapshot, n))


def _ending_at(page: str, snapshot: Any, n: int) -> Any:
    """Return a snapshot of n or more steps as it would appear at a common point of n steps."""
    if page == "coupling":  # pairs of the three algorithms are counted at different speeds
        ended = [pair for pair in snapshot.displayed_pairs if pair.counted.n >= n]
        return replace(
            snapshot, displayed_pairs=tuple(pair._replace(counted=pair.counted.first(n)) for pair in ended)
        )
    if page == "sample":  # scores are compared at points of the curve
        before = [point for point in snapshot.curve if point.n <= n - snapshot.scored_from]
        newest = before[-1] if before else None
        return snapshot if newest is snapshot.newest else replace(snapshot, newest=newest)
    return snapshot


def measure_now(
    state: PageState, claim: StepClaim, snapshots: Sequence[Any]
) -> dict[tuple[int, str], float | None]:
    """Return the numbers that a claim compares, as a page shows them after its n steps or later.

    They are by index of the panel and metric; None: unknown, or the panel is missing.

    snapshots : snapshots of the panels, in order
    """
    values: dict[tuple[int, str], float | None] = dict.fromkeys(claim.about)
    for panel, metric in claim.about:
        if panel < len(snapshots):
            n = max(claim.n, steps_of(state.page, snapshots[panel]))
            values[panel, metric] = measure(state, (panel, metric), snapshots[panel], n)
    return values


def steps_of(page: str, snapshot: Any) -> int:
    """Return the number of steps of a snapshot; on Coupling, the number of pairs of the slowest algorithm.

    On the Tune page, ``snapshot`` holds the scores of a sweep, and steps are complete runs.
    """
    if page == "tune":
        return int(snapshot.n_done)
    if page != "coupling":
        return int(snapshot.n)
    return min((pair.counted.n for pair in snapshot.displayed_pairs), default=0)
