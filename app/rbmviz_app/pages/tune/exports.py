"""Files of the Tune page: the table, all curves, the map as a picture."""

import io
from importlib.metadata import version
from typing import Any, Literal

import pandas as pd

from rbmviz import BadInput
from rbmviz.origin import origin
from rbmviz.session.sweep_view import SweepView
from rbmviz.session.sweeps import Sweep
from rbmviz.sweeps import cells
from rbmviz.sweeps.figures import check_installed, draw
from rbmviz.sweeps.store import Store
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.compared import amount_text
from rbmviz_app.pages.tune.charts import table_rows


def table_csv(view: SweepView) -> bytes:
    """Return the table of all settings at the point of the map as CSV."""
    rows = [row for choice in view.choices() for row in table_rows(view.sweep.scores, choice)]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return csv_bytes(columns, ([row.get(name, "") for name in columns] for row in rows))


def curves_parquet(sweep: Sweep) -> bytes:
    """Return all curves of all runs as one Parquet file, with a row for each point of each run."""
    content = io.BytesIO()
    table = pd.DataFrame(sweep.scores.long_form())
    table.attrs["origin"] = origin_of(sweep)  # pandas restores it with the table
    table.to_parquet(content, index=False)
    return content.getvalue()


def origin_of(sweep: Sweep) -> dict[str, Any]:
    """Return the origin of a sweep's files."""
    plan, names = sweep.plan, ("model", "model_digest", "data", "data_digest")
    try:
        planned = cells(plan, registered=True, own=sweep.own)
        sources = [[getattr(cell, name) for cell in planned] for name in names]
    except BadInput:  # a file or data set is not on this machine: the stored results name it
        stored = Store(sweep.folder).read(names=names) if sweep.folder is not None else None
        if stored is None or not stored.cells:
            raise
        sources = [stored.columns[name].tolist() for name in names]
    code = (
        "from rbmviz.sweeps import Axis, Budget, CellRun, SweepPlan, cells, joined; "
        f"joined(CellRun(cell).finish() for cell in cells({plan!r}))"
    )
    models, model_digests, data, data_digests = sources
    digests = {name: digest for name, digest in zip(models, model_digests, strict=True) if name}
    own = {"models": digests, "data": dict(zip(data, data_digests, strict=True))}
    return origin(code, seeds=plan.seeds) | own


def map_file(view: SweepView, form: Literal["png", "svg"]) -> bytes:
    """Return the map at its point as a picture; raise BadInput before there is a score."""
    choices = view.choices()
    if not choices:
        raise BadInput("There is no score to draw yet: wait until a run has reached this point.")
    choice = choices[0]
    point = amount_text(choice.effort, choice.point)
    caption = f"{view.sweep.title}, after {point}, {len(choice.seeds)} seeds. rbmviz {version('rbmviz')}."
    return draw(choices, view.sweep.plan, caption, form)


def can_draw() -> bool:
    """Return whether the packages for drawing are installed."""
    try:
        check_installed()
    except BadInput:
        return False
    return True
