"""Likelihoods of theta + theta_F, computed alongside a run to show whether a sampler improves its model."""

import time
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

SHARE = 4
"""Minimum time between the starts of two estimates, as a multiple of the first one's duration."""

SETTINGS: dict[str, Any] = {
    "max_units": MAX_UNITS_EXACT_LIKELIHOOD,
    "n_chains": LIVE_AIS_CHAINS,
    "betas": LIVE_AIS_TEMPERATURES,
}
"""Settings of likelihood estimates during a run; all models use the same seed."""


class Improvement:
    """The running average of theta + theta_F, and the newest likelihoods.

    model : the model that is sampled
    v : uint8 (n, n_visible); training examples, of which evenly spaced ones are scored
    """

    def __init__(self, model: RBM, v: np.ndarray) -> None:
        self._model, self._v = model, scored_examples(v)
        self._average = TargetAverage()
        self._own: tuple[float, float] | None = None
        self._newest: TargetLikelihood | None = None
        self._busy = False  # whether an estimate is in progress
        self._models: tuple[RBM, RBM | None, int] = model, None, 0  # of the estimate in progress
        self._begun, self._took = 0.0, 0.0

    def step(self, sampler: Sampler, state: Any, n: int) -> Samples:
        """Return the next n samples; averaging does not change them."""
        return self._average.step(sampler, state, n)

    def newest(self, now: RBM) -> TargetLikelihood | None:
        """Return the newest likelihoods, None before the first, and start an estimate for ``now``."""
        if not self._busy and time.monotonic() > self._begun + SHARE * self._took:
            self._busy, self._begun = True, time.monotonic()
            self._models = now, self._average.mean, self._average.models * TARGET_STRIDE
            FULL_SPEED.submit(self._compute)
        return self._newest

    def _compute(self) -> None:
        def value(rbm: RBM) -> tuple[float, float]:
            return mean_log_likelihood(rbm, self._v, **SETTINGS)

        try:
            now, mean, samples = self._models
            self._own = self._own or value(self._model)
            averaged = None if mean is None else value(mean)
            self._newest = TargetLikelihood(self._own, value(now), averaged, samples)
        finally:
            self._took, self._busy = time.monotonic() - self._begun, False
