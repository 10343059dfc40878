"""Herding as a trainer: chains climb to modes, each mode is pushed down, and nothing converges."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, parts


@dataclass
class HerdingSource:
    """Persistent chains, the time average of their statistics, <v> of the data, and what the climbs took."""

    chains: np.ndarray = field(metadata=parts.stored(bits=True))
    mean: parts.Parameters = field(metadata=parts.stored(share=True))
    target: np.ndarray = field(metadata=parts.stored(share=True))
    climbs: int = 0
    sweeps: int = 0


def climb(theta: parts.Fixed, v: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Maximise h and v in turn until no v changes; return v, h (float32 0/1 rows) and the sweeps used."""
    sweeps, before = 0, np.zeros(0)
    while sweeps < most and not np.array_equal(before, v):
        sweeps += 1
        h = (theta.up(v) + theta.c > 0).astype(np.float32)
        before, v = v, (theta.down(h) + theta.b > 0).astype(np.float32)
    return v, h, sweeps


@trainer("herding", label="Herding", paper="Welling (2009); rates-FPCD, section 2")
class Herding:
    """Negative statistics from chains that climb to a mode (temperature 0) before every update.

    The parameters never converge: what converges is the time average of the chains' statistics, to the
    data's; ``moment_error`` reports how far it still is.
    """

    chains: ClassVar[str] = "persistent"
    inner: ClassVar[dict[str, str]] = {
        "sweeps": "Sweeps of the climb",
        "moment_error": "Error of the mean of v, averaged over time",
    }

    max_sweeps: int = knob(
        50,
        1,
        1000,
        label="Most sweeps",
        scale="log",
        help="Climbing stops after so many sweeps: watch the statistic sweeps to see whether it has to.",
    )
    learning_rate: float = parts.learning_rate(1.0)
    schedule: str = parts.schedule()
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()
    average: bool = parts.average()
    box: float = parts.box()
    n_chains: int = parts.n_chains()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> parts.State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        chains = parts.random_chains(self.n_chains, rbm.n_visible, seed)
        state = parts.start(self, rbm, data, seed)
        state.source = HerdingSource(chains, parts.zeros_like(state.theta), data.mean(axis=0))
        return state

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        mean, target = parts.parameter_bytes(n_visible, n_hidden), 8 * n_visible
        chains = parts.chain_bytes(self.n_chains, n_visible)
        return parts.state_bytes(n_visible, n_hidden, chains + mean + target)

    def negative(self, state: parts.State, theta: parts.Fixed, data: np.ndarray) -> parts.Parameters:
        """Return the negative statistics of one update; see Trainer."""
        source: HerdingSource = state.source
        source.chains, h, source.sweeps = climb(theta, source.chains, self.max_sweeps)
        state.samples = source.chains
        found = parts.statistics(source.chains, h)
        source.climbs += 1
        share = np.float32(1 / source.climbs)
        for mean, x in zip(source.mean, found, strict=True):
            mean += share * (x - mean)
        return found

    def step(self, state: parts.State, n: int) -> Progress:
        """Advance by n updates; ``sweeps`` are those of the last climb."""
        source: HerdingSource = state.source
        parts.advance(self, state, n)
        error = float(np.abs(source.mean.b - source.target).mean())
        return parts.progress(self, state, sweeps=float(source.sweeps), moment_error=error)
