"""The line for newcomers in the bar of the first page: it opens Learn, and stays closed."""

import pytest
from playwright.sync_api import expect

from tests.browser.live import SETTLED

pytestmark = pytest.mark.browser

PLACE = "JSON.stringify(document.querySelector('.transport')?.getBoundingClientRect())"


def test_the_line_opens_learn_and_moves_nothing_when_it_is_closed(live):
    page = live().open("?p=gibbs&speed=5")
    browser = page.page
    line = browser.get_by_role("button", name="New here?")
    expect(line).to_be_visible()
    page.until(SETTLED)
    before = browser.evaluate(PLACE)
    browser.get_by_role("button", name="Close the line for newcomers").click()
    expect(line).to_have_count(0)
    assert browser.evaluate(PLACE) == before
    page.open("?p=gibbs&speed=5")
    browser.locator(".st-key-doors").wait_for(state="attached")
    expect(line).to_have_count(0)
    browser.evaluate("localStorage.clear()")
    page.open("?p=gibbs&speed=5")
    line.click()
    browser.wait_for_url("**/learn*")
    expect(browser.get_by_role("button", name="See it in two minutes")).to_be_visible()
    expect(browser.locator("img.small-picture").first).to_be_visible()
