"""Comparisons at equal points: their curves, and texts; ``session.equal_points`` finds the points."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from rbmviz.charts import Rows, Style, styled
from rbmviz.charts.ends import CURVE_KINDS
from rbmviz.charts.style import colours, labels, named_apart, titles
from rbmviz.session.equal_points import Compared, CostUnit

MIN_ROOM = 0.35
"""Share of a chart's width that the label of the common point may need."""


class Curve(NamedTuple):
    """One curve of a chart: its style (with its full name), its short name, and a snapshot of its run."""

    style: Style
    label: str
    snapshot: Any

    @property
    def name(self) -> str:
        """Full name."""
        return self.style.name


def common_rows(point: float | None, cost_unit: CostUnit, rows: Rows, log: bool, who: str = "all") -> Rows:
    """Return the mark of the point at which curves are compared, if there is one.

    log : whether x has a logarithmic scale; who : the curves in words
    """
    xs = [row["x"] for row in rows if row["kind"] in CURVE_KINDS]
    if point is None or not xs:
        return []
    first, last, at = (math.log10(x) if log else x for x in (min(xs), max(xs), point))
    # The label is to the left of the line, or to the right if there is no room.
    side = "left" if at - first > MIN_ROOM * (last - first) else "right"
    at_point = f"at {amount_text(cost_unit, point)}"
    return [
        {"kind": "common", "x": point, "note": f"{who} compared {at_point}", "label": at_point, "side": side}
    ]


def curves_of(
    snapshots: Sequence[Any], slots: Sequence[int] = (), origins: Sequence[str] = ()
) -> list[Curve]:
    """Return the curves of all panels, in their colours and dashes, given their snapshots and slots.

    origins : a word for the start of each, see ``titles``
    """
    algorithms = [snapshot.algorithm for snapshot in snapshots]
    parts = zip(labels(algorithms), origins or [""] * len(algorithms), strict=True)
    brief = named_apart([label + origin for label, origin in parts])
    styles = styled(titles(algorithms, origins), colours(algorithms), slots)
    return [Curve(*fields) for fields in zip(styles, brief, snapshots, strict=True)]


def amount_text(cost_unit: CostUnit, amount: float) -> str:
    """Format a number of samples, updates, sweeps or seconds: "1,764 samples", "0.1 s"."""
    if cost_unit == "seconds":
        return f"{_number_text(cost_unit, amount)} s"
    # "Gibbs", because the Tune page also sweeps over settings. A maximising sweep of herding counts as a
    # Gibbs sweep.
    unit = "Gibbs sweeps" if cost_unit == "sweeps" else cost_unit
    return f"{_number_text(cost_unit, amount)} {unit if amount != 1 else unit.removesuffix('s')}"


def _number_text(cost_unit: CostUnit, amount: float) -> str:
    return f"{float(f'{amount:.2g}'):,.10g}" if cost_unit == "seconds" else f"{amount:,.0f}"


def point_text(compared: Compared, unit: CostUnit, count: int | None, turned: bool = False) -> str:
    """Describe the point where a panel's numbers were taken, and say which panel limits it.

    unit : unit of the run's output: samples or updates
    count : number produced by the common point; None: the run has no scores there
    turned : whether the count starts at the last turn of a knob (default: at the start of the run)
    """
    cost_unit, point = compared.cost_unit, compared.point
    if compared.passed is None:
        return f"Makes no {cost_unit}: not compared at equal {cost_unit}."
    if compared.failed:
        failed = (
            f"it failed after {amount_text(cost_unit, compared.passed)}, and the others continue without it"
        )
        if count is None or point is None:
            return f"Not compared: {failed}."
        return f"Scores at {amount_text(cost_unit, point)}: {failed}."
    if compared.catching_up:
        last = amount_text(cost_unit, compared.least_passed)
        passed = _number_text(cost_unit, compared.passed)
        left = math.ceil(compared.seconds_left)
        return f"Not compared yet: it catches up, {passed} of {last}, and joins in about {left} s."
    if point is None:
        return "Nothing is scored yet." if compared.behind else ""
    if count is None:
        return f"It had no scores yet at {amount_text(cost_unit, point)}, where the others are compared."
    at = f"Scores at {amount_text(cost_unit, point)}"
    if cost_unit != unit:
        at += f" ({amount_text(unit, count)})"
    at += " since the change" if turned else ""
    if compared.behind and not turned:  # it has only a few samples since the change
        return f"{at}: this panel is behind, the first has {amount_text(cost_unit, compared.most_passed)}."
    return f"{at}, where the slowest panel is now." if compared.held_back else at
