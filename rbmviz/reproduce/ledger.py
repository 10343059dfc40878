"""The ledger: every claim of the recipes with the verdict of the results that ship with the program."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from rbmviz.reproduce.claims import SIZES, VERDICTS, Number, Size
from rbmviz.reproduce.papers import PAPERS
from rbmviz.reproduce.recipe import Recipe, all_recipes, live_link_of, minutes_text
from rbmviz.reproduce.run import result_of

APP = "http://localhost:8501"
"""Where ``rbmviz app`` serves on the reader's own machine, for the links of the table."""

FIRST_PAGE = "sample"
"""The page whose address has no name."""

RESULTS_FOLDER = Path(str(resources.files("rbmviz.reproduce") / "results"))
"""Folder of the stored results, which ship with the program: ``<recipe>-<size>.json`` and ``.svg``."""


def stored(name: str) -> dict[str, Any] | None:
    """Return the stored result of a recipe, that of the larger size; None: there is none."""
    for size in reversed(SIZES):
        path = RESULTS_FOLDER / f"{name}-{size}.json"
        if path.is_file():
            return json.loads(path.read_bytes())
    return None


def ledger() -> list[dict[str, Any]]:
    """Return the result of every recipe, in the order of the papers: stored, or that it was not run."""
    return [entry(name, recipe) for name, recipe in all_recipes().items()]


def entry(name: str, recipe: Recipe) -> dict[str, Any]:
    """Return the stored result of a recipe, or one that says what a run of it would cost.

    What is said about a run, what it costs, and the address of the page that runs a claim live
    (``live_link``) are those of today and not of the result.
    """
    size: Size = "quick" if "quick" in recipe.cost else "full"
    result = stored(name) or result_of(name, recipe, size, None, 0.0)
    links = {claim.name: live_link_of(recipe, claim) for claim in recipe.claims}
    claims = [claim | {"live_link": links[claim["claim"]]} for claim in result["claims"]]
    return result | {"about": recipe.about, "cost": dict(recipe.cost), "claims": claims}


def address(link: str) -> str:
    """Return where a page is, with its settings, in an app on the reader's own machine."""
    return f"{APP}/{link.removeprefix(FIRST_PAGE)}"


def numbers_of(claim: Mapping[str, Any]) -> dict[str, Number]:
    """Return the numbers of a claim of a result."""

    def known(value: float | None) -> float:
        return float("nan") if value is None else value

    return {
        one["number"]: Number(known(one["value"]), known(one["error"]), one["n"]) for one in claim["measured"]
    }


def measured_texts(claim: Mapping[str, Any]) -> list[str]:
    """Return a text for each measured number of a claim of a result: what it is, its value and its error."""
    numbers = numbers_of(claim)
    return [f"{one['label']}: {numbers[one['number']].text}" for one in claim["measured"]]


def counts_of(results: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many claims of these results have each verdict."""
    found = [claim["verdict"] for result in results for claim in result["claims"]]
    return {name: found.count(name) for name in VERDICTS}


def markdown(pictures: str = "") -> str:
    """Return the ledger as Markdown: a table for each paper, and what each recipe does below it.

    Parameters
    ----------
    pictures : str
        Folder of the pictures, as the page's links name it; "" (default): without pictures.
    """
    results = ledger()
    numbers = counts_of(results)
    total = sum(numbers.values())
    lines = [f"{total} claims: " + ", ".join(f"{n} {name}" for name, n in numbers.items() if n) + ".", ""]
    for key, paper in PAPERS.items():
        lines += [f"## {paper.title}", "", f"[{paper.cite}]({paper.url})", ""]
        heads = ("what", "claim", "the paper", "measured here", "verdict", "run", "live")
        lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for result in (one for one in results if one["paper"] == key):
            for claim in result["claims"]:
                size = (
                    f"{result['size']}, {result['core_minutes']:.2g} core-min" if claim["measured"] else "-"
                )
                cells = [
                    *(f"**{result['title']}** ({result['source']})", claim["text"], claim["paper"]),
                    *("; ".join(measured_texts(claim)) or "-", f"**{claim['verdict']}**", size),
                    f"[{claim['live_link'].partition('?')[0]}]({address(claim['live_link'])})",
                ]
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
        for result in (one for one in results if one["paper"] == key):
            cost = ", ".join(f"{size} {minutes_text(minutes)}" for size, minutes in result["cost"].items())
            lines += [f"### {result['title']}", "", result["about"]]
            lines += [f"Core-minutes: {cost}." if cost else "", f"`rbmviz reproduce {result['recipe']}`", ""]
            for claim in result["claims"]:
                lines += [f"- *{claim['verdict']}*: {claim['reason']}"]
            if pictures and result["figure"]:
                name = f"{pictures}/{result['recipe']}-{result['size']}.svg"
                lines += ["", f"![{result['title']}, {result['source']}]({name})"]
            lines.append("")
    return "\n".join(lines)
