"""Figures of recipes: rows of numbers, their picture in the language of Vega-Lite, and as SVG."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rbmviz.registry import samplers, trainers
from rbmviz.sweeps import figures

Row = dict[str, Any]
"""x and y; perhaps low and high, series (the curve or the group of bars) and panel (the plot)."""

FREE_COLOURS = ("#bd4c0c", "#2f6f8f", "#618651", "#b583b4", "#8a6d1d", "#7a7a7a", "#a03b5a", "#4b4fa0")
"""Colours of series that are no algorithms, and of further settings of one algorithm."""

SERIES_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2], [10, 4], [1, 3], [6, 2, 1, 2])

FIGURE_WIDTH, FIGURE_HEIGHT = 360, 220


@dataclass(frozen=True)
class Drawing:
    """A figure: what is drawn, and how its axes are called.

    Parameters
    ----------
    rows : sequence of dict
        See ``Row``.
    x, y : str
        Titles of the axes, with units.
    mark : "line", "point" or "bar"
        Curves with bands, points with errors, or bars with errors.
    log_x, log_y : bool
        Whether an axis is logarithmic.
    lines : mapping of str to float
        Horizontal lines with their names, such as the score of the training set.
    """

    rows: Sequence[Row]
    x: str
    y: str
    mark: Literal["line", "point", "bar"] = "line"
    log_x: bool = False
    log_y: bool = False
    lines: Mapping[str, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the drawing as JSON values; what is not finite is left out."""
        rows = [
            {
                name: float(f"{value:.6g}") if isinstance(value, float) else value
                for name, value in row.items()
                if not (isinstance(value, float) and not math.isfinite(value))
            }
            for row in self.rows
        ]
        kept = {"x": self.x, "y": self.y, "mark": self.mark, "log_x": self.log_x, "log_y": self.log_y}
        return {**kept, "lines": dict(self.lines or {}), "rows": rows}


