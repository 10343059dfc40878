"""The card of a challenge: what may be changed, when it is over, and the verdict on a result."""

import json

import pytest
from waiting import wait

from rbmviz import BadInput
from rbmviz.knobs import knobs_of
from rbmviz.lessons import load_lesson
from rbmviz.pages import PAGES
from rbmviz_app import card, challenge, pages
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
    test = page(name)
    kinds = ("selectbox", "number_input", "slider", "select_slider", "button_group")
    widgets = {one.key: one for kind in kinds for one in test.get(kind)}
    assert {key: widgets[key].disabled for key in RUN_SETTINGS[name]} == dict.fromkeys(
        RUN_SETTINGS[name], True
    )


def test_a_challenge_is_played_to_its_verdict(page):
    """Knobs are turned between samples; the page pauses at the end, and the same runs are made again."""
    place = LessonStep("break-gibbs", 0)
    test = page("chain", shell=True, lesson="break-gibbs", step="1")
    assert not test.exception
    assert "Turn at any time: Step size." in said(test)
    assert "Choose before Play: Landscape, Depth. All else stays as it is." in said(test)
    test.selectbox(key="land").set_value("letters L T X").run()
    test.session_state["land_depth"] = 10.0
    test.run()
    comparison = comparison_of(test, "chain")
    right = comparison.panels[1]
    comparison.apply_knobs(right.key, eps=0.5)
    comparison.apply_knobs(right.key, eps=0.1)  # of two turns before a sample the last one counts
    comparison.step(100)
    wait(lambda: all(shown.n == 100 for _, shown in comparison.peek()), "100 samples")
    comparison.set_live_knobs(right.key, eps=0.2)
    test.run()
    assert place not in test.session_state["attempts"]
    comparison.step(500)
    wait(lambda: all(shown.n == 600 for _, shown in comparison.peek()), "600 samples")
    test.run()
    attempt = test.session_state["attempts"][place]
    assert attempt.text == "1~land=letters L T X~land_depth=10~2@0:eps=0.1~2@100:eps=0.2"
    verdict = attempt.replay.result(60)
    assert [one.value for one in verdict.measured][:2] == [
        float(shown.crossings) for _, shown in comparison.peek()
    ]
    test.run()
    assert ("**Won.** Your result." in said(test)) == verdict.won
    # The same runs are not verified once more; another seed is no attempt.
    test.run()
    assert test.session_state["attempts"][place] is attempt
    test.session_state["land_seed"] = 3
    test.run()
    assert "the setting land_seed may not be changed" in said(test)
    button(test, "Again").click().run()
    assert place not in test.session_state["attempts"]
    assert "may not" not in said(test)


def test_a_knob_is_called_as_its_panel_calls_it(page):
    test = page("coupling", shell=True, lesson="meet-in-ten", step="1")
    [grid] = [e.proto for e in test.get("bidi_component") if "rbmviz_coupling" in e.proto.component_name]
    [knob] = [one for one in json.loads(grid.json)["panels"][0]["knobs"] if one["name"] == "scale"]
    step = load_lesson("meet-in-ten").steps[0]
    assert f"Turn at any time: {knob['label']}. All else stays as it is." in said(test)
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
    [data] = [one for one in test.selectbox if one.key == "train_data"]
    assert (data.disabled, "The open challenge leaves this as it is." in data.help) == (True, True)
    comparison.step(3)
    wait(lambda: [shown.n for _, shown in comparison.peek()] == [3], "three updates")
    comparison.set_live_knobs(panel.key, learning_rate=0.1)
    comparison.step()
    wait(lambda: [shown.n for _, shown in comparison.peek()] == [4], "another update")
    test.run()
    refused = "learning_rate of panel 1 may not be turned once the panel has begun. Reset begins anew."
    assert refused in said(test).replace("\\", "")
    button(test, "Leave").click().run()
    assert locked(test, "train") == set()
    assert not next(one for one in test.selectbox if one.key == "train_data").disabled


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("1~1@0:eps=0.01", "**Won.** The result of this link. Verified: ISL −256.3 at 1,000 samples."),
        ("1~1@0:eps=0.5", "Not won: the goal is ISL \\> −260, after 1,000 samples, and the replay gives −2"),
    ],
)
def test_the_result_of_a_link_is_verified(page, result, sentence, address_of):
    test = page("sample", shell=True, lesson=SIZE.lesson, step="1", result=result)
    assert not test.exception
    assert "result" not in address_of(test)
    test.session_state["attempts"][SIZE].replay.result(60)
    test.run()
    assert sentence in said(test)
    assert not comparison_of(test, "sample").running


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"result": "1~1@0:alpha=1.0"}, "the knob alpha of panel 1 may not be turned"),
        ({"result": "won"}, "does not begin with the version of the kernels"),
        ({"result": "1~" + "x" * 3000}, "has 3,002 characters and may have 2,000"),
        ({"lesson": "stick", "result": "1"}, "step 1 is no challenge"),
    ],
)
def test_a_wrong_result_is_refused_in_one_sentence(page, query, sentence):
    test = page("sample", shell=True, **{"lesson": SIZE.lesson, "step": "1"} | query)
    assert not test.exception
    [warning] = test.warning
    assert sentence in warning.value
    assert "attempts" not in test.session_state or not test.session_state["attempts"]


def test_replays_are_few_and_bounded(monkeypatch):
    replays, step = challenge.Replays(), load_lesson(SIZE.lesson).steps[0]
    monkeypatch.setattr(challenge, "MAX_REPLAY_SECONDS", -1.0)
    error = replays.submit(SIZE, step, "1").exception(60)
    assert "takes more than -1 seconds" in str(error)
    monkeypatch.setattr(challenge, "MAX_WAITING_RESULTS", 0)
    with pytest.raises(BadInput, match="Too many results wait"):
        replays.submit(SIZE, step, "1~1@0:eps=0.5")
