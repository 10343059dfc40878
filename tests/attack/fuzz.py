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

import numpy as np

from tests.attack.loaded import FAMILIES
from tests.attack.pool import Outcome, pool

KEEP = Path(".attack")
"""Folder of the inputs that showed a defect."""


def fuzz(minutes: float, seed: int = 0, only: Sequence[str] = (), keep: Path = KEEP) -> list[Outcome]:
    """Run cases until the time is over; the same seed runs the same cases in the same order."""
    found, case = [], seed
    names = [
        name for name, family in FAMILIES.items() for _ in range(family.weight) if not only or name in only
    ]
    with pool(keep) as cases:
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            for name in names:
                found.append(cases.run(name, case))
                case += 1
                if time.monotonic() > end:
                    break
    return found


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a row for each family as Markdown: counts, seconds and megabytes (99 % and most)."""
    lines = [
        "| door | cases | accepted | refused | defects | seconds, 99 % | most | MB, 99 % | most |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in [*FAMILIES, "all"]:
        rows = [row for row in outcomes if name in (row.family, "all")]
        if not rows:
            continue
        ends = Counter(row.end for row in rows)
        counts = f"{len(rows):,} | {ends['accepted']:,} | {ends['refused']:,} | {ends['defect']:,}"
        seconds, peaks = ([getattr(row, what) for row in rows] for what in ("seconds", "peak"))
        times = f"{np.percentile(seconds, 99):.2f} | {max(seconds):.2f}"
        lines.append(f"| {name} | {counts} | {times} | {np.percentile(peaks, 99):.0f} | {max(peaks):.0f} |")
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
    lines = []
    for rows in sorted(seen.values(), key=len, reverse=True):
        row = rows[0]
        lines.append(
            f"{len(rows):4} x {row.family}: {row.text[:230]!r}  [--family '{row.family}' --seed {row.seed}]"
        )
    return "\n".join(lines)


def main() -> None:
    """Fuzz from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, help="how long (default 1)")
    parser.add_argument(
        "--family", action="append", choices=list(FAMILIES), default=[], help="only these doors"
    )
    parser.add_argument("--seed", type=int, help="one case again; with --minutes the first of many")
    parser.add_argument("--keep", type=Path, default=KEEP, help="folder of the inputs that showed a defect")
    options = parser.parse_args()
    if options.seed is not None and options.minutes is None and len(options.family) == 1:
        with pool(options.keep) as cases:
            print(cases.run(options.family[0], options.seed))  # noqa: T201
            return
    outcomes = fuzz(options.minutes or 1, options.seed or 0, options.family, options.keep)
    print(kinds(outcomes), table(outcomes), sep="\n\n")  # noqa: T201


if __name__ == "__main__":
    main()
