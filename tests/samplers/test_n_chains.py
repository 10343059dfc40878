"""Samplers with many chains: the same chains as one by one, on any number of threads; shared theta_F."""

import dataclasses

import naive
import numpy as np
import pytest
from waiting import wait

from rbmviz import BadInput, rng
from rbmviz.files import budget
from rbmviz.knobs import knobs_of
from rbmviz.metrics import Coverage, agreement, chain_diagnostics
from rbmviz.models import pattern_model
from rbmviz.registry import samplers
from rbmviz.samplers import interleave, list_samplers, make_sampler, sample
from rbmviz.session import LandscapeSetup, SamplingPlan, SamplingRun, SamplingSetup, replay

NAMES = list_samplers()
SHARING = [name for name in NAMES if "share" in knobs_of(samplers[name])]
KINDS = [*((name, {}) for name in NAMES), *((name, {"share": True}) for name in SHARING)]


def same(a, b) -> None:
    np.testing.assert_array_equal(a.v, b.v)
    np.testing.assert_array_equal(a.p, b.p)
    assert a.info.keys() - {"start"} == b.info.keys() - {"start"}
    for trace in a.info.keys() - {"start"}:
        np.testing.assert_array_equal(a.info[trace], b.info[trace])


# Contract, for every registered sampler


def test_each_chain_draws_from_its_own_stream(wide):
    """Chain c begins at the bits of the stream "init" number c, and draws from "chain" number c."""
    got = sample(wide, make_sampler("gibbs", n_chains=3), 90, seed=6).v
    for c in range(3):
        v0 = rng.generator(6, "init", c).integers(0, 2, 70, dtype=np.uint8)
        oracle = naive.FastWeights(wide, rng.kernel_state(6, "chain", c), v0)
        for v in got[c::3]:
            oracle.sweep()
            np.testing.assert_array_equal(v, oracle.v)


@pytest.mark.parametrize("name", NAMES)
def test_target_is_that_of_the_chain_whose_turn_it_is(name, wide):
    """After 99 samples of three chains the first one is next, as if it were alone."""
    sampler, one = make_sampler(name, n_chains=3), make_sampler(name)
    state, alone = sampler.init(wide, 1), one.init(wide, 1)
    sampler.step(state, 99)
    one.step(alone, 33)
    np.testing.assert_array_equal(sampler.target(state).W, one.target(alone).W)
    sampler.step(state, 1)
    if name in SHARING:
        assert (sampler.target(state).W != one.target(alone).W).any()


@pytest.mark.parametrize(("name", "more"), KINDS)
def test_any_number_of_threads_makes_the_same_samples(name, more, wide, monkeypatch):
    sampler = make_sampler(name, n_chains=9, **more)

    def made(threads):
        monkeypatch.setattr(interleave, "THREADS", threads)
        state = sampler.init(wide, 2)
        return [sampler.step(state, n) for n in (5, 300)]

    want = made(1)
    for threads in (2, 3, 40):
        for got, one in zip(made(threads), want, strict=True):
            same(got, one)


@pytest.mark.parametrize(("name", "more"), KINDS)
def test_bad_starts(name, more, wide):
    sampler = make_sampler(name, n_chains=3, **more)
    for start in (np.zeros(71), np.zeros((2, 70)), np.full((3, 70), 2)):
        with pytest.raises(BadInput, match="70 values 0 or 1, or 3 rows of them"):
            sampler.init(wide, 0, start)
    start = np.zeros((3, 70), np.uint8)
    sampler.step(sampler.init(wide, 0, start), 30)
    assert not start.any()  # a copy was taken


@pytest.mark.parametrize("name", SHARING)
def test_fast_weights_beyond_the_memory_are_refused(name, wide, monkeypatch):
    monkeypatch.setattr(budget, "machine_memory", lambda: 3 * 2 * 8 * 70 * 37.0)
    make_sampler(name, n_chains=3).init(wide, 0)
    with pytest.raises(BadInput, match=r"more than half of this machine's .* let them share"):
        make_sampler(name, n_chains=4).init(wide, 0)
    make_sampler(name, n_chains=4, share=True).init(wide, 0)


# One theta_F for all chains


