"""What outlives a script run: the only file with st.session_state and st.cache_resource.

A comparison (its panels, chains and scores) lives in the session state; its threads are lent to it by a
session-scoped resource, which is released on every disconnect: after a reconnect the same comparison gets
new threads and goes on where it was. Ten seconds after a disconnect the memory of its runs is given
back; a reconnect while Streamlit still has the session (ten minutes) makes them again.
"""

import hashlib
import secrets
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any, Generic, TypeVar

import numpy as np
import streamlit as st

from rbmviz import Model
from rbmviz.datasets import Dataset, load_bytes, load_registered
from rbmviz.metrics import Kernel, reference
from rbmviz.models import load_pretrained, pattern_model, random_model
from rbmviz.rbm import load_model_bytes
from rbmviz.session import Allowance, Comparison, Session, janitor, limits, random_rbm
from rbmviz.session import comparison as comparison_module

S = TypeVar("S", bound=comparison_module.Setup)
T = TypeVar("T")
U = TypeVar("U", Model, Dataset)


@st.cache_resource(show_spinner=False)
def comparisons_by_token() -> MutableMapping[str, Comparison]:
    """Return the comparisons of this process by their unguessable token (the live path finds them here)."""
    return weakref.WeakValueDictionary()


def _release(comparison: Comparison) -> None:
    # On the server's event loop: this sets flags only.
    janitor.close(comparison, limits().release_seconds)


@st.cache_resource(scope="session", on_release=_release, show_spinner=False)
def _threads(token: str, _comparison: Comparison) -> Comparison:
    return _comparison


@st.cache_resource(show_spinner=False)
def _visitors() -> weakref.WeakSet[Session]:
    return weakref.WeakSet()


def visitor() -> Session:
    """Return this session's account of what it takes."""
    if "visitor" not in st.session_state:
        st.session_state.visitor = Session(_visitors())
    return st.session_state.visitor


def session_comparison(page: str, setup: S, rate: float, beside: str = "") -> tuple[Comparison[S], str, bool]:
    """Return this session's comparison of a page, its token, and whether it was made just now.

    beside : the page that shows this comparison, where it bears another name

    Raises
    ------
    BadInput
        Where the comparison has been put to rest and there is no room for it now.
    """
    comparisons = st.session_state.setdefault("comparisons", {})
    fresh = page not in comparisons
    if fresh:
        comparisons[page] = Comparison(setup, rate, visitor()), secrets.token_urlsafe(24)
    comparison, token = comparisons[page]
    comparisons_by_token()[token] = comparison
    visitor().visit(beside or page, page, comparison)
    # Before it is opened: whoever disconnects in between must not leave it open.
    _threads(token, comparison)
    if comparison.closed_at is not None:
        comparison.open()
    return comparison, token, fresh


def leave_empty(page: str) -> None:
    """Forget this session's comparison of a page where it has no panel: the next visit makes another one."""
    comparisons = st.session_state.comparisons
    if page in comparisons and not comparisons[page][0].panels:
        del comparisons[page]
        visitor().leave(page)


def comparison_of(page: str) -> Comparison[Any]:
    """Return this session's comparison of a page that has been drawn."""
    return st.session_state.comparisons[page][0]


def allowance() -> Allowance:
    """Return this session's bytes for kept samples."""
    return st.session_state.setdefault("allowance", Allowance())


def trained_models() -> dict[str, Model]:
    """Return the models that this session has sent from the Train page, by name."""
    return st.session_state.setdefault("trained", {})


def send_model(title: str, model: Model) -> None:
    """Keep a model that this session has trained for the other pages; BadInput where there is no room."""
    visitor().keep(f"model {title}", _size(model))
    trained_models()[title] = model


class SharedObjects(Generic[T]):
    """Objects by what they are made of, for all sessions: the same question has the same object.

    So it is as long as anybody uses the object: a comparison whose model were another object would begin
    anew. Of those that nobody uses the newest few are kept, however many are asked for.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._newest: OrderedDict[Any, T] = OrderedDict()
        self._used: MutableMapping[Any, T] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return the object of this key; where there is none, make it."""
        found = self._used.get(key)
        if found is None:
            found = make()
        with self._lock:
            found = self._used.setdefault(key, found)  # another session may have been quicker
            self._newest[key] = found
            self._newest.move_to_end(key)
            while len(self._newest) > self._most:
                self._newest.popitem(last=False)
        return found


@st.cache_resource(show_spinner=False)
def _shared(kind: str, most: int) -> SharedObjects[Any]:
    return SharedObjects(most)


def pretrained(name: str) -> Model:
    """Load a shipped model, once for all sessions."""
    return _shared("pretrained", 32).get(name, lambda: load_pretrained(name))


def pattern_landscape(patterns: tuple[str, ...], depth: float) -> Model:
    """Return the small model of these patterns; the same one is the same object, so that its runs go on."""
    return _shared("patterns", 32).get((patterns, depth), lambda: pattern_model(patterns, depth))


def random_landscape(scale: float, seed: int, units: tuple[int, int] = (6, 4)) -> Model:
    """Return a small model of random weights; the same one is the same object, so that its runs go on."""
    key = scale, seed, units
    return _shared("landscapes", 32).get(key, lambda: random_model(*units, scale, seed))


def drawn_rbm(n_visible: int, n_hidden: int, seed: int) -> Model:
    """Return a random model; the same question has the same object, so that its run goes on."""
    key = n_visible, n_hidden, seed
    return _shared("drawn", 8).get(key, lambda: Model(random_rbm(n_visible, n_hidden, seed)))


def data(name: str) -> Dataset:
    """Load a registered data set, or a variant of one, once for all sessions.

    Names come from links and from models' metadata: no file is ever read.
    """
    return _shared("data", 4).get(name, lambda: load_registered(name))


def _own(place: str, key: tuple[Any, ...], read: Callable[[], U]) -> U:
    """Return what this session has uploaded to a place, read once; only the newest upload is kept."""
    kept = st.session_state.setdefault("uploads", {})
    if place not in kept or kept[place][0] != key:
        found = read()
        visitor().keep(place, _size(found))
        kept[place] = key, found
    return kept[place][1]


def drop_upload(place: str) -> None:
    """Forget what was uploaded to a place: its file has been taken away."""
    if st.session_state.get("uploads", {}).pop(place, None) is not None:
        visitor().keep(place, 0)


def uploaded(name: str, content: bytes, place: str) -> Model:
    """Read an uploaded model file; the same file is the same object, so that its runs go on."""
    key = name, hashlib.sha256(content).digest()
    return _own(place, key, lambda: load_model_bytes(content, name))


def uploaded_data(name: str, content: bytes, rule: str) -> Dataset:
    """Read an uploaded data file; the same file is the same object, so that its runs go on."""
    how = {} if name.lower().endswith(".txt") else {"binarise": rule}
    key = name, hashlib.sha256(content).digest(), rule
    return _own("own_data", key, lambda: load_bytes(content, name, **how))


def _size(x: Model | Dataset) -> int:
    """Return the bytes of all arrays of a model or a data set."""
    if isinstance(x, Model):
        parts = [*vars(x.rbm).values(), *(vars(x.rates).values() if x.rates else ())]
    else:
        parts = list(vars(x).values())
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


@st.cache_resource(show_spinner=False, max_entries=100)
def training_reference(name: str, kernel: Kernel) -> float:
    """Return the ISL that the training part of a data set has against its own test part."""
    dataset = data(name)
    return reference(dataset.train, dataset.test, dataset.validation, kernel=kernel).isl
