"""The watchers' page: one file for all watchers, including its scripts and styles; it has no session.

It uses the scripts of the live pages. Its security policy allows only its own scripts and styles, by their
hashes, and a connection to its server. The token is only in its address.
"""

import functools
import html
from pathlib import Path

from rbmviz.view import PANEL_FOLDER, VIEW_FOLDER
from rbmviz.view.replay import PAGE_HTML, SAMPLE_PANEL, panels_script, security_policy

SHARE_FOLDER = Path(__file__).parent
PAGES_FOLDER = SHARE_FOLDER.parent / "pages"
CHAIN_FOLDER = PAGES_FOLDER / "chain"

NO_INDEX = '<meta name="robots" content="noindex">'

WATCH_BODY = """<noscript>This page draws by its own script: allow scripts to see it.</noscript>
<main id="watch"></main>
<script>{script}</script>"""

SENTENCE = """<main class="sentence"><h1>rbmviz</h1><p>{sentence}</p></main>"""

HEADERS = {"Cache-Control": "no-store"}

CONNECTS = "; connect-src 'self'"
"""Permission to connect to this server."""


@functools.cache
def watchers_page() -> tuple[str, dict[str, str]]:
    """Return the page, which is the same for all shares, and its headers."""
    script, styles = _script(), _styles()
    written = "\n".join(f'<style data-page="{name}">{style}</style>' for name, style in styles.items())
    body = WATCH_BODY.format(script=script)
    page = PAGE_HTML.format(meta=NO_INDEX, title="rbmviz: watching", styles=written, body=body)
    return page, HEADERS | {"Content-Security-Policy": security_policy([script], styles.values(), CONNECTS)}


def sentence_page(sentence: str) -> tuple[str, dict[str, str]]:
    """Return a page with a single sentence, and its headers."""
    style = _styles()[""]
    body = SENTENCE.format(sentence=html.escape(sentence))
    page = PAGE_HTML.format(meta=NO_INDEX, title="rbmviz", styles=f"<style>{style}</style>", body=body)
    return page, HEADERS | {"Content-Security-Policy": security_policy([], [style])}


def _script() -> str:
    """Return the scripts of all pages' live panels, and of this page."""
    panels = panels_script(
        sorted(
            [*(file for file in PAGES_FOLDER.glob("*/panel.js") if file.parent.name != "tune"), SAMPLE_PANEL]
        )
    )
    files = VIEW_FOLDER / "curves.js", SHARE_FOLDER / "lesson_card.js", SHARE_FOLDER / "watch.js"
    own = "\n".join(file.read_text("utf-8") for file in files)
    return f"\n'use strict';\n{panels}\n{units_script()}\n{own}"


def units_script() -> str:
    """Return the function ``drawUnits``, which draws a small model as circles and lines."""
    units = (CHAIN_FOLDER / "units.js").read_text("utf-8").replace("export default (", "return (", 1)
    return f"const drawUnits = (() => {{\n{units}\n}})();"


def units_style() -> str:
    """Return the style of the units; on their own page, the units are in a shadow root."""
    return f".drawing {{\n{(CHAIN_FOLDER / 'units.css').read_text('utf-8')}\n}}"


def _styles() -> dict[str, str]:
    """Return the style sheets by page; "" stands for all pages."""
    files = PANEL_FOLDER / "theme.css", PANEL_FOLDER / "panel.css", VIEW_FOLDER / "curves.css"
    shared = (*files, SHARE_FOLDER / "lesson_card.css", SHARE_FOLDER / "watch.css")
    sheets = {"": "\n".join([*(file.read_text("utf-8") for file in shared), units_style()])}
    return sheets | {
        file.parent.name: file.read_text("utf-8") for file in sorted(PAGES_FOLDER.glob("*/panel.css"))
    }
