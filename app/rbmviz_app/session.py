"""What outlives a script run: the typed entries of the session state, which no other module names.

One of them is the record of what all settings are set to (``SettingsState``). A page declares its settings in
``Settings``, reads them as ``Settings.seed.value``, and draws their widgets with ``controls``.

Streamlit runs the whole script of a page after each click (or one of its fragments), with new variables. The
session state is what one browser tab keeps meanwhile.
"""

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import streamlit as st

from rbmviz import Model
from rbmviz.datasets import Dataset
from rbmviz.links import address_texts
from rbmviz.pages import SettingSpec
from rbmviz.session import Allowance, Comparison, VisitorUsage
from rbmviz.session.sweep_view import SweepView
from rbmviz.session.unit_by_unit import UnitByUnit
from rbmviz_app.share.view import Share

T = TypeVar("T")


class Entry(Generic[T]):
    """One entry of the session state.

    Parameters
    ----------
    key : str
        Its key in the session state.
    make : callable
        Makes the value that it has until one is stored.
    """

    def __init__(self, key: str, make: Callable[[], T]) -> None:
        self.key, self._make = key, make

    @property
    def value(self) -> T:
        """The stored value; if there is none, what ``make`` makes, which reading does not store."""
        return st.session_state[self.key] if self.key in st.session_state else self._make()

    def set(self, value: T) -> None:
        """Store a value."""
        st.session_state[self.key] = value

    def ensure(self) -> T:
        """Store the value as it is now, so that what it is made of can be changed in place; return it."""
        self.set(self.value)
        return self.value


