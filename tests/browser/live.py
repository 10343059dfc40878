"""Chromium, and pages of the app in it: what tests and the scripts beside them share."""

import contextlib
import functools
import shutil
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Error, Locator, TimeoutError, sync_playwright

from rbmviz.session.race import UNDO_SECONDS
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first, which Debian has, takes a fifth less processor time for a page."""

SIZE = {"width": 1280, "height": 1000}
"""Of the window, in pixels."""

LAPTOP = {"width": 1280, "height": 720}
"""The smallest window in which panels and main chart are side by side, in pixels."""

PHONE = {"width": 390, "height": 844}

DRAWN = """[...document.querySelectorAll('[class*=st-key-plot-] *')]
    .map(e => e.matches('canvas') ? e : e.shadowRoot?.querySelector('.chart:not([hidden]) .plot'))
    .find(Boolean)"""
"""The first chart that is drawn."""

SETTLED = """document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-stale=true]')
    && getComputedStyle(document.documentElement).getPropertyValue('--bar')
    && document.getAnimations().every(a => !(a instanceof CSSTransition))"""
"""Streamlit fades what a run has not drawn again; colours change by transitions; style.css may come last."""

PAUSED = "panels.length > 0 && panels.every(p => p.dataset.status === 'paused')"

CRC_32 = """(bytes => {
    let crc = ~0;
    for (const byte of bytes) {
        crc ^= byte;
        for (let k = 0; k < 8; k++) crc = crc & 1 ? 0xEDB88320 ^ (crc >>> 1) : crc >>> 1;
    }
    return ~crc >>> 0;
})"""
"""The checksum of zlib.crc32, as a function of an array of bytes."""

FIRST_SCREEN = """() => {
    const within = root => [...root.querySelectorAll('*')]
        .flatMap(e => [e, ...(e.shadowRoot ? within(e.shadowRoot) : [])]);
    const isSeen = ({ left, right, top, bottom }) => right - left > 1 && bottom - top > 1
        && left < innerWidth && right > 0 && top < innerHeight && bottom > 0;
    const all = within(document.body)
        .filter(e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }));
    const texts = all.filter(e => !e.matches('script, style, title, option, kbd, .spoken, .spoken *, math *')
            && !e.matches('.names *, [translate=no]')
            && !e.matches('[data-testid=stIconMaterial], [data-testid=stSkipToContent]'))
        .flatMap(e => [...e.childNodes]).filter(node => node.nodeType === Node.TEXT_NODE)
        .map(node => {
            const range = document.createRange();
            range.selectNodeContents(node);
            return [node.textContent, range.getBoundingClientRect()];
        });
    const chosen = all.filter(e => e.matches('select, input[role=combobox]'))
        .map(e => [e.selectedOptions?.[0].text ?? e.value, e.getBoundingClientRect()]);
    const wordsOf = list => list.flatMap(([text]) => text.match(/[\\p{L}][\\p{L}’'-]+/gu) ?? []);
    const controls = all.filter(e => e.matches('a[href], button, input, select, summary, [tabindex]'))
        .filter(e => e.tabIndex >= 0 && !e.disabled && isSeen(e.getBoundingClientRect()));
    return {
        words: wordsOf([...texts, ...chosen].filter(([, box]) => isSeen(box))),
        page: wordsOf(texts.filter(([, box]) => box.width > 1)).length,
        controls: controls.map(e => (e.ariaLabel || e.textContent || e.id || e.outerHTML).slice(0, 40)),
    };
}"""
"""Words of two letters or more; names and numbers in charts are pictures. A slider and its box are two."""


def find_chromium(names: tuple[str, ...] = CHROMIUM) -> str | None:
    """Return the path of the first of these programs that this machine has."""
    return next(filter(None, map(shutil.which, names)), None)


@contextlib.contextmanager
def open_chromium(path: str | None = None, *flags: str) -> Iterator[Browser]:
    """Start a Chromium (default: the system's) with these flags, and close it afterwards."""
    with sync_playwright() as playwright:
        options = ["--no-sandbox", *flags]
        browser = playwright.chromium.launch(executable_path=path or find_chromium(), args=options)
        yield browser
        browser.close()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving_folder(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Silent, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Live:
    """One page of the app, with functions that read its live panels, which are inside a shadow root."""

    FIND = """() => {
        const within = root => [...root.querySelectorAll('*')].flatMap(e =>
            [...(e.matches('section.panel') ? [e] : []), ...(e.shadowRoot ? within(e.shadowRoot) : [])]);
        window.panels = within(document);
        return window.panels.length;
    }"""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._console)

    def _console(self, message):
        # Streamlit itself asks for addresses that do not exist, on the internet and below the page's path. It
        # also complains when it is left while it works.
        url = message.location.get("url", "")
        ours = not url or (self.address in url and "/_stcore/" not in url)
        ours = ours and "when disconnected from server" not in message.text
        if message.type == "error" and ours:
            self.errors.append(f"{message.text} {url}".strip())

    @property
    def url(self):
        """The address that stands in the browser now; ``page.url`` may be the one before the last wait."""
        return self.page.evaluate("location.href")

    @property
    def charts(self):
        """The charts of the page, without those in the folds of its panels."""
        return self.page.locator(".plot canvas:not(.look *)")

    def goto(self, query=""):
        """Open a page."""
        self.page.goto(f"{self.address}/{query}")

    def open(self, query=""):
        """Open a page and wait until every panel of samples has taken a step, and the page is at rest."""
        self.goto(query)
        sampling = "panels.filter(p => !p.querySelector('.map'))"
        self.until(f"panels.length > 0 && {sampling}.every(p => Number(p.dataset.n) > 0)")
        # What a hand does before the page is whole may be lost when that is drawn again.
        self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
        return self

    def open_by_bar(self, title):
        """Open a page by the navigation bar, which has the less frequent ones under *More*."""
        links = self.page.get_by_test_id("stTopNavLink"), self.page.get_by_test_id("stTopNavDropdownLink")
        links[0].first.wait_for()
        if links[0].filter(has_text=title).count():
            links[0].filter(has_text=title).click()
        else:
            self.pick(self.page.get_by_test_id("stTopNavSection"), links[1].filter(has_text=title))

    def play(self):
        """Click Play."""
        self.page.get_by_role("button", name="Play Shortcut P").click()

    def pause(self):
        """Click Pause, and wait until every panel is paused."""
        self.page.get_by_role("button", name="Pause").first.click()
        self.until(PAUSED)

    def menu(self, button, content, act=None):
        """Click a button until what it opens is visible, and act on that; return it.

        A page that is drawn again closes its menus, at any time: then the button is clicked again, unless it
        says that it is open, and the act is repeated.

        button, content : locators; a text is the name of a button
        act : a function of the content and a time to wait in milliseconds, as ``Locator.click``
        """
        button, content = (
            self.page.get_by_role("button", name=each, exact=True) if isinstance(each, str) else each
            for each in (button, content)
        )
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(TimeoutError, AssertionError):
                if not content.is_visible() and button.get_attribute("aria-expanded", timeout=2000) != "true":
                    button.click(timeout=2000)
                if button.count():  # else its click has replaced it
                    # What it opens moves with it. Playwright's scrolling fails if the button is drawn again.
                    button.evaluate("button => button.scrollIntoView({ block: 'nearest' })", timeout=2000)
                content.wait_for(timeout=2000)
                if act is not None:
                    act(content, timeout=5000)
                return content
            assert time.monotonic() < end, f"never open, or not as it should be: {content}"

    def undo(self, act, undone):
        """Act and press Undo, again if a busy machine has let the offer expire, until a condition is true."""
        button, end = self.page.get_by_role("button", name="Undo", exact=True), time.monotonic() + PATIENCE
        while True:
            act()
            with contextlib.suppress(TimeoutError, AssertionError):
                button.click(timeout=1000 * UNDO_SECONDS)
                return self.until(undone, 3 * UNDO_SECONDS)
            assert time.monotonic() < end, f"never undone: {undone}"

    def pick(self, menu, item):
        """Open a menu, and click a button in it."""
        return self.menu(menu, item, Locator.click)

    def save(self, label):
        """Save one of the page's files; return the download."""
        files = self.page.get_by_test_id("stPopoverBody")
        with self.page.expect_download() as download:
            self.pick("Save", files.get_by_role("button", name=label, exact=True))
        return download.value

    def upload(self, file, said, place=0):
        """Give a file to one of the uploaders of the settings, until the page says something of it."""

        def give(uploader, timeout):
            uploader.locator("input[type=file]").set_input_files(file, timeout=timeout)
            said.wait_for(timeout=4 * timeout)

        return self.menu("Settings", self.page.get_by_test_id("stFileUploader").nth(place), give)

    def until(self, condition, timeout=PATIENCE):
        """Wait until a JavaScript condition, in which ``panels`` is the list of panels, is true."""
        end = time.monotonic() + timeout
        while True:
            try:
                if self.ask(condition):
                    return
            except Error as error:
                if "context was destroyed" not in error.message:  # the page is being opened again
                    raise
            assert time.monotonic() < end, f"never true at {self.page.url}: {condition}"
            time.sleep(0.1)

    def ask(self, expression):
        """Return the value of a JavaScript expression, in which ``panels`` is the list of panels."""
        return self.page.evaluate(f"() => {{ ({self.FIND})(); return ({expression}); }}")

    def set_knob(self, panel, knob, value, commit=True):
        """Drag a range input to a share of its range, and release it if ``commit`` is true."""
        self.ask(
            f"""(() => {{
                const input = panels[{panel}].querySelector('input[type=range][id$="-{knob}"]');
                input.value = {1000 * value};
                input.dispatchEvent(new Event('input'));
                if ({str(commit).lower()}) input.dispatchEvent(new Event('change'));
            }})()"""
        )

    def choose(self, label, option):
        """Choose from a list after the page has scrolled: a list that opens earlier would close at once."""
        box = self.page.get_by_role("combobox", name=label)
        box.scroll_into_view_if_needed()
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.pick(box, self.page.get_by_role("option", name=option))

    def number(self, panel, name):
        return self.ask(f"panels[{panel}].querySelector('dd[data-readout={name}]').textContent")

    def pictures(self):
        return self.ask("panels.map(p => p.querySelector('canvas.picture').toDataURL())")

    def counts(self):
        return self.ask("panels.map(p => Number(p.dataset.n))")
