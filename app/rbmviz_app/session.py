"""State that outlives a script run: typed entries of the session state, which no other module accesses.

One of them records the values of all settings (``SettingsState``). A page declares its settings in
``Settings``, reads them as ``Settings.seed.value``, and draws their widgets with ``controls``.

After each click, Streamlit runs a page's whole script (or one of its fragments) with new variables. The
session state is what a browser tab keeps between these runs.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import streamlit as st

from rbmviz import Model
from rbmviz.pages import SettingSpec
from rbmviz.pages.links import address_texts
from rbmviz_app.jobs import Job
from rbmviz_app.race import PageRace
from rbmviz_app.share.view import Share

T = TypeVar("T")


class Tab:
    """A tab of a browser, which outlives its sessions: a reload begins another session of the same tab.

    values : the values of all entries by key, except those of a single session
    session : identifies the newest session; earlier ones have been replaced
    """

    def __init__(self, values: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.values, self.session = dict(values), object()


TAB, SESSION = "tab", "session"
"""Keys in the session state of the session's ``Tab`` and of what identifies it as ``Tab.session``; see
``rbmviz_app.tabs``."""


def tab_of_session() -> tuple[Tab, object] | None:
    """Return the session's tab, and what identifies the session as ``Tab.session``; None without a tab."""
    return (st.session_state[TAB], st.session_state[SESSION]) if TAB in st.session_state else None


def enter_tab(tab: Tab) -> None:
    """Give the session the entries of a tab, which works with this session from now on."""
    tab.session = st.session_state[SESSION] = object()
    st.session_state[TAB] = tab
    for name, value in tab.values.items():
        st.session_state[name] = value


class Entry(Generic[T]):
    """One entry of the session state.

    key : its key in the session state
    make : returns the value to use until one is stored
    of_tab : whether a reload of the page keeps the value; if not, it is about the elements of one session
    """

    def __init__(self, key: str, make: Callable[[], T], of_tab: bool = True) -> None:
        self.key, self._make, self._of_tab = key, make, of_tab

    @property
    def value(self) -> T:
        """The stored value; if there is none, the result of ``make``, which is not stored."""
        return st.session_state[self.key] if self.key in st.session_state else self._make()

    def set(self, value: T) -> None:
        """Store a value."""
        st.session_state[self.key] = value
        if self._of_tab and TAB in st.session_state:
            st.session_state[TAB].values[self.key] = value

    def ensure(self) -> T:
        """Store the current value, so that it can be changed in place; return it."""
        self.set(self.value)
        return self.value


@dataclass(frozen=True)
class SettingsState:
    """The values of all settings of one visitor.

    Streamlit's widgets show this record and report changes to it; nothing else is ever read from them. With
    every message, a browser sends the values of all widgets, including widgets that the server has since
    replaced. So each widget carries the revision with which it was drawn, and reports from an earlier
    revision are ignored.

    values : settings that have been set, by name; others have their defaults. Each name
        belongs to one page, so one record serves all pages.
    revision : number of times that the server has set settings (``show``)
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 0

    def replace(self, values: Mapping[str, Any]) -> "SettingsState":
        """Return the record with some values replaced, in the same revision."""
        return SettingsState({**self.values, **values}, self.revision)


KEYS = 16
"""Number of revisions with distinct keys. Streamlit never forgets a key; a message would have to be late by
this many revisions to be mistaken for a current one."""


def show(values: Mapping[str, Any]) -> None:
    """Set settings by name, and redraw all widgets with them.

    Call it before any widget is drawn: in a callback, or at the beginning or end of a script run. A widget
    already drawn in this run would report to an outdated revision.
    """
    SETTINGS_STATE.set(
        SettingsState({**SETTINGS_STATE.value.values, **values}, SETTINGS_STATE.value.revision + 1)
    )


def set_undrawn(values: Mapping[str, Any]) -> None:
    """Set settings, by name, whose widgets do not exist or have not been drawn in this session."""
    SETTINGS_STATE.set(SETTINGS_STATE.value.replace(values))


class Setting(Generic[T]):
    """A setting of a page; ``key`` is its name in the address."""

    def __init__(self, key: str, spec: SettingSpec) -> None:
        self.key, self.spec, self.default, self.label = key, spec, spec.default, spec.label

    @property
    def value(self) -> T:
        """Its value, or its default if it has not been set."""
        return SETTINGS_STATE.value.values.get(self.key, self.default)

    @property
    def is_unchosen(self) -> bool:
        """Whether nothing has been chosen from a list whose first entry depends on the panels."""
        return self.value == self.default == "" and callable(self.spec.allowed)

    def texts(self) -> list[str]:
        """Return its texts in the address; none for a default that is empty or does not affect samples."""
        value = self.value
        if value == self.default and not (self.spec.makes_samples and value != ""):
            return []
        return address_texts(value)

    def fold(self) -> dict[str, Any]:
        """Return the arguments of a fold, as ``widget`` does.

        Streamlit treats a fold with another ``expanded`` as a new fold, so this argument is left out.
        """
        widget = self.widget()
        st.session_state.setdefault(widget["key"], self.value)
        return widget

    def widget(self, then: Callable[[], object] | None = None, variant: str = "") -> dict[str, Any]:
        """Return the arguments that make a Streamlit widget report to this setting.

        then : called after a change by the user; variant : must differ if the same options get other labels
        """
        revision = SETTINGS_STATE.value.revision
        key = f"{self.key} {revision % KEYS}{variant}"
        return {"key": key, "on_change": _changed, "args": (self.key, key, revision, then)}


def _changed(name: str, key: str, revision: int, then: Callable[[], object] | None) -> None:
    """Accept a widget's value, unless the server has set settings since the widget was drawn."""
    if revision != SETTINGS_STATE.value.revision:
        return
    SETTINGS_STATE.set(SETTINGS_STATE.value.replace({name: st.session_state[key]}))
    if then is not None:
        then()


