"""Claims and goals: ``panel2.classes > 9 at 1800 samples``, parsed and never evaluated as code."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rbmviz.coupling import ALGORITHM_LABELS, ALGORITHMS, STATISTICS
from rbmviz.errors import BadInput, shown, unknown
from rbmviz.lessons.state import PageState
from rbmviz.pages import PAGES
from rbmviz.session.sweep_scores import SweepScores
from rbmviz.session.sweep_view import first_measure
from rbmviz.session.training import below_best
from rbmviz.sweeps import Choice

MAX_STEPS = 100_000
"""Most samples, updates, batches or pairs after which a claim is measured."""

GRAMMAR = re.compile(
    r"panel([1-9])\.([a-z]\w*) (>=|<=|>|<|=) "
    r"(?:(-?[0-9]+(?:\.[0-9]+)?)|panel([1-9])\.([a-z]\w*)(?: ([+-]) ([0-9]+(?:\.[0-9]+)?))?) "
    r"at ([0-9][0-9,]*) ([a-z]+)",
    re.ASCII,
)

COMPARED: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
}

SIGNS = {operator: {">=": "≥", "<=": "≤"}.get(operator, operator) for operator in COMPARED}
"""How claims in words say it."""


class PanelNumber(NamedTuple):
    """A number of a panel.

    Parameters
    ----------
    label : str
        What the card calls it.
    value : callable
        Returns the number of a snapshot for the first n steps, or None while it is not known. Counts
        over all steps, or over the samples since the last change of a knob, are the snapshot's; a measurement
        takes its snapshot at exactly n steps.
    unit : str
        Written behind the number, "" or "%".
    """

    label: str
    value: Callable[[Any, int], float | None]
    unit: str = ""


def _at(points: Any, n: int, count: Callable[[Any], int]) -> Any:
    """Return the last point that counts at most n steps; None if there is none."""
    return next((point for point in reversed(points) if count(point) <= n), None)


def _isl(snapshot: Any, n: int) -> float | None:
    point = _at(snapshot.curve, n - snapshot.scored_from, lambda point: point.n)
    return None if point is None else float(point.isl)


def _largest(snapshot: Any, n: int) -> float | None:
    if snapshot.occupancy is None:
        return None
    # As the bars beside the strip; the newest samples may not be counted yet.
    classes, blanks = (bins[snapshot.bins_before :] for bins in (snapshot.occupancy, snapshot.blanks))
    counted = classes.sum() + blanks.sum()
    return 100 * float(classes.sum(axis=0).max() / counted) if counted else None


def _percent(value: Callable[[Any], float | None]) -> Callable[[Any, int], float | None]:
    def percent(snapshot: Any, n: int) -> float | None:
        share = value(snapshot)
        return None if share is None else 100 * share

    return percent


def _walk(name: str) -> Callable[[Any, int], float | None]:
    def value(snapshot: Any, n: int) -> float | None:
        point = _at(snapshot.curve, n, lambda point: point.n)
        return None if point is None else getattr(point, name)

    return value


def _likelihood(snapshot: Any, n: int) -> float | None:
    point = _at(snapshot.likelihoods, n, lambda point: point.update)
    return None if point is None else float(point.train[0])


def _below_best(snapshot: Any, n: int) -> float | None:
    return below_best([point for point in snapshot.likelihoods if point.update <= n])


def _gap(snapshot: Any, n: int) -> float | None:
    if snapshot.reference is None or snapshot.newest is None:
        return None
    return snapshot.reference.log_z - snapshot.newest.log_z


def _pairs(algorithm: str, of: Callable[[Any, int], float]) -> Callable[[Any, int], float | None]:
    def value(snapshot: Any, n: int) -> float | None:
        counted = [pair.counted for pair in snapshot.displayed_pairs if pair.algorithm == algorithm]
        return of(counted[0], n) if counted and counted[0].n >= n else None

    return value


def _cd_off(pairs: Any, n: int) -> float:
    """Return by how many standard errors CD-k and the unbiased estimate of the same pairs differ."""
    i = STATISTICS.index("both units on")
    apart = pairs.cd_estimate[:n, i] - pairs.unbiased[:n, i]
    return float(abs(apart.mean()) / (apart.std() / np.sqrt(n)))


def _of_map(of: Callable[[SweepScores, Choice], float]) -> Callable[[Any, int], float | None]:
    """Return what reads a number of the map of a sweep: where its runs end, on the first model."""

    def value(scores: SweepScores, n: int) -> float | None:
        effort = scores.plan.budget.unit
        ends = scores.range(effort)
        if ends is None:
            return None
        choices = scores.at(ends[1], effort, first_measure(scores.plan.metrics)).choices
        return float(of(scores, next(iter(choices.values())))) if choices else None

    return value


def _best_along(axis: int) -> Callable[[SweepScores, Choice], float]:
    def value(scores: SweepScores, choice: Choice) -> float:
        axes = scores.plan.axes
        return float(choice.best.knobs.get(axes[axis].knob, np.nan)) if axis < len(axes) else np.nan

    return value


def _met_within_10(pairs: Any, n: int) -> np.ndarray:
    return (pairs.tau[:n] <= 10) & ~pairs.truncated[:n]  # one that was cut off sooner has not met


_OF_PAIRS: dict[str, tuple[str, str, Callable[[Any, int], float]]] = {
    "mean": ("sweeps until they meet, on average", "", lambda pairs, n: float(pairs.tau[:n].mean())),
    "median": ("sweeps until half have met", "", lambda pairs, n: float(np.median(pairs.tau[:n]))),
    "within_10": ("met within 10 sweeps", "%", lambda pairs, n: 100 * float(_met_within_10(pairs, n).mean())),
    "cd_off": ("standard errors by which CD-k is off", "", _cd_off),
    "cut": ("cut off before they met", "%", lambda pairs, n: 100 * float(pairs.truncated[:n].mean())),
}

PANEL_NUMBERS: dict[str, dict[str, PanelNumber]] = {
    "sample": {
        "classes": PanelNumber(
            "classes visited", lambda snapshot, n: snapshot.visited and snapshot.visited[0]
        ),
        "largest_class": PanelNumber("largest class holds", _largest, "%"),
        "classes_in_all": PanelNumber(
            "classes visited in all",
            lambda snapshot, n: snapshot.visited_in_all and snapshot.visited_in_all[0],
        ),
        "coverage": PanelNumber("class coverage", _percent(lambda snapshot: snapshot.class_coverage), "%"),
        "switches": PanelNumber("class switches", lambda snapshot, n: snapshot.switches),
        "isl": PanelNumber("ISL", _isl),
        "spurious": PanelNumber("spurious", _percent(lambda snapshot: snapshot.spurious), "%"),
        "spurious_in_all": PanelNumber(
            "spurious in all", _percent(lambda snapshot: snapshot.spurious_in_all), "%"
        ),
        "blank": PanelNumber("blank", _percent(lambda snapshot: snapshot.blank), "%"),
        "fast_norm": PanelNumber("fast norm", lambda snapshot, n: snapshot.fast_norm),
        "sweeps": PanelNumber(
            "sweeps a sample",
            lambda snapshot, n: (
                snapshot.since_turn.sweeps / snapshot.since_turn.samples if snapshot.n else None
            ),
        ),
    },
    "chain": {
        "crossings": PanelNumber("crossings", lambda snapshot, n: snapshot.crossings),
        "visits": PanelNumber("visits off by", _walk("visits")),
        "moments": PanelNumber("moments off by", _walk("moments")),
        "raised": PanelNumber("ground raised", lambda snapshot, n: snapshot.raised),
        "bent": PanelNumber("ground bent by", lambda snapshot, n: snapshot.bent),
        "states": PanelNumber("different states visited", lambda snapshot, n: (snapshot.visits > 0).sum()),
        "empty": PanelNumber(
            "empty states", lambda snapshot, n: 100 * snapshot.visits[0] / n if n else None, "%"
        ),
        "fast_norm": PanelNumber("fast norm", lambda snapshot, n: snapshot.fast_norm),
    },
    "train": {
        "likelihood": PanelNumber("log-likelihood", _likelihood),
        "below_best": PanelNumber("below its best", _below_best),
        "learning_rate": PanelNumber("learning rate", lambda snapshot, n: snapshot.algorithm.learning_rate),
    },
    "weights": {
        "ess": PanelNumber(
            "effective share", _percent(lambda snapshot: snapshot.ess_share if snapshot.pooled else None), "%"
        ),
        "heaviest": PanelNumber(
            "heaviest sample holds",
            _percent(lambda snapshot: snapshot.max_share if snapshot.pooled else None),
            "%",
        ),
        "log_z": PanelNumber("log Z estimate", lambda snapshot, n: snapshot.newest and snapshot.newest.log_z),
        "gap": PanelNumber("log Z too low by", _gap),
    },
    "tune": {
        "best": PanelNumber("the best score", _of_map(lambda scores, choice: choice.best.mean)),
        "worst": PanelNumber("the worst score", _of_map(lambda scores, choice: choice.settings[-1].mean)),
        "tied": PanelNumber(
            "settings tied with the best",
            _of_map(lambda scores, choice: len(choice.region)),
        ),
        "best_x": PanelNumber("the best value across", _of_map(_best_along(0))),
        "best_y": PanelNumber("the best value up", _of_map(_best_along(1))),
    },
    "coupling": {
        "scale": PanelNumber(
            "standard deviation of all parameters", lambda snapshot, n: snapshot.algorithm.scale
        ),
    }
    | {
        f"{algorithm}_{name}": PanelNumber(
            f"{ALGORITHM_LABELS[algorithm]}: {label}", _pairs(algorithm, of), unit
        )
        for algorithm in ALGORITHMS
        for name, (label, unit, of) in _OF_PAIRS.items()
    },
}
"""The numbers that claims may be about, by page and name: a closed list."""


def _number_words(page: str, names: Sequence[str], panel: int, metric: str) -> str:
    return f"{names[panel]}: {PANEL_NUMBERS[page][metric].label}".removeprefix(": ")


class StepClaim(NamedTuple):
    """After n steps a number of one panel is above, or below, another number.

    Parameters
    ----------
    panel : int
        Place of the panel, from 0.
    metric : str
        A name of ``PANEL_NUMBERS`` of the page.
    operator : str
        One of ``COMPARED``.
    number : float
        What the number is compared with; with ``of`` it is added to the number of that panel.
    of : (int, str) or None
        Place and metric of another panel.
    n : int
        Steps after which the numbers are taken.
    text : str
        The claim as it was written.
    """

    panel: int
    metric: str
    operator: str
    number: float
    of: tuple[int, str] | None
    n: int
    text: str

    def holds(self, values: dict[tuple[int, str], float | None]) -> bool:
        """Return whether it holds for these numbers of panels, by place and metric; None is not known."""
        left = values[self.panel, self.metric]
        right = 0.0 if self.of is None else values[self.of]
        return left is not None and right is not None and COMPARED[self.operator](left, right + self.number)

    def number_words(self, page: str, names: Sequence[str]) -> str:
        """Return what the claim is about; ``names`` are the panels' names, "" for a panel that needs none."""
        return _number_words(page, names, self.panel, self.metric)

    def words(self, page: str, names: Sequence[str]) -> str:
        """Return the claim in words, see ``number_words``."""
        said = self.with_unit(page, f"{self.number:g}")
        if self.of is not None:
            offset = f" {'−' if self.number < 0 else '+'} {abs(self.number):g}" if self.number else ""
            said = f"{_number_words(page, names, *self.of)}{offset}"
        return f"{self.number_words(page, names)} {SIGNS[self.operator]} {said}, {self.when(page)}"

    def with_unit(self, page: str, number: str) -> str:
        """Return a number of the claim, or measured for it, with its unit, if it has one."""
        unit, number = PANEL_NUMBERS[page][self.metric].unit, number.replace("-", "−")
        return f"{number}\u00a0{unit}" if unit else number

    def when(self, page: str) -> str:
        """Return after how many steps it is measured, in words."""
        called = PAGES[page].steps
        if self.n == 1:
            called = "batch" if called == "batches" else called.removesuffix("s")
        return f"after {self.n:,} {called}"

    @property
    def about(self) -> tuple[tuple[int, str], ...]:
        """Place and metric of each number that it compares."""
        return ((self.panel, self.metric),) if self.of is None else ((self.panel, self.metric), self.of)


