"""The ledger: every claim of the recipes with its verdict, from the results that ship with the program."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from rbmviz.reproduce.claims import SIZES, VERDICTS, Estimate, Size, measured_text
from rbmviz.reproduce.papers import PAPERS
from rbmviz.reproduce.recipe import Recipe, all_recipes, live_link_of, minutes_text
from rbmviz.reproduce.run import result_of

APP = "http://localhost:8501"
"""Address of ``rbmviz app`` on the reader's machine, for the links of the table."""

FIRST_PAGE = "sample"
"""The page at the root of the app's address."""

RESULTS_FOLDER = Path(str(resources.files("rbmviz.reproduce") / "results"))
"""Folder of the results that ship with the program: ``<recipe>-<size>.json`` and ``.svg``."""


def _stored_file(name: str, ending: str, sizes: Sequence[Size] = SIZES) -> bytes:
    paths = (RESULTS_FOLDER / f"{name}-{size}.{ending}" for size in reversed(sizes))
    return next((path.read_bytes() for path in paths if path.is_file()), b"")


def stored(name: str, sizes: Sequence[Size] = SIZES) -> dict[str, Any] | None:
    """Return the stored result of a recipe, of the largest of these sizes; None if there is none."""
    content = _stored_file(name, "json", sizes)
    return json.loads(content) if content else None


def stored_figure(name: str) -> bytes:
    """Return the figure of the stored result of a recipe, as SVG; empty if there is none."""
    return _stored_file(name, "svg")


def ledger() -> list[dict[str, Any]]:
    """Return the ``entry`` of every recipe, in the order of the papers."""
    return [entry(name, recipe) for name, recipe in all_recipes().items()]


def entry(name: str, recipe: Recipe) -> dict[str, Any]:
    """Return the stored result of a recipe, or an empty result with the cost of a run.

    ``about``, ``cost`` and the claims' ``live_link`` come from the recipe, not from the stored result.
    """
    size: Size = "quick" if "quick" in recipe.cost else "full"
    result = stored(name) or result_of(name, recipe, size, None, 0.0)
    links = {claim.name: live_link_of(recipe, claim) for claim in recipe.claims}
    claims = [claim | {"live_link": links[claim["claim"]]} for claim in result["claims"]]
    return result | {"about": recipe.about, "cost": dict(recipe.cost), "claims": claims}


def address(link: str) -> str:
    """Return the address of a page in an app on the reader's machine."""
    return f"{APP}/{link.removeprefix(FIRST_PAGE)}"


def numbers_of(claim: Mapping[str, Any]) -> dict[str, Estimate]:
    """Return the estimates of a claim of a result."""

    def number(value: float | None) -> float:
        return float("nan") if value is None else value

    return {
        entry["number"]: Estimate(number(entry["value"]), number(entry["error"]), entry["n"])
        for entry in claim["measured"]
    }


def measured_texts(claim: Mapping[str, Any]) -> list[str]:
    """Return the label, value and error of each measured number of a claim of a result, as text."""
    numbers = numbers_of(claim)
    return [measured_text(entry["label"], numbers[entry["number"]]) for entry in claim["measured"]]


def counts_of(results: Sequence[Mapping[str, Any]], variants: bool = False) -> dict[str, int]:
    """Return the number of claims of these results by verdict: the papers' claims, or variants of them."""
    verdicts = [
        claim["verdict"] for result in results for claim in result["claims"] if claim["variant"] == variants
    ]
    return {name: verdicts.count(name) for name in VERDICTS}


def count_text(results: Sequence[Mapping[str, Any]]) -> str:
    """Return the numbers of claims and variants by verdict, as text."""
    parts = []
    for what, variants in (("claims", False), ("variants of them", True)):
        counts = counts_of(results, variants)
        listed = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
        parts.append(f"{sum(counts.values())} {what}: {listed}.")
    return " ".join(parts)


def verdict_text(claim: Mapping[str, Any]) -> str:
    """Return the verdict on a claim; on a variant of a paper's claim it says so."""
    return f"variant: {claim['verdict']}" if claim["variant"] else str(claim["verdict"])


def markdown(pictures: str = "") -> str:
    """Return the ledger as Markdown: a table per paper, followed by its recipes.

    ``pictures`` is the folder of the pictures for links; by default there are no pictures.
    """
    results = ledger()
    lines = [count_text(results), ""]
    for key, paper in PAPERS.items():
        lines += [f"## {paper.title}", "", f"[{paper.cite}]({paper.url})", ""]
        heads = ("what", "claim", "the paper", "measured here", "verdict", "run", "live")
        lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        of_paper = [result for result in results if result["paper"] == key]
        for result in of_paper:
            for claim in result["claims"]:
                size = (
                    f"{result['size']}, {result['core_minutes']:.2g} core-min" if claim["measured"] else "-"
                )
                cells = [
                    *(f"**{result['title']}** ({result['source']})", claim["text"], claim["paper"]),
                    *("; ".join(measured_texts(claim)) or "-", f"**{verdict_text(claim)}**", size),
                    f"[{claim['live_link'].partition('?')[0]}]({address(claim['live_link'])})",
                ]
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
        for result in of_paper:
            cost = ", ".join(f"{size} {minutes_text(minutes)}" for size, minutes in result["cost"].items())
            lines += [f"### {result['title']}", "", result["about"]]
            lines += [f"Core-minutes: {cost}." if cost else "", f"`rbmviz reproduce {result['recipe']}`", ""]
            for claim in result["claims"]:
                lines += [f"- *{verdict_text(claim)}*: {claim['reason']}"]
            if pictures and result["figure"]:
                name = f"{pictures}/{result['recipe']}-{result['size']}.svg"
                lines += ["", f"![{result['title']}, {result['source']}]({name})"]
            lines.append("")
    return "\n".join(lines)
