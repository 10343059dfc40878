"""Does a driven sampler improve its model? The likelihood of theta + theta_F, now and averaged over time.

Paper rates-FPCD, abstract and section 4: sampling with rates optimises a lower bound on the training set's
log-likelihood, and so improves a model that has not converged. The claim concerns the average over time: at
any moment theta + theta_F is pushed away from the newest samples, and is far worse.
"""

from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.metrics import LogLikelihood, log_likelihood
from rbmviz.rbm import RBM, Model
from rbmviz.samplers import Sampler, Samples
from rbmviz.samplers.interleave import copy_into, empty_samples

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


def target_likelihood(
    model: RBM, now: RBM, average: TargetAverage, v: np.ndarray, seed: rng.Seed = 0
) -> dict[str, LogLikelihood | None]:
    """Return the mean log-likelihoods of the same rows under a model and a sampler's target model.

    model : the sampled model: the entry "model"
    now : ``sampler.target(state)``: "now"
    average : the average over the drawn samples: "averaged", None before the first ``TARGET_STRIDE`` of them
    v : uint8 (n, n_visible); rows of 0 and 1, such as the training set, which AIS begins at
    seed : int, SeedSequence or Generator: of AIS (default 0)

    Raises BadInput if the rows do not fit the model.
    """
    models = {"model": model, "now": now, "averaged": average.mean}

    def scored(rbm: RBM) -> LogLikelihood:
        return log_likelihood(Model(rbm, rbm.rates(v)), v, chains=64, seed=seed)

    return {name: None if rbm is None else scored(rbm) for name, rbm in models.items()}
