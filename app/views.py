"""Snapshots to pictures, tables and charts: pure functions, nothing of Streamlit."""

import csv
import io
import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from PIL import Image

from rbmviz.knobs import knobs_of, values_of
from rbmviz.samplers import Sampler, list_samplers
from rbmviz.session import Frames, Race, Snapshot

# One colour for one algorithm, everywhere; the four of the paper first, then in the order of their names.
# Okabe and Ito's palette: told apart by colour-blind eyes, on white and on black.
KNOWN = {
    "gibbs": "#0088cc",
    "rates_fpcd": "#e8590c",
    "rates_herding": "#0ca678",
    "sample_penalization": "#c678b4",
}
GREY = "#808080"
MORE = ("#d9a400", "#7a6ff0", "#8c8c8c", "#a0522d")


def colour(sampler_name: str) -> str:
    """Return the colour of an algorithm."""
    others = [name for name in list_samplers() if name not in KNOWN]
    return KNOWN.get(sampler_name) or MORE[others.index(sampler_name) % len(MORE)]


def about(sampler: type | Sampler) -> str:
    """Return a paragraph on an algorithm, with its source."""
    cls = sampler if isinstance(sampler, type) else type(sampler)
    return f"{' '.join((cls.__doc__ or '').split())} Source: {cls.paper}."  # type: ignore[attr-defined]


def titles(samplers: Sequence[Sampler]) -> list[str]:
    """Name samplers so that no two names are alike: the knobs in which namesakes differ are added."""
    named = []
    for sampler in samplers:
        namesakes = [other for other in samplers if other.name == sampler.name]
        differing = [
            knob for knob in knobs_of(sampler) if len({values_of(other)[knob] for other in namesakes}) > 1
        ]
        knobs = ", ".join(f"{knob} {_short(values_of(sampler)[knob])}" for knob in differing)
        named.append(f"{sampler.label} ({knobs})" if knobs else sampler.label)
    counts: dict[str, itertools.count[int]] = {}
    return [
        name if named.count(name) == 1 else f"{name} #{next(counts.setdefault(name, itertools.count(1)))}"
        for name in named
    ]


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


class Reference(NamedTuple):
    """A horizontal line of the ISL chart."""

    label: str
    isl: float


def curve_rows(named: Iterable[tuple[str, Snapshot]]) -> list[dict[str, Any]]:
    """Return all points of all ISL curves, the newest value of each run at its end."""
    rows = []
    for name, snapshot in named:
        points = list(snapshot.curve)
        if snapshot.newest is not None and (not points or snapshot.newest.n > points[-1].n):
            points.append(snapshot.newest)
        rows += [
            {
                "sampler": name,
                "n": p.n,
                "seconds": p.seconds,
                "isl": p.isl,
                "std_error": p.std_error,
                "beta": p.beta,
            }
            for p in points
        ]
    return rows


CURVE_COLUMNS = ("sampler", "n", "seconds", "isl", "std_error", "beta")


def curves_csv(named: Iterable[tuple[str, Snapshot]]) -> bytes:
    """Return the ISL curves as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CURVE_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve_rows(named))
    return text.getvalue().encode()


def isl_chart(
    named: Sequence[tuple[str, Snapshot]], reference: Reference | None, against: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the data and the Vega-Lite spec of the ISL curves; ``against`` is "n" or "seconds".

    The spec changes only when panels, names or the axis change, so that a live chart keeps its zoom.
    """
    rows = [row for row in curve_rows(named) if row["n"] >= 5 and row["seconds"] > 0]
    data = pd.DataFrame(rows, columns=list(CURVE_COLUMNS))
    names = [name for name, _ in named]
    colours = [colour(snapshot.sampler.name) for _, snapshot in named]
    dashes = _dashes([snapshot.sampler.name for _, snapshot in named])
    scale = alt.Scale(type="log", nice=False)
    axis = alt.Axis(format="~s", tickCount=8, grid=False)
    x = alt.X(f"{against}:Q", scale=scale, axis=axis)
    x = x.title("Samples" if against == "n" else "Seconds in the sampler")
    curves = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(interpolate="monotone", strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y("isl:Q", title="ISL (nats per test example)", scale=alt.Scale(zero=False)),
            color=alt.Color(
                "sampler:N", title=None, sort=names, scale=alt.Scale(domain=names, range=colours)
            ).legend(orient="top", symbolType="stroke", labelLimit=260, columns=2),
            strokeDash=alt.StrokeDash(
                "sampler:N", title=None, sort=names, scale=alt.Scale(domain=names, range=dashes)
            ),
            tooltip=[
                alt.Tooltip("sampler:N", title="Sampler"),
                alt.Tooltip("n:Q", title="Samples", format=","),
                alt.Tooltip("isl:Q", title="ISL (nats)", format=".2f"),
                alt.Tooltip("std_error:Q", title="Standard error", format=".2f"),
                alt.Tooltip("beta:Q", title="Kernel beta", format=".3f"),
                alt.Tooltip("seconds:Q", title="Seconds in the sampler", format=".3f"),
            ],
        )
    )
    layers = [curves]
    if reference is not None:
        line = alt.Chart(alt.InlineData([{"isl": reference.isl, "label": reference.label}]))
        layers += [
            line.mark_rule(strokeDash=[4, 4], color=GREY).encode(y="isl:Q"),
            line.mark_text(align="left", dx=4, dy=-7, color=GREY).encode(
                x=alt.value(0), y="isl:Q", text="label:N"
            ),
        ]
    spec = alt.layer(*layers).properties(height=300).to_dict()
    # The curves are the data given beside the spec; the reference line keeps its own.
    inline = spec.pop("datasets", {})
    for layer in spec["layer"]:
        source = layer.pop("data")["name"]
        if source in inline:
            layer["data"] = {"values": inline[source]}
    spec["usermeta"] = {"embedOptions": {"renderer": "canvas", "actions": False}}
    return data, spec


