"""Figures of recipes: rows of numbers, drawn by Vega-Lite, as SVG."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rbmviz.charts import ChartAxis, Curves, Legend, styled
from rbmviz.charts.axes import channel_of
from rbmviz.charts.style import colours_of_names
from rbmviz.sweeps import figures

Row = dict[str, Any]
"""x and y; optionally low and high, series (the curve or the group of bars) and panel (the plot)."""

FIGURE_WIDTH, FIGURE_HEIGHT = 360, 220


@dataclass(frozen=True)
class Drawing:
    """A figure: its rows and axes.

    Parameters
    ----------
    rows : sequence of dict
        See ``Row``.
    x, y : str
        ChartAxis titles, with units.
    mark : "line", "point" or "bar"
        Curves with bands, points with errors, or bars with errors.
    log_x, log_y : bool
        Whether an axis is logarithmic.
    """

    rows: Sequence[Row]
    x: str
    y: str
    mark: Literal["line", "point", "bar"] = "line"
    log_x: bool = False
    log_y: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the drawing as JSON values, without numbers that are not finite."""
        rows = [
            {
                name: float(f"{value:.6g}") if isinstance(value, float) else value
                for name, value in row.items()
                if not (isinstance(value, float) and not math.isfinite(value))
            }
            for row in self.rows
        ]
        axes = {"x": self.x, "y": self.y, "mark": self.mark, "log_x": self.log_x, "log_y": self.log_y}
        return {**axes, "rows": rows}


def to_csv(drawing: Mapping[str, Any]) -> bytes:
    """Return the rows of a drawing (``Drawing.to_json``) as a CSV file."""
    names = list(dict.fromkeys(name for row in drawing["rows"] for name in row))
    content = io.StringIO()
    writer = csv.DictWriter(content, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(drawing["rows"])
    return content.getvalue().encode()


def specification(drawing: Mapping[str, Any], caption: Sequence[str] = ()) -> dict[str, Any]:
    """Return a drawing (``Drawing.to_json``) as a Vega-Lite specification.

    Panels are side by side and wrap; ``caption`` has the lines below: what was run, by which command.
    """
    import altair

    rows = drawing["rows"]
    panels = list(dict.fromkeys(row.get("panel", "") for row in rows))
    chart: Any = altair.layer(*_layers(altair, drawing)).properties(width=FIGURE_WIDTH, height=FIGURE_HEIGHT)
    if len(panels) > 1:
        facet = altair.Facet("panel:N", title=None, sort=panels)
        chart = chart.facet(facet, columns=2, data=altair.Data(values=rows))
        chart = chart.resolve_scale(x="independent", y="independent")
    else:
        chart = chart.properties(data=altair.Data(values=rows))
    if caption:
        lines = figures.in_lines(caption)
        below = altair.Chart(altair.Data(values=[{}])).mark_text(
            align="left", baseline="top", fontSize=8, color="#555555", lineBreak="\n"
        )
        below = below.encode(text=altair.value("\n".join(lines)), x=altair.value(0), y=altair.value(0))
        chart = altair.vconcat(chart, below.properties(width=FIGURE_WIDTH, height=10 * len(lines)))
    return chart.configure_view(stroke=None).to_dict()


def _layers(altair: Any, drawing: Mapping[str, Any]) -> list[Any]:
    """Return the layers of a plot: errors or bands, with bars, curves or points above."""
    rows, mark = drawing["rows"], drawing["mark"]
    series = list(dict.fromkeys(row.get("series", "") for row in rows))
    words = mark == "bar" or any(isinstance(row["x"], str) for row in rows)
    scales: tuple[Any, ...] = tuple("log" if drawing[log] else "linear" for log in ("log_x", "log_y"))
    x = ChartAxis("x", drawing["x"], "words" if words else scales[0])
    y = ChartAxis("y", drawing["y"], scales[1], nice=True, zero=mark == "bar")
    named_by_axis = all(row["x"] == row.get("series") for row in rows)
    legend = None if series == [""] or named_by_axis else Legend("bottom", limit=280)
    tones = colours_of_names(series)
    if mark == "bar":
        tone = channel_of(altair, "Color", "series", series, tones, legend, "square")
        base = altair.Chart().encode(x=x.channel(altair, "X"), color=tone)
        side_by_side = altair.XOffset("series:N", sort=series)
        errors = base.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_rule()
        ends = {"y": y.channel(altair, "Y", "low"), "y2": "high:Q", "color": altair.value("#555555")}
        bars = base.mark_bar().encode(y=y.channel(altair, "Y"), xOffset=side_by_side)
        return [bars, errors.encode(xOffset=side_by_side, **ends)]
    curves = Curves(
        x,
        y,
        "" if series == [""] else "series",
        styled(series, tones),
        line="linear" if mark == "line" else "",
        points=0 if mark == "line" else 55,
        band=("low", "high"),
        spread="area" if mark == "line" else "rule",
        legend=legend,
    )
    return curves.layers(altair, altair.Chart())


def svg(drawing: Mapping[str, Any], caption: Sequence[str]) -> bytes:
    """Return a drawing as SVG, without browser or network.

    Raises
    ------
    BadInput
        If Altair or vl-convert is not installed.
    """
    figures.check_installed()
    return figures.rendered(specification(drawing, caption), "svg")
