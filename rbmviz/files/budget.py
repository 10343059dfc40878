"""The memory budget of one input (file, upload, checkpoint, link), and errors for what needs more memory."""

import math
import os
from typing import Any

from rbmviz.errors import BadInput

SETTING = "RBMVIZ_MEMORY_MB"
"""Environment variable that sets the budget, in megabytes of 10^6 bytes."""

DEFAULT_MB = 1000

SAMPLER_CHAIN_BYTES = 16_000
"""About the bytes of a sampler's chain beside its parameters: units, lists of flips, a random stream."""


def memory_budget() -> int:
    """Return the maximum number of bytes for opening a file, upload, checkpoint or link; default 10^9 (1 GB).

    Raises BadInput if the environment variable ``RBMVIZ_MEMORY_MB`` is not a positive whole number.
    """
    text = os.environ.get(SETTING) or str(DEFAULT_MB)
    if not (text.isascii() and text.isdecimal()) or len(text) > 12 or int(text) < 1:
        raise BadInput(
            f"{SETTING} = {text[:40]!r} is not a number of megabytes: give a whole number from 1 up."
        )
    return int(text) * 10**6


def check_memory(what: str, needed: int, advice: str) -> None:
    """Raise ``BadInput`` if an input needs more than the memory budget, before any memory is allocated.

    what : name of the input, at the beginning of a sentence: ``'samples.npz'``
    needed : estimated peak memory in bytes, from the declared shapes
    advice : what to do instead of raising the budget, as an imperative: ``give fewer rows``

    Raises BadInput if ``needed`` is more than ``memory_budget()``.
    """
    budget = memory_budget()
    if needed > budget:
        raise BadInput(
            f"{what} needs {needed / 1e9:,.2f} GB of memory and the budget is {budget / 1e9:,.2f} GB: "
            f"{advice}, or set {SETTING} to a larger number of megabytes."
        )


def machine_memory() -> float:
    """Return the machine's memory in bytes; infinity if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):
        return math.inf


def check_machine(what: str, needed: int, advice: str) -> None:
    """Raise ``BadInput`` if arrays need more than half of the machine's memory; see ``check_memory``."""
    memory = machine_memory()
    if needed > memory / 2:
        raise BadInput(
            f"{what} need {needed / 1e9:,.1f} GB, more than half of this machine's {memory / 1e9:,.1f} GB: "
            f"{advice}."
        )


def check_state(what: str, algorithm: Any, n_visible: int, n_hidden: int, advice: str) -> None:
    """Raise ``BadInput`` if the state of a sampler or trainer plainly needs more than the memory budget."""
    check_memory(what, state_bytes(algorithm, n_visible, n_hidden), advice)


def state_bytes(algorithm: Any, n_visible: int, n_hidden: int) -> int:
    """Return about how many bytes the state of a sampler or trainer takes: its chains, and its parameters."""
    chains = max(getattr(algorithm, "n_chains", 1), 1)
    copies = chains if not getattr(algorithm, "share", True) else 1  # of fast parameters
    rows = 4 * n_visible * getattr(algorithm, "n_temperatures", 1)
    chain = SAMPLER_CHAIN_BYTES if hasattr(algorithm, "exact_chain") else rows
    return (16 + 8 * copies) * n_visible * n_hidden + chains * chain
