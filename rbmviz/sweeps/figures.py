"""Draw the scores of a sweep over one or two axes, as SVG or PNG.

Two axes give a map, one axis gives a curve with the spread over seeds; models, samplers and other knobs have
separate panels. Settings tied with the best are marked, and so are those of which it cannot be told yet, and
those whose samples are mostly blank.
The caption describes the sweep.
"""

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from rbmviz.charts import ChartAxis, Curves, Style
from rbmviz.errors import brought_by
from rbmviz.files.origin import digests_in
from rbmviz.sweeps.answer import mark_of, marks_in_words
from rbmviz.sweeps.choose import Choice, ScoredSetting, undirected
from rbmviz.sweeps.measures import measures
from rbmviz.sweeps.plan import SweepPlan

MAX_CAPTION_NAMES = 3
"""Maximum number of digests of one kind in a caption."""

_WIDTH, _HEIGHT = 420, 260
_CAPTION_CHARACTERS = 110


def check_installed() -> None:
    """Raise BadInput unless Altair and vl-convert are installed."""
    with brought_by("figures", "A figure of a sweep"):
        import altair  # noqa: F401
        import vl_convert  # noqa: F401


def provenance(columns: Mapping[str, np.ndarray], command: str) -> str:
    """Return the caption of a figure: version, digests, seeds, and the command that made it.

    columns : table with the columns model, model_digest, data, data_digest, version and seed
    """
    digests = digests_in(columns)

    def named(what: Literal["models", "data"]) -> str:
        texts = [f"{name} {digest}" for name, digest in sorted(digests[what].items())]
        return ", ".join(texts[:MAX_CAPTION_NAMES]) + (", ..." if len(texts) > MAX_CAPTION_NAMES else "")

    seeds, code = np.unique(columns["seed"]).tolist(), sorted(set(columns["version"].tolist()))
    parts = [f"rbmviz {version('rbmviz')}, code {', '.join(code[:MAX_CAPTION_NAMES])}"]
    parts += [
        f"{what} {text}" for what, text in (("model", named("models")), ("data", named("data"))) if text
    ]
    run = seeds == list(range(seeds[0], seeds[-1] + 1))
    parts.append(f"seeds {seeds[0]} to {seeds[-1]}" if run else f"{len(seeds)} seeds from {seeds[0]}")
    return "; ".join([*parts, command])


def draw(choices: Sequence[Choice], plan: SweepPlan, caption: str, form: str) -> bytes:
    """Return ``specification`` as SVG or PNG; BadInput if Altair or vl-convert is not installed."""
    check_installed()
    return rendered(specification(choices, plan, caption), form)


def rendered(spec: Mapping[str, Any], form: str) -> bytes:
    """Render a Vega-Lite specification as SVG, PNG or PDF, depending on ``form``.

    A pixel of the specification is 1/96 inch, and 2 x 2 pixels of a PNG.
    """
    import vl_convert

    # The version of the specification: vl-convert knows 6.1.0 as 6.1.
    vega_lite = ".".join(spec["$schema"].rpartition("/v")[2].removesuffix(".json").split(".")[:2])
    draw = getattr(vl_convert, f"vegalite_to_{form}")
    drawn = draw(json.dumps(spec), vl_version=vega_lite, **({"scale": 2} if form == "png" else {}))
    return drawn.encode() if form == "svg" else drawn


def specification(choices: Sequence[Choice], plan: SweepPlan, caption: str) -> dict[str, Any]:
    """Return a drawing of the scores of all settings as a Vega-Lite specification that includes its data.

    choices : one for each model
    plan : the first two axes along which settings differ are drawn
    caption : text below the drawing, see ``provenance``
    """
    import altair

    rows = [_row(setting) for choice in choices for setting in choice.settings]
    differing = {name for row in rows for name in row["knobs"]}
    axes = [axis.knob for axis in plan.axes if axis.knob in differing][:2] or ["setting"]
    for row in rows:
        knobs = row.pop("knobs")
        rest = [f"{name} = {_text(value)}" for name, value in knobs.items() if name not in axes]
        row["panel"] = ", ".join([row["algorithm"], *rest])
        row |= {name: knobs[name] for name in axes if name in knobs}
    # A setting without an axis's knob cannot be drawn on that axis, so the subtitle names it.
    apart = [row for row in rows if not all(name in row for name in axes)]
    rows = [row for row in rows if row not in apart] or rows
    by = choices[0].by
    label = measures[by].label if by in measures else by
    chart = _map(altair, rows, axes, label) if len(axes) == 2 else _curve(altair, rows, axes[0], label)
    borders = [
        f"{choice.best.model}: {text}" if len(choices) > 1 else text
        for choice in choices
        for text in choice.border
    ]
    said = [*borders, *_in_words(apart, axes), undirected(by), marks_in_words(*choices)]
    title = altair.TitleParams(
        f"{label} after {_point(choices)}", subtitle=in_lines(filter(None, said)), anchor="start"
    )
    facets = {
        place: channel(f"{name}:N", title=None)
        for place, name, channel in (("column", "panel", altair.Column), ("row", "model", altair.Row))
        if len({row[name] for row in rows}) > 1
    }
    data = altair.Data(values=rows)
    chart = chart.facet(data=data, **facets) if facets else chart.properties(data=data)
    below = altair.Chart(altair.Data(values=[{}])).mark_text(
        align="left", baseline="top", fontSize=8, color="#555555", x=0, y=0, lineBreak="\n"
    )
    lines = in_lines([caption])
    below = below.encode(text=altair.value("\n".join(lines))).properties(width=_WIDTH, height=10 * len(lines))
    whole = altair.vconcat(chart, below).properties(title=title).configure_view(stroke=None)
    return whole.to_dict()


