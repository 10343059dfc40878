"""Claims of the papers, and the rule that compares them with estimates.

A claim has *bounds* on estimates. A bound is shown if the estimate's whole confidence interval lies within
it, contradicted if the interval lies outside, and undecided otherwise. The verdict follows from the bounds
alone (``judge``), by the same rule for and against a claim. A quick run uses wider intervals than a full run
and so can only decide less.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import stdtrit

from rbmviz.ledger import CONFIDENCE_BY_SIZE, Size, VerdictName

WEAKER: dict[VerdictName, VerdictName] = {"holds": "in part", "does not hold here": "contradicted in part"}
"""What a shortened run can say instead of each decided verdict."""

MOST_REPLICATIONS = 2000
"""Replications above which a reason only says that more are needed."""


class Estimate(NamedTuple):
    """A measured number.

    value : mean over the replications, or the number itself
    error : standard error of the mean; 0 if exact, NaN if unknown
    n : replications; 1 if the error has another source and is taken as normal. Two replications decide
        nothing: their error is as uncertain as the number.
    """

    value: float
    error: float = 0.0
    n: int = 1

    @classmethod
    def of(cls, values: Sequence[float] | np.ndarray) -> Self:
        """Return mean and standard error of replications; the error of a single one is unknown."""
        x = np.asarray(values, np.float64)
        error = float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan
        error = 0.0 if len(x) > 1 and np.ptp(x) == 0 else error  # no rounding error for equal values
        return cls(float(x.mean()) if len(x) else math.nan, error, len(x))

    def interval(self, size: Size) -> tuple[float, float]:
        """Return the confidence interval of a run, by Student's t for several replications."""
        half = self.half_width(size)
        return self.value - half, self.value + half

    def half_width(self, size: Size) -> float:
        """Return half the width of ``interval``."""
        tail = (1 + CONFIDENCE_BY_SIZE[size]) / 2
        degrees = self.n - 1 if self.n > 1 else 1e6
        return float(stdtrit(degrees, tail)) * self.error

    @property
    def cap(self) -> str:
        """The remark on several replications without an error, which are at a cap; else ""."""
        return f" (the same in all {self.n} replications: a cap)" if self.n > 1 and not self.error else ""

    @property
    def text(self) -> str:
        """The number with its error."""
        if math.isnan(self.value):
            return "unknown"
        if self.error == 0:
            return f"{self.value:.4g}{self.cap}"
        if math.isnan(self.error):
            return f"{self.value:.4g} (error unknown)"
        return f"{self.value:.4g} ± {self.error:.2g}"


LOGARITHM = "log10 of "
"""Beginning of the label of an estimate that is the logarithm of a factor."""


def measured_text(label: str, estimate: Estimate) -> str:
    """Return label and estimate as text; for a logarithm, its factor, as the papers print it."""
    value, error, _ = estimate
    if not label.startswith(LOGARITHM) or math.isnan(value):
        return f"{label}: {estimate.text}"
    with np.errstate(over="ignore"):
        factor, spread = (float(f"{np.power(10.0, power):.3g}") for power in (value, error))
    text = label.removeprefix(LOGARITHM)
    text += f": {factor:,g} times" if factor < 1e6 else f": {factor:.3g} times"
    if math.isnan(error):
        return f"{text} (error unknown)"
    return f"{text}, within a factor of {spread:g}" if error else f"{text}{estimate.cap}"


@dataclass(frozen=True)
class Bound:
    """Bounds on one estimate.

    number : key of the estimate
    label : what is estimated, with its unit. "log10 of ...": its factor is what readers see.
    at_least, at_most : the estimate must lie between these
    """

    number: str
    label: str
    at_least: float = -math.inf
    at_most: float = math.inf

    def holds(self, estimate: Estimate, size: Size) -> bool | None:
        """Return whether an estimate shows this bound (True), contradicts it (False) or neither (None)."""
        lo, hi = estimate.interval(size)
        if math.isnan(lo) or math.isnan(hi) or estimate.n == 2:
            return None
        if self.at_least <= lo and hi <= self.at_most:
            return True
        if hi < self.at_least or lo > self.at_most:
            return False
        return None

    def needed(self, estimate: Estimate, size: Size) -> str:
        """Say how many replications would decide this bound if the estimate stays as it is; "" if unknown."""
        value, error, n = estimate
        near = [abs(value - bound) for bound in (self.at_least, self.at_most) if math.isfinite(bound)]
        if n < 2 or not near or not math.isfinite(error) or math.isnan(value):
            return ""
        deviation, room = error * math.sqrt(n), min(near)

        def decides(more: int) -> bool:
            return Estimate(value, deviation / math.sqrt(more), more).half_width(size) <= room

        more = bisect_left(range(MOST_REPLICATIONS + 1), True, n + 1, key=decides)  # intervals shrink
        if more <= MOST_REPLICATIONS:
            return f"with about {more:,} in place of {n} replications it would be, if it stays so"
        return f"more than {MOST_REPLICATIONS:,} replications would be needed"

    @property
    def text(self) -> str:
        """The bounds in words; for a logarithm, the bounds of its factor, which papers print."""
        low, high = self.at_least, self.at_most
        if self.label.startswith(LOGARITHM):
            low, high = (float(f"{10.0**bound:.3g}") for bound in (low, high))
        if math.isinf(self.at_most):
            return f"at least {low:,g}"
        if math.isinf(self.at_least):
            return f"at most {high:,g}"
        return f"from {low:,g} to {high:,g}"


