"""Claims and verdicts: what a paper says, and the pure rule that holds it against numbers with errors.

A claim has *parts*: each compares one measured number with bounds. A part is shown if the whole confidence
interval of the number lies within the bounds, contradicted if it lies outside, and undecided otherwise. The
verdict follows from the parts alone, ``judge``. A quick run uses wider intervals than a full one, so that on
the same numbers it can only say less.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
from scipy.special import stdtrit

Size = Literal["quick", "full"]
SIZES: tuple[Size, ...] = ("quick", "full")

VerdictName = Literal["holds", "in part", "does not hold here", "not decided", "not run at this size"]
VERDICTS: tuple[VerdictName, ...] = (
    *("holds", "in part", "does not hold here"),
    *("not decided", "not run at this size"),
)

MOST_REPLICATIONS = 2000
"""Replications above which a reason says only that more are needed."""

CONFIDENCE_BY_SIZE: dict[Size, float] = {"quick": 0.99, "full": 0.95}
"""Level of the intervals by size."""


class Number(NamedTuple):
    """A measured number.

    Parameters
    ----------
    value : float
        Mean over the replications, or the number itself.
    error : float
        Standard error of the mean; 0: exact, NaN: unknown.
    n : int
        Replications; 1 with an error of another origin, which is taken as normal.
    """

    value: float
    error: float = 0.0
    n: int = 1

    @classmethod
    def of(cls, values: Sequence[float] | np.ndarray) -> Self:
        """Return mean and standard error of replications; of one alone the error is unknown."""
        x = np.asarray(values, np.float64)
        error = float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan
        return cls(float(x.mean()) if len(x) else math.nan, error, len(x))

    def interval(self, size: Size) -> tuple[float, float]:
        """Return the confidence interval of a quick or a full run, by Student's t if there are several."""
        half = self.half_width(size)
        return self.value - half, self.value + half

    def half_width(self, size: Size) -> float:
        """Return half the width of this interval."""
        tail = (1 + CONFIDENCE_BY_SIZE[size]) / 2
        degrees = self.n - 1 if self.n > 1 else 1e6
        return float(stdtrit(degrees, tail)) * self.error

    @property
    def text(self) -> str:
        """The number with its error."""
        if math.isnan(self.value):
            return "unknown"
        if self.error == 0:
            return f"{self.value:.4g}"
        if math.isnan(self.error):
            return f"{self.value:.4g} (error unknown)"
        return f"{self.value:.4g} ± {self.error:.2g}"


@dataclass(frozen=True)
class Part:
    """One comparison of a claim.

    Parameters
    ----------
    number : str
        Key of the number.
    label : str
        What the number is, with its unit.
    at_least, at_most : float
        Bounds between which the number must lie for the part to hold.
    """

    number: str
    label: str
    at_least: float = -math.inf
    at_most: float = math.inf

    def holds(self, found: Number, size: Size) -> bool | None:
        """Return whether a number shows this part (True), contradicts it (False), or decides nothing."""
        lo, hi = found.interval(size)
        if math.isnan(lo) or math.isnan(hi):
            return None
        if self.at_least <= lo and hi <= self.at_most:
            return True
        if hi < self.at_least or lo > self.at_most:
            return False
        return None

    def needed(self, found: Number, size: Size) -> str:
        """Return how many replications would decide this part, if the number stays as it is; "": unknown."""
        near = [abs(found.value - bound) for bound in (self.at_least, self.at_most) if math.isfinite(bound)]
        if found.n < 2 or not near or not math.isfinite(found.error) or math.isnan(found.value):
            return ""
        deviation, room = found.error * math.sqrt(found.n), min(near)
        for n in range(found.n + 1, MOST_REPLICATIONS + 1):
            if Number(found.value, deviation / math.sqrt(n), n).half_width(size) <= room:
                return f"with about {n:,} in place of {found.n} replications it would be, if it stays so"
        return f"more than {MOST_REPLICATIONS:,} replications would be needed"

    @property
    def bounds(self) -> str:
        """The bounds as text."""
        if math.isinf(self.at_most):
            return f"at least {self.at_least:g}"
        if math.isinf(self.at_least):
            return f"at most {self.at_most:g}"
        return f"from {self.at_least:g} to {self.at_most:g}"


@dataclass(frozen=True)
class PaperClaim:
    """What a paper says, in our words, and when it holds.

    Parameters
    ----------
    name : str
        Its name within the recipe.
    text : str
        The claim in one sentence.
    paper : str
        The paper's number or words.
    parts : sequence of Part
        What must be shown.
    only_in_part : dict of str to str
        By size, why a run of that size shows the claim in part at best: it has fewer samples than the paper,
        say.
    if_undecided : str
        Why more replications would not decide it; "" (default): the reason says how many would.
    live_link : str
        Address of a page that runs what this claim is about, see ``links.link_to``; "" (default): that of
        the recipe.
    """

    name: str
    text: str
    paper: str
    parts: tuple[Part, ...]
    only_in_part: Mapping[str, str] | None = None
    if_undecided: str = ""
    live_link: str = ""


class Verdict(NamedTuple):
    """A verdict with its reason in whole sentences."""

    name: VerdictName
    reason: str

    @property
    def holds(self) -> bool | None:
        """True or False where the claim holds or does not; None for all other verdicts."""
        return {"holds": True, "does not hold here": False}.get(self.name)


def judge(claim: PaperClaim, numbers: Mapping[str, Number], size: Size) -> Verdict:
    """Return the verdict on a claim.

    Parameters
    ----------
    claim : PaperClaim
    numbers : mapping of str to Number
        The measured numbers; one that is missing was not measured at this size.
    size : "quick" or "full"
        Size of the run.

    Returns
    -------
    Verdict
        "holds" if every part is shown, "does not hold here" if every part is contradicted, "in part" if some
        are shown and others not, "not decided" if none is shown and not all are contradicted, and "not run at
        this size" if no number was measured.
    """
    measured = [part for part in claim.parts if part.number in numbers]
    if not measured:
        return Verdict("not run at this size", "None of its numbers was measured.")
    found = [part.holds(numbers[part.number], size) for part in measured]
    missing = [part.label for part in claim.parts if part.number not in numbers]
    outcomes: list[bool | None] = [*found, *(None for _ in missing)]
    words = {True: "as the paper says", False: "not as the paper says", None: "not decided"}
    reasons = [
        f"{part.label}: {numbers[part.number].text}, expected {part.bounds}: {words[outcome]}"
        + (f" ({needed})." if outcome is None and not claim.if_undecided and needed else ".")
        for part, outcome in zip(measured, found, strict=True)
        for needed in [part.needed(numbers[part.number], size)]
    ]
    reasons += [claim.if_undecided] * bool(claim.if_undecided and None in found)
    reasons += [f"{label}: not measured at this size." for label in missing]
    name: VerdictName = "not decided"
    if all(outcome is True for outcome in outcomes):
        name = "holds"
    elif all(outcome is False for outcome in outcomes):
        name = "does not hold here"
    elif True in outcomes:
        name = "in part"
    limit = (claim.only_in_part or {}).get(size, "")
    if name == "holds" and limit:
        name = "in part"
        reasons.append(limit)
    return Verdict(name, " ".join(reasons))
