"""Files of the Tune page: the table, all curves, the map as a picture."""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from rbmviz import BadInput
from rbmviz.origin import csv_bytes, origin
from rbmviz.session.sweep_scores import SweepScores
from rbmviz.sweeps import Choice, Store
from rbmviz.sweeps.figures import check_installed, draw
from rbmviz_app.compared import amount_text
from rbmviz_app.controls import Download
from rbmviz_app.pages.tune.charts import table_rows


def downloads_of(
    store: Store, scores: SweepScores, choices: Mapping[str, Choice], title: str
) -> tuple[list[Download], Callable[[], dict[str, Any]]]:
    """Return the downloads of a sweep, built on click, and the function that returns their origin."""

    def picture() -> bytes:
        choice = next(iter(choices.values()))
        point = amount_text(choice.effort, choice.point)
        caption = f"{title}, after {point}, {len(choice.seeds)} seeds. rbmviz {version('rbmviz')}."
        return draw(list(choices.values()), scores.plan, caption, "svg")

    def table() -> bytes:
        return csv_bytes([row for choice in choices.values() for row in table_rows(scores, choice)])

    found = [
        Download("Table", table, "sweep.csv", "All settings at the point of the map (.csv)."),
        Download("Curves", store.file.read_bytes, "sweep.sqlite", "All points of all runs (.sqlite)."),
    ]
    try:
        check_installed()
        found.append(Download("Map", picture, "map.svg", "The map as a drawing (.svg)."))
    except BadInput:  # a package is not installed
        pass
    return found, lambda: origin_of(store, scores)


def origin_of(store: Store, scores: SweepScores) -> dict[str, Any]:
    """Return the origin of a sweep's files, with the digests of its models and data."""
    columns = scores.columns

    def digests(name: str) -> dict[str, str]:
        pairs = zip(columns[name].tolist(), columns[f"{name}_digest"].tolist(), strict=True)
        return {value: digest for value, digest in pairs if value}

    code = (
        "from rbmviz.sweeps import Axis, Budget, Store, SweepPlan, cells, run; "
        f"plan = {scores.plan!r}; store = Store('sweep'); store.prepare(plan); run(cells(plan), store)"
    )
    source = origin(store.about()["command"] or code, seeds=scores.plan.seeds) | {"code": code}
    return source | {"models": digests("model"), "data": digests("data")}
