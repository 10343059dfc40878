"""Samples of chains, thinned while they come, so that a diagnosis costs the same after any number of them."""

from typing import Any

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.rbm import RBM
from rbmviz.support import checks

KEPT_ROUNDS = 2048
"""Maximum number of rounds of one chain that are kept; of several chains, as many rows."""

FEWEST_DRAWS = 16
"""Draws of each chain that a diagnosis needs; twice as many are kept of very many chains."""

LOCAL_WORK, FEWEST_LOCAL = 100_000_000, 128
"""Weights that are read when all units of some rows are looked at, and the fewest of these rows."""


class Thinned:
    """Every ``stride``-th round of chains that take turns: sample t belongs to chain t % n_chains.

    The stride doubles when too many rounds are kept, so that the kept rows depend on the samples alone, never
    on the division into updates.

    n : number of samples so far
    stride : rounds from one kept round to the next, a power of two
    """

    def __init__(self, n_visible: int, n_chains: int) -> None:
        self.n_visible, self.n_chains = n_visible, n_chains
        self.n, self.stride, self._taken = 0, 1, 0  # taken: samples that are not new
        self._most = max(KEPT_ROUNDS // n_chains, 2 * FEWEST_DRAWS)
        self._packed, self._new = np.zeros((0, -(-n_visible // 8)), np.uint8), tuple[np.ndarray, ...]()

    def update(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (n, n_visible) of 0 and 1, which nobody is to change."""
        self.n, self._new = self.n + len(v), (*self._new, v)
        if self.n - self._taken >= 64:  # calls cost more than the work with a few
            self._take()

    def _take(self) -> None:
        while -(-self.n // self.n_chains) > self._most * self.stride:
            self._packed = self._packed[np.arange(len(self._packed)) // self.n_chains % 2 == 0]
            self.stride *= 2
        kept = np.arange(self._taken, self.n) // self.n_chains % self.stride == 0
        new = np.packbits(np.concatenate(self._new)[kept], axis=1)
        self._packed, self._new, self._taken = np.concatenate([self._packed, new]), (), self.n

    @property
    def rounds(self) -> int:
        """Number of kept rounds that all chains have made."""
        if self._new:
            self._take()
        return len(self._packed) // self.n_chains

    def rows(self, rounds: Any = slice(None), chains: Any = slice(None)) -> np.ndarray:
        """Return some of the kept rounds, by a slice or a list, uint8 (chains, draws, n_visible)."""
        n = self.rounds
        packed = self._packed[: n * self.n_chains].reshape(n, self.n_chains, -1)
        return np.unpackbits(packed[rounds][:, chains].swapaxes(0, 1), axis=2, count=self.n_visible)

    def local(self, n_hidden: int, part: int = 1) -> tuple[range, np.ndarray]:
        """Return which kept rounds, and which chains, are looked at unit by unit, or a part."""
        most = np.clip(LOCAL_WORK // (self.n_visible * n_hidden), FEWEST_LOCAL, KEPT_ROUNDS) // part
        chains = np.unique(np.linspace(0, self.n_chains - 1, most // FEWEST_DRAWS).round().astype(int))
        every = 1
        while -(-self.rounds // every) * len(chains) > most:
            every *= 2
        return range(0, self.rounds, every), chains


def local_rows(kept: Thinned, rbm: RBM, part: int = 1) -> np.ndarray:
    """Return the kept rows that are looked at unit by unit, uint8 (chains, draws, n_visible)."""
    rounds, chains = kept.local(rbm.n_hidden, part)
    return kept.rows(slice(None, None, rounds.step), chains)


def thinned(samples: Any, rbm: RBM) -> Thinned:
    """Return the kept rows of Samples, or of bits (draws, n_visible) or (chains, draws, n_visible).

    Raises BadInput if they do not fit the model, are not 0 and 1, or their number of chains is not known.
    """
    v = samples.by_chain()["v"] if hasattr(samples, "by_chain") else np.asarray(samples)
    v = v[None] if v.ndim == 2 else v
    if v.ndim != 3 or not len(v):
        raise BadInput(f"The samples have shape {v.shape}: give (draws, units), or (chains, draws, units).")
    kept = Thinned(rbm.n_visible, len(v))
    kept.update(checks.bits("The samples", v.swapaxes(0, 1).reshape(-1, v.shape[2]), rbm.n_visible))
    return kept


def batch_variance(values: np.ndarray) -> np.ndarray:
    """Return the variance of the sum over values (chains, draws, ...), autocorrelation included.

    By means of batches as long as the square root of a chain, which needs no model of the autocorrelation; at
    least the variance of independent draws.
    """
    chains, draws = values.shape[:2]
    length = int(np.sqrt(draws))
    batches = values[:, : draws // length * length].reshape(chains, -1, length, *values.shape[2:])
    of_means = batches.mean(axis=2).reshape(-1, *values.shape[2:]).var(axis=0, ddof=1)
    return chains * draws * np.maximum(length * of_means, values.var(axis=(0, 1)))


def batches_of(values: np.ndarray) -> int:
    """Return the number of batches of ``batch_variance``."""
    chains, draws = values.shape[:2]
    return int(chains * (draws // int(np.sqrt(draws))))
