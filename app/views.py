"""Snapshots to pictures, tables and charts: pure functions, nothing of Streamlit."""

import base64
import csv
import io
import itertools
import json
import math
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from PIL import Image

from rbmviz.knobs import knobs_of, values_of
from rbmviz.registry import samplers, trainers
from rbmviz.samplers import Sampler
from rbmviz.session import (
    Allowance,
    Comparison,
    Frames,
    LandscapeSnapshot,
    SamplingSnapshot,
    TrainingPlan,
    TrainingSetup,
    TrainingSnapshot,
    write_array,
)

EXPORT_ROWS = 4096
"""Samples that are unpacked at once for a download."""

GREY = "#808080"
COUPLING_COLOURS = {"rbm": "#5c940d", "general": "#d08700"}
"""The two couplings; UCD has the colour of the first."""
SPARE_COLOURS = ("#d9a400", "#845ef7", "#8c8c8c", "#b08968")
"""For algorithms that say none."""


def colour(name: str) -> str:
    """Return the colour of a sampler, trainer or coupling.

    Algorithms say theirs: one for what a sampler and a trainer share, after Okabe and Ito's palette, so that
    colour-blind eyes tell them apart on white and on black.
    """
    declared = {other: table[other].colour for table in (trainers, samplers) for other in table}
    others = [other for other in declared if not declared[other]]
    declared |= {other: SPARE_COLOURS[i % len(SPARE_COLOURS)] for i, other in enumerate(others)}
    return (declared | COUPLING_COLOURS)[name]


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
        # Called as its slider is called.
        labels = {knob: knobs_of(algorithm)[knob].label for knob in differing}
        knobs = ", ".join(
            f"{label[0].lower()}{label[1:]} {_short(values_of(algorithm)[knob])}"
            for knob, label in labels.items()
        )
        named.append((f"{algorithm.label} ({knobs})" if knobs else algorithm.label) + origin)
    counts: dict[str, itertools.count[int]] = {}
    return [
        name if named.count(name) == 1 else f"{name} #{next(counts.setdefault(name, itertools.count(1)))}"
        for name in named
    ]


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def legend_columns(entries: int, on_a_phone: int = 1) -> alt.ExprRef:
    """Return how many entries of a legend stand side by side."""
    return alt.ExprRef(f"width < 340 ? {on_a_phone} : {entries}")


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
            ).legend(orient="top", symbolType="stroke", labelLimit=330, columns=legend_columns(2)),
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
    return data, live_spec(layers, 300)


def live_spec(layers: list[Any], height: int, menu: bool = False, **more: Any) -> dict[str, Any]:
    """Return the spec of layers whose data "curves" are given beside it; other data stay inside.

    menu : whether there is one to save the chart
    """
    spec = alt.layer(*layers, **more).properties(height=height).to_dict()
    inline = spec.pop("datasets", {})
    spec.pop("data", None)  # Altair hoists data that all layers share
    for layer in spec["layer"]:
        source = layer.pop("data", {}).get("name")
        if source in inline:
            layer["data"] = {"values": inline[source]}
    actions = {"export": True, "source": False, "compiled": False, "editor": False} if menu else False
    spec["usermeta"] = {"embedOptions": {"renderer": "canvas", "actions": actions}}
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


def samples_npz(comparison: Comparison, names: Sequence[str]) -> bytes:
    """Return the newest samples of every panel and the log that makes them again.

    Arrays ``v0, v1, ...`` uint8 (m, n_visible), one a panel; ``meta`` is a JSON string: for each panel
    its name, the number of its first sample here, and its record (sampler, seed, start, knob changes).
    """
    model, content, panels = comparison.setup.model, io.BytesIO(), []
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for i, (panel, name) in enumerate(zip(comparison.panels, names, strict=True)):
            (first, packed), log = panel.worker.read(lambda run: (run.packed(), run.record()))
            shape = len(packed), model.rbm.n_visible
            # Unpacked they would be hundreds of megabytes: a few thousand rows at a time.
            blocks = (packed[at : at + EXPORT_ROWS] for at in range(0, len(packed), EXPORT_ROWS))
            rows = (np.unpackbits(block, axis=1, count=shape[1]).tobytes() for block in blocks)
            write_array(archive, f"v{i}", np.uint8, shape, rows)
            panels.append({"array": f"v{i}", "name": name, "first": first, **log.as_json()})
        meta = np.array(json.dumps({"model": dict(model.meta), "panels": panels}))
        write_array(archive, "meta", meta.dtype, (), [meta.tobytes()])
    return content.getvalue()


