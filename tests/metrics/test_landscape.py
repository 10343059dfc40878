"""The landscape of a small model, and the chains of the samplers on it."""

import itertools

import numpy as np
import pytest
from naive import states
from waiting import wait

from rbmviz import RBM, BadInput, Model, make_sampler, sample
from rbmviz.metrics import landscape, model_statistics, probabilities, total_variation
from rbmviz.metrics.landscape import codes, state_bits
from rbmviz.models import pattern_model, random_model
from rbmviz.samplers import list_samplers
from rbmviz.samplers.fast_weights import follow_norm
from rbmviz.session import LandscapeRun, LandscapeSetup, replay


def lowest_neighbour(law, state, n):
    """Return the most probable of a state and its neighbours by one flipped bit, found by a loop."""
    near = [state] + [state ^ (1 << bit) for bit in range(n)]
    return max(near, key=lambda other: law[other])


# The landscape


def test_valleys_lead_down_to_their_floors():
    rbm = random_model(7, 4, 1.5, 1).rbm
    land = landscape(rbm)
    assert sorted(land.order) == list(range(2**7))
    assert land.width.sum() == pytest.approx(1)
    assert land.width.min() > 0
    for state in range(2**7):
        at = state
        while (lower := lowest_neighbour(land.law, at, 7)) != at:
            at = lower
        assert land.valleys[land.valley[state]].floor == at
    assert len(land.valleys) > 1
    assert list(land.law[[v.floor for v in land.valleys]]) == sorted(
        (land.law[v.floor] for v in land.valleys), reverse=True
    )
    for rank, valley in enumerate(land.valleys):
        inside = land.order[valley.first : valley.last]
        assert (land.valley[inside] == rank).all()
        at = int(np.flatnonzero(inside == valley.floor)[0])
        heights = -np.log(land.law[inside])
        assert (np.diff(heights[: at + 1]) <= 1e-12).all()  # down to the floor
        assert (np.diff(heights[at:]) >= -1e-12).all()  # and up again
    assert sum(v.last - v.first for v in land.valleys) == 2**7


def test_gray_code_neighbours_differ_in_one_bit():
    rbm = random_model(6, 3, 1.0, 2).rbm
    order = landscape(rbm, "gray").order
    assert sorted(order) == list(range(64))
    assert all(int(a ^ b).bit_count() == 1 for a, b in itertools.pairwise(order))
    np.testing.assert_array_equal(landscape(rbm, "index").order, np.arange(64))


def test_codes_are_the_order_of_the_probabilities():
    np.testing.assert_array_equal(codes(states(5)), np.arange(32))
    np.testing.assert_array_equal([state_bits(state, 5) for state in range(32)], states(5))


def test_pattern_models_have_their_patterns_as_floors():
    patterns = ["110/100", "001/011"]
    model = pattern_model(patterns, depth=6)
    bits = [int(pattern.replace("/", ""), 2) for pattern in patterns]
    land = landscape(model.rbm)
    assert {valley.floor for valley in land.valleys[:2]} == set(bits)
    assert land.law[bits].sum() > 0.4
    assert model.meta["image_shape"] == [2, 3]
    own = model_statistics(model.rbm)
    np.testing.assert_array_equal(model.rates.W, own.W)
    deeper = landscape(pattern_model(patterns, depth=8).rbm)
    assert deeper.law[bits].sum() > land.law[bits].sum()


@pytest.mark.parametrize("patterns", [["11", "111"], ["11/1"], ["1x"], ["10", "10"], []])
def test_patterns_of_no_shape_are_refused(patterns):
    with pytest.raises(BadInput, match="not different 0/1 pictures of one shape"):
        pattern_model(patterns, 5)


def test_too_many_states_are_refused():
    with pytest.raises(BadInput, match="2\\^11 states cannot be drawn"):
        landscape(RBM(np.zeros((11, 2)), np.zeros(11), np.zeros(2)))


