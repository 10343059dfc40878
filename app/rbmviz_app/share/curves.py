"""The content of a chart as JSON values: the watchers' page draws it itself, without Vega-Lite.

Lines with their bands and marks, bars, heat-map cells and pictures are extracted from a spec, with the axes
and the horizontal lines. Tooltips stay on the shared page.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from rbmviz_app.charts.style import GREY, Spec

MAX_CURVES, MAX_CURVE_POINTS, MAX_BARS = 24, 400, 600
"""Maximum lines of a chart, points of a line, and bars; more cannot be distinguished."""

COORDINATE_DIGITS = 5
"""Significant digits of a coordinate."""

BAR_MARGIN = 0.1
"""Gap on each side of a name's bars, as a share of the width per name."""

CELL_COLOUR = "#7048e8"
"""Opacity of a heat-map cell of value 1; other cells are scaled by the square root of their value."""


def curves_of(rows: Any, spec: Spec, label: str) -> dict[str, Any] | None:
    """Return the content of a chart; None if nothing can be extracted.

    rows : DataFrame ("curves" of the spec); label : description of the chart

    The result has ``label``; ``x`` and ``y`` with title, scale ("linear", "log", or "symlog": that of
    log(1 + x)), shares in percent, a fixed range if any, and the names of positions on an axis without
    numbers; ``levels``, which are horizontal lines with a label; and

    - ``lines`` with name ("": not in the legend), colour, dash (none: the points are not joined), points,
      whether they are steps, the shape of point marks ("": none), and ``band``, (x, low, high) of each point,
      if any;
    - ``bars`` with their sides, colour, opacity, and a text; ``names`` of the colours of bars;
    - ``image``, the address of a picture with all its data.
    """
    if rows.empty:
        return None
    if "url" in rows:
        axis = _axis({})
        return _chart(label, spec, axis, axis) | {"image": rows["url"].iloc[0]}
    layers = [layer for layer in spec.get("layer", ()) if "color" in layer.get("encoding", {})]
    placed = [layer for layer in layers if {"x", "y"} <= layer["encoding"].keys()]
    of_rows = [layer for layer in placed if "data" not in layer]
    draw = {"line": _lines, "rect": _bars, "bar": _bars, "point": _points}
    for mark, (layer, found) in itertools.product(draw, ((one, _mark(one)) for one in of_rows)):
        if found == mark:
            return draw[mark](rows, layer, placed, _chart(label, spec, *_axes(rows, layer["encoding"])))
    return None


def _chart(label: str, spec: Spec, across: dict[str, Any], up: dict[str, Any]) -> dict[str, Any]:
    title = next((layer["title"] for layer in (spec, *spec.get("layer", ())) if "title" in layer), "")
    empty: dict[str, Any] = {"lines": [], "bars": [], "names": [], "image": ""}
    return {"label": title or label, "x": across, "y": up, "levels": list(_levels(spec))} | empty


