"""Challenges: each can be won, is not won at its start, and a result is what its replay gives."""

import dataclasses
import hashlib

import numpy as np
import pytest

from rbmviz import BadInput
from rbmviz.lessons import load_lesson, read_lesson, shipped_lessons
from rbmviz.lessons.results import (
    KERNELS_VERSION,
    MAX_RESULT_LINK,
    Result,
    check_lesson,
    read_file,
    read_link,
    read_result,
    result_link,
    result_of,
    verify,
    write_result,
)
from rbmviz.session import Worker
from rbmviz.session.rebuild import Change
from tests.lessons.test_lessons import GOOD, changed
from tests.waiting import wait

LESSONS = {name: load_lesson(name) for name in shipped_lessons()}
CHALLENGES = [name for name, lesson in LESSONS.items() if lesson.is_challenge]


def step_of(name):
    return LESSONS[name].steps[0]


def made(name, text):
    step = step_of(name)
    return verify(step, read_result(step, text))


def test_there_are_challenges_of_four_pages():
    assert len(CHALLENGES) >= 4
    assert {step_of(name).state.page for name in CHALLENGES} == {"sample", "chain", "coupling", "train"}


@pytest.mark.claims
@pytest.mark.parametrize("name", CHALLENGES)
def test_a_challenge_can_be_won_and_is_not_won_at_its_start(name):
    """By the result that its file names, which fits into a link; the start alone wins nothing."""
    [(_, measured)] = check_lesson(LESSONS[name])
    assert all(one.holds for one in measured)
    step = step_of(name)
    assert write_result(step, read_result(step, step.won_by)) == step.won_by
    assert len(result_link(name, 1, step, step.won_by)) < MAX_RESULT_LINK
    assert not made(name, "1").won


@pytest.mark.compiled
def test_the_replay_makes_the_runs_of_a_worker_again():
    """Turns in the middle of a run, two before one sample, and one after the end, which is left out."""
    step = step_of("break-gibbs")
    plan, workers = step.state.setup().plan(), []
    for algorithm in step.state.algorithms():
        worker = Worker(plan, algorithm)
        worker.open()
        workers.append(worker)
        worker.set_live_knobs(**({"eps": 0.9} if algorithm.name == "rates_fpcd" else {}))
        for n, eps in ((50, 0.2), (233, 0.05), (600, 0.3), (700, 0.1)):
            worker.step(n - worker.peek().n)
            wait(lambda worker=worker, n=n: worker.peek().n == n, f"{n} samples")
            if n == 600:
                kept = worker.peek()
            if algorithm.name == "rates_fpcd":
                worker.set_live_knobs(eps=eps)
        workers[-1] = worker, kept
    logs = [worker.rebuild_data(lambda run: None)[2] for worker, _ in workers]
    text = write_result(step, result_of(step, {}, logs))
    assert text == "1~2@0:eps=0.9~2@50:eps=0.2~2@233:eps=0.05"
    verdict = verify(step, read_result(step, text))
    (_, gibbs), (_, fpcd) = workers
    assert [one.value for one in verdict.measured[:2]] == [gibbs.crossings, fpcd.crossings]
    for worker, _ in workers:
        worker.close()
        worker.join(10)


def test_within_counts_the_first_sample_that_holds():
    step = step_of("ten-by-heat")
    goal = dataclasses.replace(step, goal=(step.goal[0]._replace(number=2.0, operator=">=", n=300),))
    [early] = verify(goal, read_result(goal, "1~1@0:temperature=2.5")).measured
    [late] = verify(goal, read_result(goal, "1~1@0:temperature=2.5~1@299:temperature=1.0")).measured
    assert early.holds
    assert 1 < early.n < 300
    assert (late.n, late.value) == (early.n, early.value)
    [none] = verify(goal, read_result(goal, "1~1@0:temperature=0.1")).measured
    assert (none.holds, none.n) == (False, 300)


SAMPLES_OF_KERNELS = {
    "ten-by-heat": "67ceffd705845ed1",
    "one-step-size": "54d0d155f4895ff0",
    "break-gibbs": "28e4505c2a4c99b1",
    "meet-in-ten": "be98dd49f6352332",
    "where-pcd-falls": "2ac565b83720ccdc",
}
"""Digests of the first 30 steps of each challenge, by version 1 of the kernels."""


def first_steps(page, run, n=30):
    """Return what the kernels have made in the first steps of a run, as bytes."""
    run.prepare()
    if page == "coupling":
        while min(pair.counted.n for pair in run.view("paused").displayed_pairs) < n:
            run.background_work(False)
        return b"".join(pair.counted.tau[:n].tobytes() for pair in run.view("paused").displayed_pairs)
    while run.n < n:
        run.record_steps(run.timed_advance(min(run.max_steps(), n - run.n)))
    run.complete()
    shown = run.view("paused")
    match page:
        case "sample":
            return shown.newest_samples.v.tobytes()
        case "chain":
            return shown.trail.tobytes() + shown.visits.tobytes()
        case "train":  # weights are real numbers, which another processor may round otherwise
            return f"{np.abs(shown.models[0].W).sum(dtype=np.float64):.3f}".encode()


