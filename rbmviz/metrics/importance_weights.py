"""Importance weights: effective sample size, shares of the heaviest weights, logarithm of their mean."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class EssAtSize(NamedTuple):
    """Mean effective sample size of ``batches`` batches of ``size`` weights, and its standard error."""

    size: int
    ess: float
    std_error: float
    batches: int


def ess_by_size(log_weights: np.ndarray) -> list[EssAtSize]:
    """Return the effective sample size, 1 / sum of the squared shares, of batches of 1, 2, 4, 8, ... weights.

    Batches are consecutive weights, so that each weight counts once at every size; an incomplete batch at the
    end is dropped. The standard error of a single batch is NaN.

    log_weights : float64 (n,); logarithms of the weights
    """
    log_sum, log_sum_of_squares = log_weights, 2 * log_weights
    sizes: list[EssAtSize] = []
    while len(log_sum):
        ess = np.exp(2 * log_sum - log_sum_of_squares)
        error = float(ess.std(ddof=1) / len(ess) ** 0.5) if len(ess) > 1 else float("nan")
        sizes.append(EssAtSize(2 ** len(sizes), float(ess.mean()), error, len(ess)))
        pairs = len(log_sum) // 2 * 2
        log_sum = np.logaddexp(log_sum[0:pairs:2], log_sum[1:pairs:2])
        log_sum_of_squares = np.logaddexp(log_sum_of_squares[0:pairs:2], log_sum_of_squares[1:pairs:2])
    return sizes


def heaviest_shares(log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Lorenz curve of weights: shares of the samples, heaviest first, and of the weight in them.

    log_weights : float64 (n,); logarithms of the weights

    Both are float64 (points,): at most 120 points, log-spaced from the heaviest sample to all samples.
    """
    n = len(log_weights)
    weights = np.sort(np.exp(log_weights - log_weights.max()))[::-1]
    held = np.cumsum(weights)
    counts = np.unique(np.geomspace(1, n, 120).round().astype(int))
    return counts / n, held[counts - 1] / held[-1]


@dataclass
class LogMean:
    """Streaming logarithm of the mean weight, an estimate of log Z, from independent batches of one size.

    Weights in one batch may depend on each other (with a mixture proposal they do); the standard error is
    therefore estimated from the differences between batches.
    """

    n: int = 0
    batches: int = 0
    _sum: float = -np.inf
    _squares: float = -np.inf

    def update(self, log_weights: np.ndarray) -> "LogMean":
        """Add the log weights of one batch, float64 (n,)."""
        total = float(np.logaddexp.reduce(log_weights))
        self._sum = float(np.logaddexp(self._sum, total))
        self._squares = float(np.logaddexp(self._squares, 2 * total))
        self.n += len(log_weights)
        self.batches += 1
        return self

    @property
    def value(self) -> float:
        """Log of the mean weight, in nats; NaN before the first batch."""
        return self._sum - float(np.log(self.n)) if self.n else float("nan")

    @property
    def std_error(self) -> float:
        """Standard error of ``value`` by the delta method, in nats; NaN before the second batch.

        It is at most 1. If one batch has nearly all the weight, larger weights are probably still to come,
        and the standard error is too small.
        """
        if self.batches < 2:
            return float("nan")
        # The mean squared sum of the batches over the square of their mean sum.
        ratio = np.exp(self._squares - 2 * self._sum) * self.batches
        return float(np.sqrt(max(ratio - 1, 0.0) / (self.batches - 1)))