def _lines(
    rows: Any, layer: dict[str, Any], layers: Sequence[dict[str, Any]], chart: dict[str, Any]
) -> dict[str, Any] | None:
    encoding, across, up = layer["encoding"], chart["x"], chart["y"]
    names, tones = _scale(rows, encoding["color"])
    dashes = dict(zip(*_scale(rows, encoding.get("strokeDash", {})), strict=True))
    past = rows.iloc[:0]
    if "kind" in rows:
        past, rows = rows[rows["kind"] == "past"], rows[rows["kind"] == "point"]
    shapes = _shapes(rows, layer, layers, names)
    areas = [one["encoding"] for one in layers if _mark(one) == "area" and "y2" in one["encoding"]]
    fields = [encoding["x"]["field"], encoding["y"]["field"]]
    fields += [area[side]["field"] for area in areas[:1] for side in ("y", "y2")]
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    for of, *place in zip(*(rows[field] for field in (encoding["color"]["field"], *fields)), strict=True):
        name, (x, y, *ends) = _text(of), place
        if name in found and _shown(x, across) and _shown(y, up):
            ends = [end if _shown(end, up) else y for end in ends]
            found[name].append(tuple(_short(value) for value in (x, y, *ends)))
    by_order = not isinstance((encoding["color"].get("scale") or {}).get("domain"), list)
    heading = str(encoding["color"].get("title") or "") if by_order else ""
    for name, tone in zip(names, tones, strict=True):
        if found[name]:
            points = _thinned(found[name] if "order" in encoding else sorted(found[name]))
            chart["lines"].append(
                {
                    "name": f"{heading} {name}".strip(),
                    "colour": tone,
                    "dash": dashes.get(name, [1, 0]),
                    "points": [point[:2] for point in points],
                    "band": [(x, low, high) for x, _, low, high in points] if len(fields) == 4 else [],
                    "shape": shapes.get(name, ""),
                    "step": _option(layer, "interpolate") == "step-after",
                }
            )
    fields = [encoding[way]["field"] for way in ("color", "x", "y")]
    for name, *points in _past_curves(past, fields, across, up):
        same = {"name": "", "colour": GREY, "dash": dashes.get(name, [1, 0]), "band": [], "shape": ""}
        chart["lines"].append(same | {"points": _thinned(sorted(points)), "step": False})
    chart["lines"] = chart["lines"][:MAX_CURVES]
    return chart if chart["lines"] else None


def _past_curves(
    rows: Any, fields: Sequence[str], across: dict[str, Any], up: dict[str, Any]
) -> Iterable[tuple[Any, ...]]:
    """Yield the name and the points of each piece of a curve before a turn of a knob."""
    if rows.empty:
        return
    of, *place = fields
    for (name, _), piece in rows.groupby([of, "change"], sort=False):
        shown = [(x, y) for x, y in zip(*(piece[f] for f in place), strict=True) if _shown(x, across)]
        points = [(_short(x), _short(y)) for x, y in shown if _shown(y, up)]
        if points:
            yield (_text(name), *points)


def _shapes(
    rows: Any, layer: dict[str, Any], layers: Sequence[dict[str, Any]], names: Sequence[str]
) -> dict[str, str]:
    """Return the shapes of point marks of lines, by name; empty if there are none."""
    if _option(layer, "point"):
        return dict.fromkeys(names, "circle")
    marked = [one for one in layers if _mark(one) == "point" and "transform" not in one]
    return dict(zip(*_scale(rows, marked[0]["encoding"].get("shape", {})), strict=True)) if marked else {}


def _points(
    rows: Any, layer: dict[str, Any], layers: Sequence[dict[str, Any]], chart: dict[str, Any]
) -> dict[str, Any] | None:
    """Extract points that no line joins, and lines with their own data, which have no names."""
    for one in layers:
        if _mark(one) == "line" and "data" in one:
            _lines(pd.DataFrame(one["data"]["values"]), one, [one], chart)
    for line in chart["lines"]:
        line["name"] = ""
    points = _lines(rows, layer, layers, {**chart, "lines": []})
    for line in points["lines"] if points is not None else ():
        chart["lines"].append(line | {"dash": []})
    return chart if chart["lines"] else None


def _bars(
    rows: Any, layer: dict[str, Any], layers: Sequence[dict[str, Any]], chart: dict[str, Any]
) -> dict[str, Any] | None:
    encoding = layer["encoding"]
    opacities = dict(zip(*_scale(rows, encoding.get("opacity", {})), strict=True))
    tones = {}
    if encoding["color"]["type"] == "nominal":
        tones = dict(zip(*_scale(rows, encoding["color"]), strict=True))
        chart["names"] = [{"name": name, "colour": tone} for name, tone in tones.items()]
    for row in rows.to_dict("records"):
        x, x2 = _sides(row, encoding, "x", chart["x"])
        y, y2 = _sides(row, encoding, "y", chart["y"])
        of, text = row[encoding["color"]["field"]], ""
        tone, opacity = tones.get(of, CELL_COLOUR), 1.0
        if not tones:  # a cell of a heat map
            opacity, text = math.sqrt(min(max(of, 0), 1)), f"{of:.2f}"
        if opacities:
            opacity = opacities[row[encoding["opacity"]["field"]]]
        sides = ((x, "x"), (x2, "x"), (y, "y"), (y2, "y"))
        if all(_shown(side, chart[way]) for side, way in sides):
            places = [_short(side) for side, _ in sides]
            chart["bars"].append({"sides": places, "colour": tone, "opacity": _short(opacity), "text": text})
    chart["bars"] = chart["bars"][:MAX_BARS]
    return chart if chart["bars"] else None


