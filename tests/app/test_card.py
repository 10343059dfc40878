"""The card of a lesson: it sets every control, waits for an answer, sees what is claimed, and has a link."""

import importlib
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from page_settings import set_settings, settings_of, transport_of
from preset_runs import PAGES, live_page
from waiting import wait

from rbmviz import RBM, Model
from rbmviz.datasets import Dataset
from rbmviz.knobs import knobs_of
from rbmviz.lessons import load_lesson, read_lesson, read_state, shipped_lessons
from rbmviz.pages import PAGES as SPECS
from rbmviz.pages.links import address_text
from rbmviz.view.formulas import mathml
from rbmviz_app import shared
from rbmviz_app.card import panel_names
from rbmviz_app.pages import file_of
from rbmviz_app.pages.chain import matrix
from rbmviz_app.pages.chain.units import UNITS_QUESTION, sentence
from rbmviz_app.presets import Preset
from rbmviz_app.session import LessonStep
from tests.lessons.test_lessons import GOOD

STEPS = [(name, step) for name in shipped_lessons() for step in load_lesson(name).steps]


def button(test, label):
    return next(one for one in test.button if one.label == label)


def comparison_of(test, page):
    return test.session_state["comparisons"][page][0]


def test_a_step_about_another_part_of_a_page_has_its_question(page):
    test = page("chain", shell=True, lesson="push", step="1")
    assert test.title[0].value == matrix.MATRIX_QUESTION
    test.radio[0].set_value(test.radio[0].options[0])
    button(test, "Next").click().run()
    assert test.title[0].value == live_page("chain").question
    button(test, "Back").click().run()
    assert test.title[0].value == matrix.MATRIX_QUESTION


@pytest.mark.parametrize("page", SPECS)
def test_every_setting_of_a_preset_fits_in_a_link(page):
    spec = SPECS[page]
    for preset in live_page(page).presets:
        said = [(spec.panels_key, text) for text in preset.panels]
        for name, value in preset.settings.items():
            said += [(name, address_text(one)) for one in (value if isinstance(value, list) else [value])]
        read_state(f"{page}?{urlencode(said)}")


def described(value):
    """Return what a field of a setup is; a model by its size and the sum of its weights."""
    match value:
        case Model():
            return described(value.rbm)
        case RBM():
            return [*value.W.shape, round(float(np.abs(value.W).sum(dtype=np.float64)), 2)]
        case Dataset():
            return value.name
    return value


@pytest.mark.parametrize("page", SPECS)
def test_a_page_and_a_link_make_the_same_runs(page):
    """Of the same values: what differs are objects that visitors share."""
    live, state = live_page(page), read_state(page)
    there, here = live.setup_of(live.values_of(Preset("", "", ()))), state.setup()
    for field in there._fields:
        assert described(getattr(there, field)) == described(getattr(here, field)), (page, field)


@pytest.mark.parametrize("name", [name for name in SPECS if name != "tune"])  # whose steps have small maps
def test_every_number_a_page_offers_fits_in_a_link(page, name):
    test = page(name)
    settings = SPECS[name].settings
    boxes = {box.key.partition(" ")[0]: (box.min, box.max) for box in test.number_input}
    boxes = {key: ends for key, ends in boxes.items() if key in settings}
    for key, (lo, hi) in boxes.items():
        assert settings[key].allowed[:2] == (lo, hi), key
    assert boxes or name == "chain"


def test_a_card_calls_panels_as_their_page_does():
    steps = load_lesson("weighing").steps
    assert panel_names(steps[2]) == ["pop-CD-1", "pop-CD-10", "pop-CD-1, mixture"]
    assert panel_names(steps[0]) == [""]
    assert steps[0].claims[0].when("weights") == "after 1 batch"


@pytest.mark.parametrize(("name", "step"), STEPS, ids=lambda x: x if isinstance(x, str) else x.title)
def test_a_step_points_at_something_of_its_page(name, step):
    page, algorithms = step.state.page, step.state.algorithms()
    panel, _, part = step.look.partition(".")
    if part:
        readouts = importlib.import_module(f"rbmviz_app.pages.{page}.panel").readouts
        algorithm = algorithms[int(panel.removeprefix("panel")) - 1]
        known = (
            {one.name for one in readouts(algorithm, step.state.setup().plan())}
            if page != "coupling"
            else set()
        )
        assert part in known | set(knobs_of(algorithm))
    if step.formula:
        mathml(step.formula, "block")


