"""Curves with bands, points, marks, levels, and names at their ends."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rbmviz.charts.axes import ChartAxis, Legend, Style, channel_of
from rbmviz.charts.plot import NARROW_WINDOW, Content, Plot, Rows, short, tooltips
from rbmviz.charts.style import GREY

if TYPE_CHECKING:
    import pandas as pd

LINE_WIDTH, BAND_OPACITY, LEVEL_DASH, PAST_WIDTH, PAST_OPACITY = 2.0, 0.18, (4, 4), 1.0, 0.6
"""Styles of curves, their bands, horizontal lines, and curves before a turn of a knob."""

COMMON_DASH = (2, 3)
"""Dashes of the vertical line at the common point."""

MAX_CURVES, MAX_CURVE_POINTS = 24, 400
"""Maximum number of lines on a canvas, and of points on a line; more cannot be distinguished."""

LEADER_PIXELS = 18
"""Distance from the plot to the column of labels on the right; dots connect each to the end of its curve."""

MAX_LABEL_PIXELS = 170

PHONE = f"windowSize()[0] <= {NARROW_WINDOW}"
"""Test for a chart on a phone."""

MIN_WIDTH = 420
"""Width in pixels below which a plot only has room for the short label of the common point."""

ROOM_ABOVE = 15
"""Height in pixels of the label of the common point, above the plot, where there are no curves."""

Kind = Literal["past", "mark", "guide", "common", "end"]
"""Kind of a row, in its column "kind"; all other rows are points of a curve ("point").

- "past": a point before a turn of a knob; "change" tells pieces apart;
- "mark": a mark on a curve, with its shape in "mark" and a text in "note";
- "guide": a point of a line without a name: "guide" tells such lines apart, "tone" is the colour, "solid"
  whether it has no dashes, "order" the number of the point;
- "common": a vertical line, with its long and short text in "note" and "label", on the "side" of the line;
- "end": the end of a curve, with its name in "label" (on a phone "narrow") at the height "label_y", and its
  full name in "note"; "tone" is the colour of an earlier piece of the curve, else empty.
