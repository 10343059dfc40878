"""Every sampler against the formulas of its paper, the exact law of the model, and the common contract."""

import dataclasses
import itertools
import os
import re
import subprocess
import sys

import naive
import numpy as np
import pytest

from rbmviz import BadInput, Model, rng
from rbmviz.kernels import random as random_kernels
from rbmviz.knobs import knobs_of
from rbmviz.models import load_model
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers, make_sampler, sample, stream
from rbmviz.samplers.fast_weights import follow_norm

NAMES = list_samplers()


# Kernels against oracles


def test_random_bits_and_draws_are_those_of_the_oracle():
    state = rng.kernel_state(11, "chain")
    oracle = naive.Xoshiro(state.copy())
    out = np.empty(rng.STREAM_LANES, np.uint32)
    for _ in range(3):
        random_kernels.random_bits(state, out)
        np.testing.assert_array_equal(out, oracle.block())
    for n in (1, 63, 64, 65, 150, 784):
        mean = np.random.default_rng(n).random(n).astype(np.float32)
        drawn = np.full(n + 1, 7, np.uint8)
        random_kernels.bernoulli(state, mean, drawn[:n])
        np.testing.assert_array_equal(drawn[:n], oracle.bernoulli(mean))
        assert drawn[n] == 7


def test_xoshiro_reference_vector():
    """First outputs for the state 1, 2, 3, 4 (also in the tests of Rust's rand_xoshiro)."""
    oracle = naive.Xoshiro(np.array([[1], [2], [3], [4]], np.uint32))
    assert [oracle.block()[0] for _ in range(4)] == [641, 1573767, 3222811527, 3517856514]


def test_sigmoid_is_accurate():
    x = np.linspace(-30, 30, 20_001).astype(np.float32)
    got = np.empty_like(x)
    random_kernels.mean_row(x, np.zeros_like(x), got)
    assert np.abs(got - naive.sigmoid(x.astype(np.float64))).max() < 1.2e-7


@pytest.mark.parametrize("alpha", [1.0, 0.9])
def test_herding_is_the_papers_formula(wide, alpha):
    v0 = np.random.default_rng(2).integers(0, 2, 70, dtype=np.uint8)
    sampler = make_sampler("rates_herding", eps=0.3, alpha=alpha, max_sweeps=20)
    got = sample(wide, sampler, 300, v0=v0, fast_norm=True)
    oracle = naive.FastWeights(wide, rng.kernel_state(0, "chain"), v0)
    for v, sweeps, fast_norm in zip(got.v, got.info["sweeps"], got.info["fast_norm"], strict=True):
        assert sweeps == oracle.climb(20)
        np.testing.assert_array_equal(v, oracle.v)
        assert fast_norm == pytest.approx(oracle.push(0.3, alpha), rel=2e-4)


def test_knobs_turned_in_mid_run_are_exact(wide):
    v0 = np.zeros(70, np.uint8)
    sampler = make_sampler("rates_fpcd", eps=0.1)
    state = sampler.init(wide, 8, v0)
    follow_norm(state)
    oracle = naive.FastWeights(wide, rng.kernel_state(8, "chain"), v0)
    for eps, alpha, statistics in [
        (0.1, 1.0, "sampled"),
        (0.01, 0.5, "mean"),
        (0.0, 0.99, "sampled"),
        (0.1, 1.0, "mean"),
        (0.1, 1.0, "sampled"),
    ]:
        sampler = dataclasses.replace(sampler, eps=eps, alpha=alpha, statistics=statistics)
        made = sampler.step(state, 90)
        for v, fast_norm in zip(made.v, made.info["fast_norm"], strict=True):
            oracle.sweep()
            np.testing.assert_array_equal(v, oracle.v)
            want = oracle.push(eps, alpha, statistics == "mean")
            assert fast_norm == pytest.approx(want, rel=2e-4, abs=1e-6)


