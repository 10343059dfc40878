"""The card of a lesson: it sets every control, waits for an answer, sees what is claimed, and has a link."""

import importlib
import re
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest
from page_settings import button, race_of, set_settings, settings_of, transport_of
from waiting import wait

from rbmviz import RBM, Model
from rbmviz.datasets import Dataset
from rbmviz.knobs import knobs_of
from rbmviz.lessons import load_lesson, read_lesson, read_state, shipped_lessons
from rbmviz.pages import PAGES as SPECS
from rbmviz.pages.links import address_text
from rbmviz.view.formulas import mathml
from rbmviz_app import shared
from rbmviz_app.pages import file_of
from rbmviz_app.pages.chain.units import sentence
from rbmviz_app.session import LessonStep
from tests.app.preset_runs import live_pages
from tests.lessons.test_lessons import GOOD

STEPS = [(name, step) for name in shipped_lessons() for step in load_lesson(name).steps]


@pytest.mark.parametrize("page", SPECS)
def test_every_setting_of_a_preset_fits_in_a_link(page):
    spec = SPECS[page]
    for preset in live_pages()[page].presets:
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


LINKS = {
    "sample": "p=gibbs:k=7&seed=5&model=bas_pcd&start=random",
    "train": "t=cd:k=3&train_seed=5&train_data=bas@3&hidden=7&replicates=2",
    "coupling": "c=coupling:scale=0.3,max_sweeps=50&coupling_visible=12&coupling_hidden=5&coupling_seed=4",
    "weights": "w=pop_cd:k=3,n_chains=20&weights_seed=5&weights_start=random&weights_model=bas_pcd",
    "chain": "l=rates_fpcd:eps=0.5&land=letters L T X&land_depth=5&land_seed=4&little=landscape",
    "tune": "m=rates_fpcd:eps=0.1&tune_models=bas_pcd",
}
"""Of each page a link with other values than those with which it begins."""


@pytest.mark.parametrize("name", LINKS)
def test_a_page_and_a_link_make_the_same_runs(page, name):
    """Of the same values: what differs are objects that visitors share."""
    race = race_of(page(name, **parse_qs(LINKS[name])), name)
    state = read_state(f"{name}?{LINKS[name]}")
    assert [panel.algorithm for panel in race.panels] == state.algorithms()
    there, here = race.setup, state.setup()
    for field in there._fields:
        assert described(getattr(there, field)) == described(getattr(here, field)), field


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
    race, live = race_of(test, about), live_pages()[about]
    assert [one.algorithm for one in race.panels] == step.state.algorithms()
    assert not race.running
    assert race.rate == step.state.settings[live.speed.key]
    assert {key: settings_of(test)[key] for key in step.state.settings} == step.state.settings
    assert not test.warning
    assert not test.error


def test_a_link_opens_a_step_which_holds_play_until_it_is_answered(page, address_of):
    test = page("sample", shell=True, lesson="stick", step="3", p="rates_fpcd", seed="7")
    step = load_lesson("stick").steps[2]
    race = race_of(test, "sample")
    assert not race.running
    assert [one.algorithm for one in race.panels] == step.state.algorithms()
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
    assert any("You chose “4 to 7”; the answer is **“1 to 3”**" in one.value for one in test.markdown)
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
    assert race_of(test, "sample").setup.model is shared.pretrained("mnist_fpcd")


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


def test_the_card_sees_what_is_claimed(page):
    test = page("chain", shell=True, lesson="push", step="2")
    race = race_of(test, "chain")
    place = LessonStep("push", 1)
    assert test.session_state["seen claims"].get(place, {}) == {}
    test.radio[0].set_value(1).run()
    race.step(24)
    wait(lambda: all(shown.n == 24 for _, shown in race.peek()), "24 samples")
    test.run()
    assert set(test.session_state["seen claims"][place]) == {0, 1}
    said = [one.value for one in test.markdown]
    assert ":green[:material/check_circle:] **You were right.**" in said  # without a click on Reveal
    [claims] = [text for text in said if "Ground raised" in text and "check_circle" in text]
    assert "After 24 samples, “Ground raised” with rates-FPCD is above 6: **7.25**" in claims


