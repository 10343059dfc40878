"""Coupled Gibbs chains: their meeting times, an unbiased estimate, and a bound on total variation.

Two chains of one model are drawn jointly so that each is an exact Gibbs chain and both meet: paper UCD (Qiu,
Zhang, Wang, "Unbiased contrastive divergence algorithm for training energy-based latent variable models",
ICLR 2020), sections 3 and 4. ``couple`` runs many pairs at once, ``PairStream`` a few sweeps at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rbmviz import kernels, rng
from rbmviz.datasets import AnyData, data_of, rows_of
from rbmviz.errors import BadInput, known_keywords, quoted
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_model
from rbmviz.support import checks
from rbmviz.support.notebook import short_repr
from rbmviz.support.stopping import stop_point

Algorithm = Literal["rbm", "general", "half_step"]
ALGORITHMS: tuple[Algorithm, ...] = ("rbm", "general", "half_step")
ALGORITHM_LABELS: dict[str, str] = {
    "rbm": "algorithm 3",
    "general": "algorithm 1",
    "half_step": "half-step",
}

_MAXIMAL = (
    r"p = p(v \mid h),\ q = p(v \mid h')",
    r"v = v' \sim p\ \text{if}\ U \le q(v) / p(v)",
)

EQUATIONS: dict[str, tuple[str, ...]] = {
    "rbm": (
        *_MAXIMAL,
        r"\text{else}\ v, v'\ \text{of the same}\ U_i",
        r"h, h'\ \text{of the same}\ U_j",
    ),
    "general": (
        *_MAXIMAL,
        r"\text{else}\ v, v'\ \text{independent}",
        r"h, h'\ \text{independent}",
    ),
    "half_step": (
        *_MAXIMAL,
        r"\text{else}\ v, v'\ \text{of the same}\ U_i",
        r"\Pr(h = h') = \sum_h \min\{p(h \mid v),\, p(h \mid v')\}",
    ),
}
"""How each algorithm draws the next states (v, h) and (v', h') of a pair; see ``view.formulas``."""

MAX_PROPOSALS = 10_000_000
"""Residual proposals before a loop is given up and counted: a small cap adds bias. Half-step sweeps may have
two loops."""

SWEEPS_BETWEEN_STOPS = 1000
"""Sweeps of pairs between two points at which they may stop, a tenth of a second for MNIST."""


def pair_setup(algorithm: Algorithm | str, lag: int, k: int, max_sweeps: int) -> kernels.coupling.PairSetup:
    """Return the kernels' setup for one of ALGORITHMS."""
    common, half_steps = algorithm != "general", algorithm == "half_step"
    return kernels.coupling.PairSetup(lag, k, max_sweeps, common, half_steps, MAX_PROPOSALS)


