"""The point where all curves are compared, and the axis of what runs cost."""

import math
from collections.abc import Sequence
from typing import Literal

from rbmviz.charts import ChartAxis, Rows
from rbmviz.charts.ends import DRAWN
from rbmviz.session.equal_points import Compared, CostUnit
from rbmviz_app.compared import AXIS_TITLES, amount_text

MIN_ROOM = 0.35
"""Share of a chart's width that the label of the common point may need."""


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
