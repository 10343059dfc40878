"""Scores of live samples: in batches, complete in a pause, bounded, and shared by snapshots."""

import time

import numpy as np

from rbmviz.metrics import ISL, Coverage
from rbmviz.samplers import Samples, make_sampler, sample
from rbmviz.session import SamplingPlan
from rbmviz.session.scores import Scores
from rbmviz.session.snapshot import NOTHING_SPENT


def test_the_newest_value_is_for_those_who_look(model, toy, monkeypatch):
    monkeypatch.setattr("rbmviz.session.scores.SCORE_SECONDS", 0.0)
    monkeypatch.setattr("rbmviz.session.scores.SCORE_SHARE", 1e9)
    run = SamplingPlan(model, seed=5, dataset=toy).run(1, make_sampler("gibbs"))
    run.prepare()
    run.watched = False
    while run.n < 60:
        run.record_steps(run.advance(min(run.max_steps(), 60 - run.n)))
    shown = run.view("running")
    assert shown.newest == shown.curve[-1]
    assert shown.newest.n < 60
    run.complete()
    v = sample(model, make_sampler("gibbs"), 60, seed=5).v
    shown = run.view("paused")
    assert (shown.newest.n, shown.newest.isl) == (60, ISL(toy.test, toy.validation).update(v).value().isl)
    assert shown.occupancy.sum() + shown.blanks.sum() == 60
    run.watched = True
    run.record_steps(run.advance(1))
    assert run.view("running").newest.n == 61


def test_blank_samples_are_in_no_class_of_a_bin(toy):
    scores = Scores(toy, "binary")
    v = np.zeros((200, 5), np.uint8)
    v[:30, 4] = v[-30:] = 1
    scores.update(Samples(v, v.astype(np.float32), {}))
    assert (scores.bin_width, scores.covered.blank) == (2, 0.7)
    np.testing.assert_array_equal(scores.occupancy.sum(axis=0), [30, 30])
    np.testing.assert_array_equal(scores.occupancy.sum(axis=1) + scores.blanks, np.full(100, 2))
    assert scores.blanks.sum() == 140


def test_jumps_are_counted_within_each_chain_and_anew_after_a_turn(toy):
    """Against a loop; the last row and column are blank samples'."""
    scores, g = Scores(toy, "binary", n_chains=2), np.random.default_rng(8)
    v = g.integers(0, 2, (300, 5), dtype=np.uint8) * (g.random((300, 1)) < 0.9)
    coverage = Coverage(toy)
    state = np.where(coverage.is_blank(v), 2, coverage.update(v))
    for part in np.split(v, [7, 8, 150]):
        scores.update(Samples(part, part.astype(np.float32), {}))
    scores.complete(NOTHING_SPENT)
    want = np.zeros((3, 3), int)
    for before, after in zip(state[:-2], state[2:], strict=True):
        want[before, after] += 1
    assert want.min() > 0
    np.testing.assert_array_equal(scores.jumps, want)
    scores.begin_again()
    assert scores.jumps.sum() == 0


def test_queue_of_unscored_samples_is_bounded(model, toy):
    scores = Scores(toy, "binary")
    samples = sample(model, make_sampler("gibbs"), 7, seed=1)
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        scores.update(samples)
        assert sum(map(len, scores._not_covered)) < 64 + len(samples.v)
