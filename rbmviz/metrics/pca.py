"""The first two principal directions of data: the plane in which samples are compared with them."""

from typing import NamedTuple

import numpy as np

from rbmviz.datasets import AnyData, as_dataset
from rbmviz.datasets.record import Dataset, once_per_dataset
from rbmviz.errors import BadInput
from rbmviz.support import checks

MAX_EXAMPLES = 2000
"""Most training examples that the directions are computed from: 0.2 s for 784 units."""


class PrincipalPlane(NamedTuple):
    """The plane through the mean of the data in which the data vary most.

    Parameters
    ----------
    mean : float64 (n_visible,)
        Mean of the examples.
    directions : float64 (n_visible, 2)
        Orthonormal, the one with more variance first; the largest entry of each is positive.
    shares : float64 (2,)
        Share of the total variance in each direction.
    """

    mean: np.ndarray
    directions: np.ndarray
    shares: np.ndarray

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return the coordinates of rows (n, n_visible) in the plane, float64 (n, 2)."""
        v = checks.numbers("PCA: the samples", v)
        if v.ndim != 2 or v.shape[1] != len(self.mean):
            raise BadInput(f"PCA: the samples have shape {v.shape}; it must be (n, {len(self.mean)}).")
        return (v - self.mean) @ self.directions


@once_per_dataset
def _plane(dataset: Dataset) -> PrincipalPlane:
    from scipy.linalg import eigh  # takes 50 ms to import

    if dataset.n_visible < 2:
        raise BadInput(f"PCA: {dataset.name} has a single unit; two directions need two.")
    rows = dataset.train[evenly(len(dataset.train), MAX_EXAMPLES)].astype(np.float64)
    mean = rows.mean(axis=0)
    rows -= mean
    wide = rows.shape[1] > len(rows)
    gram = rows @ rows.T if wide else rows.T @ rows
    values, vectors = eigh(gram, subset_by_index=[len(gram) - 2, len(gram) - 1])
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    directions = rows.T @ vectors if wide else vectors
    directions = directions / np.maximum(np.linalg.norm(directions, axis=0), 1e-12)
    directions *= np.sign(directions[np.abs(directions).argmax(axis=0), [0, 1]])
    return PrincipalPlane(mean, directions, values / np.trace(gram))


def principal_plane(dataset: AnyData) -> PrincipalPlane:
    """Return the plane of the training part, of at most 2,000 examples; it is computed once per data set.

    Parameters
    ----------
    dataset : Dataset
        Its training part, uint8 (n, n_visible), has two units or more.

    Examples
    --------
    >>> plane = rbmviz.metrics.principal_plane("digits")
    >>> plane.directions.shape, bool(0.1 < plane.shares[0] < 0.3)
    ((64, 2), True)
    """
    plane: PrincipalPlane = _plane(as_dataset(dataset))
    return plane


def evenly(total: int, most: int) -> np.ndarray:
    """Return the indices of at most ``most`` of ``total`` rows, evenly spaced, int64."""
    return np.arange(min(total, most)) * total // min(total, most)
