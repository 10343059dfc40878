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
from rbmviz.session import Frames, Lesson, Race, SamplingRun, SamplingSnapshot, TrainingPlan, TrainingSnapshot
from rbmviz.trainers import list_trainers

# One colour for one algorithm, everywhere; what a trainer and a sampler share has one colour, too. After
# Okabe and Ito's palette: told apart by colour-blind eyes, on white and on black.
KNOWN = {
    "gibbs": "#0088cc",
    "cd": "#0088cc",
    "rates_fpcd": "#e8590c",
    "fpcd": "#e8590c",
    "rates_herding": "#0ca678",
    "herding": "#0ca678",
    "sample_penalization": "#c678b4",
    "pcd": "#7a6ff0",
    "pop_cd": "#d6336c",
    "ucd": "#5c940d",
    "pt": "#a0522d",
    "exact": "#808080",
}
GREY = "#808080"
MORE = ("#d9a400", "#845ef7", "#8c8c8c", "#b08968")


def colour(name: str) -> str:
    """Return the colour of a sampler or trainer."""
    others = [other for other in (*list_samplers(), *list_trainers()) if other not in KNOWN]
    return KNOWN.get(name) or MORE[others.index(name) % len(MORE)]


def about(algorithm: Any) -> str:
    """Return a paragraph on an algorithm, with its source."""
    cls = type(algorithm)
    return f"{' '.join((cls.__doc__ or '').split())} Source: {cls.paper}."  # type: ignore[attr-defined]


def titles(algorithms: Sequence[Any], origins: Sequence[str] = ()) -> list[str]:
    """Name algorithms so that no two names are alike: the knobs in which namesakes differ are added.

    origins : where each of them began, "" for the usual place
    """
    named = []
    for algorithm, origin in zip(algorithms, origins or [""] * len(algorithms), strict=True):
        namesakes = [other for other in algorithms if other.name == algorithm.name]
        differing = [
            knob for knob in knobs_of(algorithm) if len({values_of(other)[knob] for other in namesakes}) > 1
        ]
        knobs = ", ".join(f"{knob} {_short(values_of(algorithm)[knob])}" for knob in differing)
        named.append((f"{algorithm.label} ({knobs})" if knobs else algorithm.label) + origin)
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


def curve_rows(named: Iterable[tuple[str, SamplingSnapshot]]) -> list[dict[str, Any]]:
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


def curves_csv(named: Iterable[tuple[str, SamplingSnapshot]]) -> bytes:
    """Return the ISL curves as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CURVE_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve_rows(named))
    return text.getvalue().encode()


def isl_chart(
    named: Sequence[tuple[str, SamplingSnapshot]], reference: Reference | None, against: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the data and the Vega-Lite spec of the ISL curves; ``against`` is "n" or "seconds".

    The spec changes only when panels, names or the axis change, so that a live chart keeps its zoom.
    """
    rows = [row for row in curve_rows(named) if row["n"] >= 5 and row["seconds"] > 0]
    data = pd.DataFrame(rows, columns=list(CURVE_COLUMNS))
    names = [name for name, _ in named]
    colours = [colour(snapshot.algorithm.name) for _, snapshot in named]
    dashes = _dashes([snapshot.algorithm.name for _, snapshot in named])
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
    return data, _live_spec(layers, 300)


def _live_spec(layers: list[Any], height: int) -> dict[str, Any]:
    """Return the spec of layers whose data "curves" are given beside it; other data stay inside."""
    spec = alt.layer(*layers).properties(height=height).to_dict()
    inline = spec.pop("datasets", {})
    spec.pop("data", None)  # Altair hoists data that all layers share
    for layer in spec["layer"]:
        source = layer.pop("data", {}).get("name")
        if source in inline:
            layer["data"] = {"values": inline[source]}
    spec["usermeta"] = {"embedOptions": {"renderer": "canvas", "actions": False}}
    return spec


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
    named: Iterable[tuple[str, Frames]], shape: tuple[int, int], cells: int, pixels: str
) -> bytes:
    """Return all panels side by side, each under its name, as PNG."""
    from PIL import ImageDraw, ImageFont

    pictures = [(name, mosaic(frames, shape, cells, pixels)) for name, frames in named]
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
        first, v = panel.worker.read(SamplingRun.kept)
        arrays[f"v{i}"] = v
        log = panel.worker.read(SamplingRun.record).as_json()
        panels.append({"array": f"v{i}", "name": name, "first": first, **log})
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


# Training


def origin_text(plan: TrainingPlan) -> str:
    """Say where a training began: "", `` from CD at 1,200``, `` from mnist_cd1``, or `` resumed``."""
    if plan.origin is None:
        return " resumed" if plan.checkpoint else ""
    at = f" at {plan.origin.update:,}" if plan.origin.update else ""
    return f" from {plan.origin.path[-1][0]}{at}"


def likelihood_rows(named: Iterable[tuple[str, TrainingSnapshot]], part: str) -> list[dict[str, Any]]:
    """Return all points of the log-likelihood curves: mean, and the band around it.

    The band is the range of the replicates; of a single one, two standard errors of AIS.
    """
    rows = []
    for name, snapshot in named:
        for point in snapshot.likelihoods:
            values = getattr(point, part)
            if np.isfinite(values).all():
                spread = 2 * point.std_error if len(values) == 1 else 0 * values
                band = {"low": (values - spread).min(), "high": (values + spread).max()}
                rows.append(_point(name, point, values) | band)
    return rows


