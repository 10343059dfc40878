"""The one exception for bad input: what is wrong, where, and what to do, in one sentence."""

import difflib
from collections.abc import Iterable


class BadInput(ValueError):
    """Input that rbmviz refuses; its text is one sentence for the person who gave it.

    The command line prints it and exits with status 2; the app shows it on the page.
    """


LONGEST = 60
"""Characters of a name that are looked at and repeated: no name of ours is longer."""


def unknown(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """Return the error for a name that is not there, with the nearest name that is."""
    names, name = sorted(known), name[:LONGEST]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"choose one of {', '.join(names)}."
    return BadInput(f"Unknown {kind} '{name}': {hint}")
