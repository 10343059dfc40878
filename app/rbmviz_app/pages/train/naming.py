"""Names and curves of trainers on the Train page."""

from collections.abc import Sequence

from rbmviz.charts import styled
from rbmviz.charts.style import colours, labels, named_apart, titles
from rbmviz.session import Race, TrainingSetup, TrainingSnapshot
from rbmviz.trainers import Trainer
from rbmviz_app.charts.ends import Curve
from rbmviz_app.charts.style import warm_start_text


def curves_of_trainers(comparison: Race[TrainingSetup]) -> list[Curve]:
    """Return each panel's curve, in the panel's colour and dashes, without renewing the lease."""
    snapshots = [snapshot for _, snapshot in comparison.peek()]
    algorithms = [snapshot.algorithm for snapshot in snapshots]
    begun = [warm_start_text(panel.plan) for panel in comparison.panels]
    brief = named_apart([label + start for label, start in zip(labels(algorithms), begun, strict=True)])
    styles = styled(titles(algorithms, begun), colours(algorithms), comparison.slots)
    return [Curve(*fields) for fields in zip(styles, brief, snapshots, strict=True)]


def named(curves: Sequence[Curve]) -> list[tuple[str, TrainingSnapshot]]:
    """Return the snapshots of panels by unique name."""
    return [(curve.name, curve.snapshot) for curve in curves]


def fresh_starts(comparison: Race[TrainingSetup]) -> list[Trainer]:
    """Return the trainers that began at small random weights, not at learned ones."""
    plan = comparison.setup.plan()
    return [panel.algorithm for panel in comparison.panels if panel.plan == plan]
