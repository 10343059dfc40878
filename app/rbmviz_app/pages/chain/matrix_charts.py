"""Charts of a finite chain A and of Ã, A with smaller P(stay): matrices, distances, eigenvalues."""

import base64
import io
import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from PIL import Image

from rbmviz_app.charts.style import DASHES, GREY, Chart, colour, live_spec, tooltips

CHAIN_NAMES = ("A", "Ã")
CHAIN_COLOURS = (GREY, colour("sample_penalization"))
"""Grey for A; for Ã the colour of sample penalization, to which the paper compares it."""
NUMBERED = 12
"""Largest matrix whose cells show their numbers; a larger one becomes a picture."""
TITLE_HEIGHT = 42
"""Height of a chart's title, in pixels."""
LEAST_DISTANCE = 1e-6
"""Largest distance that a log scale leaves out."""


def matrix_chart(A: np.ndarray, names: Sequence[str], title: str, size: int = 0) -> Chart:
    """Return the data and the spec of the heat map of a transition matrix; shades follow the square root.

    size : font size in its cells, in pixels; 0 (the default): small enough to fit
    """
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
        spec = live_spec([chart], 300 + TITLE_HEIGHT)
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
        tooltip=tooltips(("from", "From", ""), ("to", "To", ""), ("p", "Probability", ".4f")),
    )
    numbers = base.mark_text(fontSize=size or (12 if n <= 6 else 10)).encode(
        text=alt.Text("p:Q", format=".2f"),
        # Both have a contrast of 4.6 with the purple of 0.45.
        color=alt.condition("datum.p > 0.45", alt.value("white"), alt.value("black")),
    )
    return pd.DataFrame(rows), live_spec([cells, numbers], 340)


def distance_chart(distances: Sequence[np.ndarray], log: bool) -> Chart:
    """Return the data and the spec of the distances of A and A~ from the stationary law, by step.

    On a log scale there are no rows if no distance is above LEAST_DISTANCE.
    """
    rows = [
        {"chain": chain, "step": t, "distance": value}
        for chain, values in zip(CHAIN_NAMES, distances, strict=True)
        for t, value in enumerate(values)
        if not log or value > LEAST_DISTANCE
    ]
    # Fixed, because the chart is first drawn without rows, when the data give no range.
    steps = alt.Scale(domain=[0, max(len(distances[0]) - 1, 1)])
    least = 10 ** math.floor(math.log10(min([0.1, *(row["distance"] for row in rows)]))) if log else 0
    scale = alt.Scale(type="log" if log else "linear", domain=[least, 1])
    line = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(strokeWidth=2.5, point=len(distances[0]) <= 100 and alt.OverlayMarkDef(size=18))
        .encode(
            x=alt.X("step:Q", title="Steps", scale=steps).axis(grid=False, tickMinStep=1),
            y=alt.Y("distance:Q", title="Distance to the stationary distribution", scale=scale),
            color=_chain_colour(),
            strokeDash=alt.StrokeDash(
                "chain:N", title=None, scale=alt.Scale(domain=list(CHAIN_NAMES), range=list(DASHES[:2]))
            ),
            tooltip=tooltips(("chain", "Chain", ""), ("step", "Step", "d"), ("distance", "Distance", ".4f")),
        )
    )
    return pd.DataFrame(rows), live_spec([line], 310)


def spectrum_chart(values: Sequence[np.ndarray]) -> Chart:
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
            shape=alt.Shape(
                "chain:N", title=None, scale=alt.Scale(domain=list(CHAIN_NAMES), range=["circle", "diamond"])
            ),
            tooltip=tooltips(
                ("chain", "Chain", ""),
                ("real", "Real part", ".4f"),
                ("imaginary", "Imaginary part", ".4f"),
                ("modulus", "Modulus", ".4f"),
            ),
        )
    )
    apart = alt.Resolve(
        scale=alt.ScaleResolveMap(color="independent", shape="independent", strokeDash="independent")
    )
    return pd.DataFrame(rows), live_spec([ring, points], 366, resolve=apart) | {"width": 300}


def _chain_colour(symbol: str = "stroke") -> alt.Color:
    scale = alt.Scale(domain=list(CHAIN_NAMES), range=list(CHAIN_COLOURS))
    return alt.Color("chain:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolType=symbol))
