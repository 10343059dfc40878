"""Every lesson walked to its end in Chromium: each step answered, played until its card is green, revealed.

By hand; it takes the time that a reader takes, half a minute a step, and leaves pictures of each step: as it
opens (a), while it plays (b), and with its answer (c)::

    python -m tests.browser.walk_lessons FOLDER            # 1280 pixels, light
    python -m tests.browser.walk_lessons FOLDER --width 390 --theme dark stick push

Each step is done to the letter: its text says how often the key of one step is pressed, or up to which
number of samples the page plays, and there it is paused. Challenges are only looked at.
"""

import argparse
import contextlib
import functools
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from rbmviz.lessons import Lesson, Step, load_lesson, shipped_lessons
from tests import waiting
from tests.attack.server import serving
from tests.browser.live import Live, open_chromium
from tests.lessons.doing import plays, presses

GREEN = ".st-key-lesson[data-seen]"

PATIENCE = 1000 * waiting.PATIENCE
"""Milliseconds until what a step claims must have been seen."""


def open_step(page: Page, lesson: Lesson, number: int) -> Step:
    """Wait until the card of a step (from 1) is there; return the step."""
    step = lesson.steps[number - 1]
    expect(page.locator(".st-key-lesson h2")).to_have_text(step.title, timeout=PATIENCE)
    page.wait_for_function(f"location.search.includes('step={number}')", timeout=PATIENCE)
    return step


def answer(page: Page, step: Step) -> None:
    """Choose the right answer; before that Play is disabled where the step asks first."""
    play = page.get_by_role("button", name=re.compile("^Play"))
    waits = step.hold and step.state.settings.get("little") != "matrix"  # where nothing plays
    if waits:
        expect(play).to_be_disabled(timeout=PATIENCE)
    if step.question:
        page.locator(".st-key-lesson [role=radiogroup] label").nth(max(step.right, 0)).click()
    if waits:
        expect(play).to_be_enabled(timeout=PATIENCE)


def press_step(page: Live, times: int) -> None:
    """Press the key of one step so often, each time when the last one is done."""
    for _ in range(times):
        page.page.locator("body").press("s")
        page.page.wait_for_timeout(400)


def branch(page: Live, step: Step) -> None:
    """Open the panel that goes on with another trainer."""
    label = step.state.all_algorithms()[-1].label  # the page adds panels by such buttons, too
    popover = page.page.get_by_test_id("stPopoverBody")
    page.pick("Branch", popover.get_by_role("button", name=label, exact=True))


def do(page: Live, step: Step, look: Callable[[], None]) -> None:
    """Do what the text of a step says, and no more; wait until the card is green, if it claims anything.

    look : called while it is done
    """
    browser = page.page
    press_step(page, presses(step))
    if step.state.page == "tune":
        browser.get_by_role("button", name=re.compile("^Start")).click()
    elif plays(step):
        for i, n in enumerate(plays(step)):
            if i and step.state.branches:
                branch(page, step)
            browser.get_by_role("button", name=re.compile("^Play")).click()
            if step.state.page == "coupling":  # whose pairs are counted without their pictures, too
                browser.locator(GREEN).wait_for(timeout=PATIENCE)
            else:
                page.until(f"panels.length && panels.every(panel => Number(panel.dataset.n) >= {n})")
            look()
            browser.get_by_role("button", name=re.compile("^Pause")).click()
    if step.claims:
        browser.locator(GREEN).wait_for(timeout=PATIENCE)
        if step.question:
            expect(browser.get_by_text("You were right.")).to_be_visible(timeout=PATIENCE)


def reveal(page: Page, step: Step) -> None:
    """Reveal the answer, unless it is there."""
    button = page.get_by_role("button", name="Hint" if step.goal else "Reveal")
    button.or_(page.locator(".st-key-lesson_reveal")).first.wait_for(timeout=PATIENCE)
    # What the step claims may be seen just now, without Play: then the button goes.
    with contextlib.suppress(PlaywrightTimeoutError):
        if not page.locator(".st-key-lesson_reveal").is_visible():
            button.click(timeout=5000)
    page.locator(".st-key-lesson_reveal").wait_for(timeout=PATIENCE)


def walk(page: Live, lesson: Lesson, folder: Path | None, first: int = 1) -> None:
    """Walk through a lesson from its link to the page Learn; leave pictures of each step in a folder.

    first : the step with which it begins, from 1
    """
    browser = page.page

    def picture(number: int, when: str) -> None:
        if folder is not None:
            browser.wait_for_timeout(700)
            browser.screenshot(path=folder / f"{lesson.name}-{number}-{when}.png")

    page.goto(f"learn?lesson={lesson.name}&step={first}")
    for number in range(first, len(lesson.steps) + 1):
        step = open_step(browser, lesson, number)
        if step.state.settings.get("little", "landscape") == "landscape" and step.state.page != "tune":
            page.until(f"panels.length === {len(step.state.panels)}")
        picture(number, "a")
        answer(browser, step)
        if not step.goal:
            do(page, step, functools.partial(picture, number, "b"))
        reveal(browser, step)
        picture(number, "c")
        wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{lesson.name} {number}: {wide} pixels too wide"
        # In a row of answers the arrow would choose another.
        browser.evaluate("document.activeElement.blur()")
        browser.locator("body").press("ArrowRight")
    browser.wait_for_url("**/learn*")
    browser.wait_for_function("!location.search.includes('lesson=')")  # until then a reload opens the step
    expect(browser.locator("h1")).to_have_text("What do you want to understand?")


def main() -> None:
    """Walk through the lessons that are named, or all."""
    parser = argparse.ArgumentParser(description="Walk through the lessons in Chromium.")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "lessons", nargs="*", default=shipped_lessons(), help="as stick, or stick:3 from step 3"
    )
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    args = parser.parse_intermixed_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    size = {"width": args.width, "height": 844 if args.width < 640 else 800}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log.txt") as server:
        with open_chromium() as browser:
            for text in args.lessons:
                name, _, first = text.partition(":")
                begin = time.monotonic()
                context = browser.new_context(viewport=size, color_scheme=args.theme)
                page = Live(context.new_page(), server.address)
                try:
                    walk(page, load_lesson(name), args.folder, int(first or 1))
                except Exception:
                    page.page.screenshot(path=args.folder / f"{name}-failed.png")
                    sys.stdout.write(f"{page.page.url} {page.errors}\n{server.log.read_text()[-3000:]}\n")
                    raise
                context.close()
                assert not page.errors, page.errors
                sys.stdout.write(f"{name}: {time.monotonic() - begin:.0f} s\n")
                sys.stdout.flush()
        assert not server.tracebacks, server.tracebacks


if __name__ == "__main__":
    main()
