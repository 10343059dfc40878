"""Bars, and the cells of a heat map."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rbmviz.charts.axes import ChartAxis, Legend, Style, channel_of
from rbmviz.charts.plot import Content, Plot, short, tooltips
from rbmviz.charts.style import GREY

if TYPE_CHECKING:
    import pandas as pd

MAX_BARS = 600
"""Maximum number of bars on a canvas; more cannot be distinguished."""

CELL_COLOUR = "#7048e8"
"""Colour of a cell of value 1; other cells are paler, by the square root of their value."""


@dataclass(frozen=True)
class Bars(Plot):
    """Plot of bars: rectangles from ``x`` to "x2" and from ``y`` to "y2", which are columns.

    series : column of the names, which have colours; "" (the default): cells, whose "share" is from 0 to 1,
        on a canvas only
    tips : tuple of (str, str, str); columns of the tooltip, with title and format
    pale : (str, ((str, float), ...)) or None; a column, and the opacity of each of its values, with a
        separate legend
    """

    x: ChartAxis
    y: ChartAxis
    series: str = ""
    styles: tuple[Style, ...] = ()
    tips: tuple[tuple[str, str, str], ...] = ()
    legend: Legend | None = None
    pale: tuple[str, tuple[tuple[str, float], ...]] | None = None
    height: int = 300
    width: int = 0
    title: str = ""

    def columns(self) -> list[str]:
        """Return the columns that are drawn or shown in tooltips."""
        used = [self.series or "share", *([] if self.pale is None else [self.pale[0]])]
        return [self.x.field, "x2", self.y.field, "y2", *used, *(name for name, *_ in self.tips)]

    def layers(self, alt: Any, base: Any) -> list[Any]:
        """Return the rectangles."""
        sides = {"x2": "x2:Q", "y2": "y2:Q", "tooltip": tooltips(alt, self.tips)}
        placed = base.encode(x=self.x.channel(alt, "X"), y=self.y.channel(alt, "Y"))
        names, tones = [style.name for style in self.styles], [style.colour for style in self.styles]
        tone = channel_of(alt, "Color", self.series, names, tones, self.legend, "square")
        bars = placed.mark_rect(clip=True).encode(color=tone, **sides)
        if self.pale is not None:
            field, opacities = self.pale
            domain, range_ = (list(values) for values in zip(*opacities, strict=True))
            opacity = alt.Opacity(f"{field}:N", sort=domain, scale=alt.Scale(domain=domain, range=range_))
            legend = {"orient": "top", "title": None, "symbolType": "square", "symbolFillColor": GREY}
            bars = bars.encode(opacity=opacity.legend(**legend))
        return [bars]

    def parts(self, rows: "pd.DataFrame") -> Content:
        """Return bars, the names of their colours, and axes."""
        tones, bars = {style.name: style.colour for style in self.styles}, []
        opacity_of = dict(self.pale[1]) if self.pale is not None else {}
        for row in rows.to_dict("records"):
            x, x2, y, y2 = sides = [row[name] for name in (self.x.field, "x2", self.y.field, "y2")]
            if not (all(map(self.x.shows, (x, x2))) and all(map(self.y.shows, (y, y2)))):
                continue
            opacity = opacity_of[row[self.pale[0]]] if self.pale is not None else 1.0
            colour, text = tones[row[self.series]] if self.series else CELL_COLOUR, ""
            if not self.series:
                opacity, text = math.sqrt(min(max(row["share"], 0), 1)), f"{row['share']:.2f}"
            places = [short(side) for side in sides]
            bars.append({"sides": places, "colour": colour, "opacity": short(opacity), "text": text})
        if not bars:
            return {}
        names = [{"name": style.name, "colour": style.colour} for style in self.styles]
        return {"x": self.x.content(), "y": self.y.content(), "bars": bars[:MAX_BARS], "names": names}
