"""Limits on the pages: an exceeded limit is one sentence, and all runs continue."""

from page_settings import race_of, settings_of, transport_of
from waiting import wait

from rbmviz.models import pattern_model
from rbmviz_app.messages import plain
from rbmviz_app.shared import SharedObjects


def test_a_link_with_150_panels_opens_the_first_ones_and_says_so(page, monkeypatch):
    monkeypatch.setenv("RBMVIZ_PANELS", "3")
    test = page("chain", l=[f"gibbs:k={1 + i % 100}" for i in range(150)])
    race = race_of(test, "chain")
    assert [panel.algorithm.k for panel in race.panels] == [1, 2, 3]
    assert [warning.value for warning in test.warning] == [
        "The link has 150 panels and this page has room for 3: the first 3 are open."
    ]
    # One more is refused; those that run go on.
    wait(lambda: all(s.n > 3 for _, s in race.poll()), "samples")
    test.button(key="chain add rates_fpcd").click().run()
    assert not test.exception
    assert [toast.value[:30] for toast in test.toast] == ["A page has room for 3 panels: "]
    assert [s.run for _, s in race.poll()] == [1, 1, 1]
    n = race.poll()[0][1].n
    wait(lambda: race.poll()[0][1].n > n, "more samples")


def test_a_full_server_shows_one_sentence_instead_of_panels_and_opens_when_there_is_room(page, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SERVER_MB", "1")
    test = page("sample")
    assert ["MB of memory left" in info.value for info in test.info] == [True]
    assert "sample" not in test.session_state["races"]
    assert transport_of(test) is None
    monkeypatch.delenv("RBMVIZ_SERVER_MB")
    test.run()
    assert not test.exception
    assert len(race_of(test, "sample").panels) == 4


def test_preset_without_room_changes_no_panel(page, monkeypatch):
    test = page("sample", model="bas_pcd", p=["gibbs"])
    race = race_of(test, "sample")
    before = race.panels
    wait(lambda: race.poll()[0][1].n > 3, "samples")
    monkeypatch.setenv("RBMVIZ_SERVER_MB", "1")
    next(button for button in test.button if button.label == "A hundred chains").click().run()
    assert not test.exception
    assert any("MB of memory left" in toast.value for toast in test.toast)
    assert race.panels == before
    assert settings_of(test)["model"] == "bas_pcd"
    assert race.poll()[0][1].run == 1
    # Another model in the list: the same.
    test.selectbox(key="model").set_value("mnist_fpcd").run()
    assert not test.exception
    assert any("The panels continue as they were." in error.value for error in test.error)
    assert race.poll()[0][1].run == 1
    lines = [caption.value for caption in test.caption]
    assert not any("mnist" in line for line in lines)
    assert [line for line in lines if line.startswith(plain("bas_pcd: "))]


def test_pages_stay_alive_while_they_are_rebuilt(page, monkeypatch):
    for name in ("sample", "train", "coupling", "weights", "chain", "tune"):
        test = page(name, little="landscape")
        race = race_of(test, name)
        wait(lambda race=race: all(s.n > 3 for _, s in race.poll()), "steps")
        race.close()
        race.free()
        monkeypatch.setattr(race, "open", lambda: None)
        test.run()
        assert not test.exception, name


def test_the_same_question_has_the_same_object_as_long_as_it_is_used():
    shared = SharedObjects(2)
    first = shared.get("a", lambda: pattern_model(("10", "01"), 5.0))
    for key in "bcd":
        shared.get(key, lambda: pattern_model(("10", "01"), 5.0))
    assert shared.get("a", lambda: None) is first
    assert len(shared._newest) == 2
    del first
    shared.get("e", lambda: pattern_model(("10", "01"), 5.0))
    shared.get("f", lambda: pattern_model(("10", "01"), 5.0))
    assert shared._used.get("a") is None
