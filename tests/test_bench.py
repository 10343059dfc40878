"""The benchmark: its timing, its peers, the structure of its JSON. No test depends on a time."""

import json
import shutil
import sys
from pathlib import Path

import naive
import numpy as np
import pytest
from command_line import run
from scipy.stats import chi2

from benchmarks import browsers, environments, peers, speed, timing, training
from benchmarks.__main__ import NAME
from benchmarks.__main__ import main as bench
from benchmarks.command import text
from benchmarks.machine import machine
from benchmarks.quality import quality
from benchmarks.visitor import PANELS, PHASES, visitor
from rbmviz import RBM, load_dataset, load_model, make_sampler, make_trainer, rng, sample
from rbmviz.cli import COMMANDS
from rbmviz.datasets import Dataset
from rbmviz.metrics import ISL, Coverage, chain_diagnostics, log_z
from tests.kernels.engines import node

TINY = timing.TimingBudget(3, 1e-4, 0.1)
HERE = {"numpy", "scikit-learn"}
"""Peers in the environment of the tests; others are tested if RBMVIZ_PEERS has theirs."""


@pytest.fixture(autouse=True)
def no_environment_is_made(monkeypatch):
    made = environments.folder()

    def python_of(name):
        python = Path(sys.executable) if name in HERE else made / name / "bin" / "python"
        if not python.exists():
            raise environments.Absent("not here")
        return python

    monkeypatch.setattr(environments, "python_of", python_of)


@pytest.fixture(scope="module")
def processes():
    """The processes of all peers, as one table has them."""
    with environments.Peers() as made:
        yield made


@pytest.fixture
def calls(processes):
    """Return a function of ``peers``: of this environment as it is, of others in their process."""

    def function(name, of, **arguments):
        if name in HERE:
            return getattr(peers, of)(**arguments)
        try:
            one = processes.libraries[name].make(of, **arguments)
        except environments.Absent as reason:
            pytest.skip(f"{name}: {reason}")

        def call():
            _, found = one.result()
            return found[0] if len(found) == 1 else found

        return call

    return function


# The clock


def test_contestants_take_turns(monkeypatch):
    """A clock of our own: each call of a takes 1 s, of b 3 s and does two units; the machine slows down."""
    now, order = [0.0], []

    def taking(name, seconds):
        def run():
            order.append(name)
            now[0] += seconds * (1 + len(order))

        return run

    monkeypatch.setattr(timing.time, "process_time", lambda: now[0])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: 2 * now[0])
    contestants = {"a": timing.Contestant(taking("a", 1.0)), "b": timing.Contestant(taking("b", 3.0), 2.0)}
    times = timing.interleave(contestants, timing.TimingBudget(4, 2.0, 1e6))
    assert order == [*"aabb", *"abbaabba"]  # warm-up and pace, outside the clock, and then in turn
    assert times.seconds["a"][0] == pytest.approx(6.0)
    assert times.seconds["b"][0] == pytest.approx(3.0 * 7 / 2)
    assert times.wall["a"][0] == pytest.approx(12.0)
    middle, low, high = times.ratio("b", "a")
    assert low <= middle <= high
    assert middle == pytest.approx(1.5, rel=0.2)  # though the last round is twice as slow as the first


# Peers do the same work as we do


def chi_square_p(rbm, states) -> float:
    """p-value of visible states (n, 5) under the model's exact law."""
    counts = np.bincount(states.astype(np.int64) @ (1 << np.arange(4, -1, -1)), minlength=32)
    expected = naive.joint(rbm).sum(axis=1) * len(states)
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), 31))


