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
        self.n, self.stride = 0, 1
        self._most = max(KEPT_ROUNDS // n_chains, 2 * FEWEST_DRAWS)
        self._parts: tuple[np.ndarray, ...] = (np.zeros((0, -(-n_visible // 8)), np.uint8),)  # of kept rows

    def update(self, v: np.ndarray, packed: bool = False) -> None:
        """Take the next samples, uint8 (n, n_visible) of 0 and 1, or their bits packed along the rows."""
        begin, self.n = self.n, self.n + len(v)
        while -(-self.n // self.n_chains) > self._most * self.stride:
            rows = np.concatenate(self._parts)
            self._parts = (rows[np.arange(len(rows)) // self.n_chains % 2 == 0],)
            self.stride *= 2
        kept = v[np.arange(begin, self.n) // self.n_chains % self.stride == 0]
        if len(kept):
            self._parts += (kept if packed else np.packbits(kept, axis=1),)
        if len(self._parts) > 64:  # not at every update, which would copy all rows each time
            self._parts = (np.concatenate(self._parts),)

    @property
    def rounds(self) -> int:
        """Number of kept rounds that all chains have made."""
        return sum(map(len, self._parts)) // self.n_chains

    def rows(self, rounds: Any = slice(None), chains: Any = slice(None)) -> np.ndarray:
        """Return some of the kept rounds, by a slice or a list, uint8 (chains, draws, n_visible)."""
        packed = np.concatenate(self._parts)[: self.rounds * self.n_chains]
        packed = packed.reshape(self.rounds, self.n_chains, -1)
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
