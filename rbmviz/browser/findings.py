"""What pages without a server need to say what speaks against their samples."""

from typing import Any

from rbmviz.datasets import Dataset
from rbmviz.metrics.coverage import COMPARED_EXAMPLES, Coverage
from rbmviz.metrics.findings import CHANCE, FEWEST_SAMPLES, GROWTH, PATIENCE, RULES
from rbmviz.metrics.thinned import KEPT_ROUNDS

WITHOUT_KERNELS = ("units", "temperature")
"""Kinds of findings whose kernel is not in the module for browsers."""

MAX_BATCHES = 64
"""Maximum number of batches in the second half of a chain."""


def diagnosis_data(dataset: Dataset | None) -> dict[str, Any]:
    """Return the rules of ``Diagnosis`` in ``findings.js``, with quantiles for a single chain."""
    from scipy.special import chdtri, stdtrit

    coverage = None if dataset is None else Coverage(dataset, COMPARED_EXAMPLES)
    named = dataset is not None and dataset.train_labels is not None
    return {
        "rules": {name: vars(rule) for name, rule in RULES.items() if name not in WITHOUT_KERNELS},
        **{"chance": CHANCE, "patience": PATIENCE, "fewest": FEWEST_SAMPLES, "growth": GROWTH},
        "most": KEPT_ROUNDS,
        "t": [-float(stdtrit(df, CHANCE / 4)) for df in range(1, MAX_BATCHES)],
        "chi_square": float(chdtri(3, CHANCE / 4)),
        "classes": list(dataset.classes) if named and dataset is not None else [],
        "data_shares": [] if coverage is None else coverage.data_shares.tolist(),
        "scored": dataset is not None,
    }
