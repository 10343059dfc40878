"""Unbiased contrastive divergence: coupled chains run until they meet, and the bias of CD cancels."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.coupling import ALGORITHMS, pair_states, run_pairs
from rbmviz.kernels.random import UNIFORM_LANES
from rbmviz.knobs import knob
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.parameters import FixedParameters, Parameters
from rbmviz.trainers.stored import stored
from rbmviz.trainers.training import TrainingState

TOLERATED = 0.1
"""Share of pairs cut off above which ``Progress.warning`` says so."""


@dataclass
class CoupledSource:
    """Random states of the pairs, and what the last update saw."""

    states: np.ndarray = field(metadata=stored(lanes=True))
    tau: np.ndarray = field(metadata=stored(dtypes=("float64", "int64")))
    counts: np.ndarray = field(metadata=stored(dtypes=("float64", "int64")))


@trainer("ucd", label="UCD", colour="#618651", paper="Qiu, Zhang, Wang (2020), algorithms 1 to 3")
class UCD(CommonKnobs):
    """Negative statistics from pairs of coupled chains: f(xi_k) and corrections until the pair meets.

    Each pair starts at a training example of its own. The estimate is unbiased as long as no pair is
    truncated at t_max; the share that is, is reported.

    A few pairs meet late, and their long sums make updates wild. t_max trades that noise for bias; a falling
    rate averages it away (corollary 1), hence the default. Measured on Bars and Stripes (16 hidden, 1000
    chains, batch 32, rate 0.1, 10,000 updates; sum of log-likelihoods over the 32 rows, mean of the last 1000
    updates; the exact gradient gets -110.2, CD-1 -177.9, -176.5, -190.7):
    linear rate -114.3, -114.1, -113.7 (t_max = 100, seeds 0 to 2), -116.7 (200), -130.4 (1000);
    constant rate -128.8, -126.7, -126.2 (100), -118.3, -119.2, -120.9 (50), -116.7, -117.3, -118.7 (30),
    -121.6 (10, where the bias shows). The authors' program (constant rate, t_max = 100, at most 10 residual
    proposals, which biases, too) gets -119.8.
    """

    chains: ClassVar[str] = "fresh"
    inner: ClassVar[dict[str, str]] = {
        "tau_mean": "Mean stopping time (sweeps)",
        "tau_median": "Median stopping time (sweeps)",
        "tau_max": "Longest stopping time (sweeps)",
        "rejected_mean": "Refused proposals per pair",
        "truncated": "Pairs cut off (share)",
    }

    algorithm: str = knob(
        "rbm",
        label="Coupling",
        choices=ALGORITHMS,
        help="Algorithm 3 (rbm) shares randomness between the chains and meets soon; algorithm 1 may not.",
    )
    t_max: int = knob(
        100,
        2,
        1_000_000,
        front=True,
        label="Most sweeps",
        scale="log",
        help="Pairs that have not met by then are cut off, which biases the update: watch their share.",
    )
    k: int = common_knobs.k()
    learning_rate: float = common_knobs.learning_rate(0.1)
    schedule: str = common_knobs.schedule("linear")
    n_chains: int = common_knobs.n_chains()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        tau, counts = np.full(self.n_chains, np.nan), np.full((self.n_chains, 3), np.nan)
        source = CoupledSource(pair_states(self.n_chains, seed), tau, counts)
        return training.start(self, rbm, data, seed, source)

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        pair = 4 * 4 * UNIFORM_LANES + 4 * 8  # its random state, and what the last update saw of it
        return training.state_bytes(n_visible, n_hidden, self.n_chains * pair)

    def negative(self, state: TrainingState, theta: FixedParameters, data: np.ndarray) -> Parameters:
        """Return the negative statistics of one update; see Trainer."""
        source: CoupledSource = state.source
        n = len(source.states)
        v0 = training.random_starts(state, n)
        sums = tuple(np.zeros((1, *x.shape)) for x in theta)
        ended = run_pairs(RBM(*theta), v0, source.states, self.algorithm, 1, self.k, self.t_max, sums)
        source.tau = ended.tau
        source.counts = np.stack(
            [ended.rejected[:, 0] + ended.rejected[:, 1], ended.truncated, ended.stopped], axis=1
        )
        return Parameters(*((x[0] / n).astype(np.float32) for x in sums))

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates; the pairs are those of the last one."""
        training.advance(self, state, n)
        tau, counts = state.source.tau, state.source.counts
        truncated, warning = float(counts[:, 1].mean()), ""
        if truncated > TOLERATED:
            warning = (
                f"{truncated:.0%} of the pairs had not met after t_max = {self.t_max} sweeps, which biases "
                "updates: raise t_max, or keep the parameters smaller (learning_rate, weight_decay, box)."
            )
        return training.progress(
            self,
            state,
            {"Stopping times (sweeps)": tau},
            warning,
            tau_mean=float(tau.mean()),
            tau_median=float(np.median(tau)),
            tau_max=float(tau.max()),
            rejected_mean=float(counts[:, 0].mean()),
            truncated=truncated,
        )
