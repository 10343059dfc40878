"""What outlives a script run: the typed entries of the session state, all but the settings of pages.

No other module names the session state. What the widgets of a page choose (``Setting``) is declared by the
page, in its ``Settings``.

Streamlit runs the whole script of a page after each click (or one of its fragments), with new variables. The
session state is what one browser tab keeps meanwhile.
"""

import re
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import streamlit as st

from rbmviz import Model
from rbmviz.datasets import Dataset
from rbmviz.links import address_text
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


def address_texts(value: Any) -> list[str]:
    """Return the values of a setting as they stand in the address; several if it is a list of choices."""
    return [address_text(one) for one in value] if isinstance(value, list) else [address_text(value)]


class Setting(Entry[T]):
    """The value of a widget that is also in the address, under the same name.

    Parameters
    ----------
    key : str
        Its name.
    spec : SettingSpec
        Its default, its label and what it may be.
    """

    def __init__(self, key: str, spec: SettingSpec) -> None:
        super().__init__(key, lambda: spec.default)
        self.spec, self.default, self.label = spec, spec.default, spec.label

    def set(self, value: T) -> None:
        """Store a value in the place of that of its widget."""
        set_for_widget(self.key, value)

    @property
    def chosen(self) -> T | None:
        """The value of the widget; None if it has not been drawn or set yet."""
        return st.session_state.get(self.key)

    def texts(self, value: T | None) -> list[str]:
        """Return what stands in the address if the setting has this value; nothing for the default."""
        return [] if value is None or value == self.default else address_texts(value)

    @property
    def bound(self) -> dict[str, Any]:
        """Arguments that bind a Streamlit widget to this setting; notes in which popover it is drawn.

        For ``controls``, and for what no challenge has to lock.
        """
        if POPOVER_OF.value.get(self.key, "") != _DRAWN_IN.get():
            POPOVER_OF.set(POPOVER_OF.value | {self.key: _DRAWN_IN.get()})
        return {"key": self.key, "bind": "query-params"}


ALL_SETTINGS: dict[str, Setting[Any]] = {}
"""The settings of all pages, by key."""


class PageSettings(Mapping[str, Setting[Any]]):
    """The settings of a page, by name or as attributes: ``Settings.seed.value``.

    No two pages may have settings of one name, which would be one entry and one name in the address.
    """

    def __init__(self, specs: Mapping[str, SettingSpec]) -> None:
        self._by_name: dict[str, Setting[Any]] = {name: Setting(name, spec) for name, spec in specs.items()}
        ALL_SETTINGS.update(self._by_name)

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


class SetByServer(NamedTuple):
    """A setting that a preset or Undo has set, and not its widget.

    Parameters
    ----------
    value : int, float, bool or str
    old : tuple
        The values that it had before, which a browser may still send.
    at : float
        time.monotonic() when it was set.
    drawn_at : float or None
        time.monotonic() when the page that shows it had been drawn; None: not yet, or its popover is closed.
    written_at : float or None
        time.monotonic() when the page had been drawn that has it in its address; None: not yet.
    """

    value: Any
    old: tuple[Any, ...]
    at: float
    drawn_at: float | None = None
    written_at: float | None = None

    def may_be_unknown(self, now: float) -> bool:
        """Return whether a browser may still send an old value because it does not know of this one."""
        if self.drawn_at is None:
            return now - self.at < UNDRAWN_SECONDS
        return now - self.drawn_at < STALE_SECONDS


STALE_SECONDS = 2.0
"""How long after the page was drawn a browser may send a value that the server has replaced, with an address
that has the old value, too. Messages take less on their way, and users need longer to see a value and change
it back."""

UNDRAWN_SECONDS = 30.0
"""The same, if only a fragment has been drawn since."""


_DRAWN_IN: ContextVar[str] = ContextVar("drawn in", default="")
"""Key of the popover whose widgets are drawn now; "": none."""


@contextmanager
def drawn_in(popover: str) -> Iterator[None]:
    """Say that the widgets that are drawn now stand in the popover with this key, which reports its state."""
    token = _DRAWN_IN.set(popover)
    try:
        yield
    finally:
        _DRAWN_IN.reset(token)


def _is_closed(key: str) -> bool:
    """Return whether a setting's widget stands in a popover that is closed."""
    popover = POPOVER_OF.value.get(key, "")
    return bool(popover) and not st.session_state.get(popover)


