"""The lines of a chart as JSON values: the watchers' page draws them itself, and has no Vega-Lite.

Its axes are linear or logarithmic. An axis that is logarithmic with a zero, as that of the bound on the page
Coupling, is drawn as a linear one.
"""

import math
from collections.abc import Iterable
from typing import Any

from rbmviz_app.charts.style import Spec

MAX_CURVES, MAX_CURVE_POINTS = 24, 400
"""Lines of a chart, and points of a line; more cannot be told apart."""

COORDINATE_DIGITS = 5
"""Digits of a coordinate."""


def curves_of(rows: Any, spec: Spec, label: str) -> dict[str, Any] | None:
    """Return the lines of a chart; None if it has none, as a chart of bars.

    rows : DataFrame ("curves" of the spec); label : the chart in words

    The result has ``label``; ``x`` and ``y`` with title, whether they are logarithmic, shares in percent, and
    the first and last value where they are fixed; ``lines`` with name, colour, dash and points; ``levels``,
    which are horizontal lines with a label.
    """
    layers = [layer for layer in spec.get("layer", ()) if "color" in layer.get("encoding", {})]
    of_rows = [layer for layer in layers if "data" not in layer and _mark(layer) == "line"]
    if not of_rows or rows.empty:
        return None
    [layer, *_] = of_rows
    encoding = layer["encoding"]
    across, up = _axis(encoding["x"]), _axis(encoding["y"])
    names, tones = _scale(encoding["color"])
    dashes = dict(zip(*_scale(encoding.get("strokeDash", {})), strict=True))
    if "kind" in rows:
        rows = rows[rows["kind"] == "point"]
    series = rows[encoding["color"]["field"]]
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for name, x, y in zip(series, rows[encoding["x"]["field"]], rows[encoding["y"]["field"]], strict=True):
        if name in points and _shown(x, across) and _shown(y, up):
            points[name].append((_short(x), _short(y)))
    lines = [
        {
            "name": name,
            "colour": tone,
            "dash": dashes.get(name, [1, 0]),
            "points": _thinned(sorted(points[name])),
        }
        for name, tone in zip(names, tones, strict=True)
        if points[name]
    ]
    if not lines:
        return None
    return {"label": label, "x": across, "y": up, "lines": lines[:MAX_CURVES], "levels": list(_levels(spec))}


def _mark(layer: dict[str, Any]) -> str:
    mark = layer["mark"]
    return str(mark["type"] if isinstance(mark, dict) else mark)


def _axis(channel: dict[str, Any]) -> dict[str, Any]:
    scale, axis = channel.get("scale") or {}, channel.get("axis") or {}
    return {
        "title": channel.get("title") or "",
        "log": scale.get("type") == "log",
        "percent": "%" in axis.get("format", ""),
        "domain": scale.get("domain"),
    }


def _scale(channel: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    scale = channel.get("scale") or {}
    return list(scale.get("domain", ())), list(scale.get("range", ()))


def _shown(value: Any, axis: dict[str, Any]) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and (value > 0 or not axis["log"])


def _short(value: float) -> float:
    return float(f"{value:.{COORDINATE_DIGITS}g}")


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return every so many of the points, and the last one."""
    step = -(-len(points) // MAX_CURVE_POINTS)
    return [*points[:-1:step], *points[-1:]]


def _levels(spec: Spec) -> Iterable[dict[str, Any]]:
    """Return the horizontal lines of a chart (``charts.style.level``)."""
    for layer in spec["layer"]:
        encoding = layer.get("encoding", {})
        if _mark(layer) == "rule" and "x" not in encoding and "y" in encoding:
            for row in layer.get("data", {}).get("values", ()):
                yield {"y": row[encoding["y"]["field"]], "label": row.get("label", "")}
