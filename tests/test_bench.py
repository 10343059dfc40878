"""The benchmark: its timing, its peers, the structure of its JSON. No test depends on a time."""

import json
import shutil

import naive
import numpy as np
import pytest
from command_line import run
from scipy.stats import chi2

from benchmarks import browsers, peers, speed, timing
from benchmarks.__main__ import NAME
from benchmarks.__main__ import main as bench
from benchmarks.command import text
from benchmarks.machine import machine
from benchmarks.quality import quality
from benchmarks.visitor import PANELS, PHASES, visitor
from rbmviz import RBM, load_dataset, load_model, make_sampler, make_trainer, rng, sample
from rbmviz.cli import COMMANDS
from rbmviz.metrics import ISL, Coverage, chain_diagnostics, log_z
from tests.kernels.engines import node

TINY = timing.TimingBudget(3, 1e-4, 0.1)
HERE = peers.installed()


def taking_part(table):
    return [name for name in table if name in HERE or name not in ("numpy", "scikit-learn", "torch", "rbms")]


# The clock


def test_contestants_take_turns(monkeypatch):
    """A clock of our own: each call of a takes 1 s, of b 3 s and does two units; the machine slows down."""
    now, order = [0.0], []

    def taking(name, seconds):
        def run():
            order.append(name)
            now[0] += seconds * (1 + len(order))

        return run

    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    contestants = {"a": timing.Contestant(taking("a", 1.0)), "b": timing.Contestant(taking("b", 3.0), 2.0)}
    times = timing.interleave(contestants, timing.TimingBudget(4, 1.0, 1e6))
    assert order == [*"aabb", *"abbaabba"]  # warm-up and pace, outside the clock, and then in turn
    assert times.seconds["a"][0] == pytest.approx(6.0)
    assert times.seconds["b"][0] == pytest.approx(3.0 * 7 / 2)
    middle, low, high = times.ratio("b", "a")
    assert low <= middle <= high
    assert middle == pytest.approx(1.5, rel=0.2)  # though the last round is twice as slow as the first


# Peers do the same work as we do


def chi_square_p(rbm, states) -> float:
    """p-value of visible states (n, 5) under the model's exact law."""
    counts = np.bincount(states.astype(np.int64) @ (1 << np.arange(4, -1, -1)), minlength=32)
    expected = naive.joint(rbm).sum(axis=1) * len(states)
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), 31))


@pytest.mark.parametrize("name", taking_part(peers.GIBBS))
def test_gibbs_of_the_peers_has_the_models_law(name, rbm):
    starts = np.random.default_rng(0).integers(0, 2, (6000, 5), dtype=np.uint8)
    sweep = peers.GIBBS[name](rbm, starts, 1)
    for _ in range(12):
        v = sweep()
    assert chi_square_p(rbm, v) > 1e-3
    turned = RBM(rbm.W, -rbm.b, rbm.c)
    assert chi_square_p(turned, v) < 1e-6
    one = peers.GIBBS[name](rbm, starts[0], 1)
    assert one().shape == (5,)
    if name == "numpy":
        chain = np.array([one() for _ in range(40_000)])[7::8]
        assert chi_square_p(rbm, chain) > 1e-3


@pytest.mark.parametrize("peer", [peers.numpy_rates_fpcd, peers.naive_rates_fpcd])
def test_rates_fpcd_of_numpy_is_the_papers_formula(peer, model):
    """theta_F rebuilt from the samples; and the model's law without a push."""
    v0 = np.ones(5, np.uint8)
    step = peer(model, v0, 2, 0.1, 0.9)
    want = [np.zeros((5, 3)), np.zeros(5), np.zeros(3)]
    for _ in range(50):
        v, h, F = step()
        statistics = [np.outer(v, h), v, h]
        rates = [model.rates.W, model.rates.b, model.rates.c]
        want = [0.9 * f + 0.1 * (r - s) for f, r, s in zip(want, rates, statistics, strict=True)]
    for got, f in zip(F, want, strict=True):
        np.testing.assert_allclose(got, f, atol=1e-5)
    still = peer(model, v0, 2, 0.0, 1.0)
    assert chi_square_p(model.rbm, np.array([still()[0] for _ in range(40_000)])[7::8]) > 1e-3