def pair_streams(n: int, seed: rng.Seed) -> np.ndarray:
    """Return the random streams of n pairs, uint32 (n, 4, UNIFORM_LANES)."""
    words = rng.child(seed, "couple").generate_state(n * 4 * kernels.random.UNIFORM_LANES, np.uint32)
    return words.reshape(n, 4, kernels.random.UNIFORM_LANES)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of coupled chains after their run.

    Parameters
    ----------
    tau : int64 (pairs,)
        Meeting times: the smallest t > lag with xi_t = eta_{t - lag}; max_sweeps if cut off. xi_lag = eta_0
        by chance does not count: the chains are not drawn jointly before lag + 1.
    rejected : int64 (pairs,)
        Residual proposals rejected by both chains together.
    truncated : bool (pairs,)
        Whether the pair had not met at max_sweeps: then tau is a lower bound, and the estimate is biased.
    loops_given_up : int
        Residual loops given up after MAX_PROPOSALS proposals; anything but 0 biases the estimate.
    lag : int
        Sweeps that the first chain ran ahead.
    """

    tau: np.ndarray
    rejected: np.ndarray
    truncated: np.ndarray
    loops_given_up: int
    lag: int
    _rbm: RBM
    _v0: np.ndarray
    _run: tuple[str, int, int, np.random.SeedSequence]

    __repr__ = short_repr

    @property
    def algorithm(self) -> str:
        """One of ALGORITHMS."""
        return self._run[0]

    @property
    def max_sweeps(self) -> int:
        """Sweeps after which pairs were cut off."""
        return self._run[2]

    @property
    def share_cut(self) -> float:
        """Share of the pairs that were cut off, from 0 to 1; anything but 0 biases the estimate."""
        return float(self.truncated.mean())

    @cached_property
    def estimate(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Unbiased estimates of <v h'>, <v> and <h> under the model, one per pair (UCD, section 3.1).

        Each is f(xi_k) + sum_{t=k+1}^{tau-1} [f(xi_t) - f(eta_{t-1})] with f = (v E[h|v]', v, E[h|v]).
        Section 4 has E[v|h] and the drawn h; the authors' C++ program averages both. All are unbiased.

        The sum of a pair that is cut off goes up to t = max_sweeps, one term further than in the paper, which
        declares the chains equal there; either way such pairs are biased. The pairs run a second time for the
        estimate, from the same random numbers.

        Returns
        -------
        W, b, c : float64 (pairs, n_visible, n_hidden), (pairs, n_visible), (pairs, n_hidden)
            One estimate per pair.

        Raises
        ------
        BadInput
            If the lag of the pairs is not 1.
        """
        if self.lag != 1:
            raise BadInput(f"couple: the estimate is for lag 1, these pairs have lag {self.lag}.")
        algorithm, k, max_sweeps, seed = self._run
        (m, n), totals = self._rbm.W.shape, len(self._v0)
        estimates = np.zeros((totals, m, n)), np.zeros((totals, m)), np.zeros((totals, n))
        run_all_pairs(self._rbm, self._v0, pair_streams(totals, seed), algorithm, 1, k, max_sweeps, estimates)
        return estimates

    def tv_bound(self, t: np.ndarray) -> np.ndarray:
        """Return an upper bound on the total variation distance to the model's distribution after t sweeps.

        The bound is for a Gibbs chain that starts as these pairs did. The function ``tv_bound`` also returns
        its standard error.

        Parameters
        ----------
        t : int (times,)
            Sweeps.

        Returns
        -------
        float64 (times,)
            The bound, estimated by the mean over pairs.
        """
        return tv_bound(self.tau, self.lag, t)[0]


def meeting_time_edges(max_sweeps: int) -> np.ndarray:
    """Return the edges of the bins of ``meeting_time_shares``, int64 (bins + 1,)."""
    return np.unique(np.rint(np.geomspace(2, max_sweeps + 1, 30)).astype(np.int64))


