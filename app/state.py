"""What outlives a script run: the only file with st.session_state and st.cache_resource.

A race (its panels, chains and scores) lives in the session state; its threads are lent to it by a
session-scoped resource, which is released on every disconnect: after a reconnect the same race gets
new threads and goes on where it was.
"""

import secrets
import tempfile
import weakref
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.datasets import Dataset, load_bytes, load_registered
from rbmviz.metrics import Kernel, reference
from rbmviz.models import load_model, load_pretrained, pattern_model, random_model
from rbmviz.session import Race, random_rbm
from rbmviz.session.race import Shared

S = TypeVar("S", bound=Shared)


@st.cache_resource(show_spinner=False)
def hub() -> MutableMapping[str, Race]:
    """Return the races of this process by their unguessable token (the live path finds them here)."""
    return weakref.WeakValueDictionary()


@st.cache_resource(scope="session", on_release=Race.close, show_spinner=False)
def _threads(token: str, _race: Race) -> Race:
    # on_release runs on the server's event loop: Race.close only sets flags.
    _race.open()
    return _race


def session_race(page: str, setting: S, rate: float) -> tuple[Race[S], str, bool]:
    """Return this session's race of a page, its token, and whether it was made just now."""
    races = st.session_state.setdefault("races", {})
    fresh = page not in races
    if fresh:
        races[page] = Race(setting, rate), secrets.token_urlsafe(24)
    race, token = races[page]
    hub()[token] = race
    _threads(token, race)
    return race, token, fresh


def race_of(page: str) -> Race[Any]:
    """Return this session's race of a page that has been drawn."""
    return st.session_state.races[page][0]


def trained_models() -> dict[str, Model]:
    """Return the models that this session has sent from the Train page, by name."""
    return st.session_state.setdefault("trained", {})


@st.cache_resource(show_spinner=False)
def pretrained(name: str) -> Model:
    """Load a shipped model, once for all sessions."""
    return load_pretrained(name)


@st.cache_resource(max_entries=200, show_spinner=False)
def pattern_landscape(patterns: tuple[str, ...], depth: float) -> Model:
    """Return the small model of these patterns; the same one is the same object, so that its runs go on."""
    return pattern_model(patterns, depth)


@st.cache_resource(max_entries=200, show_spinner=False)
def random_landscape(scale: float, seed: int, units: tuple[int, int] = (6, 4)) -> Model:
    """Return a small model of random weights; the same one is the same object, so that its runs go on."""
    return random_model(*units, scale, seed)


@st.cache_resource(show_spinner=False, max_entries=100)
def drawn_rbm(n_visible: int, n_hidden: int, seed: int) -> Model:
    """Return a random model; the same question has the same object, so that its run goes on."""
    return Model(random_rbm(n_visible, n_hidden, seed))


@st.cache_resource(scope="session", show_spinner=False)
def uploaded(name: str, content: bytes) -> Model:
    """Read an uploaded model file; the same file is the same object, so that its runs go on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(content)
        try:
            return load_model(path)
        except BadInput as error:
            raise BadInput(str(error).replace(f"{folder}/", "")) from None


@st.cache_resource(max_entries=16, show_spinner=False)
def data(name: str) -> Dataset:
    """Load a registered data set, or a variant of one, once for all sessions.

    Names come from links and from models' metadata: no file is ever read, and the variants that links can
    think of do not fill the memory (60 MB each at most).
    """
    return load_registered(name)


@st.cache_resource(scope="session", show_spinner=False)
def uploaded_data(name: str, content: bytes, rule: str) -> Dataset:
    """Read an uploaded data file; the same file is the same object, so that its runs go on."""
    return load_bytes(content, name, **({} if name.lower().endswith(".txt") else {"binarise": rule}))


@st.cache_resource(show_spinner=False)
def training_reference(name: str, kernel: Kernel) -> float:
    """Return the ISL that the training part of a data set has against its own test part."""
    dataset = data(name)
    return reference(dataset.train, dataset.test, dataset.validation, kernel=kernel).isl