FIRST = {step.state.page: (name, step) for name, step in reversed(STEPS)}
"""A step about each page, and its lesson."""


@pytest.mark.parametrize("about", FIRST)
def test_a_step_sets_all_of_its_page(page, about):
    name, step = FIRST[about]
    place = load_lesson(name).steps.index(step) + 1
    test = page(about, shell=True, lesson=name, step=str(place))
    comparison, live = comparison_of(test, about), live_page(about)
    assert [one.algorithm for one in comparison.panels] == step.state.algorithms()
    assert not comparison.running
    assert comparison.rate == step.state.settings[live.speed.key]
    assert {key: settings_of(test)[key] for key in step.state.settings} == step.state.settings
    assert not test.warning
    assert not test.error


def test_a_link_opens_a_step_which_holds_play_until_it_is_answered(page, address_of):
    test = page("sample", shell=True, lesson="stick", step="3", p="rates_fpcd", seed="7")
    step = load_lesson("stick").steps[2]
    comparison = comparison_of(test, "sample")
    assert not comparison.running
    assert [one.algorithm for one in comparison.panels] == step.state.algorithms()
    assert settings_of(test)["seed"] == 0  # the lesson says what is shown, not the rest of the link
    assert address_of(test)["lesson"] == ["stick"]
    assert address_of(test)["step"] == ["3"]
    assert "Step 3" not in [one.label for one in test.button]
    assert transport_of(test)["play"]["held"].startswith("The lesson asks first")
    assert transport_of(test)["step"]["held"]
    assert not transport_of(test)["reset"]["held"]
    assert "Reveal" not in [one.label for one in test.button]
    test.radio[0].set_value(1).run()
    assert not transport_of(test)["play"]["held"]
    button(test, "Reveal").click().run()
    # A wrong answer is marked beside what had been chosen, and stays as it was chosen.
    said = ":red[:material/cancel:] You chose “4 to 7”; the answer is **“1 to 3”**."
    assert said in [one.value for one in test.markdown]
    assert test.radio[0].disabled
    # The next step is about another model; all that a visitor has changed is set, too.
    test.number_input(key="seed").set_value(5).run()
    button(test, "Next").click().run()
    assert not test.exception
    assert (settings_of(test)["model"], settings_of(test)["seed"]) == ("mnist_cd1", 0)
    assert transport_of(test)["play"]["held"]
    # Back, to a step that has been answered: it begins anew.
    button(test, "Back").click().run()
    assert test.radio[0].value is None
    assert comparison_of(test, "sample").setup.model is shared.pretrained("mnist_fpcd")


def test_steps_lead_through_the_pages_and_are_left(page, address_of):
    test = page("chain", shell=True, lesson="stick", step="2")
    assert settings_of(test)["land_depth"] == 12
    button(test, "Next").click().run()
    assert not test.exception
    assert list(test.session_state["comparisons"]) == ["chain", "sample"]
    button(test, "Back").click().run()
    assert not test.exception
    assert test.session_state["open step"] == LessonStep("stick", 1)
    button(test, "Leave").click().run()
    assert test.session_state["open step"] is None
    assert "lesson" not in address_of(test)
    assert "Next" not in [one.label for one in test.button]


def test_the_card_goes_with_its_page_and_comes_back_with_its_address(page):
    test = page("chain", shell=True, lesson="stick", step="2")

    def opened(name, **query):
        test.query_params = query
        test.switch_page(file_of(name)).run()
        assert not test.exception
        return test.session_state["open step"], "Next" in [one.label for one in test.button]

    assert opened("glossary") == (None, False)
    assert opened("chain", lesson="stick", step="1", land_depth="12") == (LessonStep("stick", 0), True)
    assert settings_of(test)["land_depth"] == 8  # the step says what the settings are
    # The link of a step begins on the page Learn: Back ends there, and is not led on again.
    assert opened("learn", lesson="stick", step="2") == (None, False)
    assert opened("sample", lesson="stick", step="99") == (None, False)
    [warning] = test.warning
    assert "has steps 1 to 7" in warning.value


