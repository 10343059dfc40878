r"""The equations that define an algorithm: data of its class, in which the terms that knobs move are marked.

``equation`` of a sampler or trainer is a tuple of short formulas in LaTeX, in the order in which they are
computed. Where a knob moves a term, ``\knob{eps}`` prints the symbol that the knob declares
(``knobs.Knob.symbol``). The pages show them beside the knobs. If a value of a knob makes another formula of
it, ``equation`` is a property.
"""

import re
from typing import Any

from rbmviz.knobs import knobs_of

MARK = re.compile(r"\\knob\{(\w+)\}")
"""A term that a knob moves; its group is the name of the knob."""


def equation_of(algorithm: Any) -> tuple[str, ...]:
    """Return the formulas of an algorithm: its own, then the ones that all algorithms of its kind share.

    Parameters
    ----------
    algorithm : Sampler or Trainer
        A record of knobs; ``equation`` and ``update_equation`` may both be missing.
    """
    return (*getattr(algorithm, "equation", ()), *getattr(algorithm, "update_equation", ()))


def symbols_of(algorithm: Any) -> dict[str, str]:
    """Return the symbol of each knob that has one, by name: LaTeX."""
    return {name: knob.symbol for name, knob in knobs_of(algorithm).items() if knob.symbol}
