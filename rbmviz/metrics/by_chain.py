"""Samples apart by chain, as diagnostics need them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz import checks
from rbmviz.errors import BadInput
from rbmviz.rbm import RBM

MIN_DRAWS = 8
"""Draws of a chain that diagnostics need at least: it is split into halves of at least four."""


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws of chains, uint8 (chains, draws, n_visible), and two scalars of each, float64 (chains, draws).

    One scalar alone takes a frozen chain for a fast one where it is constant, and misses modes of equal ink.
    """

    v: np.ndarray
    free_energy: np.ndarray
    units_on: np.ndarray

    def scalars(self) -> dict[str, np.ndarray]:
        """Return the two scalars by what they are called."""
        return {"free energy": self.free_energy, "number of units on": self.units_on}


def chains_of(samples: Any, rbm: RBM) -> Chains:
    """Return the chains of ``Samples``, or of bits (draws, n_visible) or (chains, draws, n_visible).

    Raises
    ------
    BadInput
        If they do not fit the model, are not 0 and 1, or a chain has fewer than MIN_DRAWS draws.
    """
    v = samples.by_chain()["v"] if hasattr(samples, "by_chain") else np.asarray(samples)
    v = v[None] if v.ndim == 2 else v
    if v.ndim != 3 or v.shape[1] < MIN_DRAWS or not len(v):
        raise BadInput(
            f"The samples have shape {v.shape}; diagnostics need {MIN_DRAWS} or more draws of every chain."
        )
    rows = checks.bits("The samples", v.reshape(-1, v.shape[2]), rbm.n_visible)
    v = rows.reshape(v.shape)
    units_on = v.sum(axis=2, dtype=np.float64)
    return Chains(v, rbm.free_energy(rows).reshape(v.shape[:2]), units_on)


def long_run_ess(values: np.ndarray) -> float:
    """Return the effective sample size of the mean of values (chains, draws), by batch means.

    The batches are as long as the square root of a chain: the estimate needs no model of the autocorrelation.
    """
    n_chains, draws = values.shape
    length = max(int(np.sqrt(draws)), 1)
    batches = values[:, : draws // length * length].reshape(n_chains, -1, length).mean(axis=2)
    variance, of_means = float(values.var()), float(batches.var(ddof=1)) if batches.size > 1 else 0.0
    if variance == 0:
        return 0.0
    return values.size * min(variance / max(length * of_means, 1e-300), 1.0)
