"""The first screen of each live page: what fits into it, how much there is to read, and what moves."""

import re

import pytest

from tests.browser.live import DRAWN, FIRST_SCREEN, LAPTOP, PHONE, SETTLED, SIZE
from tests.browser.test_accessibility import (
    FIRST_SCREENS,
    MOST_WORDS_OF_PAGE,
    has_no_barrier,
    slowly,
    unfold,
    warnings_of,
)

pytestmark = pytest.mark.browser

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


@pytest.mark.parametrize("path", FIRST_SCREENS)
def test_a_first_screen_fits_is_quickly_read_and_has_no_barrier(live, path):
    page = live(LAPTOP)
    warnings = warnings_of(page)
    page.page.add_init_script(WATCH)
    page.open(slowly(path))
    first = page.page.evaluate("performance.now()")
    page.until(f"{DRAWN} && {SETTLED}")
    found = page.page.evaluate(FIRST_SCREEN)
    assert len(found["words"]) <= MOST_WORDS, " ".join(found["words"])
    assert len(found["controls"]) <= MOST_CONTROLS, found["controls"]
    assert found["page"] <= MOST_WORDS_OF_PAGE
    if path == "train":
        assert page.page.locator("[data-picture=samples]").first.bounding_box()["width"] >= 150
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
    assert sum(value for _, value in moves) < 0.65  # a page drawn before its style sheet: 0.8 or more
    page.page.set_viewport_size(SIZE)
    unfold(page, path)
    has_no_barrier(page, path, warnings)
    # That has made it as narrow as a phone: a chart with a legend has room, the row of controls scrolls.
    if path == "coupling":
        page.until(f"{DRAWN}.clientHeight >= 200")
    if path == "train":
        data = page.page.locator(".st-key-toolbar [data-testid=stSelectbox]").first
        assert data.bounding_box()["width"] > 100
    if path == "tune":
        assert page.page.locator(".map").bounding_box()["width"] > 330


@pytest.mark.parametrize("path", ["", "train"])
def test_phone_shows_a_panel_at_once_and_nothing_moves_after_its_first_picture(live, path):
    page = live(PHONE, is_mobile=True, has_touch=True)
    page.page.add_init_script(WATCH)
    page.open(slowly(path))
    first = page.page.evaluate("performance.now()")
    page.until(f"{DRAWN} && {SETTLED}")
    moves = page.page.evaluate("moves")
    assert [move for move in moves if move[0] > first and move[1] > 0.02] == []
    assert sum(value for _, value in moves) < 0.1
    if path == "train":
        return
    # Picture, number, knob and curve are above the buttons at the bottom; the edge of the next panel shows.
    ends = page.ask(ENDS)
    assert max(ends.values()) <= page.page.locator(".transport").bounding_box()["y"], ends
    before, asking, after, _ = page.ask("panels.map(p => p.getBoundingClientRect().left)")
    assert before < 0 <= asking < 20
    assert after < 350
    # It does not scroll sideways, and the buttons stay where it scrolls down.
    assert page.ask("document.documentElement.scrollWidth") <= PHONE["width"]
    page.ask("document.querySelector('[data-testid=stMain]').scrollBy(0, 1500)")
    page.page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 100")
    assert page.page.get_by_role("button", name="Pause").bounding_box()["y"] < PHONE["height"]
