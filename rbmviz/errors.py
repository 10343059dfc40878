"""Errors with one sentence for the user: what is wrong, where, and what to do."""

import difflib
from collections.abc import Iterable
from typing import Any


class BadInput(ValueError):
    """Input that rbmviz refuses; the text is one sentence for the user who gave the input.

    The command line prints it and exits with status 2; the app shows it on the page.
    """


class OutputFailure(OSError):
    """A file that could not be written although its name is valid: the disk is full, for example.

    The text is one sentence with the path and the reason. The command line prints it and exits with status 1.
    """


MAX_SHOWN = 60
"""Characters of a value that a message shows."""


def shown(value: Any) -> str:
    """Return the ``repr`` of any value for an error message, cut after ``MAX_SHOWN`` characters."""
    try:
        text = repr(value)
    except Exception:  # for example an int with more digits than Python converts
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def unknown(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """Return the error for an unknown name, with the most similar known name, or all known names."""
    names = sorted(known)
    near = difflib.get_close_matches(name[:MAX_SHOWN], names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"choose one of {', '.join(names)}."
    return BadInput(f"Unknown {kind} {shown(name)}: {hint}")
