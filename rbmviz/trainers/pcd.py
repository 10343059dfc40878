"""Persistent contrastive divergence (stochastic maximum likelihood): chains persist across updates."""

from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM
from rbmviz.rbm.parameters import FixedParameters, Rows
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState


@trainer("pcd", label="PCD", colour="#7d6ef5", paper="Tieleman (2008); rates-FPCD, section 2 (SML)")
class PCD(CommonKnobs):
    """Negative statistics from persistent chains, with k sweeps per update."""

    chains: ClassVar[str] = "persistent"
    about: ClassVar[str] = (
        "Persistent CD. Its chains never restart: they continue from update to update, $k$ sweeps at "
        "each, so that they can find what the model likes far from the data, as long as they mix faster "
        "than the model changes."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"v_0 = \text{the last}\ v_{\knob{k}}",
        r"v_0 \to \dots \to v_{\knob{k}}",
        r"\langle s \rangle_{\text{model}} \approx \langle s(v_{\knob{k}}) \rangle",
    )
    own_stats: ClassVar[dict[str, str]] = {}
    sweeps_from: ClassVar[str] = "chains"

    k: int = common_knobs.k()
    n_chains: int = common_knobs.n_chains()
    start: str = knob(
        "random",
        label="Chains start at",
        symbol="",
        choices=("random", "data"),
        live=False,
        help="Fair random bits, or training examples, as in population CD, section 1.",
    )

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        if self.start == "data":
            rows = rng.generator(seed, "chains").integers(len(data), size=self.n_chains)
            chains = data[rows].astype(np.float32)
        else:
            chains = batches.random_chains(self.n_chains, rbm.n_visible, seed)
        return training.start(self, rbm, data, seed, chains)

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Rows:
        """Return the negative statistics of one update; see Trainer."""
        state.own_state = v = training.sweep_chains(state, theta, state.own_state, self.k)
        return batches.statistics(v, batches.mean_hidden(theta, v))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates."""
        training.advance(self, state, n)
        return training.progress(self, state)
