"""What outlives a script run: every entry of the session state, typed; nothing else of the app names it.

A comparison (its panels, chains and scores) lives in the session state; its threads are lent to it by a
session-scoped resource, which is released on every disconnect: after a reconnect the same comparison gets
new threads and goes on where it was. Ten seconds after a disconnect the memory of its runs is given
back; a reconnect while Streamlit still has the session (ten minutes) makes them again.
"""

import hashlib
import secrets
import weakref
from collections.abc import Callable, MutableMapping
from typing import Any, Generic, TypeVar

import numpy as np
import streamlit as st

from rbmviz import Model
from rbmviz.datasets import Dataset, load_bytes
from rbmviz.knobs import Value
from rbmviz.rbm import load_model_bytes
from rbmviz.session import Allowance, Comparison, Session, janitor, limits
from rbmviz.session.comparison import Setup

S = TypeVar("S", bound=Setup)
T = TypeVar("T")
U = TypeVar("U", Model, Dataset)


class Entry(Generic[T]):
    """One entry of the session state.

    Parameters
    ----------
    key : str
        Its name there.
    make : callable
        Makes its first value.
    """

    def __init__(self, key: str, make: Callable[[], T]) -> None:
        self.key, self._make = key, make

    @property
    def value(self) -> T:
        """What is kept; where nothing is, the first value, which is not kept by being read."""
        return st.session_state[self.key] if self.key in st.session_state else self._make()

    def set(self, value: T) -> None:
        """Keep another value."""
        st.session_state[self.key] = value

    def begin(self) -> T:
        """Keep the first value, unless something is kept already; return what is kept."""
        self.set(self.value)
        return self.value


class Setting(Entry[T]):
    """The value of a widget that stands in the address, under the name of the attribute that holds this.

    Parameters
    ----------
    default : int, float, bool or str
        Stands in no address: ``rbmviz.links`` keeps the defaults of every version of links.
    """

    def __init__(self, default: T) -> None:
        super().__init__("", lambda: default)
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = name

    @property
    def chosen(self) -> T | None:
        """The value of the widget, None where it has not been drawn or set yet."""
        return st.session_state.get(self.key)

    @property
    def bound(self) -> dict[str, Any]:
        """Arguments of the widget."""
        return {"key": self.key, "bind": "query-params"}


def settings_of(page_settings: type) -> dict[str, Setting[Any]]:
    """Return the settings that a class declares, by name."""
    return {name: found for name, found in vars(page_settings).items() if isinstance(found, Setting)}


def keep_hidden(page_settings: type) -> None:
    """Keep the settings whose widgets are not drawn in this run; Streamlit would forget them."""
    for setting in settings_of(page_settings).values():
        if setting.key in st.session_state:
            setting.set(setting.value)


def start_with(key: str, value: Value) -> None:
    """Give the widget of a setting its first value, before it is drawn."""
    st.session_state.setdefault(key, value)


def choose_there(key: str, value: Value) -> None:
    """Give the setting of another page a value, before that page is opened."""
    st.session_state[key] = value


def sent_by(component: str, trigger: str) -> Any:
    """Return what a canvas component has sent, in the callback of this trigger."""
    return getattr(st.session_state[component], trigger)


@st.cache_resource(show_spinner=False)
def _visitors() -> weakref.WeakSet[Session]:
    return weakref.WeakSet()


# Entries

COMPARISONS: Entry[dict[str, tuple[Comparison[Any], str]]] = Entry("comparisons", dict)
"""The comparison of each page that has been drawn, and its token."""

VISITOR: Entry[Session] = Entry("visitor", lambda: Session(_visitors()))
"""What this session takes of the machine."""

ALLOWANCE: Entry[Allowance] = Entry("allowance", Allowance)
"""Bytes for the kept samples of all its runs."""

TRAINED: Entry[dict[str, Model]] = Entry("trained", dict)
"""Models that have been sent from the Train page, by name."""

UPLOADS: Entry[dict[str, tuple[tuple[Any, ...], Any]]] = Entry("uploads", dict)
"""What was read from the newest upload of each place, and which file that was."""

LINK_OPENED: Entry[bool] = Entry("link opened", bool)
"""Whether the address with which the session began has been looked through."""

LINK_SENTENCES: Entry[tuple[str, ...]] = Entry("link sentences", tuple)
"""What of the link is not taken, until it has been shown."""

POPOVER_TURNS: Entry[dict[str, int]] = Entry("popover turns", dict)
"""How often something was picked in each popover; another number is another popover, which is closed."""

LAST_DATASET: Entry[Dataset | None] = Entry("last dataset", lambda: None)
"""Train: the data set before one that could not be had."""

