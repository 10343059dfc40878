"""Every page in a browser that is not Chromium: pictures move, a slider acts, the console has no error.

So does a lesson that is a file, until its card is green.

``firefox.py`` and ``webkit.py`` open the browsers; both are driven by their own protocols, without a driver
package. By hand::

    python -m tests.browser.smoke firefox
    python -m tests.browser.smoke webkit --seconds 10
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from rbmviz.cli import main as rbmviz
from tests.attack.server import serving
from tests.waiting import PATIENCE

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


class Browser(Protocol):
    """One window of a browser."""

    def open(self, address: str) -> None:
        """Go to an address."""

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression: a number, a text or a truth value."""

    def errors(self) -> list[str]:
        """Return what the console has reported as an error since the page was opened."""


def until(browser: Browser, expression: str) -> None:
    """Wait until a JavaScript expression is true."""
    end = time.monotonic() + PATIENCE
    while not browser.evaluate(expression):
        assert time.monotonic() < end, f"never true: {expression}"
        time.sleep(0.2)


def check_page(browser: Browser, address: str, page: str) -> None:
    """Open a page; fail unless its pictures move, a slider acts and the console has no error."""
    browser.open(f"{address}/{page}")
    until(browser, "document.querySelector('h1') !== null")
    if page not in STILL_PAGES:
        until(browser, READY)
        before, value = browser.evaluate(PICTURES), browser.evaluate(VALUE)
        until(browser, f"{PICTURES} !== {before!r}")
        address_before = browser.evaluate("location.search")
        browser.evaluate(DRAG)
        assert browser.evaluate(VALUE) != value, f"{page}: the slider does nothing"
        until(browser, f"location.search !== {address_before!r}")
    elif "matrix" in page:
        until(browser, f"Boolean({FIRST_CHART})")
    until(browser, DRAWN)
    assert browser.errors() == [], page


FAST = """(speed => { speed.value = 1000; return speed.dispatchEvent(new Event('change')); })(
    document.querySelector('.transport select'))"""


def check_lesson(browser: Browser, file: Path) -> None:
    """Make a lesson as a file; fail unless its first claim is seen and its second step draws units."""
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
    assert browser.errors() == [], file


def pictures_a_second(browser: Browser, address: str, seconds: float) -> float:
    """Return how many pictures a second the first page shows."""
    browser.open(address)
    until(browser, READY)
    frames = f"Number({PANELS}[0].parentElement.dataset.frames)"
    first, begun = browser.evaluate(frames), time.monotonic()
    time.sleep(seconds)
    return (browser.evaluate(frames) - first) / (time.monotonic() - begun)


def main() -> None:
    """Check every page, and count the pictures of the first one if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("browser", choices=("firefox", "webkit"))
    parser.add_argument("--seconds", type=float, default=0, help="count pictures of the first page so long")
    asked = parser.parse_args()
    if asked.browser == "firefox":
        from tests.browser.firefox import firefox as opened
    else:
        from tests.browser.webkit import webkit as opened
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log.txt") as server:
        with opened(Path(folder)) as browser:
            for page in (*PAGES, *STILL_PAGES):
                check_page(browser, server.address, page)
                moves = "" if page in STILL_PAGES else "pictures move, a slider acts, "
                print(f"/{page}: {moves}no error")  # noqa: T201
            check_lesson(browser, Path(folder) / "lesson.html")
            print("a lesson as a file: its card is green, no error")  # noqa: T201
            if asked.seconds:
                rate = pictures_a_second(browser, server.address, asked.seconds)
                print(f"{rate:.1f} pictures a second")  # noqa: T201


if __name__ == "__main__":
    main()