def to_csv(drawing: Mapping[str, Any]) -> bytes:
    """Return the rows of a drawing, ``Drawing.to_json``, as a CSV file."""
    names = list(dict.fromkeys(name for row in drawing["rows"] for name in row))
    content = io.StringIO()
    writer = csv.DictWriter(content, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(drawing["rows"])
    return content.getvalue().encode()


def colours(series: Sequence[str]) -> list[str]:
    """Return a colour for each series: that of the algorithm whose name or label it begins with, if free."""
    known = {}
    for table in (samplers, trainers):
        for name in table:
            for word in (name, table[name].label):
                known[word.lower()] = table[name].colour
    taken: list[str] = []
    for one in series:
        own = max((word for word in known if one.lower().startswith(word)), key=len, default="")
        free = [colour for colour in FREE_COLOURS if colour not in taken]
        colour = known.get(own, "")
        taken.append(colour if colour and colour not in taken else free[0] if free else FREE_COLOURS[-1])
    return taken


def specification(drawing: Mapping[str, Any], caption: Sequence[str] = ()) -> dict[str, Any]:
    """Return a drawing in the language of Vega-Lite.

    Parameters
    ----------
    drawing : mapping
        ``Drawing.to_json``, whose panels stand side by side and wrap.
    caption : sequence of str
        Lines that stand below: what was run, and by which command.
    """
    import altair

    rows = drawing["rows"]
    series = list(dict.fromkeys(row.get("series", "") for row in rows))
    panels = list(dict.fromkeys(row.get("panel", "") for row in rows))
    bars = drawing["mark"] == "bar"
    named = all(row["x"] == row.get("series") for row in rows)  # the axis is the legend
    scale = altair.Scale(type="log" if drawing["log_x"] else "linear", zero=False, nice=not drawing["log_x"])
    x: Any = altair.X("x:Q", title=drawing["x"], scale=scale)
    if bars or any(isinstance(row["x"], str) for row in rows):
        x = altair.X(
            "x:N", title=drawing["x"] or None, sort=None, axis=altair.Axis(labelAngle=-30, labelLimit=240)
        )
    y_scale = altair.Scale(
        type="symlog" if bars and drawing["log_y"] else "log" if drawing["log_y"] else "linear", zero=bars
    )
    y = altair.Y("y:Q", title=drawing["y"], scale=y_scale)
    tone = altair.Color(
        "series:N",
        sort=series,
        scale=altair.Scale(domain=series, range=colours(series)),
        legend=altair.Legend(title=None, orient="bottom", columns=3, labelLimit=320)
        if series != [""] and not named
        else None,
    )
    base = altair.Chart().encode(x=x, color=tone)
    low, high = altair.Y("low:Q", scale=y_scale, title=drawing["y"]), altair.Y2("high:Q")
    layers: list[Any] = []
    errors = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    if bars:
        # Bars of one place side by side.
        offset = altair.XOffset("series:N", sort=series)
        layers += [base.mark_bar().encode(y=y, xOffset=offset)]
        layers += [
            errors.mark_rule(color="#555555").encode(
                y=low, y2=high, xOffset=offset, color=altair.value("#555555")
            )
        ]
    elif drawing["mark"] == "line":
        dash = altair.StrokeDash(
            "series:N",
            sort=series,
            legend=None,
            scale=altair.Scale(
                domain=series, range=[list(SERIES_DASHES[i % len(SERIES_DASHES)]) for i in range(len(series))]
            ),
        )
        layers += [errors.mark_area(opacity=0.18).encode(y=low, y2=high)]
        layers += [base.mark_line(strokeWidth=1.8).encode(y=y, strokeDash=dash)]
    else:
        layers += [
            errors.mark_rule().encode(y=low, y2=high),
            base.mark_point(filled=True, size=55).encode(y=y),
        ]
    for name, value in drawing["lines"].items():
        line = altair.Chart(altair.Data(values=[{"value": value, "name": name}]))
        shown = {"y": altair.Y("value:Q", scale=y_scale, title=drawing["y"])}
        layers += [line.mark_rule(strokeDash=[4, 4], color="#777777").encode(**shown)]
        text = line.mark_text(align="left", dx=3, dy=-6, color="#777777").encode(
            text="name:N", x=altair.value(0), **shown
        )
        layers += [text]
    chart: Any = altair.layer(*layers).properties(width=FIGURE_WIDTH, height=FIGURE_HEIGHT)
    if len(panels) > 1:
        if drawing["lines"]:  # a facet takes its data from one place: the lines stand in the rows' own plots
            layers = [one for one in layers if isinstance(one.data, altair.utils.schemapi.UndefinedType)]
            chart = altair.layer(*layers).properties(width=FIGURE_WIDTH, height=FIGURE_HEIGHT)
        facet = altair.Facet("panel:N", title=None, sort=panels)
        chart = chart.facet(facet, columns=2, data=altair.Data(values=rows))
        chart = chart.resolve_scale(x="independent", y="independent")
    else:
        chart = chart.properties(data=altair.Data(values=rows))
    if caption:
        below = altair.Chart(altair.Data(values=[{}])).mark_text(
            align="left", baseline="top", fontSize=8, color="#555555", lineBreak="\n"
        )
        lines = list(figures.in_lines(caption))
        below = below.encode(text=altair.value("\n".join(lines)), x=altair.value(0), y=altair.value(0))
        chart = altair.vconcat(chart, below.properties(width=FIGURE_WIDTH, height=10 * len(lines)))
    return chart.configure_view(stroke=None).to_dict()


def svg(drawing: Mapping[str, Any], caption: Sequence[str]) -> bytes:
    """Return a drawing as SVG, without a browser and without a network.

    Raises
    ------
    BadInput
        If Altair or vl-convert is not installed.
    """
    figures.check_installed()
    return figures.rendered(specification(drawing, caption), "svg")
