"""Polishing: a trained model moves to the best parameters for its own rates, by rates-FPCD that is kept."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM, Statistics
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.parameters import FixedParameters, Parameters, parameter_bytes
from rbmviz.trainers.stored import stored
from rbmviz.trainers.training import TrainingState


@dataclass
class PolishState:
    """Persistent chains, and the rates of the model that is polished."""

    chains: np.ndarray = field(metadata=stored(bits=True))
    rates: Parameters


@trainer(
    "polish", label="Polish", colour="#a887b5", paper="rates-FPCD, section 4 (the process, and its bound)"
)
class Polish(CommonKnobs):
    """Ascend R.theta - log Z, for the rates R of the model it begins at, by persistent chains.

    The function is concave in theta, and a bound on the log-likelihood that touches it at the beginning: its
    optimum is one whole M-step of EM, where other trainers take one step and compute the rates again. The
    process is rates-FPCD with a falling step whose parameters are kept.
    """

    chains: ClassVar[str] = "persistent"
    about: ClassVar[str] = (
        r"Keeps what rates-FPCD throws away. The rates $R$ are computed once, for the model that it begins "
        r"at, and stay; the parameters move by $R - \langle s \rangle_{\text{model}}$ with a falling step. "
        r"That ascends $R \cdot \theta - \log Z$, a concave bound on the log-likelihood: a model that is "
        "not at an optimum gets better, and one that is loses a little to the noise of large steps. Begin at "
        "a trained model."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"R = \langle s \rangle_{\text{data}}\ \text{at the beginning}",
        r"v_0 = \text{the last}\ v_{\knob{k}}",
        r"v_0 \to \dots \to v_{\knob{k}}",
        r"\langle s \rangle_{\text{model}} \approx \langle s(v_{\knob{k}}) \rangle",
    )
    update_equation: ClassVar[tuple[str, ...]] = (
        r"u \leftarrow \knob{momentum}\, u + R - \langle s \rangle_{\text{model}} - \knob{weight_decay}\, W",
        r"\theta \leftarrow \theta + \knob{learning_rate}_{\knob{schedule}}\, u",
    )
    own_stats: ClassVar[dict[str, str]] = {}

    learning_rate: float = common_knobs.learning_rate(0.003)
    schedule: str = common_knobs.schedule("linear")
    k: int = common_knobs.k()
    n_chains: int = common_knobs.n_chains()
    batch_size: int = common_knobs.batch_size(
        "Has no effect: the rates of all data, computed once, replace those of mini-batches.", symbol=""
    )

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer. Chains start at data."""
        state = training.start(self, rbm, data, seed)
        found = rbm.rates(state.batches.data)
        rates = Parameters(found.W.copy(), found.b.copy(), found.c.copy())
        starts = training.random_starts(state, self.n_chains).astype(np.float32)
        state.own_state = PolishState(starts, rates)
        return state

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        own = batches.chain_bytes(self.n_chains, n_visible) + parameter_bytes(n_visible, n_hidden)
        return training.state_bytes(n_visible, n_hidden, own)

    def positive(self, state: TrainingState) -> Parameters:
        """Return the rates of the first model; see Trainer."""
        return Parameters(*(x.copy() for x in state.own_state.rates))

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Parameters:
        """Return the negative statistics of one update; see Trainer."""
        own: PolishState = state.own_state
        own.chains = training.sweep_chains(state, theta, own.chains, self.k)
        return batches.statistics(own.chains, batches.mean_hidden(theta, own.chains))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates."""
        training.advance(self, state, n)
        return training.progress(self, state, rates=Statistics(*state.own_state.rates))
