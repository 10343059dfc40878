"""Race at equal points, and panels that catch up."""

import math
from dataclasses import replace

import numpy as np
import pytest
from waiting import wait

from rbmviz.metrics import ISL, paired_error
from rbmviz.samplers import make_sampler, sample
from rbmviz.session import (
    TrainingPlan,
    TrainingSetup,
    isl_points,
)
from rbmviz.session import equal_points as points
from rbmviz.trainers import make_trainer
from tests.session.runs import begun, from_scratch


def places(runs, cost_unit):
    return [snapshot.compared for snapshot in points.at_one_point(runs, cost_unit)]


@pytest.mark.parametrize(("cost_unit", "per_sample"), [("samples", 1), ("sweeps", 3)])
def test_scores_at_a_point_are_those_of_the_samples_up_to_it(model, toy, cost_unit, per_sample):
    sampler = make_sampler("gibbs", k=3)
    shown = begun(model, toy, sampler, 300).view("paused")
    v = sample(model, sampler, 300, seed=5).v
    for point in points.POINTS[cost_unit]:
        scores = isl_points.scores_at(shown, cost_unit, point)
        if point > isl_points.passed(shown, cost_unit) or point < per_sample:
            assert scores is None
            continue
        n = int(point) // per_sample
        score, coverage = from_scratch(toy, v[:n])
        assert scores.isl.spent[:2] == (n, 3 * n)
        assert scores.counts.n == n
        if n in [one.n for one in shown.curve]:
            assert (scores.isl.isl, scores.isl.std_error) == (score.isl, score.std_error)
            names = ("switches", "class_coverage", "blank", "spurious")
            assert [getattr(scores.counts, name) for name in names] == [
                getattr(coverage, name) for name in names
            ]
            assert scores.counts.visited == (coverage.visited, 2)
        else:  # read off between its neighbours
            assert scores.isl.isl == pytest.approx(score.isl, abs=0.02)
            assert scores.counts.class_coverage == pytest.approx(coverage.class_coverage, abs=0.05)
            assert abs(scores.counts.switches - coverage.switches) <= 3


def test_the_common_point_is_the_last_that_all_have_passed(model, toy):
    shown = [begun(model, toy, make_sampler("gibbs", k=k), n).view("paused") for k, n in ((1, 300), (5, 100))]
    assert points.common_point(shown, "samples") == max(n for n in points.POINTS["samples"] if n <= 100)
    scored = shown[0].curve[-1].n  # of 300 sweeps; the other has 500
    assert points.common_point(shown, "sweeps") == max(n for n in points.POINTS["sweeps"] if n <= scored)
    assert points.common_point([], "samples") is None
    first, second = places([(one, False) for one in shown], "sweeps")
    assert first.point == second.point
    assert first.scores.isl.spent.samples > second.scores.isl.spent.samples
    assert (first.behind, second.behind) == (True, False)
    assert (first.held_back, second.held_back) == (False, True)
    # A late panel does not hold the others back, and neither does a failed one.
    late = begun(model, toy, make_sampler("gibbs"), 3).view("paused")
    for away in ((late, True), (replace(late, status="failed"), False)):
        *_, compared = places([(shown[0], False), (shown[1], False), away], "samples")
        assert compared.scores is None
        assert compared.point == points.common_point(shown, "samples")
    assert places([(shown[0], False), (late, False)], "samples")[0].point == 3
    # What a page shows of a panel is what it had scored at the common point.
    one, two = points.at_one_point([(shown[0], False), (late, False)], "samples")
    first = isl_points.scores_at(shown[0], "samples", 3)
    assert (one.newest, one.covered) == (first.isl, first.counts)
    assert (one.n, one.compared.most_passed, two.newest.n) == (300, isl_points.passed(shown[0], "samples"), 3)
    assert points.at_one_point([(late, True)], "samples")[0].newest is None


def test_differences_are_paired_point_by_point(model, toy):
    shown = [begun(model, toy, make_sampler("gibbs", k=k), 100).view("paused") for k in (1, 2)]
    found = isl_points.differences(*shown, "samples")
    assert [one.point for one in found] == [n for n in points.POINTS["samples"] if n <= 100]
    for one in found[10:]:
        logs = []
        for k in (1, 2):
            v = sample(model, make_sampler("gibbs", k=k), int(one.point), seed=5).v
            beta = ISL(toy.test, toy.validation).update(v).value().beta
            apart = (toy.test[:, None] != v[None]).sum(axis=2)
            logs.append(np.log((beta ** (5 - apart) * (1 - beta) ** apart).mean(axis=1)))
        difference = logs[0] - logs[1]
        assert one.difference == pytest.approx(difference.mean())
        assert one.std_error == pytest.approx(difference.std(ddof=1) / math.sqrt(len(toy.test)))
    assert {one[3:] for one in isl_points.differences(shown[0], shown[0], "sweeps")} == {(0.0, 0.0)}
    assert all(one.samples == one.other_samples == one.point for one in found)
    at_64 = [one.scores_at("samples", 64).isl.isl for one in shown]
    assert isl_points.best(shown, "samples", 64) == int(np.argmax(at_64))
    assert isl_points.best([], "samples", 64) is isl_points.best(shown, "samples", 200) is None


