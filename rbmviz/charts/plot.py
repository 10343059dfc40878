"""Common parts of all charts: rows, a spec in Vega-Lite, and the content for a canvas."""

import copy
import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rbmviz.charts.axes import Legend
from rbmviz.charts.style import INK

if TYPE_CHECKING:
    import pandas as pd

Spec = dict[str, Any]
"""A chart in Vega-Lite, as JSON values."""

Content = dict[str, Any]
"""A chart for ``curves.js``, as JSON values; ``Plot.content`` lists its entries."""

Rows = list[dict[str, Any]]

COORDINATE_DIGITS = 5
"""Significant digits of a coordinate on a canvas."""


NARROW_WINDOW = 640
"""Width of a window in pixels up to which a chart has short labels."""


class Plot(ABC):
    """Style of a chart, as a frozen dataclass. Equal plots have the same spec, which a live chart keeps.

    height : pixels of the whole chart
    width : pixels, or 0 (the default): the width of its container
    title : above the chart; "" (the default): none
    legend : None: curves are named at their ends, or elsewhere
    """

    height: int
    width: int
    title: str
    legend: Legend | None = None

    def of(self, rows: Sequence[dict[str, Any]]) -> "Chart":
        """Return the chart of these rows; columns that are not drawn are left out."""
        import pandas as pd

        return Chart(pd.DataFrame(rows, columns=list(dict.fromkeys(self.columns()))), self)

    def spec(self) -> Spec:
        """Return the Vega-Lite spec, not to be modified; the rows are passed separately, as "curves"."""
        return _spec(self)

    def content(self, rows: "pd.DataFrame", label: str) -> Content | None:
        """Return the content of a canvas, or None if there is nothing to draw.

        label : description of the chart

        The result has ``label``; ``x`` and ``y`` (``ChartAxis.content``); and

        - ``lines`` with name ("": not in the legend), colour, dash (none: the points are not joined), width,
          points, ``band`` ((x, low, high) of each point, or none) and its opacity, shape of the points ("":
          none), and whether they are steps;
        - ``marks`` with position, colour and shape;
        - ``ends`` of curves, with their names ("narrow": on a phone) and the heights of these (``at``);
        - ``levels``, which are lines at a y or an x, with dashes, a label, a short one, whether it is below
          the line, and a band or None;
        - ``bars`` with their sides (x, x2, y, y2), colour, opacity and a text, and ``names`` of colours;
        - ``legend``, whether names are listed where curves are named at their ends;
        - ``image``, the address of a picture with all its data.
        """
        parts = {} if rows.empty else self.parts(rows)
        if not any(parts.values()):
            return None
        return self.empty(label) | parts

    def empty(self, label: str) -> Content:
        """Return the content of a chart without rows and axes."""
        lists: Content = {name: [] for name in ("lines", "marks", "ends", "levels", "bars", "names")}
        return {"label": self.title or label, "image": "", "legend": self.legend is not None} | lists

    @abstractmethod
    def columns(self) -> list[str]:
        """Return the columns that are drawn or shown in tooltips."""

    @abstractmethod
    def layers(self, alt: Any, base: Any) -> list[Any]:
        """Return the layers; alt : the module altair; base : a chart with the rows as its data."""

    @abstractmethod
    def parts(self, rows: "pd.DataFrame") -> Content:
        """Return the non-empty parts of ``content``."""


class Chart(NamedTuple):
    """Rows and their plot."""

    rows: "pd.DataFrame"
    plot: Plot

    def content(self, label: str) -> Content | None:
        """Return the content of a canvas, see ``Plot.content``."""
        return self.plot.content(self.rows, label)

    def altair(self, width: float) -> Any:
        """Return the chart as an object of Altair, for light paper; width : of the plot, in pixels."""
        import altair as alt

        spec = copy.deepcopy(self.plot.spec()) | {"width": width}
        spec["params"] = [*spec.get("params", []), {"name": "ink", "value": INK}]
        # Passed as values, because Altair refuses data frames of more than 5,000 rows.
        spec["data"] = {"values": json.loads(self.rows.to_json(orient="records"))}
        return alt.Chart.from_dict(spec)


@functools.lru_cache(maxsize=128)
def _spec(plot: Plot) -> Spec:
    """Make a spec, which takes Altair about 35 ms."""
    import altair as alt

    title = {"title": plot.title} if plot.title else {}
    layers = plot.layers(alt, alt.Chart(alt.NamedData("curves")))
    spec = alt.layer(*layers, **title).properties(height=plot.height).to_dict()
    inline = spec.pop("datasets", {})
    for name in ("data", "$schema", "config"):  # Altair hoists data that all layers share
        spec.pop(name, None)
    for layer in spec["layer"]:
        source = layer.pop("data", {}).get("name")
        if source in inline:
            layer["data"] = {"values": inline[source]}
    width = {"width": plot.width} if plot.width else {}
    return spec | width


def tooltips(alt: Any, columns: Sequence[tuple[str, str, str]]) -> list[Any]:
    """Return the tooltip of a mark: each column with its title and the format of its numbers ("": text)."""
    return [
        alt.Tooltip(f"{name}:Q", title=title, format=form) if form else alt.Tooltip(f"{name}:N", title=title)
        for name, title, form in columns
    ]


def short(value: float) -> float:
    """Return a coordinate with few digits."""
    return float(f"{value:.{COORDINATE_DIGITS}g}")
