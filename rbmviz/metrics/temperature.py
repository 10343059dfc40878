"""The effective temperature of samples: the one at which the model best explains each unit by the others."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rbmviz import kernels, rng
from rbmviz.errors import BadInput
from rbmviz.metrics.thinned import Thinned, thinned
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric

FEWEST_DRAWS = 16
"""Draws of each chain that are needed."""

UNITS = 128
"""Units of a sample that are flipped, drawn at random; all, if there are fewer."""

RANGE = -1.0, 20.0
"""Inverse temperatures that are looked for: uniform noise has 0, give or take its error."""

STEP = 0.01
"""Half the difference of inverse temperatures by which the derivative is taken."""

COVERED = 0.95
"""Share of runs whose interval contains the inverse temperature."""


@dataclass(frozen=True)
class EffectiveTemperature:
    """An inverse temperature with its 95 % interval.

    Parameters
    ----------
    beta : float
        Inverse temperature: below 1 the samples are hotter than the model, above 1 colder. NaN, as the rest,
        if the samples look the same at all temperatures.
    interval : tuple of float
        Lower and upper end; the upper one is infinite if no unlikely value of a unit sets a limit.
    std_error : float
        Standard error of beta, autocorrelation included.
    """

    beta: float
    interval: tuple[float, float]
    std_error: float


class Score(NamedTuple):
    """The pseudo-likelihood at one inverse temperature, summed over all rows.

    value : pseudo-log-likelihood
    slope : its derivative, the score
    information : less its second derivative, as expected
    variance : variance of the score, autocorrelation included
    """

    value: float
    slope: float
    information: float
    variance: float

    @property
    def in_errors(self) -> float:
        """The score in its standard errors; 0 without information."""
        return self.slope / np.sqrt(self.variance) if self.variance > 0 else 0.0


def batch_variance(values: np.ndarray) -> np.ndarray:
    """Return the variance of the sum over values (chains, draws, ...), by means of batches.

    The batches are as long as the square root of a chain: the estimate needs no model of the autocorrelation.
    At least the variance of independent draws.
    """
    chains, draws = values.shape[:2]
    length = max(int(np.sqrt(draws)), 1)
    batches = values[:, : draws // length * length].reshape(chains, -1, length, *values.shape[2:])
    of_means = batches.mean(axis=2).reshape(-1, *values.shape[2:]).var(axis=0, ddof=1)
    return chains * draws * np.maximum(length * of_means, values.var(axis=(0, 1)))


def batches_of(values: np.ndarray) -> int:
    """Return the number of batches of ``batch_variance``."""
    chains, draws = values.shape[:2]
    return int(chains * (draws // max(int(np.sqrt(draws)), 1)))


class PseudoLikelihood:
    """The pseudo-likelihood (Besag, 1975) of rows, uint8 (chains, draws, n_visible), at any temperature.

    It is the sum over rows and units of log sigma(F_beta(v with the unit flipped) - F_beta(v)), F_beta the
    free energy of the RBM (beta W, beta b, beta c), which the Gibbs sampler at temperature 1 / beta draws
    from.
    """

    def __init__(self, rbm: RBM, rows: np.ndarray) -> None:
        self._shape, m = rows.shape[:2], rows.shape[2]
        flat = rows.reshape(-1, m)
        self._units = np.tile(np.arange(m, dtype=np.int32), (len(flat), 1))
        if m > UNITS:
            g = rng.generator(0, "effective temperature")
            self._units = np.ascontiguousarray(g.permuted(self._units, axis=1)[:, :UNITS])
        self._flips = Flips(rbm, flat)
        self.batches = batches_of(rows)

    def at(self, beta: float) -> Score:
        """Return the pseudo-likelihood at an inverse temperature."""
        low, high = (self._flips.log_odds(self._units, beta + step) for step in (-STEP, STEP))
        value = [-np.logaddexp(0, odds).sum(axis=1) for odds in (low, high)]
        slopes, p = (high - low) / (2 * STEP), probability((low + high) / 2)
        information = float((p * (1 - p) * slopes**2).sum())
        by_row = ((value[1] - value[0]) / (2 * STEP)).reshape(self._shape)
        # Where flips are rare, few rows make the score: then what the model expects is the better estimate.
        variance = max(float(batch_variance(by_row)), information)
        return Score(float(np.sum(value)) / 2, float(by_row.sum()), information, variance)

    def highest(self, beta: float = 1.0) -> tuple[float, Score]:
        """Return where in RANGE the pseudo-likelihood is highest, by Newton's method from beta on."""
        at = self.at(beta)
        for _ in range(50):
            if not at.information > 0:
                break
            largest = max(abs(beta) / 2, 0.25)
            change = float(np.clip(at.slope / at.information, -largest, largest))
            while True:
                to = float(np.clip(beta + change, *RANGE))
                there = self.at(to)
                if there.value >= at.value or abs(change) < STEP**2:
                    break
                change /= 2
            moved, beta, at = abs(to - beta), to, there
            if moved < STEP**2:
                break
        return beta, at

    def end(self, beta: float, quantile: float) -> float:
        """Return the end of the interval of inverse temperatures from beta on: where |score| is quantile.

        The sign of quantile says on which side; infinite if there is none in RANGE.
        """
        side = -1 if quantile > 0 else 1
        inside, width = beta, 0.02
        while abs(self.at(outside := inside + side * width).in_errors) < abs(quantile):
            inside, width = outside, 2 * width
            if not RANGE[0] - 1 < inside < RANGE[1]:
                return side * np.inf
        while abs(outside - inside) > STEP / 10:
            middle = (inside + outside) / 2
            if abs(self.at(middle).in_errors) < abs(quantile):
                inside = middle
            else:
                outside = middle
        return (inside + outside) / 2


