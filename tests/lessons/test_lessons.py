"""Lessons: all that they claim is so; what is wrong with a file is said in a sentence that names the step."""

from types import SimpleNamespace

import numpy as np
import pytest

from rbmviz import BadInput
from rbmviz.lessons import (
    check_lesson,
    load_folder,
    load_lesson,
    measure_claims,
    measure_now,
    read_lesson,
    read_state,
    shipped_lessons,
)
from rbmviz.lessons.claims import read_claim
from rbmviz.metrics import eigenvalues, landscape, probabilities, transition_matrix
from rbmviz.metrics.finite_chain import remove_self_transitions, second_modulus, speed_up
from rbmviz.models import LANDSCAPE_PATTERNS, load_pretrained, pattern_model
from rbmviz.pages import PAGES, Sources
from rbmviz.samplers import make_sampler, sample
from tests.lessons.doing import EVERYWHERE, data_of, plays, presses

GOOD = """
title = "A lesson"
about = "What it is about."
minutes = 5

[[step]]
title = "A step"
link = "chain?land_depth=12&l=gibbs&l=rates_fpcd:eps=0.05"
do = "Press *Play*."
text = "With $a < b$."
look = "panel2.crossings"
question = "How often?"
answers = ["never", "often"]
right = 2
hold = true
reveal = "Often."
claims = ["panel2.crossings > panel1.crossings + 2 at 300 samples"]
"""


def changed(**parts):
    """Return the good lesson with other parts of its step, each a line of TOML."""
    lines = GOOD.splitlines()
    for name, text in parts.items():
        lines = [text if line.startswith(f"{name} =") else line for line in lines]
    return "\n".join(lines).encode()


@pytest.mark.claims
@pytest.mark.parametrize("name", shipped_lessons())
def test_claims_of_a_lesson_hold(name):
    """At the seed of each step, after as many samples as the claim says."""
    for step, measured in check_lesson(load_lesson(name)):
        for one in measured:
            assert one.holds, (step, one)


@pytest.mark.parametrize("name", shipped_lessons())
def test_a_lesson_needs_no_download_and_asks_each_question_whole(name):
    lesson = load_lesson(name)
    for step in lesson.steps:
        assert data_of(step.state.settings) <= EVERYWHERE
        assert step.reveal
        assert not step.question or 0 <= step.right < len(step.answers)


@pytest.mark.parametrize("name", shipped_lessons())
def test_instructions_of_a_step_reach_its_claims(name):
    """The text names a number of presses, or of samples, after which all claims of the step are decided."""
    for step in load_lesson(name).steps:
        done = max([presses(step), *plays(step)])
        assert done >= max((claim.n for claim in step.claims), default=0), step.do


@pytest.mark.compiled
def test_a_claim_is_measured_as_it_is_written():
    state = read_state("chain?land_depth=12&l=gibbs&l=rates_fpcd:eps=0.05")
    texts = ("panel2.crossings > 2 at 600 samples", "panel1.crossings > panel2.crossings - 1 at 600 samples")
    good, bad = measure_claims(state, tuple(read_claim(text, state) for text in texts))
    assert (good.holds, good.value, good.other) == (True, 6, 2)
    assert (bad.holds, bad.value, bad.other) == (False, 0, 5)
    again = measure_claims(state, (read_claim("panel2.crossings = 6 at 600 samples", state),))
    assert again[0].holds


@pytest.mark.compiled
def test_a_claim_may_look_at_other_steps_and_name_the_panel_of_which_it_does_not_hold():
    state = read_state("chain?land_depth=12&l=gibbs&l=rates_fpcd:eps=0.05")
    claim = read_claim("panel2.crossings > panel2.crossings@20 + 4 at 600 samples, not of panel1", state)
    found, control = measure_claims(state, (claim, claim.of_control()))
    [early] = measure_claims(state, (read_claim("panel2.crossings = 0 at 20 samples", state),))
    assert (found.holds, found.value, found.other) == (True, 6, 4 + early.value)
    assert (control.holds, control.value, control.other) == (False, 0, 4)
    with pytest.raises(BadInput, match="about panel 3 of 2"):
        read_claim("panel1.crossings > 1 at 10 samples, not of panel3", state)
    with pytest.raises(BadInput, match="Unknown number of the page chain 'rate'"):
        read_claim("panel1.rate > 1 at 10 samples", state)


@pytest.mark.compiled
def test_the_best_of_a_training_is_the_same_beside_other_claims():
    state = read_state("train?t=pcd:learning_rate=0.5,schedule=constant")
    lost, other = (
        read_claim(text, state)
        for text in ("panel1.below_best > 0 at 600 updates", "panel1.likelihood > -99 at 500 updates")
    )
    alone, beside = measure_claims(state, [lost])[0], measure_claims(state, [other, lost])[1]
    assert alone.value == beside.value
    assert alone.value > 0.5


