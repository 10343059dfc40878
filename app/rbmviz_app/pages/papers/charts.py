"""Figures of the ledger, from the stored results."""

from collections.abc import Mapping
from typing import Any

from rbmviz.reproduce.drawing import specification


def ledger_plots(result: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the plots of a figure as Vega-Lite specs, each with a text for screen readers.

    Each plot is a separate chart of flexible width, because a phone is narrower than a printed figure.
    """
    drawn = result["figure"]
    found = []
    for panel in dict.fromkeys(row.get("panel", "") for row in drawn["rows"]):
        rows = [row for row in drawn["rows"] if row.get("panel", "") == panel]
        plot = {**drawn, "rows": [{key: row[key] for key in row if key != "panel"} for row in rows]}
        spec = specification(plot | {"y": drawn["y"] or panel})
        spec = {key: value for key, value in spec.items() if key != "width"}
        # The height applies to the plot; the legend is below it.
        spec |= {"autosize": {"type": "fit-x", "contains": "padding"}}
        series = list(dict.fromkeys(row["series"] for row in rows if row.get("series")))
        words = f"{result['title']}: {panel or drawn['y'] or 'measured numbers'}"
        words += f" over {drawn['x']}" if drawn["x"] else ""
        title = {"title": {"text": panel, "anchor": "start", "fontSize": 13}} if panel else {}
        found.append((spec | title, f"{words}, of {', '.join(series)}." if series else f"{words}."))
    return found