def _row(setting: ScoredSetting) -> dict[str, Any]:
    """Return a setting as a row of the drawing's data."""
    spread = 0.0 if math.isnan(setting.std_dev) else setting.std_dev
    mean = setting.mean if math.isfinite(setting.mean) else None
    return {
        "knobs": dict(setting.knobs),
        "setting": setting.setting,
        "algorithm": setting.setting.partition(":")[0],
        "model": setting.model,
        "mark": mark_of(setting).strip(),
        "mean": mean,
        "lo": None if mean is None else mean - spread,
        "hi": None if mean is None else mean + spread,
    }


def _point(choices: Sequence[Choice]) -> str:
    """Return the point of comparison in words, for each model if the points differ."""
    points = [f"{choice.point:,.6g} {choice.effort}" for choice in choices]
    if len(set(points)) == 1:
        return points[0]
    return ", ".join(f"{text} ({choice.best.model})" for text, choice in zip(points, choices, strict=True))


def _in_words(rows: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[str]:
    """Return a sentence with the score of each setting that lacks the knob of an axis."""
    sentences = []
    for row in rows:
        lacking = " and no ".join(name for name in axes if name not in row)
        on = f" on {row['model']}" if row["model"] else ""
        score = "unknown" if row["mean"] is None else f"{row['mean']:.4g}"
        mark = f" {row['mark']}" if row["mark"] else ""
        sentences.append(f"{row['panel']} has no {lacking}: {score}{on}{mark}.")
    return sentences


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _map(altair: Any, rows: Sequence[Mapping[str, Any]], axes: Sequence[str], label: str) -> Any:
    """Return a map over two axes; each value has its own column or row, so that all cells have one size."""
    across, up = (_order(rows, name) for name in axes)
    x = altair.X(f"{axes[0]}:N", sort=across, axis=altair.Axis(labelAngle=-45, labelExpr=_SHORT))
    y = altair.Y(f"{axes[1]}:N", sort=up[::-1], axis=altair.Axis(labelExpr=_SHORT))
    base = altair.Chart().encode(x=x, y=y)
    colour = altair.Color("mean:Q", title=label, scale=altair.Scale(scheme="viridis", zero=False))
    marks = base.mark_text(fontSize=14, fontWeight="bold", color="white", stroke="black", strokeWidth=0.4)
    return altair.layer(base.mark_rect().encode(color=colour), marks.encode(text="mark:N")).properties(
        width=_WIDTH, height=min(_HEIGHT, 40 * max(len(up), 2))
    )


_SHORT = "isNumber(datum.value) ? format(datum.value, '.4~g') : datum.label"


def _order(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    return sorted(
        {row[name] for row in rows if name in row}, key=lambda value: (isinstance(value, str), value)
    )


def _curve(altair: Any, rows: Sequence[Mapping[str, Any]], axis: str, label: str) -> Any:
    """Return the scores along one axis, with their standard deviation over seeds."""
    values = [value for value in _order(rows, axis) if not isinstance(value, str)]
    numeric = len(values) > 1
    log = numeric and values[0] > 0 and values[-1] >= 8 * values[0]
    curve = Curves(
        ChartAxis(axis, axis, "log" if log else "linear" if numeric else "words", nice=False),
        ChartAxis("mean", label),
        styles=(Style("", "#c2410c"),),
        points=30,
        band=("lo", "hi"),
        spread="rule",
        more=lambda _, points: [points.mark_text(dy=-12, fontSize=14).encode(text="mark:N")],
    )
    return altair.layer(*curve.layers(altair, altair.Chart())).properties(width=_WIDTH, height=_HEIGHT)


def in_lines(texts: Iterable[str]) -> list[str]:
    """Return the texts split into lines of bounded length, at spaces if there are any."""
    return [
        line for text in texts for line in textwrap.wrap(text, _CAPTION_CHARACTERS, break_on_hyphens=False)
    ]