@pytest.mark.parametrize(
    ("lesson", "said"),
    [
        (
            "stick",
            "last step of the lesson “Why chains stick”; next comes the lesson “Pushing yourself away”.",
        ),
        ("quiz", "“Name the sampler”; next comes the challenge “Ten digits by heat alone”."),
        ("one-step-size", "“One step size” has not been won yet; next comes the challenge “Break Gibbs”."),
        ("where-pcd-falls", "“Where PCD falls” has not been won yet; it is the last one of this page."),
    ],
)
def test_the_end_of_a_lesson_is_said_once(page, lesson, said):
    steps = load_lesson(lesson).steps
    test = page(steps[-1].state.page, shell=True, lesson=lesson, step=str(len(steps)))
    button(test, "Finish").click().run()
    assert not test.exception
    assert test.title[0].value == "What do you want to understand?"
    [note] = test.info
    assert said in note.value
    test.switch_page(file_of("learn")).run()  # as what the browser remembers has it drawn again
    assert len(test.info) == 1
    test.switch_page(file_of("glossary")).run()
    test.switch_page(file_of("learn")).run()
    assert not test.info


def test_no_timer_takes_the_button_away_that_reveals(page):
    test = page("sample", shell=True, lesson="stick", step="3")
    test.radio[0].set_value(1).run()
    known = test.session_state._state._state._new_widget_state.widget_metadata
    parts = {one.label: known[one.proto.id].fragment_id for one in [*test.button, *test.radio]}
    assert parts[test.radio[0].label] is not None
    assert all(parts[label] is None for label in ("Reveal", "Back", "Next", "Again", "Leave"))
    button(test, "Reveal").click().run()
    assert "Reveal" not in [one.label for one in test.button]
    assert any(one.value == load_lesson("stick").steps[2].reveal.strip() for one in test.markdown)


def test_the_card_sees_what_is_claimed(page):
    test = page("chain", shell=True, lesson="push", step="2")
    comparison = comparison_of(test, "chain")
    place = LessonStep("push", 1)
    assert test.session_state["seen claims"].get(place, {}) == {}
    test.radio[0].set_value(1).run()
    comparison.step(24)
    wait(lambda: all(shown.n == 24 for _, shown in comparison.peek()), "24 samples")
    test.run()
    assert set(test.session_state["seen claims"][place]) == {0, 1}
    said = [one.value for one in test.markdown]
    assert ":green[:material/check_circle:] **You were right.**" in said  # without a click on Reveal
    [claims] = [text for text in said if "ground raised" in text and "check_circle" in text]
    assert "rates-FPCD: ground raised \\> 6, after 24 samples: **7.25**" in claims


def test_a_matrix_is_set_too(page):
    test = page("chain", shell=True, lesson="push", step="1")
    assert not test.exception
    assert settings_of(test)["little"] == "matrix"
    assert "comparisons" not in test.session_state or "chain" not in test.session_state["comparisons"]
    test.selectbox(key="chain_matrix").set_value("sticky ring").run()
    button(test, "Again").click().run()
    assert settings_of(test)["chain_matrix"] == "two wells"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"lesson": "sti<b>ck"}, "The link names an unknown lesson"),
        ({"lesson": "stick", "step": "99"}, "has steps 1 to 7"),
        ({"lesson": "stick", "step": "-1"}, "has steps 1 to 7"),
    ],
)
def test_a_wrong_link_says_so_in_one_sentence(page, query, said):
    test = page("sample", shell=True, **query)
    [warning] = test.warning
    assert said.replace("’", "'") in warning.value
    assert test.session_state["comparisons"]["sample"][0].running