"""

COLUMNS_OF_KIND: dict[str, tuple[str, ...]] = {
    "past": ("change",),
    "mark": ("mark", "note"),
    "guide": ("guide", "tone", "solid", "order"),
    "common": ("note", "label", "side"),
    "end": ("label", "narrow", "label_y", "note", "tone"),
}


class Level(NamedTuple):
    """A dashed horizontal line, with its label above or below it, and perhaps a band around it.

    Its curves begin on one side, and its label is on the other; on a phone it ends before a parenthesis.
    """

    value: float
    label: str = ""
    below: bool = False
    band: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curves(Plot):
    """Plot of curves.

    series : column of the names of the curves
    styles : style of each curve, even without rows yet, so that the spec stays the same
    tips : tuple of (str, str, str); columns of the tooltip, with title and format
    kinds : kinds of rows besides points
    line : "linear", "monotone", "step-after" or ""; how points are joined; "": not at all
    line_width, opacity : of lines, and of a "rule"
    points : area of each point in square pixels; 0 (the default): points are not drawn
    band : (str, str) or None; columns of the lower and the upper end
    spread : whether a band is an area, or a line at each point
    order : column by which points are joined; "" (the default): by x
    pale : column: points with a false value in it are pale; "": all are alike
    legend : None (the default): the curves are labelled at their ends, or by panels
    clip : whether anything outside the axes is clipped
    more : returns further layers, which are not on a canvas, given altair and a chart with x, y and colour
    """

    x: ChartAxis
    y: ChartAxis
    series: str = ""
    styles: tuple[Style, ...] = ()
    tips: tuple[tuple[str, str, str], ...] = ()
    kinds: tuple[Kind, ...] = ()
    line: Literal["linear", "monotone", "step-after", ""] = "linear"
    line_width: float = LINE_WIDTH
    opacity: float = 1.0
    points: float = 0.0
    band: tuple[str, str] | None = None
    spread: Literal["area", "rule"] = "area"
    order: str = ""
    pale: str = ""
    levels: tuple[Level, ...] = ()
    legend: Legend | None = None
    clip: bool = False
    more: Callable[[Any, Any], list[Any]] | None = None
    height: int = 300
    width: int = 0
    title: str = ""

    def columns(self) -> list[str]:
        """Return the columns that are drawn or shown in tooltips."""
        kinds = [name for kind in self.kinds for name in COLUMNS_OF_KIND[kind]]
        used = [self.series, self.order, self.pale, *(self.band or ())]
        described = [name for name, *_ in self.tips]
        names = ["kind"] * bool(self.kinds) + [self.x.field, self.y.field, *used, *described, *kinds]
        return [name for name in names if name]

    # In Vega-Lite

    def layers(self, alt: Any, base: Any) -> list[Any]:
        """Return the layers, from the lowest to the highest."""
        x, y = self.x.channel(alt, "X"), self.y.channel(alt, "Y")
        tips = tooltips(alt, self.tips) or alt.Undefined

        def of(kind: str) -> Any:
            rows = base.transform_filter(f"datum.kind == '{kind}'") if self.kinds else base
            return rows.encode(x=x)

        points, tone = of("point"), self._channel(alt, "Color", [style.colour for style in self.styles])
        dash = {"strokeDash": self._channel(alt, "StrokeDash", [list(style.dash) for style in self.styles])}
        clip = {"clip": True} if self.clip else {}
        joined = {"interpolate": self.line} if self.line not in ("", "linear") else {}
        layers = _common_layers(alt, of("common")) if "common" in self.kinds else []
        layers += [_guide_layer(alt, of("guide").encode(y=y))] if "guide" in self.kinds else []
        if self.band is not None:
            low, high = self.band
            ends = {"y": self.y.channel(alt, "Y", low), "y2": f"{high}:Q", "color": tone}
            held = points.transform_filter(f"isValid(datum.{low}) && isValid(datum.{high})")
            if self.spread == "area":
                band = held.mark_area(opacity=BAND_OPACITY, tooltip=None, **joined, **clip)
            else:
                band = held.mark_rule(opacity=self.opacity)
            layers.append(band.encode(**ends))
        if self.line:
            look = {"strokeWidth": self.line_width} | ({"opacity": self.opacity} if self.opacity < 1 else {})
            order = {"order": f"{self.order}:Q"} if self.order else {}
            lines = points.mark_line(**look, **joined, **clip)
            layers.append(lines.encode(y=y, color=tone, tooltip=tips, **dash, **order))
        if self.points:
            layers.append(self._point_layer(alt, points.encode(y=y, color=tone, tooltip=tips)))
        if "past" in self.kinds:
            past = of("past").mark_line(strokeWidth=PAST_WIDTH, opacity=PAST_OPACITY, **joined)
            layers.append(past.encode(y=y, color=alt.value(GREY), detail="change:N", tooltip=tips, **dash))
        if "mark" in self.kinds:
            marks = of("mark").mark_point(filled=True, opacity=1, size=90).encode(y=y, color=tone)
            shape = alt.Shape("mark:N", scale=None)
            layers.append(
                marks.encode(shape=shape, tooltip=tooltips(alt, (("note", "Here", ""), *self.tips)))
            )
        if "end" in self.kinds:
            layers += _end_layers(alt, of("end").encode(y=y), tone)
        layers += [] if self.more is None else self.more(alt, points.encode(y=y, color=tone))
        return layers + [layer for level in self.levels for layer in _level_layers(alt, level)]

    def _channel(self, alt: Any, kind: str, values: Sequence[Any]) -> Any:
        if not self.series:
            return alt.value(values[0])
        names = [style.name for style in self.styles]
        symbol = "stroke" if self.line and not self._shapes else ""
        return channel_of(alt, kind, self.series, names, values, self.legend, symbol)

    @property
    def _shapes(self) -> bool:
        """Whether the shapes of the points differ."""
        return bool(self.points) and len({style.shape for style in self.styles}) > 1

    def _point_layer(self, alt: Any, points: Any) -> Any:
        look = {"opacity": 1} if not self.pale else {}
        layer = points.mark_point(filled=True, size=self.points, **look)
        if self._shapes:
            layer = layer.encode(shape=self._channel(alt, "Shape", [style.shape for style in self.styles]))
        if self.pale:
            layer = layer.encode(
                opacity=alt.condition(f"datum.{self.pale}", alt.value(0.95), alt.value(0.45))
            )
        return layer

    # On a canvas

    def parts(self, rows: "pd.DataFrame") -> Content:
        """Return lines, marks, levels and axes."""
        # Lists, because a live chart is made every other second, and pandas takes five times as long.
        columns = [rows[name].tolist() for name in rows.columns]
        records = [dict(zip(rows.columns, values, strict=True)) for values in zip(*columns, strict=True)]
        if self.kinds:  # others have no columns here
            records = [row for row in records if row["kind"] in ("point", *self.kinds)]
        of = _grouped(records, lambda row: row["kind"] if self.kinds else "point")
        lines = [*self._guides(of["guide"]), *self._named(of["point"]), *self._past(of["past"])]
        if not lines:
            return {}
        levels: list[Content] = [
            {"x": None, "y": level.value, "label": level.label, "short": level.label.split(" (")[0]}
            | {"dash": LEVEL_DASH, "below": level.below, "band": level.band}
            for level in self.levels
        ]
        for row in of["common"]:
            words = {"label": row["note"], "short": row["label"]}
            place = {"x": short(row[self.x.field]), "y": None, "dash": COMMON_DASH}
            levels.append(place | words | {"below": False, "band": None})
        axes = {"x": self.x.content(), "y": self.y.content()}
        marks, ends = self._marks(of["mark"]), self._ends(of["end"])
        return axes | {"lines": lines[:MAX_CURVES], "marks": marks, "ends": ends, "levels": levels}

    def line_content(self, points: Sequence[tuple[float, ...]] = (), **look: Any) -> Content:
        """Return a line; without points: the look of a line that a page's script draws.

        points : (x, y), or (x, y, low, high) with a band
        look : properties of this line, such as its name and colour
        """
        points = [*points[: -1 : max(1, -(-len(points) // MAX_CURVE_POINTS))], *points[-1:]]
        same: Content = {"name": "", "dash": (), "shape": "", "step": self.line == "step-after"}
        same |= {"width": self.line_width, "band_opacity": BAND_OPACITY}
        band = [(x, low, high) for x, _, low, high in points] if points and len(points[0]) == 4 else []
        return same | {"points": [point[:2] for point in points], "band": band} | look

    def _named(self, rows: Rows) -> Iterable[Content]:
        heading = self.legend.title if self.legend is not None else ""
        of = _grouped(rows, lambda row: row[self.series] if self.series else "")
        for style in self.styles:
            own = of[style.name] if self.series else rows
            if points := self._places(own, (self.band or ()) if self.spread == "area" else ()):
                dash, shape = style.dash if self.line else (), style.shape if self.points else ""
                name = f"{heading} {style.name}".strip()
                yield self.line_content(points, name=name, colour=style.colour, dash=dash, shape=shape)

    def _past(self, rows: Rows) -> Iterable[Content]:
        dash_of = {style.name: style.dash for style in self.styles}
        for (name, _), piece in _grouped(rows, lambda row: (row[self.series], row["change"])).items():
            if points := self._places(piece):
                yield self.line_content(points, colour=GREY, dash=dash_of[name], width=PAST_WIDTH)

    def _guides(self, rows: Rows) -> Iterable[Content]:
        for guide in _grouped(rows, lambda row: row["guide"]).values():
            first = guide[0]
            dash = (1, 0) if first["solid"] else LEVEL_DASH
            yield self.line_content(
                self._places(guide, in_order=True), colour=first["tone"], dash=dash, width=1
            )

    def _marks(self, rows: Rows) -> list[Content]:
        tones, marks = {style.name: style.colour for style in self.styles}, []
        for row in rows:
            x, y, name = row[self.x.field], row[self.y.field], row[self.series] if self.series else ""
            if self.x.shows(x) and self.y.shows(y):
                colour = tones.get(name, GREY)
                marks.append({"x": short(x), "y": short(y), "colour": colour, "shape": row["mark"]})
        return marks

    def _ends(self, rows: Rows) -> list[Content]:
        tones = {style.name: style.colour for style in self.styles}
        return [
            {"x": short(row[self.x.field]), "y": short(row[self.y.field]), "at": short(row["label_y"])}
            | {
                "label": row["label"],
                "narrow": row["narrow"],
                "colour": row["tone"] or tones[row[self.series]],
            }
            for row in rows
            if self.x.shows(row[self.x.field]) and self.y.shows(row[self.y.field])
        ]

    def _places(
        self, rows: Rows, band: Sequence[str] = (), in_order: bool = False
    ) -> list[tuple[float, ...]]:
        """Return the points in these rows, in joining order, perhaps with both ends of their band."""
        columns = [self.x.field, self.y.field, *band]
        places = [
            tuple(short(value) for value in (x, y, *(end if self.y.shows(end) else y for end in ends)))
            for x, y, *ends in ([row[name] for name in columns] for row in rows)
            if self.x.shows(x) and self.y.shows(y)
        ]
        return places if in_order or self.order else sorted(places)


def _grouped(rows: Rows, key: Callable[[dict[str, Any]], Any]) -> dict[Any, Rows]:
    """Return the rows by key, in their order; a missing key has none."""
    groups: dict[Any, Rows] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _guide_layer(alt: Any, rows: Any) -> Any:
    layer = rows.mark_line(strokeWidth=1, opacity=0.8, clip=True)
    solid = alt.condition("datum.solid", alt.value([1, 0]), alt.value(list(LEVEL_DASH)))
    # By stroke, because a colour without a scale would separate the legend of colours from the legend of
    # shapes.
    tone = alt.Stroke("tone:N", scale=None)
    return layer.encode(detail="guide:N", order="order:Q", stroke=tone, strokeDash=solid)


def _common_layers(alt: Any, rows: Any) -> list[Any]:
    """Return the layers of the common point: a line, with its label on one side, above the plot."""
    layers = [rows.mark_rule(color=GREY, strokeWidth=1, strokeDash=list(COMMON_DASH))]
    # A chart is fitted into its container once, perhaps before the label arrives: this point reserves room.
    room = alt.Chart(alt.InlineData([{}])).mark_point(opacity=0, size=30, tooltip=None)
    layers.append(room.encode(x=alt.value(0), y=alt.value(3 - ROOM_ABOVE)))
    for side, align, dx in (("left", "right", -5), ("right", "left", 5)):
        words = rows.transform_filter(f"datum.side == '{side}'")
        words = words.transform_calculate(words=f"width < {MIN_WIDTH} ? datum.label : datum.note")
        words = words.mark_text(align=align, baseline="bottom", dx=dx, dy=-3, style="note")
        layers.append(words.encode(y=alt.value(0), text="words:N"))
    return layers


def _end_layers(alt: Any, ends: Any, tone: Any) -> list[Any]:
    """Return the layers of the names at the ends, each connected to its curve by dots."""
    tips = tooltips(alt, [("note", "Curve", "")])
    leader = ends.mark_rule(x2Offset=LEADER_PIXELS - 4, strokeWidth=1, strokeDash=[1, 3], opacity=0.8)
    leader = leader.encode(x2=alt.value("width"), y2="label_y:Q", color=tone, tooltip=tips)
    label = ends.mark_text(align="left", dx=LEADER_PIXELS, limit=MAX_LABEL_PIXELS, style="note")
    label = label.encode(x=alt.value("width"), y="label_y:Q", text="words:N", tooltip=tips)
    label = label.transform_calculate(words=f"{PHONE} ? datum.narrow : datum.label")
    hidden = f"{PHONE} && !datum.narrow"
    leader = leader.encode(opacity=alt.condition(hidden, alt.value(0), alt.value(0.8)))
    return [leader, label]


def _level_layers(alt: Any, level: Level) -> list[Any]:
    low, high = level.band or (level.value, level.value)
    row = {"y": level.value, "label": level.label, "low": low, "high": high}
    base = alt.Chart(alt.InlineData([row]))
    layers = (
        []
        if level.band is None
        else [base.mark_rect(opacity=0.15, color=GREY).encode(y="low:Q", y2="high:Q")]
    )
    layers.append(base.mark_rule(strokeDash=list(LEVEL_DASH), color=GREY).encode(y="y:Q"))
    if level.label:
        dy = 8 if level.below else -7
        words = base.mark_text(align="left", dx=4, dy=dy, color=alt.ExprRef("ink"), style="note")
        words = words.transform_calculate(words=f"{PHONE} ? split(datum.label, ' (')[0] : datum.label")
        layers.append(words.encode(x=alt.value(0), y="y:Q", text="words:N"))
    return layers
