"""The card of a challenge: what may be changed, when it is over, and whether its goal is reached."""

import json

import pytest
from page_settings import set_settings
from waiting import wait

from rbmviz.knobs import knobs_of
from rbmviz.lessons import load_lesson
from rbmviz.pages import PAGES
from rbmviz.rbm import model_bytes
from rbmviz_app import card, pages
from rbmviz_app.session import LessonStep
from tests.app.test_card import button, comparison_of

RUN_SETTINGS = {name: spec.run_settings() for name, spec in PAGES.items() if spec.run_settings()}
SIZE = LessonStep("one-step-size", 0)


def said(test):
    return " ".join(one.value for one in [*test.markdown, *test.caption])


@pytest.mark.parametrize("name", RUN_SETTINGS)
def test_what_a_challenge_may_let_choose_has_a_name(name):
    assert all(pages.settings(name)[key].label for key in RUN_SETTINGS[name])


@pytest.mark.parametrize("name", RUN_SETTINGS)
def test_a_challenge_locks_every_widget_that_the_setup_is_made_of(page, monkeypatch, name):
    monkeypatch.setattr(card, "why_setting_locked", lambda key: "Locked." * (key in RUN_SETTINGS[name]))
    test = page(name, **({"little": "landscape"} if name == "chain" else {}))
    kinds = ("selectbox", "number_input", "slider", "select_slider", "button_group")
    widgets = {(one.key or "").partition(" ")[0]: one for kind in kinds for one in test.get(kind)}
    assert {key: widgets[key].disabled for key in RUN_SETTINGS[name]} == dict.fromkeys(
        RUN_SETTINGS[name], True
    )


def played(test, page, n):
    """Play a page, n steps; draw its card, which then judges them."""
    comparison = comparison_of(test, page)
    comparison.step(n - comparison.peek()[0][1].n)
    made = [(n, "paused")] * len(comparison.panels)
    wait(lambda: [(shown.n, shown.status) for _, shown in comparison.peek()] == made, f"{n} steps")
    test.run()
    return [shown for _, shown in comparison.peek()]


def test_a_challenge_does_not_count_with_a_model_of_ones_own(page, model):
    test = page("sample", shell=True, lesson="one-step-size", step="1")
    assert "This does not count" not in said(test)
    test.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    test.run()  # as its timer does: the card is drawn before the page
    assert "This does not count: Model has been changed." in said(test)


def test_a_challenge_is_tried_and_won(page):
    test = page("chain", shell=True, lesson="break-gibbs", step="1")
    assert not test.exception
    assert "You may change while it runs: Step size." in said(test)
    assert "You may choose before Play: Landscape, Depth. Leave everything else as it is." in said(test)
    played(test, "chain", 600)
    missed = "Not yet: the goal is Gibbs: crossings = 0, after 600 samples, and it is "
    assert missed in said(test)
    test.selectbox(key="land").set_value("letters L T X").run()
    test.run()  # as its timer does: the card is drawn before the page
    assert missed not in said(test)  # these are other runs
    set_settings(test, land_depth=10.0)
    test.run()
    comparison = comparison_of(test, "chain")
    comparison.apply_knobs(comparison.panels[1].key, eps=0.2)
    played(test, "chain", 599)
    assert "Won." not in said(test)
    gibbs, fpcd = played(test, "chain", 600)
    assert (gibbs.crossings, fpcd.crossings) == (0, 33)  # as the text of the hint says
    assert "**Won.** The goal is reached." in said(test)
    button(test, "Again").click().run()
    assert "Won." not in said(test)
    set_settings(test, land_seed=3)
    test.run()
    assert "This does not count: Seed has been changed." in said(test)
    button(test, "Again").click().run()
    assert "does not count" not in said(test)


def test_a_knob_is_called_as_its_panel_calls_it(page):
    test = page("coupling", shell=True, lesson="meet-in-ten", step="1")
    [grid] = [e.proto for e in test.get("bidi_component") if "rbmviz_coupling" in e.proto.component_name]
    [knob] = [one for one in json.loads(grid.json)["panels"][0]["knobs"] if one["name"] == "scale"]
    step = load_lesson("meet-in-ten").steps[0]
    assert f"You may change while it runs: {knob['label']}. Leave everything else as it is." in said(test)
    assert f"*{knob['label']}*" in step.do
    assert f"*{knob['label']}*" in load_lesson("meet").steps[1].do


def locked(test, page):
    """Return the knobs of the first panel that cannot be turned, as the browser is told."""
    [grid] = [e.proto for e in test.get("bidi_component") if f"rbmviz_{page}" in e.proto.component_name]
    return set(json.loads(grid.json)["panels"][0]["locked"])


def test_what_a_challenge_leaves_as_it_is_cannot_be_turned_and_a_late_turn_is_said_at_once(page):
    test = page("train", shell=True, lesson="where-pcd-falls", step="1")
    comparison = comparison_of(test, "train")
    [panel] = comparison.panels
    assert locked(test, "train") == {*knobs_of(panel.worker.algorithm)} - {"learning_rate"}
    data = test.selectbox(key="train_data")
    assert (data.disabled, "The open challenge leaves this as it is." in data.help) == (True, True)
    comparison.step(3)
    wait(lambda: [shown.n for _, shown in comparison.peek()] == [3], "three updates")
    comparison.set_live_knobs(panel.key, learning_rate=0.1)
    comparison.step()
    wait(lambda: [shown.n for _, shown in comparison.peek()] == [4], "another update")
    test.run()
    assert "This does not count: Learning rate was changed during the run. Press Reset first." in said(test)
    button(test, "Leave").click().run()
    assert locked(test, "train") == set()
    assert not test.selectbox(key="train_data").disabled


def test_a_link_that_has_a_result_opens_the_challenge(page, address_of):
    """Such links were given by earlier versions."""
    test = page("sample", shell=True, lesson=SIZE.lesson, step="1", result="1~1@0:eps=0.01")
    assert not test.exception
    assert "result" not in address_of(test)
    assert test.session_state["open step"] == SIZE
    assert comparison_of(test, "sample").panels[0].worker.algorithm.eps == 1
