"""A session's races and private sweeps, and the lifetime of their work and memory.

A race (its panels, chains and scores) is kept in the session state. It is open while the session holds
a cached resource, which Streamlit releases on every disconnect; after a reconnect or a reload the same
race continues (see ``tabs``). Ten seconds after a disconnect, the memory of its runs is freed; a
reconnect within ten minutes, while Streamlit still has the session, rebuilds the runs.
"""

import weakref
from collections.abc import MutableMapping
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from rbmviz.session.race import Setup
from rbmviz_app import messages
from rbmviz_app.jobs import Job
from rbmviz_app.race import PageRace
from rbmviz_app.session import OWN_SWEEPS, RACES, SHARED_PAGE, Tab, tab_of_session
from rbmviz_app.shared import sweep_jobs

S = TypeVar("S", bound=Setup)


@st.cache_resource(show_spinner=False)
def races_by_token() -> MutableMapping[str, PageRace[Any]]:
    """Return this process's races by their unguessable tokens, for the live path."""
    return weakref.WeakValueDictionary()


def panels_at_work() -> int:
    """Return the number of panels, of all visitors, that may make steps now."""
    races = list(races_by_token().values())
    return sum(len(race.panels) for race in races if race.is_awake)


class _Connection(NamedTuple):
    """The connection of a session to the page of its tab; other fields as in the session state."""

    tab: Tab
    session: object


def _lose(lost: _Connection) -> None:
    if lost.session is lost.tab.session:  # otherwise the page has been reloaded, and works with the tab now
        close_work(lost.tab)


@st.cache_resource(scope="session", on_release=_lose, show_spinner=False)
def _until_disconnect(_connection: _Connection) -> _Connection:
    return _connection


def connect() -> None:
    """Close this session's races, sweeps and share once its connection is lost."""
    if (entered := tab_of_session()) is not None:
        _until_disconnect(_Connection(*entered))
        if (share := entered[0].values.get(SHARED_PAGE.key)) is not None:
            share.come_back()


def close_work(tab: Tab, for_good: bool = False) -> None:
    """Stop the work of a tab without a page; called on the server's event loop, so it only sets flags.

    Runs that somebody watches go on, unless the tab has gone ``for_good``.
    """
    share = tab.values.get(SHARED_PAGE.key)
    watched = share.view.race if share is not None and share.watchers and not for_good else None
    for race in list(tab.values.get(RACES.key, {}).values()):
        if for_good:
            race.close()
            race.free()
        elif race is not watched:
            race.leave()
    for job in list(tab.values.get(OWN_SWEEPS.key, {}).values()):
        sweep_jobs().pause(job)
    if share is not None:
        share.leave()


def open_race(page: str, setup: S, rate: float) -> tuple[PageRace[S], bool]:
    """Open this session's race of a page; return it and whether it is new.

    setup, rate : of a new race; an existing one keeps its own
    """
    races = RACES.ensure()
    is_new = page not in races
    if is_new:
        races[page] = PageRace(page, setup, rate)
    race = races[page]
    races_by_token()[race.token] = race
    connect()  # before opening it, so that a disconnect in between cannot leave it open
    if not race.is_open:
        race.open()
    if race.lost:
        race.lost = False
        messages.inform(
            "The trainings are gone: nobody was here for ten minutes. To keep one, save its checkpoint."
        )
    return race, is_new


def own_sweeps() -> dict[str, Job]:
    """Return the private sweeps of this session, which run while its page is open, by name."""
    connect()
    return OWN_SWEEPS.ensure()


def discard_sweeps_of(content: object) -> None:
    """Delete the private sweeps that use this model or data set of the visitor."""
    for name, job in list(OWN_SWEEPS.value.items()):
        if any(content is each for each in job.own.values()):
            sweep_jobs().delete(job)
            OWN_SWEEPS.value.pop(name, None)


def drop_empty_race(page: str) -> None:
    """Forget this session's race of a page if it has no panel: the next visit creates a new one."""
    races = RACES.value
    if page in races and not races[page].panels:
        del races[page]