@dataclass(frozen=True)
class SettingsState:
    """What all settings of one visitor are set to.

    Streamlit's widgets show this record and report changes to it; nothing else is ever read from them. A
    browser sends the values of all widgets with every message, also of those that the server has replaced in
    the meantime. So each widget is known by the revision with which it was drawn, and what one of an earlier
    revision reports is ignored.

    Parameters
    ----------
    values : mapping of str to value
        The settings that have been set, by name; the others have their defaults. Names belong to one page
        each, so one record serves all pages.
    revision : int
        How often the server has set settings (``show``).
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 0

    def replace(self, values: Mapping[str, Any]) -> "SettingsState":
        """Return the record with some other values, of the same revision."""
        return SettingsState({**self.values, **values}, self.revision)


KEYS = 16
"""Revisions that have keys of their own. Streamlit never forgets a key; a message would have to be late by so
many revisions to be taken for a new one."""


def show(values: Mapping[str, Any]) -> None:
    """Set settings by name, and have all widgets drawn anew with them.

    Only before a widget is drawn: in a callback, or where the script run ends with this or begins with it. A
    widget that had been drawn already in this run would report to a revision that has passed.
    """
    SETTINGS_STATE.set(
        SettingsState({**SETTINGS_STATE.value.values, **values}, SETTINGS_STATE.value.revision + 1)
    )


def set_undrawn(values: Mapping[str, Any]) -> None:
    """Set settings by name that have no widget, or none that has been drawn since the session began."""
    SETTINGS_STATE.set(SETTINGS_STATE.value.replace(values))


class Setting(Generic[T]):
    """A setting of a page, by its name in the address.

    Parameters
    ----------
    key : str
        Its name.
    spec : SettingSpec
        Its default, its label and what it may be.
    """

    def __init__(self, key: str, spec: SettingSpec) -> None:
        self.key, self.spec, self.default, self.label = key, spec, spec.default, spec.label

    @property
    def value(self) -> T:
        """What it is set to; its default if it has not been set."""
        return SETTINGS_STATE.value.values.get(self.key, self.default)

    @property
    def is_unchosen(self) -> bool:
        """Whether nothing has been chosen from a list, which begins with another entry for other panels."""
        return self.value == self.default == "" and callable(self.spec.allowed)

    def texts(self) -> list[str]:
        """Return what stands in the address; nothing for a default that makes no samples."""
        value = self.value
        if value == self.default and not self.spec.makes_samples:
            return []
        return address_texts(value)

    def fold(self) -> dict[str, Any]:
        """Return the arguments of a fold, as ``widget`` does.

        Streamlit takes a fold with another ``expanded`` for another fold, so that this one begins without.
        """
        widget = self.widget()
        st.session_state.setdefault(widget["key"], self.value)
        return widget

    def widget(self, then: Callable[[], object] | None = None, variant: str = "") -> dict[str, Any]:
        """Return the arguments by which a Streamlit widget reports to this setting.

        then : called after the user has changed it; variant : differs where the same options have other words
        """
        revision = SETTINGS_STATE.value.revision
        key = f"{self.key} {revision % KEYS}{variant}"
        return {"key": key, "on_change": _changed, "args": (self.key, key, revision, then)}


def _changed(name: str, key: str, revision: int, then: Callable[[], object] | None) -> None:
    """Take what a widget reports, unless the server has set settings since it was drawn."""
    if revision != SETTINGS_STATE.value.revision:
        return
    value = st.session_state[key]
    SETTINGS_STATE.set(SETTINGS_STATE.value.replace({name: value}))
    if then is not None:
        then()


ALL_SETTINGS: dict[str, Setting[Any]] = {}
"""The settings of all pages, by key."""


class PageSettings(Mapping[str, Setting[Any]]):
    """The settings of a page, by name or as attributes: ``Settings.seed.value``.

    No two pages may have settings of one name, which would be one entry and one name in the address.
    """

    def __init__(self, specs: Mapping[str, SettingSpec]) -> None:
        self._by_name: dict[str, Setting[Any]] = {name: Setting(name, spec) for name, spec in specs.items()}
        ALL_SETTINGS.update(self._by_name)

    def values_now(self) -> dict[str, Any]:
        """Return what each is set to, by name."""
        return {name: setting.value for name, setting in self._by_name.items()}

    def __getattr__(self, name: str) -> Setting[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._by_name[name]

    def __getitem__(self, name: str) -> Setting[Any]:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def sent_by(component: str, trigger: str) -> Any:
    """Return what a canvas component has sent, in the callback of this trigger."""
    return getattr(st.session_state[component], trigger)


@st.cache_resource(show_spinner=False)
def visitors() -> weakref.WeakSet[VisitorUsage]:
    """Return what the visitors of this server use, who share its memory."""
    return weakref.WeakSet()


# Entries

SETTINGS_STATE: Entry[SettingsState] = Entry("settings", SettingsState)
"""What all settings are set to."""

COMPARISONS: Entry[dict[str, tuple[Comparison[Any], str]]] = Entry("comparisons", dict)
"""The comparison of each page that has been drawn, and its token."""

VISITOR: Entry[VisitorUsage] = Entry("visitor", lambda: VisitorUsage(visitors()))
"""The memory and the turns at the cores that this session uses."""

ALLOWANCE: Entry[Allowance] = Entry("allowance", Allowance)
"""Bytes for the kept samples of all its runs."""

TRAINED: Entry[dict[str, Model]] = Entry("trained", dict)
"""Models sent from the Train page, by title."""

OWNER: Entry[str] = Entry("owner", str)
"""The secret by which sweeps know this browser, see ``rbmviz_app.links``; "" before it is asked for."""

TOKEN: Entry[str] = Entry("token", str)
"""Of the trainings of this session, or of its link; see ``rbmviz_app.checkpoints``."""

EMPTIED_UPLOADERS: Entry[dict[str, int]] = Entry("emptied uploaders", dict)
"""How often each uploader has been emptied, which gives it another key: Streamlit has no other way."""

LIVE_TRAININGS: Entry[Any] = Entry("live trainings", lambda: None)
"""Train: the ``rbmviz_app.checkpoints.LiveTrainings`` of this session."""

UPLOADS: Entry[dict[str, Any]] = Entry("uploads", dict)
"""The newest ``rbmviz_app.uploads.Upload`` by uploader."""


class Link(NamedTuple):
    """The address with which the session began.

    Parameters
    ----------
    page : str
        The page that it opens.
    parts : mapping of str to list of str
        What it says, by name.
    is_open : bool
        Whether settings, models and data are as it says.
    """

    page: str
    parts: Mapping[str, list[str]]
    is_open: bool = False


LINK: Entry[Link | None] = Entry("link", lambda: None)
"""The address with which the session began; None: it has not been read."""

MAX_PRESENTED_KNOBS = 2
"""Most knobs that stay while presenting."""

KNOB_NAME = re.compile(r"[a-z]\w{0,30}", re.ASCII)


def _presented() -> str:
    text = st.query_params.get("present", "")
    names = [name for name in text[:100].split(",") if KNOB_NAME.fullmatch(name)]
    return "1" if text == "1" else ",".join(names[:MAX_PRESENTED_KNOBS])


PRESENTED: Entry[str] = Entry("presented", _presented)
"""Presenting: "" (no), "1", or the names of the knobs that stay; at first what the address says."""

EMBEDDED: Entry[bool] = Entry("embedded", lambda: st.query_params.get("ui") == "min")
"""Whether the page is drawn to stand inside of another one; at first what the address says."""

EMBEDDED_KNOBS: Entry[str] = Entry("embedded knobs", lambda: st.query_params.get("show", "")[:300])
"""Names of the knobs that stay there, separated by commas, as the address has them."""

STARTS_PAUSED: Entry[bool] = Entry("starts paused", lambda: st.query_params.get("paused") == "1")
"""Whether runs wait for Play when a page is opened; at first what the address says."""

REDUCED_MOTION: Entry[bool] = Entry("reduced motion", bool)
"""Whether the browser has said that its user asks for less motion: then runs wait for Play, too."""

LINK_WARNINGS: Entry[dict[str, tuple[str, ...]]] = Entry("link warnings", dict)
"""Sentences about ignored parts of the link by page, until they are closed; "": of all pages."""

CLOSED_ALERTS: Entry[dict[str, str]] = Entry("closed alerts", dict)
"""Errors over the page that have been closed, and still hold, by their place."""

TOASTS: Entry[tuple[tuple[str, str], ...]] = Entry("toasts", tuple)
"""Sentences about the newest clicks and drags, with their icons, until they have been shown."""


class Drawn(NamedTuple):
    """What a page had when it was drawn last.

    Parameters
    ----------
    settings : mapping of str to value
        Its settings, by name: those that Undo goes back to after the next change.
    command : int
        What its Undo button takes back, see ``Comparison.undoable_commands``.
    preset : str
        Name (in the address) of the preset whose caption it has; "": it has none.
    caption : str
        The last caption of a preset that it had, whose place it keeps.
    """

    settings: Mapping[str, Any] = MappingProxyType({})
    command: int = 0
    preset: str = ""
    caption: str = ""


DRAWN_PAGES: Entry[dict[str, Drawn]] = Entry("drawn", dict)
"""What each page had when it was drawn last."""


def drawn(page: str) -> Drawn:
    """Return what a page had when it was drawn last."""
    return DRAWN_PAGES.value.get(page, Drawn())


def note_drawn(page: str, **parts: Any) -> None:
    """Note what a page has now."""
    DRAWN_PAGES.set(DRAWN_PAGES.value | {page: drawn(page)._replace(**parts)})


POPOVER_VERSIONS: Entry[dict[str, int]] = Entry("popover versions", dict)
"""Picks in each popover. The number is part of its key: after a pick it is another popover, closed."""

UNDO_SETTINGS: Entry[dict[str, dict[str, Any]]] = Entry("undo settings", dict)
"""What Undo sets on each page besides its runs: the settings that the newest command has changed."""


class StoppedTimer(NamedTuple):
    """When the timer of a part of a page stopped.

    Parameters
    ----------
    comparison : weakref.ref
        The comparison that the part shows.
    shown : tuple
        What it showed, see ``timer.shown_state``.
    hidden : bool
        Whether it stopped because the browser asked for no frames; else nothing had changed.
    """

    comparison: weakref.ref[Comparison]
    shown: tuple[Any, ...]
    hidden: bool


STOPPED_TIMERS: Entry[dict[str, StoppedTimer]] = Entry("stopped timers", dict)
"""Timed parts whose timer has stopped, by name."""


class SlowTimer(NamedTuple):
    """A timed part that is drawn less often than every second: its fragment's id, and the seconds between."""

    fragment_id: str
    seconds: float