@pytest.mark.parametrize("name", ["rates_fpcd", "sample_penalization", "rates_herding"])
def test_a_history_begins_stands_still_and_ends(wide, name):
    """At alpha = 0.9 it holds 160 samples; the chain is followed, for 900 samples of draws would part."""
    sampler = make_sampler(name)
    state = sampler.init(wide, 3)
    follow_norm(state)
    rates = name != "sample_penalization"
    oracle = naive.FastWeights(wide, rng.kernel_state(3, "chain"), state.v, rates)
    theta = (wide.rbm.W, wide.rbm.b, wide.rbm.c)
    for eps, alpha, n, history_length in [
        (0.05, 0.9, 50, 160),  # what is older than the history still counts
        (0.05, 0.9, 200, 160),  # now it does not: M holds theta and the pull
        (0.2, 0.9, 60, 160),  # the pull moves
        (0.2, 0.9, 200, 160),  # and stands still again
        (0.2, 0.3, 40, 16),
        (0.0, 0.3, 40, 16),
        (0.1, 1.0, 50, 0),
        (0.1, 0.98, 30, 824),
        (0.1, 0.99, 30, 0),
        (0.1, 0.0, 30, 8),
    ]:
        sampler = dataclasses.replace(sampler, eps=eps, alpha=alpha)
        for _ in range(n):
            fast_norm = sampler.step(state, 1).info["fast_norm"][0]
            oracle.v, oracle.h = state.v.astype(np.float64), state.h.astype(np.float64)
            assert fast_norm == pytest.approx(oracle.push(eps, alpha), rel=2e-4, abs=1e-6)
        assert state.scalars[0].history_length == history_length
        target = sampler.target(state)
        for moved, still, want in zip((target.W, target.b, target.c), theta, oracle.F, strict=True):
            np.testing.assert_allclose(moved - still, want, atol=1e-5)


@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["rates_fpcd", "rates_herding"])
def test_a_long_run_does_not_lose_its_fast_weights(wide, name, n):
    """At alpha = 1 theta_F is the sum of all samples, kept in float64 by the oracle.

    The chain is followed, not drawn again: rates_coef R and M_coef M grow apart without bound unless theta_F
    is written out (after 10,000 samples |theta_F| would be wrong by 1 %), and every rounding stays.
    """
    sampler = make_sampler(name, eps=0.1)
    state = sampler.init(wide, 1)
    follow_norm(state)
    oracle = naive.FastWeights(wide, rng.kernel_state(1, "chain"), state.v)
    worst = 0.0
    for _ in range(n):
        fast_norm = sampler.step(state, 1).info["fast_norm"][0]
        oracle.v, oracle.h = state.v.astype(np.float64), state.h.astype(np.float64)
        worst = max(worst, abs(fast_norm / oracle.push(0.1, 1.0) - 1))
    assert worst < 1e-3
    theta, target = (wide.rbm.W, wide.rbm.b, wide.rbm.c), sampler.target(state)
    for moved, still, want in zip((target.W, target.b, target.c), theta, oracle.F, strict=True):
        np.testing.assert_allclose(moved - still, want, atol=0.02)  # the largest entries are above 1