def test_the_waiting_times_of_the_text_are_exact():
    """How often a Gibbs chain in its stationary law goes to another valley, from its transition matrix."""
    found = []
    for depth in (8, 10, 12):
        rbm = pattern_model(LANDSCAPE_PATTERNS["two halves"], depth).rbm
        land = landscape(rbm)
        other = land.valley[:, None] != land.valley[None, :]
        found.append(1 / (land.law[:, None] * transition_matrix(rbm) * other).sum())
    assert [float(f"{x:.2g}") for x in found] == [84, 510, 3500]
    assert np.log(found[2] / found[0]) / 4 == pytest.approx(0.93, abs=0.005)
    text = " ".join(step.reveal for step in load_lesson("stick").steps)
    assert "84, 510 and 3,500" in text


@pytest.mark.compiled
def test_twelve_sweeps_of_the_first_lesson_are_as_its_text_says():
    [step] = [step for step in load_lesson("rbm").steps if step.title == "One sweep"]
    plan = step.state.setup().plan()
    run = plan.run(1, *step.state.algorithms())
    run.prepare()
    while run.n < presses(step):
        run.record_steps(run.timed_advance(1))
    run.complete()
    trail = np.asarray(run.view("paused").trail).ravel()[-13:]  # the start, and twelve pictures
    assert (len(set(trail[1:])), (trail[1:] == trail[:-1]).sum()) == (5, 2)
    assert "only five different pictures, and two of them change nothing" in step.reveal


@pytest.mark.compiled
def test_a_large_push_throws_the_chain_from_floor_to_floor():
    """The shares of samples on the two floors, and beside them, of six runs as long as the step's."""
    model = pattern_model(LANDSCAPE_PATTERNS["two halves"], 8)
    pictures = np.unpackbits(np.arange(64, dtype=np.uint8)[:, None], axis=1)[:, 2:]
    law = np.exp(-model.rbm.free_energy(pictures))
    sampler = make_sampler("rates_fpcd", eps=1.0)
    samples = np.concatenate([sample(model, sampler, 3000, seed=seed).v for seed in range(6)])

    def shares(v, weights):
        away = np.minimum(*[(v != floor).sum(axis=1) for floor in ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1])])
        return [round(100 * weights[away == d].sum() / weights.sum()) for d in (0, 1)]

    assert shares(samples, np.ones(len(samples))) == [79, 12]
    assert shares(pictures, law) == [66, 28]
    text = next(step.reveal for step in load_lesson("push").steps if step.title == "How hard to push")
    assert all(f"{share} %" in text for share in (79, 12, 66, 28))


def test_the_speed_up_of_the_text_is_exact():
    A = np.array([[0.8, 0.18, 0.02, 0], [0.18, 0.8, 0, 0.02], [0.02, 0, 0.8, 0.18], [0, 0.02, 0.18, 0.8]])
    before, after = (second_modulus(eigenvalues(B)) for B in (A, remove_self_transitions(A, 0.4)))
    assert (round(before, 3), round(after, 3)) == (0.960, 0.933)
    assert speed_up(before, after) == pytest.approx(1.7, abs=0.02)


def test_what_no_verdict_sees_is_as_large_as_the_text_says():
    """A pixel stays on: how much of the model is missing, and how often it should be off in the rest."""
    [_, stuck, _] = load_lesson("tell").steps[2].state.algorithms()
    rbm = load_pretrained("bas_cd1").rbm
    law, pixel = probabilities(rbm), int((rbm.W**2).sum(axis=1).argmax())
    pictures = (np.arange(2**16)[:, None] >> np.arange(16)[::-1] & 1).astype(np.uint8)
    on = pictures[:, pixel] == 1
    flipped = pictures ^ (np.arange(16) == pixel).astype(np.uint8)
    off = law @ (on / (1 + np.exp(rbm.free_energy(flipped) - rbm.free_energy(pictures)))) / law[on].sum()
    reveal = load_lesson("tell").steps[3].reveal
    assert (stuck.fault, pixel) == ("stuck_unit", 12)
    assert f"{law[~on].sum():.0%}".replace("%", " %") in reveal
    assert off < 0.01
    assert "less than 1 %" in reveal


def test_a_good_lesson_is_read():
    lesson = read_lesson(GOOD.encode(), "a-lesson.toml")
    [step] = lesson.steps
    assert (lesson.name, lesson.minutes, step.right, step.hold) == ("a-lesson", 5, 1, True)
    assert step.state.settings["land_depth"] == 12
    assert step.state.settings["land"] == "two halves"  # what a link leaves out has its default
    said = step.claims[0].words("chain", ["Gibbs", "rates-FPCD"])
    assert said == "After 300 samples, “Crossings” with rates-FPCD is more than 2 above that with Gibbs"