@pytest.mark.parametrize("name", SHARING)
def test_one_chain_shares_with_nobody(name, wide):
    """Bit for bit."""
    shared, alone = (make_sampler(name, share=share) for share in (True, False))
    same(sample(wide, shared, 300, seed=3), sample(wide, alone, 300, seed=3))


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("rates_fpcd", {"eps": 0.05, "alpha": 1.0}),
        ("rates_fpcd", {"eps": 0.05, "alpha": 0.9, "k": 2}),
        ("rates_fpcd", {"eps": 0.05, "alpha": 0.95, "statistics": "mean"}),
        ("sample_penalization", {"eps": 0.02, "alpha": 0.3}),
        ("rates_herding", {"eps": 0.3, "alpha": 1.0, "max_sweeps": 3}),
        ("rates_herding", {"eps": 0.3, "alpha": 0.9}),
    ],
)
@pytest.mark.parametrize("n_chains", [2, 5])
def test_shared_fast_weights_follow_the_formula(name, knobs, n_chains, wide):
    """theta_F moves once a round by the mean statistics, kept densely in float64 by the oracle."""
    starts = np.random.default_rng(2).integers(0, 2, (n_chains, 70), dtype=np.uint8)
    sampler = make_sampler(name, n_chains=n_chains, share=True, **knobs)
    got = sample(wide, sampler, 100 * n_chains, seed=4, v0=starts)
    streams = [rng.kernel_state(4, "chain", c) for c in range(n_chains)]
    oracle = naive.SharedFastWeights(wide, streams, starts, rates=name != "sample_penalization")
    for r in range(100):
        for c, chain in enumerate(oracle.chains):
            t = r * n_chains + c
            if name == "rates_herding":
                assert got.info["sweeps"][t] == chain.climb(sampler.max_sweeps)
            else:
                for _ in range(sampler.k):
                    p = chain.sweep()
                np.testing.assert_allclose(got.p[t], p, atol=1e-4)
            np.testing.assert_array_equal(got.v[t], chain.v)
        want = oracle.push(knobs["eps"], knobs["alpha"], knobs.get("statistics") == "mean")
        np.testing.assert_allclose(got.info["fast_norm"][r * n_chains : (r + 1) * n_chains], want, rtol=2e-4)


@pytest.mark.parametrize("name", SHARING)
def test_a_knob_turned_in_a_round_acts_from_the_next(name, wide):
    sampler = make_sampler(name, n_chains=4, share=True, eps=0.1)
    turned = dataclasses.replace(sampler, eps=0.0)
    early, late = sampler.init(wide, 5), sampler.init(wide, 5)
    a = [sampler.step(early, 9), turned.step(early, 3), turned.step(early, 20)]
    b = [sampler.step(late, 12), turned.step(late, 1), turned.step(late, 19)]
    for part in ("v", "p"):
        np.testing.assert_array_equal(*(np.concatenate([getattr(s, part) for s in x]) for x in (a, b)))


# What sees the stream


def test_class_switches_are_counted_within_each_chain(toy):
    g = np.random.default_rng(3)
    v = g.integers(0, 2, (50, 3, 5), dtype=np.uint8)
    v[:, 1] = v[0, 1]  # a chain that stays
    together = Coverage(toy, n_chains=3)
    for part in np.split(v.reshape(150, 5), [1, 2, 4, 50]):
        together.update(part)
    each = []
    for c in range(3):
        each.append(Coverage(toy))
        each[-1].update(v[:, c])
    assert [one.switches > 0 for one in each] == [True, False, True]
    assert together.switches == sum(one.switches for one in each)
    np.testing.assert_array_equal(together.occupancy, sum(one.occupancy for one in each))


def test_the_newest_rounds_of_the_chains_are_compared(toy, monkeypatch):
    """Rows come in any portions; only whole rounds count, and only so many."""
    monkeypatch.setattr(agreement, "COMPARED_ROUNDS", 40)
    monkeypatch.setattr(agreement, "COMPARISON_SECONDS", 0.0)
    v = np.random.default_rng(1).integers(0, 2, (301, 7), dtype=np.uint8)
    metric, at = agreement.Agreement(toy, 3), 0
    for end in (5, 29, 130, 301):
        metric.update(v[at:end])
        at = end
        if end == 5:
            assert metric._computing is None  # one whole round says nothing
            continue
        rounds = end // 3
        values = v.sum(axis=1)[: 3 * rounds].reshape(rounds, 3).T[:, -39 if rounds >= 40 else 0 :]
        want, got = chain_diagnostics(values), metric._computing.result(60)
        assert (got.rhat, got.ess) == (want.rhat, want.ess)
        assert metric.newest is got
    assert "bulk ESS" in agreement.Agreement.numbers[1].source  # as chain_diagnostics computes it
    assert agreement.Agreement(toy, 1000).rounds == 40 <= 100_000 // 1000


