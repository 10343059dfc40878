"""Formulas as MathML, made when the site is built: the pages need no script, no font and no network."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from rbmviz.view.formulas import mathml

logger = logging.getLogger(__name__)


def _mathml(node: nodes.Node, display: str) -> str:
    """Return the formula as MathML; warn about commands that the converter does not know."""
    try:
        return mathml(node.astext(), display)
    except ValueError as error:
        logger.warning("%s", error, location=node)
        return node.astext()


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    # A formula wider than a phone scrolls in its own box, which the keyboard reaches.
    writer.body.append(f'<div class="formula" tabindex="0">{_mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
