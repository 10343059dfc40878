"""Common parts of all charts: rows, a spec in Vega-Lite, and the content for a canvas."""

import copy
import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rbmviz.charts.axes import Legend
from rbmviz.charts.style import GREY, INK

if TYPE_CHECKING:
    import pandas as pd

Spec = dict[str, Any]
"""A chart in Vega-Lite, as JSON values."""

Content = dict[str, Any]
"""A chart for ``curves.js``, as JSON values; ``Plot.content`` lists its entries."""

Rows = list[dict[str, Any]]

COORDINATE_DIGITS = 5
"""Significant digits of a coordinate on a canvas."""


TALL = 480
"""Height of charts with large text, in pixels."""
WINDOW_PER_WORD = 50
"""Maximum size of large text, as a share of the window's height."""
NARROW_WINDOW, TITLE_SIZE, TITLE_PADDING = 640, 14, 16
"""Window width, in pixels, up to which axes have no titles; size and padding of titles, as in Streamlit."""
BOTTOM_PADDING = 4
"""Padding below a chart, in pixels; Streamlit's 20 would be a sixth of a chart on a phone."""


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

    def altair(self, width: float) -> Any:
        """Return the chart as an object of Altair, for light paper; width : of the plot, in pixels."""
        import altair as alt

        spec = readable(self.plot.spec(), "light") | {"width": width}
        del spec["config"], spec["usermeta"], spec["$schema"], spec["padding"]  # entries for pages only
        # Passed as values, because Altair refuses data frames of more than 5,000 rows.
        spec["data"] = {"values": json.loads(self.rows.to_json(orient="records"))}
        return alt.Chart.from_dict(spec)


@functools.lru_cache(maxsize=128)
def _spec(plot: Plot) -> Spec:
    """Make a spec, which takes Altair about 35 ms; pages that redraw every second reuse it."""
    import altair as alt

    title = {"title": plot.title} if plot.title else {}
    layers = plot.layers(alt, alt.Chart(alt.NamedData("curves")))
    spec = alt.layer(*layers, **title).properties(height=plot.height).to_dict()
    inline = spec.pop("datasets", {})
    spec.pop("data", None)  # Altair hoists data that all layers share
    for layer in spec["layer"]:
        source = layer.pop("data", {}).get("name")
        if source in inline:
            layer["data"] = {"values": inline[source]}
    width = {"width": plot.width} if plot.width else {}
    return spec | width | {"usermeta": {"embedOptions": {"renderer": "canvas"}}}


def tooltips(alt: Any, columns: Sequence[tuple[str, str, str]]) -> list[Any]:
    """Return the tooltip of a mark: each column with its title and the format of its numbers ("": text)."""
    return [
        alt.Tooltip(f"{name}:Q", title=title, format=form) if form else alt.Tooltip(f"{name}:N", title=title)
        for name, title, form in columns
    ]


def short(value: float) -> float:
    """Return a coordinate with few digits."""
    return float(f"{value:.{COORDINATE_DIGITS}g}")


def readable(spec: Spec, theme: str | None, size: int = 0) -> Spec:
    """Return a copy of a spec whose text has a contrast of at least 4.5 with the background of this theme.

    theme : "light", "dark" or None (not yet known: colours stay)
    size : font size in pixels, in a window that is tall enough; 0: Streamlit's
    """
    words_size = {"expr": f"min({size}, max(14, windowSize()[1] / {WINDOW_PER_WORD}))"}
    ink = INK.get(theme or "")
    words = ({"labelColor": ink, "titleColor": ink} if ink else {}) | (
        {"labelFontSize": words_size, "titleFontSize": words_size} if size else {}
    )
    note = ({"color": ink, "fill": ink} if ink else {}) | ({"fontSize": words_size} if size else {})
    # A title longer than its axis leaves no room for the chart; on a phone the words above it suffice.
    wide = f"windowSize()[0] > {NARROW_WINDOW}"
    titles = {
        "titleFontSize": {"expr": f"{wide} ? {TITLE_SIZE} : 0"},
        "titlePadding": {"expr": f"{wide} ? {TITLE_PADDING} : 0"},
    }
    own = {"axis": titles | words, "legend": words, "style": {"note": note}} | (
        {"title": {"fontSize": words_size}} if size else {}
    )
    height = {"height": max(spec["height"], TALL)} if size else {}
    changed = copy.deepcopy(spec) | height | {"config": own | spec.get("config", {})}
    changed |= {"padding": {"bottom": BOTTOM_PADDING}}
    return changed | {"params": [*spec.get("params", []), {"name": "ink", "value": ink or GREY}]}
