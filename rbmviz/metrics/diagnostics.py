"""Diagnostics of Markov chains: effective sample size (ESS), R-hat, autocorrelation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.registry import metric
from rbmviz.support import checks

MIN_DRAWS = 8
"""Minimum number of draws per chain: ArviZ splits chains into halves of at least four draws."""

TAIL = 0.05
"""Tail ESS is the smaller one of this quantile's and of that of its counterpart, as in ArviZ."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Diagnostics of one scalar function of the chains.

    Parameters
    ----------
    ess : float
        Bulk effective sample size (ESS) over all chains, of the rank-normalised values; NaN if the value
        never changes.
    ess_tail : float
        Tail ESS: the smaller one of the 5 % and the 95 % quantile; NaN if the value never changes.
    rhat : float
        Rank-normalised split R-hat, the spread of all chains together over the spread within the chains: near
        1 when the chains agree, above 1.01 when they do not yet. NaN for one chain, infinite if every chain
        is constant but they differ.
    autocorrelation : float64 (draws,)
        Autocorrelation at lag 0, 1, ..., around each chain's own mean, averaged over the chains; NaN if the
        value never changes.
    """

    ess: float
    ess_tail: float
    rhat: float
    autocorrelation: np.ndarray


def chains_apart(values: np.ndarray, n_chains: int) -> np.ndarray:
    """Return interleaved values by chain, (n_chains, draws).

    Value t belongs to chain t % n_chains; an incomplete last round is left out.
    """
    draws = len(values) // n_chains
    return values[: draws * n_chains].reshape(draws, n_chains).T


@metric("chain_diagnostics")
def chain_diagnostics(values: Any) -> Diagnostics:
    """Return ESS, R-hat and autocorrelation of a scalar function of the chains, computed by ArviZ.

    ESS is the rank-normalised bulk and tail effective sample size, R-hat the rank-normalised split R-hat, all
    of Vehtari et al. (2021), doi:10.1214/20-BA1221. They concern this function only: a chain that never
    leaves a mode can have good values.

    Parameters
    ----------
    values : Samples, or float (chains, draws) or (draws,)
        Samples stand for their free energy by chain, as in ``Samples.to_arviz``. Otherwise values of the
        function, for example the activity ``samples.by_chain()["v"].sum(axis=-1)``; at least 8 draws.

    Raises
    ------
    BadInput
        If the shape is wrong, there are more chains than draws, a value is not finite, the values are samples
        (an array of bits), or Samples do not know their model or their number of chains.

    Examples
    --------
    >>> samples = rbmviz.sample("bas_pcd", "gibbs:n_chains=4", n=4000)
    >>> bool(rbmviz.metrics.chain_diagnostics(samples).ess > 100)
    True
    """
    values = np.atleast_2d(checks.numbers("chain_diagnostics: values", _by_chain(values)))
    is_bits = values.dtype.kind in ("b", "u") and values.max(initial=0) <= 1
    if values.ndim == 2 and len(values) > 1 and is_bits:
        raise BadInput(
            "chain_diagnostics: these are bits: give the Samples, or one number for each draw of each chain, "
            "such as the free energy (an indicator as floats)."
        )
    values = values.astype(np.float64)
    if values.ndim != 2 or not len(values) or values.shape[1] < MIN_DRAWS:
        raise BadInput(
            f"The values have shape {values.shape}; they must be (chains, {MIN_DRAWS} or more draws)."
        )
    if len(values) > values.shape[1]:
        raise BadInput(
            f"chain_diagnostics: {len(values):,} chains of {values.shape[1]:,} draws: the values must be "
            "(chains, draws), with at least as many draws as chains; transpose them, or make longer chains."
        )
    if not np.isfinite(values).all():
        raise BadInput("The values of the chains hold NaN or infinite numbers: leave those draws out.")
    return diagnostics_of(values)


def diagnostics_of(values: np.ndarray) -> Diagnostics:
    """Return the same of values known to be float64 (chains, MIN_DRAWS or more draws)."""
    from arviz_stats.base import array_stats  # imported here, because importing it takes half a second

    constant = np.ptp(values) == 0
    axes = {"chain_axis": 0, "draw_axis": 1}
    with np.errstate(divide="ignore", invalid="ignore"):
        several = len(values) > 1 and not constant
        rhat = array_stats.rhat(values, **axes) if several else np.nan
        bulk = np.nan if constant else array_stats.ess(values, **axes, method="bulk")
        tail = np.nan if constant else array_stats.ess(values, **axes, method="tail", prob=TAIL)
        autocorrelation = array_stats.autocorr(values, axis=1).mean(axis=0)
    return Diagnostics(float(bulk), float(tail), float(rhat), autocorrelation)


def _by_chain(values: Any) -> Any:
    """Return the free energy of Samples, (chains, draws); anything else unchanged."""
    if not hasattr(values, "by_chain"):  # the samplers' package imports this one
        return values
    if values.model is None:
        raise BadInput(
            "chain_diagnostics: these samples do not say their model: draw them with rbmviz.sample."
        )
    v = values.by_chain()["v"]
    return values.model.rbm.free_energy(v.reshape(-1, v.shape[2])).reshape(v.shape[:2])