def samples_help(allowance: Allowance, n_visible: int, panels: int) -> str:
    """Say how many samples of a page with so many panels the download holds."""
    return (
        f"The newest {allowance.samples(n_visible, panels):,} samples of every panel (all together keep "
        f"{allowance.n_bytes / 1e6:g} MB), and the log that makes them again (.npz)."
    )


def snippet(model_name: str, samplers: Sequence[Sampler], seed: int, dataset: str | None) -> str:
    """Return Python code that repeats the runs of the page from their first sample."""
    lines = [
        "import rbmviz",
        "from rbmviz.session import SamplingSetup",
        "",
        f'model = rbmviz.load_model("{model_name}")',
    ]
    start = ""
    if dataset is not None:
        lines += [
            f'data = rbmviz.load_dataset("{dataset}")',
            f"starts = SamplingSetup(model, data, seed={seed}).starts",
        ]
        start = ", v0=starts(sampler.n_chains)"
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


def training_snippet(lesson: TrainingSetup, trainers: Sequence[Any]) -> str:
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
    count = alt.Axis(format="~s", tickCount=8, grid=False, labelExpr="datum.value ? datum.label : '0'")
    x = alt.X(f"{against}:Q", axis=count)
    x = x.title("Updates" if against == "update" else "Seconds in the trainer")
    colours = alt.Scale(domain=names, range=[colour(trainer) for _, trainer in algorithms])
    dashes = alt.Scale(domain=names, range=_dashes([trainer for _, trainer in algorithms]))
    y = alt.Scale(type="log") if log else alt.Scale(zero=False)
    base = alt.Chart(alt.NamedData("curves"))
    legend = alt.Legend(
        orient="top",
        symbolType="stroke",
        symbolOpacity=1,
        symbolStrokeWidth=3,
        labelLimit=330,
        columns=legend_columns(4),
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
    return pd.DataFrame(rows, columns=list(TRAINING_COLUMNS)), live_spec(layers, 280)


# The little chain

WALK_COLUMNS = ("sampler", "n", "visits", "moments")


def walk_rows(named: Iterable[tuple[str, LandscapeSnapshot]]) -> list[dict[str, Any]]:
    """Return all points of all walks against the truth."""
    return [{"sampler": name, **point._asdict()} for name, snapshot in named for point in snapshot.curve]


def walk_chart(
    named: Sequence[tuple[str, LandscapeSnapshot]], quantity: str, title: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the data and the spec of one quantity of all walks, with the slopes 1/√t and 1/t as guides.

    quantity : "visits" or "moments"
    """
    rows = [row for row in walk_rows(named) if row[quantity] > 0]
    names = [name for name, _ in named]
    algorithms = [snapshot.algorithm.name for _, snapshot in named]
    # Whole decades: the spec changes rarely, so that a live chart keeps its zoom.
    far = 10 ** math.ceil(math.log10(max([10, *(row["n"] for row in rows)])))
    least = 10 ** math.floor(math.log10(min([0.1, *(row[quantity] for row in rows)])))
    x = alt.X("n:Q", title="Samples (t)", scale=alt.Scale(type="log", nice=False, domain=[1, far]))
    x = x.axis(format="~s", tickCount=8, grid=False)
    y = alt.Y(f"{quantity}:Q", title=title, scale=alt.Scale(type="log", nice=False, domain=[least, 3]))
    y = y.axis(format="~g", tickCount=5)
    colours = alt.Scale(domain=names, range=[colour(name) for name in algorithms])
    dashes = alt.Scale(domain=names, range=_dashes(algorithms))
    legend = alt.Legend(
        orient="top", symbolType="stroke", symbolStrokeWidth=3, labelLimit=330, columns=legend_columns(4)
    )
    walks = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color("sampler:N", title=None, sort=names, scale=colours).legend(legend),
            strokeDash=alt.StrokeDash("sampler:N", title=None, sort=names, scale=dashes),
            tooltip=[
                alt.Tooltip("sampler:N", title="Sampler"),
                alt.Tooltip("n:Q", title="Samples", format=","),
                alt.Tooltip(f"{quantity}:Q", title=title, format=".3g"),
            ],
        )
    )
    ends = [
        {"n": n, quantity: n**-power, "slope": power}
        for power in (0.5, 1.0)
        for n in (1, least ** (-1 / power))
    ]
    guide = alt.Chart(alt.InlineData(ends)).encode(x=x, y=y, detail="slope:N")
    return pd.DataFrame(rows, columns=list(WALK_COLUMNS)), live_spec(
        [walks, guide.mark_line(strokeDash=[4, 4], strokeWidth=1, color=GREY, clip=True)], 280
    )


def walks_csv(named: Sequence[tuple[str, LandscapeSnapshot]], law: np.ndarray) -> bytes:
    """Return every state as CSV: its bits, its probability, and for each panel the visits and the law now."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [f"{name} {what}" for name, _ in named for what in ("visits", "law now")]
    writer.writerow(["state", "model law", *names])
    units = len(law).bit_length() - 1
    for state, p in enumerate(law):
        found = [value for _, shown in named for value in (shown.visits[state], shown.law[state])]
        writer.writerow([f"{state:0{units}b}", p, *found])
    return text.getvalue().encode()


CHAIN_NAMES = ("A", "Ã")
CHAIN_COLOURS = (GREY, colour("sample_penalization"))
"""The chain as it is; with less staying, the colour of sample penalization, which the paper likens to it."""
NUMBERED = 12
"""Largest matrix whose cells show their numbers; a larger one becomes a picture."""


def matrix_chart(A: np.ndarray, names: Sequence[str], title: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the data and the spec of the heat map of a transition matrix; shades go by the square root."""
    n = len(A)
    axes: dict[str, Any] = {"labelAngle": 0, "ticks": False, "domain": False}
    if n > NUMBERED:
        shade = np.rint(255 * np.sqrt(np.minimum(A, 1))).astype(np.uint8)
        colours = np.broadcast_to(np.array([0x70, 0x48, 0xE8], np.uint8), (n, n, 3))
        picture = Image.fromarray(np.dstack([colours, shade]), "RGBA")
        content = io.BytesIO()
        zoom = max(1, 512 // n)
        picture.resize((n * zoom, n * zoom), Image.Resampling.NEAREST).save(content, "PNG")
        url = "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
        chart = (
            alt.Chart(alt.NamedData("curves"), title=title)
            .mark_image(width=300, height=300)
            .encode(url="url:N", x=alt.value(150), y=alt.value(150))
        )
        spec = live_spec([chart], 300, menu=True)
        return pd.DataFrame({"url": [url]}), spec | {"width": 300}
    rows = [
        {"from": names[i], "to": names[j], "p": A[i, j], "row": i, "column": j}
        for i in range(n)
        for j in range(n)
    ]
    x = alt.X("to:N", title="to state", sort=list(names)).axis(orient="top", **axes)
    y = alt.Y("from:N", title="from state", sort=list(names)).axis(**axes)
    base = alt.Chart(alt.NamedData("curves"), title=title).encode(x=x, y=y)
    scale = alt.Scale(type="sqrt", domain=[0, 1], scheme="purples", clamp=True)
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=alt.Color("p:Q", scale=scale, legend=None),
        tooltip=[
            alt.Tooltip("from:N", title="From"),
            alt.Tooltip("to:N", title="To"),
            alt.Tooltip("p:Q", title="Probability", format=".4f"),
        ],
    )
    numbers = base.mark_text(fontSize=12 if n <= 6 else 10).encode(
        text=alt.Text("p:Q", format=".2f"),
        color=alt.condition("datum.p > 0.3", alt.value("white"), alt.value("#333")),
    )
    return pd.DataFrame(rows), live_spec([cells, numbers], 340, menu=True)


def distance_chart(distances: Sequence[np.ndarray], log: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the data and the spec of the distances of A and A~ to the stationary law, step by step."""
    rows = [
        {"chain": chain, "step": t, "distance": value}
        for chain, values in zip(CHAIN_NAMES, distances, strict=True)
        for t, value in enumerate(values)
        if not log or value > 1e-6
    ]
    scale = alt.Scale(type="log", domainMax=1) if log else alt.Scale(domain=[0, 1])
    line = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(strokeWidth=2.5, point=len(distances[0]) <= 100 and alt.OverlayMarkDef(size=18))
        .encode(
            x=alt.X("step:Q", title="Steps").axis(grid=False, tickMinStep=1),
            y=alt.Y("distance:Q", title="Total variation to the stationary law", scale=scale),
            color=_chain_colour(),
            tooltip=[
                alt.Tooltip("chain:N", title="Chain"),
                alt.Tooltip("step:Q", title="Step"),
                alt.Tooltip("distance:Q", title="Distance", format=".4f"),
            ],
        )
    )
    return pd.DataFrame(rows), live_spec([line], 310, menu=True)


def spectrum_chart(values: Sequence[np.ndarray]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the data and the spec of the eigenvalues of A and A~ in the complex plane.

    The ring of each chain goes through its second eigenvalue.
    """
    rows = [
        {"chain": chain, "real": z.real, "imaginary": z.imag, "modulus": abs(z), "which": i + 1}
        for chain, found in zip(CHAIN_NAMES, values, strict=True)
        for i, z in enumerate(found)
    ]
    turn = np.linspace(0, 2 * np.pi, 121)
    rings = [
        {"chain": chain, "real": r * math.cos(a), "imaginary": r * math.sin(a), "order": k}
        for chain, r in (("unit", 1.0), *zip(CHAIN_NAMES, (abs(found[1]) for found in values), strict=True))
        for k, a in enumerate(turn)
    ]
    limits = alt.Scale(domain=[-1.08, 1.08], nice=False)
    x = alt.X("real:Q", title="Real part", scale=limits).axis(grid=False, values=[-1, -0.5, 0, 0.5, 1])
    y = alt.Y("imaginary:Q", title="Imaginary part", scale=limits).axis(grid=False, values=[-1, 0, 1])
    domain, range_ = ["unit", *CHAIN_NAMES], [GREY, *CHAIN_COLOURS]
    ring = (
        alt.Chart(alt.InlineData(rings))
        .mark_line(strokeWidth=1.2, opacity=0.8)
        .encode(
            x=x,
            y=y,
            order="order:Q",
            detail="chain:N",
            color=alt.Color("chain:N", scale=alt.Scale(domain=domain, range=range_), legend=None),
            strokeDash=alt.StrokeDash(
                "chain:N", scale=alt.Scale(domain=domain, range=[[1, 0], [4, 3], [4, 3]]), legend=None
            ),
        )
    )
    points = (
        alt.Chart(alt.NamedData("curves"))
        .mark_point(filled=True, size=90, opacity=0.9)
        .encode(
            x=x,
            y=y,
            color=_chain_colour("circle"),
            tooltip=[
                alt.Tooltip("chain:N", title="Chain"),
                alt.Tooltip("real:Q", title="Real part", format=".4f"),
                alt.Tooltip("imaginary:Q", title="Imaginary part", format=".4f"),
                alt.Tooltip("modulus:Q", title="Modulus", format=".4f"),
            ],
        )
    )
    apart = alt.Resolve(scale=alt.LegendResolveMap(color="independent"))
    return pd.DataFrame(rows), live_spec([ring, points], 366, menu=True, resolve=apart) | {"width": 300}


def _chain_colour(symbol: str = "stroke") -> alt.Color:
    scale = alt.Scale(domain=list(CHAIN_NAMES), range=list(CHAIN_COLOURS))
    return alt.Color("chain:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolType=symbol))


def chain_csv(A: np.ndarray, less: np.ndarray, law: np.ndarray, names: Sequence[str]) -> bytes:
    """Return both matrices and the stationary law as CSV, one row a state and chain."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["chain", "from", *(f"to {name}" for name in names), "stationary"])
    for chain, matrix in zip(("A", "A~"), (A, less), strict=True):
        for name, row, p in zip(names, matrix, law, strict=True):
            writer.writerow([chain, name, *row, p])
    return text.getvalue().encode()
