"""Persistent contrastive divergence (stochastic maximum likelihood): the chains are never started anew."""

from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.parameters import FixedParameters, Parameters
from rbmviz.trainers.training import TrainingState


@trainer("pcd", label="PCD", colour="#7d6ef5", paper="Tieleman (2008); rates-FPCD, section 2 (SML)")
class PCD(CommonKnobs):
    """Negative statistics from persistent chains, k sweeps an update, begun at fair random bits."""

    chains: ClassVar[str] = "persistent"
    inner: ClassVar[dict[str, str]] = {}

    k: int = common_knobs.k()
    learning_rate: float = common_knobs.learning_rate(0.01)
    schedule: str = common_knobs.schedule("linear")
    n_chains: int = common_knobs.n_chains()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        chains = batches.random_chains(self.n_chains, rbm.n_visible, seed)
        return training.start(self, rbm, data, seed, chains)

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        return training.state_bytes(n_visible, n_hidden, batches.chain_bytes(self.n_chains, n_visible))

    def negative(self, state: TrainingState, theta: FixedParameters, data: np.ndarray) -> Parameters:
        """Return the negative statistics of one update; see Trainer."""
        for _ in range(self.k):
            state.source = batches.sweep(theta, state.source, state.rng)
        state.samples = state.source
        return batches.statistics(state.source, batches.mean_hidden(theta, state.source))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates."""
        training.advance(self, state, n)
        return training.progress(self, state)
