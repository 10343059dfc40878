"""Fixtures of the browser tests: a running server, and pages in Chromium."""

import functools
import os

import pytest
from playwright.sync_api import expect

from tests.attack.server import serving
from tests.browser.live import CHROMIUM, PATIENCE, SIZE, Live, find_chromium, open_chromium

ONE_PROCESS = ("--process-per-site", "--js-flags=--no-flush-bytecode")
"""All pages of a profile in one process, which keeps Streamlit's scripts compiled."""


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Serve the app with the command of the README, from another folder; yield its address."""
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with serving(log, folder=log.parent) as server:
        yield server.address
    assert not server.tracebacks


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium.

    RBMVIZ_BROWSER=required makes its absence a failure. The name of a program takes that one.
    """
    wish = os.environ.get("RBMVIZ_BROWSER", "")
    path = find_chromium(CHROMIUM if wish in ("", "required") else (wish,))
    if path is None:
        reason = "no Chromium on this machine: 'apt install chromium'"
        if wish:
            pytest.fail(reason)
        pytest.skip(reason)
    expect.set_options(timeout=1000 * PATIENCE)
    with open_chromium(path, *ONE_PROCESS) as browser:
        yield browser


@pytest.fixture(scope="session")
def profile(chromium, server):
    """Return the nth browser profile with some options of a device; each keeps Streamlit's scripts.

    A small page, its first, holds the process of all others.
    """

    @functools.cache
    def made(n, **options):
        context = chromium.new_context(viewport=SIZE, **options)
        context.new_page().goto(f"{server}/_stcore/health")
        return context

    return made


@pytest.fixture
def live(profile, server):
    """Open pages, each a session of its own; after the test, none of them may have reported an error.

    Arguments of the function: ``another``, whether the page is opened in another browser, which has nothing
    of what the others store; ``options`` of a device, which is another browser, too.
    """
    contexts, pages = [profile(0)], []

    def make(viewport=SIZE, color_scheme=None, reduced_motion=None, another=False, **options):
        if another or options:
            contexts.append(profile(len(contexts), **options))
        page = contexts[-1 if another or options else 0].new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        pages.append(Live(page, server))
        return pages[-1]

    yield make
    for context in contexts:
        held, *opened = context.pages
        held.evaluate("localStorage.clear()")
        for page in opened:
            page.close()
        context.clear_cookies()
        context.clear_permissions()
    assert [error for page in pages for error in page.errors] == []