@pytest.mark.parametrize("name", list(peers.ISL_PEERS))
def test_histograms_of_the_peers_are_ours(name):
    g = np.random.default_rng(3)
    test, samples = (g.integers(0, 2, (n, 70), dtype=np.uint8) for n in (11, 23))
    ours = ISL(test).update(samples).histograms()
    np.testing.assert_array_equal(peers.ISL_PEERS[name](test, samples)(), ours)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("cd", name) for name in taking_part(peers.CD_PEERS)),
        *(("pcd", name) for name in taking_part(peers.PCD_PEERS)),
    ],
)
def test_updates_of_the_peers_are_ours_in_the_mean(kind, name, rbm):
    """The mean update over many copies of a batch, against ours: same expectation.

    Of PCD two from the same chains, far from the data: the second needs chains that went on.
    """
    rows = np.tile(np.random.default_rng(4).integers(0, 2, (10, 5), dtype=np.uint8), (1000, 1))
    if kind == "cd":
        trainer = make_trainer("cd", batch_size=len(rows), learning_rate=1.0)
        ours = trainer.step(trainer.init(rbm, rows, 0), 1).rbm
        theirs = peers.CD_PEERS[name](rbm, 1.0, 1)(rows.astype(np.float32))
    else:
        chains = np.tile(np.array([[1, 0, 0, 0, 1]], np.uint8), (10_000, 1))
        knobs = {"learning_rate": 0.5, "schedule": "constant"}
        trainer = make_trainer("pcd", batch_size=len(rows), n_chains=len(chains), **knobs)
        state = trainer.init(rbm, rows, 0)
        state.own_state = chains.astype(np.float32)
        ours = trainer.step(state, 2).rbm
        update = peers.PCD_PEERS[name](rbm, 0.5, 1, chains=chains)
        update(rows.astype(np.float32))
        theirs = update(rows.astype(np.float32))
    # Bits of 10,000 rows: a standard error of at most 1 / (2 sqrt(10,000)) on each side.
    moved = 0.0
    for got, want, before in zip(theirs, (ours.W, ours.b, ours.c), (rbm.W, rbm.b, rbm.c), strict=True):
        np.testing.assert_allclose(got, want, atol=5 * np.sqrt(2) * 0.5 / np.sqrt(len(rows)))
        moved = max(moved, float(np.abs(got - before).max()))
    assert moved > 0.05


@pytest.mark.parametrize("name", taking_part(peers.LOG_Z))
def test_log_z_of_the_peers_is_ours(name, rbm):
    assert peers.LOG_Z[name](rbm, 1)() == pytest.approx(log_z(rbm), rel=1e-6)
    half = peers.LOG_Z[name](rbm, 2)()  # the states whose first hidden unit is off
    off = RBM(rbm.W[:, 1:], rbm.b, rbm.c[1:])
    assert half == pytest.approx(log_z(off), rel=1e-6)


# Rows, small


def small_rows(model):
    data = np.random.default_rng(8).integers(0, 2, (40, 5), dtype=np.uint8)
    v = sample(model, make_sampler("gibbs"), 60).v
    return {
        "gibbs": lambda p: speed.gibbs_row(model, p, 5),
        "chains": lambda p: speed.chains_row(model, 7, p, 3),
        "batch": lambda p: speed.batch_row(model, 7, p),
        "fpcd": lambda p: speed.fpcd_row(model, 0.9, p, block=5),
        "isl": lambda p: speed.isl_row(data, v, p, 8),
        "ucd": lambda p: speed.ucd_row(model.rbm, data, 6, p),
        "cd": lambda p: speed.update_row(model, data, "cd", p, 10),
        "pcd": lambda p: speed.update_row(model, data, "pcd", p, 10),
        "log_z": lambda p: speed.log_z_row(model.rbm, p, 4),
    }


@pytest.mark.parametrize("kind", ["gibbs", "chains", "batch", "fpcd", "isl", "ucd", "cd", "pcd", "log_z"])
def test_every_kind_of_row_runs(kind, model, monkeypatch):
    monkeypatch.setattr(speed, "BENCH_BURN_IN", 60)
    row = speed.Row(kind, "small", "unit", small_rows(model)[kind], (speed.Target("faster", 1),))
    found = speed.measure(row, True, TINY)
    json.dumps(found, allow_nan=False)
    assert found["seconds"] > 0
    assert found["roofline"]["seconds"] > 0
    assert (found["targets"][0]["measured"] is None) == (kind == "ucd")
    libraries = {peer["name"].removesuffix(" Gibbs") for peer in found["peers"]} & set(HERE)
    want = {
        "gibbs": set(HERE), "chains": set(HERE), "batch": set(HERE), "fpcd": set(HERE),
        "isl": set(), "ucd": set(),
        "cd": set(HERE) - {"scikit-learn"}, "pcd": {"numpy", "scikit-learn"},
        "log_z": set(HERE) & {"numpy", "rbms"},
    }  # fmt: skip
    assert libraries == want[kind]
    alone = speed.measure(row, False, TINY)
    assert alone["peers"] == []
    assert alone["targets"][0]["reached"] is None


