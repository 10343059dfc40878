"""The comparisons and the views of sweeps of a session, and how long they keep threads and memory.

A comparison (its panels, chains and scores) is kept in the session state. Its threads belong to a resource of
the session, which Streamlit releases on every disconnect; after a reconnect the same comparison gets new
threads and goes on. Ten seconds after a disconnect the memory of its runs is freed; a reconnect within ten
minutes, while Streamlit still has the session, rebuilds them.
"""

import secrets
import weakref
from collections.abc import MutableMapping
from typing import TypeVar

import streamlit as st

from rbmviz.session import Comparison, janitor
from rbmviz.session.comparison import Setup
from rbmviz.session.limits import RELEASE_SECONDS
from rbmviz.session.sweep_view import SweepView
from rbmviz.session.sweeps import Sweep
from rbmviz_app.session import COMPARISONS, SWEEP_VIEWS, VISITOR

S = TypeVar("S", bound=Setup)


@st.cache_resource(show_spinner=False)
def comparisons_by_token() -> MutableMapping[str, Comparison]:
    """Return the comparisons of this process by their unguessable token (the live path finds them here)."""
    return weakref.WeakValueDictionary()


def _release(comparison: Comparison) -> None:
    # On the server's event loop: this sets flags only.
    janitor.close(comparison, RELEASE_SECONDS)


@st.cache_resource(scope="session", on_release=_release, show_spinner=False)
def _threads(token: str, _comparison: Comparison) -> Comparison:
    return _comparison


def open_comparison(page: str, setup: S, rate: float) -> tuple[Comparison[S], bool]:
    """Open this session's comparison of a page; return it, and whether it was made just now.

    Parameters
    ----------
    page : str
        Name of the page, or another one for a second comparison of the same page.
    setup : Setup
        Of a new comparison; one that is there keeps its own.
    rate : float
        Steps per second of a new comparison.

    Raises
    ------
    BadInput
        If the comparison has been put to rest and there is no room for it now.
    """
    comparisons, visitor = COMPARISONS.ensure(), VISITOR.ensure()
    is_new = page not in comparisons
    if is_new:
        comparisons[page] = Comparison(setup, rate, visitor), secrets.token_urlsafe(24)
    comparison, token = comparisons[page]
    comparisons_by_token()[token] = comparison
    visitor.visit(page, comparison)
    # Before it is opened: a disconnect in between must not leave it open.
    _threads(token, comparison)
    if comparison.closed_at is not None:
        comparison.open()
    return comparison, is_new


@st.cache_resource(show_spinner=False)
def views_by_token() -> MutableMapping[str, SweepView]:
    """Return the views of sweeps of this process by their unguessable token, for the live path."""
    return weakref.WeakValueDictionary()


MAX_VIEWS = 4
"""Views of sweeps that a session keeps."""


def open_view(name: str, sweep: Sweep) -> tuple[SweepView, str]:
    """Return this session's view of a sweep, and its token; the newest ones are kept.

    name : of the sweep; "": the planned one, whose view lasts until the plan changes
    """
    views = SWEEP_VIEWS.ensure()
    known = views.get(name)
    same = known is not None and (known[0].sweep is sweep or (not name and known[0].sweep.plan == sweep.plan))
    if known is None or not same:
        before = known[0] if known is not None else None
        views.pop(name, None)
        view = SweepView(sweep, before.by if before else "", before.cost_unit if before else "samples")
        views[name] = view, secrets.token_urlsafe(24)
        while len(views) > MAX_VIEWS:
            views.pop(next(iter(views)))
    view, token = views[name]
    views_by_token()[token] = view
    return view, token


def begin_anew(page: str) -> None:
    """Forget this session's comparison of a page: the next visit makes another one, from its address."""
    found = COMPARISONS.value.pop(page, None)
    if found is not None:
        found[0].close()
        found[0].rest()
        VISITOR.value.leave(page)


def drop_empty_comparison(page: str) -> None:
    """Forget this session's comparison of a page if it has no panel: the next visit makes another one."""
    comparisons = COMPARISONS.value
    if page in comparisons and not comparisons[page][0].panels:
        del comparisons[page]
        VISITOR.value.leave(page)