@pytest.mark.parametrize("name", peers.GIBBS)
def test_gibbs_of_the_peers_has_the_models_law(name, rbm, calls):
    starts = np.random.default_rng(0).integers(0, 2, (6000, 5), dtype=np.uint8)
    more = {"sweeps": 4} if name in ("jax", "thrml") else {}
    sweep = calls(name, peers.GIBBS[name], rbm=rbm, v0=starts, seed=1, **more)
    for _ in range(12):
        v = sweep()
    assert chi_square_p(rbm, v) > 1e-3
    turned = RBM(rbm.W, -rbm.b, rbm.c)
    assert chi_square_p(turned, v) < 1e-6
    one = calls(name, peers.GIBBS[name], rbm=rbm, v0=starts[0], seed=1, **more)
    assert one().shape == (5,)
    if name == "numpy":
        chain = np.array([one() for _ in range(40_000)])[7::8]
        assert chi_square_p(rbm, chain) > 1e-3


@pytest.mark.parametrize("name", peers.TEMPERING)
def test_tempering_of_the_peers_has_the_models_law(name, rbm, calls):
    same = {"rbm": rbm, "v0": np.zeros(5, np.uint8), "betas": np.array([1, 0.6, 0.2], np.float32)}
    sweep = calls(name, peers.TEMPERING[name], seed=1, **same)
    chain = np.array([sweep().copy() for _ in range(20_000)])[7::4]
    assert chi_square_p(rbm, chain) > 1e-3
    assert chi_square_p(RBM(rbm.W, -rbm.b, rbm.c), chain) < 1e-6


@pytest.mark.parametrize("peer", [peers.numpy_rates_fpcd, peers.naive_rates_fpcd])
def test_rates_fpcd_of_numpy_is_the_papers_formula(peer, model):
    """theta_F rebuilt from the samples; and the model's law without a push."""
    v0, (rbm, rates) = np.ones(5, np.uint8), (peers.RBM(x.W, x.b, x.c) for x in (model.rbm, model.rates))
    step = peer(rbm, rates, v0, 2, 0.1, 0.9)
    want = [np.zeros((5, 3)), np.zeros(5), np.zeros(3)]
    for _ in range(50):
        v, h, F = step()
        statistics = [np.outer(v, h), v, h]
        want = [0.9 * f + 0.1 * (r - s) for f, r, s in zip(want, rates, statistics, strict=True)]
    for got, f in zip(F, want, strict=True):
        np.testing.assert_allclose(got, f, atol=1e-5)
    still = peer(rbm, rates, v0, 2, 0.0, 1.0)
    assert chi_square_p(model.rbm, np.array([still()[0] for _ in range(40_000)])[7::8]) > 1e-3


@pytest.mark.parametrize("name", list(speed.ISL_PEERS))
def test_histograms_of_the_peers_are_ours(name):
    g = np.random.default_rng(3)
    test, samples = (g.integers(0, 2, (n, 70), dtype=np.uint8) for n in (11, 23))
    ours = ISL(test).update(samples).histograms()
    np.testing.assert_array_equal(getattr(peers, speed.ISL_PEERS[name][1])(test, samples)(), ours)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("cd", name) for name in peers.CD),
        *(("pcd", name) for name in peers.PCD),
    ],
)
def test_updates_of_the_peers_are_ours_in_the_mean(kind, name, rbm, calls):
    """The mean update over many copies of a batch, against ours: same expectation.

    Of PCD two from the same chains, far from the data: the second needs chains that went on.
    """
    rows = np.tile(np.random.default_rng(4).integers(0, 2, (10, 5), dtype=np.uint8), (1000, 1))
    if kind == "cd":
        trainer = make_trainer("cd", batch_size=len(rows), learning_rate=1.0)
        ours = trainer.step(trainer.init(rbm, rows, 0), 1).rbm
        knobs = {"function": peers.CD[name], "data": rows, "size": len(rows), "seed": 1, "rate": 1.0}
        theirs = calls(name, "batches", rbm=rbm, **knobs)()
    else:
        chains = np.tile(np.array([[1, 0, 0, 0, 1]], np.uint8), (10_000, 1))
        knobs = {"learning_rate": 0.5, "schedule": "constant"}
        trainer = make_trainer("pcd", batch_size=len(rows), n_chains=len(chains), **knobs)
        state = trainer.init(rbm, rows, 0)
        state.own_state = chains.astype(np.float32)
        ours = trainer.step(state, 2).rbm
        knobs = {"function": peers.PCD[name], "data": rows, "size": len(rows), "seed": 1, "rate": 0.5}
        update = calls(name, "batches", rbm=rbm, chains=chains, **knobs)
        update()
        theirs = update()
    # Bits of 10,000 rows: a standard error of at most 1 / (2 sqrt(10,000)) on each side.
    moved = 0.0
    for got, want, before in zip(theirs, (ours.W, ours.b, ours.c), (rbm.W, rbm.b, rbm.c), strict=True):
        np.testing.assert_allclose(got, want, atol=5 * np.sqrt(2) * 0.5 / np.sqrt(len(rows)))
        moved = max(moved, float(np.abs(got - before).max()))
    assert moved > 0.05


