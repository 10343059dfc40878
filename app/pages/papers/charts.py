"""Figures of the ledger, from the stored results."""

from collections.abc import Mapping
from typing import Any

from rbmviz.reproduce.drawing import specification


def ledger_figure(result: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the figure of a result in the language of Vega-Lite, and a text for screen readers."""
    drawn = result["figure"]
    series = list(dict.fromkeys(row["series"] for row in drawn["rows"] if row.get("series")))
    words = f"{result['title']}: {drawn['y'] or 'measured numbers'}"
    words += f" over {drawn['x']}" if drawn["x"] else ""
    return specification(drawn), f"{words}, of {', '.join(series)}." if series else f"{words}."
