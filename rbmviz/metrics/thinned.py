"""Samples of chains, thinned while they come, so that a diagnosis costs the same after any number of them."""

from typing import Any

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.rbm import RBM
from rbmviz.support import checks

KEPT_ROUNDS = 2048
"""Maximum number of rounds that are kept, of one chain; of more, as many rows."""

FEWEST_ROUNDS = 32
"""Rounds that are kept of very many chains."""

LOCAL_WORK, FEWEST_LOCAL = 100_000_000, 128
"""Weights that are read at most when every unit of some rows is looked at, and fewest of these rows."""


class Thinned:
    """Every ``stride``-th round of chains that take turns: sample t belongs to chain t % n_chains.

    The stride is a power of two and doubles when too many rounds are kept, so that the kept rows depend on
    the samples alone, never on the division into updates.

    n : number of samples so far
    stride : rounds from one kept round to the next
    """

    def __init__(self, n_visible: int, n_chains: int) -> None:
        self.n_visible, self.n_chains = n_visible, n_chains
        self.n, self.stride = 0, 1
        self._most = max(KEPT_ROUNDS // n_chains, FEWEST_ROUNDS)
        self._packed = np.zeros((0, -(-n_visible // 8)), np.uint8)

    def update(self, v: np.ndarray, packed: bool = False) -> None:
        """Take the next samples, uint8 (n, n_visible) of 0 and 1, or their bits packed along the rows."""
        begin, self.n = self.n, self.n + len(v)
        factor = 1
        while -(-self.n // self.n_chains) > self._most * self.stride * factor:
            factor *= 2
        if factor > 1:
            self._packed = self._packed[np.arange(len(self._packed)) // self.n_chains % factor == 0]
            self.stride *= factor
        kept = v[np.arange(begin, self.n) // self.n_chains % self.stride == 0]
        self._packed = np.concatenate([self._packed, kept if packed else np.packbits(kept, axis=1)])

    @property
    def rounds(self) -> int:
        """Number of kept rounds that all chains have made."""
        return len(self._packed) // self.n_chains

    def rows(self, begin: int = 0, every: int = 1, chains: np.ndarray | None = None) -> np.ndarray:
        """Return kept rounds from ``begin`` on, uint8 (chains, draws, n_visible)."""
        packed = self._packed[: self.rounds * self.n_chains].reshape(self.rounds, self.n_chains, -1)
        packed = packed[begin::every] if chains is None else packed[begin::every, chains]
        return np.unpackbits(packed.swapaxes(0, 1), axis=2, count=self.n_visible)

    def local(self, n_hidden: int) -> tuple[int, np.ndarray]:
        """Return every how many kept rounds, and which chains, are looked at unit by unit."""
        work = self.n_visible * n_hidden
        most = int(np.clip(LOCAL_WORK // work, FEWEST_LOCAL, KEPT_ROUNDS))
        chains = np.unique(np.linspace(0, self.n_chains - 1, max(most // 16, 1)).round().astype(int))
        every = 1
        while -(-self.rounds // every) * len(chains) > most:
            every *= 2
        return every, chains


def thinned(samples: Any, rbm: RBM) -> Thinned:
    """Return the kept rows of samples.

    Parameters
    ----------
    samples : Samples, or uint8 (draws, n_visible) or (chains, draws, n_visible)
        Of Samples, the number of chains must be known.
    rbm : RBM
        The model that they must fit.

    Raises
    ------
    BadInput
        If they do not fit the model, or are not 0 and 1.
    """
    v = samples.by_chain()["v"] if hasattr(samples, "by_chain") else np.asarray(samples)
    v = v[None] if v.ndim == 2 else v
    if v.ndim != 3 or not len(v):
        raise BadInput(f"The samples have shape {v.shape}: give (draws, units), or (chains, draws, units).")
    kept = Thinned(rbm.n_visible, len(v))
    kept.update(checks.bits("The samples", v.swapaxes(0, 1).reshape(-1, v.shape[2]), rbm.n_visible))
    return kept
