"""The record of settings: a widget reports to it, unless the server has set settings since it was drawn."""

import pytest

from rbmviz_app import session
from rbmviz_app.pages.weights.page import Settings


@pytest.fixture
def state(monkeypatch):
    """A session's state."""
    state = {}
    monkeypatch.setattr("streamlit.session_state", state)
    return state


def report(state, widget, value):
    """Let a browser send the value of a widget; Streamlit calls the callback of one that has gone, too."""
    state[widget["key"]] = value
    widget["on_change"](*widget["args"])


def test_widget_older_than_a_preset_reports_nothing(state):
    seed, start = Settings.weights_seed, Settings.weights_start
    old = seed.widget(), start.widget()
    report(state, old[0], 3)
    assert (seed.value, start.value) == (3, "data")
    session.show({"weights_seed": 5, "weights_start": "random"})
    report(state, old[0], 4)
    report(state, old[1], "data")
    assert (seed.value, start.value) == (5, "random")
    report(state, seed.widget(), 6)
    assert (seed.value, start.value) == (6, "random")


def test_keys_return_after_many_revisions_and_their_late_messages_are_ignored(state):
    """Streamlit never forgets a key."""
    old = Settings.weights_seed.widget()
    keys = set()
    for i in range(3 * session.KEYS):
        session.show({"weights_seed": i})
        keys.add(Settings.weights_seed.widget()["key"])
    assert len(keys) == session.KEYS
    report(state, old, 99)
    assert Settings.weights_seed.value == 3 * session.KEYS - 1


def test_choosing_a_setting_sets_its_companions(state):
    widget = Settings.weights_seed.widget(lambda: session.show({"weights_start": "random"}))
    report(state, widget, 2)
    assert (Settings.weights_seed.value, Settings.weights_start.value) == (2, "random")
    report(state, widget, 7)
    assert Settings.weights_seed.value == 2
