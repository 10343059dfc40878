"""Diagnostics of Markov chains: effective sample size (ESS), R-hat, autocorrelation."""

from dataclasses import dataclass

import numpy as np

from rbmviz import checks
from rbmviz.errors import BadInput
from rbmviz.registry import metric

MIN_DRAWS = 8
"""Minimum number of draws per chain: ArviZ splits chains into halves of at least four draws."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Diagnostics of one scalar function of the chains.

    Parameters
    ----------
    ess : float
        Effective sample size of the mean, over all chains; NaN if the value never changes.
    rhat : float
        Rank-normalised split R-hat, the spread of all chains together over the spread within the chains: near
        1 when the chains agree, above 1.01 when they do not yet. NaN for one chain, infinite if every chain
        is constant but they differ.
    autocorrelation : float64 (draws,)
        Autocorrelation at lag 0, 1, ..., around each chain's own mean, averaged over the chains; NaN if the
        value never changes.
    """

    ess: float
    rhat: float
    autocorrelation: np.ndarray


def chains_apart(values: np.ndarray, n_chains: int) -> np.ndarray:
    """Return interleaved values by chain, (n_chains, draws).

    Value t belongs to chain t % n_chains; an incomplete last round is left out.
    """
    draws = len(values) // n_chains
    return values[: draws * n_chains].reshape(draws, n_chains).T


@metric("chain_diagnostics")
def chain_diagnostics(values: np.ndarray) -> Diagnostics:
    """Return ESS, R-hat and autocorrelation of a scalar function of the chains, computed by ArviZ.

    ESS is the effective sample size of the mean (Geyer's monotone sequence on split chains); R-hat is the
    rank-normalised R-hat of Vehtari et al. (2021), doi:10.1214/20-BA1221. Both concern this function only: a
    chain that never leaves a mode can have good values.

    Parameters
    ----------
    values : float (chains, draws) or (draws,)
        Values of the function, for example ``rbm.free_energy(v)`` or the activity ``v.sum(axis=-1)``; at
        least 8 draws.

    Raises
    ------
    BadInput
        If the shape is wrong, or a value is not finite.
    """
    from arviz_stats.base import array_stats  # imported here, because importing it takes half a second

    values = np.atleast_2d(checks.numbers("chain_diagnostics: values", values).astype(np.float64))
    if values.ndim != 2 or not len(values) or values.shape[1] < MIN_DRAWS:
        raise BadInput(
            f"The values have shape {values.shape}; they must be (chains, {MIN_DRAWS} or more draws)."
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
