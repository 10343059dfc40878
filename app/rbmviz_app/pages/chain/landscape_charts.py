"""The chart of the landscape: how fast visits and moments converge to the model's."""

import math
from collections.abc import Sequence

from rbmviz.charts import Chart, ChartAxis, Curves, Legend, styled
from rbmviz.charts.style import GREY, colours
from rbmviz.session import LandscapeSnapshot


def walk_chart(
    named: Sequence[tuple[str, LandscapeSnapshot]], quantity: str, title: str, slots: Sequence[int] = ()
) -> Chart:
    """Return the chart of one quantity for all walks, with the slopes 1/√t and 1/t as guides.

    quantity : "visits" or "moments"; slots : see ``styled``
    """
    tones = colours([snapshot.algorithm for _, snapshot in named])
    points = [(name, point._asdict()) for name, snapshot in named for point in snapshot.curve]
    rows = [{"kind": "point", "sampler": name, **row} for name, row in points if row[quantity] > 0]
    # Round up to whole decades, so that the axes rarely change.
    far = 10 ** math.ceil(math.log10(max([10, *(row["n"] for row in rows)])))
    least = 10 ** math.floor(math.log10(min([0.1, *(row[quantity] for row in rows)])))
    guides = [
        {
            "kind": "guide",
            "guide": power,
            "tone": GREY,
            "solid": False,
            "order": n,
            "n": n,
            quantity: n**-power,
        }
        for power in (0.5, 1.0)
        for n in (1, least ** (-1 / power))
        if rows
    ]
    return Curves(
        ChartAxis("n", "Samples (t)", "log", domain=(1, far)),
        ChartAxis(quantity, title, "log", domain=(least, 3)),
        "sampler",
        styled([name for name, _ in named], tones, slots),
        kinds=("guide",),
        legend=Legend(),
    ).of(rows + guides)