def meeting_time_shares(
    tau: np.ndarray, truncated: np.ndarray, max_sweeps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return edges (bins + 1,) and shares (bins,) of the meeting times of pairs that met.

    A bin holds the whole numbers from its lower edge to below its upper edge; bins widen with the sweeps.
    These shares and the share of truncated pairs add up to 1.
    """
    edges = meeting_time_edges(max_sweeps)
    return edges, np.histogram(tau[~truncated], edges)[0] / max(len(tau), 1)


def tv_bound(tau: np.ndarray, lag: int, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an upper bound on the total variation distance to the model's distribution after t sweeps.

    TV(t) <= E[max(0, ceil((tau - lag - t) / lag))] (Biswas, Jacob, Vanetti, 2019), estimated by the mean over
    pairs. Pairs that are cut off make it too small.

    Parameters
    ----------
    tau : int64 (pairs,)
        Meeting times of pairs with this lag.
    lag : int
        Sweeps that the first chain ran ahead.
    t : int (times,)
        Sweeps.

    Returns
    -------
    bound, std_error : float64 (times,)
        The mean over pairs and its standard error. Both are 0 if no pair met later than t + lag: the distance
        is then too small for this number of pairs to show.
    """
    lag = checks.whole("tv_bound: lag", lag, 1)
    tau, t = checks.numbers("tv_bound: tau", tau), checks.numbers("tv_bound: t", t)
    if tau.ndim != 1 or not len(tau) or t.ndim > 1:
        raise BadInput(f"tv_bound: tau has shape {tau.shape}, t {t.shape}; both must be one-dimensional.")
    times, counts = np.unique(tau, return_counts=True)
    later = np.maximum(np.ceil((times - lag - np.atleast_1d(t)[:, None]) / lag), 0)
    mean = later @ counts / len(tau)
    variance = np.maximum(later**2 @ counts / len(tau) - mean**2, 0)
    return mean, np.sqrt(variance / len(tau))


def run_all_pairs(
    rbm: RBM,
    v0: np.ndarray,
    streams: np.ndarray,
    algorithm: str,
    lag: int,
    k: int,
    max_sweeps: int,
    totals: tuple[np.ndarray, ...] | None = None,
) -> kernels.coupling.PairOutcomes:
    """Run one pair from each row of v0 until it meets or is cut off.

    v0 : uint8 (pairs, n_visible); start of both chains of each pair
    streams : uint32 (pairs, 4, UNIFORM_LANES); random streams, see ``pair_streams``, which are advanced in
        place
    algorithm, lag, k, max_sweeps : see ``couple``
    totals : float64 arrays (totals, n_visible, n_hidden), (totals, n_visible), (totals, n_hidden), which
        receive the estimates (lag 1 only): one total per pair, or one for the sum over all pairs. The first
        chain of every pair then runs for at least k sweeps; a pair that is cut off before sweep k has CD-k's
        f(xi_k).
    """
    m, n = rbm.W.shape
    if totals is None:
        sums = kernels.coupling.no_sums(m, n)
    else:
        W, b, c = totals
        sums = kernels.coupling.PairSums(W, b, c, kernels.coupling.make_gradient_buffer(m, n))
    outcomes = kernels.coupling.make_outcomes(len(v0))
    chains = kernels.coupling.make_chains(rbm.W, rbm.b, rbm.c)
    starts = np.array(v0, np.uint8, order="C")  # a copy: for read-only rows the kernel would compile again
    setup, progress = pair_setup(algorithm, lag, k, max_sweeps), kernels.coupling.make_progress()
    watched = kernels.coupling.watch_nothing()
    while progress[0]["pair"] < len(v0):
        stop_point()
        kernels.coupling.run_pairs(
            chains, starts, streams, setup, SWEEPS_BETWEEN_STOPS, progress, outcomes, sums, watched
        )
    return outcomes


def _checked(caller: str, lag: int, k: int, max_sweeps: int) -> tuple[int, int, int]:
    lag, k = checks.whole(f"{caller}: lag", lag, 1), checks.whole(f"{caller}: k", k, 1)
    return lag, k, checks.whole(f"{caller}: max_sweeps", max_sweeps, lag + 1)


@known_keywords
def couple(
    rbm: AnyModel,
    v0: AnyData = "random",
    algorithm: Algorithm = "rbm",
    max_sweeps: int = 1000,
    lag: int = 1,
    seed: rng.Seed = 0,
    *,
    k: int = 1,
    replications: int = 1000,
) -> Pairs:
    """Run coupled Gibbs chains, one pair from each row of v0, until they meet.

    Qiu, Zhang and Wang (ICLR 2020), sections 3.2 and 4.

    For random models (500 visible, 100 hidden, all parameters N(0, 0.1^2)) started at fair bits, 65.3 % of
    the pairs meet within 10 sweeps with algorithm 3 (59 to 70 % over 20 models, 1000 pairs each; paper UCD:
    65.4 %) and all within 100; with algorithm 1, 1.7 % do, and 18 % have not met after 1000.

    Parameters
    ----------
    rbm : Model, RBM, name, file, dict of arrays, or fitted BernoulliRBM
        The model.
    v0 : uint8 (pairs, n_visible), "random", "data", or a data set
        Start of both chains of each pair: rows of 0 and 1; random bits, as of ``rbmviz couple`` (default); or
        the training examples of the model's data, or of a data set, its name or file.
    algorithm : "rbm", "general" or "half_step"
        Paper UCD, algorithm 3 (the chains share the random numbers of residual proposals and hidden draws),
        algorithm 1 (they do not), or the coupling of the authors' program (a maximal coupling also draws the
        hidden units). In all of them each chain alone is an exact Gibbs chain.
    max_sweeps : int, default 1000
        Pairs that have not met by then are cut off.
    lag : int, default 1
        Sweeps that the first chain runs ahead; more than 1 gives a sharper ``tv_bound`` but no estimate.
    seed : int, SeedSequence or Generator, default 0
        Source of all random numbers: the same seed gives the same pairs.
    k : int, default 1
        Sweep at which the estimate begins. A pair that is cut off before has CD-k's estimate, f(xi_k).
    replications : int, default 1000
        Number of pairs that start at random bits.

    Returns
    -------
    Pairs
        Meeting times, and from them the unbiased estimate and the bound.

    Raises
    ------
    BadInput
        If v0 is not an array of 0 and 1 with n_visible columns, there is no such algorithm, lag or k is below
        1, or max_sweeps is not above lag.

    Examples
    --------
    >>> model = rbmviz.load_model("bas_pcd")
    >>> half = rbmviz.RBM(model.rbm.W / 2, model.rbm.b / 2, model.rbm.c / 2)
    >>> pairs = rbmviz.couple(half, "bas", max_sweeps=5000)
    >>> int(pairs.truncated.sum())
    0
    >>> W, b, c = pairs.estimate
    >>> W.shape
    (32, 16, 16)
    """
    model = as_model(rbm)
    rbm = model.rbm
    if isinstance(v0, str) and v0 == "random":
        pairs = checks.whole("couple: replications", replications, 1), rbm.n_visible
        v0 = rng.generator(seed, "starts").integers(0, 2, pairs, dtype=np.uint8)
    v0 = data_of(model) if isinstance(v0, str) and v0 == "data" else v0
    v0 = rows_of("couple: v0", v0, rbm.n_visible, "train")
    if algorithm not in ALGORITHMS:
        raise BadInput(f"couple: algorithm = {quoted(algorithm)} is not one of {', '.join(ALGORITHMS)}.")
    lag, k, max_sweeps = _checked("couple", lag, k, max_sweeps)
    seed = rng.seed_sequence(seed)
    ended = run_all_pairs(rbm, v0, pair_streams(len(v0), seed), algorithm, lag, k, max_sweeps)
    run = (algorithm, k, max_sweeps, seed)
    rejected, loops = ended.rejected.sum(axis=1), int(ended.loops_given_up.sum())
    return Pairs(ended.tau, rejected, ended.truncated, loops, lag, rbm, v0, run)


PAIRS_PER_BLOCK = 256
"""Pairs per block of a PairStream."""

MAX_PAIRS = 100_000
"""Pairs after which a stream stops: a mean over them has an error of 1/300 of a standard deviation."""

STATISTICS = (
    "share of visible units on",
    "share of hidden units on",
    "the visible unit on",
    "the hidden unit on",
    "both units on",
)
"""What a stream estimates: the means of v, E[h|v], v_i, E[h_j|v] and v_i E[h_j|v] for chosen units i, j."""


class PairStream:
    """Pairs of coupled chains, run one after another, a few sweeps at a time.

    Pair number p is pair p % PAIRS_PER_BLOCK of ``couple(rbm, starts(p // PAIRS_PER_BLOCK), algorithm,
    max_sweeps, lag, seed=rng.child(seed, "pairs", p // PAIRS_PER_BLOCK), k=k)``, bit for bit. Pairs run in
    order and count when they end: counting the first to end of many running pairs would favour early
    meetings.

    rbm : the model
    starts : returns the starts of a block by its number, uint8 (PAIRS_PER_BLOCK, n_visible)
    algorithm, max_sweeps, lag, seed, k : see ``couple``
    unit : (int, int); the visible unit i and the hidden unit j of STATISTICS
    times : int64 (times,), default none; sweeps at which Hamming distances are counted, ascending, from
        ``lag`` to ``max_sweeps``

    finished : number of pairs that have ended: the filled rows of the arrays below
    loops_given_up : residual loops given up after MAX_PROPOSALS proposals
    cd_estimate, unbiased : float64 (MAX_PAIRS, 5); estimates of STATISTICS by CD-k, f(xi_k), and by UCD
        (section 3.1); 0 unless the lag is 1
    distances : int64 (times, n_visible + 1); number of ended pairs at each Hamming distance of v at these
        times

    Raises
    ------
    BadInput
        If ``times`` is not as described, lag or k is below 1, or max_sweeps is not above lag.
    """

    def __init__(
        self,
        rbm: RBM,
        starts: Callable[[int], np.ndarray],
        algorithm: Algorithm,
        max_sweeps: int = 1000,
        lag: int = 1,
        seed: rng.Seed = 0,
        *,
        k: int = 1,
        unit: tuple[int, int] = (0, 0),
        times: np.ndarray | None = None,
    ) -> None:
        lag, k, max_sweeps = _checked("PairStream", lag, k, max_sweeps)
        self.rbm, self.algorithm, self.lag, self.k, self.max_sweeps = rbm, algorithm, lag, k, max_sweeps
        self.times = np.zeros(0, np.int64) if times is None else np.asarray(times, np.int64)
        if (np.diff(self.times, prepend=lag - 1, append=max_sweeps + 1) <= 0).any():
            raise BadInput(f"Distances are counted at sweeps that rise, from {lag} to {max_sweeps:,}.")
        self._starts, self._seed, self._unit = starts, rng.seed_sequence(seed), np.array(unit)
        self._setup = pair_setup(algorithm, lag, k, max_sweeps)
        self._chains = kernels.coupling.make_chains(rbm.W, rbm.b, rbm.c)
        self._sums = kernels.coupling.no_sums(*rbm.W.shape)
        self._outcomes = kernels.coupling.make_outcomes(MAX_PAIRS)
        # Zeros take no memory before they are written.
        self.cd_estimate, self.unbiased = np.zeros((MAX_PAIRS, 5)), np.zeros((MAX_PAIRS, 5))
        self.distances = np.zeros((len(self.times), rbm.n_visible + 1), np.int64)
        self.finished, self.loops_given_up = 0, 0
        self._begin(0)

    def _begin(self, block: int) -> None:
        """Make the starts, random streams and outcomes of a block of pairs."""
        self._first, self._progress = block * PAIRS_PER_BLOCK, kernels.coupling.make_progress()
        here = slice(self._first, min(self._first + PAIRS_PER_BLOCK, MAX_PAIRS))
        pairs = here.stop - here.start
        self._v0 = np.ascontiguousarray(self._starts(block)[:pairs], dtype=np.uint8)
        self._random_streams = pair_streams(PAIRS_PER_BLOCK, rng.child(self._seed, "pairs", block))
        self._here = kernels.coupling.PairOutcomes(*(x[here] for x in self._outcomes))
        near = np.zeros((pairs, len(self.times)), np.int32)
        self._watched = kernels.coupling.WatchedPairs(
            self._unit, self.cd_estimate[here], self.unbiased[here], self.times, near
        )

    def chains(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Return v and h of each chain of the current pair, or of the pair that has just ended.

        If a pair was cut off before sweep k, the first chain is at sweep k.
        """
        v, h = self._chains.v.bits, self._chains.h.bits
        m, n = self.rbm.W.shape
        first, second = (
            (kernels.coupling.unpack_bits(v[i], m), kernels.coupling.unpack_bits(h[i], n)) for i in range(2)
        )
        return first, second

    @property
    def tau(self) -> np.ndarray:
        """Meeting times, int64 (MAX_PAIRS,); max_sweeps if a pair was cut off."""
        return self._outcomes.tau

    @property
    def rejected(self) -> np.ndarray:
        """Residual proposals that the first and the second chain rejected, int64 (MAX_PAIRS, 2)."""
        return self._outcomes.rejected

    @property
    def truncated(self) -> np.ndarray:
        """Whether a pair had not met at max_sweeps, bool (MAX_PAIRS,)."""
        return self._outcomes.truncated

    @property
    def t(self) -> int:
        """Sweeps of the first chain in the current pair; 0 before the next pair begins."""
        return int(self._progress[0].t)

    def advance(self, sweeps: int) -> int:
        """Run for about ``sweeps`` sweeps, stopping at the end of a block; return the number done.

        The first ``lag`` sweeps of a pair are not interrupted.
        """
        if self.finished >= MAX_PAIRS:
            return 0
        if self._progress[0].pair == len(self._v0):
            self._begin(self._first // PAIRS_PER_BLOCK + 1)
        before = int(self._progress[0].pair)
        done = kernels.coupling.run_pairs(
            self._chains, self._v0, self._random_streams, self._setup, sweeps,
            self._progress, self._here, self._sums, self._watched,
        )  # fmt: skip
        ended = slice(before, int(self._progress[0].pair))
        if ended.stop > before:
            self.finished = self._first + ended.stop
            self.loops_given_up += int(self._here.loops_given_up[ended].sum())
            for j, near in enumerate(self._watched.distances[ended].T):
                self.distances[j] += np.bincount(near, minlength=self.distances.shape[1])
        return done