BAD = {
    "link": [
        ('link = "papers?x=1"', "Unknown page with live panels 'papers'"),
        ('link = "chain?land_depth=99"', "land_depth = '99' is not one of 2, 2.5"),
        ('link = "sample?model=../x"', "model = '../x' is not one of"),
        ('link = "train?t=cd"\nbranch = "panel1 at 60 updates: pop_cd:k=0"', "branch: pop_cd: k = 0"),
        ('link = "tune?tune_knobs=__import__(1)"', "is not a list of names and numbers"),
        ('link = "tune?tune_x_n=40&tune_y_n=40"', "the map has 8,000 runs and may have 400"),
        ('link = "sample?kept=0123"', "names files of your own"),
    ],
    "claims": [
        ('claims = ["__import__(1) > 1 at 1 samples"]', "is not written as 'panel1.crossings > 3 at"),
        ('claims = ["panel3.crossings > 1 at 10 samples"]', "about panel 3 of 2"),
        ('claims = ["panel1.isl > 1 at 10 samples"]', "Unknown number of the page chain 'isl'"),
        ('claims = ["panel1.crossings > 1 at 999999999 samples"]', "has to end in 1 to 100,000 samples"),
        ("claims = [1]", "claims is a list of 0 to 8 texts"),
    ],
    "text": [
        ('text = "<script>alert(1)</script>"', "without HTML or pictures"),
        (f'text = "{"x" * 2000}"', "has 2,000 characters and may have 1,500"),
        ('text = "a\\u0007"', "control character"),
    ],
    "right": [
        ("right = 3", "right = 3 is not the number of an answer"),
    ],
    "look": [
        ('look = "panel9"', "look = 'panel9' is not one of play"),
        ('look = "panel1.crossing"', "to look at 'crossing': did you mean 'crossings'"),
    ],
    "question": [('questoin = "x"', "did you mean 'question'"), ("", "answers is a list of 0 to 0 texts")],
    "do": [
        ("", "it has no 'do'"),
    ],
}


@pytest.mark.parametrize(
    ("part", "text", "said"), [(part, *one) for part, all_ in BAD.items() for one in all_]
)
def test_an_error_names_the_file_and_the_step(part, text, said):
    with pytest.raises(BadInput) as caught:
        read_lesson(changed(**{part: text}), "mine.toml")
    sentence = str(caught.value)
    assert sentence.startswith("The lesson 'mine.toml', step 1: "), sentence
    assert said in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("content", "file", "said"),
    [
        (b"title = ", "mine.toml", "is not TOML in UTF-8"),
        (b"", "mine.toml", "it has no 'title'"),
        (b"a" + b" . 'b'" * 30_000 + b" = 1", "mine.toml", "a key of over 50 dotted parts"),
        (GOOD.encode(), "Mine.toml", "lower-case letters"),
        (GOOD.encode() + b"#" * 200_000, "mine.toml", "is over 200,000 bytes"),
        (GOOD.replace("minutes = 5", "minutes = 0").encode(), "mine.toml", "minutes is a whole number"),
        (b'title = "x"\nabout = "x"\nminutes = 1\nstep = [1]', "mine.toml", "step 1: it is not a table"),
    ],
)
def test_malformed_lessons_are_refused(content, file, said):
    with pytest.raises(BadInput, match=said):
        read_lesson(content, file)


def test_a_folder_of_lessons(tmp_path):
    with pytest.raises(BadInput, match="holds no lesson"):
        load_folder(tmp_path)
    (tmp_path / "mine.toml").write_text(GOOD)
    assert [lesson.name for lesson in load_folder(tmp_path)] == ["mine"]
    (tmp_path / "stick.toml").write_text(GOOD)
    with pytest.raises(BadInput, match="has the name of one that comes with rbmviz"):
        load_folder(tmp_path)
    with pytest.raises(BadInput, match=r"There is no lesson '.*none\.toml'"):
        load_lesson(tmp_path / "none.toml")
    with pytest.raises(BadInput, match="Unknown lesson 'stik': did you mean 'stick'"):
        load_lesson("stik")


def test_each_page_has_all_that_a_claim_needs():
    for page in PAGES:
        state = read_state(page)
        assert state.algorithms()
        assert state == read_state(f"http://127.0.0.1:8501/{page}?paused_at=30&lesson=stick&step=1")
    assert read_state("http://127.0.0.1:8501/?p=gibbs").page == "sample"


def test_a_card_measures_what_the_page_shows_by_then():
    """After the steps of a claim it is the page's number that counts: one that is later reached is seen."""
    state = read_state("train?t=pcd&t=cd")
    points = [
        SimpleNamespace(update=n, train=np.array([score]))
        for n, score in ((90, -5.0), (100, -4.0), (180, -6.0))
    ]
    shown = SimpleNamespace(n=200, likelihoods=points)
    claim = read_claim(
        "panel1.below_best > panel3.below_best + 1 at 100 updates", state._replace(panels=("pcd",) * 3)
    )
    assert measure_now(state, claim, [shown])[1:] == (2.0, None, False)
    early = SimpleNamespace(n=90, likelihoods=points[:1])
    assert measure_now(state, claim, [early]).value == 0


def settings_of_runs(page):
    """Return the names of the settings that the runs of a page depend on."""
    return {name for name, setting in PAGES[page].settings.items() if setting.makes_samples}


@pytest.mark.parametrize("page", [page for page in PAGES if settings_of_runs(page)])
def test_setup_uses_its_declared_settings(page):
    """Links always give these."""
    asked = []

    class Noted(dict):
        def __getitem__(self, name):
            asked.append(name)
            return super().__getitem__(name)

    PAGES[page].setup(Noted(read_state(page).settings), Sources())
    assert set(asked) == settings_of_runs(page)