@pytest.mark.parametrize("name", peers.LOG_Z)
def test_log_z_of_the_peers_is_ours(name, rbm, calls):
    assert calls(name, peers.LOG_Z[name], rbm=rbm, parts=1)() == pytest.approx(log_z(rbm), rel=1e-6)
    half = calls(name, peers.LOG_Z[name], rbm=rbm, parts=2)()  # the states whose first hidden unit is off
    off = RBM(rbm.W[:, 1:], rbm.b, rbm.c[1:])
    assert half == pytest.approx(log_z(off), rel=1e-6)


# Processes of the peers


def test_a_process_makes_what_the_function_makes(rbm):
    """Its arguments arrive, its errors are reasons, and it is not asked again once it has ended."""
    v0 = np.ones((3, 5), np.uint8)
    with environments.Peers() as processes:
        numpy = processes.libraries["numpy"]
        one, here = numpy.make("numpy_gibbs", 2.0, rbm=rbm, v0=v0, seed=3), peers.numpy_gibbs(rbm, v0, 3)
        assert one.work == 2.0
        assert min(one.measure(4)) > 0
        expected = [here() for _ in range(5)][-1]
        _, (found,) = one.result()
        np.testing.assert_array_equal(found, expected)
        assert numpy.versions() == {"numpy": np.__version__}
        with pytest.raises(environments.Absent, match="missing 1 required"):
            numpy.make("numpy_gibbs", rbm=rbm, v0=v0)
        numpy.forget()
        with pytest.raises(environments.Absent, match="KeyError"):
            one.measure(1)
        numpy._process.kill()
        with pytest.raises(environments.Absent, match="ended"):
            numpy.versions()


def test_a_peer_that_cannot_be_installed_says_why(monkeypatch, tmp_path, rbm):
    monkeypatch.undo()  # of ``no_environment_is_made``
    monkeypatch.setenv("RBMVIZ_PEERS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setitem(environments.PACKAGES, "torch", ("no-such-package-of-rbmviz",))
    with environments.Peers(("torch",)) as processes:
        found = processes.contestants({"torch": "torch_gibbs"}, rbm=rbm, v0=np.ones(5, np.uint8), seed=0)
    assert found["torch"].startswith("cannot be installed: ")
    assert "no-such-package-of-rbmviz" in found["torch"]
    assert list(tmp_path.iterdir()) == []  # so that the next run tries again


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
        "tempering": lambda p: speed.tempering_row(model, p, 3),
        "pop_cd": lambda p: speed.population_row(model, data, 10),
        "fit": lambda p: speed.fit_row(np.repeat(data, 10, axis=0).astype(float), 1, p),
        "cd": lambda p: speed.update_row(model, data, "cd", p, 10),
        "pcd": lambda p: speed.update_row(model, data, "pcd", p, 10),
        "log_z": lambda p: speed.log_z_row(model.rbm, p, 4),
    }


