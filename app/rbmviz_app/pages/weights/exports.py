"""Files of the Weights page, and code that weights a similar batch."""

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rbmviz.models import list_models
from rbmviz.pages import link_to
from rbmviz.session import Comparison, Start, WeightRun, WeightSetup
from rbmviz.session.importance_weights import TILES
from rbmviz.trainers.batches import USUAL_BATCH
from rbmviz.trainers.pop_cd import PopCD
from rbmviz_app.charts.samples import png_bytes
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.loading_code import load_dataset_lines, load_model_lines
from rbmviz_app.pages.weights.charts import Named, estimate_rows, share_rows
from rbmviz_app.pages.weights.panel import WEIGHT_KNOBS


def curves_csv(named: Named) -> bytes:
    """Return every curve of the populations as CSV, with one value per row."""
    return csv_bytes(("population", "quantity", "at", "value", "std_error"), _values(named))


def _values(named: Named) -> Iterator[tuple[Any, ...]]:
    for row in estimate_rows(named):
        yield row["panel"], "log_z_estimate", row["n"], row["log_z"], row["std_error"]
    for name, snapshot in named:
        for size in snapshot.summary.sizes if snapshot.summary else ():
            yield name, "ess_of_batch_size", size.size, size.ess, size.std_error
        truth = snapshot.reference
        if truth is not None:
            yield name, f"log_z_{truth.method}", "", truth.log_z, truth.std_error
    for row in share_rows(named):
        yield row["panel"], "weight_of_heaviest_share", row["samples"], row["held"], ""


def weights_npz(comparison: Comparison[WeightSetup], names: Sequence[str]) -> bytes:
    """Return the newest log weights of every panel, and its newest batch, heaviest first.

    Arrays: ``log_weights0`` float64 (n,), ``batch_log_weights0`` float64 (m,) and ``batch_v0`` uint8
    (m, n_visible) of the first panel, and so on; ``meta`` is a JSON string: names, knobs, seed, model.
    """
    arrays: dict[str, Any] = {}
    panels = []
    for i, (panel, name) in enumerate(zip(comparison.panels, names, strict=True)):
        arrays[f"log_weights{i}"] = panel.worker.read(WeightRun.log_weights)
        snapshot: Any = panel.worker.peek()
        if (batch := snapshot.batch) is not None:
            arrays[f"batch_log_weights{i}"], arrays[f"batch_v{i}"] = batch.log_weights, batch.v
        algorithm = snapshot.algorithm  # this drew the weights; while paused, another may be chosen
        knobs = {knob: getattr(algorithm, knob) for knob in WEIGHT_KNOBS}
        panels.append({"name": name, "batches": snapshot.n, "weights": snapshot.pooled, **knobs})
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
    return png_bytes(sheet)


def command_of(panels: Sequence[str], model_name: str, start: Start, seed: int, like: str) -> str:
    """Return a link that repeats the batches, or code for similar batches if no link opens the model.

    panels : panels as written in links; like : code that weights similar batches
    """
    if model_name in list_models():
        link = link_to("weights", panels, weights_model=model_name, weights_start=start, weights_seed=seed)
        return f"rbmviz app; {link}"
    return f"# Batches like these, from other random numbers: no link opens this model.\n{like}"


def snippet(model_name: str, dataset: str | None, algorithms: Sequence[PopCD], seed: int) -> str:
    """Return Python code that weights a batch like the page's, with all of ``WEIGHT_KNOBS``.

    Its random numbers differ.
    """
    lines = ["import numpy as np", "import rbmviz", "", *load_model_lines(model_name), "rbm = model.rbm"]
    lines.append(f"generator = np.random.default_rng({seed})")
    if dataset is None:
        rows, usual = "generator.integers(0, 2, ({n}, rbm.n_visible), dtype=np.uint8)", str(USUAL_BATCH)
    else:
        lines += load_dataset_lines(dataset)
        rows, usual = "generator.choice(data.train, {n})", f"min({USUAL_BATCH}, len(data.train))"
    for i, algorithm in enumerate(algorithms):
        knobs = f'proposal="{algorithm.proposal}", mixture={algorithm.mixture}'
        lines += [
            "",
            f"starts = {rows.format(n=algorithm.n_chains or usual)}",
            f"batch_{i} = rbmviz.pop_weights(rbm, starts, k={algorithm.k}, seed={seed}, {knobs})",
            f"print(batch_{i}.ess, batch_{i}.max_weight, batch_{i}.log_z_estimate)",
        ]
    lines += ["", "print(rbmviz.metrics.log_z(rbm))  # where it can be enumerated"]
    return "\n".join(lines)
