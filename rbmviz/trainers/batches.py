"""Batches of rows: mini-batches of the data, and chains that make their Gibbs sweeps side by side."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rbmviz import kernels, rng
from rbmviz.errors import BadInput
from rbmviz.rbm.parameters import FixedParameters, Rows
from rbmviz.support.stopping import stop_point

MAX_COMPARED_CHAINS = 256
"""Chains of an update whose statistics are compared for their variance."""

USUAL_BATCH = 100
"""Rows of a mini-batch if the knob ``batch_size`` is 0 and the data have at least this many."""


def too_large(size: int, n: int) -> BadInput:
    """Return the error for a mini-batch larger than the data."""
    return BadInput(f"batch_size = {size} is more than the {n} rows of training data: give {n} or less.")


@dataclass(eq=False)
class Batches:
    """Mini-batches of whole epochs, each a fresh permutation of the data.

    Attributes
    ----------
    data : uint8 (n, n_visible)
        The training rows, which checkpoints leave out.
    generator : Generator
        Draws the permutations.
    order : int64 (rows left,)
        Indices of the rows that are left in this epoch, in the order in which they will be used.
    """

    data: np.ndarray = field(metadata={"saved": False})
    generator: np.random.Generator
    order: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def fingerprint(self) -> str:
        """Shape and SHA-256 of the data, by which a checkpoint recognises them."""
        digest = hashlib.sha256(np.ascontiguousarray(self.data, dtype=np.uint8).data).hexdigest()
        return f"{self.data.shape} {digest}"

    def next(self, size: int) -> np.ndarray:
        """Return the next mini-batch, float32 (size, n_visible), see ``take``."""
        return self.rows(self.take(size, 1)[0])

    def take(self, size: int, n: int) -> np.ndarray:
        """Return the indices of n mini-batches, int64 (n, size); 0 means 100 rows, or all if there are fewer.

        Raises
        ------
        BadInput
            If the data have fewer rows.
        """
        rows = len(self.data)
        if size > rows:
            raise too_large(size, rows)
        size = size or min(USUAL_BATCH, rows)
        while len(self.order) < n * size:
            self.order = np.concatenate([self.order, self.generator.permutation(rows)])
        taken, self.order = self.order[: n * size], self.order[n * size :]
        return taken.reshape(n, size)

    @cached_property
    def packed(self) -> np.ndarray | None:
        """The rows that mini-batches have, see ``kernels.updates.packed``; None if they are not bits."""
        return kernels.updates.packed(self.data)

    def rows(self, order: np.ndarray) -> np.ndarray:
        """Return the rows with these indices, float32 (len(order), n_visible)."""
        return self.data[order].astype(np.float32)


def mean_hidden(theta: FixedParameters, v: np.ndarray) -> np.ndarray:
    """Return E[h|v], float32 (rows, n_hidden), for v float32 (rows, n_visible)."""
    h = np.empty((len(v), len(theta.c)), np.float32)
    kernels.updates.means(theta.inputs(v), np.float32(1), h)
    return h


def sweep(theta: FixedParameters, v: np.ndarray, stream: np.ndarray) -> np.ndarray:
    """Make one Gibbs sweep of every row.

    Parameters
    ----------
    theta : FixedParameters
        Parameters of the model that is sampled.
    v : float32 (rows, n_visible)
        States of the chains, values 0 and 1; not written to.
    stream : uint32 (4, STREAM_LANES)
        Random stream, advanced in place.

    Returns
    -------
    float32 (rows, n_visible)
        Their states after the sweep, values 0 and 1.
    """
    stop_point()
    return theta.sweep(v, stream)


def statistics(v: np.ndarray, h: np.ndarray, weights: np.ndarray | None = None) -> Rows:
    """Return <v h'>, <v>, <h> over rows of v float32 (rows, n_visible) and h float32 (rows, n_hidden)."""
    return Rows(v, h, weights)


def variances(v: np.ndarray, h: np.ndarray, weights: np.ndarray | None = None) -> dict[str, float]:
    """Return the variance of the statistics of one chain, summed over the parameters of W, of b and of c.

    Parameters
    ----------
    v, h : float32 (chains, n_visible), (chains, n_hidden)
        States of the chains of one update, and E[h|v]. The first MAX_COMPARED_CHAINS of them are used.
    weights : float (chains,), optional
        The estimate is the mean over chains with these weights, as in pop-CD; its variance (by the delta
        method) is then also given per chain. Default: equal weights.

    Returns
    -------
    dict of float
        ``variance_W``, ``variance_b``, ``variance_c``; NaN of fewer than two chains.
    """
    v, h = v[:MAX_COMPARED_CHAINS], h[:MAX_COMPARED_CHAINS]
    n = len(v)
    w = np.full(n, 1 / n) if weights is None else weights[:n] / weights[:n].sum()
    # <f_i, f_j> of all pairs of chains: W itself, of n_visible x n_hidden numbers a chain, is never made.
    of_v, of_h = (v @ v.T).astype(np.float64), (h @ h.T).astype(np.float64)
    summed = {}
    for name, products in (("variance_W", of_v * of_h), ("variance_b", of_v), ("variance_c", of_h)):
        with_mean = products @ w
        squares = np.diag(products) - 2 * with_mean + w @ with_mean  # |f_i - <f>|^2
        variance = n * float(w**2 @ squares) * n / max(n - 1, 1)
        summed[name] = max(variance, 0.0) if n > 1 else float("nan")
    return summed


def random_chains(n: int, n_visible: int, seed: rng.Seed) -> np.ndarray:
    """Return the initial states of persistent chains, fair random bits, float32 (n, n_visible)."""
    generator, chains = rng.generator(seed, "chains"), np.empty((n, n_visible), np.float32)
    for block in np.array_split(chains, -(-chains.size // 2**20)):  # draws are int64, twice as large
        block[:] = generator.integers(0, 2, block.shape)
    return chains
