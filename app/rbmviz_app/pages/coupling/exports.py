"""Files of the Coupling page, and code that repeats its pairs."""

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rbmviz.charts import Rows
from rbmviz.coupling import ALGORITHMS, STATISTICS
from rbmviz.pages import RANDOM_MODEL
from rbmviz.session import Coupling, CouplingSetup, CouplingSnapshot, Results
from rbmviz_app.charts.samples import png_bytes
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.loading_code import load_dataset_lines, load_model_lines
from rbmviz_app.pages.coupling.charts import NAMES, POINT_COLUMNS


def pairs_npz(results: Results) -> bytes:
    """Return all counted pairs, in order, as .npz.

    The names of an algorithm's arrays end in its name (``tau_rbm``, ``tau_general``, ``tau_half_step``) and,
    for a lag other than 1, in the lag (``tau_rbm_lag10``): tau int64 (pairs,), in sweeps; truncated bool
    (pairs,); rejected int64 (pairs, 2), of xi and eta; for lag 1 also unbiased and plain, float64 (pairs,
    statistics), the estimates of UCD and of CD-k (``cd_estimate``) for ``statistics``.
    """
    arrays: dict[str, Any] = {"statistics": np.array(STATISTICS), "k": results.pairs[0].k}
    for counted in (*results.pairs, *(c for c in results.lagged if c.lag > 1)):
        name = counted.algorithm + (f"_lag{counted.lag}" if counted.lag > 1 else "")
        for quantity in ("tau", "truncated", "rejected"):
            arrays[f"{quantity}_{name}"] = getattr(counted, quantity)
        if counted.lag == 1:
            arrays[f"unbiased_{name}"], arrays[f"plain_{name}"] = counted.unbiased, counted.cd_estimate
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def curves_csv(charts: Iterable[tuple[str, Rows]]) -> bytes:
    """Return the points of all charts as CSV, one per row."""
    columns = (*POINT_COLUMNS, "x2", "chain", "label")
    return csv_bytes(
        ("chart", *columns),
        ((chart, *(row.get(name, "") for name in columns)) for chart, rows in charts for row in rows),
    )


def picture(snapshot: CouplingSnapshot, shape: tuple[int, int], highlight: str) -> bytes:
    """Return the displayed pairs as PNG: black on light grey, with differing pixels in colour."""
    zoom = max(1, 220 // max(shape))
    height, width = shape[0] * zoom, shape[1] * zoom
    gap, header = 16, 52
    sheet = Image.new(
        "RGB", (len(snapshot.displayed_pairs) * (2 * width + 3 * gap), header + height + gap), "white"
    )
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    strong = np.array(tuple(int(highlight[i : i + 2], 16) for i in (1, 3, 5)))
    pale = (255 - (255 - strong) * 0.35).astype(int)
    for column, pair in enumerate(snapshot.displayed_pairs):
        left = column * (2 * width + 3 * gap) + gap
        v, v2 = (np.unpackbits(x, count=snapshot.n_visible) for x in (pair.v, pair.v2))
        state = "met" if pair.met else "cut off" if pair.truncated else f"{int((v != v2).sum())} differ"
        title = f"{NAMES[pair.algorithm]}: pair {pair.pair + 1}, sweep {pair.t}, {state}"
        draw.text((left, 8), title, fill="black", font=font)
        for i, (name, x) in enumerate((("xi", v), ("eta", v2))):
            cells = np.full((shape[0] * shape[1], 3), 255)
            cells[: len(x)] = np.where(x[:, None] == 1, 0, 235)
            differs = np.flatnonzero(v != v2)
            cells[differs] = np.where(x[differs, None] == 1, strong, pale)
            image = Image.fromarray(cells.reshape(*shape, 3).astype(np.uint8))
            at = left + i * (width + gap)
            draw.text((at, 30), name, fill="black", font=font)
            sheet.paste(image.resize((width, height), Image.Resampling.NEAREST), (at, header))
    return png_bytes(sheet)


def snippet(model_name: str, setup: CouplingSetup, coupling: Coupling) -> str:
    """Return Python code that repeats the page's first pairs; see ``loading_code``."""
    m, n = setup.rbm.W.shape
    lines = [
        "import rbmviz",
        "from rbmviz import rng",
        "from rbmviz.session import CouplingSetup, random_rbm",
        "",
    ]
    if model_name == RANDOM_MODEL:
        lines.append(f"rbm = random_rbm({m}, {n}, seed={setup.seed})")
    else:
        lines += [*load_model_lines(model_name), "rbm = model.rbm"]
    lines += ["data = None"] if setup.dataset is None else load_dataset_lines(setup.dataset.name)
    lines += [
        f"starts = CouplingSetup(rbm, data, seed={setup.seed}).starts(0)",
        f"scale = {coupling.scale!r}",
        "rbm = rbmviz.RBM(scale * rbm.W, scale * rbm.b, scale * rbm.c)",
        f'seed = rng.child({setup.seed}, "pairs", 0)',
        f"for algorithm in {ALGORITHMS}:",
        f"    pairs = rbmviz.couple(rbm, starts, algorithm, max_sweeps={coupling.max_sweeps}, seed=seed)",
        "    print(algorithm, pairs.tau[:10], pairs.truncated.mean())",
    ]
    return "\n".join(lines)
