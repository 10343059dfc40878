"""The ledger of the three papers' claims: our numbers, verdicts and figures, as they ship with the program.

``<recipe>-<size>.json`` has all that the page *Papers* shows of a figure, table or claim, and the ``.svg`` of
that name its figure. ``python -m papers`` in a checkout makes both; this module reads them.
"""

import functools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

STORED_FOLDER = Path(__file__).parent / "stored"

PaperName = Literal["rates_fpcd", "population_cd", "unbiased_cd"]

Size = Literal["quick", "medium", "full"]
SIZES: tuple[Size, ...] = get_args(Size)

VerdictName = Literal[
    "holds", "in part", "contradicted in part", "does not hold here", "not decided", "not run at this size"
]
VERDICTS: tuple[VerdictName, ...] = get_args(VerdictName)

CONFIDENCE_BY_SIZE: dict[Size, float] = {"quick": 0.99, "medium": 0.95, "full": 0.95}
"""Level of the intervals by size of the run."""

Kind = Literal["claim", "time", "variant"]
"""A claim of a paper, one of them on times (which are of this implementation), or a variant of one."""


class Paper(NamedTuple):
    """A paper: short title, citation and address."""

    title: str
    cite: str
    url: str


PAPERS: dict[PaperName, Paper] = {
    "rates_fpcd": Paper(
        "Rates-FPCD",
        "Breuleux, Bengio, Vincent. Quickly Generating Representative Samples from an RBM-Derived Process. "
        "Neural Computation 23(8), 2011.",
        "https://doi.org/10.1162/NECO_a_00158",
    ),
    "population_cd": Paper(
        "Population CD",
        "Krause, Fischer, Igel. Population-Contrastive-Divergence: Does Consistency help with RBM training? "
        "Pattern Recognition Letters 102, 2018.",
        "https://doi.org/10.1016/j.patrec.2017.11.022",
    ),
    "unbiased_cd": Paper(
        "Unbiased CD",
        "Qiu, Zhang, Wang. Unbiased Contrastive Divergence Algorithm for Training Energy-Based Latent "
        "Variable Models. International Conference on Learning Representations, 2020.",
        "https://openreview.net/forum?id=r1eyceSYPr",
    ),
}
"""The three papers, as in CITATION.cff."""


def stored(name: str, sizes: Sequence[Size] = SIZES) -> dict[str, Any] | None:
    """Return the result of a recipe, of the largest of these sizes; None if there is none."""
    paths = (STORED_FOLDER / f"{name}-{size}.json" for size in reversed(sizes))
    return next((json.loads(path.read_text("utf-8")) for path in paths if path.is_file()), None)


@functools.cache
def ledger() -> tuple[dict[str, Any], ...]:
    """Return the result of every recipe: by paper, then by number of figure and table."""
    names = {path.stem.rpartition("-")[0] for path in STORED_FOLDER.glob("*.json")}
    results = [result for name in names if (result := stored(name)) is not None]
    papers = list(PAPERS)
    return tuple(sorted(results, key=lambda result: (papers.index(result["paper"]), result["order"])))


def figure_name(result: Mapping[str, Any]) -> str:
    """Return the name of the file with a result's figure, in STORED_FOLDER."""
    return f"{result['recipe']}-{result['size']}.svg"


@functools.cache
def figure_size(name: str) -> tuple[int, int]:
    """Return the width and height of a figure in pixels."""
    width, height = re.findall(rb'(?:width|height)="(\d+)', (STORED_FOLDER / name).read_bytes()[:400])[:2]
    return int(width), int(height)


def kind_of(claim: Mapping[str, Any]) -> Kind:
    """Return what kind of claim this is; each is counted apart."""
    return "variant" if claim["variant"] else "time" if claim["timed"] else "claim"


def counts_of(results: Sequence[Mapping[str, Any]], kind: Kind = "claim") -> dict[str, int]:
    """Return the number of claims of a kind of these results by verdict."""
    verdicts = [
        claim["verdict"] for result in results for claim in result["claims"] if kind_of(claim) == kind
    ]
    return {name: verdicts.count(name) for name in VERDICTS}


def missed_by_chance(results: Sequence[Mapping[str, Any]]) -> tuple[int, float]:
    """Return the number of confidence intervals, and how many of them miss their number by chance alone.

    A number that two claims compare with bounds is one; exact numbers and caps have no interval.
    """
    levels = {
        (result["recipe"], one["number"]): CONFIDENCE_BY_SIZE[result["size"]]
        for result in results
        for claim in result["claims"]
        for one in claim["measured"]
        if one["error"]
    }
    return len(levels), sum(1 - level for level in levels.values())


def chance_text(results: Sequence[Mapping[str, Any]]) -> str:
    """Say what chance alone does to the verdicts on these results."""
    intervals, missed = missed_by_chance(results)
    return f"About {missed:.0f} of {intervals} confidence intervals miss by chance: a few verdicts are luck."


def verdict_text(claim: Mapping[str, Any]) -> str:
    """Return the verdict on a claim; on a variant of a paper's claim, or on one about times, it says so."""
    said: dict[Kind, str] = {"claim": "", "time": "of this implementation: ", "variant": "variant: "}
    return f"{said[kind_of(claim)]}{claim['verdict']}"


def minutes_text(minutes: float) -> str:
    """Return core-minutes in three digits, whole from 100 on: ``2.5``, ``2,500``."""
    return f"{minutes:,.0f}" if minutes >= 100 else f"{minutes:.3g}"
