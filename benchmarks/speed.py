"""The rows of the speed table: the work that is timed, the peers, and the targets.

Each entry of ``BENCH_ROWS`` is one row. Its roofline is a contestant too, timed in the same rounds: a dot
product of numpy (BLAS) with the least memory traffic, or the least arithmetic, of one unit of work; ``how``
says which. It is an estimate of the shortest possible time, not a proven bound.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from benchmarks import peers as others
from benchmarks.environments import Peers
from benchmarks.timing import QUICK, USUAL, Contestant, Times, TimingBudget, interleave
from rbmviz import rng
from rbmviz.datasets import load_dataset
from rbmviz.errors import unknown
from rbmviz.metrics import ISL, log_z
from rbmviz.models import load_model
from rbmviz.rbm import RBM, Model
from rbmviz.rbm.parameters import FixedParameters
from rbmviz.registry import trainers
from rbmviz.samplers import make_sampler, sample
from rbmviz.samplers.interleave import on_one_thread
from rbmviz.trainers import batches, make_trainer, training

OURS, ROOFLINE = "rbmviz", "roofline"
BEST = "best peer"

BENCH_BURN_IN, UPDATES = 1000, 50
"""Sweeps before a chain is timed, as it flips more units at its start; updates of a call, as in `train`."""


@dataclass(frozen=True)
class Target:
    """A required speed (``must``), and optionally a better one (``stretch``).

    Both are numbers whose meaning depends on ``kind``. ``faster``: at least this many times faster than
    ``against``, a contestant or the best peer. ``slower``: at most this many times the time of ``against``.
    ``rate``: at least this many units of work per second.
    """

    kind: Literal["faster", "slower", "rate"]
    must: float
    stretch: float | None = None
    against: str = BEST

    def reached(self, measured: float) -> str:
        """Return "stretch", "must" or "missed"."""

        def holds(wanted: float) -> bool:
            return measured <= wanted if self.kind == "slower" else measured >= wanted

        if self.stretch is not None and holds(self.stretch):
            return "stretch"
        return "must" if holds(self.must) else "missed"


@dataclass(frozen=True, eq=False)
class Match:
    """The contestants of one row: rbmviz, the roofline, the peers, and other samplers of rbmviz.

    A peer that takes no part has a reason in place of a function.
    """

    ours: Contestant
    bound: Contestant
    how: str
    peers: Mapping[str, Contestant | str] = field(default_factory=dict)
    own: Mapping[str, Contestant] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Row:
    """One row: a unit of work, its contestants, and its targets.

    Parameters
    ----------
    name, about : str
        Name of the row, and one line about the work.
    unit : str
        Name of one unit of work.
    make : callable
        Function that takes the peers, or None if none take part, and returns the contestants.
    targets : tuple of Target
        Required speeds.
    recorded : mapping of str to float
        Seconds per unit of programs that cannot be imported, measured on another machine (4 cores of an Ice
        Lake at 2.8 GHz, one thread): only a rough comparison with times on this machine.
    """

    name: str
    about: str
    unit: str
    make: Callable[[Peers | None], Match]
    targets: tuple[Target, ...]
    recorded: Mapping[str, float] = field(default_factory=dict)


# Rooflines


def reading(n_bytes: float, footprint: int) -> Contestant:
    """Return a contestant that reads ``n_bytes`` per unit of work, from ``footprint`` bytes of arrays."""
    x = np.ones(max(footprint // 4, 1024), np.float32)
    return Contestant(lambda: x @ x, x.nbytes / max(n_bytes, 1))


def multiplying(operations: float, dtype: type = np.float32) -> Contestant:
    """Return a contestant that does this many floating-point operations per unit of work (sgemm or dgemm)."""
    x: np.ndarray = np.ones((512, 512), dtype)
    return Contestant(lambda: x @ x, 2 * 512**3 / operations)


def adding(additions: float, rows: str) -> tuple[Contestant, str]:
    """Return a contestant that adds as many numbers, and a description.

    Because most bits are 0, dense products are not a lower bound; an addition takes a vector unit as long as
    a multiply-add.
    """
    how = f"{additions / 1e6:,.1f} million additions of {rows}, each as fast as a multiply-add of sgemm"
    return multiplying(2 * additions), how


def update_roofline(rbm: RBM, v: np.ndarray, chains: np.ndarray | None) -> tuple[Contestant, str]:
    """Return the roofline of an update from the mini-batch v, of CD-1, or of PCD-1 with these chains.

    The units are counted in draws from the model: W is summed over the active units of v, and of the chains,
    if these are others; W' over the hidden units drawn; and the means given the samples w come from the units
    in which w differs from its start. The statistics v'p - w'q = v'(p - q) + (v - w)'q touch a row of W for
    each active unit of v and each unit in which w differs, or is active if that are fewer.
    """
    g, start = rng.generator(0, "roofline"), v if chains is None else chains
    h = g.random((len(start), rbm.n_hidden)) < rbm.mean_hidden(start.astype(np.float32))
    w = g.random(start.shape) < rbm.mean_visible(h.astype(np.float32))
    others_active = 0 if chains is None else int(chains.sum())
    flipped, differing = int((w != start).sum()), min(int((w != v).sum()), int(w.sum()))
    of_v = 2 * int(v.sum()) + others_active + flipped + differing
    rows = (
        f"the rows of W (an example has {v.sum() / len(v):.0f} active units, {h.sum() / len(h):.0f} hidden, "
        f"and {flipped / len(w):.0f} that flip)"
    )
    return adding(of_v * rbm.n_hidden + int(h.sum()) * rbm.n_visible, rows)


def chains_roofline(model: Model, v: np.ndarray) -> tuple[Contestant, str]:
    """Return the roofline of a sweep of chains at v, counted in their next sweeps."""
    sampler, (m, n) = make_sampler("gibbs", n_chains=len(v)), model.rbm.W.shape
    state: Any = sampler.init(model, 0, v)
    sampler.step(state, len(v))
    additions, sweeps = 0, 20
    for _ in range(sweeps):
        sampler.step(state, len(v))
        for _, hidden, visible, _ in state.groups:
            for layer, width in ((hidden, n), (visible, m)):
                counts = layer.flips.counts
                additions += width * int(np.minimum(counts["on"] + counts["off"], counts["active"]).sum())
    return adding(additions / sweeps, "the rows of flipped units (of active ones if fewer)")


# Rows: each function takes model and data as parameters, so that tests can run it with small ones.


def _against(peers: Peers | None, functions: Mapping[str, str], **arguments: Any) -> dict[str, Any]:
    """Return the peers that do the work of a row; none without peers. See ``Peers.contestants``."""
    return {} if peers is None else peers.contestants(functions, **arguments)


def _renamed(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the one peer that was found, if any, by another name."""
    return dict(zip([name], found.values(), strict=False))


