"""The names at the ends of curves, at heights where they do not overlap."""

import math
from collections.abc import Sequence
from typing import Any

from rbmviz.charts.plot import Rows
from rbmviz.charts.style import GREY

LABEL_PIXELS = 15
"""Distance between labels, which form a column on the right so that they cover no curve."""
LOW_PLOT = 45
"""Height of a plot on a phone, where overlapping labels become one, with the number of the others."""
NAMED_SETTINGS = 3
"""Maximum number of a curve's earlier settings with a label."""
CURVE_KINDS = ("point", "past")
"""Kinds of rows on a curve; "past": before a knob was turned."""


def end_rows(
    labels: Sequence[tuple[str, str]],
    rows: Rows,
    column: str,
    height: int,
    also: Sequence[float] = (),
    log: bool = False,
) -> Rows:
    """Return the end of each curve, with its label at a height where labels do not overlap.

    labels : sequence of (str, str); full and short name of each curve
    rows : points of the curves, of kind "point": x, y, perhaps low and high. Rows of kind "past" belong to
        the curves too; the last of them is labelled if there is no point. A row with a "setting" ends a curve
        before a turn of a knob, and is labelled with it, in grey and not on a phone: the newest
        NAMED_SETTINGS of each curve.
    column : column with the names of the curves
    height : approximate height of the plot between the axes, in pixels
    also : other heights in the chart, such as a horizontal line
    log : whether the y axis is logarithmic
    """
    ends: Rows = []
    points = [row for row in rows if row["kind"] in CURVE_KINDS]

    def add(last: dict[str, Any], label: str, tone: str) -> None:
        place = {"kind": "end", column: last[column], "x": last["x"], "y": last["y"]}
        ends.append(place | {"label": label, "note": last[column], "tone": tone, "narrow": ""})

    for name, label in labels:
        named = [row for row in points if row[column] == name]
        own = [row for row in named if row["kind"] == "point"] or named
        if own:
            add(max(own, key=lambda row: row["x"]), label, "")
    n_current = len(ends)
    for name, _ in labels:
        earlier = [row for row in points if row[column] == name and row.get("setting")]
        for row in earlier[-NAMED_SETTINGS:]:
            add(row, row["setting"], GREY)
    seen = [row[key] for row in points for key in ("y", "low", "high") if row.get(key) is not None]
    there, back = (math.log10, lambda y: 10**y) if log else (float, float)
    heights = [there(y) for y in (*seen, *also)]
    if ends:
        ys = [there(end["y"]) for end in ends]
        placed = spread(ys, min(heights), max(heights), height / LABEL_PIXELS)
        for end, place in zip(ends, placed, strict=True):
            end["label_y"] = back(place)
        gap = (max(heights) - min(heights)) * LABEL_PIXELS / LOW_PLOT
        for crowd in _crowds(ends[:n_current], ys[:n_current], gap):
            others = len(crowd) - 1
            crowd[0]["narrow"] = f"{crowd[0]['label']} +{others}" if others else crowd[0]["label"]
    return ends


def _crowds(ends: Rows, ys: Sequence[float], gap: float) -> list[Rows]:
    """Return the ends in groups from the top, each end less than ``gap`` below the first of its group."""
    crowds: list[Rows] = []
    top = math.inf
    for y, end in sorted(zip(ys, ends, strict=True), key=lambda pair: -pair[0]):
        if top - y >= gap:
            crowds.append([])
            top = y
        crowds[-1].append(end)
    return crowds


def spread(values: Sequence[float], low: float, high: float, most: float) -> list[float]:
    """Return the nearest values at least (high - low) / most apart.

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