def _sides(
    row: Mapping[str, Any], encoding: Mapping[str, Any], way: str, axis: dict[str, Any]
) -> tuple[float, float]:
    """Return the start and end of a bar in one direction."""
    first, second, offset = encoding[way], encoding.get(f"{way}2"), encoding.get(f"{way}Offset")
    value = row[first["field"]]
    if second is not None:
        return value, row[second["field"]]
    if not axis["names"]:
        return 0.0, value
    at = float(axis["names"].index(_text(value)))
    if offset is None:
        return at, at + 1
    wide = (1 - 2 * BAR_MARGIN) / len(offset["sort"])
    begin = at + BAR_MARGIN + wide * offset["sort"].index(row[offset["field"]])
    return begin, begin + wide


def _mark(layer: dict[str, Any]) -> str:
    mark = layer["mark"]
    return str(mark["type"] if isinstance(mark, dict) else mark)


def _option(layer: dict[str, Any], name: str) -> Any:
    """Return an option of a layer's mark; None: it has no such option."""
    return layer["mark"].get(name) if isinstance(layer["mark"], dict) else None


def _axes(rows: Any, encoding: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    across, up = (_axis(encoding[way]) | {"names": _names(rows, encoding[way])} for way in ("x", "y"))
    return across, up | {"names": up["names"][::-1]}  # the first name is at the top


def _axis(channel: Mapping[str, Any]) -> dict[str, Any]:
    scale, axis = channel.get("scale") or {}, channel.get("axis") or {}
    kind = scale.get("type")
    return {
        "title": channel.get("title") or "",
        "scale": kind if kind in ("log", "symlog") else "linear",
        "percent": "%" in axis.get("format", ""),
        "domain": scale.get("domain"),
        "names": [],
    }


def _names(rows: Any, channel: Mapping[str, Any]) -> list[str]:
    """Return the names on an axis without numbers, in order."""
    if channel.get("type") != "nominal":
        return []
    sort = channel.get("sort")
    if isinstance(sort, list):
        return [_text(name) for name in sort]
    if isinstance(sort, dict):
        rows = rows.sort_values(sort["field"], kind="stable")
    return list(dict.fromkeys(rows[channel["field"]].map(_text)))


def _scale(rows: Any, channel: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return the values of a scale, as text, with what represents each."""
    scale = channel.get("scale") or {}
    domain, used = scale.get("domain"), scale.get("range") or []
    if not isinstance(domain, list):  # by order, as many as there are
        domain = sorted(rows[channel["field"]].unique()) if "field" in channel and used else []
        used = list(itertools.islice(itertools.cycle(used), len(domain))) if used else []
    return [_text(value) for value in domain], list(used)[: len(domain)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _shown(value: Any, axis: dict[str, Any]) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and (value > 0 or axis["scale"] != "log")


def _short(value: float) -> float:
    return float(f"{value:.{COORDINATE_DIGITS}g}")


def _thinned(points: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return evenly thinned points, including the last one."""
    step = -(-len(points) // MAX_CURVE_POINTS)
    return [*points[:-1:step], *points[-1:]]


def _levels(spec: Spec) -> Iterable[dict[str, Any]]:
    """Return the horizontal lines of a chart (``charts.style.level``)."""
    for layer in spec.get("layer", ()):
        encoding = layer.get("encoding", {})
        if _mark(layer) == "rule" and "x" not in encoding and "y" in encoding:
            for row in layer.get("data", {}).get("values", ()):
                yield {"y": row[encoding["y"]["field"]], "label": row.get("label", "")}
