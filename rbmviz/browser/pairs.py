"""Coupled chains as data for ``pairs.js``: the arguments of the kernel ``run_pairs``."""

from typing import Any

import numpy as np

from rbmviz import kernels
from rbmviz.coupling import pair_setup, pair_streams
from rbmviz.rbm import RBM
from rbmviz.rng import Seed

MAX_SWEEPS = 1000
"""Sweeps after which pairs are cut off, as ``rbmviz.couple`` does by default."""


def pair_arguments(rbm: RBM, v0: np.ndarray, algorithm: str, seed: Seed) -> dict[str, Any]:
    """Return the arguments of ``run_pairs`` for one pair from each row of v0; see ``rbmviz.couple``."""
    coupling = kernels.coupling
    return {
        "chains": coupling.make_chains(rbm.W, rbm.b, rbm.c),
        "v0": np.ascontiguousarray(v0, np.uint8),
        "streams": pair_streams(len(v0), seed),
        "setup": pair_setup(algorithm, 1, 1, MAX_SWEEPS),
        "sweeps": 1,
        "progress": coupling.make_progress(),
        "outcomes": coupling.make_outcomes(len(v0)),
        "sums": coupling.no_sums(*rbm.W.shape),
        "watched": coupling.watch_nothing(),
    }
