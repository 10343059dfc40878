"""Parameters of an RBM in writable arrays, and directions in parameter space, such as gradients."""

from typing import NamedTuple

import numpy as np

from rbmviz import kernels


class Parameters(NamedTuple):
    """Writable parameters, or a direction in parameter space.

    Attributes
    ----------
    W, b, c : float32 (n_visible, n_hidden), (n_visible,), (n_hidden,)
    """

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray


class FixedParameters(Parameters):
    """The parameters of one update, which do not change while this object exists."""

    _seen: tuple[np.ndarray, np.ndarray] | None = None

    def up(self, v: np.ndarray) -> np.ndarray:
        """Return v W, float32 (rows, n_hidden), not to be written to.

        The last product is cached, because the chains of CD start at the mini-batch, for which the positive
        statistics need the same product. The cache compares identity: an array whose rows change
        between two calls must be copied first.
        """
        if self._seen is None or self._seen[0] is not v:
            self._seen = v, kernels.batch.times(v, self.W)
        return self._seen[1]

    def down(self, h: np.ndarray) -> np.ndarray:
        """Return h W', float32 (rows, n_visible)."""
        return kernels.batch.times_transposed(h, self.W)


def plus(a: Parameters, b: Parameters) -> Parameters:
    """Return a + b."""
    return Parameters(a.W + b.W, a.b + b.b, a.c + b.c)


def zeros_like(a: Parameters) -> Parameters:
    """Return the direction 0."""
    return Parameters(*(np.zeros_like(x) for x in a))


def difference(positive: Parameters, negative: Parameters) -> Parameters:
    """Return the gradient, positive minus negative statistics (overwrites the positive ones)."""
    for p, q in zip(positive, negative, strict=True):
        p -= q
    return positive


def norm(theta: Parameters) -> float:
    """Return the Euclidean norm over all parameters."""
    return float(np.sqrt(sum(float(np.vdot(x, x)) for x in theta)))
