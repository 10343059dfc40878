"""The card of a lesson."""

import re

import pytest
from playwright.sync_api import expect

from rbmviz.lessons import load_lesson, shipped_lessons
from tests.browser.live import LAPTOP, PHONE
from tests.browser.walk_lessons import walk

pytestmark = pytest.mark.browser

LOWER_THAN_A_FINGER = """[...document.querySelectorAll('.st-key-lesson *, .st-key-toolbar *')]
    .flatMap(e => [e, ...(e.shadowRoot ? e.shadowRoot.querySelectorAll('*') : [])])
    .filter(e => e.matches('button:not([aria-label]), summary, [data-testid=stRadioOption]'))
    .filter(e => e.checkVisibility())
    .map(e => [e.textContent, e.getBoundingClientRect().height]).filter(([, height]) => height < 44)"""
"""What is tapped on the card and beside it, and less than 44 pixels high."""

SHEET = "[data-testid=stLayoutWrapper]:has(> .st-key-lesson)"


def answered(page, lesson, step):
    """Open a step, choose its first answer by a click; return the heading of the card."""
    browser = page.page
    page.goto(f"learn?lesson={lesson}&step={step}")
    heading = browser.locator(".st-key-lesson h2")
    expect(heading).to_have_text(load_lesson(lesson).steps[step - 1].title)
    browser.locator(".st-key-lesson [role=radiogroup] label").first.click()
    expect(browser.get_by_role("button", name="Reveal")).to_be_visible()
    return heading


@pytest.mark.slow
@pytest.mark.parametrize(("at", "name"), [*enumerate(shipped_lessons())])
def test_a_lesson_is_walked_to_its_end(live, at, name):
    """Each step is done to the letter, and turns green; on a phone, or in the dark on a laptop."""
    page = live(PHONE) if at % 2 == 0 else live(LAPTOP, color_scheme="dark")
    lesson = load_lesson(name)
    walk(page, lesson)
    # This browser remembers it, in another session, too.
    page.page.reload()
    entry = page.page.locator(f"[class*=st-key-lesson-entry-{lesson.name}]")
    expect(entry).to_contain_text(f"read to step {len(lesson.steps)} of {len(lesson.steps)}")


def test_step_with_one_panel_fits_a_laptop(live):
    """Pictures, strip, numbers and knobs, and the chart beside them."""
    page = live(viewport=LAPTOP)
    page.goto("learn?lesson=score&step=2")
    page.page.locator(".st-key-live-chart").wait_for()
    page.until(
        "panels.length === 1 && ((knobs, chart, panel) =>"
        " knobs.bottom <= innerHeight && chart.left >= panel.right && chart.bottom <= innerHeight)"
        "(...[panels[0].querySelector('.knobs'), document.querySelector('.st-key-live-chart'), panels[0]]"
        ".map(each => each.getBoundingClientRect()))"
    )


def test_the_card_follows_arrows_leaves_the_buttons_of_a_phone_free_and_folds(live):
    page = live(viewport=PHONE)
    browser, sheet, steps = page.page, page.page.locator(SHEET), load_lesson("weighing").steps
    # Arrows to the sides move between steps where an answer has the focus, too.
    heading = answered(page, "weighing", 2)
    browser.keyboard.press("ArrowDown")
    answers = browser.locator(".st-key-lesson [role=radiogroup]")
    expect(answers.locator("input").nth(1)).to_be_checked()
    for key, step in (("ArrowRight", 3), ("ArrowLeft", 2), ("ArrowLeft", 1)):
        browser.keyboard.press(key)
        expect(heading).to_have_text(steps[step - 1].title)
    answers.locator("label").nth(2).click()
    expect(browser.get_by_role("button", name="Reveal")).to_be_visible()
    top = browser.get_by_role("button", name=re.compile("^Play")).bounding_box()["y"]
    box = sheet.bounding_box()
    assert box["y"] + box["height"] <= top
    assert browser.evaluate(LOWER_THAN_A_FINGER) == []
    browser.get_by_role("button", name="Fold").click()
    assert sheet.bounding_box()["height"] < 80 < box["height"]
    # The answer comes while it is folded: the button that opens it stays, and then the answer is in sight.
    browser.locator("body").press("s")
    expect(browser.locator(".st-key-lesson[data-seen]")).to_be_visible()
    browser.locator(".st-key-lesson_reveal").wait_for(state="attached")
    browser.locator(".st-key-lesson button.fold").click()
    expect(browser.locator(".st-key-lesson_reveal")).to_be_in_viewport()


def test_back_in_the_browser_moves_page_and_card_together(live):
    page = live(viewport=LAPTOP)
    browser, steps = page.page, load_lesson("stick").steps
    heading = answered(page, "stick", 2)
    entries = browser.evaluate("history.length")
    browser.get_by_role("button", name="Next").click()
    expect(heading).to_have_text(steps[2].title)
    browser.wait_for_url("**step=3*")
    assert browser.evaluate("history.length") == entries + 1  # each page has one, so that no Back stays
    browser.go_back()
    expect(heading).to_have_text(steps[1].title)
    browser.wait_for_url("**/chain*step=2*")
    browser.go_forward()
    expect(heading).to_have_text(steps[2].title)
    page.until("panels.length === 1 && location.search.includes('step=3')")
    # Who opens another page leaves the lesson; Back leads to it again.
    page.open_by_bar("Glossary")
    expect(heading).to_have_count(0)
    browser.go_back()
    expect(heading).to_have_text(steps[2].title)


def test_a_quiz_hides_who_draws(live):
    page = live(viewport={"width": 1280, "height": 800})
    browser = page.page
    card = browser.locator(".st-key-lesson")
    # A unit of the drawn model is drawn by a click on it.
    page.goto("chain?little=units")
    unit = browser.locator("[data-unit='visible 5']")
    unit.click()
    expect(browser.get_by_text("v6: bias and weights")).to_be_visible()
    expect(unit).to_have_attribute("role", "button")
    page.goto("learn?lesson=quiz&step=1")
    page.until(
        "panels.length === 1 && getComputedStyle(panels[0].querySelector('header')).visibility === 'hidden'"
    )
    card.locator("[role=radiogroup] label").first.click()
    page.until("getComputedStyle(panels[0].querySelector('header')).visibility === 'visible'")
    # Where one of three is broken, neither a verdict nor a colour tells which.
    page.goto("learn?lesson=tell&step=3")
    shown = "panels.map(panel => getComputedStyle(panel.querySelector('.trust')).visibility)"
    tones = "new Set(panels.map(panel => panel.style.getPropertyValue('--accent'))).size"
    page.until(f"panels.length === 3 && {shown}.every(said => said === 'hidden') && {tones} === 1")
    card.locator("[role=radiogroup] label").first.click()
    page.until(f"{shown}.every(said => said === 'visible') && {tones} === 3")


def test_card_and_welcome_line_work_without_storage(live):
    page = live(another=True)
    denied = "{ get() { throw new DOMException('denied', 'SecurityError'); } }"
    page.page.add_init_script(f"Object.defineProperty(window, 'localStorage', {denied})")
    page.goto("learn?lesson=quiz&step=1")
    expect(page.page.locator(".st-key-lesson .head")).to_contain_text("step")
    page.page.goto(page.address)
    line = page.page.locator(".st-key-doors .line")
    line.get_by_role("button", name="Close").click()
    expect(line).to_have_count(0)
    assert page.page.get_by_role("button", name="Keys").is_visible()
