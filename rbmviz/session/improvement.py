"""Likelihoods of theta + theta_F, computed alongside a run to show whether a sampler improves its model."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rbmviz.rbm import RBM
from rbmviz.samplers import Sampler, Samples
from rbmviz.samplers.target_likelihood import (
    TARGET_STRIDE,
    TargetAverage,
    TargetLikelihood,
    mean_log_likelihood,
)
from rbmviz.session.pools import FULL_SPEED
from rbmviz.session.training import (
    LIVE_AIS_CHAINS,
    LIVE_AIS_TEMPERATURES,
    MAX_UNITS_EXACT_LIKELIHOOD,
    scored_examples,
)

GROWTH = 1.5
"""Factor between the numbers of samples of two estimates, which are the same for all runs."""

SETTINGS: dict[str, Any] = {
    "max_units": MAX_UNITS_EXACT_LIKELIHOOD,
    "n_chains": LIVE_AIS_CHAINS,
    "betas": LIVE_AIS_TEMPERATURES,
}
"""Settings of likelihood estimates during a run; all models use the same seed."""


class Improvement:
    """The running average of theta + theta_F, and its likelihoods after certain numbers of samples.

    model : the model that is sampled
    v : uint8 (n, n_visible); training examples, of which evenly spaced ones are scored

    at : the likelihoods by number of samples
    """

    def __init__(self, model: RBM, v: np.ndarray) -> None:
        self._model, self._v = model, scored_examples(v)
        self._average = TargetAverage()
        self._own: tuple[float, float] | None = None
        self.at: Mapping[int, TargetLikelihood] = {}
        self._due = TARGET_STRIDE  # number of samples of the next estimate
        self._waiting: list[tuple[RBM, RBM, int]] = []  # rarely two, because their distances grow
        self._busy = False  # whether an estimate is in progress

    @property
    def until_due(self) -> int:
        """Number of samples until the next estimate."""
        return self._due - self._average.samples

    def step(self, sampler: Sampler, state: Any, n: int) -> Samples:
        """Return the next n samples, at most ``until_due``; averaging does not change them."""
        samples = self._average.step(sampler, state, n)
        if self.until_due <= 0:
            mean = self._average.mean
            if mean is not None:
                self._waiting.append((sampler.target(state), mean, self._due))
            self._due = TARGET_STRIDE * math.ceil(GROWTH * self._due / TARGET_STRIDE)
        return samples

    def request(self) -> Mapping[int, TargetLikelihood]:
        """Return the likelihoods so far, and start the next estimate that waits."""
        if not self._busy and self._waiting:
            self._busy = True
            FULL_SPEED.submit(self._compute)
        return self.at

    def _compute(self) -> None:
        def value(rbm: RBM) -> tuple[float, float]:
            return mean_log_likelihood(rbm, self._v, **SETTINGS)

        try:
            now, mean, n = self._waiting.pop(0)
            self._own = self._own or value(self._model)
            self.at = {**self.at, n: TargetLikelihood(self._own, value(now), value(mean), n)}
        finally:
            self._busy = False