def _gibbs_of(peers: Peers | None, rbm: RBM, v0: np.ndarray, sweeps: int = 100) -> dict[str, Any]:
    """Return the peers' Gibbs sampling, of those that compile a loop ``sweeps`` a call."""
    looping = {name: other for name, other in others.GIBBS.items() if name in ("jax", "thrml")}
    plain = {name: other for name, other in others.GIBBS.items() if name not in looping}
    same: dict[str, Any] = {"rbm": rbm, "v0": v0, "seed": 0}
    reasons = {}
    if peers is not None and v0.ndim > 1:
        reasons["thrml"] = "left out: 1,000 chains take it 0.9 s a sweep, and its memory slows all others"
        del looping["thrml"]
    every = dict.fromkeys(looping, float(sweeps))
    compiled = _against(peers, looping, work=every, sweeps=sweeps, **same)
    return _against(peers, plain, **same) | compiled | reasons


def _row_bytes(sampler: Any, state: Any, v_flips: Any, h_flips: Any, rbm: RBM, samples: int = 200) -> float:
    """Return the bytes of weight rows that a sweep reads: of flipped units, or of active units if fewer."""
    rows = np.zeros(2)
    for _ in range(samples):
        sampler.step(state, 1)
        for i, flips in enumerate((v_flips, h_flips)):
            counts = flips.counts[0]
            rows[i] += min(counts.on + counts.off, counts.active)
    return float(4 * (rows @ (rbm.n_hidden, rbm.n_visible))) / samples