@pytest.mark.parametrize("n_chains", [3, 1000, 10_000])
def test_chains_are_compared_however_many_they_are(toy, monkeypatch, n_chains):
    """Also where fewer rounds of each are kept than there are chains."""
    monkeypatch.setattr(agreement, "COMPARISON_SECONDS", 0.0)
    monkeypatch.setattr(agreement, "COMPARED_DRAWS", 10 * n_chains)
    metric, g = agreement.Agreement(toy, n_chains), np.random.default_rng(1)
    for _ in range(20):
        metric.update(g.integers(0, 2, (n_chains, 5), dtype=np.uint8))
    metric._computing.result(60)
    assert metric.values()["ess"] > 0


def test_a_run_of_several_chains_says_whether_they_agree(model, toy):
    for n_chains in (1, 3):
        run = SamplingRun(1, SamplingSetup(model, toy).plan(), make_sampler("gibbs", n_chains=n_chains))
        run.prepare()
        run.record_steps(run.advance(60))
        if n_chains > 1:
            [metric] = run._scores._live
            metric._computing.result(60)
        numbers = run.view("paused").live_numbers
        assert set(numbers) == (set() if n_chains == 1 else {"rhat", "ess"})
    assert 0.9 < numbers["rhat"] < 2
    assert numbers["ess"] > 5


def test_chains_of_a_race_start_at_examples_of_their_own(model, toy):
    setup = SamplingSetup(model, toy, seed=5)
    starts = setup.starts(8)
    np.testing.assert_array_equal(starts[0], setup.first_state())
    np.testing.assert_array_equal(starts[:3], setup.starts(3))
    assert len({row.tobytes() for row in starts}) > 2
    assert {row.tobytes() for row in starts} <= {row.tobytes() for row in toy.validation}
    assert SamplingSetup(model, toy, start_from="random").starts(8) is None
    assert SamplingSetup(model).starts(8) is None
    for more in ({}, {"share": True}):
        sampler = make_sampler("rates_fpcd", n_chains=3, **more)
        run = SamplingRun(1, setup.plan(), sampler)
        run.prepare()
        same(run.advance(20), sample(model, sampler, 20, seed=5, v0=starts[:3], fast_norm=True))
    one = SamplingRun(1, setup.plan(), make_sampler("gibbs"))
    np.testing.assert_array_equal(one.run_log().start, starts[0])


@pytest.mark.parametrize("more", [{}, {"share": True}])
def test_a_run_of_many_chains_can_be_replayed(model, toy, more):
    sampler = make_sampler("rates_fpcd", n_chains=4, eps=0.3, **more)
    run = SamplingRun(1, SamplingSetup(model, toy, seed=5).plan(), sampler)
    run.prepare()
    for n, eps in ((6, 0.3), (5, 0.01), (9, 1.0)):
        run.set_knobs(dataclasses.replace(sampler, eps=eps))
        run.record_steps(run.advance(n))
    record = run.run_log()
    again = np.concatenate([chunk.v for chunk in replay(record, model, 20)])
    np.testing.assert_array_equal(again, run.held_samples()[1])
    assert record.start.shape == (4, 5)


@pytest.mark.parametrize(("setup", "end"), [(LandscapeSetup, "failed"), (SamplingPlan, "paused")])
def test_the_landscape_is_that_of_one_chain(open_worker, setup, end):
    worker = open_worker(setup(pattern_model(["110", "011"], 3)), make_sampler("gibbs", n_chains=2))
    worker.step(4)
    wait(lambda: worker.request_snapshot().status == end, end)
    assert end == "paused" or "give n_chains = 1" in worker.request_snapshot().error