def test_a_matrix_is_set_too(page):
    test = page("chain", shell=True, lesson="push", step="1")
    assert not test.exception
    assert settings_of(test)["little"] == "matrix"
    assert "races" not in test.session_state or "chain" not in test.session_state["races"]
    test.selectbox(key="chain_matrix").set_value("sticky ring").run()
    button(test, "Again").click().run()
    assert settings_of(test)["chain_matrix"] == "two wells"


def test_the_page_lists_all_lessons_and_those_of_the_command_line(page, monkeypatch):
    own = read_lesson(GOOD.encode(), "a-lesson.toml")
    monkeypatch.setattr(shared, "LESSONS_OF_COMMAND", {"a-lesson": own})
    monkeypatch.setattr("rbmviz_app.card.LESSONS_OF_COMMAND", {"a-lesson": own})
    monkeypatch.setattr("rbmviz_app.pages.learn.page.LESSONS_OF_COMMAND", {"a-lesson": own})
    reached = {"stick": 3, "push": len(load_lesson("push").steps)}
    test = page("learn", shell=True, state={"lesson reached": reached})
    known = [load_lesson(name) for name in shipped_lessons()]
    titles = [*(lesson.title for lesson in known if not lesson.is_challenge), "A lesson"]
    challenges = [lesson.title for lesson in known if lesson.is_challenge]
    path = f"The path: {len(titles)} lessons, 1 read"
    numbered = [f"{i}. {title}" for part in (titles, challenges) for i, title in enumerate(part, 1)]
    assert [one.value for one in test.header] == [path, "Challenges"]
    assert [one.label for one in test.button if re.match(r"\d+\. ", one.label)] == numbered
    assert "20 min; read to step 3 of 7" in [one.value for one in test.caption]
    next(one for one in test.button if one.key == "open a-lesson").click().run()
    assert not test.exception
    assert [one.label for one in test.radio] == ["How often?"]


def test_the_plans_for_teachers_open_over_learn(page):
    test = page("learn", shell=True)
    button(test, "Teach a class").click().run()
    assert not test.exception
    assert any(one.value.startswith("## 20 minutes") for one in test.markdown)


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
    race = race_of(test, page)
    race.step(n - race.peek()[0][1].n)
    made = [(n, "paused")] * len(race.panels)
    wait(lambda: [(shown.n, shown.status) for _, shown in race.peek()] == made, f"{n} steps")
    test.run()
    return [shown for _, shown in race.peek()]


def test_a_finished_lesson_leads_to_the_next_one_by_one_button(page):
    last = LessonStep("stick", len(load_lesson("stick").steps) - 1)
    test = page("learn", shell=True, state={"finished step": last})
    names = [name for name in shipped_lessons() if not load_lesson(name).is_challenge]
    following = names[names.index("stick") + 1]
    [to_next] = [each for each in test.button if each.label.startswith("Next lesson: ")]
    assert to_next.label.endswith(load_lesson(following).title)
    to_next.click().run()
    assert test.session_state["open step"] == LessonStep(following, 0)


def test_a_challenge_is_won_once_all_parts_of_its_goal_hold_together(page):
    test = page("chain", shell=True, lesson="break-gibbs", step="1")
    said = lambda: " ".join(one.value for one in test.markdown)  # noqa: E731
    played(test, "chain", 600)
    assert "After 600 samples, “Crossings” with rates-FPCD is at least 20" in said()
    assert "Won." not in said()  # Gibbs has crossed, too
    test.selectbox(key="land").set_value("letters L T X").run()
    set_settings(test, land_depth=10.0)
    test.run()
    race = race_of(test, "chain")
    race.apply_knobs(race.panels[1].key, eps=0.2)
    played(test, "chain", 599)
    assert "Won." not in said()
    gibbs, fpcd = played(test, "chain", 600)
    assert (gibbs.crossings, fpcd.crossings) == (0, 33)  # as the text of the hint says
    assert "**Won.** The goal is reached." in said()
    button(test, "Again").click().run()
    assert "Won." not in said()