SLOW_TIMERS: Entry[dict[str, SlowTimer]] = Entry("slow timers", dict)
"""Timed parts that are drawn less often than every second, by name."""

MODELS_ON_PAGES: Entry[dict[str, tuple[str, Model]]] = Entry("models on pages", dict)
"""Name and model of what the panels of each page show; the limits may have refused the one that is chosen."""

LAST_DATASET: Entry[Dataset | None] = Entry("last dataset", lambda: None)
"""Train: the last data set that could be loaded."""

OPENED_CHECKPOINT: Entry[str] = Entry("opened checkpoint", str)
"""Train: the uploaded checkpoint for which a panel was opened."""

EDITED_MATRIX: Entry[np.ndarray | None] = Entry("edited matrix", lambda: None)
"""Little chain: the matrix that the editor was filled with, float64 (states, states); None: the preset's."""

TABLE_VERSION: Entry[int] = Entry("table version", int)
"""Little chain: how often the editor was filled anew. The number is part of its key: edits are forgotten."""

AXES_PUT_AWAY: Entry[dict[str, dict[str, Any]]] = Entry("axes put away", dict)
"""Tune: values of the settings that name knobs, by key, of what is not tuned now (samplers or trainers)."""

CHAIN_STARTS: Entry[dict[int, int]] = Entry("chain starts", dict)
"""Little chain: the state that a chain starts in, by its number of states."""