def set_for_widget(key: str, value: Any) -> None:
    """Set the value of a widget; no browser that does not know of it yet will replace it (``keep_set``)."""
    before = st.session_state.get(key)
    if before is not None and before != value:
        known = SET_BY_SERVER.value
        old = [before, *(known[key].old if key in known else ())]
        different = [x for i, x in enumerate(old) if x != value and x not in old[:i]]
        one = SetByServer(value, tuple(different), time.monotonic())
        SET_BY_SERVER.set(known | {key: one})
    st.session_state[key] = value


def keep_set() -> None:
    """Take back what browsers have sent that did not know yet what a preset has set.

    To be called before settings are read or set: by a page before its widgets, and by callbacks, which
    Streamlit calls before the page.

    A browser sends the values of all widgets with every message, with those of timers, too. One that it sends
    between a click on a preset and the new page would bring the old values back, without a word. And what
    stands in a popover that is closed it does not draw, so that it learns nothing new: it sends the old
    values until the popover is opened. A user who chooses an old value again is recognised by the address,
    which the browser changes with every choice.
    """
    pending = SET_BY_SERVER.value
    if not pending:
        return
    now = time.monotonic()
    pending = {
        key: one._replace(at=now, drawn_at=None) if _is_closed(key) else one for key, one in pending.items()
    }
    pending = {key: one for key, one in pending.items() if one.may_be_unknown(now)}
    SET_BY_SERVER.set(pending)
    for key in pending:
        if is_stale(key):
            st.session_state[key] = pending[key].value
            TAKEN_BACK.set(TAKEN_BACK.value | {key: TAKEN_BACK.value.get(key, 0) + 1})


def is_stale(key: str) -> bool:
    """Return whether a browser has sent a value of a setting that the server has replaced.

    For STALE_SECONDS after the page was drawn with the new value every old one is stale. Later the address
    decides: where it still has what the server has set, no user has chosen.
    """
    one = SET_BY_SERVER.value.get(key)
    if one is None or key not in st.session_state or st.session_state[key] not in one.old:
        return False
    written = one.written_at is not None and time.monotonic() - one.written_at >= STALE_SECONDS
    return not written or st.query_params.get_all(key) == ALL_SETTINGS[key].texts(one.value)


def note_drawn() -> None:
    """Note that the whole page has been drawn with the values that were set; for the end of its run."""
    now, pending = time.monotonic(), SET_BY_SERVER.value
    if any(one.drawn_at is None for one in pending.values()):
        SET_BY_SERVER.set(
            {
                key: one._replace(
                    drawn_at=one.drawn_at or (None if _is_closed(key) else now),
                    written_at=one.written_at or now,
                )
                for key, one in pending.items()
            }
        )


def keep_hidden(settings: Iterable[Setting[Any]]) -> None:
    """Keep settings whose widgets are not drawn in this run; Streamlit would forget them."""
    for setting in settings:
        if setting.key in st.session_state:
            setting.set(setting.value)


def show_in_address(settings: Iterable[Setting[Any]], shown: bool) -> None:
    """Say whether settings stand in the address, see ``NOT_IN_ADDRESS``."""
    keys = {setting.key for setting in settings}
    NOT_IN_ADDRESS.set(NOT_IN_ADDRESS.value - keys if shown else NOT_IN_ADDRESS.value | keys)


def start_with(key: str, value: Any) -> None:
    """Give the widget of a setting its first value, unless it has one; call before it is drawn."""
    st.session_state.setdefault(key, value)


def set_on_other_page(key: str, value: Any) -> None:
    """Set a setting of another page, before that page is opened."""
    st.session_state[key] = value


def sent_by(component: str, trigger: str) -> Any:
    """Return what a canvas component has sent, in the callback of this trigger."""
    return getattr(st.session_state[component], trigger)


@st.cache_resource(show_spinner=False)
def visitors() -> weakref.WeakSet[VisitorUsage]:
    """Return what the visitors of this server use, who share its memory."""
    return weakref.WeakSet()


# Entries

SET_BY_SERVER: Entry[dict[str, SetByServer]] = Entry("set by server", dict)
"""Settings that the server has set lately, by key."""

TAKEN_BACK: Entry[dict[str, int]] = Entry("taken back", dict)
"""How often a browser has sent a value of each setting that the server had replaced, by key. The browser may
have it in its address, too, as where a user has chosen it within STALE_SECONDS."""

POPOVER_OF: Entry[dict[str, str]] = Entry("popover of setting", dict)
"""The popover in which each setting has been drawn last, by the keys of both; "": in none."""

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

