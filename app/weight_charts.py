"""The charts and files of the Weights page: pure functions, nothing of Streamlit."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from app.views import GREY, _dashes, colour, live_spec
from rbmviz.session import Comparison, StudiedModel, StudySnapshot, WeightRun, WeightSetup, WeightSnapshot
from rbmviz.session.estimator_study import ESTIMATORS
from rbmviz.session.importance_weights import TILES
from rbmviz.trainers.pop_cd import PopCD

Named = Sequence[tuple[str, WeightSnapshot]]

PINK = colour("pop_cd")
STEPS = ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#d9c400", "#ef9b20", "#d1495b")
"""Colours of numbers that grow, dark to bright; told apart on white and on black by their hue."""


def population_titles(algorithms: Sequence[PopCD]) -> list[str]:
    """Name populations by sweeps and proposal, and by what else tells them apart."""
    sizes = {algorithm.n_chains for algorithm in algorithms}
    names = []
    for algorithm in algorithms:
        name = f"pop-CD-{algorithm.k}"
        if algorithm.proposal == "mixture":
            name += f", mixture {algorithm.mixture}"
        elif algorithm.proposal != "visible":
            name += f", {algorithm.proposal}"
        names.append(name + (f", {algorithm.n_chains or 100:,} samples" if len(sizes) > 1 else ""))
    return [
        name if names.count(name) == 1 else f"{name} #{names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def _scales(named: Named, more: Sequence[tuple[str, str]] = ()) -> tuple[alt.Color, alt.StrokeDash]:
    """Return colour and dash of each panel; ``more`` are reference lines with their colours."""
    names = [name for name, _ in named]
    dashes = alt.Scale(
        domain=[*names, *(name for name, _ in more)],
        range=[*_dashes(["pop_cd"] * len(named)), *[[2, 3]] * len(more)],
    )
    # Below the chart and in one column: it is part of the picture that is saved, and fits a phone.
    legend = alt.Legend(
        orient="bottom",
        columns=1,
        symbolType="stroke",
        symbolStrokeWidth=2.5,
        symbolSize=500,
        symbolOpacity=1,
    )
    colours = alt.Scale(domain=dashes.domain, range=[PINK] * len(names) + [tone for _, tone in more])
    return (
        alt.Color("panel:N", title=None, sort=dashes.domain, scale=colours).legend(legend),
        alt.StrokeDash("panel:N", title=None, sort=dashes.domain, scale=dashes),
    )


def _tall(lines: int) -> int:
    """Return the height of a chart with its legend of so many lines, in pixels."""
    return 270 + 22 * lines


EQUAL = ("all weights equal (CD)", colour("cd"))


def share_rows(named: Named) -> list[dict[str, Any]]:
    """Return the points of the Lorenz curves, from the heavy end."""
    return [
        {"panel": name, "samples": x, "held": y}
        for name, snapshot in named
        if snapshot.summary is not None
        for x, y in zip(snapshot.summary.samples, snapshot.summary.held, strict=True)
    ]


def shares_chart(named: Named) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return data and spec: share of all weight that the heaviest samples hold."""
    rows = share_rows(named)
    least = min((row["samples"] for row in rows), default=0.01)
    rows += [{"panel": EQUAL[0], "samples": x, "held": x} for x in np.geomspace(least, 1, 40)]
    tone, dash = _scales(named, [EQUAL])
    curves = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "samples:Q",
                title="The heaviest so many of all samples",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~%", tickCount=5, grid=False),
            ),
            y=alt.Y(
                "held:Q",
                title="hold so much of the weight",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=tone,
            strokeDash=dash,
            tooltip=[
                alt.Tooltip("panel:N", title="Population"),
                alt.Tooltip("samples:Q", title="The heaviest", format=".3~%"),
                alt.Tooltip("held:Q", title="hold", format=".1%"),
            ],
        )
    )
    return pd.DataFrame(rows, columns=["panel", "samples", "held"]), live_spec(
        [curves], _tall(len(named) + 1), menu=True
    )


def size_rows(named: Named) -> list[dict[str, Any]]:
    """Return effective sample sizes by batch size, with two standard errors, where two batches tell."""
    return [
        {
            "panel": name,
            "size": size.size,
            "ess": size.ess,
            "share": size.ess / size.size,
            "low": max(size.ess - 2 * size.std_error, 1.0) / size.size,
            "high": min(size.ess + 2 * size.std_error, size.size) / size.size,
            "batches": size.batches,
        }
        for name, snapshot in named
        for size in (snapshot.summary.sizes if snapshot.summary else ())
        if size.batches > 1
    ]