ALL_SETTINGS: dict[str, Setting[Any]] = {}


class PageSettings(dict[str, Setting[Any]]):
    """The settings of a page, by name or as attributes: ``Settings.seed.value``."""

    def __init__(self, specs: Mapping[str, SettingSpec]) -> None:
        super().__init__({name: Setting(name, spec) for name, spec in specs.items()})
        ALL_SETTINGS.update(self)

    def values_now(self) -> dict[str, Any]:
        """Return the values, by name."""
        return {name: setting.value for name, setting in self.items()}

    def __getattr__(self, name: str) -> Setting[Any]:
        if name not in self:
            raise AttributeError(name)
        return self[name]


def sent_by(component: str, trigger: str) -> Any:
    """Return the event that a canvas component has sent, in the callback of this trigger."""
    return getattr(st.session_state[component], trigger)


# Entries

SETTINGS_STATE: Entry[SettingsState] = Entry("settings", SettingsState)

RACES: Entry[dict[str, PageRace[Any]]] = Entry("races", dict)
"""The race of each page drawn so far."""

NEWEST_EVENTS: Entry[dict[str, int]] = Entry("taken", dict, of_tab=False)
"""Number of the newest event taken from each canvas, by its key."""

TRAINED: Entry[dict[str, Model]] = Entry("trained", dict)
"""Models sent from the Train page, by title."""

OWNER: Entry[str] = Entry("owner", str)
"""The secret that identifies this browser to sweeps, see ``rbmviz_app.links``; "" before first use."""

REFUSED_UPLOADS: Entry[dict[str, tuple[str, str]]] = Entry("refused uploads", dict)
"""By uploader, the last file that was refused, as Streamlit calls it, and the sentence."""

UPLOADS: Entry[dict[str, Any]] = Entry("uploads", dict)
"""The newest ``rbmviz_app.uploads.Upload`` by uploader."""


class Link(NamedTuple):
    """The address with which the session began.

    page : the page that it opens
    parts : its parameters, by name
    is_open : whether settings, models and data have been set from it
    """

    page: str
    parts: Mapping[str, list[str]]
    is_open: bool = False


LINK: Entry[Link | None] = Entry("link", lambda: None)
"""The address with which the session began; None: not read yet."""

WRITTEN: Entry[dict[str, dict[str, list[str]]]] = Entry("written", dict)
"""The parameters that each page last wrote into the address, by name."""

MAX_PRESENTED_KNOBS = 2

KNOB_NAME = re.compile(r"[a-z]\w{0,30}", re.ASCII)


def _presented() -> str:
    text = st.query_params.get("present", "")
    names = [name for name in text[:100].split(",") if KNOB_NAME.fullmatch(name)]
    return "1" if text == "1" else ",".join(names[:MAX_PRESENTED_KNOBS])


PRESENTED: Entry[str] = Entry("presented", _presented)
"""Presenting: "" (no), "1", or the names of the knobs to keep; initially from the address."""

EMBEDDED: Entry[bool] = Entry("embedded", lambda: st.query_params.get("ui") == "min")
"""Whether the page is embedded in another page; initially from the address."""

