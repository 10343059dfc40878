"""How even importance weights are: effective sizes, shares of the heaviest; the logarithm of their mean."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class BatchSize(NamedTuple):
    """Effective sample size of batches of ``size`` weights: mean over ``batches`` batches, standard error."""

    size: int
    ess: float
    std_error: float
    batches: int


def ess_by_size(log_weights: np.ndarray) -> list[BatchSize]:
    """Return the effective sample size, 1 / sum of the squared shares, of batches of 1, 2, 4, 8, ... weights.

    Batches are cut from consecutive weights, float64 (n,), so that each weight counts once at every size;
    those left over at the end are dropped. The standard error is NaN where there is a single batch.
    """
    once, twice = log_weights, 2 * log_weights
    found: list[BatchSize] = []
    while len(once):
        ess = np.exp(2 * once - twice)
        error = float(ess.std(ddof=1) / len(ess) ** 0.5) if len(ess) > 1 else float("nan")
        found.append(BatchSize(2 ** len(found), float(ess.mean()), error, len(ess)))
        pairs = len(once) // 2 * 2
        once = np.logaddexp(once[0:pairs:2], once[1:pairs:2])
        twice = np.logaddexp(twice[0:pairs:2], twice[1:pairs:2])
    return found


def heaviest_shares(log_weights: np.ndarray, most: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return (share of the samples, share of all weight that the heaviest so many hold), float64 (points,).

    The Lorenz curve from its heavy end, at up to ``most`` numbers of samples, evenly spaced in their
    logarithm, the first sample and all of them included.
    """
    n = len(log_weights)
    weights = np.sort(np.exp(log_weights - log_weights.max()))[::-1]
    held = np.cumsum(weights)
    counts = np.unique(np.geomspace(1, n, most).round().astype(int))
    return counts / n, held[counts - 1] / held[-1]


@dataclass
class LogMean:
    """Streaming logarithm of the mean weight, the estimate of log Z, from batches that are independent.

    Weights of one batch may depend on each other (those of a mixture proposal do), so the error is read from
    the differences between batches, all of one size.
    """

    n: int = 0
    batches: int = 0
    _sum: float = -np.inf
    _squares: float = -np.inf

    def update(self, log_weights: np.ndarray) -> "LogMean":
        """Count one batch, float64 (n,)."""
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

        At most 1: where one batch holds nearly all of the weight it says nothing of the weights never seen.
        """
        if self.batches < 2:
            return float("nan")
        # The mean of the squares of the batches' sums, over the square of their mean.
        ratio = np.exp(self._squares - 2 * self._sum) * self.batches
        return float(np.sqrt(max(ratio - 1, 0.0) / (self.batches - 1)))