SIZE_COLUMNS = ("panel", "size", "ess", "share", "low", "high", "batches")


def sizes_chart(named: Named) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return data and spec: effective share of a batch against batch size."""
    rows = size_rows(named)
    most = max((row["size"] for row in rows), default=128)
    rows += [{"panel": EQUAL[0], "size": x, "ess": x, "share": 1, "low": 1, "high": 1} for x in (1, most)]
    tone, dash = _scales(named, [EQUAL])
    title, scale, axis = "Effective share of the batch", alt.Scale(domain=[0, 1]), alt.Axis(format="%")
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X(
            "size:Q",
            title="Samples in a batch",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(format="~s", tickCount=5, grid=False),
        ),
        color=tone,
    )
    band = base.mark_area(opacity=0.15).encode(
        y=alt.Y("low:Q", title=title, scale=scale, axis=axis), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("share:Q", title=title, scale=scale),
        strokeDash=dash,
        tooltip=[
            alt.Tooltip("panel:N", title="Population"),
            alt.Tooltip("size:Q", title="Samples in a batch", format=","),
            alt.Tooltip("ess:Q", title="are worth", format=".4~g"),
            alt.Tooltip("share:Q", title="Effective share", format=".1%"),
            alt.Tooltip("batches:Q", title="Batches", format=","),
        ],
    )
    return pd.DataFrame(rows, columns=list(SIZE_COLUMNS)), live_spec(
        [band, line], _tall(len(named) + 1), menu=True
    )


def estimate_rows(named: Named) -> list[dict[str, Any]]:
    """Return the estimates of log Z with bands of two standard errors."""
    rows = []
    for name, snapshot in named:
        points = list(snapshot.estimates)
        if snapshot.newest is not None and points and snapshot.newest.n > points[-1].n:
            points.append(snapshot.newest)
        rows += [
            {
                "panel": name,
                "n": point.n,
                "log_z": point.log_z,
                "std_error": point.std_error,
                "low": point.log_z - 2 * np.nan_to_num(point.std_error),
                "high": point.log_z + 2 * np.nan_to_num(point.std_error),
            }
            for point in points
        ]
    return rows


def log_z_chart(named: Named) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return data and spec: log of the mean weight against the number of weights, beside the truth."""
    rows = estimate_rows(named)
    tone, dash = _scales(named)
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X(
            "n:Q",
            title="Samples weighed",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(format="~s", tickCount=5, grid=False),
        ),
        color=tone,
    )
    title, y = "log Z (nats)", alt.Scale(zero=False)
    layers: list[Any] = [
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=title, scale=y), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(
            y=alt.Y("log_z:Q", title=title, scale=y),
            strokeDash=dash,
            tooltip=[
                alt.Tooltip("panel:N", title="Population"),
                alt.Tooltip("n:Q", title="Samples", format=","),
                alt.Tooltip("log_z:Q", title="log Z, estimated", format=".3f"),
                alt.Tooltip("std_error:Q", title="Standard error", format=".3f"),
            ],
        ),
    ]
    truth = next((snapshot.truth for _, snapshot in named if snapshot.truth is not None), None)
    if truth is not None:
        label = "log Z, exact" if truth.method == "exact" else "log Z by AIS, ± 2 errors"
        low, high = truth.log_z - 2 * truth.std_error, truth.log_z + 2 * truth.std_error
        found = alt.Chart(alt.InlineData([{"value": truth.log_z, "low": low, "high": high, "label": label}]))
        layers += [
            found.mark_rect(opacity=0.15, color=GREY).encode(y="low:Q", y2="high:Q"),
            found.mark_rule(strokeDash=[4, 4], color=GREY).encode(y="value:Q"),
            found.mark_text(align="left", dx=4, dy=-7, color=GREY).encode(
                x=alt.value(0), y="value:Q", text="label:N"
            ),
        ]
    return (
        pd.DataFrame(rows, columns=["panel", "n", "log_z", "std_error", "low", "high"]),
        live_spec(layers, _tall(len(named)), menu=True),
    )


# Models that grow

SHAPES = {
    "CD-1": "circle",
    "CD-10": "square",
    "pop-CD-1": "circle",
    "pop-CD-10": "square",
    "pop-CD-1, joint": "triangle-up",
    "pop-CD-1, mixture": "diamond",
    "pop-CD-1, LOO": "cross",
    "PCD-1": "circle",
    "UCD": "circle",
    "PT": "circle",
}


def _estimator_legend(labels: Iterable[str] = ESTIMATORS) -> alt.Legend:
    return alt.Legend(orient="bottom", columns=2, symbolOpacity=1, symbolSize=60, values=list(labels))


