"""PCD whose chains sometimes restart at training examples: a whole trainer."""

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


@trainer("restarts", label="PCD with restarts", paper="Tieleman (2008), with restarts at the data")
class Restarts(CommonKnobs):
    """Negative statistics from persistent chains, some of which restart at the data before each update."""

    chains: ClassVar[str] = "persistent"
    equation: ClassVar[tuple[str, ...]] = (
        r"v_0 = \text{the last}\ v_{\knob{k}},\ \text{or data with}\ \Pr = \knob{restart}",
        r"\langle s \rangle_{\text{model}} \approx \langle s(v_{\knob{k}}) \rangle",
    )
    own_stats: ClassVar[dict[str, str]] = {"active": "Visible units on in the chains (share)"}

    restart: float = knob(
        0.05,
        0.0,
        1.0,
        label="Restarts",
        symbol=r"\rho",
        front=True,
        help="Share of the chains that restart at each update: with 0 this is PCD, with 1 it is CD.",
    )
    k: int = common_knobs.k()
    n_chains: int = common_knobs.n_chains()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        chains = batches.random_chains(self.n_chains, rbm.n_visible, seed)
        return training.start(self, rbm, data, seed, chains)

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Rows:
        """Return the negative statistics of one update; see Trainer."""
        v = state.own_state
        anew = state.starts_generator.random(len(v)) < self.restart
        v[anew] = training.random_starts(state, int(anew.sum()))
        for _ in range(self.k):
            v = batches.sweep(theta, v, state.stream)
        state.own_state = state.samples = v
        state.sweeps += self.k * len(v)
        return batches.statistics(v, batches.mean_hidden(theta, v))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates."""
        training.advance(self, state, n)
        return training.progress(self, state, active=float(state.own_state.mean()))
