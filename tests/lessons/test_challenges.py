"""Challenges: each can be won, and is not won at its start."""

import pytest

from rbmviz import BadInput
from rbmviz.lessons import check_lesson, load_lesson, measure, measure_claims, read_lesson, shipped_lessons
from tests.lessons.test_lessons import GOOD, changed

LESSONS = {name: load_lesson(name) for name in shipped_lessons()}
CHALLENGES = [name for name, lesson in LESSONS.items() if lesson.is_challenge]


def step_of(name):
    return LESSONS[name].steps[0]


@pytest.mark.claims
@pytest.mark.parametrize("name", CHALLENGES)
def test_a_challenge_is_not_won_at_its_start(name):
    assert not all(one.holds for one in measure_claims(step_of(name).state, step_of(name).goal))


@pytest.mark.claims
@pytest.mark.parametrize("name", [name for name in CHALLENGES if name != "ten-by-heat"])
def test_a_challenge_is_won_as_its_file_says(name):
    [(_, measured)] = check_lesson(LESSONS[name])
    assert [one.claim for one in measured] == list(step_of(name).goal)
    assert all(one.holds for one in measured)


@pytest.mark.claims
def test_ten_digits_are_seen_by_heat_in_bursts_as_the_text_says():
    """Twenty samples at 2.5 and eighty at 1, again and again."""
    step = step_of("ten-by-heat")
    [gibbs] = step.state.algorithms()
    run = step.state.setup().plan().run(1, gibbs)
    run.prepare()
    while run.n < 2000:
        hot = run.n % 100 < 20
        run.set_knobs(type(gibbs)(temperature=2.5 if hot else 1.0))
        end = run.n - run.n % 100 + (20 if hot else 100)
        run.record_steps(run.timed_advance(min(run.max_steps(), end - run.n)))
    run.complete()
    shown = run.view("paused")
    values = {(0, goal.metric): measure(step.state, (0, goal.metric), shown, 2000) for goal in step.goal}
    assert all(goal.judged(values[0, goal.metric]).holds for goal in step.goal)
    assert f"{values[0, 'spurious_in_all']:.0f} % spurious" in step.reveal


@pytest.mark.claims
@pytest.mark.parametrize(("rate", "least", "most"), [(0.02, 0, 0.1), (0.1, 1, 3.5), (0.2, 3, 12)])
def test_pcd_falls_with_the_learning_rates_of_the_text(rate, least, most):
    step = step_of("where-pcd-falls")
    state = step.state._replace(panels=(f"pcd:learning_rate={rate},schedule=constant",))
    [fallen] = measure_claims(state, step.goal[:1])
    assert least <= fallen.value <= most


GOAL = 'claims = []\ngoal = ["panel2.crossings > 2 at 300 samples"]'
LINK = "chain?land_depth=12&l=gibbs&l=rates_fpcd:eps=0.2"


def test_a_step_with_a_goal_is_a_challenge():
    lesson = read_lesson(changed(claims=f'{GOAL}\nwon_by = "{LINK}"'), "mine.toml")
    assert lesson.is_challenge
    assert lesson.steps[0].won_by.algorithms()[1].eps == 0.2
    assert not read_lesson(GOOD.encode(), "mine.toml").is_challenge
    assert list(check_lesson(read_lesson(changed(claims=GOAL), "mine.toml"))) == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (f'{GOAL}\nturns = ["eps"]', "Unknown entry 'turns'"),
        (
            GOAL.replace("claims = []", 'claims = ["panel2.crossings > 1 at 300 samples"]'),
            "leave one of them out",
        ),
        (GOAL.replace(" at ", " within "), "is not written as 'panel1.crossings > 3 at 600 samples'"),
        (f'{GOAL}\nwon_by = "sample?p=gibbs"', "won_by is about the page sample, and the challenge"),
        (f'{GOAL}\nwon_by = "{LINK}&l=gibbs"', "won_by has other panels than the challenge"),
    ],
)
def test_malformed_challenges_are_refused(lines, said):
    with pytest.raises(BadInput) as caught:
        read_lesson(changed(claims=lines), "mine.toml")
    assert str(caught.value).startswith("The lesson 'mine.toml', step 1: ")
    assert said in str(caught.value)