def _estimators() -> tuple[alt.Scale, alt.Scale]:
    labels = list(ESTIMATORS)
    return (
        alt.Scale(domain=labels, range=[colour(trainer) for trainer, _ in ESTIMATORS.values()]),
        alt.Scale(domain=labels, range=[SHAPES[label] for label in labels]),
    )


def quality_rows(models: Iterable[StudiedModel]) -> list[dict[str, Any]]:
    """Return bias and variance of every estimator on every model.

    ``seen``: whether the bias is more than two standard errors from none; else the point is what the noise of
    finitely many estimates leaves, and sinks as they come in.
    """
    rows = []
    for model in models:
        for label, found in model.qualities.items():
            rows.append(
                {
                    "estimator": label,
                    "hidden": model.n_hidden,
                    "bias": found.bias,
                    "low": max(found.bias - 2 * found.std_error, found.bias / 10),
                    "high": found.bias + 2 * found.std_error,
                    "corrected": found.bias_corrected,
                    "std_error": found.std_error,
                    "variance": found.variance,
                    "estimates": found.replications,
                    "seen": found.bias_corrected > 2 * found.std_error,
                }
            )
    return rows


QUALITY_COLUMNS = (
    "estimator",
    "hidden",
    "bias",
    "low",
    "high",
    "corrected",
    "std_error",
    "variance",
    "estimates",
    "seen",
)

TOOLTIP = [
    alt.Tooltip("estimator:N", title="Estimator"),
    alt.Tooltip("hidden:Q", title="Hidden units"),
    alt.Tooltip("bias:Q", title="Bias, squared, a parameter", format=".2e"),
    alt.Tooltip("corrected:Q", title="without its noise", format=".2e"),
    alt.Tooltip("std_error:Q", title="Standard error", format=".1e"),
    alt.Tooltip("variance:Q", title="Variance, a parameter", format=".2e"),
    alt.Tooltip("estimates:Q", title="Estimates", format=","),
]


