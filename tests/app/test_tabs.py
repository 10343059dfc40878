"""A tab of a browser: its newest session has the page, and a link opened in it begins anew."""

import pytest
from page_settings import race_of

from rbmviz_app import races, tabs
from rbmviz_app.session import SESSION, TAB
from rbmviz_app.share.view import Share


@pytest.fixture
def open_in_tab(page, address_of, monkeypatch):
    """Open pages in one tab, each in a session of its own."""
    monkeypatch.setattr(tabs, "key_of_browser", lambda: "5" * 32)
    yield lambda **query: page("sample", shell=True, **query)
    tabs.tabs_by_key().clear()


def test_newest_session_of_a_tab_has_its_page(open_in_tab, address_of):
    first = open_in_tab(model="bas_pcd", p=["gibbs"])
    second = open_in_tab(**address_of(first), paused_at=["12"])
    assert race_of(second, "sample") is race_of(first, "sample")
    assert second.session_state[TAB] is first.session_state[TAB]
    races._lose(races._Connection(first.session_state[TAB], first.session_state[SESSION]))
    assert race_of(second, "sample").closed_at is None  # a lost connection that the server has noticed late
    races._lose(races._Connection(second.session_state[TAB], second.session_state[SESSION]))
    assert race_of(second, "sample").closed_at is not None


def test_link_opened_in_a_tab_takes_only_the_share_along(open_in_tab, address_of):
    first = open_in_tab(model="bas_pcd", p=["gibbs"])
    share = Share("taught")
    first.session_state[TAB].values["shared page"] = share
    second = open_in_tab(model="bas_pcd", p=["rates_fpcd"])
    assert race_of(second, "sample") is not race_of(first, "sample")
    assert race_of(first, "sample").closed_at is not None
    assert second.session_state["shared page"] is share
    assert (share.view.page, share.away) == ("sample", False)


@pytest.mark.parametrize("sent", ["", "5" * 31, "5" * 33, "../" + "5" * 29, "G" * 32])
def test_invalid_visitor_key_is_ignored(monkeypatch, sent):
    monkeypatch.setattr(type(tabs.st.context), "cookies", {tabs.TAB_COOKIE: sent})
    assert tabs.key_of_browser() == ""
