"""What outlives a script run: the only file with st.session_state and st.cache_resource.

A race (its panels, chains and scores) lives in the session state; its threads are lent to it by a
session-scoped resource, which is released on every disconnect: after a reconnect the same race gets
new threads and goes on where it was.
"""

import secrets
import weakref
from collections.abc import MutableMapping

import streamlit as st

from rbmviz import Model
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.metrics import reference
from rbmviz.models import load_model
from rbmviz.session import Race, Setting


@st.cache_resource(show_spinner=False)
def hub() -> MutableMapping[str, Race]:
    """Return the races of this process by their unguessable token (the live path finds them here)."""
    return weakref.WeakValueDictionary()


@st.cache_resource(scope="session", on_release=Race.close, show_spinner=False)
def _threads(token: str, _race: Race) -> Race:
    # on_release runs on the server's event loop: Race.close only sets flags.
    _race.open()
    return _race


def session_race(setting: Setting, rate: float) -> tuple[Race, str, bool]:
    """Return this session's race, its token, and whether it was made just now."""
    fresh = "race" not in st.session_state
    if fresh:
        st.session_state.race = Race(setting, rate)
        st.session_state.token = secrets.token_urlsafe(24)
    race, token = st.session_state.race, st.session_state.token
    hub()[token] = race
    _threads(token, race)
    return race, token, fresh


@st.cache_resource(show_spinner=False, max_entries=8)
def pretrained(name: str) -> Model:
    """Load a shipped model, once for all sessions."""
    return load_model(name)


@st.cache_resource(show_spinner=False, max_entries=4)
def data(name: str) -> Dataset:
    """Load a data set, once for all sessions."""
    return load_dataset(name)


@st.cache_resource(show_spinner=False, max_entries=8)
def training_reference(name: str, kernel: str) -> float:
    """Return the ISL that the training part of a data set has against its own test part."""
    dataset = data(name)
    return reference(dataset.train, dataset.test, dataset.validation, kernel=kernel).isl
