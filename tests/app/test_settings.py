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
