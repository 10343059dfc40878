"""A lesson walked to its end on a phone; ``walk_lessons`` walks through all, at two sizes, in both themes."""

import pytest
from playwright.sync_api import expect

from rbmviz.lessons import load_lesson
from tests.browser.walk_lessons import walk

pytestmark = pytest.mark.browser


LOWER_THAN_A_FINGER = """[...document.querySelectorAll('.st-key-lesson *, .st-key-toolbar *')]
    .flatMap(e => [e, ...(e.shadowRoot ? e.shadowRoot.querySelectorAll('*') : [])])
    .filter(e => e.matches('button:not([aria-label]), summary, [data-testid=stRadioOption]'))
    .filter(e => e.checkVisibility())
    .map(e => [e.textContent, e.getBoundingClientRect().height]).filter(([, height]) => height < 44)"""
"""What is tapped on the card and beside it, and less than 44 pixels high."""


def test_a_lesson_is_walked_to_its_end(live):
    page = live(viewport={"width": 390, "height": 844})
    browser = page.page
    lesson = load_lesson("weighing")
    walk(page, lesson, None, played=1)
    # This browser remembers it, in another session, too.
    browser.reload()
    entry = browser.locator(f"[class*=st-key-lesson-entry-{lesson.name}]")
    expect(entry).to_contain_text(f"You have read up to step {len(lesson.steps)}.")
    # Arrows belong to what has the focus, if it moves by them: here the answer is chosen by them.
    browser.goto(f"{page.address}/weights?lesson=weighing&step=2&seed=7")
    heading = browser.locator(".st-key-lesson h2")
    expect(heading).to_have_text(lesson.steps[1].title)
    browser.locator(".st-key-lesson [role=radiogroup] label").first.click()
    expect(browser.get_by_role("button", name="Play")).to_be_enabled()
    browser.keyboard.press("ArrowRight")
    expect(browser.locator(".st-key-lesson [role=radiogroup] input").nth(1)).to_be_checked()
    expect(heading).to_have_text(lesson.steps[1].title)
    # The sheet leaves the buttons of the page free, and folds.
    top = browser.get_by_role("button", name="Play").bounding_box()["y"]
    sheet = browser.locator("[data-testid=stLayoutWrapper]:has(> .st-key-lesson)")
    box = sheet.bounding_box()
    assert box["y"] + box["height"] <= top
    assert browser.evaluate(LOWER_THAN_A_FINGER) == []
    browser.get_by_role("button", name="Fold").click()
    assert sheet.bounding_box()["height"] < 80 < box["height"]


def test_a_result_is_verified_and_a_quiz_hides_who_draws(live):
    page = live(viewport={"width": 1280, "height": 800})
    browser = page.page
    result = "1~land=letters L T X~land_depth=10~2@0:eps=0.2"
    browser.goto(f"{page.address}/learn?lesson=break-gibbs&step=1&result={result}")
    card = browser.locator(".st-key-lesson")
    expect(card.get_by_text("Verified: Gibbs: crossings 0 at 600 samples")).to_be_visible()
    expect(browser.locator(".st-key-lesson[data-seen]")).to_be_visible()
    # A unit of the drawn model is drawn by a click on it.
    browser.goto(f"{page.address}/chain?little=units")
    unit = browser.locator("[data-unit='visible 5']")
    unit.click()
    expect(browser.get_by_text("v6: bias and weights")).to_be_visible()
    expect(unit).to_have_attribute("role", "button")
    browser.goto(f"{page.address}/learn?lesson=quiz&step=1")
    page.until(
        "panels.length === 1 && getComputedStyle(panels[0].querySelector('header')).visibility === 'hidden'"
    )
    card.locator("[role=radiogroup] label").first.click()
    page.until("getComputedStyle(panels[0].querySelector('header')).visibility === 'visible'")
