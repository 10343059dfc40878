r"""The equations that define an algorithm: data of its class, with marks on the terms that knobs control.

``equation`` of a sampler or trainer is a tuple of short formulas in LaTeX, in order of computation. Where a
knob controls a term, ``\knob{eps}`` prints the symbol that the knob declares (``knobs.Knob.symbol``). Pages
show the formulas beside the knobs. If the value of a knob changes a formula, ``equation`` is a property.
"""

import re
from typing import Any

from rbmviz.knobs import knobs_of

MARK = re.compile(r"\\knob\{(\w+)\}")
"""Pattern of a term that a knob controls; its group is the name of the knob."""


def equation_of(algorithm: Any) -> tuple[str, ...]:
    """Return the formulas of an algorithm: its own, then the formulas shared by all algorithms of its kind.

    Parameters
    ----------
    algorithm : Sampler or Trainer
        A record of knobs; ``equation`` and ``update_equation`` may both be missing.
    """
    return (*getattr(algorithm, "equation", ()), *getattr(algorithm, "update_equation", ()))


def symbols_of(algorithm: Any) -> dict[str, str]:
    """Return the symbol of each knob that has one, by name: LaTeX."""
    return {name: knob.symbol for name, knob in knobs_of(algorithm).items() if knob.symbol}
