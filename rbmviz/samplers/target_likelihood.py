"""Does a driven sampler improve its model? The likelihood of theta + theta_F, now and averaged over time.

Paper rates-FPCD, abstract and section 4: sampling with rates optimises a lower bound on the training set's
log-likelihood, and so improves a model that has not converged. The claim concerns the average over time: at
any moment theta + theta_F is pushed away from the newest samples, and is far worse.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.metrics import ais_log_z, log_z
from rbmviz.metrics.exact import MAX_UNITS_ENUMERATED
from rbmviz.rbm import RBM
from rbmviz.samplers import Sampler, Samples
from rbmviz.samplers.interleave import copy_into, empty_samples
from rbmviz.support import checks

TARGET_STRIDE = 100
"""Number of samples between the models of an average."""


class TargetAverage:
    """The mean of a sampler's target models: theta + theta_F after every TARGET_STRIDE samples.

    Attributes
    ----------
    samples : int
        Number of samples so far.
    models : int
        Number of models in the mean.
    """

    def __init__(self) -> None:
        self.samples = self.models = 0
        self._sums: list[np.ndarray] = []

    def step(self, sampler: Sampler, state: Any, n: int) -> Samples:
        """Return the next n samples of the sampler; averaging does not change them."""
        out, done = None, 0
        while done < n:
            m = min(TARGET_STRIDE - self.samples % TARGET_STRIDE, n - done)
            samples = sampler.step(state, m)
            if m == n:
                out = samples
            else:
                out = empty_samples(samples, n) if out is None else out
                copy_into(out, slice(done, done + m), samples, slice(0, m))
            done += m
            self.samples += m
            if self.samples % TARGET_STRIDE == 0:
                self._add(sampler.target(state))
        return sampler.step(state, 0) if out is None else out

    def _add(self, model: RBM) -> None:
        parts = (model.W, model.b, model.c)
        self._sums = self._sums or [np.zeros(x.shape) for x in parts]
        for total, x in zip(self._sums, parts, strict=True):
            total += x
        self.models += 1

    @property
    def mean(self) -> RBM | None:
        """The model with the mean of all parameters; None before the first TARGET_STRIDE samples."""
        return RBM(*(total / self.models for total in self._sums)) if self.models else None


@dataclass(frozen=True)
class TargetLikelihood:
    """Mean log-likelihoods of the same rows, in nats, each with the standard error of log Z.

    Parameters
    ----------
    model, now, averaged : (float, float) or None
        For the model itself, theta + theta_F now, and its average over the samples (None before the first).
    samples : int
        Number of samples that the average covers.
    """

    model: tuple[float, float]
    now: tuple[float, float]
    averaged: tuple[float, float] | None
    samples: int

    @property
    def method(self) -> str:
        """Method used for log Z: "exact" or "ais"."""
        return "ais" if self.model[1] else "exact"


def mean_log_likelihood(
    rbm: RBM,
    v: np.ndarray,
    *,
    max_units: int = MAX_UNITS_ENUMERATED,
    n_chains: int = 64,
    betas: int = 1000,
    seed: rng.Seed = 0,
) -> tuple[float, float]:
    """Return the mean log-likelihood of rows in nats, and the standard error of log Z: 0 if it is exact.

    rbm : the model
    v : uint8 (n, n_visible); rows of 0 and 1
    max_units : models with at most this many units in the smaller layer are enumerated (default 25)
    n_chains, betas, seed : for annealed importance sampling, see ``metrics.ais_log_z``

    Raises BadInput if the rows do not fit the model.
    """
    v = checks.bits("The data", v, rbm.n_visible)
    unnormalised = float(-rbm.free_energy(v).mean())
    if min(rbm.W.shape) <= min(max_units, MAX_UNITS_ENUMERATED):
        return unnormalised - log_z(rbm), 0.0
    annealed = ais_log_z(rbm, v, n_chains=n_chains, betas=betas, seed=seed)
    return unnormalised - annealed.log_z, annealed.std_error


def target_likelihood(
    model: RBM, now: RBM, average: TargetAverage, v: np.ndarray, **settings: Any
) -> TargetLikelihood:
    """Compare a model with a sampler's target model, now and on average.

    model : the sampled model
    now : ``sampler.target(state)``
    average : the average over the drawn samples
    v : uint8 (n, n_visible); rows of 0 and 1, such as the training set
    settings : further arguments of ``mean_log_likelihood``; errors: see ``mean_log_likelihood``
    """
    mean = average.mean
    return TargetLikelihood(
        mean_log_likelihood(model, v, **settings),
        mean_log_likelihood(now, v, **settings),
        None if mean is None else mean_log_likelihood(mean, v, **settings),
        average.models * TARGET_STRIDE,
    )
