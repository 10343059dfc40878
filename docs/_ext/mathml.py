"""Formulas as MathML, made when the site is built: the pages need no script, no font and no network."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

REPAIRS = (
    (r"<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>"),  # "distributed as" is an operator, with space around it
    (r"<mi>(&#x027E[89];)</mi>", r"<mo>\1</mo>"),  # so are angle brackets
    (r"<mo>(min|max)</mo>", r"<mi>\1</mi>"),  # a function stands close to its bracket
    (r"<mi>log</mi>(?!<mo|<mrow><mo)", r'<mi>log</mi><mspace width="0.17em" />'),  # and apart from a letter
)
"""Corrections (pattern, replacement) of the converter's output, after the MathML standard."""


def _mathml(node: nodes.Node, display: str) -> str:
    """Return the formula as MathML; warn about commands that the converter does not know."""
    made = convert(node.astext(), display=display)
    for found, wanted in REPAIRS:
        made = re.sub(found, wanted, made)
    if "\\" in made or ">&<" in made:
        logger.warning("this formula has a command that is not known: %s", node.astext(), location=node)
    return made


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    # A formula wider than a phone scrolls in a box of its own; the keyboard reaches that box.
    writer.body.append(f'<div class="formula" tabindex="0">{_mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
