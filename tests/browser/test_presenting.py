"""Presenting: large, within the window, on every page until it is left."""

import pytest

from tests.browser.live import LAPTOP

pytestmark = pytest.mark.browser

SIZES = """p => [...p.querySelectorAll('.readouts.lead dd, .readouts.lead small, .stays .value')]
    .map(e => parseFloat(getComputedStyle(e).fontSize))"""


SHOWN_KNOBS = """p => [...p.querySelectorAll('.knob')].filter(k => k.offsetHeight)
    .map(k => k.querySelector('label > span').textContent)"""


@pytest.mark.slow
def test_a_projector_shows_it_large_and_without_scrolling(live):
    page = live(viewport={"width": 1920, "height": 1080}).open("?speed=5")
    page.page.keyboard.press("f")
    page.page.wait_for_url("**present=1**")
    for path in ("", "train"):
        if path:  # by the navigation, which keeps it
            page.open_by_bar("Train")
            page.page.wait_for_url("**/train?*present=1*")
        page.until("panels.length > 0 && panels.every(p => Number(p.dataset.n) > 0)")
        page.charts.first.wait_for()
        words = page.page.locator("h1, .st-key-caption p")
        assert min(words.evaluate_all("e => e.map(e => parseFloat(getComputedStyle(e).fontSize))")) >= 32
        assert min(page.ask(f"panels.flatMap({SIZES})")) >= 28
        page.until("document.querySelector('[data-testid=stMain]').scrollHeight <= innerHeight")
    assert page.ask(f"panels.map({SHOWN_KNOBS})") == [["Learning rate"]] * 4
    page.page.reload()
    page.until("panels.length > 0 && panels.every(p => Number(p.dataset.n) > 0)")
    page.menu("Share", page.page.locator(".st-key-share-menu"))
    page.page.keyboard.press("Escape")  # closes the menu, and no more
    page.page.locator(".st-key-share-menu").wait_for(state="hidden")
    assert page.page.get_by_role("button", name="Leave").is_visible()
    page.page.keyboard.press("Escape")
    page.page.get_by_role("button", name="Leave").wait_for(state="hidden")
    page.page.wait_for_function("!location.search.includes('present')")


def test_a_presenter_chooses_knobs_and_a_link_that_waits(live):
    page = live(viewport={"width": 1920, "height": 1080}).open(
        "?p=rates_fpcd&p=gibbs&present=alpha,k&speed=5"
    )
    assert page.ask(f"panels.map({SHOWN_KNOBS})") == [["Decay", "Sweeps per sample"], ["Sweeps per sample"]]
    page.pick("Presenting", page.page.get_by_text("The link starts paused"))
    page.page.wait_for_url("**paused=1**")
    again = live(viewport={"width": 1920, "height": 1080})
    again.page.goto(page.url)
    again.until("panels.length === 2 && panels.every(p => p.dataset.status === 'paused')")
    assert again.counts() == [0, 0]
    again.play()
    again.until("panels.every(p => Number(p.dataset.n) > 0)")


def test_less_motion_means_that_runs_wait_for_play(live):
    page = live(reduced_motion="reduce")
    page.goto("?p=gibbs&p=rates_fpcd&speed=5")
    page.until("panels.length === 2 && panels.every(p => p.dataset.status === 'paused')")
    assert page.counts() == [0, 0]
    page.play()
    page.until("panels.every(p => Number(p.dataset.n) > 0)")


def test_the_longest_card_is_large_and_shows_all_answers_without_scrolling(live):
    page = live(viewport=LAPTOP)
    page.goto("learn?lesson=meet&step=4&present=1")
    page.page.locator(".st-key-lesson [role=radiogroup]").wait_for()
    page.page.locator(".st-key-lesson_moves button").last.wait_for()
    of_card = "(name => [...document.querySelectorAll(`.st-key-lesson ${name}`)].at(-1))"
    page.until(
        f"{of_card}('[role=radiogroup] p').getBoundingClientRect().bottom"
        f" < {of_card}('.st-key-lesson_moves').getBoundingClientRect().top"
        f" && getComputedStyle({of_card}('[role=radiogroup] p')).fontSize === '20px'"
    )
