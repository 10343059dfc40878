"""Charts of a chain A and of Ã, the same chain with a smaller P(stay): matrices and distances."""

import base64
import io
import math
from collections.abc import Sequence

import numpy as np
from PIL import Image

from rbmviz.charts import Bars, Chart, ChartAxis, Curves, Legend, styled
from rbmviz.charts.plot import Content
from rbmviz.charts.style import GREY, colour

CHAIN_NAMES = ("A", "Ã")
CHAIN_COLOURS = (GREY, colour("sample_penalization"))
"""Grey for A; for Ã, the colour of sample penalization, with which the paper compares Ã."""
NUMBERED = 12
"""Maximum size of a matrix whose cells show their numbers; a larger matrix becomes a picture."""
LEAST_DISTANCE = 1e-6
"""Largest distance that a log scale leaves out."""


def matrix_chart(A: np.ndarray, names: Sequence[str], title: str) -> Content | None:
    """Return the heat map of a transition matrix; shades follow the square root of the entries."""
    n = len(A)
    cells = Bars(
        ChartAxis("x", "to state", names=tuple(names)),
        ChartAxis("y", "from state", names=tuple(names)[::-1]),
        title=title,
    )
    if n > NUMBERED:
        blank = ChartAxis("").content()
        return cells.empty(title) | {"image": _picture(A), "x": blank, "y": blank}
    rows = [
        {"x": float(j), "x2": j + 1.0, "y": n - 1.0 - i, "y2": float(n - i), "share": A[i, j]}
        for i in range(n)
        for j in range(n)
    ]
    return cells.of(rows).content(title)


def _picture(A: np.ndarray) -> str:
    """Return a picture of a matrix as a data URL."""
    shade = np.rint(255 * np.sqrt(np.minimum(A, 1))).astype(np.uint8)
    colours = np.broadcast_to(np.array([0x70, 0x48, 0xE8], np.uint8), (*A.shape, 3))
    picture = Image.fromarray(np.dstack([colours, shade]), "RGBA")
    content, zoom = io.BytesIO(), max(1, 512 // len(A))
    size = len(A) * zoom, len(A) * zoom
    picture.resize(size, Image.Resampling.NEAREST).save(content, "PNG")
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()


def distance_chart(distances: Sequence[np.ndarray], log: bool) -> Chart:
    """Return the chart of the distances of A and Ã from the stationary distribution, by step.

    On a log scale there are no rows if no distance is above LEAST_DISTANCE.
    """
    rows = [
        {"chain": chain, "step": t, "distance": value}
        for chain, values in zip(CHAIN_NAMES, distances, strict=True)
        for t, value in enumerate(values)
        if not log or value > LEAST_DISTANCE
    ]
    steps = max(len(distances[0]) - 1, 1)
    least = 10 ** math.floor(math.log10(min([0.1, *(row["distance"] for row in rows)]))) if log else 0
    return Curves(
        ChartAxis("step", "Steps", domain=(0, steps)),
        ChartAxis(
            "distance",
            "Distance to the stationary distribution",
            "log" if log else "linear",
            domain=(least, 1),
        ),
        "chain",
        styled(CHAIN_NAMES, CHAIN_COLOURS),
        line_width=2.5,
        points=18 if steps <= 100 else 0,
        legend=Legend(),
    ).of(rows)
