"""Every page in browsers that are not Chromium: pictures move, a slider acts, the console has no error.

``firefox.py`` and ``webkit.py`` open them; both are driven by their own protocols, without a driver package.
"""

import shutil

import pytest
from waiting import wait

from rbmviz.cli import main as rbmviz
from tests.browser.firefox import FIREFOX, firefox
from tests.browser.webkit import webkit

pytestmark = pytest.mark.slow

PAGES = ("", "train", "coupling", "weights", "chain?little=landscape")
STILL_PAGES = ("chain", "chain?little=matrix", "tune", "papers", "glossary")
"""Pages without live panels when they are opened."""

PANELS = """(() => { const within = root => [...root.querySelectorAll('*')].flatMap(e =>
    [...(e.matches('section.panel') ? [e] : []), ...(e.shadowRoot ? within(e.shadowRoot) : [])]);
    return within(document); })()"""

READY = f"{PANELS}.length > 0 && {PANELS}.every(p => Number(p.dataset.n) > 0)"

PICTURES = f"JSON.stringify({PANELS}.map(p => p.querySelector('canvas.picture').toDataURL()))"

FIRST_CHART = "document.querySelector('[class*=st-key-plot-]')"
DRAWN = "document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'"

VALUE = f"{PANELS}[0].querySelector('.knob .value').value"

DRAG = f"""(() => {{ const range = {PANELS}[0].querySelector('.knob input[type=range]');
    range.value = Number(range.value) > 500 ? 250 : 750;
    range.dispatchEvent(new Event('input')); range.dispatchEvent(new Event('change')); return true; }})()"""


OPENED = {"firefox": (FIREFOX, firefox), "webkit": (shutil.which("WebKitWebDriver"), webkit)}


@pytest.fixture(scope="module", params=OPENED)
def browser(request, tmp_path_factory):
    """One window of a browser."""
    program, opened = OPENED[request.param]
    if program is None:
        pytest.skip(f"no {request.param} on this machine")
    with opened(tmp_path_factory.mktemp(request.param)) as browser:
        yield browser


def until(browser, expression):
    """Wait until a JavaScript expression is true."""
    wait(lambda: browser.evaluate(expression), expression)


@pytest.mark.parametrize("page", [*PAGES, *STILL_PAGES])
def test_pictures_move_and_a_slider_acts(browser, server, page):
    browser.open(f"{server}/{page}")
    until(browser, "document.querySelector('h1') !== null")
    if page not in STILL_PAGES:
        until(browser, READY)
        before, value = browser.evaluate(PICTURES), browser.evaluate(VALUE)
        until(browser, f"{PICTURES} !== {before!r}")
        address_before = browser.evaluate("location.search")
        browser.evaluate(DRAG)
        assert browser.evaluate(VALUE) != value
        until(browser, f"location.search !== {address_before!r}")
    elif "matrix" in page:
        until(browser, f"Boolean({FIRST_CHART})")
    until(browser, DRAWN)
    assert browser.errors() == []


FAST = """(speed => { speed.value = 1000; return speed.dispatchEvent(new Event('change')); })(
    document.querySelector('.transport select'))"""


def test_a_lesson_as_a_file_turns_green_and_draws_units(browser, tmp_path):
    file = tmp_path / "lesson.html"
    assert rbmviz(["play", "--lesson", "rbm", "--out", str(file)]) == 0
    browser.open(file.as_uri())
    until(browser, "document.querySelector('.card #answer-0') !== null")
    for act in (
        "document.querySelector('#answer-0').click()",
        FAST,
        "document.querySelector('.play').click()",
    ):
        browser.evaluate(act)
    until(browser, "document.querySelector('.card.all-seen') !== null")
    browser.evaluate("document.querySelector('#Next').click()")
    until(browser, "document.querySelector('.drawing svg, .drawing canvas') !== null")
    assert browser.errors() == []
