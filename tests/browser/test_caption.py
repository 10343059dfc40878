"""The caption tells the story of the run: stuck, dragged, free; also in a page reloaded in the middle."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

STUCK = re.compile(r"^Gibbs has drawn (only|mostly) \ds in [\d,]+ samples\. Drag the orange slider\.$")
FREE = re.compile(r"^Free: ten digits in [\d,]+ samples\. Now pull its decay to \.9: what breaks\?$")


def test_caption_says_what_the_run_does_now(live):
    page = live().open("?model=usps_fpcd&p=gibbs&p=rates_fpcd:eps=0.0&speed=200")
    said = page.page.locator(".st-key-caption .said")
    expect(said).to_have_text(STUCK)
    top = page.ask("panels[0].getBoundingClientRect().top")
    page.set_knob(1, "eps", 0.6)
    expect(said).to_have_text(FREE)
    assert page.ask("panels[0].getBoundingClientRect().top") == top
    page.page.reload()
    expect(said).to_have_text(FREE)
    page.until("panels.length === 2")
    page.set_knob(1, "alpha", 0.5)
    expect(said).to_have_text(re.compile("^Decay .* breaks it: ISL"))
    page.page.get_by_role("button", name="Why? Two minutes").click()
    expect(page.page.locator("h1")).to_have_text("Why does avoiding the past mix faster?")


def test_labels_name_the_parts_until_the_first_drag(live):
    page = live().open()
    labels = page.page.locator(".part-names span:visible")
    expect(labels).to_have_text(["◂ one sample", "◂ which digit", "share so far, in the data ▸"])
    assert page.ask("panels[1].querySelectorAll('input.off:not(.moved)').length") == 1  # its halo beats
    page.set_knob(1, "eps", 0.6, commit=False)
    expect(labels).to_have_count(0)
    page.set_knob(1, "eps", 0.6)
    page.page.wait_for_url("**rates_fpcd:eps=0.02**")
    page.page.reload()
    page.until("panels.length === 4 && panels.every(p => Number(p.dataset.n) > 0)")
    expect(labels).to_have_count(0)