LAST_CHAIN: Entry[tuple[np.ndarray, list[str]] | None] = Entry("last chain", lambda: None)
"""Little chain: the last table that was a transition matrix, and the names of its states."""

LAMBDA: Entry[float | None] = Entry("lambda", lambda: None)
"""Little chain: lambda, subtracted from the diagonal; None: half of the largest possible."""


DRAWN_UNITS: Entry[UnitByUnit] = Entry("drawn units", UnitByUnit.begin)
"""Little chain: the small model of which one unit after the other is drawn."""

SWEEP_VIEWS: Entry[dict[str, tuple[SweepView, str]]] = Entry("sweep views", dict)
"""Tune: the newest views of sweeps, by name, and their tokens."""

POINTER_PANEL: Entry[int | None] = Entry("pointer panel", lambda: None)
"""Tune: key of the panel whose chain follows the pointer over the map; None: not chosen yet."""

VERSION_AT_REST: Entry[dict[str, int]] = Entry("version at rest", dict)
"""Tune: the version of each sweep when the page was drawn after it had come to rest."""

DRAWN_TRAINERS: Entry[dict[int, str]] = Entry("drawn trainers", dict)
"""Train: names of the panels, by key, in the row that was drawn last."""

DRAWN_BESIDE: Entry[tuple[int, ...]] = Entry("drawn beside", tuple)
"""Tune: keys and runs of the panels beside the map when the whole page was drawn last."""

TRIED: Entry[list[Any]] = Entry("tried", list)
"""Sample: settings that were kept with their scores, the newest last."""


class LessonStep(NamedTuple):
    """A step of a lesson: the lesson's name, and the place of the step, from 0."""

    lesson: str
    step: int


OPEN_STEP: Entry[LessonStep | None] = Entry("open step", lambda: None)
"""The step of a lesson whose card is open; None: no lesson is open."""

STEP_TO_SET: Entry[bool] = Entry("step to set", bool)
"""Whether the page of the open step is still to be set to what the step asks for."""

