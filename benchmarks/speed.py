"""The rows of the speed table: the work that is timed, the peers, and the targets.

Each entry of ``BENCH_ROWS`` is one row. Its roofline is a contestant too, timed in the same rounds: a dot
product of numpy (BLAS) with the least memory traffic, or the least arithmetic, of one unit of work; ``how``
says which. It is an estimate of the shortest possible time, not a proven bound.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from benchmarks import peers as others
from benchmarks.timing import QUICK, USUAL, Contestant, Times, TimingBudget, interleave
from rbmviz import rng
from rbmviz.datasets import load_dataset
from rbmviz.errors import unknown
from rbmviz.metrics import ISL, log_z
from rbmviz.models import load_model
from rbmviz.rbm import RBM, Model
from rbmviz.registry import trainers
from rbmviz.samplers import make_sampler, sample
from rbmviz.samplers.interleave import on_one_thread
from rbmviz.trainers import batches, make_trainer, training
from rbmviz.trainers.batches import Batches
from rbmviz.trainers.parameters import FixedParameters

OURS, ROOFLINE = "rbmviz", "roofline"
BEST = "best peer"

BENCH_BURN_IN = 1000
"""Number of sweeps before a chain is timed, because a chain flips more units at its start."""


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
    """The contestants of one row: rbmviz, the roofline, the peers, and other samplers of rbmviz."""

    ours: Contestant
    bound: Contestant
    how: str
    peers: Mapping[str, Contestant] = field(default_factory=dict)
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
        Function that takes whether peers take part, and returns the contestants.
    targets : tuple of Target
        Required speeds.
    recorded : mapping of str to float
        Seconds per unit of programs that cannot be imported, measured on another machine (4 cores of an Ice
        Lake at 2.8 GHz, one thread): only a rough comparison with times on this machine.
    """

    name: str
    about: str
    unit: str
    make: Callable[[bool], Match]
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


def adding_rows(rbm: RBM, v: np.ndarray, of_v: int, of_h: int) -> tuple[Contestant, str]:
    """Return a contestant that adds the rows of active units, and a description.

    The unit of work has ``of_v`` products of v, and ``of_h`` products of h (drawn given v), with a matrix of
    the size of W. Because most bits are 0, dense products are not a lower bound; an addition takes a vector
    unit as long as a multiply-add.
    """
    active = of_v * v.mean() + of_h * rbm.mean_hidden(v.astype(np.float32)).mean()
    additions = float(active) * len(v) * rbm.W.size
    how = (
        f"the {additions / 1e6:.0f} million additions of active rows, each as fast as a multiply-add of sgemm"
    )
    return multiplying(2 * additions), how


# Rows: each function takes model and data as parameters, so that tests can run it with small ones.


def _available(table: Mapping[str, Callable[..., Any]], allowed: bool) -> dict[str, Callable[..., Any]]:
    """Return the peers in a table that take part: none unless ``allowed``, else the installed ones."""
    libraries, found = ("numpy", "scikit-learn", "torch", "rbms"), others.installed()
    return {
        name: peer for name, peer in table.items() if allowed and (name in found or name not in libraries)
    }


def _row_bytes(sampler: Any, state: Any, v_flips: Any, h_flips: Any, rbm: RBM, samples: int = 200) -> float:
    """Return the bytes of weight rows that a sweep reads: of flipped units, or of active units if fewer."""
    rows = np.zeros(2)
    for _ in range(samples):
        sampler.step(state, 1)
        for i, flips in enumerate((v_flips, h_flips)):
            counts = flips.counts[0]
            rows[i] += min(counts.on + counts.off, counts.active)
    return float(4 * (rows @ (rbm.n_hidden, rbm.n_visible))) / samples