KINDS = ["gibbs", "chains", "batch", "tempering", "fpcd", "isl", "ucd", "cd", "pcd", "pop_cd", "fit", "log_z"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_row_runs(kind, model, processes, monkeypatch):
    monkeypatch.setattr(speed, "BENCH_BURN_IN", 60)
    row = speed.Row(kind, "small", "unit", small_rows(model)[kind], (speed.Target("faster", 1),))
    json.dumps(found := speed.measure(row, processes, TINY), allow_nan=False)
    assert min(found["seconds"], found["roofline"]["seconds"]) > 0
    assert (found["targets"][0]["measured"] is None) == (kind in ("ucd", "pop_cd"))
    libraries = {
        name.removesuffix(" Gibbs") for name in (*(p["name"] for p in found["peers"]), *found["absent"])
    }
    gibbs, of_ours = set(peers.GIBBS), {"numpy, in place", "naive numpy"}
    want = {
        "gibbs": gibbs, "chains": gibbs, "batch": gibbs, "fpcd": gibbs | of_ours,
        "isl": set(speed.ISL_PEERS), "ucd": set(), "pop_cd": set(), "fit": set(peers.FIT),
        "tempering": set(peers.TEMPERING),
        "cd": set(peers.CD), "pcd": set(peers.PCD), "log_z": set(peers.LOG_Z),
    }  # fmt: skip
    assert libraries == want[kind]
    assert not HERE & {name.removesuffix(" Gibbs") for name in found["absent"]}
    alone = speed.measure(row, None, TINY)
    assert alone["peers"] == []
    assert alone["targets"][0]["reached"] is None


def test_additions_are_counted_from_the_data(model):
    """Of a model that always draws the same: v W, h W', flips, and the statistics of CD, by hand."""
    certain = RBM(np.zeros((4, 3)), np.array([40.0, 40, -40, -40]), np.array([40.0, -40, -40]))
    v = np.array([[1, 0, 1, 0], [1, 1, 0, 0]], np.uint8)  # w = 1100 and h = 100 for both
    one, how = speed.update_roofline(certain, v, None)
    # 3 columns: 2 x 4 active units, 2 that flip, 2 in which w differs; 4 columns: one hidden unit of each.
    assert 2 * 512**3 / one.work / 2 == pytest.approx(3 * (8 + 2 + 2) + 4 * 2)
    assert "2 active units, 1 hidden, and 1 that flip" in how
    chains = np.array([[1, 1, 0, 0]] * 2, np.uint8)
    one, _ = speed.update_roofline(certain, v, chains)
    assert 2 * 512**3 / one.work / 2 == pytest.approx(3 * (8 + 4 + 0 + 2) + 4 * 2)


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


# Training to quality


def test_seconds_to_a_level():
    seconds, likelihoods = np.array([0.0, 2.0, 4.0, 6.0]), np.array([-9.0, -7.0, -5.0, -6.0])
    assert training.seconds_to(-6.5, seconds, likelihoods) == 2.5
    assert training.seconds_to(-5.0, seconds, likelihoods) == 4.0
    assert training.seconds_to(-9.5, seconds, likelihoods) == 2.0  # the start is no training


def test_trainings_reach_the_level_of_the_slowest(processes, monkeypatch):
    """All learn two patterns, so that they are more likely than at the common start, and none is left out."""
    monkeypatch.setattr(training, "RATE", 0.3)
    pattern = np.random.default_rng(0).integers(0, 2, (1, 12), dtype=np.uint8)
    rows = np.concatenate([pattern, 1 - pattern] * 100)
    data = Dataset("patterns", rows, rows[:2], rows[:2], "", "")
    found = training.to_quality(data, 1, processes, passes=3, units=8, batch=10)
    json.dumps(found, allow_nan=False)
    one_by_one = found["contestants"]
    assert set(one_by_one) | set(found["absent"]) == {"rbmviz", *peers.PCD}
    assert set(one_by_one) >= {"rbmviz", *HERE}
    assert one_by_one["rbmviz"]["ratio"] == 1.0
    for one in one_by_one.values():
        assert len(one["likelihoods"]) == len(one["wall"]) == 4
        assert one["likelihoods"][-1] > one["likelihoods"][0] + 1
        assert 0 < one["seconds_to_level"] <= one["processor"][-1]
    lines = text(
        {"what": "training", "machine": machine(), "rows": [{"dataset": "bas", **found}]}
    ).splitlines()
    assert len(lines) == 2 + len(one_by_one) + len(found["absent"])


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
