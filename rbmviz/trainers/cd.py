"""Contrastive divergence: the negative chains start at the mini-batch itself. The skeleton to copy."""

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, parts


@trainer("cd", label="CD-k", paper="Hinton (2002); population CD, section 2")
class CD:
    """Negative statistics from k Gibbs sweeps that start at the mini-batch."""

    k: int = parts.k()
    learning_rate: float = parts.learning_rate()
    schedule: str = parts.schedule()
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> parts.State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        return parts.start(self, rbm, data, seed)

    def step(self, state: parts.State, n: int) -> Progress:
        """Advance by n updates."""

        def negative(theta: parts.Parameters, data: np.ndarray) -> parts.Parameters:
            v = data
            for _ in range(self.k):
                v = parts.sweep(theta, v, state.rng)
            return parts.statistics(v, parts.mean_hidden(theta, v))

        for _ in parts.updates(state, n, negative):
            pass
        return parts.progress(state)
