"""The curves of a chart, and the point where all of them are compared."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from rbmviz.charts import Rows, Style, styled
from rbmviz.charts.ends import CURVE_KINDS
from rbmviz.charts.style import colours, labels, named_apart, titles
from rbmviz.session.equal_points import Compared
from rbmviz_app.compared import amount_text

MIN_ROOM = 0.35
"""Share of a chart's width that the label of the common point may need."""


class Curve(NamedTuple):
    """One curve of a chart: its style (with its full name), its short name, and a snapshot of its run."""

    style: Style
    label: str
    snapshot: Any

    @property
    def name(self) -> str:
        """Full name."""
        return self.style.name


def common_rows(compared: Sequence[Compared], rows: Rows, log: bool, who: str = "all") -> Rows:
    """Return the mark of the common point, if there is one.

    compared : the panels compared at this point; log : whether x has a logarithmic scale; who : the panels in
        words
    """
    points = [row["x"] for row in rows if row["kind"] in CURVE_KINDS]
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


def curves_of(
    snapshots: Sequence[Any], slots: Sequence[int] = (), origins: Sequence[str] = ()
) -> list[Curve]:
    """Return the curves of all panels, in their colours and dashes, given their snapshots and slots.

    origins : a word for the start of each, see ``titles``
    """
    algorithms = [snapshot.algorithm for snapshot in snapshots]
    parts = zip(labels(algorithms), origins or [""] * len(algorithms), strict=True)
    brief = named_apart([label + origin for label, origin in parts])
    styles = styled(titles(algorithms, origins), colours(algorithms), slots)
    return [Curve(*fields) for fields in zip(styles, brief, snapshots, strict=True)]
