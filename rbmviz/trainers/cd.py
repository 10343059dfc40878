"""Contrastive divergence: the negative chains start at the data. The skeleton to copy."""

from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, parts


@trainer("cd", label="CD-k", paper="Hinton (2002); population CD, section 2")
class CD:
    """Negative statistics from k Gibbs sweeps that start at the mini-batch, or at ``n_chains`` examples."""

    chains: ClassVar[str] = "fresh"
    inner: ClassVar[dict[str, str]] = {}

    k: int = parts.k()
    learning_rate: float = parts.learning_rate()
    schedule: str = parts.schedule()
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()
    n_chains: int = parts.n_starts()
    average: bool = parts.average()
    box: float = parts.box()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> parts.State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        return parts.start(self, rbm, data, seed)

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        return parts.state_bytes(n_visible, n_hidden)

    def negative(self, state: parts.State, theta: parts.Fixed, data: np.ndarray) -> parts.Parameters:
        """Return the negative statistics of one update; see Trainer."""
        v = parts.random_starts(state, self.n_chains).astype(np.float32) if self.n_chains else data
        for _ in range(self.k):
            v = parts.sweep(theta, v, state.rng)
        state.samples = v
        return parts.statistics(v, parts.mean_hidden(theta, v))

    def step(self, state: parts.State, n: int) -> Progress:
        """Advance by n updates."""
        parts.advance(self, state, n)
        return parts.progress(self, state)
