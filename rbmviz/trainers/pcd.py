"""Persistent contrastive divergence (stochastic maximum likelihood): the chains are never started anew."""

from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, parts


@trainer("pcd", label="PCD", paper="Tieleman (2008); rates-FPCD, section 2 (SML)")
class PCD:
    """Negative statistics from persistent chains, k sweeps an update, begun at fair random bits."""

    chains: ClassVar[str] = "persistent"
    inner: ClassVar[dict[str, str]] = {}

    k: int = parts.k()
    learning_rate: float = parts.learning_rate(0.01)
    schedule: str = parts.schedule("linear")
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()
    average: bool = parts.average()
    box: float = parts.box()
    n_chains: int = parts.n_chains()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> parts.State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        chains = parts.random_chains(self.n_chains, rbm.n_visible, seed)
        return parts.start(self, rbm, data, seed, chains)

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        return parts.state_bytes(n_visible, n_hidden, parts.chain_bytes(self.n_chains, n_visible))

    def negative(self, state: parts.State, theta: parts.Fixed, data: np.ndarray) -> parts.Parameters:
        """Return the negative statistics of one update; see Trainer."""
        for _ in range(self.k):
            state.source = parts.sweep(theta, state.source, state.rng)
        state.samples = state.source
        return parts.statistics(state.source, parts.mean_hidden(theta, state.source))

    def step(self, state: parts.State, n: int) -> Progress:
        """Advance by n updates."""
        parts.advance(self, state, n)
        return parts.progress(self, state)