def read_claim(text: str, state: PageState) -> StepClaim:
    """Return the claim of a text about the panels of a page.

    Raises
    ------
    BadInput
        If it is not a claim, or about a panel or a number that the page does not have.
    """
    match = GRAMMAR.fullmatch(text)
    unit = PAGES[state.page].steps
    if match is None:
        example = next(iter(PANEL_NUMBERS[state.page]))
        raise BadInput(f"the claim {shown(text)} is not written as 'panel1.{example} > 3 at 600 {unit}'.")
    panel, metric, operator, number, other, other_metric, sign, offset = match.groups()[:8]
    n_text, unit_text = match.groups()[8:]
    for place, name in [(panel, metric), *([(other, other_metric)] if other else [])]:
        if int(place) > (most := len(state.panels) + len(state.branches)):
            raise BadInput(f"the claim {shown(text)} is about panel {place} of {most}.")
        if name not in PANEL_NUMBERS[state.page]:
            raise unknown(f"number of the page {state.page}", name, PANEL_NUMBERS[state.page])
    n = int(n_text.replace(",", "")[:12])
    if unit_text != unit or not 1 <= n <= MAX_STEPS:
        raise BadInput(f"the claim {shown(text)} has to end in 1 to {MAX_STEPS:,} {unit}.")
    of = (int(other) - 1, other_metric) if other else None
    value = float(number) if number else float(f"{sign or '+'}{offset or 0}")
    return StepClaim(int(panel) - 1, metric, operator, value, of, n, text)


