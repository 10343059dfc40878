"""Contrastive divergence: the negative chains start at the data. Copy this file to write another trainer."""

from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.rbm.parameters import FixedParameters, Rows
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState


@trainer("cd", label="CD-k", colour="#2372a0", paper="Hinton (2002); population CD, section 2")
class CD(CommonKnobs):
    """Negative statistics from k Gibbs sweeps that start at the mini-batch, or at ``n_chains`` examples."""

    chains: ClassVar[str] = "fresh"
    about: ClassVar[str] = (
        "Contrastive divergence. Chains begin at training examples and run for $k$ sweeps; the weights "
        r"move from where the chains end towards the data, by $\langle s \rangle_{\text{data}} - \langle s "
        r"\rangle_{k}$, with the statistics $s = (v h^\top, v, h)$. It is quick and biased: what the model "
        "likes far from the data it never sees."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"v_0 \in \text{data}",
        r"v_0 \to \dots \to v_{\knob{k}}",
        r"\langle s \rangle_{\text{model}} \approx \langle s(v_{\knob{k}}) \rangle",
    )
    own_stats: ClassVar[dict[str, str]] = {}

    k: int = common_knobs.k()
    n_chains: int = common_knobs.n_starts()

    @property
    def sweeps_from(self) -> str:
        """Where kernels begin, see Trainer; leave this out of a copy with another ``negative``."""
        return "" if self.n_chains else "batch"

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        return training.start(self, rbm, data, seed)

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Rows:
        """Return the negative statistics of one update; see Trainer."""
        v = training.random_starts(state, self.n_chains).astype(np.float32) if self.n_chains else batch
        v = training.sweep_chains(state, theta, v, self.k)
        return batches.statistics(v, batches.mean_hidden(theta, v))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates."""
        training.advance(self, state, n)
        return training.progress(self, state)