CHECKPOINT_TAKEN: Entry[str] = Entry("checkpoint taken", str)
"""Train: the upload whose checkpoint has its panel."""

COUPLED_MODEL: Entry[str] = Entry("coupled model", str)
"""Coupling: name of the model on the screen, whose scale the knob has."""

EDITED_MATRIX: Entry[np.ndarray | None] = Entry("edited matrix", lambda: None)
"""Chain: the matrix that the table began with, float64 (states, states)."""

TABLE_TURN: Entry[int] = Entry("table turn", int)
"""Chain: how often the table has begun anew; another number is another table."""

LAST_CHAIN: Entry[tuple[np.ndarray, list[str]] | None] = Entry("last chain", lambda: None)
"""Chain: the last table that was a chain, and the names of its states."""

LAMBDA: Entry[float | None] = Entry("lambda", lambda: None)
"""Chain: what is taken from the diagonal; None: half of what can be."""


def table_edits(turn: int) -> dict[int, dict[str, float | None]]:
    """Return the cells of the chain's table that have been edited, by row and column."""
    return st.session_state.get(f"chain table {turn}", {}).get("edited_rows", {})


def widget_value(key: str) -> Any:
    """Return the value of a widget that stands in no address, in its own callback."""
    return st.session_state[key]


def close_popover(name: str) -> None:
    """Let a popover be drawn closed: what was picked there must not be covered by it."""
    POPOVER_TURNS.set(POPOVER_TURNS.value | {name: POPOVER_TURNS.value.get(name, 0) + 1})


def popover_key(name: str) -> str:
    """Return the key under which a popover is drawn."""
    return f"{name} {POPOVER_TURNS.value.get(name, 0)}"


# Comparisons


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


def open_comparison(page: str, setup: S, rate: float, beside: str = "") -> tuple[Comparison[S], str, bool]:
    """Open this session's comparison of a page; return it, its token, and whether it was made just now.

    beside : the page that shows this comparison, where it bears another name

    Raises
    ------
    BadInput
        If the comparison has been put to rest and there is no room for it now.
    """
    comparisons, visitor = COMPARISONS.begin(), VISITOR.begin()
    fresh = page not in comparisons
    if fresh:
        comparisons[page] = Comparison(setup, rate, visitor), secrets.token_urlsafe(24)
    comparison, token = comparisons[page]
    comparisons_by_token()[token] = comparison
    visitor.visit(beside or page, page, comparison)
    # Before it is opened: whoever disconnects in between must not leave it open.
    _threads(token, comparison)
    if comparison.closed_at is not None:
        comparison.open()
    return comparison, token, fresh


def leave_empty(page: str) -> None:
    """Forget this session's comparison of a page where it has no panel: the next visit makes another one."""
    comparisons = COMPARISONS.value
    if page in comparisons and not comparisons[page][0].panels:
        del comparisons[page]
        VISITOR.value.leave(page)


# Models and data of one's own


def send_model(title: str, model: Model) -> None:
    """Keep a model that this session has trained for the other pages; BadInput where there is no room."""
    VISITOR.begin().keep(f"model {title}", _size(model))
    TRAINED.begin()[title] = model


def uploaded(name: str, content: bytes, place: str) -> Model:
    """Read an uploaded model file; the same file is the same object, so that its runs go on."""
    key = name, hashlib.sha256(content).digest()
    return _own(place, key, lambda: load_model_bytes(content, name))


def uploaded_data(name: str, content: bytes, rule: str, place: str) -> Dataset:
    """Read an uploaded data file; the same file is the same object, so that its runs go on."""
    how = {} if name.lower().endswith(".txt") else {"binarise": rule}
    key = name, hashlib.sha256(content).digest(), rule
    return _own(place, key, lambda: load_bytes(content, name, **how))


def drop_upload(place: str) -> None:
    """Forget what was uploaded to a place: its file has been taken away."""
    if UPLOADS.value.pop(place, None) is not None:
        VISITOR.value.keep(place, 0)


def _own(place: str, key: tuple[Any, ...], read: Callable[[], U]) -> U:
    """Return what this session has uploaded to a place, read once; only the newest upload is kept."""
    kept = UPLOADS.begin()
    if place not in kept or kept[place][0] != key:
        found = read()
        VISITOR.begin().keep(place, _size(found))
        kept[place] = key, found
    return kept[place][1]


def _size(x: Model | Dataset) -> int:
    """Return the bytes of all arrays of a model or a data set."""
    if isinstance(x, Model):
        parts = [*vars(x.rbm).values(), *(vars(x.rates).values() if x.rates else ())]
    else:
        parts = list(vars(x).values())
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
