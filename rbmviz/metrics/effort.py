"""The units in which runs are compared, and the points at which they are."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from rbmviz.metrics.isl import CURVE_COUNTS

Unit = Literal["samples", "updates", "sweeps", "seconds"]
"""Samples of samplers, or updates of trainers; Gibbs sweeps; seconds."""

EFFORT_POINTS: Mapping[Unit, Sequence[float]] = {
    "samples": CURVE_COUNTS.tolist(),
    "updates": CURVE_COUNTS.tolist(),
    "sweeps": np.unique(np.rint(np.geomspace(1, 1e12, 193)).astype(np.int64)).tolist(),
    # Two digits each, from 0.1 ms to three hours.
    "seconds": [float(f"{10 ** (i / 16 - 4):.1e}") for i in range(129)],
}
"""Points at which runs are compared, about 15 % apart."""
