"""The chart of the landscape: how fast visits and moments converge to the model's."""

import math
from collections.abc import Iterable, Sequence

import altair as alt
import pandas as pd

from rbmviz.session import LandscapeSnapshot
from rbmviz_app.charts.style import (
    GREY,
    Chart,
    Rows,
    Spec,
    colours,
    kept_spec,
    legend_columns,
    live_spec,
    series,
    stroke_legend,
    tooltips,
)

WALK_COLUMNS = ("sampler", "n", "visits", "moments")


def walk_rows(named: Iterable[tuple[str, LandscapeSnapshot]]) -> Rows:
    """Return one row per panel and point of its curve: errors of visits and moments after n samples."""
    return [{"sampler": name, **point._asdict()} for name, snapshot in named for point in snapshot.curve]


def walk_chart(named: Sequence[tuple[str, LandscapeSnapshot]], quantity: str, title: str) -> Chart:
    """Return the data and the spec of one quantity of all walks, with the slopes 1/√t and 1/t as guides.

    quantity : "visits" or "moments"
    """
    rows = [row for row in walk_rows(named) if row[quantity] > 0]
    names = tuple(name for name, _ in named)
    tones = tuple(colours([snapshot.algorithm for _, snapshot in named]))
    # Whole decades, so that the spec rarely changes and a live chart keeps its zoom.
    far = 10 ** math.ceil(math.log10(max([10, *(row["n"] for row in rows)])))
    least = 10 ** math.floor(math.log10(min([0.1, *(row[quantity] for row in rows)])))
    spec = _walk_spec(names, tones, quantity, title, far, least)
    return pd.DataFrame(rows, columns=list(WALK_COLUMNS)), spec


@kept_spec
def _walk_spec(
    names: tuple[str, ...], tones: tuple[str, ...], quantity: str, title: str, far: float, least: float
) -> Spec:
    x = alt.X("n:Q", title="Samples (t)", scale=alt.Scale(type="log", nice=False, domain=[1, far]))
    x = x.axis(format="~s", tickCount=8, grid=False)
    y = alt.Y(f"{quantity}:Q", title=title, scale=alt.Scale(type="log", nice=False, domain=[least, 3]))
    y = y.axis(format="~g", tickCount=5)
    tone, dash = series("sampler", names, tones, stroke_legend(legend_columns(4)))
    walks = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            color=tone,
            strokeDash=dash,
            tooltip=tooltips(("sampler", "Sampler", ""), ("n", "Samples", ","), (quantity, title, ".3g")),
        )
    )
    ends = [
        {"n": n, quantity: n**-power, "slope": power}
        for power in (0.5, 1.0)
        for n in (1, least ** (-1 / power))
    ]
    guide = alt.Chart(alt.InlineData(ends)).encode(x=x, y=y, detail="slope:N")
    guide = guide.mark_line(strokeDash=[4, 4], strokeWidth=1, color=GREY, clip=True)
    return live_spec([walks, guide], 280)