@pytest.mark.compiled
@pytest.mark.parametrize("name", CHALLENGES)
def test_kernels_that_make_other_samples_have_another_version(name):
    """If this fails, results in links no longer give what they gave: raise KERNELS_VERSION and note these."""
    state, digest = step_of(name).state, hashlib.sha256()
    plan = state.setup().plan()
    for algorithm in state.algorithms():
        digest.update(first_steps(state.page, plan.run(1, algorithm)))
    assert (KERNELS_VERSION, digest.hexdigest()[:16]) == (1, SAMPLES_OF_KERNELS[name])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("one-step-size", "", "does not begin with the version of the kernels"),
        ("one-step-size", "1~eps=0.01", "'eps=0.01' is no turn of a knob"),
        ("one-step-size", "1~2@0:eps=0.01", "is no turn of a knob"),
        ("one-step-size", "1~1@0:eps=9", "eps = 9.0 is outside"),
        ("one-step-size", "1~1@0:epps=1", "has no knob 'epps': did you mean 'eps'"),
        ("one-step-size", "1~1@0:n_chains=1000", "the knob n_chains of panel 1 may not be turned"),
        ("one-step-size", "1~seed=7", "the setting seed may not be changed"),
        ("one-step-size", "1~1@9:eps=0.1~1@5:eps=0.2", "the turns of panel 1 are not in order"),
        ("one-step-size", "1" + "~1@0:eps=0.1" * 3000, "has 3,000 turns and may have 2,000"),
        ("where-pcd-falls", "1~1@5:learning_rate=0.1", "may not be turned once the panel has begun"),
        ("break-gibbs", "1~land_depth=99", "land_depth = '99' is none of 2"),
    ],
)
def test_a_wrong_result_is_refused_in_one_sentence(name, text, said):
    with pytest.raises(BadInput) as caught:
        read_result(step_of(name), text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_panels_are_no_result():
    step = step_of("break-gibbs")
    one = Change(0, step.state.algorithms()[0])
    with pytest.raises(BadInput, match="panels may not be added, or removed"):
        result_of(step, {}, [[one]])
    with pytest.raises(BadInput, match="the setting land_seed may not be changed"):
        result_of(step, {"land_seed": 1}, [[Change(0, algorithm)] for algorithm in step.state.algorithms()])


def test_a_result_of_other_kernels_says_so():
    verdict = made("break-gibbs", "7")
    assert "version 7 of the kernels, and this is version 1: there it may have been won." in verdict.sentence
    assert isinstance(read_result(step_of("break-gibbs"), "7"), Result)


def test_links_and_files_of_results():
    link = result_link("break-gibbs", 1, step_of("break-gibbs"), "1~land=letters L T X")
    lesson, number, text = read_link(f"http://127.0.0.1:8501/{link}", LESSONS)
    assert (lesson.name, number, text) == ("break-gibbs", 1, "1~land=letters L T X")
    assert read_file(f"{link}\n".encode()) == link
    for wrong, said in (
        ("sample?lesson=break-gibbs", "no link with the result"),
        ("sample?lesson=break-gibs&step=1&result=1", "did you mean 'break-gibbs'"),
        ("sample?lesson=stick&step=1&result=1", "Step 1 of 'stick' is no challenge"),
        ("sample?lesson=break-gibbs&step=9&result=1", "no link with the result"),
        ("x" * 300_000, "has 300,000 characters and may have 200,000"),
    ):
        with pytest.raises(BadInput, match=said):
            read_link(wrong, LESSONS)
    with pytest.raises(BadInput, match="is no result of a challenge"):
        read_file(b"\xff")
    with pytest.raises(BadInput, match="it has more than 200,000 bytes"):
        read_file(b"x" * 300_000)


GOAL = 'claims = []\ngoal = ["panel2.crossings > 2 within 300 samples"]\nturns = ["eps"]'


def test_a_step_with_a_goal_is_a_challenge():
    lesson = read_lesson(changed(claims=GOAL), "mine.toml")
    assert lesson.is_challenge
    assert not read_lesson(GOOD.encode(), "mine.toml").is_challenge
    with pytest.raises(BadInput, match="step 1, has no 'won_by'"):
        list(check_lesson(lesson))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (GOAL.replace("eps", "epps"), "Unknown knob that can be turned 'epps'"),
        (GOAL.replace("eps", "n_chains"), "Unknown knob that can be turned 'n_chains'"),
        (GOAL.replace('turns = ["eps"]', ""), "a goal needs something that may be changed"),
        (GOAL.replace("goal =", "# goal ="), "there is no goal"),
        (GOAL + '\nchoose = ["land_pace"]', "Unknown knob or setting 'land_pace'"),
        (GOAL.replace("300", "30000"), "says 'within', which a goal may"),
        (GOAL.replace("> 2", "> panel1.crossings"), "says 'within', which a goal may"),
        ('claims = ["panel2.crossings > 2 within 300 samples"]', "says 'within', which a goal may"),
    ],
)
def test_what_is_no_challenge_is_refused(lines, said):
    with pytest.raises(BadInput) as caught:
        read_lesson(changed(claims=lines), "mine.toml")
    assert str(caught.value).startswith("The lesson 'mine.toml', step 1: ")
    assert said in str(caught.value)
