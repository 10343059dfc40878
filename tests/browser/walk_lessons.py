"""A lesson walked to its end in a browser: each step answered, played until its card is green, revealed.

Each step is done to the letter: its text says how often the key of one step is pressed, or up to which
number of samples the page plays, and there it is paused. Challenges are only looked at.
"""

import contextlib
import re

from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from rbmviz.lessons import Lesson, Step
from tests import waiting
from tests.browser.live import Live
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


def do(page: Live, step: Step) -> None:
    """Do what the text of a step says, and no more; wait until the card is green, if it claims anything."""
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


def walk(page: Live, lesson: Lesson) -> None:
    """Walk through a lesson from its link to the page Learn."""
    browser = page.page
    page.goto(f"learn?lesson={lesson.name}")
    for number in range(1, len(lesson.steps) + 1):
        step = open_step(browser, lesson, number)
        if step.state.settings.get("little", "landscape") == "landscape" and step.state.page != "tune":
            page.until(f"panels.length === {len(step.state.panels)}")
        answer(browser, step)
        if not step.goal:
            do(page, step)
        reveal(browser, step)
        wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{lesson.name} {number}: {wide} pixels too wide"
        # In a row of answers the arrow would choose another.
        browser.evaluate("document.activeElement.blur()")
        browser.locator("body").press("ArrowRight")
    browser.wait_for_url("**/learn*")
    browser.wait_for_function("!location.search.includes('lesson=')")  # until then a reload opens the step
    expect(browser.locator("h1")).to_have_text("What do you want to understand?")
