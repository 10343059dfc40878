"""The settings of pages that are run without a browser, by their names in the address."""

import contextlib
import csv
import json

import streamlit as st
from streamlit.testing.v1 import element_tree
from waiting import wait

from rbmviz import BadInput
from rbmviz_app.session import ALL_SETTINGS, SettingsState


def state_of(test):
    """Return the record of a session."""
    return test.session_state["settings"] if "settings" in test.session_state else SettingsState()


def settings_of(test):
    """Return what all settings are set to."""
    return {name: setting.default for name, setting in ALL_SETTINGS.items()} | dict(state_of(test).values)


def set_settings(test, **values):
    """Set settings, those of folds too, which a test cannot click."""
    state = state_of(test)
    test.session_state["settings"] = SettingsState({**state.values, **values}, state.revision + 1)
    return test


def race_of(test, page):
    """Return the race of a page."""
    return test.session_state["races"][page]


def button(test, label):
    """Return the first button with this label."""
    return next(one for one in test.button if one.label == label)


def transport_of(test):
    """Return the data of Play, Step and Reset, as the browser is told; None: they are not drawn."""
    found = [one.proto for one in test.get("bidi_component") if "transport" in one.proto.component_name]
    return json.loads(found[0].json) if found else None


def of_setting(find):
    """Let the widget of a setting be found by the setting's name: its key names a revision, too."""

    def find_by_name(widgets, key):
        named = [one for one in widgets if (getattr(one, "key", None) or "").rpartition(" ")[0] == key]
        return named[0] if key in ALL_SETTINGS and len(named) == 1 else find(widgets, key)

    return find_by_name


element_tree.ElementList.__call__ = of_setting(element_tree.ElementList.__call__)


FILES = {}
"""What makes the newest file of each download button, by its label."""

_download_button = st.download_button


def _noted(label, data, *more, **named):
    FILES[label] = data
    return _download_button(label, data, *more, **named)


st.download_button = _noted


def origin_of_files(test):
    """Return the origin in the page's first file, the rows of its charts, once there are some."""
    make = FILES["Data (.csv)"]

    def is_there():
        with contextlib.suppress(BadInput):
            return bool(make())

    wait(is_there, "rows of a chart")
    return json.loads(next(csv.DictReader(make().decode().splitlines()))["origin"])
