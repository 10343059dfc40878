"""What pages and panels say about algorithms, charts for a theme and a projector, and tables as files."""

import copy
import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.charts.style import GREY, INK
from rbmviz.session import TrainingPlan

Spec = dict[str, Any]
"""A chart in Vega-Lite, as JSON values."""

TALL = 480
"""Height of charts with large text, in pixels."""
WINDOW_PER_WORD = 50
"""Maximum size of large text, as a share of the window's height."""

NARROW, TITLE_SIZE = 640, 14
"""Up to this width of the window, in pixels, axes have no titles; font size of the others, Streamlit's."""


def about(algorithm: Any) -> str:
    """Return a paragraph about an algorithm, with its source; LaTeX is between dollar signs.

    Without an ``about``, an algorithm is described by its docstring.
    """
    cls = type(algorithm)
    text = getattr(cls, "about", "") or " ".join((cls.__doc__ or "").replace("$", "").split())
    return f"{text} Source: {cls.paper}."  # type: ignore[attr-defined]


def number_text(value: float) -> str:
    """Return a number in a short form: 1,412, 0.25."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def origin_text(plan: TrainingPlan) -> str:
    """Say where a training began: "", `` from CD at 1,200``, `` from mnist_cd1``, or `` resumed``."""
    if plan.origin is None:
        return " resumed" if plan.checkpoint else ""
    at = f" at {plan.origin.update:,}" if plan.origin.update else ""
    return f" from {plan.origin.path[-1][0]}{at}"


def readable(spec: Spec, theme: str | None, size: int = 0) -> Spec:
    """Return a copy of a spec whose text has a contrast of at least 4.5 with the background of this theme.

    theme : "light", "dark" or None (not known yet: the colours stay)
    size : font size in pixels, in a window that is tall enough; 0: Streamlit's
    """
    words_size = {"expr": f"min({size}, max(14, windowSize()[1] / {WINDOW_PER_WORD}))"}
    ink = INK.get(theme or "")
    words = ({"labelColor": ink, "titleColor": ink} if ink else {}) | (
        {"labelFontSize": words_size, "titleFontSize": words_size} if size else {}
    )
    note = ({"color": ink, "fill": ink} if ink else {}) | ({"fontSize": words_size} if size else {})
    # A title longer than a low axis leaves no room for the chart: on a phone the words above it must do.
    titles = {"titleFontSize": {"expr": f"windowSize()[0] > {NARROW} ? {TITLE_SIZE} : 0"}}
    own = {"axis": titles | words, "legend": words, "style": {"note": note}} | (
        {"title": {"fontSize": words_size}} if size else {}
    )
    height = {"height": max(spec["height"], TALL)} if size else {}
    changed = copy.deepcopy(spec) | height | {"config": own | spec.get("config", {})}
    return changed | {"params": [*spec.get("params", []), {"name": "ink", "value": ink or GREY}]}


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return the rows as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()
