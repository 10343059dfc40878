"""Figures of recipes: rows of numbers, drawn by Vega-Lite at the width of a journal's column."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rbmviz.charts import ChartAxis, Curves, Legend, Style, styled
from rbmviz.charts.axes import channel_of
from rbmviz.charts.style import colours_of_names
from rbmviz.registry import samplers, trainers
from rbmviz.sweeps import figures

Row = dict[str, Any]
"""x and y; optionally low and high, series (the curve or the group of bars) and panel (the plot)."""

PLOT_WIDTH, PLOT_HEIGHT, TITLE_LETTERS = 262, 170, 48
"""Size of a plot in pixels without its axes, and letters in a line of its title. A figure of one panel fits a
journal's column of 88 mm, one of several its page of 180 mm."""

MAX_POWERS, COLUMN_LETTERS = 7, 22
"""Most powers of ten with a label on an axis, and most letters of a name in a legend of two columns."""

WORDS = ("x", "panel", "series")
"""Columns of rows that may have words."""

CONFIG = {
    "view": {"stroke": None},
    "axis": {"labelFontSize": 10, "titleFontSize": 11, "titleFontWeight": "normal", "labelColor": "#222222"}
    | {"titleColor": "#222222", "domainColor": "#222222", "tickColor": "#222222", "gridColor": "#e4e4e4"},
    "legend": {"labelFontSize": 10, "labelColor": "#222222", "rowPadding": 1, "columnPadding": 12},
    "title": {"fontSize": 11, "fontWeight": "normal", "color": "#222222", "anchor": "start", "offset": 6},
}
"""The look of figures: text of 7.5 to 8 points on white paper."""