EMBEDDED_KNOBS: Entry[str] = Entry("embedded knobs", lambda: st.query_params.get("show", "")[:300])
"""Names of the knobs to keep in an embedded page, separated by commas, as in the address."""

STARTS_PAUSED: Entry[bool] = Entry("starts paused", lambda: st.query_params.get("paused") == "1")
"""Whether runs wait for Play when a page opens; initially from the address."""

REDUCED_MOTION: Entry[bool] = Entry("reduced motion", bool)
"""Whether the browser has reported a preference for less motion: then runs also wait for Play."""

LINK_WARNINGS: Entry[dict[str, tuple[str, ...]]] = Entry("link warnings", dict)
"""Messages about ignored parts of the link by page, until they are closed; "": for all pages."""

CLOSED_ALERTS: Entry[dict[str, str]] = Entry("closed alerts", dict)
"""Errors over the page that were closed but still apply, by place."""

TOASTS: Entry[tuple[tuple[str, str], ...]] = Entry("toasts", tuple)
"""Messages about recent clicks and drags, with their icons, until they are shown."""


POPOVER_VERSIONS: Entry[dict[str, int]] = Entry("popover versions", dict)
"""Number of picks in each popover. It is part of the key: after a pick, a new, closed popover appears."""

SHOWN_SCORES: Entry[Any] = Entry("shown scores", lambda: None)
"""Tune: the scores on the screen (``SweepScores``); None: no sweep is shown."""

OWN_SWEEPS: Entry[dict[str, Job]] = Entry("own sweeps", dict)
"""Tune: this visitor's private sweeps, of the visitor's own models and data, by name."""


class LessonStep(NamedTuple):
    """A step of a lesson: the lesson's name, and the step's index, from 0."""

    lesson: str
    step: int


OPEN_STEP: Entry[LessonStep | None] = Entry("open step", lambda: None)
"""The step of a lesson whose card is open; None: no lesson is open."""

STEP_TO_SET: Entry[bool] = Entry("step to set", bool)
"""Whether the page of the open step has yet to be set to the step's state."""

OPENED_STEPS: Entry[int] = Entry("opened steps", int)
"""Number of opened steps, which is part of the keys of their answers."""

STEP_TO_SHOW: Entry[bool] = Entry("step to show", bool)
"""Whether the page of the open step has yet to be opened, because the card has moved on."""

LESSON_ANSWERS: Entry[dict[LessonStep, int | None]] = Entry("lesson answers", dict)
"""Index of the chosen answer of each answered step."""

SEEN_CLAIMS: Entry[dict[LessonStep, dict[int, float]]] = Entry("seen claims", dict)
"""Claims of each step that have been seen, by index, with the numbers seen."""

REVEALED: Entry[frozenset[LessonStep]] = Entry("revealed", frozenset)
"""Steps whose answers were revealed by hand."""

LESSON_PROGRESS: Entry[dict[str, int]] = Entry("lesson reached", dict)
"""The farthest opened step (from 1) of each lesson, by name."""

FINISHED_STEP: Entry[LessonStep | None] = Entry("finished step", lambda: None)
"""The last step closed by *Finish*, as long as the Learn page shows it; otherwise None."""

OPENED_PAGE: Entry[str] = Entry("opened page", str)
"""The last drawn page; "": none yet."""

SHARED_PAGE: Entry[Share | None] = Entry("shared page", lambda: None)
"""The share that this session has opened to watchers; None: there is none."""


def add_link_warning(sentence: object, page: str = "") -> None:
    """Store a message about an ignored part of the link, for ``messages.draw_link_warnings`` on this page."""
    warnings = LINK_WARNINGS.ensure()
    if str(sentence) not in warnings.get(page, ()):  # two missing files give the same message
        warnings[page] = (*warnings.get(page, ()), str(sentence))


def widget_value(key: str) -> Any:
    """Return the value of a widget without a setting; None: not drawn yet."""
    return st.session_state.get(key)


def changed_settings(before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the earlier values of the settings that have changed since."""
    return {name: value for name, value in before.items() if ALL_SETTINGS[name].value != value}


def close_popover(name: str) -> None:
    """Close a popover at the next run, so that it does not cover the pick's result."""
    POPOVER_VERSIONS.set(POPOVER_VERSIONS.value | {name: POPOVER_VERSIONS.value.get(name, 0) + 1})


def popover_key(name: str) -> str:
    """Return the key under which a popover is drawn."""
    return f"{name} {POPOVER_VERSIONS.value.get(name, 0)}"