def statistic_rows(named: Iterable[tuple[str, TrainingSnapshot]], statistic: str) -> list[dict[str, Any]]:
    """Return all points of the curves of one statistic, with the range of the replicates."""
    rows = []
    for name, snapshot in named:
        for point in snapshot.traces:
            values = point.stats.get(statistic)
            if values is not None and np.isfinite(values).all():
                rows.append(_point(name, point, values) | {"low": values.min(), "high": values.max()})
    return rows


def _point(name: str, point: Any, values: np.ndarray) -> dict[str, Any]:
    return {"trainer": name, "update": point.update, "seconds": point.seconds, "value": values.mean()}


def training_csv(named: Sequence[tuple[str, TrainingSnapshot]]) -> bytes:
    """Return every curve of every replicate as CSV, one value a row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("trainer", "replicate", "update", "seconds", "quantity", "value", "std_error", "ess"))
    for name, snapshot in named:
        for point in snapshot.likelihoods:
            for part in ("train", "test"):
                for r, value in enumerate(getattr(point, part)):
                    quantity = f"log_likelihood_{part}"
                    estimate = point.std_error[r], point.ess[r]
                    writer.writerow((name, r, point.update, point.seconds, quantity, value, *estimate))
        for trace in snapshot.traces:
            for quantity, values in trace.stats.items():
                for r, value in enumerate(values):
                    writer.writerow((name, r, trace.update, trace.seconds, quantity, value, "", ""))
    return text.getvalue().encode()


def training_snippet(lesson: Lesson, trainers: Sequence[Any]) -> str:
    """Return Python code that repeats the trainings of the page, as long as no knob was turned meanwhile."""
    lines = ["import rbmviz", "", f'data = rbmviz.load_dataset("{lesson.dataset.name}")']
    for i, trainer in enumerate(trainers):
        knobs = "".join(f", {name}={value!r}" for name, value in values_of(trainer).items())
        lines += [
            "",
            f'trainer = rbmviz.make_trainer("{trainer.name}"{knobs})',
            f"training = rbmviz.train(data, trainer, n_hidden={lesson.n_hidden}, iterations=10_000, "
            f"seed={lesson.seed})",
            f"for progress_{i} in training:",
            f"    print(progress_{i}.update, rbmviz.metrics.log_likelihood(progress_{i}.rbm, data.train))",
        ]
    return "\n".join(lines)


TRAINING_COLUMNS = ("trainer", "update", "seconds", "value", "low", "high")


def training_chart(
    rows: list[dict[str, Any]],
    algorithms: Sequence[tuple[str, str]],
    against: str,
    title: str,
    best: float | None = None,
    log: bool = False,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the data and the Vega-Lite spec of curves with bands, one colour a trainer.

    algorithms : (name of the panel, registered name of its trainer), in order
    against : "update" or "seconds"
    best : a line that no curve can pass
    """
    if log:
        rows = [row for row in rows if row["low"] > 0]
    names = [name for name, _ in algorithms]
    x = alt.X(f"{against}:Q", axis=alt.Axis(format="~s", tickCount=8, grid=False))
    x = x.title("Updates" if against == "update" else "Seconds in the trainer")
    colours = alt.Scale(domain=names, range=[colour(trainer) for _, trainer in algorithms])
    dashes = alt.Scale(domain=names, range=_dashes([trainer for _, trainer in algorithms]))
    y = alt.Scale(type="log") if log else alt.Scale(zero=False)
    base = alt.Chart(alt.NamedData("curves"))
    legend = alt.Legend(
        orient="top", symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3, labelLimit=260, columns=4
    )
    band = base.mark_area(opacity=0.2, clip=True).encode(
        x=x,
        y=alt.Y("low:Q", title=title, scale=y),
        y2="high:Q",
        color=alt.Color("trainer:N", title=None, sort=names, scale=colours).legend(legend),
    )
    line = base.mark_line(strokeWidth=2, clip=True).encode(
        x=x,
        y=alt.Y("value:Q", title=title, scale=y),
        color=alt.Color("trainer:N", title=None, sort=names, scale=colours).legend(legend),
        strokeDash=alt.StrokeDash("trainer:N", title=None, sort=names, scale=dashes),
        tooltip=[
            alt.Tooltip("trainer:N", title="Trainer"),
            alt.Tooltip("update:Q", title="Updates", format=","),
            alt.Tooltip("value:Q", title=title, format=".4~g"),
            alt.Tooltip("low:Q", title="Lowest", format=".4~g"),
            alt.Tooltip("high:Q", title="Highest", format=".4~g"),
            alt.Tooltip("seconds:Q", title="Seconds in the trainer", format=".2f"),
        ],
    )
    layers: list[Any] = [band, line]
    if best is not None:
        limit = alt.Chart(alt.InlineData([{"value": best, "label": "the data themselves"}]))
        layers += [
            limit.mark_rule(strokeDash=[4, 4], color=GREY).encode(y="value:Q"),
            limit.mark_text(align="left", dx=4, dy=-7, color=GREY).encode(
                x=alt.value(0), y="value:Q", text="label:N"
            ),
        ]
    return pd.DataFrame(rows, columns=list(TRAINING_COLUMNS)), _live_spec(layers, 280)
