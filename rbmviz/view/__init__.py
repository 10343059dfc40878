"""Contents of live panels, and pages that play samples: for the app, for files and for notebooks.

``panel/`` has the scripts that all panels share, and ``sample/`` the scripts of a sampler's panel;
``specs`` has the data that they draw. ``replay`` makes pages of recorded samples, ``live`` makes pages that
run samplers, and ``widget`` shows such a page in a notebook. Frames (``frames``) carry samples to all of
them.
"""

from pathlib import Path

VIEW_FOLDER = Path(__file__).parent
PANEL_FOLDER = VIEW_FOLDER / "panel"

SHARED_SCRIPTS = tuple(
    f"{name}.js"
    for name in (
        "element",
        "frame",
        "help",
        "readouts",
        "knobs",
        "equation",
        "mosaic",
        "loupe",
        "ladder",
        "verdict",
        "presses",
        "parts",
        "base",
    )
)
"""Panel scripts that precede a page's own, in this order, joined into one file without a bundler."""
