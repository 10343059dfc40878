"""Names of trainers on the Train page."""

from rbmviz.charts.style import colours, labels, named_apart, titles
from rbmviz.session import Comparison, TrainingSetup, TrainingSnapshot
from rbmviz.trainers import Trainer
from rbmviz_app.charts.style import origin_text


def named(comparison: Comparison[TrainingSetup]) -> list[tuple[str, TrainingSnapshot]]:
    """Return the snapshots of all panels by unique name; no lease is renewed."""
    shown = [snapshot for _, snapshot in comparison.peek()]
    origins = [origin_text(panel.worker.plan) for panel in comparison.panels]
    return list(zip(titles([snapshot.algorithm for snapshot in shown], origins), shown, strict=True))


def styles(comparison: Comparison[TrainingSetup]) -> list[tuple[str, str, str]]:
    """Return the full name, short name and colour of each panel."""
    shown = named(comparison)
    algorithms = [snapshot.algorithm for _, snapshot in shown]
    origins = [origin_text(panel.worker.plan) for panel in comparison.panels]
    brief = named_apart([label + origin for label, origin in zip(labels(algorithms), origins, strict=True)])
    names = [name for name, _ in shown]
    return list(zip(names, brief, colours(algorithms), strict=True))


def fresh_starts(comparison: Comparison[TrainingSetup]) -> list[Trainer]:
    """Return the trainers that began at small random weights, not at learned ones."""
    plan = comparison.setup.plan()
    return [panel.worker.algorithm for panel in comparison.panels if panel.worker.plan == plan]
