"""Parallel tempering against the numpy form that its kernel's docstring holds, and against exact laws."""

import naive
import numpy as np
import pytest
from numpy_form import numpy_form
from scipy import stats

from rbmviz import BadInput, Model, load_model, make_sampler, rng, sample
from rbmviz.kernels import tempering
from rbmviz.metrics import probabilities
from rbmviz.metrics.landscape import codes

R = 5


@pytest.mark.parametrize("reference", ["uniform", "independent"])
def test_tempering_is_the_numpy_form(wide, reference):
    """100 samples of 2 sweeps of 5 replicas, the same bits and the same swaps."""
    start = np.random.default_rng(2).integers(0, 2, 70, dtype=np.uint8)
    sampler = make_sampler(
        "parallel_tempering", n_replicas=R, k=2, spacing="geometric", lowest=0.3, reference=reference
    )
    state = sampler.init(wide, 4, start)
    got = sampler.step(state, 100)

    step, rbm, at = numpy_form(tempering)["sample"], wide.rbm, np.arange(R)
    rates = wide.rates.b.astype(float).clip(0.001, 0.999)
    base = np.log(rates / (1 - rates)) if reference == "independent" else np.zeros(70)
    streams = [
        rng.kernel_state(4, "chain"),
        *(rng.kernel_state(4, "replicas of chain 0", i) for i in range(R)),
    ]
    *replicas, decide = (naive.Xoshiro(stream).bernoulli for stream in streams)

    def bernoulli(mean):
        return np.array([draw(row) for draw, row in zip(replicas, mean, strict=True)])

    v, path = np.tile(start.astype(float), (R, 1)), []
    parameters = np.geomspace(1, 0.3, R), rbm.W, rbm.b, rbm.c, base
    for t in range(100):
        v, (emitted, p) = step(v, at, t % 2, *parameters, 2, bernoulli, decide)
        np.testing.assert_array_equal(got.v[t], emitted)
        np.testing.assert_allclose(got.p[t], p, atol=1e-5)
        path.append(np.argsort(at))
    report = sampler.ladder(state)
    np.testing.assert_array_equal(report.path, path[-tempering.PATH :])
    assert (got.info["sweeps"] == 2 * R).all()
    assert (0 < report.swap_rates).all()
    assert (report.swap_rates < 1).all()


def test_one_replica_is_gibbs_bit_for_bit(wide):
    one, gibbs = (sample(wide, name, 60, seed=3) for name in ("parallel_tempering:n_replicas=1", "gibbs"))
    np.testing.assert_array_equal(one.v, gibbs.v)
    np.testing.assert_array_equal(one.p, gibbs.p)


def p_value(v, model) -> float:
    """Return the p-value of a chi-square test of independent rows against the model's distribution."""
    law = probabilities(model)
    counts, rare = np.bincount(codes(v), minlength=len(law)), law * len(v) < 5
    expected = np.append(law[~rare], law[rare].sum()) * len(v)
    return float(stats.chisquare(np.append(counts[~rare], counts[rare].sum()), expected).pvalue)


@pytest.mark.compiled
@pytest.mark.parametrize("spacing", ["adapted", "linear", "geometric"])
def test_the_replica_at_one_has_the_law_of_the_model(spacing):
    """On a model whose modes Gibbs sampling does not leave: the control fails."""
    model = load_model("modes_pcd")
    sampler = f"parallel_tempering:n_replicas=8,spacing={spacing}"
    assert p_value(sample(model, sampler, 40_000, seed=1).v[2000::20], model) > 1e-3
    assert p_value(sample(model, "gibbs", 40_000, seed=1).v[2000::20], model) < 1e-9


@pytest.mark.compiled
def test_replicas_that_always_swap_have_another_law():
    """The negative control of the rule: hot states reach the replica at 1."""
    model = load_model("modes_pcd")
    sampler = make_sampler("parallel_tempering", n_replicas=3, spacing="linear")
    state, v = sampler.init(model, 1), []
    for _ in range(1500):
        v.append(sampler.step(state, 2).v[-1])
        state.ladder.at[:2] = state.ladder.at[1::-1].copy()
        state.ladder.scale[state.ladder.at] = state.ladder.beta
    assert p_value(np.array(v), model) < 1e-9
    assert p_value(sample(model, sampler, 60_000, seed=1).v[2000::40], model) > 1e-3


def test_an_adapted_ladder_is_spaced_by_the_shares_refused(wide):
    """After two of sixteen samples for the first time; until then it is the linear one."""
    start = np.zeros(70, np.uint8)
    linear, adapted = (
        make_sampler("parallel_tempering", n_replicas=6, spacing=spacing, burn_in=16, lowest=0.2)
        for spacing in ("linear", "adapted")
    )
    states = [each.init(wide, 4, start) for each in (linear, adapted)]
    rates = [
        each.step(state, 2) and each.ladder(state)
        for each, state in zip((linear, adapted), states, strict=True)
    ]
    refused = np.maximum(1 - np.nan_to_num(rates[0].swap_rates), 0.01)
    barrier = np.append(0, np.cumsum(refused))
    beta = np.linspace(1, 0.2, 6)
    want = np.interp(np.linspace(0, barrier[-1], 6), barrier, beta)
    np.testing.assert_allclose(rates[1].beta, want, rtol=1e-6)
    assert np.ptp(np.diff(want)) > 0.01
    np.testing.assert_array_equal(rates[0].beta, beta.astype(np.float32))
    assert np.isnan(rates[1].swap_rates).all()  # counted anew


@pytest.mark.compiled
def test_an_adapted_ladder_swaps_equally_often():
    """And a linear one does not; from the end of the burn-in it stays."""
    model = load_model("usps_fpcd")
    spread = {}
    for spacing in ("linear", "adapted"):
        sampler = make_sampler("parallel_tempering", n_replicas=30, spacing=spacing)
        state = sampler.init(model, 1)
        sampler.step(state, 1000)
        spaced = sampler.ladder(state).beta
        sampler.step(state, 4000)
        report = sampler.ladder(state)
        np.testing.assert_array_equal(report.beta, spaced)
        assert (np.diff(spaced) < 0).all()
        assert (spaced[0], spaced[-1]) == (1, 0)
        spread[spacing] = np.ptp(report.swap_rates)
        assert report.barrier == pytest.approx((1 - report.swap_rates).sum())
        assert report.warning == ""
    assert spread["adapted"] < 0.2 < 0.4 < spread["linear"]


@pytest.mark.compiled
def test_a_ladder_whose_neighbours_never_swap_is_named():
    sampler = make_sampler("parallel_tempering", n_replicas=2, spacing="linear")
    state = sampler.init(load_model("mnist_fpcd"), 1)
    sampler.step(state, 300)
    assert sampler.ladder(state).warning == (
        "Replicas at 1 and 0 swap in 0.0% of all tries: take more replicas, or adapted spacing."
    )
    assert sampler.ladder(state).trips == 0


def test_a_model_without_rates_begins_at_its_visible_biases(wide):
    sampler, model = make_sampler("parallel_tempering"), Model(wide.rbm)
    np.testing.assert_array_equal(sampler.init(model, 1).ladder.base, wide.rbm.b)


def test_too_many_replicas_are_refused():
    with pytest.raises(BadInput, match="100"):
        make_sampler("parallel_tempering", n_replicas=101)
