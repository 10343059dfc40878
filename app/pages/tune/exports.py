"""Files of the Tune page: the table, all curves, the map as a picture."""

import io
from typing import Any, Literal

import pandas as pd

from rbmviz.session.sweep_scores import SweepScores
from rbmviz.session.sweep_view import SweepView
from rbmviz.session.sweeps import Sweep
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.pages.tune.charts import map_figure, table_rows

PIXELS_A_POINT = 2.0
"""Of a picture, so that its words are sharp in print."""


def table_csv(view: SweepView) -> bytes:
    """Return the table of all settings at the point of the map as CSV."""
    choice = view.choice()
    rows = table_rows(view.sweep.scores, choice) if choice is not None else []
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return csv_bytes(columns, ([row.get(name, "") for name in columns] for row in rows))


def curves_parquet(sweep: Sweep) -> bytes:
    """Return all curves of all cells as one Parquet file, a row for each point of each cell."""
    content = io.BytesIO()
    pd.DataFrame(curve_columns(sweep.scores)).to_parquet(content, index=False)
    return content.getvalue()


def curve_columns(scores: SweepScores) -> dict[str, Any]:
    """Return the long form of what is known: setting, model, seed, knobs, what was spent, measures."""
    return scores.long_form()


def map_file(view: SweepView, title: str, kind: Literal["png", "svg"]) -> bytes:
    """Return the map at its point as a picture."""
    choice = view.choice()
    if choice is None:
        return b""
    figure = map_figure(view.sweep.scores, view.now(), choice, title)
    content = io.BytesIO()
    if kind == "png":
        figure.save(content, format="png", scale_factor=PIXELS_A_POINT)
        return content.getvalue()
    text = io.StringIO()
    figure.save(text, format="svg")
    return text.getvalue().encode()