@pytest.mark.parametrize("sweeps", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_pre_activations_do_not_drift(sweeps):
    """Pre-activations follow the flips in float32; at the end they are those of v and h, computed afresh.

    Looked at after each of the last 256 sweeps, for they are rebuilt once in so many.
    """
    rbm = load_model("mnist_fpcd").rbm
    sampler = make_sampler("gibbs", k=100)
    state = sampler.init(Model(rbm), 0)
    for _ in range(sweeps // 10_000):
        sampler.step(state, 100)
    W, worst = rbm.W.astype(np.float64), 0.0
    for _ in range(256):
        make_sampler("gibbs").step(state, 1)
        up = state.up.value[: rbm.n_hidden] - (state.v @ W + rbm.c)
        down = state.down.value[: rbm.n_visible] - (W @ state.h + rbm.b)
        worst = max(worst, np.abs(up).max(), np.abs(down).max())
    assert state.sweeps[0] == sweeps + 256
    assert 0 < worst < 1e-3


@pytest.mark.parametrize(("alpha", "n"), [(1.0, 20_000), (0.99, 3000), (0.95, 3000)])
@pytest.mark.parametrize("name", ["rates_fpcd", "rates_herding"])
def test_driven_chains_sample_their_target(name, alpha, n):
    """After n samples the next ones are drawn from theta + theta_F: v's means are those of its h.

    Where nothing decays, theta_F is the small difference of eps t R and as many samples, in float32; else it
    is that of the newest samples, of which 3,000 are many times as many as count.
    """
    sampler = make_sampler(name, alpha=alpha)
    state = sampler.init(load_model("mnist_fpcd"), 0)
    sampler.step(state, n)
    for _ in range(10):
        target = sampler.target(state)
        made = sampler.step(state, 1)
        want = target.b + target.W.astype(np.float64) @ state.h
        if name == "rates_herding":
            assert np.abs(want[made.v[0] != (want > 0)]).max(initial=0) < 1e-3
        else:
            near = np.abs(want) < 7  # beyond, p itself is rounded
            p = made.p[0, near].astype(np.float64)
            np.testing.assert_allclose(np.log(p / (1 - p)), want[near], atol=1e-3)


@pytest.mark.parametrize("knobs", [{}, {"n_chains": 3}, {"n_chains": 3, "share": True}])
def test_the_penalty_in_symmetric_units_is_that_of_units_minus_one_and_one(model, knobs):
    """theta_F is kept and moved in units -1 and +1 here, and turned into units 0 and 1 by the energies.

    E(x, y) = -x'Wy - b'x - c'y has with x = 2v - 1 and y = 2h - 1 the parameters 4W, 2b - 2W1, 2c - 2W'1.
    """
    sampler = make_sampler("sample_penalization", eps=0.05, alpha=0.8, k=2, units="symmetric", **knobs)
    state = sampler.init(model, 3)
    groups = state.groups
    W = [np.zeros(model.rbm.W.shape) for _ in groups]
    b, c = ([np.zeros(size) for _ in groups] for size in model.rbm.W.shape)
    for t in range(12):
        g = t % len(groups)
        found = sampler.step(state, len(groups[g].v))
        x, y = 2.0 * groups[g].v - 1, 2.0 * groups[g].h - 1
        np.testing.assert_array_equal(found.v, groups[g].v)
        W[g] = 0.8 * W[g] - 0.05 * x.T @ y / len(x)
        b[g], c[g] = 0.8 * b[g] - 0.05 * x.mean(axis=0), 0.8 * c[g] - 0.05 * y.mean(axis=0)
    for g, group in enumerate(groups):
        want = 4 * W[g], 2 * b[g] - 2 * W[g].sum(axis=1), 2 * c[g] - 2 * W[g].sum(axis=0)
        for fast, part in zip(group.fast, want, strict=True):
            np.testing.assert_allclose(fast, part, atol=2e-5)
    # The next sample is drawn from theta + theta_F, and chains do not depend on how they are asked.
    target = sampler.target(state)
    np.testing.assert_allclose(target.W, model.rbm.W + groups[state.n % len(groups)].fast[0], rtol=1e-6)
    whole = sample(model, sampler, 30, seed=3).v
    again, divided = sampler.init(model, 3), []
    for n in (1, 4, 25):
        divided.append(sampler.step(again, n).v)
    np.testing.assert_array_equal(np.concatenate(divided), whole)


# Equivalences


@pytest.mark.parametrize("alpha", [1.0, 0.7, 0.0])
@pytest.mark.parametrize("name", ["rates_fpcd", "sample_penalization"])
def test_without_pushes_they_are_gibbs_bit_for_bit(wide, name, alpha):
    want = sample(wide, make_sampler("gibbs", k=2), 600, seed=3)
    got = sample(wide, make_sampler(name, eps=0.0, alpha=alpha, k=2), 600, seed=3, fast_norm=True)
    np.testing.assert_array_equal(got.v, want.v)
    np.testing.assert_array_equal(got.p, want.p)
    assert (got.info["fast_norm"] == 0).all()


@pytest.mark.parametrize("name", ["rates_fpcd", "sample_penalization", "rates_herding"])
def test_samples_do_not_depend_on_whether_the_norm_is_followed(wide, name):
    """The norm keeps pre-activations up to date that samples need only after the next change of a knob."""
    sampler, made = make_sampler(name, n_chains=2), []
    for followed in (False, True):
        state = sampler.init(wide, 3)
        if followed:
            follow_norm(state)
        for eps, alpha in [(0.05, 0.9), (0.05, 0.9), (0.2, 0.9), (0.2, 1.0), (0.2, 0.5), (0.1, 0.99)]:
            made.append(dataclasses.replace(sampler, eps=eps, alpha=alpha).step(state, 600))
    for one, other in zip(made[:6], made[6:], strict=True):
        np.testing.assert_array_equal(one.v, other.v)
        np.testing.assert_array_equal(one.p, other.p)
        assert set(other.info) - set(one.info) == {"fast_norm"}
    with pytest.raises(ValueError, match="has made samples"):
        follow_norm(state)


def test_herding_draws_nothing(wide):
    v0 = np.ones(70, np.uint8)
    a, b = (sample(wide, make_sampler("rates_herding"), 50, seed=seed, v0=v0).v for seed in (1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != a[0]).any()


# What stands beside the contract of all samplers, which tests/contract/test_algorithms.py holds them to


def test_a_stream_is_the_samples_in_chunks(wide):
    sampler = make_sampler("gibbs")
    streamed = list(itertools.islice(stream(wide, sampler, seed=7, chunk=100), 3))
    np.testing.assert_array_equal(np.concatenate([s.v for s in streamed]), sample(wide, sampler, 300, 7).v)


@pytest.mark.parametrize("name", NAMES)
def test_driven_chains_trace_their_fast_weights(name, wide):
    info = sample(wide, make_sampler(name), 25, fast_norm=True).info
    assert ("fast_norm" in info) != samplers[name].exact_chain
    assert info.get("fast_norm", np.zeros(0)).dtype == np.float64
    fixed = {knob.name for knob in knobs_of(samplers[name]).values() if not knob.live}
    assert fixed <= {"n_chains", "share", "units"} or name == "parallel_tempering"  # its ladder


@pytest.mark.parametrize("name", NAMES)
def test_bad_input(name, wide, model):
    cls = samplers[name]
    with pytest.raises(dataclasses.FrozenInstanceError):
        cls().k = 3
    for knob in knobs_of(cls).values():
        outside = f"{knob.name} = .* is outside {re.escape(knob.range_text)}"
        with pytest.raises(BadInput, match=outside):
            make_sampler(name, **{knob.name: "hot" if knob.choices else knob.hi * 1.5})
    with pytest.raises(BadInput, match="whole number"):
        sample(wide, make_sampler(name), -1)
    if cls.needs_rates:
        with pytest.raises(BadInput, match="needs the rates"):
            make_sampler(name).init(Model(wide.rbm), 0)
    else:
        assert sample(Model(wide.rbm), make_sampler(name), 2).v.shape == (2, 70)


def test_more_samples_than_memory_are_refused(wide):
    with pytest.raises(BadInput, match=r"need 3,500,000\.0 GB, .* rbmviz\.stream chunk by chunk"):
        sample(wide, make_sampler("gibbs"), 10**13)


@pytest.mark.parametrize("cache", ["as it is", pytest.param("empty", marks=pytest.mark.slow)])
def test_each_kernel_compiles_once(cache, tmp_path):
    """Everything a page can do to the samplers, in a fresh process: no kernel may meet a second signature
    within its regime.

    A kernel that comes from the cache hides the helpers it was compiled from, and a literal argument
    (``helper(x, True)``) makes one more of each: these are seen with an empty cache only.
    """
    code = """
import sys
import dataclasses
import numpy as np
from rbmviz import RBM, Model, couple
from rbmviz.kernels import coupling, gibbs, layers, random, tempering
from rbmviz.kernels.fast_weights import history, norm, regime, rows, sample as chains, state as states
from rbmviz.knobs import knobs_of
from rbmviz.samplers import list_samplers, make_sampler, sample
for m, n in ((20, 9), (33, 17)):
    rbm = RBM(np.zeros((m, n)), np.zeros(m), np.zeros(n))
    model = Model(rbm, rbm.rates(np.eye(m, dtype=np.uint8)))
    for name in list_samplers():
        sampler = make_sampler(name)
        state = sampler.init(model, 0)
        for knob in knobs_of(sampler).values():
            for value in knob.choices or (knob.lo, knob.hi, 1) if knob.live else ():
                dataclasses.replace(sampler, **{knob.name: value}).step(state, 1)
        for more in ({}, {"share": True}) if "share" in knobs_of(sampler) else ({},):
            sample(model, make_sampler(name, n_chains=3, **more), 7)
        sample(model if sampler.needs_rates else Model(rbm), sampler, 2)
    sample(model, make_sampler("rates_fpcd", n_chains=3, share=True, statistics="mean"), 7)
    v0 = np.zeros((2, m), np.uint8)
    v0.flags.writeable = m == 20
    couple(rbm, v0)
assert (len(tempering.sample.signatures), len(coupling.run_pairs.signatures)) == (1, 1)
for module in (random, gibbs, layers, states, history, rows, norm, regime, chains):
    for kernel in vars(module).values():
        if hasattr(kernel, "signatures"):
            unused = "bernoulli_rows draw_row mean_row random_bits rows_fit transpose".split()
            others, forms = kernel.__name__ in unused, (kernel, getattr(kernel, "private_form", kernel))
            compiled = max(len(form.signatures) for form in forms)
            regimes = 2 if "fast_weights" in kernel.py_func.__module__ else 1
            assert compiled <= regimes, (kernel, compiled)
            assert sys.argv[1] != "empty" or bool(compiled) != others, (kernel, compiled)
"""
    empty = {"RBMVIZ_CACHE_DIR": str(tmp_path)} if cache == "empty" else {}
    subprocess.run([sys.executable, "-c", code, cache], check=True, timeout=300, env=os.environ | empty)
