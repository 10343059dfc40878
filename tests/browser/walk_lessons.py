"""Every lesson walked to its end in Chromium: each step answered, played until its card is green, revealed.

By hand; it takes the time that a reader takes, half a minute a step, and leaves a picture of each step::

    python -m tests.browser.walk_lessons FOLDER            # 1280 pixels, light
    python -m tests.browser.walk_lessons FOLDER --width 390 --theme dark --look stick push

With ``--look`` nothing is played: each step is answered and revealed only.
"""

import argparse
import contextlib
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from rbmviz.lessons import Lesson, Step, load_lesson, shipped_lessons
from tests.attack.server import serving
from tests.browser.conftest import Live

HEIGHTS = {1280: 800, 390: 844}

PATIENCE = 90_000
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
    if step.hold:
        expect(play).to_be_disabled(timeout=PATIENCE)
    if step.question:
        page.locator(".st-key-lesson [role=radiogroup] label").nth(max(step.right, 0)).click()
    if step.hold:
        expect(play).to_be_enabled(timeout=PATIENCE)


def play(page: Page, step: Step) -> None:
    """Press Play, and wait until the card has seen all that the step claims."""
    if step.claims:
        # On Tune the sweep is begun, which claims are about.
        tune = step.state.page == "tune"
        page.get_by_role("button", name=re.compile("^Start" if tune else "^Play")).click()
        if step.state.branches:
            # The first claim is about the panel to branch from, once it has made its updates.
            seen = page.locator(".st-key-lesson span", has_text=re.compile("^check_circle$"))
            seen.first.wait_for(timeout=PATIENCE)
            page.get_by_role("button", name="Branch").click()
            page.get_by_role("button", name=step.state.all_algorithms()[-1].label, exact=True).click()
        page.locator(".st-key-lesson[data-seen]").wait_for(timeout=PATIENCE)
        expect(page.get_by_text("You were right.")).to_be_visible(timeout=PATIENCE)


def reveal(page: Page, step: Step) -> None:
    """Reveal the answer, unless it is there."""
    button = page.get_by_role("button", name="Hint" if step.goal else "Reveal")
    # What the step claims may be seen just now, without Play: then the button goes.
    with contextlib.suppress(PlaywrightTimeoutError):
        if not page.locator(".st-key-lesson_reveal").is_visible():
            button.click(timeout=5000)
    page.locator(".st-key-lesson_reveal").wait_for(timeout=PATIENCE)


def walk(page: Live, lesson: Lesson, folder: Path | None, played: int) -> None:
    """Walk through a lesson from its link to the page Learn; leave pictures of each step in a folder.

    played : so many of the first steps are played until their cards are green; the others are answered and
        revealed only
    """
    browser = page.page
    browser.goto(f"{page.address}/learn?lesson={lesson.name}")
    for number in range(1, len(lesson.steps) + 1):
        step = open_step(browser, lesson, number)
        if step.state.settings.get("little", "landscape") == "landscape" and step.state.page != "tune":
            page.until(f"panels.length === {len(step.state.panels)}")
        if folder is not None:
            browser.wait_for_timeout(700)
            browser.screenshot(path=folder / f"{lesson.name}-{number}-a.png")
        answer(browser, step)
        if number <= played and not step.goal:
            play(browser, step)
        reveal(browser, step)
        if folder is not None:
            browser.wait_for_timeout(300)
            browser.screenshot(path=folder / f"{lesson.name}-{number}-b.png")
        wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{lesson.name} {number}: {wide} pixels too wide"
        browser.evaluate(
            "document.activeElement.blur()"
        )  # in a row of answers the arrow would choose another
        browser.locator("body").press("ArrowRight")
    browser.wait_for_url("**/learn*")
    expect(browser.locator("h1")).to_have_text("What do you want to understand?")


def main() -> None:
    """Walk through the lessons that are named, or all."""
    parser = argparse.ArgumentParser(description="Walk through the lessons in Chromium.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("lessons", nargs="*", default=shipped_lessons())
    parser.add_argument("--width", type=int, choices=list(HEIGHTS), default=1280)
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--look", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    size = {"width": args.width, "height": HEIGHTS[args.width]}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log.txt") as server:
        with sync_playwright() as playwright:
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for name in args.lessons:
                begin = time.monotonic()
                context = browser.new_context(viewport=size, color_scheme=args.theme)
                page, lesson = Live(context.new_page(), server.address), load_lesson(name)
                try:
                    walk(page, lesson, args.folder, 0 if args.look else len(lesson.steps))
                except Exception:
                    page.page.screenshot(path=args.folder / f"{name}-failed.png")
                    sys.stdout.write(f"{page.page.url} {page.errors}\n{server.log.read_text()[-3000:]}\n")
                    raise
                context.close()
                assert not page.errors, page.errors
                sys.stdout.write(f"{name}: {time.monotonic() - begin:.0f} s\n")
                sys.stdout.flush()
            browser.close()
        assert not server.tracebacks, server.tracebacks


if __name__ == "__main__":
    main()