def test_groups_at_random_have_the_error_of_all_points():
    """The error of a difference by groups is that by points, up to chance: 7 % for 100 groups."""
    g = np.random.default_rng(0)
    test, validation = (g.integers(0, 2, (n, 20), dtype=np.uint8) for n in (2000, 10))
    test = test[np.lexsort(test.T)]  # sorted, as data sets are
    runs = [ISL(test, validation).update(g.integers(0, 2, (50, 20), dtype=np.uint8)) for _ in range(2)]
    groups = [run.value_by_group()[1] for run in runs]
    assert [len(one) for one in groups] == [100, 100]
    logs = [run._log_densities(run.betas)[:2000, run.betas == run.value().beta][:, 0] for run in runs]
    exact = (logs[0] - logs[1]).std() / math.sqrt(2000)
    assert paired_error(*groups) == pytest.approx(exact, rel=0.25)
    assert groups[0].mean() == pytest.approx(runs[0].value().isl)
    assert math.isnan(paired_error(groups[0][:1], groups[1][:1]))


def trained(run, updates):
    for _ in range(updates):
        run.record_steps(run.advance(1))
        while run.background_work(paused=True):
            pass
    return run.view("paused")


def test_trainings_are_read_off_between_their_scores(toy):
    plan = TrainingPlan(toy, 3)
    run = plan.run(1, make_trainer("cd", batch_size=10, k=2))
    run.prepare()
    shown = trained(run, 20)
    assert [one.update for one in shown.likelihoods] == list(range(21))
    assert shown.scores_at("updates", 7) is shown.likelihoods[7]
    between = shown.scores_at("sweeps", 7.25 * 20)
    assert (between.update, between.sweeps) == (7, 145)
    a, b = (one.train[0] for one in shown.likelihoods[7:9])
    assert between.train[0] == pytest.approx(0.75 * a + 0.25 * b)
    assert shown.scores_at("updates", 21) is None
    [at] = points.at_one_point([(shown, False)], "sweeps")
    assert at.compared.point == max(point for point in points.POINTS["sweeps"] if point <= 400)
    assert at.compared.scores.sweeps == at.compared.point
    assert at.likelihoods == shown.likelihoods  # all but the point stays current
    # A branch goes on counting, and knows nothing of before it began.
    branch = plan._replace(warm_start=run.warm_start()).run(1, make_trainer("cd", batch_size=10))
    branch.prepare()
    later = trained(branch, 5)
    assert [(one.update, one.sweeps) for one in later.likelihoods][-2:] == [(24, 440.0), (25, 450.0)]
    assert later.scores_at("updates", 12) is None
    [compared] = places([(later, False)], "sweeps")
    assert (compared.scores.update, compared.point) == (22, 422)
    # Who has no chains makes no sweeps, and nobody waits for it.
    exact = plan.run(1, make_trainer("exact", batch_size=10))
    exact.prepare()
    both = places([(trained(exact, 3), False), (shown, False)], "sweeps")
    assert (both[0].passed, both[0].scores, both[0].behind, both[0].held_back) == (None, None, False, False)
    assert both[1].point == at.compared.point


def test_ended_schedule_keeps_its_score_and_blocks_nobody(toy):
    def training(n, **knobs):
        run = TrainingPlan(toy, 3).run(1, make_trainer("pcd", **knobs))
        run.prepare()
        return run, trained(run, n)

    (run, ended), (_, going) = training(20, schedule="linear", iterations=20), training(200)
    assert run.max_steps() == 0
    shown = [replace(ended, status="finished"), going]
    mine, other = places([(one, 0.0) for one in shown], "updates")
    assert mine.point == other.point == places([(shown[1], 0.0)], "updates")[0].point > 20
    assert mine.scores == shown[0].likelihoods[-1]
    assert mine.scores.update == 20
    # Without an end it would be the last point that both have passed.
    assert places([(ended, 0.0), (going, 0.0)], "updates")[0].point <= 20


def test_added_trainer_catches_up_before_it_counts(open_race, toy):
    race = open_race(TrainingSetup(toy, 3), make_trainer("cd", batch_size=10), rate=100.0)
    race.step(200)
    wait(lambda: race.poll()[0][1].passed("updates") == 200, "a scored update")
    race.add(make_trainer("pcd", batch_size=10))
    points_then = []

    def is_there():
        points_then.append(compared_now(race)[0].compared.point)
        return not compared_now(race)[1].compared.catching_up

    wait(is_there, "the second")
    assert min(points_then) > 100  # the first never went back to where the second had begun
    assert [s.n for _, s in race.poll()] == [200, 200]


def compared_now(race):
    return [one for _, one in race.at_common_point(race.poll())]
