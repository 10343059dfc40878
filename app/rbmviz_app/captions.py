"""The caption of a page: one sentence on what its panels show now, and what to try next.

``captions.py`` in a page's folder yields its sentences, each under its condition; the first one is shown.
The conditions are about the runs, not about what the visitor did in which order, so that a reloaded page
says what is true then. Words after a line break become a link to the landscape.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Named = Sequence[tuple[str, Any]]
"""Title and newest snapshot of each panel."""

Captions = Callable[[Named, Any], Iterator[str]]
"""Takes the panels and their setup, and yields all that may be said, the most telling sentence first."""

WHY = "\nWhy? Two minutes"

_WORDS = "no one two three four five six seven eight nine ten".split()


def in_words(n: int) -> str:
    """Return a small number as a word: "ten", "12"."""
    return _WORDS[n] if n < len(_WORDS) else f"{n:,}"


def all_of(names: Sequence[str]) -> str:
    """Return "All four", "Both", or the only name."""
    return names[0] if len(names) == 1 else "Both" if len(names) == 2 else f"All {in_words(len(names))}"


def at_least(n: int) -> str:
    """Return a count, rounded down to 1, 2, 3 or 5 and zeros: the sentence is read aloud when it changes."""
    power = 10 ** (len(str(n)) - 1)
    return f"{max(digit for digit in (1, 2, 3, 5) if digit * power <= n) * power:,}"


def two_digits(x: float) -> str:
    """Return a number below 10 with two digits, and others without decimals: "1.8", "1,860"."""
    return f"{x:.2g}" if x < 10 else f"{x:,.0f}"
