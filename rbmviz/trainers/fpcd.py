"""Fast persistent contrastive divergence: PCD whose chains run under theta + theta_F."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, parameters
from rbmviz.rbm.parameters import FixedParameters, Padded, Parameters, Rows
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState


@dataclass
class FastWeightState:
    """Persistent chains, the fast parameters theta_F, and theta + theta_F, under which the chains move."""

    chains: np.ndarray
    fast: Parameters
    moved: Padded | None = field(default=None, metadata={"saved": False})


@trainer("fpcd", label="FPCD", colour="#bd4c0c", paper="Tieleman, Hinton (2009); rates-FPCD, section 2")
class FPCD(CommonKnobs):
    """PCD whose chains run under theta + theta_F, with theta_F <- alpha theta_F + eps g.

    g is the gradient of the slow update, before weight decay; with eps = 0 this is PCD, bit for bit.
    """

    chains: ClassVar[str] = "driven"
    about: ClassVar[str] = (
        r"Persistent CD whose chains run under $\theta + \theta_F$. The fast weights follow the gradient "
        r"$g$ of each update and fade, $\theta_F \leftarrow \alpha\, \theta_F + \varepsilon\, g$, which "
        r"drives the chains out of where they sit. With $\varepsilon = 0$ this is PCD."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"v_0 = \text{the last}\ v_{\knob{k}}",
        r"v_0 \to \dots \to v_{\knob{k}}\ \text{at}\ \theta + \theta_F",
        r"\langle s \rangle_{\text{model}} \approx \langle s(v_{\knob{k}}) \rangle",
        r"\theta_F \leftarrow \knob{alpha}\, \theta_F + \knob{eps}\, g",
    )
    own_stats: ClassVar[dict[str, str]] = {"fast_norm": "Norm of the fast weights"}

    k: int = common_knobs.k()
    n_chains: int = common_knobs.n_chains()
    eps: float = knob(
        0.05,
        1e-5,
        1.0,
        label="Fast step size",
        symbol=r"\varepsilon",
        scale="log",
        zero=True,
        front=True,
        help="How hard the fast weights push the chains away from their states; 0 is PCD.",
    )
    alpha: float = knob(
        0.95,
        0.0,
        1.0,
        label="Fast decay",
        symbol=r"\alpha",
        help="Share of the fast weights that stays after an update: the paper's 19/20.",
    )

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        chains = batches.random_chains(self.n_chains, rbm.n_visible, seed)
        state = training.start(self, rbm, data, seed)
        state.own_state = FastWeightState(chains, parameters.zeros_like(state.theta))
        return state

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Rows:
        """Return the negative statistics of one update; see Trainer."""
        own: FastWeightState = state.own_state
        own.fast, own.moved = Padded.of(own.fast), own.moved or Padded.of(theta)
        np.add(theta.padded.matrix, own.fast.matrix, out=own.moved.matrix)
        moved = FixedParameters.at(own.moved)
        own.chains = training.sweep_chains(state, moved, own.chains, self.k)
        return batches.statistics(own.chains, batches.mean_hidden(moved, own.chains))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates."""
        for gradient in training.updates(self, state, n):
            parameters.add(state.own_state.fast, self.alpha, gradient, self.eps)
        return training.progress(self, state, fast_norm=parameters.norm(state.own_state.fast))
