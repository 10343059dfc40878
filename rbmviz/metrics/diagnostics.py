"""How much the draws of Markov chains are worth: effective sample size, R-hat, autocorrelation."""

from dataclasses import dataclass

import numpy as np

from rbmviz import checks
from rbmviz.errors import BadInput
from rbmviz.registry import metric

LEAST_DRAWS = 8
"""Chains are split into halves of at least four draws."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What one scalar function says about the chains.

    Parameters
    ----------
    ess : float
        Independent draws that would give the mean as well, over all chains; NaN where the value never
        changes, which is no evidence of anything.
    rhat : float
        Spread of the pooled chains over the spread within them, of ranks, halves counted as chains: near 1
        when chains agree, above 1.01 when they do not yet. NaN for one chain, infinite for stuck ones.
    autocorrelation : float64 (draws,)
        At lag 0, 1, ..., around each chain's own mean, averaged over the chains; NaN where constant.
    """

    ess: float
    rhat: float
    autocorrelation: np.ndarray


def chains_apart(values: np.ndarray, n_chains: int) -> np.ndarray:
    """Return the values of chains that take turns, one a sample, by chain: (n_chains, draws).

    Value t is of chain t % n_chains; those of an unfinished round at the end are left out.
    """
    draws = len(values) // n_chains
    return values[: draws * n_chains].reshape(draws, n_chains).T


@metric("chain_diagnostics")
def chain_diagnostics(values: np.ndarray) -> Diagnostics:
    """Return ESS, R-hat and autocorrelation of a scalar function of the chains, computed by ArviZ.

    The ESS is that of the mean (Geyer's monotone sequence on split chains), R-hat the rank-normalised one of
    Vehtari et al. (2021). Both judge this function only: a chain that never leaves a mode can look well.

    Parameters
    ----------
    values : float (chains, draws) or (draws,)
        For example ``rbm.free_energy(v)``, or the activity ``v.sum(axis=-1)``; at least 8 draws.

    Raises
    ------
    BadInput
        Where the shape does not fit or a value is not finite.
    """
    from arviz_stats.base import array_stats  # half a second that only this metric needs

    values = np.atleast_2d(checks.numbers("chain_diagnostics: values", values).astype(np.float64))
    if values.ndim != 2 or not len(values) or values.shape[1] < LEAST_DRAWS:
        raise BadInput(
            f"The values have shape {values.shape}; they must be (chains, {LEAST_DRAWS} or more draws)."
        )
    if not np.isfinite(values).all():
        raise BadInput("The values of the chains hold NaN or infinite numbers: leave those draws out.")
    constant = np.ptp(values) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        several = len(values) > 1 and not constant
        rhat = array_stats.rhat(values, chain_axis=0, draw_axis=1) if several else np.nan
        ess = np.nan if constant else array_stats.ess(values, chain_axis=0, draw_axis=1, method="mean")
        autocorrelation = array_stats.autocorr(values, axis=1).mean(axis=0)
    return Diagnostics(float(ess), float(rhat), autocorrelation)