def _dashes(algorithms: Sequence[str]) -> list[list[int]]:
    """Namesakes share a colour; the second is dashed, the third dotted."""
    styles = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]
    seen: dict[str, int] = {}
    dashes = []
    for name in algorithms:
        seen[name] = seen.get(name, -1) + 1
        dashes.append(styles[seen[name] % len(styles)])
    return dashes


def mosaic(frames: Frames, shape: tuple[int, int], cells: int, pixels: str, zoom: int = 2) -> Image.Image:
    """Return the newest cells x cells samples as a picture, oldest first, black on white.

    pixels : "binary" or "mean"
    """
    if pixels == "mean":
        rows = frames.p
    else:
        rows = 255 * np.unpackbits(frames.v, axis=1, count=frames.n_visible)
    rows = rows[-cells * cells :]
    height, width = shape
    sheet = np.zeros((cells * cells, height * width), np.uint8)
    sheet[: len(rows), : rows.shape[1]] = rows
    tiles = np.pad(sheet.reshape(cells, cells, height, width), ((0, 0), (0, 0), (0, 1), (0, 1)))
    picture = tiles.swapaxes(1, 2).reshape(cells * (height + 1), cells * (width + 1))[:-1, :-1]
    return Image.fromarray(255 - picture.repeat(zoom, axis=0).repeat(zoom, axis=1))


def mosaics_png(
    named: Iterable[tuple[str, Snapshot]], shape: tuple[int, int], cells: int, pixels: str
) -> bytes:
    """Return all panels side by side, each under its name, as PNG."""
    from PIL import ImageDraw, ImageFont

    pictures = [(name, mosaic(snapshot.frames, shape, cells, pixels)) for name, snapshot in named]
    gap, header = 16, 30
    width = gap + sum(picture.width + gap for _, picture in pictures)
    height = header + max((picture.height for _, picture in pictures), default=0) + gap
    sheet = Image.new("L", (width, height), 255)
    draw, x = ImageDraw.Draw(sheet), gap
    for name, picture in pictures:
        draw.text((x, 8), name, fill=0, font=ImageFont.load_default(15))
        sheet.paste(picture, (x, header))
        x += picture.width + gap
    content = io.BytesIO()
    sheet.save(content, "PNG", optimize=True)
    return content.getvalue()


def samples_npz(race: Race, names: Sequence[str]) -> bytes:
    """Return the newest samples of every panel and the log that makes them again.

    Arrays ``v0, v1, ...`` uint8 (m, n_visible), one a panel; ``meta`` is a JSON string: for each panel
    its name, the number of its first sample here, and its record (sampler, seed, start, knob changes).
    """
    arrays: dict[str, Any] = {}
    panels = []
    for i, (panel, name) in enumerate(zip(race.panels, names, strict=True)):
        first, v = panel.worker.kept()
        arrays[f"v{i}"] = v
        panels.append({"array": f"v{i}", "name": name, "first": first, **panel.worker.record().as_json()})
    arrays["meta"] = json.dumps({"model": dict(race.setting.model.meta), "panels": panels})
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def snippet(model_name: str, samplers: Sequence[Sampler], seed: int, dataset: str | None) -> str:
    """Return Python code that repeats the runs of the page from their first sample."""
    lines = [
        "import rbmviz",
        "from rbmviz.session import Setting",
        "",
        f'model = rbmviz.load_model("{model_name}")',
    ]
    start = ""
    if dataset is not None:
        lines += [
            f'data = rbmviz.load_dataset("{dataset}")',
            f"start = Setting(model, data, seed={seed}).first_state()",
        ]
        start = ", v0=start"
    lines.append("")
    for i, sampler in enumerate(samplers):
        knobs = "".join(f", {name}={value!r}" for name, value in values_of(sampler).items())
        lines.append(f'sampler = rbmviz.make_sampler("{sampler.name}"{knobs})')
        lines.append(f"samples_{i} = rbmviz.sample(model, sampler, n=10_000, seed={seed}{start})")
    return "\n".join(lines)