def gibbs_row(model: Model, peers: bool, block: int = 100) -> Match:
    """Return the row for one chain of block Gibbs, one sweep per sample."""
    sampler, rbm = make_sampler("gibbs"), model.rbm
    state: Any = sampler.init(model, 0)
    v0 = sampler.step(state, BENCH_BURN_IN).v[-1]
    least = _row_bytes(sampler, state, state.v_flips, state.h_flips, rbm)
    return Match(
        Contestant(lambda: sampler.step(state, block), block),
        reading(least, 2 * rbm.W.nbytes),
        f"reading the {least / 1e3:.0f} KB of rows of flipped units (of active ones if fewer)",
        {name: Contestant(peer(rbm, v0, 0)) for name, peer in _available(others.GIBBS, peers).items()},
    )


def chains_row(model: Model, n_chains: int, peers: bool, block: int = 20) -> Match:
    """Return the row for many chains of the sampler, ``block`` sweeps of each a step."""
    sampler, single = make_sampler("gibbs", n_chains=n_chains), make_sampler("gibbs")
    state: Any = sampler.init(model, 0)
    one: Any = single.init(model, 0)
    v0 = sampler.step(state, n_chains * BENCH_BURN_IN // 20).v[-n_chains:]
    single.step(one, BENCH_BURN_IN)
    least = n_chains * _row_bytes(single, one, one.v_flips, one.h_flips, model.rbm)

    def sweeps() -> None:
        with on_one_thread():
            sampler.step(state, n_chains * block)

    return Match(
        Contestant(sweeps, block),
        reading(least, 2 * model.rbm.W.nbytes),
        f"reading the {least / 1e6:.0f} MB of rows of flipped units (of active ones if fewer)",
        {name: Contestant(peer(model.rbm, v0, 0)) for name, peer in _available(others.GIBBS, peers).items()},
    )


def batch_row(model: Model, n_chains: int, peers: bool) -> Match:
    """Return the row for many chains in one batch, as trainers run them: no copies of W are kept."""
    rbm, state = model.rbm, rng.kernel_state(0, "chain")
    v = batches.random_chains(n_chains, rbm.n_visible, 0)

    def sweep() -> None:
        nonlocal v
        v = batches.sweep(FixedParameters(rbm.W, rbm.b, rbm.c), v, state)

    for _ in range(BENCH_BURN_IN // 20):
        sweep()

    return Match(
        Contestant(sweep),
        *adding_rows(rbm, v, 1, 1),
        {
            name: Contestant(peer(rbm, v.astype(np.uint8), 0))
            for name, peer in _available(others.GIBBS, peers).items()
        },
    )


def fpcd_row(model: Model, alpha: float, peers: bool, eps: float = 0.03, block: int = 100) -> Match:
    """Return the row for one chain of rates-FPCD, k = 1, beside Gibbs sampling by rbmviz and by the peers."""
    sampler, gibbs = make_sampler("rates_fpcd", eps=eps, alpha=alpha), make_sampler("gibbs")
    state: Any = sampler.init(model, 0)
    v0 = sampler.step(state, BENCH_BURN_IN).v[-1]
    least = _row_bytes(sampler, state, state.up.flips, state.down.flips, model.rbm)
    plain = gibbs.init(model, 0)
    gibbs.step(plain, BENCH_BURN_IN)
    against = {
        f"{name} Gibbs": peer(model.rbm, v0, 0) for name, peer in _available(others.GIBBS, peers).items()
    }
    if peers:
        against["numpy, in place"] = others.numpy_rates_fpcd(model, v0, 0, eps, alpha)
        against["naive numpy"] = others.naive_rates_fpcd(model, v0, 0, eps, alpha)
    return Match(
        Contestant(lambda: sampler.step(state, block), block),
        reading(least, 2 * model.rbm.W.nbytes),
        f"reading the {least / 1e3:.0f} KB of rows of flipped units of one matrix; more flip than in Gibbs",
        {name: Contestant(peer) for name, peer in against.items()},
        {"own Gibbs": Contestant(lambda: gibbs.step(plain, block), block)},
    )


def isl_row(test: np.ndarray, samples: np.ndarray, peers: bool, peer_block: int = 256) -> Match:
    """Return the row for streaming ISL: distance histograms of samples to every test point."""
    metric, block = ISL(test), samples[:peer_block]
    words = 8 * -(-test.shape[1] // 64)
    return Match(
        Contestant(lambda: metric.update(samples), len(samples)),
        # A word is two float32 lanes, and a lane's multiply-add counts as two operations.
        multiplying(3 * words / 8 * 2 * 2 * len(test)),
        "xor, popcount and addition of every packed word, each as fast as a multiply-add of sgemm",
        {
            name: Contestant(peer(test, block), len(block))
            for name, peer in _available(others.ISL_PEERS, peers).items()
        },
    )


def ucd_row(rbm: RBM, data: np.ndarray, n_chains: int, peers: bool) -> Match:
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
    model: Model, data: np.ndarray, trainer_name: str, peers: bool, size: int = 100, rate: float = 1e-6
) -> Match:
    """Return the row for one mini-batch update, at a rate so small that the model hardly changes."""
    persistent = {"n_chains": size} if trainers[trainer_name].chains == "persistent" else {}
    trainer: Any = make_trainer(trainer_name, batch_size=size, learning_rate=rate, **persistent)
    state = trainer.init(model.rbm, data, 0)
    if persistent:
        state.own_state = data[:size].astype(np.float32)
    batches = Batches(data, rng.generator(0, "data"))
    table: Mapping[str, Callable[..., Any]] = others.PCD_PEERS if persistent else others.CD_PEERS
    start = {"chains": data[:size]} if persistent else {}
    against = {name: peer(model.rbm, rate, 0, **start) for name, peer in _available(table, peers).items()}

    def updating(update: Callable[[np.ndarray], Any]) -> Contestant:
        return Contestant(lambda: update(batches.next(size)))

    # Products of v: the means of h given the mini-batch and given the samples (for PCD also given the old
    # chains), and two statistics. Products of h: one, the pre-activations of v.
    return Match(
        Contestant(lambda: training.advance(trainer, state, 10), 10),
        *adding_rows(model.rbm, data[:size], 5 if persistent else 4, 1),
        {name: updating(update) for name, update in against.items()},
    )


def fit_row(data: np.ndarray, peers: bool) -> Match:
    """Return the row for one pass of ``BernoulliRBM.fit`` over the data, including the rates."""
    from rbmviz.sklearn import BernoulliRBM

    units = BernoulliRBM().n_components
    return Match(
        Contestant(lambda: BernoulliRBM(n_iter=1, random_state=0).fit(data)),
        multiplying(2.0 * 5 * data.size * units),
        "the five products of an update, each at the speed of sgemm",
        {name: Contestant(peer(data)) for name, peer in _available(others.FIT_PEERS, peers).items()},
    )


def log_z_row(rbm: RBM, peers: bool, peer_states: int = 2**14) -> Match:
    """Return the row for exact log Z; peers enumerate a part of the states, and their time is scaled."""
    share = max(2**rbm.n_hidden // peer_states, 1)
    return Match(
        Contestant(lambda: log_z(rbm)),
        multiplying(2.0 * 2**rbm.n_hidden * rbm.n_visible, np.float64),
        "one multiplication and one addition per state and unit at the speed of dgemm",
        {
            name: Contestant(peer(rbm, share), 1 / share)
            for name, peer in _available(others.LOG_Z, peers).items()
        },
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


def _fpcd_maker(model: str, alpha: float) -> Callable[[bool], Match]:
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
                (own, Target("faster", 40, 80, "naive numpy"), Target("faster", 1))
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
        "gibbs_1000_chains",
        "Gibbs, 1000 chains of the sampler, 784x500, trained",
        "sweep of all",
        lambda peers: chains_row(load_model("mnist_pcd"), 1000, peers),
        (Target("faster", 1.8, 3, "numpy"),),
    ),
    Row(
        "gibbs_1000_batch",
        "the same as trainers run them, in one batch",
        "sweep of all",
        lambda peers: batch_row(load_model("mnist_pcd"), 1000, peers),
        (Target("faster", 1.8, 3, "numpy"),),
    ),
    *_fpcd_rows(),
    Row(
        "headline_256",
        "the paper's headline: rates-FPCD against Gibbs at equal k, 256 visible (paper: 2 times slower)",
        "sample",
        lambda peers: fpcd_row(load_model("usps_fpcd"), 1.0, False),
        (),
    ),
    Row(
        "headline_784",
        "the paper's headline: rates-FPCD against Gibbs at equal k, 784 visible (paper: 7 times slower)",
        "sample",
        lambda peers: fpcd_row(load_model("mnist_pcd"), 1.0, False),
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
        (Target("faster", 1.5, 2),),
    ),
    Row(
        "pcd1_784x500",
        "PCD-1 update, mini-batch and chains of 100, 784x500, trained",
        "update",
        lambda peers: update_row(load_model("mnist_pcd"), _digits(5000), "pcd", peers),
        (Target("faster", 2.5, None, "scikit-learn"),),
    ),
    Row(
        "fit_784x256",
        "fit of BernoulliRBM, defaults (PCD, batches of 10, float64), one pass over 2,000 digits, with rates",
        "fit",
        lambda peers: fit_row(_digits(2000).astype(np.float64), peers),
        (Target("faster", 1.8, against="scikit-learn"),),
    ),
    Row(
        "log_z_16",
        "exact log Z, 16 hidden, 784 visible",
        "log Z",
        lambda peers: log_z_row(_random(784, 16, 0.1), peers),
        (Target("faster", 10, 25),),
        {"rbms": 0.75, "cdtau": 0.84},
    ),
    Row(
        "log_z_20",
        "exact log Z, 20 hidden, 784 visible",
        "log Z",
        lambda peers: log_z_row(_random(784, 20, 0.1), peers),
        (Target("faster", 15, 40),),
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
    running = {name: times.median(name) for name in match.peers}
    recorded = {name: seconds for name, seconds in row.recorded.items() if name not in running}
    peers = running | recorded
    against = []
    for name, seconds in peers.items():
        entry: dict[str, Any] = {"name": name, "seconds": seconds, "recorded": name in recorded}
        if name in recorded:
            entry |= {"ratio": seconds / times.median(OURS)}
        else:
            middle, low, high = times.ratio(name, OURS)
            entry |= {"best": times.best(name), "ratio": middle, "quartiles": [low, high]}
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
        "own": {
            name: {"seconds": times.median(name), "ratio": times.ratio(OURS, name)[0]} for name in match.own
        },
        "peers": sorted(against, key=lambda entry: entry["seconds"]),
        "targets": targets,
        "roofline": {
            "seconds": times.median(ROOFLINE),
            "share": times.ratio(ROOFLINE, OURS)[0],
            "how": match.how,
        },
    }


def measure(row: Row, peers: bool = True, pace: TimingBudget = USUAL) -> dict[str, Any]:
    """Time one row and return its result; ``speed`` describes it."""
    match = row.make(peers)
    contestants = {OURS: match.ours, ROOFLINE: match.bound, **match.own, **match.peers}
    return result(row, match, interleave(contestants, pace))


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
    rows: Sequence[str] | None = None, peers: bool = True, quick: bool = False
) -> Iterator[dict[str, Any]]:
    """Time the rows, one after another; the contestants of a row are timed in interleaved rounds.

    Everything uses one thread: BLAS and torch are limited to one, and rbmviz's kernels have one.

    Parameters
    ----------
    rows : sequence of str, optional
        Names from ``BENCH_ROWS``; ``gibbs*`` means all names that begin with gibbs (default: all rows).
    peers : bool
        Whether numpy, scikit-learn, and if installed torch and rbms, are timed too (default True).
    quick : bool
        Whether to time only a few very short rounds, to check that everything runs (default False).

    Yields
    ------
    dict
        name, about, unit; seconds (median) and best (shortest round) per unit for rbmviz; peers with seconds,
        ratio (how many times slower than rbmviz, median over rounds) and its quartiles; targets with must,
        stretch, measured and reached; roofline with seconds and share (of the time of rbmviz).

    Raises
    ------
    BadInput
        If there is no such row.
    """
    for row in chosen(rows):
        yield measure(row, peers, QUICK if quick else USUAL)
