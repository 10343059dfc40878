"""Settings of the site, which ``docs/build`` builds with warnings as errors and without a network."""

import html
import re
import sys
from pathlib import Path
from typing import Any

from rbmviz.paths import site_address
from rbmviz.view.replay import preview_tags

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE / "_play")]

import live_page  # noqa: E402 (one of the site's own)

project = "rbmviz"
author = "The rbmviz authors"
copyright = "2026, the rbmviz authors"

extensions = [
    "myst_parser",  # pages in Markdown
    "numpydoc",  # docstrings in numpydoc form
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",  # formulas without a network, see _ext
    "executed",  # pages whose Python runs, with their charts, see _ext
    "stored_ledger",  # the claims of the papers and their verdicts, see _ext
]
exclude_patterns = ["_build", "_ext", "_play", "_site", "examples", "hosting/space"]
nitpicky = True  # warns about references to names that do not exist

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings state types and shapes
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Checks for every docstring of the reference. Sections for parameters (PR01), return values (RT01),
# references (SA01) and examples (EX01) are not required: for some functions one sentence says everything.
numpydoc_validation_checks = {
    "GL03",
    "GL05",
    "GL06",
    "GL07",
    "GL08",
    "SS01",
    "SS02",
    "SS03",
    "SS04",
    "SS05",
    "PR02",
    "PR03",
    "PR05",
    "PR07",
    "PR10",
    "RT03",
}

html_theme = "furo"
html_title = "rbmviz"
html_math_renderer = "mathml"
html_baseurl = (
    f"{site_address()}/" if site_address() else ""
)  # for the addresses of pages; "" until published
html_extra_path = ["_site"]  # the live page, see build
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "../app/rbmviz_app/icon.png"
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#c2410c", "color-brand-content": "#c2410c"},
    "dark_css_variables": {"color-brand-primary": "#fb923c", "color-brand-content": "#fb923c"},
}


def add_preview(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page the tags of which chats and social networks make a preview."""
    title = f"{html.unescape(re.sub('<[^>]*>', '', context.get('title', '')))} · rbmviz"
    address, title = ("", live_page.TITLE) if page == "index" else (f"{page}.html", title)
    context["metatags"] = context.get("metatags", "") + preview_tags(title, live_page.ABOUT, address)


def setup(app: Any) -> None:
    """Add the previews of pages."""
    app.connect("html-page-context", add_preview)
