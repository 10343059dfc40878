"""Parallel tempering: persistent chains on a ladder of temperatures that swap states."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.kernels.random import bernoulli_rows
from rbmviz.knobs import knob
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.parameters import FixedParameters, Parameters
from rbmviz.trainers.stored import stored
from rbmviz.trainers.training import TrainingState


@dataclass
class TemperedSource:
    """States v, float32 (temperatures, chains, n_visible), beta = 1 first; swaps and their stream."""

    v: np.ndarray = field(metadata=stored(bits=True))
    generator: np.random.Generator
    swaps: int = 0
    tried: int = 0
    taken: int = 0


def tempered_sweep(
    theta: FixedParameters, v: np.ndarray, beta: np.float32, state: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (v, h) after one Gibbs sweep of every row under p^beta."""
    h = beta * theta.up(v)
    bernoulli_rows(state, h, beta * theta.c, h, h)
    x = beta * theta.down(h)
    bernoulli_rows(state, x, beta * theta.b, x, x)
    return x, h


def energy(theta: FixedParameters, v: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return E(v, h) of every row, float64."""
    interaction = np.einsum("ri,ri->r", theta.up(v), h, dtype=np.float64)
    return -(interaction + v.astype(np.float64) @ theta.b + h.astype(np.float64) @ theta.c)


@trainer(
    "pt",
    label="Parallel tempering",
    colour="#7e5854",
    paper="Desjardins et al. (2010); population CD, section 4",
)
class PT(CommonKnobs):
    """Negative statistics from the beta = 1 chains of a ladder of inverse temperatures, uniform in [0, 1].

    An update is one sweep at every temperature, then swaps of neighbours (even and odd pairs in turn) by the
    Metropolis rule. With one temperature this is PCD with k = 1, bit for bit.
    """

    chains: ClassVar[str] = "persistent"
    inner: ClassVar[dict[str, str]] = {"swap_rate": "Swaps taken (share)"}

    n_temperatures: int = knob(
        10,
        1,
        100,
        front=True,
        label="Temperatures",
        scale="log",
        live=False,
        help="Rungs of the ladder: too few and swaps are refused, as the swap rate shows.",
    )
    learning_rate: float = common_knobs.learning_rate(0.01)
    schedule: str = common_knobs.schedule("linear")
    n_chains: int = common_knobs.n_chains()

    @property
    def betas(self) -> np.ndarray:
        """Inverse temperatures, coldest first."""
        return (
            np.linspace(1, 0, self.n_temperatures, dtype=np.float32)
            if self.n_temperatures > 1
            else np.ones(1)
        )

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        cold = batches.random_chains(self.n_chains, rbm.n_visible, seed)
        source = TemperedSource(np.stack([cold] * self.n_temperatures), rng.generator(seed, "swaps"))
        return training.start(self, rbm, data, seed, source)

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        chains = batches.chain_bytes(self.n_temperatures * self.n_chains, n_visible)
        return training.state_bytes(n_visible, n_hidden, chains)

    def negative(self, state: TrainingState, theta: FixedParameters, data: np.ndarray) -> Parameters:
        """Return the negative statistics of one update; see Trainer."""
        source: TemperedSource = state.source
        betas = self.betas
        energies = np.empty(source.v.shape[:2])
        for rung, beta in enumerate(betas):
            source.v[rung], h = tempered_sweep(theta, source.v[rung], beta, state.rng)
            energies[rung] = energy(theta, source.v[rung], h)
        self.swap(source, energies, betas, first=source.swaps % 2)
        source.swaps += 1
        state.samples = cold = source.v[0]
        return batches.statistics(cold, batches.mean_hidden(theta, cold))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates; ``swap_rate`` counts from the start."""
        source: TemperedSource = state.source
        training.advance(self, state, n)
        rate = source.taken / source.tried if source.tried else float("nan")
        return training.progress(self, state, swap_rate=rate)

    def swap(self, source: TemperedSource, energies: np.ndarray, betas: np.ndarray, first: int) -> None:
        """Swap neighbours i, j = i + 1 with probability min(1, exp((beta_i - beta_j)(E_i - E_j)))."""
        for i in range(first, len(betas) - 1, 2):
            gain = (betas[i] - betas[i + 1]) * (energies[i] - energies[i + 1])
            taken = np.log1p(-source.generator.random(len(gain))) < gain
            source.v[i, taken], source.v[i + 1, taken] = source.v[i + 1, taken], source.v[i, taken]
            source.tried += len(taken)
            source.taken += int(taken.sum())
