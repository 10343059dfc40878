"""The landscape of a small model, and the chains of the samplers on it."""

import itertools

import numpy as np
import pytest
from naive import states
from waiting import wait

from rbmviz import RBM, BadInput, Model, make_sampler, sample
from rbmviz.metrics import landscape, model_statistics, noise_floor, probabilities, total_variation
from rbmviz.metrics.landscape import codes, state_bits
from rbmviz.models import pattern_model, random_model
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


def test_states_are_ordered_by_gray_code_or_by_number():
    rbm = random_model(6, 3, 1.0, 2).rbm
    order = landscape(rbm, "gray").order
    assert sorted(order) == list(range(64))
    assert all(int(a ^ b).bit_count() == 1 for a, b in itertools.pairwise(order))
    np.testing.assert_array_equal(landscape(rbm, "index").order, np.arange(64))
    np.testing.assert_array_equal(codes(states(5)), np.arange(32))
    np.testing.assert_array_equal([state_bits(state, 5) for state in range(32)], states(5))
    with pytest.raises(BadInput, match="order = 'energy' is not one of valley, gray, index"):
        landscape(rbm, "energy")


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


# Walks


def test_a_walk_shows_the_samplers_own_samples(open_worker):
    model = pattern_model(["110", "011"], 3)
    sampler = make_sampler("rates_fpcd", eps=0.2)
    worker = open_worker(LandscapeSetup(model, 5), sampler)
    for n in (1, 9, 490):
        worker.step(n)
    wait(lambda: worker.request_snapshot().n == 500, "all samples")
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
        assert point.floor == noise_floor(land.law, point.n)
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


def moment_error(model, sampler, at):
    """Return the last distance of the mean statistics (v h', v, h) to the rates, and how it falls."""
    state, R = sampler.init(model, 4), model.rates
    follow_norm(state)
    total, found = np.zeros(R.W.size + R.b.size + R.c.size), []
    want = np.concatenate([R.W.ravel(), R.b, R.c])
    for t in range(1, at[-1] + 1):
        v, h = sampler.step(state, 1).v[0].astype(float), state.h.astype(float)
        total += np.concatenate([np.outer(v, h).ravel(), v, h])
        if t in at:
            found.append(np.linalg.norm(total / t - want))
    return found[-1], np.polyfit(np.log(at), np.log(found), 1)[0]


def test_moments_of_rates_fpcd_without_decay_match_the_rates_as_one_over_t():
    """With decay, or under Gibbs of a model that has other rates, the error does not fall."""
    rbm = random_model(5, 3, 1.0, 7).rbm
    model = Model(rbm, rbm.rates(np.random.default_rng(8).integers(0, 2, (40, 5), dtype=np.uint8)))
    at = np.unique(np.geomspace(100, 30_000, 25).astype(int)).tolist()
    error, slope = moment_error(model, make_sampler("rates_fpcd", eps=0.05), at)
    assert -1.2 < slope < -0.8
    assert error < 0.003
    for other in (make_sampler("rates_fpcd", eps=0.05, alpha=0.95), make_sampler("gibbs")):
        error, slope = moment_error(model, other, at)
        assert slope > -0.3
        assert error > 0.03


def test_the_time_to_leave_a_valley_grows_fast_for_gibbs_and_slowly_for_a_chain_that_unlearns():
    """Samples a crossing, measured over 50,000: Gibbs 84 and 505 at depth 8 and 10, rates-FPCD 51 and 124."""

    def samples_a_crossing(depth, sampler):
        model = pattern_model(["111/000", "000/111"], depth)
        valleys = landscape(model.rbm).valley[codes(sample(model, sampler, 50_000, seed=1).v)]
        return len(valleys) / (valleys[1:] != valleys[:-1]).sum()

    gibbs, unlearning = make_sampler("gibbs"), make_sampler("rates_fpcd", eps=0.03)
    assert samples_a_crossing(10, gibbs) > 4 * samples_a_crossing(8, gibbs)
    assert samples_a_crossing(10, unlearning) < 3 * samples_a_crossing(8, unlearning)
