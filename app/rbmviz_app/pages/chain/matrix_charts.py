"""Charts of a chain A and of Ã, the same chain with a smaller P(stay): matrices and distances."""

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from rbmviz.charts import Bars, Chart, ChartAxis, Curves, Legend, Plot, styled
from rbmviz.charts.style import GREY, colour

CHAIN_NAMES = ("A", "Ã")
CHAIN_COLOURS = (GREY, colour("sample_penalization"))
"""Grey for A; for Ã, the colour of sample penalization, with which the paper compares Ã."""
NUMBERED = 12
"""Maximum size of a matrix whose cells show their numbers; a larger matrix becomes a picture."""
TITLE_HEIGHT = 42
"""Height of a chart's title, in pixels."""
LEAST_DISTANCE = 1e-6
"""Largest distance that a log scale leaves out."""


@dataclass(frozen=True)
class Picture(Plot):
    """A picture of 300 pixels, given by a data URL."""

    title: str
    height: int = 300 + TITLE_HEIGHT
    width: int = 300

    def columns(self) -> list[str]:
        """Return the column that holds the URL."""
        return ["url"]

    def layers(self, alt: Any, base: Any) -> list[Any]:
        """Return the picture."""
        return [
            base.mark_image(width=300, height=300).encode(url="url:N", x=alt.value(150), y=alt.value(150))
        ]

    def parts(self, rows: pd.DataFrame) -> dict[str, Any]:
        """Return the URL, and axes without titles."""
        return {"image": rows["url"].iloc[0], "x": ChartAxis("").content(), "y": ChartAxis("").content()}


def matrix_chart(A: np.ndarray, names: Sequence[str], title: str) -> Chart:
    """Return the heat map of a transition matrix; shades follow the square root of the entries."""
    n = len(A)
    if n > NUMBERED:
        return Picture(title).of([{"url": _picture(A)}])
    rows = [
        {
            "x": float(j),
            "x2": j + 1.0,
            "y": n - 1.0 - i,
            "y2": float(n - i),
            "from": a,
            "to": b,
            "share": A[i, j],
        }
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]
    return Bars(
        ChartAxis("x", "to state", names=tuple(names), orient="top"),
        ChartAxis("y", "from state", names=tuple(names)[::-1]),
        tips=(("from", "From", ""), ("to", "To", ""), ("share", "Probability", ".4f")),
        text_size=12 if n <= 6 else 10,
        height=300,
        title=title,
    ).of(rows)


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
    # The range is fixed, because the chart is first drawn without rows that could determine it.
    steps = max(len(distances[0]) - 1, 1)
    least = 10 ** math.floor(math.log10(min([0.1, *(row["distance"] for row in rows)]))) if log else 0
    return Curves(
        ChartAxis("step", "Steps", form="d", domain=(0, steps), ticks=min(steps, 10)),
        ChartAxis(
            "distance",
            "Distance to the stationary distribution",
            "log" if log else "linear",
            domain=(least, 1),
        ),
        "chain",
        styled(CHAIN_NAMES, CHAIN_COLOURS),
        (("chain", "Chain", ""), ("step", "Step", "d"), ("distance", "Distance", ".4f")),
        line_width=2.5,
        points=18 if steps <= 100 else 0,
        legend=Legend(columns=2, phone=2),
        height=310,
    ).of(rows)
