"""Settings of the site, which ``docs/build`` builds with warnings as errors and without a network."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

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
exclude_patterns = ["_build", "_ext", "examples", "hosting/space"]
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
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "../app/rbmviz_app/icon.png"
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#c2410c", "color-brand-content": "#c2410c"},
    "dark_css_variables": {"color-brand-primary": "#fb923c", "color-brand-content": "#fb923c"},
}
