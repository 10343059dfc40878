"""Data for scores in browsers: points for ISL, examples for classes, and their bounds."""

from typing import Any

import numpy as np

from rbmviz import kernels
from rbmviz.datasets import Dataset
from rbmviz.metrics.coverage import COMPARED_EXAMPLES, Coverage
from rbmviz.metrics.isl import BETAS, CURVE_COUNTS

MAX_SCORE_ROWS = 500
"""Maximum number of test points, and of validation points, so that files stay small and phones keep up."""

MAX_COUNT = 1_000_000
"""Number of samples at the end of an ISL curve."""


def spaced(rows: np.ndarray) -> np.ndarray:
    """Return at most MAX_SCORE_ROWS of the rows, evenly spaced."""
    n = min(len(rows), MAX_SCORE_ROWS)
    return rows[np.arange(n) * len(rows) // max(n, 1)]


def contents(dataset: Dataset) -> str:
    """Describe the part of the data that ``score_data`` returns."""
    parts = [(min(len(dataset.train), COMPARED_EXAMPLES), "training")]
    parts += [
        (min(len(part), MAX_SCORE_ROWS), name)
        for part, name in ((dataset.validation, "validation"), (dataset.test, "test"))
    ]
    listed = ", ".join(f"{n:,} {name}" for n, name in parts if n)
    return f"examples of {dataset.name} ({listed}; {dataset.source})"


def score_data(dataset: Dataset | None) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """Return the data of ``Scores`` in ``engine.js``, and their blocks; None without held-out data."""
    if dataset is None or not (len(dataset.test) and len(dataset.validation)):
        return None, {}
    test, validation = spaced(dataset.test), spaced(dataset.validation)
    coverage, width = Coverage(dataset, COMPARED_EXAMPLES), dataset.n_visible
    spec = {
        "n_test": len(test),
        "width": width,
        "betas": np.stack([BETAS, np.log(BETAS) - np.log1p(-BETAS), width * np.log(BETAS)], axis=1).tolist(),
        "threshold": -1 if np.isnan(coverage.threshold) else coverage.threshold,
        "blank_below": coverage.blank_below,
        "counts": CURVE_COUNTS[CURVE_COUNTS <= MAX_COUNT].tolist(),
    }
    points = kernels.hamming.pack(np.concatenate([test, validation]))
    blocks = {"points": points.view(np.uint8), "examples": coverage.packed.view(np.uint8)}
    if coverage.labels is not None:
        blocks["labels"] = coverage.labels.astype(np.uint16)
    return spec, blocks