def test_an_unknown_order_is_refused():
    with pytest.raises(BadInput, match="order = 'energy' is not one of valley, gray, index"):
        landscape(RBM(np.zeros((2, 2)), np.zeros(2), np.zeros(2)), "energy")


# What a sampler samples from


@pytest.mark.parametrize("name", ["rates_fpcd", "rates_herding", "sample_penalization"])
def test_the_target_is_theta_and_the_fast_parameters(name, model):
    """theta_F <- alpha theta_F + eps (R - s), added up by hand over 600 samples (two folds of the kernel)."""
    eps, alpha = 0.05, 0.98
    sampler = make_sampler(name, eps=eps, alpha=alpha)
    state = sampler.init(model, 3)
    R = model.rates if sampler.needs_rates else None
    W, b, c = (np.zeros(x.shape) for x in (model.rbm.W, model.rbm.b, model.rbm.c))
    for t in range(600):
        v, h = sampler.step(state, 1).v[0].astype(float), state.h.astype(float)
        W = alpha * W + eps * ((R.W if R else 0) - np.outer(v, h))
        b = alpha * b + eps * ((R.b if R else 0) - v)
        c = alpha * c + eps * ((R.c if R else 0) - h)
        if t % 97 == 0 or t == 599:
            now = sampler.target(state)
            np.testing.assert_allclose(now.W, model.rbm.W + W, atol=2e-5)
            np.testing.assert_allclose(now.b, model.rbm.b + b, atol=2e-5)
            np.testing.assert_allclose(now.c, model.rbm.c + c, atol=2e-5)


def test_heat_flattens_the_target_of_gibbs(model):
    sampler = make_sampler("gibbs", temperature=2.0)
    now = sampler.target(sampler.init(model, 0))
    np.testing.assert_array_equal(now.W, model.rbm.W / 2)
    np.testing.assert_array_equal(now.b, model.rbm.b / 2)
    np.testing.assert_array_equal(now.c, model.rbm.c / 2)


@pytest.mark.parametrize("name", list_samplers())
def test_the_first_target_is_the_model(name, model):
    sampler = make_sampler(name)
    now = sampler.target(sampler.init(model, 0))
    np.testing.assert_array_equal(now.W, model.rbm.W)


# Walks


@pytest.fixture
def walk(open_worker):
    """Make n samples of a plan on a page of its own."""

    def make(plan, sampler, *steps):
        worker = open_worker(plan, sampler)
        for n in steps:
            worker.step(n)
        wait(lambda: worker.request_snapshot().n == sum(steps), "all samples")
        return worker

    return make


def test_a_walk_shows_the_samplers_own_samples(walk):
    model = pattern_model(["110", "011"], 3)
    sampler = make_sampler("rates_fpcd", eps=0.2)
    worker = walk(LandscapeSetup(model, 5), sampler, 1, 9, 490)
    shown, land = worker.request_snapshot(), landscape(model.rbm)
    floor = land.valleys[0].floor
    v0 = np.array([int(bit) for bit in f"{floor:03b}"])
    want = sample(model, sampler, 500, seed=5, v0=v0, fast_norm=True)
    visited = codes(want.v)
    np.testing.assert_array_equal(shown.trail, visited[-240:])
    np.testing.assert_array_equal(shown.visits, np.bincount(visited, minlength=8))
    assert shown.fast_norm == want.info["fast_norm"][-1]
    path = land.valley[[floor, *visited]]
    assert shown.crossings == (path[1:] != path[:-1]).sum()
    for point in shown.curve:
        share = np.bincount(visited[: point.n], minlength=8) / point.n
        assert point.visits == pytest.approx(total_variation(share, land.law))
        distance = np.linalg.norm(want.v[: point.n].mean(axis=0) - model.rates.b)
        assert point.moments == pytest.approx(distance)
    assert [point.n for point in shown.curve][:4] == [1, 2, 3, 4]
    assert shown.curve[-1].n == 500
    law = probabilities(worker.read(lambda run: run.target()))
    np.testing.assert_array_equal(shown.law, law)
    here = visited[-1]
    assert shown.raised == pytest.approx(np.log(land.law[here] / law[here]))
    assert shown.bent == pytest.approx(total_variation(law, land.law))
    first, kept = worker.read(LandscapeRun.held_samples)
    assert first == 0
    again = np.concatenate([chunk.v for chunk in replay(worker.read(LandscapeRun.run_log), model, 500)])
    np.testing.assert_array_equal(kept, again)


