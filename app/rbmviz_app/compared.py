"""Text about comparisons at equal points; ``rbmviz.session.equal_points`` finds the points."""

import math

from rbmviz.session.equal_points import Compared, CostUnit


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
