"""Unbiased contrastive divergence: coupled chains run until they meet, which removes the bias of CD."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbmviz import kernels, rng
from rbmviz.coupling import ALGORITHMS, pair_streams, run_all_pairs
from rbmviz.knobs import knob
from rbmviz.rbm import RBM
from rbmviz.rbm.parameters import FixedParameters, Parameters
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, common_knobs, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState

MAX_TRUNCATED = 0.1
"""Share of pairs cut off above which ``Progress.warning`` is set."""

VARIANCE_PAIRS, VARIANCE_NUMBERS = 32, 2**22
"""Most pairs from which the variance of their estimates is computed, and most numbers of W of all of them."""


@dataclass
class CoupledState:
    """Random streams of the pairs, and how the pairs of the last update ended; NaN before the first.

    Attributes
    ----------
    streams : uint32 (n_chains, 4, UNIFORM_LANES)
        Random streams.
    tau : int64 (n_chains,)
        Meeting times, or t_max.
    counts : int64 (n_chains, 3)
        Rejected proposals, whether the pair was cut off, and residual loops that were given up.
    """

    streams: np.ndarray
    tau: np.ndarray
    counts: np.ndarray


@trainer("ucd", label="UCD", colour="#618651", paper="Qiu, Zhang, Wang (2020), algorithms 1 to 3")
class UCD(CommonKnobs):
    """Negative statistics from pairs of coupled chains: f(xi_k) and corrections until the pair meets.

    Each pair starts at a random training example, or at a row of the mini-batch. The estimate is unbiased if
    no pair is cut off at t_max; the statistic ``truncated`` is the share of pairs that are.

    A few pairs meet late, and their long sums make updates noisy. A smaller t_max trades that noise for bias,
    a falling learning rate averages it out (corollary 1), and the half-step coupling of the authors' program
    has fewer such pairs. f is (v E[h|v]', v, E[h|v]) after every sweep; section 4 has E[v|h]
    and the drawn h, and the authors' C++ program averages both. The documentation's page on UCD has the
    measurements.
    """

    chains: ClassVar[str] = "fresh"
    about: ClassVar[str] = (
        r"Unbiased CD. Two coupled chains run until they meet at $\tau$, and their differences on the way "
        r"correct CD: $f(\xi_k) + \sum_{t=k+1}^{\tau-1} [f(\xi_t) - f(\eta_{t-1})]$. On average this is "
        r"the exact gradient, at the price of more noise. Pairs that are cut off at $t_{\max}$ bring a bias "
        "back."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"(\xi_{t+1}, \eta_t) \sim \knob{algorithm}(\cdot \mid \xi_t, \eta_{t-1})",
        r"\tau = \min\{\, t > 1 : \xi_t = \eta_{t-1} \,\} \le \knob{t_max}",
        r"H = f(\xi_{\knob{k}}) + \sum_{t = k+1}^{\tau-1} [f(\xi_t) - f(\eta_{t-1})]",
        r"\langle s \rangle_{\text{model}} \approx \langle H \rangle",
    )
    own_stats: ClassVar[dict[str, str]] = {
        "tau_mean": "Mean meeting time (sweeps)",
        "tau_median": "Median meeting time (sweeps)",
        "tau_max": "Longest meeting time (sweeps)",
        "rejected_mean": "Rejected proposals per pair",
        "truncated": "Pairs cut off (share)",
    }

    algorithm: str = knob(
        "rbm",
        label="Coupling",
        symbol=r"\bar{P}",
        choices=ALGORITHMS,
        help="Algorithm 3 (rbm) shares randomness between the chains and meets soon; algorithm 1 (general) "
        "may not; half_step also couples the hidden units: less noise and fewer pairs cut off.",
    )
    t_max: int = knob(
        100,
        2,
        1_000_000,
        front=True,
        label="Most sweeps",
        symbol=r"t_{\max}",
        scale="log",
        help="Pairs that have not met by then are cut off, which biases the update: watch their share.",
    )
    start: str = knob(
        "data",
        label="Pairs start at",
        symbol="",
        choices=("data", "batch"),
        help="Random training examples, or the rows of the mini-batch in turn, as in algorithm 2.",
    )
    k: int = common_knobs.k()
    n_chains: int = common_knobs.n_chains()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        tau, counts = np.full(self.n_chains, np.nan), np.full((self.n_chains, 3), np.nan)
        own = CoupledState(pair_streams(self.n_chains, seed), tau, counts)
        return training.start(self, rbm, data, seed, own)

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Parameters:
        """Return the negative statistics of one update; see Trainer."""
        own: CoupledState = state.own_state
        n = len(own.streams)
        if self.start == "batch":
            v0 = np.resize(batch.astype(np.uint8), (n, batch.shape[1]))
        else:
            v0 = training.random_starts(state, n)
        sums = tuple(np.zeros((1, *x.shape)) for x in theta)
        ended = run_all_pairs(RBM(*theta), v0, own.streams, self.algorithm, 1, self.k, self.t_max, sums)
        own.tau = ended.tau
        # The first chain is one sweep ahead; once they are equal, one of them continues to sweep k.
        state.sweeps += int((np.maximum(ended.tau, self.k) + ended.tau - 1).sum())
        own.counts = np.stack(
            [ended.rejected[:, 0] + ended.rejected[:, 1], ended.truncated, ended.loops_given_up], axis=1
        )
        return Parameters(*((x[0] / n).astype(np.float32) for x in sums))

    def share_cut(self, state: TrainingState) -> float:
        """Return the share of the last update's pairs that had not met at t_max; see Trainer."""
        own: CoupledState = state.own_state
        return float(own.counts[:, 1].mean())

    def _variances(self, state: TrainingState) -> dict[str, float]:
        """Return the variance of one pair's estimate at the present parameters, see ``trainers.STATS``.

        Extra pairs are run for it: the sums of an update say nothing about single pairs, and the
        training's random streams are left as they are.
        """
        (m, n), names = state.theta.W.shape, ("variance_W", "variance_b", "variance_c")
        pairs = min(self.n_chains, VARIANCE_PAIRS, max(VARIANCE_NUMBERS // (m * n), 2))
        if state.batch is None or pairs < 2:
            return dict.fromkeys(names, float("nan"))
        data, generator = state.batches.data, rng.generator(state.update, "variance")
        v0 = data[generator.integers(len(data), size=pairs)]
        streams = generator.integers(0, 2**32, (pairs, 4, kernels.random.UNIFORM_LANES), dtype=np.uint32)
        each = np.zeros((pairs, m, n)), np.zeros((pairs, m)), np.zeros((pairs, n))
        run_all_pairs(RBM(*state.theta), v0, streams, self.algorithm, 1, self.k, self.t_max, each)
        return {name: float(x.var(axis=0, ddof=1).sum()) for name, x in zip(names, each, strict=True)}

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates; the pairs belong to the last one."""
        training.advance(self, state, n)
        training.check_finite(state)
        tau, counts = state.own_state.tau, state.own_state.counts
        truncated, warning = self.share_cut(state), ""
        if truncated > MAX_TRUNCATED:
            warning = (
                f"{truncated:.0%} of the pairs had not met after t_max = {self.t_max} sweeps, which biases "
                "updates: raise t_max, or keep the parameters smaller (learning_rate, weight_decay, box)."
            )
        return training.progress(
            self,
            state,
            {"Meeting times (sweeps)": tau},
            warning,
            weights=None,
            rates=None,
            tau_mean=float(tau.mean()),
            tau_median=float(np.median(tau)),
            tau_max=float(tau.max()),
            rejected_mean=float(counts[:, 0].mean()),
            truncated=truncated,
            **self._variances(state),
        )
