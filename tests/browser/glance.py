"""The first screens of the pages in all sizes of windows and both themes: a table, and pictures. By hand::

    python -m tests.browser.glance OUT [page ...]

A row has the top of the first panel, the lowest pixel of its picture, strip and first two knobs, and that
of the main chart; how much there is to read and to press on the first screen, and to read on the whole page
with its folds closed; and the sum of layout shifts while the page loads, and after its first pictures.
"""

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.attack.server import serving
from tests.browser.live import DRAWN, FIRST_SCREEN, SETTLED, Live, open_chromium
from tests.browser.test_accessibility import BACKGROUND, THEMES
from tests.browser.test_first_screen import WATCH

PAGES = {
    **{"sample": "", "train": "train", "coupling": "coupling", "weights": "weights"},
    **{"units": "chain", "landscape": "chain?little=landscape", "matrix": "chain?little=matrix"},
    **{"tune": "tune", "papers": "papers", "learn": "learn", "glossary": "glossary"},
}
CHARTLESS = ("units", "papers", "learn", "glossary")
SIZES = ((1280, 720), (1366, 768), (1440, 900), (1920, 1080), (390, 844))

Y = """(() => {
    const end = e => e && e.checkVisibility() ? Math.round(e.getBoundingClientRect().bottom + scrollY) : '';
    const map = panels[0]?.querySelector('.map'), panel = panels.find(p => !p.querySelector('.map'));
    const first = selector => panel?.querySelector(selector) ?? document.querySelector(selector);
    const knobs = [...(panel?.querySelectorAll('.knob') ?? [])].filter(e => e.checkVisibility());
    return [
        panel ? Math.round(panel.getBoundingClientRect().top + scrollY) : '',
        end(first('canvas.picture')), end(first('.strip')), end(knobs[0]), end(knobs[1]),
        end(map ?? document.querySelector('[class*=st-key-main-chart]')),
    ];
})()"""

HEAD = "page|size|theme|panel|picture|strip|knob 1|knob 2|chart|words|controls|words of page|shift|after"


def main() -> None:
    """Print the table, and write the pictures into a folder."""
    parser = argparse.ArgumentParser(description="Measure the first screens of the pages.")
    parser.add_argument("out", type=Path, help="folder of the pictures")
    parser.add_argument("page", nargs="*", choices=PAGES, default=[*PAGES])
    parser.add_argument("--address", help="of a running server (default: one is started)")
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True, parents=True)
    with ExitStack() as stack:
        address = options.address
        if not address:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            address = stack.enter_context(serving(folder / "log.txt")).address
        browser = stack.enter_context(open_chromium())
        print(f"|{HEAD}|\n|{'|'.join('-' for _ in HEAD.split('|'))}|")  # noqa: T201
        for name in options.page:
            for size in SIZES:
                _measure(browser, address, name, size, options.out)


def _measure(browser: Browser, address: str, name: str, size: tuple[int, int], out: Path) -> None:
    options: Any = {"viewport": {"width": size[0], "height": size[1]}}
    options |= {"is_mobile": True, "has_touch": True} if size[0] < 640 else {}
    page = Live(browser.new_page(**options), address)
    page.page.add_init_script(WATCH)
    page.page.goto(f"{address}/{PAGES[name]}")
    page.page.locator("h1").wait_for()
    if name not in (*CHARTLESS, "matrix"):
        page.until("panels.length && panels.every(p => p.querySelector('.map') || Number(p.dataset.n) > 0)")
    first = page.page.evaluate("performance.now()")
    page.until(SETTLED if name in CHARTLESS else f"{SETTLED} && {DRAWN}")
    page.page.wait_for_timeout(10_000)  # what moves late, and what a visitor sees by then
    shifts = page.page.evaluate("moves")
    total, late = sum(value for _, value in shifts), sum(value for at, value in shifts if at > first)
    for theme, background in THEMES.items():
        page.page.emulate_media(color_scheme=theme)
        page.until(f"{BACKGROUND} === '{background}' && {SETTLED}")
        page.page.wait_for_timeout(3000)  # until charts are drawn in the colours of the theme
        found = page.page.evaluate(FIRST_SCREEN)
        row = [name, f"{size[0]}x{size[1]}", theme, *page.ask(Y)]
        row += [len(found["words"]), len(found["controls"]), found["page"], f"{total:.3f}", f"{late:.3f}"]
        print("|" + "|".join(map(str, row)) + "|", flush=True)  # noqa: T201
        page.page.screenshot(path=out / f"{name}-{size[0]}-{theme}.png")
    page.page.close()


if __name__ == "__main__":
    main()
