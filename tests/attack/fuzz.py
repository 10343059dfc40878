"""Random damaged inputs of all kinds, for a given time: ``python -m tests.attack.fuzz --minutes 10``.

Prints a table: cases, accepted, refused, defects, longest time and largest memory. To repeat one case::

    python -m tests.attack.fuzz --family checkpoint --seed 17
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.attack.commands import COMMANDS
from tests.attack.families import READERS
from tests.attack.pages import PAGE_FAMILIES
from tests.attack.pool import Outcome, pool

FAMILIES = {family.name: family for family in (*READERS, *COMMANDS, *PAGE_FAMILIES)}

KEEP = Path(".attack")
"""Folder of the inputs that showed a defect."""


def fuzz(minutes: float, seed: int = 0, only: Sequence[str] = ()) -> list[Outcome]:
    """Run cases until the time is over; the same seed runs the same cases in the same order."""
    found: list[Outcome] = []
    turns = [family for name in only or FAMILIES for family in [FAMILIES[name]] * FAMILIES[name].weight]
    with pool(KEEP) as cases:
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            found.append(cases.run(turns[len(found) % len(turns)], seed + len(found)))
    return found


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a row for each family as Markdown: counts, seconds and megabytes at most."""
    lines = [
        "| door | cases | accepted | refused | defects | seconds | MB |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in [*FAMILIES, "all"]:
        if rows := [row for row in outcomes if name in (row.family, "all")]:
            ends = Counter(row.end for row in rows)
            counts = f"{len(rows):,} | {ends['accepted']:,} | {ends['refused']:,} | {ends['defect']:,}"
            most = f"{max(row.seconds for row in rows):.2f} | {max(row.peak for row in rows):.0f}"
            lines.append(f"| {name} | {counts} | {most} |")
    return "\n".join(lines)


def kinds(outcomes: Sequence[Outcome]) -> str:
    """Return the defects grouped by message, the most frequent first, each with an example."""
    seen: dict[tuple[str, str], list[Outcome]] = {}
    for row in outcomes:
        if row.end == "defect":
            # Numbers and names differ from case to case; without them, one defect is one line.
            text = re.sub(r"0x[0-9a-f]+|rbmviz-attack-\w+|'[^']*'|\d+", "#", row.text)
            text = text.split(":")[0] + text[text.rfind("(") :]
            seen.setdefault((row.family, text[:100]), []).append(row)
    return "\n".join(
        f"{len(rows):4} x {rows[0].family}: {rows[0].text[:230]!r}  [--family '{rows[0].family}' "
        f"--seed {rows[0].seed}]"
        for rows in sorted(seen.values(), key=len, reverse=True)
    )


def main() -> None:
    """Fuzz from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, help="how long (default 1)")
    parser.add_argument("--family", action="append", choices=list(FAMILIES), help="only these doors")
    parser.add_argument("--seed", type=int, help="one case again; with --minutes the first of many")
    options = parser.parse_args()
    if options.seed is not None and options.minutes is None and len(options.family or ()) == 1:
        with pool(KEEP) as cases:
            print(cases.run(FAMILIES[options.family[0]], options.seed))  # noqa: T201
            return
    outcomes = fuzz(options.minutes or 1, options.seed or 0, options.family or ())
    print(kinds(outcomes), table(outcomes), sep="\n\n")  # noqa: T201


if __name__ == "__main__":
    main()
