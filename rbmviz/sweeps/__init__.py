"""A sweep of settings: runs over a grid of knobs, models and seeds, and the choice of a setting by scores.

``axis`` and ``plan`` define the cells and their order, ``cell`` runs one, ``measures`` defines the measures,
``tables`` joins results, and ``choose`` compares settings over seeds. ``run`` runs cells on threads or a
cluster, ``store`` keeps their results as one SQLite file, ``figures`` draws them, and ``sweep`` does all of
this in one call. A table is a ``dict`` of columns, which are one-dimensional arrays, in long form: one row
for each point of each cell's curve.
"""

from rbmviz.sweeps.answer import answer
from rbmviz.sweeps.axis import Axis
from rbmviz.sweeps.cell import Cell, CellRun, cells
from rbmviz.sweeps.choose import (
    Choice,
    Robustness,
    ScoredSetting,
    compare,
    robustness,
    telling_point,
)
from rbmviz.sweeps.measures import list_measures, measures
from rbmviz.sweeps.plan import Budget, SweepPlan
from rbmviz.sweeps.run import FailedCell, SweepProgress, run
from rbmviz.sweeps.store import Store
from rbmviz.sweeps.tables import select, table

__all__ = [
    "Axis",
    "Budget",
    "Cell",
    "CellRun",
    "Choice",
    "FailedCell",
    "Robustness",
    "ScoredSetting",
    "Store",
    "SweepPlan",
    "SweepProgress",
    "answer",
    "cells",
    "compare",
    "list_measures",
    "measures",
    "robustness",
    "run",
    "select",
    "table",
    "telling_point",
]
__dir__ = __all__.copy  # what an editor offers
