"""Herding as a trainer: chains climb to modes, which updates push down; parameters do not converge."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, parameters
from rbmviz.rbm.parameters import FixedParameters, Padded, Parameters, Rows
from rbmviz.registry import trainer
from rbmviz.support.stopping import stop_point
from rbmviz.trainers import Progress, batches, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState


@dataclass
class HerdingState:
    """State of herding beside the parameters.

    Attributes
    ----------
    chains : float32 (n_chains, n_visible)
        Persistent chains, values 0 and 1.
    mean : Parameters
        Time average of their statistics.
    target : float64 (n_visible,)
        Mean of v over the training data.
    climbs, sweeps : int
        Climbs so far, and sweeps of the last one.
    """

    chains: np.ndarray
    mean: Parameters
    target: np.ndarray
    climbs: int = 0
    sweeps: int = 0


def climb(theta: FixedParameters, v: np.ndarray, max_sweeps: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Maximise h and v in turn until no v changes; return v, h (float32 0/1 rows) and the sweeps used."""
    sweeps, before = 0, np.zeros(0)
    while sweeps < max_sweeps and not np.array_equal(before, v):
        stop_point()
        sweeps += 1
        h = theta.inputs(v)[:, : len(theta.c)] > 0
        before, v = v, (theta.down(h) > 0).astype(np.float32)
    return v, h.astype(np.float32), sweeps


@trainer("herding", label="Herding", colour="#06a781", paper="Welling (2009); rates-FPCD, section 2")
class Herding(CommonKnobs):
    """Negative statistics from chains that climb to a mode (temperature 0) before every update.

    The parameters never converge. The time average of the chains' statistics converges to the data's
    statistics; ``moment_error`` is the remaining distance.
    """

    chains: ClassVar[str] = "persistent"
    about: ClassVar[str] = (
        "Persistent chains that climb to a mode before every update, as at temperature 0. The weights "
        "never settle: what settles is the mean of all pictures shown, at the mean of the data."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"h \leftarrow [\, c + W^\top v > 0 \,]",
        r"v \leftarrow [\, b + W h > 0 \,]",
        r"\text{at most}\ \knob{max_sweeps}\ \text{sweeps}",
        r"\langle s \rangle_{\text{model}} \approx \langle s(v, h) \rangle",
    )
    own_stats: ClassVar[dict[str, str]] = {
        "sweeps": "Sweeps of the climb",
        "moment_error": "Error of the mean of v, averaged over time",
    }

    max_sweeps: int = knob(
        50,
        1,
        1000,
        label="Most sweeps",
        symbol=r"k_{\max}",
        scale="log",
        help="Most sweeps of a climb: watch the statistic sweeps to see whether climbs are cut short.",
    )
    learning_rate: float = common_knobs.learning_rate(1.0)
    n_chains: int = common_knobs.n_chains()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        chains = batches.random_chains(self.n_chains, rbm.n_visible, seed)
        state = training.start(self, rbm, data, seed)
        state.own_state = HerdingState(chains, parameters.zeros_like(state.theta), data.mean(axis=0))
        return state

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Rows:
        """Return the negative statistics of one update; see Trainer."""
        own: HerdingState = state.own_state
        own.chains, h, own.sweeps = climb(theta, own.chains, self.max_sweeps)
        state.samples = own.chains
        state.sweeps += own.sweeps * len(own.chains)
        negative = batches.statistics(own.chains, h)
        own.climbs += 1
        mean = own.mean = Padded.of(own.mean)
        parameters.add(mean, 1 - 1 / own.climbs, negative, 1 / own.climbs)
        return negative

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates; ``sweeps`` counts the last climb."""
        own: HerdingState = state.own_state
        training.advance(self, state, n)
        error = float(np.abs(own.mean.b - own.target).mean())
        return training.progress(self, state, sweeps=float(own.sweeps), moment_error=error)