def test_the_page_lists_all_lessons_and_those_of_the_command_line(page, monkeypatch):
    own = read_lesson(GOOD.encode(), "a-lesson.toml")
    monkeypatch.setattr(shared, "LESSONS_OF_COMMAND", {"a-lesson": own})
    monkeypatch.setattr("rbmviz_app.card.LESSONS_OF_COMMAND", {"a-lesson": own})
    monkeypatch.setattr("rbmviz_app.pages.learn.page.LESSONS_OF_COMMAND", {"a-lesson": own})
    state = {"lesson reached": {"stick": 3}}
    test = page("learn", shell=True, state=state)
    known = [load_lesson(name) for name in shipped_lessons()]
    titles = [*(lesson.title for lesson in known if not lesson.is_challenge), "A lesson"]
    challenges = [lesson.title for lesson in known if lesson.is_challenge]
    path = f"The path: {len(titles)} lessons, 0 read"
    numbered = [f"{i}. {title}" for part in (titles, challenges) for i, title in enumerate(part, 1)]
    assert [one.value for one in test.header] == [path, "Challenges"]
    assert [one.label for one in test.button if re.match(r"\d+\. ", one.label)] == numbered
    pictures = [one for one in test.get("html") if '<img class="lesson-picture"' in one.proto.body]
    assert len(pictures) == 3 + len(known)  # doors, and every shipped lesson
    assert [one.value for one in test.caption if "read to" in one.value] == ["20 min; read to step 3 of 7"]
    next(one for one in test.button if one.key == "open a-lesson").click().run()
    assert not test.exception
    assert [one.label for one in test.radio] == ["How often?"]
    assert list(PAGES)  # the pages that lessons can be about


@pytest.mark.parametrize(("door", "opened"), [("see", None), ("stick", ("stick", 0)), ("tune", ("tune", 0))])
def test_the_doors_open_the_units_and_two_lessons(page, door, opened):
    test = page("learn", shell=True)
    next(one for one in test.button if one.key == f"open door {door}").click().run()
    assert not test.exception
    place = test.session_state["open step"] if "open step" in test.session_state else None
    assert place == opened
    if door == "see":
        assert [one.value for one in test.title] == [UNITS_QUESTION]


def test_finished_lesson_is_counted_on_the_path(page):
    lesson = load_lesson("stick")
    test = page("learn", shell=True, state={"lesson reached": {"stick": len(lesson.steps)}})
    assert re.fullmatch(r"The path: \d+ lessons, 1 read", test.header[0].value)


def test_a_step_opens_the_drawn_units_which_are_drawn_one_by_one(page, address_of):
    test = page("chain", shell=True, lesson="rbm", step="2")

    def press(label):
        button(test, label).click().run()
        assert not test.exception
        return test.session_state["drawn units"]

    state = press("Step")
    assert (state.draws, state.last.layer, state.last.unit) == (1, "hidden", 0)
    state = press("Sweep")
    assert (state.draws, state.following) == (10, 0)
    assert sentence(state).startswith("v6: bias and weights from units that are on make")
    assert press("Reset").draws == 0
    press("Step")
    assert press("Again").draws == 0
    assert address_of(test)["lesson"] == ["rbm"]


def played(test, page, n):
    """Step a page up to n steps; draw its card, which then judges them."""
    comparison = comparison_of(test, page)
    comparison.step(n - comparison.peek()[0][1].n)
    made = [(n, "paused")] * len(comparison.panels)
    wait(lambda: [(shown.n, shown.status) for _, shown in comparison.peek()] == made, f"{n} steps")
    test.run()
    return [shown for _, shown in comparison.peek()]


def test_a_challenge_is_won_once_all_parts_of_its_goal_hold_together(page):
    test = page("chain", shell=True, lesson="break-gibbs", step="1")
    said = lambda: " ".join(one.value for one in test.markdown)  # noqa: E731
    played(test, "chain", 600)
    assert "rates-FPCD: crossings ≥ 20, after 600 samples" in said()
    assert "Won." not in said()  # Gibbs has crossed, too
    test.selectbox(key="land").set_value("letters L T X").run()
    set_settings(test, land_depth=10.0)
    test.run()
    comparison = comparison_of(test, "chain")
    comparison.apply_knobs(comparison.panels[1].key, eps=0.2)
    played(test, "chain", 599)
    assert "Won." not in said()
    gibbs, fpcd = played(test, "chain", 600)
    assert (gibbs.crossings, fpcd.crossings) == (0, 33)  # as the text of the hint says
    assert "**Won.** The goal is reached." in said()
    button(test, "Again").click().run()
    assert "Won." not in said()