def test_the_ground_rises_under_a_chain_that_unlearns_and_never_under_gibbs(walk):
    plan = LandscapeSetup(pattern_model(["111/000", "000/111"], 9), 1)
    gibbs = walk(plan, make_sampler("gibbs"), 20).request_snapshot()
    assert (gibbs.raised, gibbs.bent, gibbs.fast_norm) == (0, 0, None)
    for name in ("rates_fpcd", "sample_penalization"):
        floor, eps = landscape(plan.model.rbm).valleys[0].floor, 0.01
        shown = walk(plan, make_sampler(name, eps=eps, alpha=1.0), 20).request_snapshot()
        law = landscape(plan.model.rbm).law
        assert shown.visits[floor] > 10
        assert np.log(law[floor] / shown.law[floor]) > 0.5  # nats


def test_a_start_without_samples_and_a_turned_knob_are_shown(open_worker):
    model = pattern_model(["110", "011"], 3)
    worker = open_worker(LandscapeSetup(model, 2), make_sampler("gibbs"))
    shown = worker.request_snapshot()
    assert (shown.n, shown.curve, list(shown.trail)) == (0, (), [landscape(model.rbm).valleys[0].floor])
    np.testing.assert_array_equal(shown.law, probabilities(model.rbm))
    worker.step(3)
    worker.apply_knobs(temperature=2.0)
    worker.step(1)
    wait(lambda: worker.request_snapshot().n == 4, "four samples")
    hot = RBM(model.rbm.W / 2, model.rbm.b / 2, model.rbm.c / 2)
    np.testing.assert_allclose(worker.request_snapshot().law, probabilities(hot), rtol=1e-6)


# What the walks come to


def errors_of_visits(model, sampler, n=200_000, batches=50):
    """Return each state's share of visits minus its probability, in standard errors of batch means."""
    visited = codes(sample(model, sampler, n, seed=3).v).reshape(batches, -1)
    law = probabilities(model.rbm)
    shares = np.stack([np.bincount(row, minlength=len(law)) for row in visited]) / visited.shape[1]
    return (shares.mean(axis=0) - law) / (shares.std(axis=0, ddof=1) / np.sqrt(batches))


def test_visits_of_gibbs_match_the_models_law(model):
    z = errors_of_visits(model, make_sampler("gibbs"))
    assert np.abs(z).max() < 4.5
    assert (z**2).mean() < 2
    assert np.abs(errors_of_visits(model, make_sampler("rates_fpcd", eps=0.1))).max() > 10


def moment_errors(model, sampler, at):
    """Return the distance of the mean statistics (v h', v, h) to the rates, after so many samples."""
    state, R = sampler.init(model, 4), model.rates
    follow_norm(state)
    total, found = np.zeros(R.W.size + R.b.size + R.c.size), []
    want = np.concatenate([R.W.ravel(), R.b, R.c])
    for t in range(1, at[-1] + 1):
        samples = sampler.step(state, 1)
        v, h = samples.v[0].astype(float), state.h.astype(float)
        total += np.concatenate([np.outer(v, h).ravel(), v, h])
        if t in at:
            found.append(np.linalg.norm(total / t - want))
            if "fast_norm" in samples.info and sampler.alpha == 1:
                # The sum of all R - s is theta_F / eps.
                assert found[-1] == pytest.approx(samples.info["fast_norm"][-1] / (sampler.eps * t), rel=1e-3)
    return np.array(found)


def slope(at, errors):
    return np.polyfit(np.log(at), np.log(errors), 1)[0]