def gibbs_row(model: Model, peers: Peers | None, block: int = 100) -> Match:
    """Return the row for one chain of block Gibbs, one sweep per sample."""
    sampler, rbm = make_sampler("gibbs"), model.rbm
    state: Any = sampler.init(model, 0)
    v0 = sampler.step(state, BENCH_BURN_IN).v[-1]
    least = _row_bytes(sampler, state, state.v_flips, state.h_flips, rbm)
    return Match(
        Contestant(lambda: sampler.step(state, block), block),
        reading(least, 2 * rbm.W.nbytes),
        f"reading the {least / 1e3:.0f} KB of rows of flipped units (of active ones if fewer)",
        _gibbs_of(peers, rbm, v0),
    )


def chains_row(model: Model, n_chains: int, peers: Peers | None, block: int = 20) -> Match:
    """Return the row for many chains of the sampler, ``block`` sweeps of each a step."""
    sampler = make_sampler("gibbs", n_chains=n_chains)
    state: Any = sampler.init(model, 0)
    v0 = sampler.step(state, n_chains * BENCH_BURN_IN // 20).v[-n_chains:]

    def sweeps() -> None:
        with on_one_thread():
            sampler.step(state, n_chains * block)

    roofline = chains_roofline(model, v0)
    return Match(Contestant(sweeps, block), *roofline, _gibbs_of(peers, model.rbm, v0, 2))


def batch_row(model: Model, n_chains: int, peers: Peers | None) -> Match:
    """Return the row for many chains in one batch, as the k sweeps of an update: no copies of W are kept."""
    rbm, state = model.rbm, rng.kernel_state(0, "chain")
    v = batches.random_chains(n_chains, rbm.n_visible, 0)
    theta = FixedParameters(rbm.W, rbm.b, rbm.c)

    def sweep() -> None:
        nonlocal v
        v = batches.sweep(theta, v, state)

    for _ in range(BENCH_BURN_IN // 20):
        sweep()

    bits = v.astype(np.uint8)
    return Match(Contestant(sweep), *chains_roofline(model, bits), _gibbs_of(peers, rbm, bits, 2))


def fpcd_row(model: Model, alpha: float, peers: Peers | None, eps: float = 0.03, block: int = 100) -> Match:
    """Return the row for one chain of rates-FPCD, k = 1, beside Gibbs sampling by rbmviz and by the peers."""
    sampler, gibbs = make_sampler("rates_fpcd", eps=eps, alpha=alpha), make_sampler("gibbs")
    state: Any = sampler.init(model, 0)
    v0 = sampler.step(state, BENCH_BURN_IN).v[-1]
    least = _row_bytes(sampler, state, state.up.flips, state.down.flips, model.rbm)
    plain = gibbs.init(model, 0)
    gibbs.step(plain, BENCH_BURN_IN)
    against = {f"{name} Gibbs": peer for name, peer in _gibbs_of(peers, model.rbm, v0).items()}
    for name, function in (("numpy, in place", "numpy_rates_fpcd"), ("naive numpy", "naive_rates_fpcd")):
        knobs = {"rbm": model.rbm, "rates": model.rates, "v0": v0, "seed": 0, "eps": eps, "alpha": alpha}
        against |= _renamed(name, _against(peers, {"numpy": function}, **knobs))
    return Match(
        Contestant(lambda: sampler.step(state, block), block),
        reading(least, 2 * model.rbm.W.nbytes),
        f"reading the {least / 1e3:.0f} KB of rows of flipped units of one matrix; more flip than in Gibbs",
        against,
        {"own Gibbs": Contestant(lambda: gibbs.step(plain, block), block)},
    )


def tempering_row(model: Model, peers: Peers | None, n_replicas: int = 10, block: int = 20) -> Match:
    """Return the row for parallel tempering, beside chains of Gibbs at its temperatures, up to 10."""
    sampler = make_sampler("parallel_tempering", n_replicas=n_replicas, reference="uniform")
    state: Any = sampler.init(model, 0)
    v0 = sampler.step(state, BENCH_BURN_IN).v[-1]
    betas, alone, rbm = np.sort(state.ladder.beta)[::-1], [], model.rbm
    least = 0.0
    for beta in betas:
        gibbs = make_sampler("gibbs", temperature=min(1 / max(float(beta), 1e-9), 10.0))
        chain: Any = gibbs.init(model, 0, v0)
        gibbs.step(chain, BENCH_BURN_IN)
        least += _row_bytes(gibbs, chain, chain.v_flips, chain.h_flips, rbm)
        alone.append(lambda gibbs=gibbs, chain=chain: gibbs.step(chain, block))
    return Match(
        Contestant(lambda: sampler.step(state, block), block),
        reading(least, 2 * rbm.W.nbytes),
        f"reading the {least / 1e3:.0f} KB of rows of flipped units, of Gibbs at the same temperatures",
        _against(peers, others.TEMPERING, rbm=rbm, v0=v0, betas=betas.copy(), seed=0),
        {"own Gibbs": Contestant(lambda: [step() for step in alone], block)},
    )


ISL_PEERS = {
    "sgemm": ("numpy", "sgemm_isl"),
    "bitwise_count": ("numpy", "bitwise_count_isl"),
    "cdist": ("scikit-learn", "cdist_isl"),  # has SciPy
}
"""Environment and function of what counts distances."""


def isl_row(test: np.ndarray, samples: np.ndarray, peers: Peers | None, peer_block: int = 256) -> Match:
    """Return the row for streaming ISL: distance histograms of samples to every test point."""
    metric, block = ISL(test), samples[:peer_block]
    against: dict[str, Any] = {}
    for name, (library, function) in ISL_PEERS.items():
        every = {library: float(len(block))}
        found = _against(peers, {library: function}, work=every, test=test, samples=block)
        against |= _renamed(name, found)
    words = 8 * -(-test.shape[1] // 64)
    return Match(
        Contestant(lambda: metric.update(samples), len(samples)),
        # A word is two float32 lanes, and a lane's multiply-add counts as two operations.
        multiplying(3 * words / 8 * 2 * 2 * len(test)),
        "xor, popcount and addition of every packed word, each as fast as a multiply-add of sgemm",
        against,
    )


def ucd_row(rbm: RBM, data: np.ndarray, n_chains: int, peers: Peers | None) -> Match:
    """Return the row for one gradient of UCD: coupled chains from data, for at most 100 sweeps."""
    trainer: Any = make_trainer("ucd", n_chains=n_chains, t_max=100)
    state = trainer.init(rbm, data, 0)
    batch = data[:1].astype(np.float32)

    def gradient() -> Any:
        return trainer.negative(state, FixedParameters(*state.theta), batch)

    gradient()
    tau, v = float(state.own_state.tau.mean()), data.mean()
    h = rbm.mean_hidden(data[:1000].astype(np.float32)).mean()
    sweeps = 2 * tau - 1  # tau of the first chain, tau - 1 of the second
    least = 4 * n_chains * sweeps * float(v + h) * rbm.W.size
    return Match(
        Contestant(gradient),
        reading(least, 2 * rbm.W.nbytes),
        f"reading the rows of active units in {sweeps:.1f} sweeps a pair (mean tau {tau:.1f})",
    )


def update_row(
    model: Model,
    data: np.ndarray,
    name: str,
    peers: Peers | None,
    size: int = 100,
    rate: float = 1e-6,
) -> Match:
    """Return the row for one mini-batch update, at a rate so small that the model hardly changes."""
    persistent = {"n_chains": size} if trainers[name].chains == "persistent" else {}
    trainer: Any = make_trainer(name, batch_size=size, learning_rate=rate, **persistent)
    state = trainer.init(model.rbm, data, 0)
    if persistent:
        state.own_state = data[:size].astype(np.float32)
    table, chains = (others.PCD, data[:size]) if persistent else (others.CD, None)
    knobs: dict[str, Any] = {"rbm": model.rbm, "rate": rate, "data": data, "size": size, "seed": 0}
    against: dict[str, Any] = {}
    for library, function in table.items():
        more = {"function": function} | ({} if chains is None else {"chains": chains})
        against |= _against(peers, {library: "batches"}, **knobs, **more)
    return Match(
        Contestant(lambda: training.advance(trainer, state, UPDATES), UPDATES),
        *update_roofline(model.rbm, data[-size:], chains),
        against,
    )


def population_row(model: Model, data: np.ndarray, size: int = 100) -> Match:
    """Return the row for an update of pop-CD beside CD's, at a rate that hardly changes the model."""

    def updating(name: str) -> Contestant:
        one: Any = make_trainer(name, batch_size=size, learning_rate=1e-6)
        return Contestant(partial(training.advance, one, one.init(model.rbm, data, 0), UPDATES), UPDATES)

    roofline = update_roofline(model.rbm, data[-size:], None)
    return Match(updating("pop_cd"), *roofline, own={"own CD": updating("cd")})


def fit_row(data: np.ndarray, passes: int, peers: Peers | None) -> Match:
    """Return the row for ``BernoulliRBM.fit``, including the rates."""
    from rbmviz.sklearn import BernoulliRBM

    fitted = BernoulliRBM(n_iter=passes, random_state=0).fit(data)
    rbm = RBM(fitted.components_.T, fitted.intercept_visible_, fitted.intercept_hidden_)
    v = data[:500].astype(np.uint8)
    updates = passes * len(data) / len(v)
    one, how = update_roofline(rbm, v, v[::-1])
    return Match(
        Contestant(lambda: BernoulliRBM(n_iter=passes, random_state=0).fit(data)),
        Contestant(one.run, one.work / updates),
        f"{updates:g} times {how}",
        _against(peers, others.FIT, data=data, passes=passes),
    )


def log_z_row(rbm: RBM, peers: Peers | None, peer_states: int = 2**14) -> Match:
    """Return the row for exact log Z; peers enumerate a part of the states, and their time is scaled."""
    share, factors = max(2**rbm.n_hidden // peer_states, 1), 2**rbm.n_hidden * rbm.n_visible
    return Match(
        Contestant(lambda: log_z(rbm)),
        multiplying(2.0 * factors, np.float64),
        f"{factors / 1e6:,.0f} million factors, one fused multiply-add each at the speed of dgemm",
        _against(peers, others.LOG_Z, work=dict.fromkeys(others.LOG_Z, 1 / share), rbm=rbm, parts=share),
    )


def _random(n_visible: int, n_hidden: int, sd: float) -> RBM:
    g = rng.generator(0, "model")
    return RBM(g.normal(0, sd, (n_visible, n_hidden)), np.zeros(n_visible), np.zeros(n_hidden))


def _digits(n: int) -> np.ndarray:
    """Return n digits, the 5,000 of mnist5k repeated."""
    data = load_dataset("mnist5k")
    rows = np.concatenate([data.test, data.validation, data.train])
    return np.resize(rows, (n, rows.shape[1]))


def _digit_samples(n: int) -> np.ndarray:
    return sample(load_model("mnist_pcd"), make_sampler("rates_fpcd"), n).v


def _bits(n: int, width: int) -> np.ndarray:
    return rng.generator(0, "data").integers(0, 2, (n, width), dtype=np.uint8)


def _half(model: Model) -> Model:
    """Return the model with its first 256 hidden units."""
    return Model(RBM(model.rbm.W[:, :256], model.rbm.b, model.rbm.c[:256]))


def _fit_rows() -> Iterator[Row]:
    for passes, must in ((1, 8), (10, 14)):
        yield Row(
            f"fit_784x256_{passes}",
            "fit of `BernoulliRBM`, defaults (PCD, batches of 10, float64), with rates; "
            f"passes over 2,000 digits: {passes}",
            "fit",
            lambda peers, passes=passes: fit_row(_digits(2000).astype(np.float64), passes, peers),  # type: ignore[misc]
            (Target("faster", must, against="scikit-learn"),),
        )


def _fpcd_maker(model: str, alpha: float) -> Callable[[Peers | None], Match]:
    return lambda peers: fpcd_row(load_model(model), alpha, peers)


def _fpcd_rows() -> Iterator[Row]:
    for size, model, own in (
        ("784x500", "mnist_pcd", Target("slower", 5, 3, "own Gibbs")),
        ("256x200", "usps_fpcd", Target("slower", 3.5, 2.5, "own Gibbs")),
    ):
        for alpha in (0.95, 1.0):
            yield Row(
                f"rates_fpcd_{size}_alpha_{alpha:g}",
                f"rates-FPCD, k = 1, {size}, trained, alpha = {alpha:g}; peers: their plain Gibbs",
                "sample",
                _fpcd_maker(model, alpha),
                (
                    own,
                    Target("faster", 40, 80, "naive numpy"),
                    Target("faster", 5.5 if alpha < 1 else 3.2, None, "scikit-learn Gibbs"),
                )
                if size == "784x500"
                else (own,),
            )


BENCH_ROWS: tuple[Row, ...] = (
    Row(
        "gibbs_784x500",
        "Gibbs, one chain, 784x500, trained",
        "sweep",
        lambda peers: gibbs_row(load_model("mnist_pcd"), peers),
        (Target("faster", 12, 20),),
    ),
    Row(
        "gibbs_784x500_dense",
        "Gibbs, one chain, 784x500, weights N(0, 0.1^2)",
        "sweep",
        lambda peers: gibbs_row(Model(_random(784, 500, 0.1)), peers),
        (Target("faster", 4, 6),),
    ),
    Row(
        "gibbs_256x200",
        "Gibbs, one chain, 256x200, trained",
        "sweep",
        lambda peers: gibbs_row(load_model("usps_fpcd"), peers),
        (Target("faster", 8, 12),),
    ),
    Row(
        "tempering_784x500",
        "parallel tempering, 10 replicas, 784x500, trained",
        "sweep of all",
        lambda peers: tempering_row(load_model("mnist_pcd"), peers),
        (Target("slower", 1.5, None, "own Gibbs"),),
    ),
    Row(
        "gibbs_1000_chains",
        "Gibbs, 1000 chains of the sampler, 784x500, trained",
        "sweep of all",
        lambda peers: chains_row(load_model("mnist_pcd"), 1000, peers),
        (Target("faster", 6, None, "numpy"),),
    ),
    Row(
        "gibbs_1000_batch",
        "the same in one batch, as the sweeps of an update of a trainer",
        "sweep of all",
        lambda peers: batch_row(load_model("mnist_pcd"), 1000, peers),
        (Target("faster", 7, None, "numpy"),),
    ),
    *_fpcd_rows(),
    Row(
        "headline_256",
        "the paper's headline: rates-FPCD against Gibbs at equal k, 256 visible (paper: 2 times slower)",
        "sample",
        lambda peers: fpcd_row(load_model("usps_fpcd"), 1.0, None),
        (),
    ),
    Row(
        "headline_784",
        "the paper's headline: rates-FPCD against Gibbs at equal k, 784 visible (paper: 7 times slower)",
        "sample",
        lambda peers: fpcd_row(load_model("mnist_pcd"), 1.0, None),
        (),
    ),
    Row(
        "isl_2000",
        "streaming ISL, 784 bits, 2,000 test points",
        "sample",
        lambda peers: isl_row(_digits(2000), _digit_samples(1024), peers),
        (Target("rate", 130e3, 300e3), Target("faster", 20, 40)),
    ),
    Row(
        "isl_10000",
        "streaming ISL, 784 bits, 10,000 test points",
        "sample",
        lambda peers: isl_row(_digits(10_000), _digit_samples(1024), peers, 64),
        (Target("rate", 25e3, 50e3),),
    ),
    Row(
        "ucd_16x16_near",
        "UCD, gradient of 1000 chains, Bars and Stripes, 16x16 at the start of training",
        "gradient",
        lambda peers: ucd_row(_random(16, 16, 0.01), load_dataset("bas").train, 1000, peers),
        (Target("faster", 2.5, 5, "cdtau"),),
        {"cdtau": 3.6e-3},
    ),
    Row(
        "ucd_16x16_far",
        "the same, weights N(0, 1)",
        "gradient",
        lambda peers: ucd_row(_random(16, 16, 1.0), load_dataset("bas").train, 1000, peers),
        (Target("faster", 1.5, 4, "cdtau"),),
        {"cdtau": 7.8e-3},
    ),
    Row(
        "ucd_200x100",
        "UCD, gradient of 1000 chains, 200x100, weights N(0, 0.1^2)",
        "gradient",
        lambda peers: ucd_row(_random(200, 100, 0.1), _bits(1000, 200), 1000, peers),
        (Target("faster", 3, 5, "cdtau"),),
        {"cdtau": 86e-3},
    ),
    Row(
        "ucd_784x500",
        "UCD, gradient of 100 chains, 784x500, trained: no pair meets within the 100 sweeps allowed",
        "gradient",
        lambda peers: ucd_row(load_model("mnist_pcd").rbm, _digits(1000), 100, peers),
        (Target("faster", 4, 8, "cdtau"),),
        {"cdtau": 1.956},
    ),
    Row(
        "cd1_784x500",
        "CD-1 update, mini-batch of 100, 784x500, trained",
        "update",
        lambda peers: update_row(load_model("mnist_pcd"), _digits(5000), "cd", peers),
        (Target("faster", 4.5, None, "numpy"),),
    ),
    Row(
        "pcd1_784x500",
        "PCD-1 update, mini-batch and chains of 100, 784x500, trained",
        "update",
        lambda peers: update_row(load_model("mnist_pcd"), _digits(5000), "pcd", peers),
        (Target("faster", 3.7, None, "numpy"), Target("faster", 4.2, None, "scikit-learn")),
    ),
    Row(
        "cd1_784x256_10",
        "CD-1 update, mini-batch of 10, 784x256, half of the trained hidden units",
        "update",
        lambda peers: update_row(_half(load_model("mnist_pcd")), _digits(5000), "cd", peers, 10),
        (Target("faster", 7, None, "numpy"),),
    ),
    Row(
        "pcd1_784x256_10",
        "PCD-1 update, mini-batch and chains of 10, 784x256, half of the trained hidden units",
        "update",
        lambda peers: update_row(_half(load_model("mnist_pcd")), _digits(5000), "pcd", peers, 10),
        (Target("faster", 7, None, "numpy"), Target("faster", 12, None, "scikit-learn")),
    ),
    Row(
        "pop_cd_784x500",
        "pop-CD update, mini-batch and population of 100, 784x500, trained",
        "update",
        lambda peers: population_row(load_model("mnist_pcd"), _digits(5000)),
        (Target("slower", 1.2, None, "own CD"),),
    ),
    Row(
        "pop_cd_16x16",
        "the same, 16x16, weights N(0, 0.5^2)",
        "update",
        lambda peers: population_row(Model(_random(16, 16, 0.5)), _bits(1000, 16)),
        (Target("slower", 1.5, None, "own CD"),),
    ),
    *_fit_rows(),
    Row(
        "log_z_16",
        "exact log Z, 16 hidden, 784 visible",
        "log Z",
        lambda peers: log_z_row(_random(784, 16, 0.1), peers),
        (Target("faster", 250, None, "numpy"),),
        {"rbms": 0.75, "cdtau": 0.84},
    ),
    Row(
        "log_z_20",
        "exact log Z, 20 hidden, 784 visible",
        "log Z",
        lambda peers: log_z_row(_random(784, 20, 0.1), peers),
        (Target("faster", 350, None, "numpy"),),
        {"rbms": 45.0, "cdtau": 21.0},
    ),
    Row(
        "log_z_24",
        "exact log Z, 24 hidden, 784 visible",
        "log Z",
        lambda peers: log_z_row(_random(784, 24, 0.1), peers),
        (),
    ),
)


def _measured(target: Target, times: Times, peers: Mapping[str, float]) -> tuple[float, str] | None:
    """Return the measured value and the peer of a target, or None if there is no such peer in this run."""
    ours = times.median(OURS)
    if target.kind == "rate":
        return 1 / ours, ""
    name = target.against
    if name == BEST:
        if not peers:
            return None
        name = min(peers, key=lambda peer: peers[peer])
    if name in times.seconds:
        one, other = (OURS, name) if target.kind == "slower" else (name, OURS)
        return times.ratio(one, other)[0], name
    if name in peers:
        return peers[name] / ours, name
    return None


def result(row: Row, match: Match, times: Times) -> dict[str, Any]:
    """Return a row as JSON values: seconds per unit, ratios to rbmviz, targets."""
    running = {name: times.median(name) for name in match.peers if name in times.seconds}
    recorded = {name: seconds for name, seconds in row.recorded.items() if name not in running}
    peers = running | recorded
    against = []
    for name, seconds in peers.items():
        entry: dict[str, Any] = {"name": name, "seconds": seconds, "recorded": name in recorded}
        if name in recorded:
            entry |= {"ratio": seconds / times.median(OURS)}
        else:
            middle, low, high = times.ratio(name, OURS)
            wall = float(np.median(times.wall[name]))
            entry |= {"best": times.best(name), "wall": wall, "ratio": middle, "quartiles": [low, high]}
        against.append(entry)
    targets = []
    for target in row.targets:
        found = _measured(target, times, peers)
        measured, name = found if found else (None, "")
        targets.append(
            {
                "kind": target.kind,
                "against": target.against if target.kind != "rate" else "",
                "who": name,
                "recorded": name in recorded,
                "must": target.must,
                "stretch": target.stretch,
                "measured": measured,
                "reached": None if measured is None else target.reached(measured),
            }
        )
    return {
        "name": row.name,
        "about": row.about,
        "unit": row.unit,
        "rounds": len(times.seconds[OURS]),
        "seconds": times.median(OURS),
        "best": times.best(OURS),
        "wall": float(np.median(times.wall[OURS])),
        "own": {
            name: {"seconds": times.median(name), "ratio": times.ratio(OURS, name)[0]} for name in match.own
        },
        "peers": sorted(against, key=lambda entry: entry["seconds"]),
        "absent": {name: peer for name, peer in match.peers.items() if isinstance(peer, str)},
        "targets": targets,
        "roofline": {
            "seconds": times.median(ROOFLINE),
            "share": times.ratio(ROOFLINE, OURS)[0],
            "how": match.how,
        },
    }


def measure(row: Row, peers: Peers | None, pace: TimingBudget = USUAL) -> dict[str, Any]:
    """Time one row and return its result; ``speed`` describes it."""
    match = row.make(peers)
    running = {name: peer for name, peer in match.peers.items() if isinstance(peer, Contestant)}
    contestants = {OURS: match.ours, ROOFLINE: match.bound, **match.own, **running}
    found = result(row, match, interleave(contestants, pace))
    if peers is not None:
        peers.forget()
    return found


def chosen(names: Sequence[str] | None) -> tuple[Row, ...]:
    """Return the rows with these names (a name may end in ``*``), or all rows for None.

    Raises
    ------
    BadInput
        If there is no such row.
    """
    if names is None:
        return BENCH_ROWS
    found: list[Row] = []
    for name in names:
        some = [
            row
            for row in BENCH_ROWS
            if row.name == name or (name.endswith("*") and row.name.startswith(name[:-1]))
        ]
        if not some:
            raise unknown("row", name, [row.name for row in BENCH_ROWS])
        found += some
    return tuple(dict.fromkeys(found))


def speed(
    rows: Sequence[str] | None = None, peers: Peers | None = None, quick: bool = False
) -> Iterator[dict[str, Any]]:
    """Time the rows, one after another; the contestants of a row are timed in interleaved rounds.

    Everything uses one thread: BLAS and the peers are limited to one, and rbmviz's kernels have one; only
    log Z uses all cores from 18 hidden units on. Seconds are processor time of all threads; wall is the time
    on the clock.

    Parameters
    ----------
    rows : sequence of str, optional
        Names from ``BENCH_ROWS``; ``gibbs*`` means all names that begin with gibbs (default: all rows).
    peers : Peers, optional
        Other libraries that are timed too (default: none).
    quick : bool
        Whether to time only a few very short rounds, to check that everything runs (default False).

    Yields
    ------
    dict
        name, about, unit; seconds (median), best (shortest round) and wall per unit for rbmviz; peers with
        seconds, wall, ratio (how many times slower than rbmviz, median over rounds) and its quartiles; absent
        ones with their reason; targets with must, stretch, measured and reached; roofline with seconds and
        share (of the time of rbmviz).

    Raises
    ------
    BadInput
        If there is no such row.
    """
    for row in chosen(rows):
        yield measure(row, peers, QUICK if quick else USUAL)