SHORT_NAMES = {
    **{"bas": "Bars and Stripes", "modes": "Modes", "mnist": "MNIST", "usps": "USPS", "letters": "Letters"},
    **{"newsgroups": "Newsgroups", "reviews": "Restaurants", "film_reviews": "Films"},
    **{"cd": "CD", "cd1": "CD-1", "fpcd": "FPCD", "pcd": "PCD", "eps": "ε", "alpha": "α"},
}
"""Names of data, trainers and knobs in figures: shorter than the labels of the pages."""

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Drawing:
    """A figure: its rows and axes.

    rows : see ``Row``
    x, y : ChartAxis titles, with units
    mark : curves with bands, points with errors, or bars with errors
    log_x, log_y : whether an axis is logarithmic
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


def readable(text: str) -> str:
    """Return a text of a figure with readable names instead of identifiers.

    Examples
    --------
    >>> readable("rates_fpcd:k=5"), readable("mnist_cd1")
    ('rates-FPCD, k = 5', 'MNIST, CD-1')
    """
    names = {name: table[name].label for table in (samplers, trainers) for name in table} | SHORT_NAMES

    def named(match: re.Match[str]) -> str:
        word = match[0]
        if word in names:
            return names[word]
        data = next((name for name in SHORT_NAMES if word.startswith(f"{name}_")), "")
        trainer = word.removeprefix(f"{data}_")
        return f"{SHORT_NAMES[data]}, {names[trainer]}" if data and trainer in names else word

    spaced = re.sub(r"(?<=\w)=(?=[\d.])", " = ", re.sub(r"(?<=\w):(?=\w+=)", ", ", text))
    return re.sub(r"\b[a-z]\w*", named, spaced)


def alternative_text(result: Mapping[str, Any]) -> str:
    """Describe the figure of a result in words, for readers who cannot see it."""
    drawn = result["figure"]
    panels, series = (
        list(dict.fromkeys(row[key] for row in drawn["rows"] if row.get(key))) for key in ("panel", "series")
    )
    text = f"{result['title']}: {drawn['y'] or ', '.join(panels) or 'measured numbers'}"
    text += f" over {drawn['x']}" if drawn["x"] else ""
    return readable(text + (f", of {', '.join(series)}." if series else "."))


def specification(drawing: Mapping[str, Any]) -> dict[str, Any]:
    """Return a drawing (``Drawing.to_json``) as a Vega-Lite specification.

    A plot is as wide as a journal's column; several are side by side in two columns. For logarithms to base
    10 the factors are drawn, on a logarithmic axis, because the papers print factors.
    """
    import altair

    rows = [
        row | {key: readable(row[key]) for key in WORDS if isinstance(row.get(key), str)}
        for row in drawing["rows"]
    ]
    series = list(dict.fromkeys(row.get("series", "") for row in rows))
    styles = styled(series, colours_of_names(series))
    plots, shared = [], True
    for panel in dict.fromkeys(row.get("panel", "") for row in rows):
        own = [row for row in rows if row.get("panel", "") == panel]
        drawn = {row.get("series", "") for row in own}
        shared = shared and len(drawn) == len(series)
        plots.append(
            _plot(altair, {**drawing, "rows": own}, panel, [style for style in styles if style.name in drawn])
        )
    chart: Any = plots[0]
    if len(plots) > 1:
        chart = altair.concat(*plots, columns=2, spacing={"column": 18, "row": 16})
        scales = "shared" if shared else "independent"
        chart = chart.resolve_scale(color=scales, strokeDash=scales)
    return {**chart.to_dict(), "config": CONFIG, "background": "white"}


def _plot(altair: Any, drawing: Mapping[str, Any], panel: str, styles: Sequence[Style]) -> Any:
    """Return a panel of a figure."""
    y, rows = readable(drawing["y"]), drawing["rows"]
    if "log10 of " in y or "log10 of " in panel:
        y, panel = (_without_logarithm(text) for text in (y, panel))
        rows = [row | {key: 10.0 ** row[key] for key in ("y", "low", "high") if key in row} for row in rows]
        drawing = {**drawing, "log_y": True}
    drawing = {**drawing, "rows": rows, "x": readable(drawing["x"]), "y": y}
    chart = altair.layer(*_layers(altair, drawing, styles), data=altair.Data(values=rows))
    chart = chart.properties(width=PLOT_WIDTH, height=PLOT_HEIGHT)
    return chart.properties(title=textwrap.wrap(panel, TITLE_LETTERS)) if panel else chart


def _without_logarithm(text: str) -> str:
    words = re.sub(r"log10 of (the )?", "", text)
    return words[:1].upper() + words[1:] if text.startswith("log10") else words


def _axis(
    field: Literal["x", "y"],
    drawing: Mapping[str, Any],
    keys: Sequence[str],
    words: bool = False,
    **more: Any,
) -> ChartAxis:
    """Return an axis; a logarithmic one over two powers of ten or more has its ticks there."""
    title = drawing[field]
    if words or not drawing[f"log_{field}"]:
        return ChartAxis(field, title, "words" if words else "linear", **more)
    values = [row[key] for row in drawing["rows"] for key in keys if row.get(key, 0) > 0]
    first, last = (math.log10(end(values)) for end in (min, max)) if values else (0.0, 0.0)
    if more.get("nice"):  # it ends at powers of ten
        powers = range(math.floor(first), math.ceil(last) + 1)
    else:
        powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    powers = powers[:: -(-len(powers) // MAX_POWERS)] if powers else powers
    if len(powers) < 2:
        return ChartAxis(field, title, "log", **more)
    labels = (f"{10.0**n:,g}" if -4 <= n < 5 else f"10{str(n).translate(SUPERSCRIPTS)}" for n in powers)
    return ChartAxis(
        field, title, "log", ticks=tuple(10.0**n for n in powers), tick_labels=tuple(labels), **more
    )


def _layers(altair: Any, drawing: Mapping[str, Any], styles: Sequence[Style]) -> list[Any]:
    """Return the layers of a plot: errors or bands, with bars, curves or points above."""
    rows, mark = drawing["rows"], drawing["mark"]
    words = mark == "bar" or any(isinstance(row["x"], str) for row in rows)
    x = _axis("x", drawing, ("x",), words=words)
    y = _axis("y", drawing, ("y", "low", "high"), nice=True, zero=mark == "bar")
    named_by_axis = all(row["x"] == row.get("series") for row in rows)
    series, tones = [style.name for style in styles], [style.colour for style in styles]
    columns = 2 if max(map(len, series)) <= COLUMN_LETTERS else 1
    legend = None if series == [""] or named_by_axis else Legend("bottom", columns, columns, limit=PLOT_WIDTH)
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
        tuple(styles),
        line="linear" if mark == "line" else "",
        points=0 if mark == "line" else 55,
        band=("low", "high"),
        spread="area" if mark == "line" else "rule",
        legend=legend,
    )
    return curves.layers(altair, altair.Chart())


def picture(drawing: Mapping[str, Any]) -> bytes:
    """Return a drawing as SVG."""
    return figures.rendered(specification(drawing), "svg")
