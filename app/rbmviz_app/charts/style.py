"""Short texts for pages and panels, and tables as CSV files."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.session import TrainingPlan


def number_text(value: float) -> str:
    """Return a number in short form: 1,412 or 0.25."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def warm_start_text(plan: TrainingPlan) -> str:
    """Describe a training run's start: "", `` from CD at 1,200``, `` from mnist_cd1``, or `` resumed``."""
    if plan.warm_start is None:
        return " resumed" if plan.checkpoint else ""
    at = f" at {plan.warm_start.update:,}" if plan.warm_start.update else ""
    return f" from {plan.warm_start.path[-1][0]}{at}"


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return the rows as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()
