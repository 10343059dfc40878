"""Polishing: a trained model moves to the best parameters for its own rates, by rates-FPCD that is kept."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Statistics
from rbmviz.rbm.parameters import FixedParameters, Parameters, norm
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState

RECENT = 100
"""Updates over which the squared norm of the gradient is averaged; a training makes at least as many."""


@dataclass
class PolishState:
    """Persistent chains, and the rates of the model that is polished.

    recent, highest : squared norm of the gradient without the noise of the chains, averaged over about RECENT
        updates, and its maximum so far; the average may be negative
    """

    chains: np.ndarray
    rates: Parameters
    recent: float = 0.0
    highest: float = 0.0


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
    own_stats: ClassVar[dict[str, str]] = {"gradient_left": "Gradient norm without noise"}

    learning_rate: float = common_knobs.learning_rate(0.003)
    schedule: str = common_knobs.schedule("linear")
    stop_at: float = knob(
        0.0,
        0.0,
        0.9,
        label="Stop at",
        live=False,
        help="Makes no more updates once the norm of the gradient, without the noise of the chains, has "
        "fallen to this share of its highest value; 0: continues to the last update.",
    )
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

    def positive(self, state: TrainingState) -> Parameters:
        """Return the rates of the first model; see Trainer."""
        return Parameters(*(x.copy() for x in state.own_state.rates))

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Parameters:
        """Return the negative statistics of one update; see Trainer."""
        own: PolishState = state.own_state
        v = own.chains = training.sweep_chains(state, theta, own.chains, self.k)
        h = batches.mean_hidden(theta, v)
        found = batches.statistics(v, h).formed
        if (n := len(v)) > 1:
            of_h = np.einsum("ij,ij->i", h, h)
            squares = float(((1 + v.sum(axis=1)) * (1 + of_h) - 1).mean())  # |s_i|^2, on average over chains
            noise = (squares - norm(found) ** 2) / (n - 1)
            squared = norm(Parameters(*(r - x for r, x in zip(own.rates, found, strict=True)))) ** 2 - noise
            own.recent += (squared - own.recent) / min(state.update + 1, RECENT)
            if state.update >= RECENT:
                own.highest = max(own.highest, own.recent)
        return found

    def finished(self, state: TrainingState) -> bool:
        """Return whether the gradient has fallen to ``stop_at``; see Trainer.

        Chains that start at training rows see no gradient at first, so it must have been higher before.
        """
        own: PolishState = state.own_state
        enough = self.stop_at**2 * own.highest
        return enough > 0 and own.recent < enough

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates, or by as many as are left until it is finished."""
        while n and not self.finished(state):
            made = 1 if self.stop_at else n
            training.advance(self, state, made)
            n -= made
        own: PolishState = state.own_state
        left = float(np.sqrt(max(own.recent, 0.0))) if state.update and len(own.chains) > 1 else float("nan")
        return training.progress(self, state, rates=Statistics(*own.rates), gradient_left=left)