def test_moments_of_rates_fpcd_without_decay_match_the_rates_as_one_over_t():
    """With decay, or under Gibbs of a model that has other rates, the error does not fall."""
    rbm = random_model(5, 3, 1.0, 7).rbm
    model = Model(rbm, rbm.rates(np.random.default_rng(8).integers(0, 2, (40, 5), dtype=np.uint8)))
    at = np.unique(np.geomspace(100, 30_000, 25).astype(int)).tolist()
    errors = moment_errors(model, make_sampler("rates_fpcd", eps=0.05), at)
    assert -1.2 < slope(at, errors) < -0.8
    assert errors[-1] < 0.003
    for other in (make_sampler("rates_fpcd", eps=0.05, alpha=0.95), make_sampler("gibbs")):
        errors = moment_errors(model, other, at)
        assert slope(at, errors) > -0.3
        assert errors[-1] > 0.03


def test_moments_of_gibbs_fall_as_one_over_root_t_where_the_rates_are_the_models_own():
    model = random_model(5, 3, 1.0, 7)
    at = np.unique(np.geomspace(100, 30_000, 25).astype(int)).tolist()
    slopes = [slope(at, moment_errors(model, make_sampler("gibbs", k=k), at)) for k in (2, 3, 4)]
    assert -0.75 < np.mean(slopes) < -0.3


def test_penalization_without_decay_ends_at_the_empty_state_and_is_never_near_the_uniform_law():
    """The paper says "a uniform distribution"; with 0/1 units only what is on is penalised."""
    model, uniform = pattern_model(["111/000", "000/111"], 9), np.full(64, 1 / 64)
    sampler = make_sampler("sample_penalization", eps=0.01, alpha=1.0)
    state, laws = sampler.init(model, 1), []
    for _ in range(300):
        v = sampler.step(state, 100).v
        laws.append(probabilities(sampler.target(state)))
    assert laws[0][0] < 0.1
    assert laws[-1][0] > 0.95  # the next sweep: all units off
    assert v.any(axis=1).mean() < 0.1
    assert min(total_variation(law, uniform) for law in laws) > 0.6
    decayed = make_sampler("sample_penalization", eps=0.01, alpha=0.9)
    state = decayed.init(model, 1)
    decayed.step(state, 30_000)
    assert probabilities(decayed.target(state))[0] < 0.1


def test_penalization_in_symmetric_units_ends_at_the_uniform_law():
    """The paper's end, on the same landscape: no unit is 0, so that all states are treated alike."""
    model, uniform = pattern_model(["111/000", "000/111"], 9), np.full(64, 1 / 64)
    sampler = make_sampler("sample_penalization", eps=0.003, alpha=1.0, units="symmetric")
    state = sampler.init(model, 1)
    far = total_variation(probabilities(model.rbm), uniform)
    v = [sampler.step(state, 4000).v for _ in range(5)][-1]
    law = probabilities(sampler.target(state))
    assert total_variation(law, uniform) < 0.1 < 0.7 < far
    counts = np.bincount(codes(v), minlength=64) / len(v)
    assert total_variation(counts, uniform) < 0.1
    assert (np.abs(v.mean(axis=0) - 0.5) < 0.05).all()


def test_the_time_to_leave_a_valley_grows_fast_for_gibbs_and_slowly_for_a_chain_that_unlearns():
    """Samples a crossing, measured over 50,000: Gibbs 84 and 505 at depth 8 and 10, rates-FPCD 51 and 124."""

    def samples_a_crossing(depth, sampler):
        model = pattern_model(["111/000", "000/111"], depth)
        valleys = landscape(model.rbm).valley[codes(sample(model, sampler, 50_000, seed=1).v)]
        return len(valleys) / (valleys[1:] != valleys[:-1]).sum()

    gibbs, unlearning = make_sampler("gibbs"), make_sampler("rates_fpcd", eps=0.03)
    assert samples_a_crossing(10, gibbs) > 4 * samples_a_crossing(8, gibbs)
    assert samples_a_crossing(10, unlearning) < 3 * samples_a_crossing(8, unlearning)
