"""Errors with one sentence for the user: the fault, its place, and a remedy."""

import contextlib
import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

C = TypeVar("C", bound=Callable[..., Any])


class BadInput(ValueError):
    """Input that rbmviz refuses; the text is one sentence for the user who gave the input.

    The command line prints it and exits with status 2; the app shows it on the page.
    """


class DoubtfulResult(UserWarning):
    """A warning in one sentence that a result is not what it seems; the command line prints the same."""


class OutputFailure(OSError):
    """A file that could not be written although its name is valid: the disk is full, for example.

    The text is one sentence with the path and the reason. The command line prints it and exits with status 1.
    """


MAX_SHOWN = 60
"""Maximum number of characters of a value in a message."""


def shortened(text: str, most: int = MAX_SHOWN) -> str:
    """Return a text for quotation in a message, cut after ``most`` characters."""
    return text if len(text) <= most else f"{text[:most]}..."


def quoted(value: Any) -> str:
    """Return the ``repr`` of any value, on one line, cut after ``MAX_SHOWN`` characters, for a message."""
    if isinstance(value, str):
        return repr(shortened(value))
    try:
        return shortened(" ".join(repr(value).split()))
    except Exception:  # for example an int with more digits than Python converts
        return f"a value of type {type(value).__name__}"


def nearest(name: str, names: Iterable[str], otherwise: str, cutoff: float = 0.6) -> str:
    """Return the end of a sentence on an unknown name: the most similar known one, or else ``otherwise``."""
    near = difflib.get_close_matches(name[:MAX_SHOWN].lower(), list(names), n=1, cutoff=cutoff)
    return f"did you mean '{near[0]}'?" if near else otherwise


def known_keywords(function: C) -> C:
    """Let a function answer an unknown keyword with BadInput and the nearest one: a decorator."""
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*values: Any, **keywords: Any) -> Any:
        for name in (name for name in keywords if name not in names):
            hint = nearest(name, names, f"it takes {', '.join(names)}.")
            raise BadInput(f"{function.__name__} has no argument {quoted(name)}: {hint}")
        return function(*values, **keywords)

    return called  # type: ignore[return-value]


def unknown(kind: str, name: str, names: Iterable[str], listed: str = "") -> BadInput:
    """Return the error for an unknown name, with the most similar known name, or all known names.

    If there are too many for one sentence, ``listed`` says where they are listed.
    """
    choices = sorted(set(names))
    hint = nearest(name, choices, listed or f"choose one of {', '.join(choices)}.", 0.5)
    return BadInput(f"Unknown {kind} {quoted(name)}: {hint}")


def known(kind: str, name: str, names: Iterable[str], listed: str = "") -> str:
    """Return the name that is meant, without regard to case and with - for _; else raise ``unknown``."""
    found = {each.casefold().replace("-", "_"): each for each in names}
    found |= {each: each for each in found.values()}
    for asked in (name, name.casefold().replace("-", "_")):
        if asked in found:
            return found[asked]
    raise unknown(kind, name, found.values(), listed)


def lacking(what: str, package: str, extra: str) -> BadInput:
    """Return the error for a feature that needs a package from an extra of rbmviz."""
    return BadInput(
        f"{what} needs the package {package}, which is not installed: run 'pip install \"rbmviz[{extra}]\"'."
    )


_PACKAGE_OF_MODULE = {
    "PIL": "pillow",
    "arviz_base": "arviz-base",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
}
"""Module -> package, where their names differ."""


@contextlib.contextmanager
def brought_by(extra: str, what: str) -> Iterator[None]:
    """Turn a failed import in the block into the error ``lacking``, for packages of an extra.

    extra : name of the extra, one of ``project.optional-dependencies`` in pyproject.toml
    what : feature that needs the package, as the beginning of the sentence
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "rbmviz", "rbmviz_app"):
            raise
        raise lacking(what, _PACKAGE_OF_MODULE.get(package, package), extra) from None