def plane_chart(models: Iterable[StudiedModel]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return data and spec: bias against variance, a trail of growing points for each estimator."""
    colours, shapes = _estimators()
    log = alt.Scale(type="log", nice=False)
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X(
            "variance:Q",
            title="Variance (squared, a parameter)",
            scale=log,
            axis=alt.Axis(format="~g", tickCount=6, grid=False),
        ),
        color=alt.Color("estimator:N", title=None, sort=colours.domain, scale=colours).legend(
            _estimator_legend()
        ),
    )
    y = alt.Y(
        "bias:Q",
        title="Bias (squared, a parameter)",
        scale=log,
        axis=alt.Axis(format="~g", tickCount=6, grid=False),
    )
    layers = [
        base.mark_line(strokeWidth=1, opacity=0.35).encode(y=y, detail="estimator:N", order="hidden:Q"),
        base.mark_rule(opacity=0.3).encode(y=alt.Y("low:Q", scale=log), y2="high:Q"),
        base.mark_point(filled=True).encode(
            y=y,
            shape=alt.Shape("estimator:N", title=None, sort=colours.domain, scale=shapes),
            size=alt.Size(
                "hidden:Q",
                title="Hidden units",
                scale=alt.Scale(type="log", range=[20, 260], nice=False),
                legend=None,
            ),
            opacity=alt.condition("datum.seen", alt.value(0.95), alt.value(0.25)),
            tooltip=TOOLTIP,
        ),
    ]
    return pd.DataFrame(quality_rows(models), columns=list(QUALITY_COLUMNS)), live_spec(
        layers, 560, menu=True
    )


ESTIMATOR_QUANTITIES = {
    "ratio": "CD's bias over pop-CD's",
    "bias": "Bias",
    "variance": "Variance",
    "ess": "Effective share of a batch, by sweeps",
    "sweeps": "Effective share of a batch, by hidden units",
}


def growth_chart(models: Sequence[StudiedModel], quantity: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return data and spec of one of ESTIMATOR_QUANTITIES against hidden units (or sweeps)."""
    hidden = alt.X(
        "hidden:Q",
        title="Hidden units",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(format="d", tickCount=8, grid=False),
    )
    chart = alt.Chart(alt.NamedData("curves"))
    if quantity in ("ess", "sweeps"):
        return _ess_chart(models, quantity, hidden, chart)
    rows = quality_rows(models)
    if quantity == "ratio":
        rows = ratio_rows(models)
    colours, shapes = _estimators()
    shown = [label for label in ESTIMATORS if quantity != "ratio" or label.startswith("pop-")]
    title = ESTIMATOR_QUANTITIES[quantity] + ("" if quantity == "ratio" else " (squared, a parameter)")
    scale = alt.Scale(type="log", nice=False)
    base = chart.encode(
        x=hidden,
        y=alt.Y(
            f"{quantity}:Q",
            title=title,
            scale=scale,
            axis=alt.Axis(format="~g" if quantity == "ratio" else ".0e", tickCount=6, grid=False),
        ),
        color=alt.Color("estimator:N", title=None, sort=colours.domain, scale=colours).legend(
            _estimator_legend(shown)
        ),
    )
    layers: list[Any] = [
        base.mark_line(strokeWidth=1.5, opacity=0.7).encode(detail="estimator:N"),
        base.mark_point(filled=True, size=60).encode(
            shape=alt.Shape("estimator:N", title=None, sort=colours.domain, scale=shapes),
            opacity=alt.condition("datum.seen", alt.value(0.95), alt.value(0.25)),
            tooltip=[*TOOLTIP, *([alt.Tooltip("ratio:Q", format=".3~g")] if quantity == "ratio" else [])],
        ),
    ]
    if quantity == "ratio":
        layers.append(
            alt.Chart(alt.InlineData([{"ratio": 1}]))
            .mark_rule(strokeDash=[4, 4], color=GREY)
            .encode(y="ratio:Q")
        )
    return pd.DataFrame(rows, columns=[*QUALITY_COLUMNS, "ratio"]), live_spec(layers, 510, menu=True)


def ratio_rows(models: Iterable[StudiedModel]) -> list[dict[str, Any]]:
    """Return how many times the bias of pop-CD-k that of CD-k is; both as in the paper's table 1."""
    rows = []
    for row in quality_rows(models):
        model = next(model for model in models if model.n_hidden == row["hidden"])
        plain = row["estimator"].removeprefix("pop-").partition(",")[0]
        if row["estimator"].startswith("pop-") and plain in model.qualities:
            rows.append(row | {"ratio": model.qualities[plain].bias / row["bias"]})
    return rows


def ess_rows(models: Iterable[StudiedModel]) -> list[dict[str, Any]]:
    """Return effective sample sizes as shares of a batch, by hidden units and sweeps."""
    return [
        {"hidden": model.n_hidden, "k": k, "ess": share} for model in models for k, share in model.ess.items()
    ]


def _ess_chart(
    models: Sequence[StudiedModel], quantity: str, hidden: alt.X, chart: alt.Chart
) -> tuple[pd.DataFrame, dict[str, Any]]:
    sweeps = alt.X(
        "k:Q",
        title="Sweeps",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="d", tickCount=5, grid=False),
    )
    x, group, title = (hidden, "k", "Sweeps") if quantity == "ess" else (sweeps, "hidden", "Hidden units")
    line = chart.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=30)).encode(
        x=x,
        y=alt.Y(
            "ess:Q",
            title="Effective share of a batch",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        color=alt.Color(f"{group}:O", title=title, scale=alt.Scale(range=list(STEPS))).legend(orient="top"),
        tooltip=[
            alt.Tooltip("hidden:Q", title="Hidden units"),
            alt.Tooltip("k:Q", title="Sweeps"),
            alt.Tooltip("ess:Q", title="Effective share", format=".1%"),
        ],
    )
    return pd.DataFrame(ess_rows(models), columns=["hidden", "k", "ess"]), live_spec([line], 510, menu=True)


# Files


def curves_csv(named: Named) -> bytes:
    """Return every curve of the populations as CSV, one value a row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("population", "quantity", "at", "value", "std_error"))
    for row in estimate_rows(named):
        writer.writerow((row["panel"], "log_z_estimate", row["n"], row["log_z"], row["std_error"]))
    for name, snapshot in named:
        for size in snapshot.summary.sizes if snapshot.summary else ():
            writer.writerow((name, "ess_of_batch_size", size.size, size.ess, size.std_error))
        if snapshot.truth is not None:
            writer.writerow(
                (name, f"log_z_{snapshot.truth.method}", "", snapshot.truth.log_z, snapshot.truth.std_error)
            )
    for row in share_rows(named):
        writer.writerow((row["panel"], "weight_of_heaviest_share", row["samples"], row["held"], ""))
    return text.getvalue().encode()


def plane_csv(snapshot: StudySnapshot) -> bytes:
    """Return bias and variance of every estimator, and the effective sizes, on every model as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("hidden", "estimator", "bias", "bias_corrected", "std_error", "variance", "estimates"))
    for row in quality_rows(snapshot.models):
        names = ("hidden", "estimator", "bias", "corrected", "std_error", "variance", "estimates")
        writer.writerow([row[name] for name in names])
    writer.writerow(())
    writer.writerow(("hidden", "sweeps", "effective_share"))
    for row in ess_rows(snapshot.models):
        writer.writerow((row["hidden"], row["k"], row["ess"]))
    return text.getvalue().encode()


