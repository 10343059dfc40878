"""The effective temperature of samples: the one at which the model best explains each unit by the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz import kernels, rng
from rbmviz.metrics.by_chain import Chains, chains_of, long_run_ess
from rbmviz.model_files import AnyModel, as_rbm
from rbmviz.rbm import RBM
from rbmviz.registry import metric

ROWS = 256
"""Samples that are looked at, evenly spaced in every chain."""
UNITS = 128
"""Units of a sample that are flipped, drawn at random; all, if there are fewer."""
RANGE = -1.0, 20.0
"""Inverse temperatures that are looked for: uniform noise has 0, give or take its error."""


@dataclass(frozen=True)
class EffectiveTemperature:
    """An inverse temperature with its 95 % interval; both NaN where the samples cannot tell.

    Parameters
    ----------
    beta : float
        Inverse temperature: below 1 the samples are hotter than the model, above 1 colder.
    interval : tuple of float
        Lower and upper end, by the standard error below on either side.
    std_error : float
        Standard error of beta, autocorrelation included.
    """

    beta: float
    interval: tuple[float, float]
    std_error: float


class Flips:
    """Log odds of flipping units of some samples, at any inverse temperature."""

    def __init__(self, rbm: RBM, v: np.ndarray, units: np.ndarray) -> None:
        self._rbm, self.v, self.units = rbm, v, units.astype(np.int32)
        self._x = v.astype(np.float32) @ rbm.W + rbm.c

    def odds(self, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(flipped) - log p(sample), and its derivative, float64 (rows, units of a row)."""
        out, slope = np.empty(self.units.shape, np.float32), np.empty(self.units.shape, np.float32)
        fixed = self._rbm.W, self._rbm.b, np.float32(beta)
        kernels.flips.log_odds(self.v, self.units, self._x, *fixed, out, slope)
        return out.astype(np.float64), slope.astype(np.float64)


def probability(log_odds: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-log_odds))."""
    return 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))


def spaced(chains: np.ndarray, rows: int) -> np.ndarray:
    """Return evenly spaced draws of every chain (chains, draws, ...), about ``rows`` in all."""
    wanted = max(rows // len(chains), 8)
    at = np.unique(np.linspace(0, chains.shape[1] - 1, wanted).round().astype(int))
    return chains[:, at]


@metric("effective_temperature")
def effective_temperature(samples: Any, model: AnyModel) -> EffectiveTemperature:
    """Return the inverse temperature at which samples look most like the model's, unit by unit.

    It maximises, over beta, the pseudo-likelihood (Besag, 1975): the sum over samples and units of
    log sigma(F_beta(v with unit i flipped) - F_beta(v)), where F_beta is the free energy of the RBM
    (beta W, beta b, beta c), which the Gibbs sampler at temperature 1 / beta draws from. It needs no log Z
    and works for a chain in one mode: it is local, and says nothing of modes that were never visited. At
    most 256 samples, evenly spaced, and 128 units of each are looked at.

    The standard error is that of a composite likelihood (Godambe information), with the variance of the
    scores widened by their autocorrelation.

    Parameters
    ----------
    samples : Samples, or uint8 (draws, n_visible) or (chains, draws, n_visible)
        At least 8 draws of each chain.
    model : RBM, Model, name or file
        The model that they should be samples of.

    Raises
    ------
    BadInput
        If the samples do not fit the model, or there are too few.

    Examples
    --------
    >>> samples = rbmviz.sample("bas_pcd", "gibbs:temperature=2", n=2000, seed=0)
    >>> warm = rbmviz.metrics.effective_temperature(samples, "bas_pcd")
    >>> bool(warm.interval[0] < 0.5 < warm.interval[1])
    True
    """
    rbm = as_rbm(model)
    chains = chains_of(samples, rbm)
    return temperature_of(chains, rbm)


def temperature_of(chains: Chains, rbm: RBM) -> EffectiveTemperature:
    """Return ``effective_temperature`` of checked chains."""
    v = spaced(chains.v, ROWS)
    n_chains, draws, m = v.shape
    rows = v.reshape(-1, m)
    g = rng.generator(0, "effective temperature")
    units = g.permuted(np.tile(np.arange(m), (len(rows), 1)), axis=1)[:, :UNITS]
    flips = Flips(rbm, rows, units)
    beta = 1.0
    unknown = EffectiveTemperature(np.nan, (np.nan, np.nan), np.nan)
    for _ in range(50):
        odds, slope = flips.odds(beta)
        p = probability(odds)
        score, information = -(p * slope).sum(axis=1), float((p * (1 - p) * slope**2).sum())
        if not information > 0 or not np.isfinite(score).all():
            return unknown
        largest = max(abs(beta) / 2, 0.25)
        change = float(np.clip(score.sum() / information, -largest, largest))
        beta = float(np.clip(beta + change, *RANGE))
        if abs(change) < 1e-4:
            break
    if beta in RANGE:
        return unknown
    by_chain = score.reshape(n_chains, draws)
    inflation = len(rows) / max(long_run_ess(by_chain), 1.0)
    variance = len(rows) * float(score.var()) * max(inflation, 1.0)
    error = np.sqrt(variance) / information
    return EffectiveTemperature(beta, (beta - 1.96 * error, beta + 1.96 * error), float(error))
