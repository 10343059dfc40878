"""Errors that are one sentence for a person: bad input (what is wrong, where, what to do), failed output."""

import difflib
from collections.abc import Iterable
from typing import Any


class BadInput(ValueError):
    """Input that rbmviz refuses; its text is one sentence for the person who gave it.

    The command line prints it and exits with status 2; the app shows it on the page.
    """


class OutputFailure(OSError):
    """A file that could not be written although nothing was wrong with its name: a full disk, for example.

    Its text is one sentence with the path and the reason. The command line prints it and exits with status 1.
    """


MAX_SHOWN = 60
"""Characters of a value that a message shows."""


def shown(value: Any) -> str:
    """Return a value as Python writes it, cut where it is long, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # of a whole number with thousands of digits, say
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def unknown(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """Return the error for a name that is not there, with the nearest name that is."""
    names = sorted(known)
    near = difflib.get_close_matches(name[:MAX_SHOWN], names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"choose one of {', '.join(names)}."
    return BadInput(f"Unknown {kind} {shown(name)}: {hint}")
