"""The ledger as Markdown, for the documentation."""

from collections.abc import Mapping, Sequence
from typing import Any

from rbmviz.ledger import (
    PAPERS,
    Kind,
    chance_text,
    counts_of,
    figure_name,
    ledger,
    minutes_text,
    verdict_text,
)

APP = "http://localhost:8501"
"""Address of ``rbmviz app`` on the reader's machine, for the links of the table."""

FIRST_PAGE = "sample"
"""The page at the root of the app's address."""

WORDS_OF_KINDS: dict[Kind, str] = {
    "claim": "claims",
    "time": "claims on times, of this implementation",
    "variant": "variants of claims",
}

HEADS = ("what", "claim", "the paper", "measured here", "verdict", "run", "live")


def address(link: str) -> str:
    """Return the address of a page in an app on the reader's machine."""
    return f"{APP}/{link.removeprefix(FIRST_PAGE)}"


def count_text(results: Sequence[Mapping[str, Any]]) -> str:
    """Return the numbers of claims of each kind by verdict, as text, and what chance does to them."""
    parts = []
    for kind, what in WORDS_OF_KINDS.items():
        counts = counts_of(results, kind)
        listed = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
        parts.append(f"{sum(counts.values())} {what}: {listed}.")
    return " ".join([*parts, chance_text(results)])


def markdown(pictures: str) -> str:
    """Return the ledger: a table per paper, followed by its recipes; pictures is their folder for links."""
    lines = [count_text(ledger()), ""]
    for key, paper in PAPERS.items():
        own = [result for result in ledger() if result["paper"] == key]
        lines += [f"## {paper.title}", "", f"[{paper.cite}]({paper.url})", ""]
        lines += [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
        for result in own:
            for claim in result["claims"]:
                run = f"{result['size']}, {result['core_minutes']:.2g} core-min" if claim["measured"] else "-"
                cells = [
                    *(f"**{result['title']}** ({result['source']})", claim["text"], claim["paper"]),
                    "; ".join(one["text"] for one in claim["measured"]) or "-",
                    *(f"**{verdict_text(claim)}**", run),
                    f"[{claim['live_link'].partition('?')[0]}]({address(claim['live_link'])})",
                ]
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
        for result in own:
            cost = ", ".join(f"{size} {minutes_text(minutes)}" for size, minutes in result["cost"].items())
            lines += [f"### {result['title']}", "", result["about"]]
            lines += [f"Core-minutes: {cost}.", f"`python -m papers {result['recipe']}`", ""]
            lines += [f"- *{verdict_text(claim)}*: {claim['reason']}" for claim in result["claims"]]
            lines += ["", f"![{result['title']}, {result['source']}]({pictures}/{figure_name(result)})", ""]
    return "\n".join(lines)