NOT_IN_ADDRESS: Entry[frozenset[str]] = Entry("hidden settings", frozenset)
"""Settings that stand in no address now: of a closed fold, which they would open in a copied link, and a
list's choice that an address without it shows as well."""

LINK_OPENED: Entry[bool] = Entry("link opened", bool)
"""Whether the address with which the session began has been read."""

SETTINGS_OF_LINK: Entry[dict[str, list[str]]] = Entry("settings of link", dict)
"""What the link gives to settings, by name, until their page has been drawn."""

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

SHOWN_PRESET: Entry[dict[str, str]] = Entry("shown preset", dict)
"""Name (in the address) of the preset whose caption each page has drawn; "": it has drawn none."""

LAST_CAPTION: Entry[dict[str, str]] = Entry("last caption", dict)
"""Caption of a preset that each page has drawn last, whose place it keeps."""

POPOVER_VERSIONS: Entry[dict[str, int]] = Entry("popover versions", dict)
"""Picks in each popover. The number is part of its key: after a pick it is another popover, closed."""

SHOWN_SETTINGS: Entry[dict[str, dict[str, Any]]] = Entry("shown settings", dict)
"""The settings of each page when it was last drawn, by name: those that Undo goes back to."""

UNDO_SETTINGS: Entry[dict[str, dict[str, Any]]] = Entry("undo settings", dict)
"""What Undo sets on each page besides its runs: the settings that the newest command has changed."""

SHOWN_UNDO: Entry[dict[str, int]] = Entry("shown undo", dict)
"""The command of each page that its Undo button takes back, see ``Comparison.undoable_commands``."""


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

SHOWN_MODELS: Entry[dict[str, tuple[str, Model]]] = Entry("shown models", dict)
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

SHOWN_SWEEP: Entry[str | None] = Entry("shown sweep", lambda: None)
"""Tune: name of the sweep on the screen; "": the one that is planned; None: what the link says."""

ALSO_UNDONE = {"tune": (SHOWN_SWEEP.key,)}
"""Keys of entries of a page that Undo sets back, besides its settings."""

SWEEP_VIEWS: Entry[dict[str, tuple[SweepView, str]]] = Entry("sweep views", dict)
"""Tune: the newest views of sweeps, by name, and their tokens."""

POINTER_PANEL: Entry[int | None] = Entry("pointer panel", lambda: None)
"""Tune: key of the panel whose chain follows the pointer over the map; None: not chosen yet."""

SHOWN_VERSION: Entry[dict[str, int]] = Entry("shown version", dict)
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

CLICKED_MODEL: Entry[str | None] = Entry("clicked model", lambda: None)
"""Tune: the model of the cell that was clicked last; "": none; None: the link has not been read."""


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
    """Return the value of a widget that stands in no address, in its own callback."""
    return st.session_state[key]


def settings_now(page: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a page that have been drawn, and what else Undo sets back, by key."""
    names = [*names, *ALSO_UNDONE.get(page, ())]
    return {name: st.session_state[name] for name in names if name in st.session_state}


def set_undo_settings(page: str, before: dict[str, Any]) -> None:
    """Let Undo set the settings that have changed since ``before``."""
    now = settings_now(page, before)
    UNDO_SETTINGS.ensure()[page] = {name: x for name, x in before.items() if now.get(name, x) != x}


def undo_settings(page: str) -> None:
    """Set back the settings that the newest command of a page has changed."""
    for key, value in UNDO_SETTINGS.value.get(page, {}).items():
        if key in ALSO_UNDONE.get(page, ()):  # no widget holds it
            st.session_state[key] = value
        else:
            set_for_widget(key, value)


def shown_undo(comparison: Comparison[Any]) -> int:
    """Return the number of the command that the Undo button of a comparison's page takes back."""
    [page] = [page for page, (known, _) in COMPARISONS.value.items() if known is comparison]
    return SHOWN_UNDO.value.get(page, comparison.undoable_commands)


def setting_value(key: str) -> Any:
    """Return the value of a widget that may not have been drawn yet; None: it has none."""
    return st.session_state.get(key)


def close_popover(name: str) -> None:
    """Close a popover at the next run: it must not cover what was picked in it."""
    POPOVER_VERSIONS.set(POPOVER_VERSIONS.value | {name: POPOVER_VERSIONS.value.get(name, 0) + 1})


def popover_key(name: str) -> str:
    """Return the key under which a popover is drawn."""
    return f"{name} {POPOVER_VERSIONS.value.get(name, 0)}"