def bounds(key: str, label: str, each: Iterable[str], **limits: float) -> list[Bound]:
    """Return the same bound for each model or data set, on the estimate ``<key>_<name>``."""
    return [Bound(f"{key}_{name}", f"{label}, `{name}`", **limits) for name in each]


@dataclass(frozen=True)
class PaperClaim:
    """A claim of a paper in our words, and when it holds.

    name : unique within the recipe
    text : the claim in one sentence
    paper : the paper's number or words
    bounds : what must be shown
    shortened : by size, why a run of that size is too short for the whole claim: it can show or contradict it
        in part only
    if_undecided : why more replications would not decide it; by default the reason says how many would
    live_link : address of a page that runs the claim live, see ``pages.link_to`` (default: the recipe's)
    variant : whether it is no sentence of the paper, but a variant of one: another setting, or a warning
        (default False). Variants are counted apart.
    timed : whether it is about processor times, which are of this implementation (default False). Such claims
        are counted apart, too.
    """

    name: str
    text: str
    paper: str
    bounds: tuple[Bound, ...]
    shortened: Mapping[str, str] | None = None
    if_undecided: str = ""
    live_link: str = ""
    variant: bool = False
    timed: bool = False


def claim(name: str, text: str, paper: str, *bounds: Bound, **options: Any) -> PaperClaim:
    """Return a ``PaperClaim`` of these bounds; options are its other fields."""
    return PaperClaim(name, text, paper, bounds, **options)


class Verdict(NamedTuple):
    """A verdict with its reason in whole sentences."""

    name: VerdictName
    reason: str


def judge(claim: PaperClaim, numbers: Mapping[str, Estimate], size: Size) -> Verdict:
    """Return the verdict on a claim.

    numbers : the estimates by key; a missing one was not measured at this size
    size : size of the run

    Returns
    -------
    Verdict
        "holds" if every bound is shown and "does not hold here" if all are contradicted, unless the run is
        shortened; else "in part" if some are shown, "contradicted in part" if some are contradicted and none
        is shown, and "not decided" if neither. "Not run at this size" if nothing was measured.
    """
    measured = [bound for bound in claim.bounds if bound.number in numbers]
    if not measured:
        return Verdict("not run at this size", "None of its numbers was measured.")
    decided = [bound.holds(numbers[bound.number], size) for bound in measured]
    missing = [bound.label for bound in claim.bounds if bound.number not in numbers]
    outcomes: list[bool | None] = [*decided, *(None for _ in missing)]
    words = {True: "as the paper says", False: "not as the paper says", None: "not decided"}
    reasons = []
    for bound, outcome in zip(measured, decided, strict=True):
        number = numbers[bound.number]
        needed = "" if outcome is not None or claim.if_undecided else bound.needed(number, size)
        said = f"{measured_text(bound.label, number)}, expected {bound.text}: {words[outcome]}"
        reasons.append(said + (f" ({needed})." if needed else "."))
    reasons += [claim.if_undecided] * bool(claim.if_undecided and None in decided)
    reasons += [f"{label}: not measured at this size." for label in missing]
    name: VerdictName = "not decided"
    if len(set(outcomes)) == 1 and outcomes[0] is not None:
        name = "holds" if outcomes[0] else "does not hold here"
    elif True in outcomes or False in outcomes:
        name = "in part" if True in outcomes else "contradicted in part"
    if (limit := (claim.shortened or {}).get(size)) and name in WEAKER:
        name = WEAKER[name]
        reasons.append(limit)
    return Verdict(name, " ".join(reasons))
