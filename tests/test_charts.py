"""Charts as data: both renderers draw what one description says."""

import json
import re

import pytest
import vl_convert

from rbmviz.charts import Bars, ChartAxis, Curves, Level, styled
from rbmviz.charts.curves import BAND_OPACITY, LEVEL_DASH, LINE_WIDTH
from rbmviz.view.live import Engine
from tests.frames import read_header

X, Y = ChartAxis("x", "Samples", "log"), ChartAxis("y", "Share", form="%", domain=(0, 1))
AB = styled(["a", "b"], ["#111111", "#222222"])


def layers_of(drawing, mark):
    return [layer for layer in drawing.spec()["layer"] if layer["mark"]["type"] == mark]


def test_canvas_draws_only_finite_points():
    points = [("a", 10, 0.123456789), ("a", 1, 2), ("b", 0, 4), ("b", 2.0, float("nan")), ("b", 3, None)]
    rows = [{"kind": "point", "name": name, "x": x, "y": y} for name, x, y in points]
    place = {"kind": "end", "name": "a", "x": 10, "y": 3, "label_y": 3}
    rows.append(place | {"label": "a", "narrow": "", "note": "a", "tone": ""})
    chart = Curves(X, Y, "name", AB, kinds=("end",)).of(rows)
    content = chart.plot.content(chart.rows, "Shares")
    assert (content["label"], content["x"]["title"], content["x"]["scale"]) == ("Shares", "Samples", "log")
    assert (content["y"]["percent"], content["y"]["domain"]) == (True, (0, 1))
    [line] = content["lines"]
    end = {"x": 10.0, "y": 3.0, "at": 3.0, "label": "a", "narrow": "", "colour": "#111111"}
    assert (content["ends"], content["legend"]) == ([end], False)
    assert (line["name"], line["colour"], line["dash"]) == ("a", "#111111", (1, 0))
    assert line["points"] == [(1.0, 2.0), (10.0, 0.12346)]
    json.dumps(content, allow_nan=False)
    assert chart.plot.content(chart.rows[:0], "Nothing yet") is None
    assert list(chart.plot.of([]).rows.columns) == list(chart.rows.columns)
    # A presentation has no names at the ends: rows of a kind that a chart does not draw are left out.
    presented = Curves(X, Y, "name", AB, kinds=("mark",)).of(rows)
    assert presented.plot.content(presented.rows, "")["ends"] == []


def test_both_renderers_have_one_look():
    """Widths, dashes, bands, levels and marks stand in one place."""
    row = {"kind": "point", "name": "b", "x": 1.0, "y": 0.5, "low": 0.4, "high": 0.7}
    rows = [row, row | {"x": 2.0, "low": None}, row | {"kind": "mark", "mark": "diamond", "note": "turned"}]
    rows += [{"kind": "common", "x": 2.0, "note": "compared", "label": "at", "side": "left"}]
    levels = (Level(0.9, "the best"),)
    drawing = Curves(X, Y, "name", AB, kinds=("mark", "common"), band=("low", "high"), levels=levels)
    chart = drawing.of(rows)
    content = drawing.content(chart.rows, "")
    [line] = content["lines"]
    assert (line["band"], line["band_opacity"]) == ([(1.0, 0.4, 0.7), (2.0, 0.5, 0.7)], BAND_OPACITY)
    assert (line["width"], line["dash"]) == (LINE_WIDTH, AB[1].dash)
    own = {key: line[key] for key in ("name", "colour", "dash", "shape", "points", "band")}
    assert drawing.line_content() | own == line  # where a page's script makes the points
    assert read_header(Engine(None).frame({}))["request"]["line"] == json.loads(
        json.dumps(Curves(X, Y).line_content())
    )
    assert content["marks"] == [{"x": 1.0, "y": 0.5, "colour": "#222222", "shape": "diamond"}]
    at, best = content["levels"][::-1]
    assert (best["y"], best["label"], best["dash"]) == (0.9, "the best", LEVEL_DASH)
    assert (at["x"], at["label"]) == (2.0, "compared")
    [drawn] = layers_of(drawing, "line")
    assert drawn["mark"]["strokeWidth"] == LINE_WIDTH
    assert drawn["encoding"]["strokeDash"]["scale"]["range"] == [list(style.dash) for style in AB]
    assert layers_of(drawing, "area")[0]["mark"]["opacity"] == BAND_OPACITY
    assert layers_of(drawing, "rule")[-1]["mark"]["strokeDash"] == list(LEVEL_DASH)


def test_bars_have_sides_and_cells_have_shades():
    names = ("0", "1")
    rows = [
        {"name": "a", "x": i + 0.1, "x2": i + 0.9, "y": share, "y2": 0.0, "chain": "η"}
        for i, share in enumerate((0.25, 0.5))
    ]
    bars = Bars(
        ChartAxis("x", names=names), ChartAxis("y"), "name", AB, pale=("chain", (("ξ", 0.45), ("η", 1.0)))
    )
    content = bars.content(bars.of(rows).rows, "Rejected")
    assert [bar["sides"] for bar in content["bars"]] == [[0.1, 0.9, 0.25, 0], [1.1, 1.9, 0.5, 0]]
    assert (content["x"]["names"], content["bars"][0]["colour"]) == (names, "#111111")
    below = bars.of([rows[0] | {"y2": float("nan")}])
    assert bars.content(below.rows, "") is None
    cells = Bars(ChartAxis("x", names=names), ChartAxis("y", names=names), title="A")
    [cell] = cells.content(cells.of([row | {"share": 0.25} for row in rows[:1]]).rows, "Heat map")["bars"]
    assert (cell["text"], cell["opacity"]) == ("0.25", 0.5)
    assert cells.empty("Heat map")["label"] == "A"


LABELS = {300: "1 2 5 10 20 50 100 200", 8: "1 2 3 4 5 6 7 8", 10**5: "1 10 100 1,000 10,000 100,000"}


@pytest.mark.parametrize("far", LABELS)
def test_a_logarithmic_axis_is_labelled_at_1_2_and_5(far):
    """Or at all ticks within a decade, and at the powers over many."""
    rows = [{"kind": "point", "name": "a", "x": x, "y": 0.5} for x in (1, far)]
    svg = vl_convert.vegalite_to_svg(Curves(X, Y, "name", AB[:1]).of(rows).altair(600).to_dict())
    texts = [text for text in re.findall(r">([^<>]+)</text>", svg) if text.strip()]
    assert texts[: texts.index("Samples")] == LABELS[far].split()