def measure(state: PageState, name: tuple[int, str], snapshot: Any, n: int) -> float | None:
    """Return a number of a snapshot, for its first n steps; None while it is not known, or is not finite."""
    value = PANEL_NUMBERS[state.page][name[1]].value(snapshot, n)
    return float(value) if value is not None and np.isfinite(value) else None


def measure_now(
    state: PageState, claim: StepClaim, snapshots: Sequence[Any]
) -> dict[tuple[int, str], float | None]:
    """Return the numbers that a claim compares as a page shows them: after its steps, or after more.

    Parameters
    ----------
    shown : sequence of snapshot
        Of the panels, in order.

    Returns
    -------
    dict of (int, str) to float or None
        By place and metric; None: not known, or of a panel that is not there.
    """
    values: dict[tuple[int, str], float | None] = dict.fromkeys(claim.about)
    for panel, metric in claim.about:
        if panel < len(snapshots):
            n = max(claim.n, steps_of(state.page, snapshots[panel]))
            values[panel, metric] = measure(state, (panel, metric), snapshots[panel], n)
    return values


def steps_of(page: str, snapshot: Any) -> int:
    """Return how many steps a snapshot counts: on Coupling the pairs, of the algorithm with the fewest.

    Of the page Tune ``snapshot`` is the scores of a sweep, which counts its runs.
    """
    if page == "tune":
        return int(snapshot.n_done)
    if page != "coupling":
        return int(snapshot.n)
    return min((pair.counted.n for pair in snapshot.displayed_pairs), default=0)