# Quality


def test_quality_is_what_the_metrics_say():
    """One seed: the time is only known through the rates, so it is divided out."""
    n, data, model = 250, load_dataset("bas"), load_model("bas_pcd")
    (row,) = quality(["bas_pcd"], ["rates_fpcd"], seeds=1, n=n)
    start = rng.generator(0, "bench start").integers(len(data.validation))
    v = sample(model, make_sampler("rates_fpcd"), n, 0, data.validation[start]).v
    score = ISL(data.test, data.validation)
    first, *_ = score.curve(v)
    coverage = Coverage(data)
    coverage.update(v)
    second = row["samples_per_second"]["mean"] / n
    assert row["isl"]["mean"] == row["isl_equal_time"]["mean"] == score.value().isl
    gained = score.value().isl - first.isl
    assert row["nats_per_second"]["mean"] / second == pytest.approx(gained)
    ess = chain_diagnostics(model.rbm.free_energy(v)).ess
    assert row["ess_per_second"]["mean"] / second == pytest.approx(ess)
    assert row["switches_per_second"]["mean"] / second == pytest.approx(coverage.switches)
    assert coverage.switches > 5


# What a visitor costs


def test_the_phases_of_a_visitor():
    rows = list(visitor("bas_pcd", ["gibbs", "rates_fpcd"], rate=200.0, seconds=0.2, min_samples=3))
    assert [row["phase"] for row in rows] == list(PHASES)
    assert all(row["samples"] > 0 and row["sample_seconds"] > 0 for row in rows[:3])
    assert [(row["samples"], row["sample_seconds"]) for row in rows[3:]] == [(0, None)] * 2


# Browsers


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_engines_take_turns_with_the_native_sampler(monkeypatch):
    """In node only, which needs no browser; its chains stand where their last turn left them."""
    started = lambda stack: {"node": stack.enter_context(node())}  # noqa: E731
    monkeypatch.setattr(browsers, "engines", started)
    rows = list(browsers.browsers(["bas_pcd"], rounds=3, turn=1e-4))
    assert [row["sampler"] for row in rows] == list(PANELS)
    assert all(row["seconds"].keys() == row["ratios"].keys() == {"native", "node"} for row in rows)
    assert all(row["seconds"]["node"] > 0 and row["ratios"]["native"] == 1 for row in rows)
    lines = text({"what": "browsers", "machine": machine(), "rows": rows}).splitlines()
    assert lines[0] == "bas_pcd, gibbs"
    assert len(lines) == 3 * len(rows) + 1


# The command


@pytest.fixture(autouse=True)
def only_here(monkeypatch):
    """``python -m benchmarks`` adds itself to the commands."""
    monkeypatch.setitem(COMMANDS, NAME, ("benchmarks.command:bench", ""))


def test_the_command_gives_rows(capsys, monkeypatch):
    monkeypatch.setattr(speed, "QUICK", TINY)
    found = run(capsys, NAME, "speed", "--quick", "--rows", "ucd_16x16_near,log_z_16")
    assert [row["name"] for row in found["rows"]] == ["ucd_16x16_near", "log_z_16"]
    assert {"processor", "cores", "load", "versions"} <= set(found["machine"])
    assert {"name", "unit", "seconds", "peers", "targets", "roofline"} <= set(found["rows"][0])
    assert bench(["--quick", "--rows", "ucd_16x16_near"]) == 0
    assert "recorded on another machine" in capsys.readouterr().out
    knobs = "rates_fpcd:eps=0.1,k=2, gibbs,gibbs:k=3"
    found = run(capsys, NAME, "quality", "--models", "bas_pcd", "--samplers", knobs, "--seeds", 1, "-n", 40)
    assert [row["sampler"] for row in found["rows"]] == ["rates_fpcd:eps=0.1,k=2", "gibbs", "gibbs:k=3"]
