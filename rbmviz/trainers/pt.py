"""Parallel tempering: persistent chains on a ladder of temperatures that swap states."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.metrics.tempering import inverse_temperatures, swaps_taken
from rbmviz.rbm import RBM
from rbmviz.rbm.parameters import FixedParameters, Rows
from rbmviz.registry import trainer
from rbmviz.support.stopping import stop_point
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState


@dataclass
class TemperedState:
    """State of parallel tempering beside the parameters.

    Attributes
    ----------
    v : float32 (n_temperatures, n_chains, n_visible)
        States of the chains, values 0 and 1; chains at beta = 1 come first.
    generator : Generator
        Decides swaps.
    swaps : int
        Rounds of swaps so far.
    tried, taken : int
        Swaps that were proposed and accepted so far.
    """

    v: np.ndarray
    generator: np.random.Generator
    swaps: int = 0
    tried: int = 0
    taken: int = 0


def tempered_sweep(
    theta: FixedParameters, v: np.ndarray, beta: np.float32, stream: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (v, h) after one Gibbs sweep of every row under p^beta."""
    stop_point()
    return theta.sweep(v, stream, float(beta)), theta.hidden(len(v))


def energy(theta: FixedParameters, v: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return E(v, h) of every row, float64."""
    given_h = np.einsum("ri,ri->r", theta.inputs(v)[:, : h.shape[1]], h, dtype=np.float64)
    return -(given_h + v.astype(np.float64) @ theta.b)


@trainer(
    "pt",
    label="Parallel tempering",
    colour="#825b57",
    paper="Desjardins et al. (2010); population CD, section 4",
)
class PT(CommonKnobs):
    """Negative statistics from the beta = 1 chains of a ladder of inverse temperatures, uniform in [0, 1].

    An update is one sweep at every temperature, followed by swaps of neighbouring temperatures (even and odd
    pairs in turn) by the Metropolis rule. With one temperature this is PCD with k = 1, bit for bit.
    """

    chains: ClassVar[str] = "persistent"
    about: ClassVar[str] = (
        r"Parallel tempering. Chains run at inverse temperatures $\beta$ from 0 to 1, one sweep each, then "
        "neighbours may swap their states by the Metropolis rule. Hot chains move freely and hand what "
        r"they find down to $\beta = 1$, whose samples make the update."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"1 = \beta_1 > \dots > \beta_{\knob{n_temperatures}} = 0",
        r"v_i\ \text{a sweep on, at}\ \beta_i\, \theta",
        r"\Pr(v_i \leftrightarrow v_{i+1}) = \min(1,\, e^{(\beta_i - \beta_{i+1})(E_i - E_{i+1})})",
        r"\langle s \rangle_{\text{model}} \approx \langle s(v_1) \rangle",
    )
    own_stats: ClassVar[dict[str, str]] = {"swap_rate": "Swaps taken (share)"}

    n_temperatures: int = knob(
        10,
        1,
        100,
        front=True,
        label="Temperatures",
        symbol="K",
        scale="log",
        live=False,
        help="Number of temperatures: with too few, most swaps are refused, as the swap rate shows.",
    )
    n_chains: int = common_knobs.n_chains()

    @property
    def betas(self) -> np.ndarray:
        """Inverse temperatures, coldest first."""
        return inverse_temperatures(self.n_temperatures)

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        cold = batches.random_chains(self.n_chains, rbm.n_visible, seed)
        own = TemperedState(np.stack([cold] * self.n_temperatures), rng.generator(seed, "swaps"))
        return training.start(self, rbm, data, seed, own)

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Rows:
        """Return the negative statistics of one update; see Trainer."""
        own: TemperedState = state.own_state
        betas = self.betas
        energies = np.empty(own.v.shape[:2])
        for rung, beta in enumerate(betas):
            own.v[rung], h = v, h = tempered_sweep(theta, own.v[rung], beta, state.stream)
            energies[rung] = energy(theta, v, h)
        self.swap(own, energies, betas, first=own.swaps % 2)
        own.swaps += 1
        state.samples = cold = own.v[0]
        state.sweeps += own.v.shape[0] * own.v.shape[1]
        return batches.statistics(cold, batches.mean_hidden(theta, cold))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates; ``swap_rate`` counts from the start."""
        own: TemperedState = state.own_state
        training.advance(self, state, n)
        rate = own.taken / own.tried if own.tried else float("nan")
        return training.progress(self, state, swap_rate=rate)

    def swap(self, own: TemperedState, energies: np.ndarray, betas: np.ndarray, first: int) -> None:
        """Swap neighbours i, j = i + 1 with probability min(1, exp((beta_i - beta_j)(E_i - E_j)))."""
        for i in range(first, len(betas) - 1, 2):
            taken = swaps_taken(own.generator, betas[i], betas[i + 1], energies[i], energies[i + 1])
            own.v[i, taken], own.v[i + 1, taken] = own.v[i + 1, taken], own.v[i, taken]
            own.tried += len(taken)
            own.taken += int(taken.sum())
