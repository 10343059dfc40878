"""Claims and goals such as ``panel2.classes > 9 at 1800 samples``; they are parsed, never run as code."""

import re
from collections.abc import Callable, Sequence
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

WORDS = {">": "above", "<": "below", ">=": "at least", "<=": "at most"}
"""Operators in the words of claims; ``=`` needs none."""


def _number_words(page: str, names: Sequence[str], panel: int, metric: str) -> str:
    called = PAGES[page].number(metric).in_words
    return f"“{called[:1].upper()}{called[1:]}”" + (f" with {names[panel]}" if names[panel] else "")


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

    def judged(self, value: float | None, other: float | None = 0.0) -> "Measured":
        """Return the claim with its number and, if it has one, the other panel's; None: unknown."""
        right = None if other is None else other + self.number
        holds = value is not None and right is not None and COMPARED[self.operator](value, right)
        return Measured(self, value, right, holds)

    def of_control(self) -> "StepClaim":
        """Return the claim that must not hold: this claim with the control in place of the panel."""
        assert self.control is not None
        of = (self.control, self.of[1]) if self.of and self.of[0] == self.panel else self.of
        return self._replace(panel=self.control, of=of, control=None)

    def number_words(self, page: str, names: Sequence[str]) -> str:
        """Return the claim's subject in words; ``names`` are the panels' names, "" for panels without one."""
        return _number_words(page, names, self.panel, self.metric)

    def words(self, page: str, names: Sequence[str]) -> str:
        """Return the claim as a sentence, see ``number_words``."""
        than, number = WORDS.get(self.operator, ""), self.with_unit(page, f"{abs(self.number):g}")
        if self.of is None:
            said = f"{than} {self.with_unit(page, f'{self.number:g}')}".strip()
        else:
            panel, metric = self.of
            side, more = ("below" if self.number < 0 else "above"), (self.number < 0) == (than == "below")
            by = f"{'more' if more else 'less'} than {number} {side}" if self.number else than
            same = metric == self.metric
            said = f"{by} {f'that with {names[panel]}' if same else _number_words(page, names, *self.of)}"
        when = self.when(page)
        return f"{when[:1].upper()}{when[1:]}, {self.number_words(page, names)} is {said}"

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


class Measured(NamedTuple):
    """A claim and the two numbers that it compares.

    value : the panel's number; None: unknown
    other : the number on the right-hand side; None: unknown
    """

    claim: StepClaim
    value: float | None
    other: float | None
    holds: bool


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
    spec = PAGES[state.page]
    return spec.number(name[1]).measured(spec.first(snapshot, n))


def measure_now(state: PageState, claim: StepClaim, snapshots: Sequence[Any]) -> Measured:
    """Return a claim with its numbers as a page shows them after its n steps or later.

    snapshots : snapshots of the panels, in order; numbers of missing panels are unknown
    """
    values: list[float | None] = []
    for panel, metric in claim.about:
        snapshot = snapshots[panel] if panel < len(snapshots) else None
        n = max(claim.n, PAGES[state.page].count(snapshot)) if snapshot is not None else 0
        values.append(None if snapshot is None else measure(state, (panel, metric), snapshot, n))
    return claim.judged(*values)
