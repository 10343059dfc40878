"""The memory that one thing from outside may take, and the sentence that refuses what would take more."""

import os

from rbmviz.errors import BadInput

SETTING = "RBMVIZ_MEMORY_MB"
"""Environment variable that sets the budget, in megabytes of 10^6 bytes."""

DEFAULT_MB = 1000


def memory_budget() -> int:
    """Return the bytes that one file, upload, checkpoint or link may take when it is opened; default 1 GB.

    Raises
    ------
    BadInput
        Where the environment variable ``RBMVIZ_MEMORY_MB`` is not a positive whole number.
    """
    text = os.environ.get(SETTING) or str(DEFAULT_MB)
    if not (text.isascii() and text.isdecimal()) or len(text) > 12 or int(text) < 1:
        raise BadInput(
            f"{SETTING} = {text[:40]!r} is not a number of megabytes: give a whole number from 1 up."
        )
    return int(text) * 10**6


def check_memory(what: str, needed: int, advice: str) -> None:
    """Refuse what would need more than the budget, before any of the memory is taken.

    Parameters
    ----------
    what : str
        The thing as the person knows it, at the beginning of a sentence: ``'samples.npz'``.
    needed : int
        Bytes that it takes at the peak, as far as its declared shapes tell.
    advice : str
        What to do besides raising the budget, an imperative: ``give fewer rows``.

    Raises
    ------
    BadInput
        Where ``needed`` is more than ``memory_budget()``.
    """
    budget = memory_budget()
    if needed > budget:
        raise BadInput(
            f"{what} needs {needed / 1e9:,.2f} GB of memory and the budget is {budget / 1e9:,.2f} GB: "
            f"{advice}, or set {SETTING} to a larger number of megabytes."
        )
