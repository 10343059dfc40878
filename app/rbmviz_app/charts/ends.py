"""The names at the ends of curves, the point where all are compared, and the axis of what runs cost."""

import math
from collections.abc import Sequence
from typing import Literal

from rbmviz.charts import ChartAxis, Rows
from rbmviz.session.equal_points import Compared, CostUnit
from rbmviz_app.compared import AXIS_TITLES, amount_text

LABEL_PIXELS = 15
"""Distance between labels, which form a column on the right so that they cover no curve."""
DRAWN = ("point", "past")
"""Kinds of rows on a curve; "past": before a knob was turned."""
MIN_ROOM = 0.35
"""Share of a chart's width that the label of the common point may need."""


def end_rows(
    labels: Sequence[tuple[str, str]],
    rows: Rows,
    column: str,
    height: int,
    also: Sequence[float] = (),
    log: bool = False,
) -> Rows:
    """Return the end of each curve, with its label at a height where labels do not overlap.

    Parameters
    ----------
    labels : sequence of (str, str)
        Full and short name of each curve.
    rows : Rows
        Points of the curves, of kind "point": x, y, perhaps low and high. Rows of kind "past" belong to the
        curves too; the last of them is labelled if there is no point.
    column : str
        Column with the names of the curves.
    height : int
        Approximate height of the plot between the axes, in pixels.
    also : sequence of float
        Other heights in the chart, such as a horizontal line.
    log : bool
        Whether the y axis is logarithmic.
    """
    ends: Rows = []
    points = [row for row in rows if row["kind"] in DRAWN]
    for name, label in labels:
        named = [row for row in points if row[column] == name]
        own = [row for row in named if row["kind"] == "point"] or named
        if own:
            last = max(own, key=lambda row: row["x"])
            ends.append(
                {"kind": "end", column: name, "x": last["x"], "y": last["y"], "label": label, "note": name}
            )
    seen = [row[key] for row in points for key in ("y", "low", "high") if row.get(key) is not None]
    there, back = (math.log10, lambda y: 10**y) if log else (float, float)
    heights = [there(y) for y in (*seen, *also)]
    if ends:
        ys = [there(end["y"]) for end in ends]
        placed = spread(ys, min(heights), max(heights), height / LABEL_PIXELS)
        for end, place in zip(ends, placed, strict=True):
            end["label_y"] = back(place)
    return ends


def spread(values: Sequence[float], low: float, high: float, most: float) -> list[float]:
    """Return the nearest values that are at least (high - low) / most apart.

    They keep their order, and stay between low and high if there is room.
    """
    gap = (high - low) / most
    order = sorted(range(len(values)), key=values.__getitem__)
    placed: dict[int, float] = {}
    floor = low
    for i in order:
        placed[i] = max(values[i], floor)
        floor = placed[i] + gap
    ceiling = high
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return [placed[i] for i in range(len(values))]


def cost_axis(cost_unit: CostUnit, scale: Literal["linear", "log"], title: str = "") -> ChartAxis:
    """Return the axis of what runs have cost; title : "" (the default): the usual one."""
    unit = "s" if cost_unit == "seconds" else ""
    title = title or AXIS_TITLES[cost_unit]
    return ChartAxis("x", title, scale, "~s", unit, zero=scale == "linear", ticks=8)


def common_rows(compared: Sequence[Compared], rows: Rows, log: bool, who: str = "all") -> Rows:
    """Return the mark of the common point, if there is one.

    compared : the panels compared at this point; log : whether x has a logarithmic scale; who : the panels in
        words
    """
    points = [row["x"] for row in rows if row["kind"] in DRAWN]
    point = compared[0].point if compared else None
    if point is None or not points:
        return []
    first, last, at = (math.log10(x) if log else x for x in (min(points), max(points), point))
    # The label is to the left of the line, or to the right if there is no room.
    side = "left" if at - first > MIN_ROOM * (last - first) else "right"
    at_point = f"at {amount_text(compared[0].cost_unit, point)}"
    return [
        {"kind": "common", "x": point, "note": f"{who} compared {at_point}", "label": at_point, "side": side}
    ]
