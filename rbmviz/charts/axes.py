"""Axes, legends, and the look of a series."""

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rbmviz.charts.style import dashes

LEGEND_LETTERS = 36
"""Number of characters in a legend line that fit a chart on a phone."""


LOG_LABELS = (
    "indexof(log(domain('{scale}')[1] / domain('{scale}')[0]) > 4 * LN10 ? [1]"
    " : log(domain('{scale}')[1] / domain('{scale}')[0]) < LN10 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : [1, 2, 5],"
    " round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) < 0 ? '' : {said}"
)
"""Labels of the ticks of a logarithmic axis, in Vega's language: at 1, 2 and 5 times a power of ten, over
more than four decades only the powers, within one decade all."""


class Style(NamedTuple):
    """Name, colour, dash pattern (pixels of line and gap), and shape of the points of a series."""

    name: str
    colour: str
    dash: tuple[int, ...] = (1, 0)
    shape: str = "circle"


def styled(names: Sequence[str], colours: Sequence[str], slots: Sequence[int] = ()) -> tuple[Style, ...]:
    """Return the styles of series with these colours, and dashes by slot: eight in a row differ.

    slots : number of each series, which keeps its dashes when others come and go (default: its position)
    """
    return tuple(
        Style(name, colour, tuple(dash))
        for name, colour, dash in zip(names, colours, dashes(slots or range(len(names))), strict=True)
    )


@dataclass(frozen=True)
class ChartAxis:
    """An axis of a chart.

    field : column of the coordinates
    title : a line break begins another line
    scale : "symlog" is log(1 + x); for "words" the column holds no numbers, and the chart has no canvas
    form : format of the numbers, in D3's language; a share in percent has "%". "": Vega's own.
    unit : unit after each number, which is then not abbreviated: 0.1 s, not 100m
    domain : (float, float) or None; range; None (the default): the range of the rows
    nice : whether the range ends at round numbers; None (the default): unless the scale is logarithmic
    zero : whether the range includes zero
    ticks : approximate number of ticks, or their places; 0 (the default): Vega's own
    tick_labels : labels of ``ticks``, if they are places; empty (the default): the numbers
    names : names of the places from 0 to 1, 1 to 2, ... on an axis without numbers, which only a canvas has
    grid : whether a vertical axis has grid lines across the chart
    """

    field: str
    title: str = ""
    scale: Literal["linear", "log", "symlog", "words"] = "linear"
    form: str = ""
    unit: str = ""
    domain: tuple[float, float] | None = None
    nice: bool | None = None
    zero: bool = False
    ticks: int | tuple[float, ...] = 0
    tick_labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    grid: bool = True

    def channel(self, alt: Any, way: Literal["X", "Y"], field: str = "") -> Any:
        """Return the encoding of this axis; field : another column, if any."""
        title = (self.title.split("\n") if "\n" in self.title else self.title) or None
        channel = getattr(alt, way)(
            f"{field or self.field}:{'N' if self.scale == 'words' else 'Q'}", title=title
        )
        if self.scale == "words":
            return channel.sort(None).axis(alt.Axis(labelAngle=-30, labelLimit=400))
        nice = self.scale != "log" if self.nice is None else self.nice
        scale: dict[str, Any] = {"type": self.scale, "nice": nice}
        if self.domain:
            scale["domain"] = list(self.domain)
        elif self.scale == "linear":
            scale["zero"] = self.zero
        axis: dict[str, Any] = {"grid": way == "Y" and self.grid}
        if self.ticks:
            axis |= {"tickCount": self.ticks} if isinstance(self.ticks, int) else {"values": list(self.ticks)}
        if self.tick_labels and not isinstance(self.ticks, int):
            # Vega's index of a tick runs from 0 to 1.
            axis["labelExpr"] = f"{json.dumps(self.tick_labels)}[round(datum.index * {len(self.ticks) - 1})]"
        elif self.scale == "log" and "values" not in axis:
            said = f"format(datum.value, '{self.form or ',.9~g'}') + '{self.unit and f' {self.unit}'}'"
            axis["labelExpr"] = LOG_LABELS.format(scale=way.lower(), said=said)
        elif self.unit:
            axis["labelExpr"] = f"format(datum.value, '~g') + ' {self.unit}'"
        elif self.form == "~s" and self.scale == "linear":
            axis["labelExpr"] = "datum.value ? datum.label : '0'"
        axis |= {"format": self.form} if self.form else {}
        return channel.scale(alt.Scale(**scale)).axis(alt.Axis(**axis))

    def shows(self, value: Any) -> bool:
        """Return whether a value of a cell has a place on the axis."""
        return isinstance(value, int | float) and math.isfinite(value) and (value > 0 or self.scale != "log")

    def content(self) -> dict[str, Any]:
        """Return the axis for a canvas."""
        return {
            "title": self.title.replace("\n", " "),
            "scale": self.scale,
            "percent": "%" in self.form,
            "unit": self.unit,
            "domain": self.domain,
            "zero": self.zero and self.scale == "linear",
            "ticks": () if isinstance(self.ticks, int) else self.ticks,
            "names": self.names,
        }


class Legend(NamedTuple):
    """A legend.

    orient : side of the chart
    columns, phone : number of columns, in general and on a phone
    limit : maximum width of a name in pixels; 0: none, and long names are wrapped
    only : series to show; empty: all
    """

    orient: Literal["top", "bottom"] = "top"
    columns: int = 1
    phone: int = 1
    limit: int = 330
    title: str = ""
    only: tuple[str, ...] = ()

    def of(self, alt: Any, names: Sequence[str], symbol: str) -> Any:
        """Return the legend of series; symbol : "stroke", "square", or "": as the points."""
        # On a phone two names fit side by side. A figure of several panels has no single width.
        wide, columns, size = self.columns != self.phone, self.columns, 600
        if wide:
            columns = alt.ExprRef(f"width < 470 ? {self.phone} : {self.columns}")
            size = alt.ExprRef("width < 470 ? 256 : 900")
        drawn = {
            # Long enough to show the dashes.
            "stroke": {"symbolStrokeWidth": 3, "symbolSize": size},
            "square": {"symbolSize": 150},
            "": {"symbolSize": 60},
        }[symbol]
        more = {"symbolType": symbol} if symbol else {}
        if not self.limit:
            lines = {name: textwrap.wrap(name, LEGEND_LETTERS) for name in names}
            more["labelExpr"] = f"({json.dumps(lines)})[datum.label]"
        return alt.Legend(
            orient=self.orient,
            columns=columns,
            labelLimit=self.limit,
            symbolOpacity=1,
            **({"values": list(self.only)} if self.only else {}),
            **drawn,
            **more,
        )


def channel_of(
    alt: Any,
    kind: str,
    field: str,
    names: Sequence[str],
    values: Sequence[Any],
    legend: Legend | None,
    symbol: str,
) -> Any:
    """Return the encoding of a series by a colour, dash or shape: the value of each name."""
    drawn = None if legend is None else legend.of(alt, names, symbol)
    title = (legend.title if legend is not None else "") or None
    scale = alt.Scale(domain=list(names), range=list(values))
    return getattr(alt, kind)(f"{field}:N", title=title, sort=list(names), scale=scale).legend(drawn)
