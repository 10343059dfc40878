"""The first screen of each live page: what fits into it, how much there is to read, and what moves."""

import itertools
import re

import pytest

from tests.browser.live import DRAWN, FIRST_SCREEN, LAPTOP, PHONE, SETTLED, SIZE
from tests.browser.test_accessibility import (
    FIRST_SCREENS,
    MOST_WORDS_OF_PAGE,
    THEME_OF,
    has_no_barrier,
    slowly,
    unfold,
    warnings_of,
)

pytestmark = pytest.mark.browser

PROJECTOR = {"width": 1920, "height": 1080}
"""A window whose first screen has almost all of a page, in pixels."""

MOST_WORDS, MOST_CONTROLS = 90, 50

ENDS = """(() => {
    const end = e => e.getBoundingClientRect().bottom + scrollY, map = panels[0].querySelector('.map');
    const panel = panels.find(p => !p.querySelector('.map')), knobs = [...panel.querySelectorAll('.knob')];
    return {
        picture: end(panel.querySelector('canvas.picture')), number: end(panel.querySelector('.lead')),
        // On Tune the map turns them.
        knobs: map ? 0 : Math.max(...knobs.filter(e => e.checkVisibility()).map(end)),
        chart: end(map ?? document.querySelector('[class*=st-key-main-chart]')),
    };
})()"""

WATCH = """window.moves = [];
    new PerformanceObserver(list => window.moves.push(...list.getEntries().map(e => [e.startTime, e.value])))
        .observe({ type: 'layout-shift', buffered: true });"""


@pytest.mark.parametrize("path", ["", "coupling", "weights"])
def test_page_on_a_phone_moves_little_while_it_loads(live, path):
    page = live(PHONE)
    page.page.add_init_script(WATCH)
    page.open(path)
    page.until(f"{DRAWN} && {SETTLED}")
    assert sum(value for _, value in page.page.evaluate("moves")) < 0.1


@pytest.mark.parametrize("path", FIRST_SCREENS)
def test_a_first_screen_fits_is_quickly_read_and_has_no_barrier(live, path):
    page = live(LAPTOP, color_scheme=THEME_OF[path])
    warnings = warnings_of(page)
    page.page.add_init_script(WATCH)
    page.open(slowly(path))
    first = page.page.evaluate("performance.now()")
    page.until(f"{DRAWN} && {SETTLED}")
    is_quickly_read(page)
    ends = page.ask(ENDS)
    assert max(ends.values()) <= LAPTOP["height"], ends
    if path == "tune":  # the answer is there, above the end of the map
        state = "panels.find(p => p.querySelector('.map')).querySelector('.state').textContent"
        page.until(f"{state}.startsWith('210 of 210 runs, complete')")
        verdict = page.page.locator(".verdict")
        assert re.match(r"After 10,000 samples: decay 1\. Step size .* is as good", verdict.text_content())
        box = verdict.bounding_box()
        assert box["y"] + box["height"] < ends["chart"]
    moves = page.page.evaluate("moves")
    assert sum(value for at, value in moves if at > first) < 0.05
    assert sum(value for _, value in moves) < 0.5  # a page drawn before its style sheet has come: 0.8 or more
    page.page.set_viewport_size(PROJECTOR)
    page.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.until(SETTLED)
    is_quickly_read(page)
    page.page.set_viewport_size(SIZE)
    unfold(page, path)
    has_no_barrier(page, path, THEME_OF[path], warnings)
    # That has made it as narrow as a phone: a chart with a legend has room, the row of controls scrolls.
    if path == "coupling":
        page.until(f"{DRAWN}.clientHeight >= 200")
    if path == "train":
        data = page.page.locator(".st-key-toolbar [data-testid=stSelectbox]").first
        assert data.bounding_box()["width"] > 100
    if path == "tune":
        assert page.page.locator(".map").bounding_box()["width"] > 330


def is_quickly_read(page):
    found = page.page.evaluate(FIRST_SCREEN)
    assert len(found["words"]) <= MOST_WORDS, " ".join(found["words"])
    assert len(found["controls"]) <= MOST_CONTROLS, found["controls"]
    assert found["page"] <= MOST_WORDS_OF_PAGE


def test_a_phone_shows_picture_number_knob_and_curve_of_a_panel_at_once(live):
    page = live(PHONE, is_mobile=True, has_touch=True, color_scheme="dark").open("?speed=5")
    page.until(f"{DRAWN} && {SETTLED}")
    ends = page.ask(ENDS)
    below = page.page.locator(".transport").bounding_box()["y"]  # the buttons at the bottom of the screen
    assert max(ends.values()) <= below, ends
    # The panel whose slider is to be dragged, its curve and the edge of the next one are on it.
    parts = "['.stage', '.strip', '.lead', '.knob'].map(part => panels[1].querySelector(part))"
    chart = "document.querySelector('[class*=st-key-plot-]')"
    boxes = page.ask(f"[...{parts}, {chart}].map(part => part.getBoundingClientRect())")
    assert all(box["bottom"] <= after["top"] for box, after in itertools.pairwise(boxes))
    assert boxes[0]["width"] == boxes[0]["height"] == 280
    before, asking, after, _ = page.ask("panels.map(p => p.getBoundingClientRect().left)")
    assert before < 0 <= asking < 20
    assert after < 350
    # It does not scroll sideways, and the buttons stay where it scrolls down.
    assert page.ask("document.documentElement.scrollWidth") <= PHONE["width"]
    page.ask("document.querySelector('[data-testid=stMain]').scrollBy(0, 1500)")
    page.page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 100")
    assert page.page.get_by_role("button", name="Pause").bounding_box()["y"] < PHONE["height"]


def test_on_a_phone_nothing_moves_after_the_first_picture_of_train(live):
    page = live(PHONE, is_mobile=True, has_touch=True)
    page.page.add_init_script(WATCH)
    page.open(slowly("train"))
    first = page.page.evaluate("performance.now()")
    page.until(f"{DRAWN} && {SETTLED}")
    moves = page.page.evaluate("moves")
    assert [move for move in moves if move[0] > first and move[1] > 0.02] == []
    assert sum(value for _, value in moves) < 0.1
    heights = page.ask("panels.map(p => p.querySelector('.strip').clientHeight)")
    assert heights == [40] * 4  # and before: a canvas not yet drawn on would be 140
