"""The watchers' page: one file for all watchers, including its scripts and styles; it has no session.

It uses the scripts of the live pages. Its security policy allows only its own scripts and styles, by their
hashes, and a connection to its server. The token is only in its address.
"""

import functools
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

from rbmviz.view import PANEL_FOLDER, SHARED_SCRIPTS, VIEW_FOLDER
from rbmviz.view.replay import source_hash

SHARE_FOLDER = Path(__file__).parent
PAGES_FOLDER = SHARE_FOLDER.parent / "pages"

EXPORTED = re.compile(r"^export default component => mount\((\w+), component\);$", re.MULTILINE)
"""The last line of a page's ``panel.js``: it names the class that draws its panels."""

PAGE_HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>{title}</title>
{styles}
</head>
<body>
{body}
</body>
</html>
"""

BODY = """<noscript>This page draws what is shared by a script of its own: allow scripts to see it.</noscript>
<main id="watch"></main>
<script>{script}</script>"""

SENTENCE = """<main class="sentence"><h1>rbmviz</h1><p>{sentence}</p></main>"""

HEADERS = {"Cache-Control": "no-store"}


def _policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    script_hashes, style_hashes = (
        " ".join(map(source_hash, sources)) or "'none'" for sources in (scripts, styles)
    )
    return (
        f"default-src 'none'; script-src {script_hashes}; style-src {style_hashes}; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


@functools.cache
def watchers_page() -> tuple[str, dict[str, str]]:
    """Return the page, which is the same for all shares, and its headers."""
    script, styles = _script(), _styles()
    written = "\n".join(f'<style data-page="{name}">{style}</style>' for name, style in styles.items())
    page = PAGE_HTML.format(title="rbmviz: watching", styles=written, body=BODY.format(script=script))
    return page, HEADERS | {"Content-Security-Policy": _policy([script], list(styles.values()))}


def sentence_page(sentence: str) -> tuple[str, dict[str, str]]:
    """Return a page with a single sentence, and its headers."""
    style = _styles()[""]
    body = SENTENCE.format(sentence=html.escape(sentence))
    page = PAGE_HTML.format(title="rbmviz", styles=f"<style>{style}</style>", body=body)
    return page, HEADERS | {"Content-Security-Policy": _policy([], [style])}


def _script() -> str:
    """Return the scripts of all pages' live panels, each with its own namespace, and of this page."""
    shared = "\n".join((PANEL_FOLDER / name).read_text() for name in SHARED_SCRIPTS)
    panels = []
    for file in sorted([*PAGES_FOLDER.glob("*/panel.js"), VIEW_FOLDER / "sample" / "panel.js"]):
        own = EXPORTED.sub(r"return \1;", file.read_text())
        panels.append(f"{json.dumps(file.parent.name)}: (() => {{\n{own}\n}})(),")
    table = "\n".join(panels)
    units = (PAGES_FOLDER / "chain" / "units.js").read_text().replace("export default (", "return (", 1)
    own = "\n".join(file.read_text() for file in (VIEW_FOLDER / "curves.js", SHARE_FOLDER / "watch.js"))
    drawing = f"const drawUnits = (() => {{\n{units}\n}})();"
    return f"\n'use strict';\n{shared}\nconst PANEL_CLASSES = {{\n{table}\n}};\n{drawing}\n{own}"


def _styles() -> dict[str, str]:
    """Return the style sheets by page; "": all pages."""
    files = PANEL_FOLDER / "theme.css", PANEL_FOLDER / "panel.css", VIEW_FOLDER / "curves.css"
    shared = (*files, SHARE_FOLDER / "watch.css")
    drawing = (PAGES_FOLDER / "chain" / "units.css").read_text()  # on its own page it is in a shadow root
    sheets = {"": "\n".join([*(file.read_text() for file in shared), f".drawing {{\n{drawing}\n}}"])}
    return sheets | {file.parent.name: file.read_text() for file in sorted(PAGES_FOLDER.glob("*/panel.css"))}
