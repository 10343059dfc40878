"""The effective temperature of samples: the one at which the model best explains each unit by the others."""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rbmviz import kernels, rng
from rbmviz.errors import BadInput
from rbmviz.metrics.thinned import FEWEST_DRAWS, batch_variance, batches_of, local_rows, thinned
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric

FLIPPED_UNITS = 128
"""Units of a sample that are flipped, drawn at random; all, if there are fewer."""

TRIED_BETAS = -1.0, 20.0
"""Inverse temperatures that are looked for: uniform noise has 0, give or take its error."""

HALF_STEP = 0.01
"""Half the difference of inverse temperatures by which the derivative is taken."""


@dataclass(frozen=True)
class EffectiveTemperature:
    """An inverse temperature; all numbers are NaN if the samples look the same at all temperatures.

    Parameters
    ----------
    beta : float
        Inverse temperature: below 1 the samples are hotter than the model, above 1 colder.
    interval : tuple of float
        95 % interval; its upper end is infinite if no unlikely value of a unit sets a limit.
    std_error : float
        Standard error of beta, autocorrelation included.
    """

    beta: float
    interval: tuple[float, float]
    std_error: float


class Slope(NamedTuple):
    """The slope of the pseudo-likelihood at one inverse temperature, summed over all rows.

    slope : derivative of its logarithm with respect to beta
    information : less the second derivative, as the model expects it
    variance : variance of the slope, autocorrelation included
    """

    slope: float
    information: float
    variance: float

    @property
    def in_errors(self) -> float:
        """The slope in its standard errors; 0 if it does not vary."""
        return self.slope / np.sqrt(self.variance) if self.variance > 0 else 0.0

    @property
    def std_error(self) -> float:
        """Standard error of the inverse temperature at which the slope is 0."""
        return float(np.sqrt(self.variance)) / self.information if self.information > 0 else np.nan


def flip_odds(rbm: RBM, v: np.ndarray, units: np.ndarray, *betas: float) -> np.ndarray:
    """Return log p(v with a unit flipped) - log p(v), float64 (betas, rows, units of a row).

    v uint8 (rows, n_visible); units int32 (rows, k); betas: inverse temperatures.
    """
    x, out = (v.astype(np.float32) @ rbm.W + rbm.c).astype(np.float64), np.empty((len(betas), *units.shape))
    for beta, odds in zip(betas, out, strict=True):
        W, b = np.multiply(rbm.W, beta, dtype=np.float64), beta * rbm.b
        W.clip(-700, 700, out=W)  # so that exponentials are finite
        peak, alone = max(W.max(), -W.min()), np.stack([b, -b - W.sum(axis=1)], axis=1)
        means = np.stack([sigmoid(-beta * x), sigmoid(beta * x)])
        kernels.pseudo_likelihood.log_odds(v, units, means, np.exp(W, out=W), peak, alone, odds)
    return out


class PseudoLikelihood:
    """The pseudo-likelihood (Besag, 1975) of rows, uint8 (chains, draws, n_visible), at any temperature.

    Its logarithm is the sum over rows and units of log sigma(F_beta(v with the unit flipped) - F_beta(v)),
    F_beta the free energy of the RBM (beta W, beta b, beta c), from which the Gibbs sampler draws at
    temperature 1 / beta.
    """

    def __init__(self, rbm: RBM, rows: np.ndarray) -> None:
        self._rbm, self._shape, self.batches = rbm, rows.shape[:2], batches_of(rows)
        self._rows = np.ascontiguousarray(rows.reshape(-1, rbm.n_visible))
        units = np.tile(np.arange(rbm.n_visible, dtype=np.int32), (len(self._rows), 1))
        if rbm.n_visible > FLIPPED_UNITS:
            units = rng.generator(0, "effective temperature").permuted(units, axis=1)[:, :FLIPPED_UNITS]
        self._units = np.ascontiguousarray(units)
        self.at = functools.cache(self._at)  # a search begins where a test has looked

    def _at(self, beta: float) -> Slope:
        """Return the slope at an inverse temperature."""
        odds = flip_odds(self._rbm, self._rows, self._units, beta - HALF_STEP, beta + HALF_STEP)
        low, high = -np.logaddexp(0, odds).sum(axis=2)
        slopes, p = (odds[1] - odds[0]) / (2 * HALF_STEP), sigmoid(odds.mean(axis=0))
        information = float((p * (1 - p) * slopes**2).sum())
        by_row = ((high - low) / (2 * HALF_STEP)).reshape(self._shape)
        # Where flips are rare, few rows make the slope: then what the model expects is the better estimate.
        return Slope(float(by_row.sum()), information, max(float(batch_variance(by_row)), information))

    def highest(self, beta: float = 1.0) -> tuple[float, Slope]:
        """Return where in TRIED_BETAS the pseudo-likelihood is highest, and the slope beside it.

        By Newton's method from beta on.
        """
        for _ in range(50):
            at, largest = self.at(beta), max(abs(beta) / 2, 0.25)
            change = np.clip(at.slope / at.information, -largest, largest) if at.information > 0 else 0.0
            before, beta = beta, float(np.clip(beta + change, *TRIED_BETAS))
            if abs(beta - before) < HALF_STEP:  # the next step would be far smaller
                break
        return beta, at

    def end(self, beta: float, quantile: float) -> float:
        """Return where, below beta or above for a negative quantile, the slope is so many standard errors.

        Infinite if that is nowhere in TRIED_BETAS.
        """
        from scipy.optimize import brentq  # imported here, because importing it takes long

        beyond, width = beta, 0.02
        while (self.at(beyond).in_errors - quantile) * quantile < 0:
            if not TRIED_BETAS[0] <= beyond <= TRIED_BETAS[1]:
                return -np.sign(quantile) * np.inf
            beyond, width = beyond - np.sign(quantile) * width, 2 * width
        return float(brentq(lambda x: self.at(x).in_errors - quantile, beta, beyond, xtol=HALF_STEP / 10))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


@metric("effective_temperature")
def effective_temperature(samples: Any, model: AnyModel) -> EffectiveTemperature:
    """Return the inverse temperature at which samples look most like the model's, unit by unit.

    It is where ``PseudoLikelihood`` (Besag, 1975) is highest, which needs no log Z. It is local: it works for
    a chain in a single mode, and says nothing of modes that were never visited. Of large models it looks at
    about 200 samples, evenly spaced, and 128 units of each. The interval has all inverse temperatures that
    the slope does not reject, with a variance that counts autocorrelation.

    Parameters
    ----------
    samples : Samples, or uint8 (draws, n_visible) or (chains, draws, n_visible)
        At least 16 draws of each chain.
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
    from scipy.stats import t

    rbm = as_rbm(model)
    kept = thinned(samples, rbm)
    if kept.rounds < FEWEST_DRAWS:
        raise BadInput(f"effective_temperature: {kept.rounds} draws of each chain; give {FEWEST_DRAWS}.")
    likelihood = PseudoLikelihood(rbm, local_rows(kept, rbm))
    if not likelihood.at(1.0).information > 0:
        return EffectiveTemperature(np.nan, (np.nan, np.nan), np.nan)
    beta, at = likelihood.highest()
    quantile = float(t.ppf(0.975, likelihood.batches - 1))
    interval = likelihood.end(beta, quantile), likelihood.end(beta, -quantile)
    return EffectiveTemperature(beta, interval, at.std_error)
