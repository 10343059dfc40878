r"""Equations and prose with formulas: LaTeX, shown as MathML in panels and by Streamlit elsewhere.

Streamlit's Markdown does not reach canvases. Browsers draw MathML natively, so nothing is fetched.

``equation`` of a sampler or trainer is a tuple of short formulas in order of computation. Where a knob
controls a term, ``\knob{eps}`` prints the symbol that the knob declares (``knobs.Knob.symbol``). Pages show
the formulas beside the knobs. If the value of a knob changes a formula, ``equation`` is a property.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from latex2mathml.converter import convert

from rbmviz.errors import BadInput, quoted
from rbmviz.knobs import knobs_of

MARK = re.compile(r"\\knob\{(\w+)\}")
"""Pattern of a term that a knob controls; its group is the name of the knob."""

REPAIRS = (
    (r"<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>"),  # "distributed as" is an operator, with space around it
    (r"<mi>(&#x027E[89];)</mi>", r"<mo>\1</mo>"),  # so are angle brackets
    (r"<mo>(min|max)</mo>", r"<mi>\1</mi>"),  # no space between a function and its bracket
    (r"<mi>log</mi>(?!<mo|<mrow><mo)", r'<mi>log</mi><mspace width="0.17em" />'),  # a space before a letter
)
"""Corrections (pattern, replacement) to the converter's output, following the MathML standard."""

NOT_ALLOWED = re.compile(r"\\(href|style|class)\b")
"""Commands that would put an address or a style of a formula's author into a page."""

Prose = list[str | dict[str, str]]
"""Text, and formulas as ``{"math": MathML}``, in reading order."""


@functools.lru_cache(maxsize=512)
def mathml(latex: str, display: str = "inline") -> str:
    """Return a formula as MathML.

    display : within a line of text, or on its own line

    Raises BadInput if the converter does not know all of it, or it has an address or a style.
    """
    if not_allowed := NOT_ALLOWED.search(latex):
        raise BadInput(
            f"The formula {quoted(latex)} has {not_allowed[0]}, which is not allowed: leave it out."
        )
    return _markup(latex, display)


def _markup(latex: str, display: str = "inline") -> str:
    braces = re.sub(r"\\.", "", latex)
    if braces.count("{") != braces.count("}"):
        raise BadInput(f"The formula {quoted(latex)} has a brace that is not closed, or not opened.")
    try:
        markup: str = convert(latex, display=display)
    except Exception:  # the converter raises many types of errors
        raise BadInput(f"The formula {quoted(latex)} cannot be read as LaTeX.") from None
    for pattern, replacement in REPAIRS:
        markup = re.sub(pattern, replacement, markup)
    if "\\" in markup or ">&<" in markup:
        raise BadInput(f"The formula {quoted(latex)} has a command or an environment that pages cannot show.")
    return markup


def prose(text: str) -> Prose:
    """Split a text at its formulas, which are between dollar signs; empty parts are left out."""
    parts = [{"math": mathml(part)} if i % 2 else part for i, part in enumerate(text.split("$"))]
    return [part for part in parts if part]


def equation(formulas: Sequence[str], symbols: Mapping[str, str]) -> list[str]:
    r"""Return formulas whose terms are marked (``rbmviz.view.formulas``) as MathML.

    A term becomes ``<mrow class="term" data-knob="eps">``, underlined by the panel's style.

    formulas : in LaTeX; ``\knob{eps}`` stands for the symbol of a knob
    symbols : the symbol of each knob, by name, in LaTeX
    """

    def markup(formula: str) -> str:
        element = _markup(MARK.sub(lambda mark: rf"\class{{term {mark[1]}}}{{{symbols[mark[1]]}}}", formula))
        return re.sub(r'class="term (\w+)"', r'class="term" data-knob="\1"', element)

    return [markup(formula) for formula in formulas]


def equation_of(algorithm: Any) -> tuple[str, ...]:
    """Return the formulas of an algorithm: its own, then the formulas shared by all algorithms of its kind.

    algorithm : Sampler or Trainer; a record of knobs; ``equation`` and ``update_equation`` may both be
        missing
    """
    return (*getattr(algorithm, "equation", ()), *getattr(algorithm, "update_equation", ()))


def symbols_of(algorithm: Any) -> dict[str, str]:
    """Return the symbol of each knob that has one, by name: LaTeX."""
    return {name: knob.symbol for name, knob in knobs_of(algorithm).items() if knob.symbol}