def weights_npz(comparison: Comparison[WeightSetup], names: Sequence[str]) -> bytes:
    """Return the newest log weights of every panel, and its newest batch, heaviest first.

    Arrays: ``log_weights0`` float64 (n,), ``batch_log_weights0`` float64 (m,) and ``batch_v0`` uint8
    (m, n_visible) of the first panel, and so on; ``meta`` is a JSON string: names, knobs, seed, model.
    """
    arrays: dict[str, Any] = {}
    panels = []
    for i, (panel, name) in enumerate(zip(comparison.panels, names, strict=True)):
        arrays[f"log_weights{i}"] = panel.worker.read(WeightRun.kept)
        shown: Any = panel.worker.peek()
        if shown.batch is not None:
            arrays[f"batch_log_weights{i}"], arrays[f"batch_v{i}"] = shown.batch.log_weights, shown.batch.v
        algorithm = panel.worker.algorithm
        knobs = {knob: getattr(algorithm, knob) for knob in ("k", "proposal", "mixture", "n_chains")}
        panels.append({"name": name, "batches": shown.n, "weights": shown.pooled, **knobs})
    meta = {"model": dict(comparison.setup.model.meta), "seed": comparison.setup.seed, "panels": panels}
    arrays["meta"] = json.dumps(meta)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def tiles_png(named: Named, shape: tuple[int, int]) -> bytes:
    """Return the heaviest and lightest samples of the newest batches, with their shares, as PNG."""
    zoom = max(1, 84 // max(shape))
    rows, columns = shape[0] * zoom, shape[1] * zoom
    wide, tall, gap = columns + 8, rows + 22, 16
    sheet = Image.new("L", (gap + TILES * wide + gap, gap + len(named) * (2 * tall + 34)), 255)
    draw, font, small = ImageDraw.Draw(sheet), ImageFont.load_default(15), ImageFont.load_default(11)
    y = gap
    for name, snapshot in named:
        draw.text((gap, y), f"{name}: heaviest and lightest of a batch", fill=0, font=font)
        y += 24
        batch = snapshot.batch
        count = 0 if batch is None else min(TILES, len(batch.v))
        for part in (slice(0, count), slice(-count, None)):
            for i in range(count):
                assert batch is not None
                pixels = np.zeros(shape[0] * shape[1], np.uint8)
                pixels[: batch.v.shape[1]] = batch.v[part][i]
                tile = Image.fromarray(255 - 255 * pixels.reshape(shape)).resize((columns, rows), 0)
                sheet.paste(tile, (gap + i * wide, y))
                draw.rectangle((gap + i * wide - 1, y - 1, gap + i * wide + columns, y + rows), outline=190)
                draw.text((gap + i * wide, y + rows + 3), f"{batch.shares[part][i]:.2%}", fill=0, font=small)
            y += tall
        y += 10
    content = io.BytesIO()
    sheet.save(content, "PNG", optimize=True)
    return content.getvalue()


def snippet(model_name: str, dataset: str | None, algorithms: Sequence[PopCD], seed: int) -> str:
    """Return Python code that weighs a batch like those of the page."""
    lines = ["import numpy as np", "import rbmviz", "", f'rbm = rbmviz.load_model("{model_name}").rbm']
    lines.append(f"generator = np.random.default_rng({seed})")
    if dataset is None:
        rows = "generator.integers(0, 2, ({n}, rbm.n_visible), dtype=np.uint8)"
    else:
        lines.append(f'data = rbmviz.load_dataset("{dataset}")')
        rows = "generator.choice(data.train, {n})"
    for i, algorithm in enumerate(algorithms):
        knobs = f'proposal="{algorithm.proposal}", mixture={algorithm.mixture}'
        lines += [
            "",
            f"starts = {rows.format(n=algorithm.n_chains or 100)}",
            f"batch_{i} = rbmviz.pop_weights(rbm, starts, k={algorithm.k}, seed={seed}, {knobs})",
            f"print(batch_{i}.ess, batch_{i}.max_weight, batch_{i}.log_z_estimate)",
        ]
    lines += ["", "print(rbmviz.metrics.log_z(rbm))  # where it can be enumerated"]
    return "\n".join(lines)