class Flips:
    """Log odds of flipping single units of rows, uint8 (rows, n_visible)."""

    def __init__(self, rbm: RBM, v: np.ndarray) -> None:
        self._rbm, self._v = rbm, np.ascontiguousarray(v)
        self._x = v.astype(np.float32) @ rbm.W + rbm.c

    def log_odds(self, units: np.ndarray, beta: float) -> np.ndarray:
        """Return log p(flipped) - log p(row) at inverse temperature beta, float64 (rows, units of a row)."""
        out = np.empty(units.shape)
        kernels.flips.log_odds(self._v, units, self._x, self._rbm.W, self._rbm.b, np.float32(beta), out)
        return out


def local_rows(kept: Thinned, rbm: RBM) -> np.ndarray:
    """Return the kept rows that are looked at unit by unit, uint8 (chains, draws, n_visible)."""
    every, chains = kept.local(rbm.n_hidden)
    return kept.rows(0, every, chains)


def probability(log_odds: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-log_odds))."""
    return 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))


@metric("effective_temperature")
def effective_temperature(samples: Any, model: AnyModel) -> EffectiveTemperature:
    """Return the inverse temperature at which samples look most like the model's, unit by unit.

    It is where ``PseudoLikelihood`` is highest, which needs no log Z. It is local: it works for a chain in a
    single mode, and says nothing of modes that were never visited. Not all samples and units are looked at:
    of a large model about 200 samples, evenly spaced, and 128 units of each. The interval has all
    temperatures that the score does not reject, with a variance that counts autocorrelation (batch means).

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
    from scipy.stats import t  # imported here, because importing it takes long

    rbm = as_rbm(model)
    kept = thinned(samples, rbm)
    if kept.rounds < FEWEST_DRAWS:
        raise BadInput(f"effective_temperature: {kept.rounds} draws of each chain; give {FEWEST_DRAWS}.")
    likelihood = PseudoLikelihood(rbm, local_rows(kept, rbm))
    if not likelihood.at(1.0).information > 0:
        return EffectiveTemperature(np.nan, (np.nan, np.nan), np.nan)
    beta, at = likelihood.highest()
    quantile = float(t.ppf((1 + COVERED) / 2, max(likelihood.batches - 1, 1)))
    interval = likelihood.end(beta, quantile), likelihood.end(beta, -quantile)
    error = float(np.sqrt(at.variance)) / at.information if at.information > 0 else np.inf
    return EffectiveTemperature(beta, interval, error)