OPENED_STEPS: Entry[int] = Entry("opened steps", int)
"""How many steps have been opened. The number is part of the key of their answers."""

STEP_TO_SHOW: Entry[bool] = Entry("step to show", bool)
"""Whether the page of the open step is to be opened: the card has moved on."""

LESSON_ANSWERS: Entry[dict[LessonStep, int | None]] = Entry("lesson answers", dict)
"""Place of the chosen answer of each step that has been answered."""

SEEN_CLAIMS: Entry[dict[LessonStep, dict[int, float]]] = Entry("seen claims", dict)
"""Claims of each step that have been seen, by their places, and the numbers that were seen."""

REVEALED: Entry[frozenset[LessonStep]] = Entry("revealed", frozenset)
"""Steps whose answers have been asked for."""


class Attempt(NamedTuple):
    """What came out in a challenge.

    Parameters
    ----------
    runs : tuple
        The runs that were judged: other ones of the page are another attempt.
    missed : str
        The first goal that was not reached, in words; "": all were.
    """

    runs: tuple[Any, ...]
    missed: str


ATTEMPTS: Entry[dict[LessonStep, Attempt]] = Entry("attempts", dict)
"""The newest attempt at each challenge."""

LESSON_PROGRESS: Entry[dict[str, int]] = Entry("lesson reached", dict)
"""The farthest step (from 1) that has been opened of each lesson, by its name."""

FINISHED_STEP: Entry[LessonStep | None] = Entry("finished step", lambda: None)
"""The last step that *Finish* has closed, as long as the page Learn says so; else None."""

OPENED_PAGE: Entry[str] = Entry("opened page", str)
"""The page that was drawn last; "": none has been."""


def forget_step(lesson: str, step: int) -> None:
    """Forget what was answered and seen in a step, which begins anew."""
    place = LessonStep(lesson, step)
    LESSON_ANSWERS.ensure().pop(place, None)
    SEEN_CLAIMS.ensure().pop(place, None)
    ATTEMPTS.ensure().pop(place, None)
    REVEALED.set(REVEALED.value - {place})


SHARED_PAGE: Entry[Share | None] = Entry("shared page", lambda: None)
"""What this session shares with those who watch; None: nothing."""


def add_link_warning(sentence: object, page: str = "") -> None:
    """Keep a sentence about an ignored part of the link, for ``messages.draw_link_warnings`` of this page."""
    known = LINK_WARNINGS.ensure()
    if str(sentence) not in known.get(page, ()):  # of two files that are gone it is the same
        known[page] = (*known.get(page, ()), str(sentence))


def close_link_warnings(page: str) -> None:
    """Forget the sentences about ignored parts of the link."""
    LINK_WARNINGS.value.pop(page, None)


def table_edits(version: int) -> dict[int, dict[str, float | None]]:
    """Return the cells of the chain's table that have been edited, by row and column."""
    return st.session_state.get(f"chain table {version}", {}).get("edited_rows", {})


def widget_value(key: str) -> Any:
    """Return the value of a widget that belongs to no setting; None: it has not been drawn yet."""
    return st.session_state.get(key)


def settings_now(names: Iterable[str]) -> dict[str, Any]:
    """Return what settings are set to, by name."""
    return {name: ALL_SETTINGS[name].value for name in names}


def set_undo_settings(page: str, before: Mapping[str, Any]) -> None:
    """Let Undo set the settings that have changed since ``before``."""
    now = settings_now(before)
    UNDO_SETTINGS.ensure()[page] = {name: x for name, x in before.items() if now[name] != x}


def close_popover(name: str) -> None:
    """Close a popover at the next run: it must not cover what was picked in it."""
    POPOVER_VERSIONS.set(POPOVER_VERSIONS.value | {name: POPOVER_VERSIONS.value.get(name, 0) + 1})


def popover_key(name: str) -> str:
    """Return the key under which a popover is drawn."""
    return f"{name} {POPOVER_VERSIONS.value.get(name, 0)}"
