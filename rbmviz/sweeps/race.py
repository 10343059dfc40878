"""A race: further seeds go only to the settings about which they may decide.

All settings run with ``FIRST_SEEDS`` seeds. After each round, those told apart from the best (see ``choose``)
leave, and the others run with the next seed, until all that are left are tied with the best, or there are no
more seeds: a race of Maron and Moore (1994) with seeds as blocks, as in the F-race of Birattari and others
(2002), but with the analysis of variance that chooses, since ranks of two seeds tell nothing apart.

Runs are measured at their end only, because most of the time of a run of a grid goes into the points of its
curve. Each look is at the confidence 1 - 0.05 / looks: together they err as rarely as one look at 95 %
(Bonferroni). What is due depends only on the results of earlier rounds, not on what else is in the folder, or
on how many cells run side by side. So a race that was killed continues to the same results.
"""

from collections.abc import Collection, Sequence

import numpy as np

from rbmviz.metrics.effort import Unit
from rbmviz.sweeps.choose import CONFIDENCE, compare
from rbmviz.sweeps.tables import Columns

FIRST_SEEDS = 2
"""Seeds of every setting."""

Run = tuple[str, str, int]
"""Setting, model and seed of a cell, as in the columns of tables."""


def due(runs: Sequence[Run], columns: Columns, unit: Unit, failed: Collection[Run] = ()) -> list[Run]:
    """Return the runs of the current round that are missing, in order; none when the race is over.

    runs : all runs of the plan, whose seeds are taken in order
    columns : the results that are there
    unit : what is equal at the end of the runs
    failed : runs that have no result, and are not tried again
    """
    names = ("setting", "model", "seed")
    there = list(zip(*(columns[name].tolist() for name in names), strict=True)) if columns else []
    seeds, racing = list(dict.fromkeys(seed for *_, seed in runs)), {run[:2] for run in runs}
    confidence = 1 - (1 - CONFIDENCE) / max(len(seeds) - FIRST_SEEDS + 1, 1)
    wanted = set[Run]()
    for n in range(min(FIRST_SEEDS, len(seeds)), len(seeds) + 1):
        wanted |= {(*setting, seed) for setting in racing for seed in seeds[:n]}
        if missing := wanted.difference(there, failed):
            return [run for run in runs if run in missing]
        rows, racing = np.array([run in wanted for run in there], bool), set()
        for model in {model for _, model, _ in wanted.intersection(there)}:
            own = {name: column[rows & (columns["model"] == model)] for name, column in columns.items()}
            choice = compare(own, effort=unit, confidence=confidence)
            if choice.unsure:
                racing |= {(each.setting, each.model) for each in (*choice.tied, *choice.unsure)}
    return []
