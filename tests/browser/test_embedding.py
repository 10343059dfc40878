"""A page of the app inside of another page."""

import pytest

from tests.browser.live import PHONE, Live

pytestmark = pytest.mark.browser

KNOBS = """panels.map(p => [...p.querySelectorAll('.knob')].filter(k => k.offsetHeight)
    .map(k => k.querySelector('label > span').textContent))"""


def test_an_iframe_has_the_panels_and_the_knobs_that_are_named(live, server):
    page = live(PHONE)
    link = f"{server}/?ui=min&show=eps,n_chains,hotness&p=gibbs&p=rates_fpcd&speed=5"
    page.page.goto(f"{server}/_stcore/health")  # no page of the internet may frame ours
    page.page.set_content(f'<iframe src="{link}" width="380" height="800"></iframe>')
    inside = page.page.frames[1]

    class Frame(Live):
        def __init__(self):
            self.page = inside

    frame = Frame()
    frame.until("panels.length === 2 && panels.every(p => Number(p.dataset.n) > 5)")
    inside.get_by_text("The link shows 'hotness', and these panels have the knobs").wait_for()
    assert frame.ask(KNOBS) == [["Chains"], ["Step size", "Chains"]]
    for gone in ("Present", "Settings", "Presets", "Samples", "About", "Replay file"):
        assert not inside.get_by_role("button", name=gone, exact=gone == "Samples").is_visible()
    assert not inside.get_by_role("heading", level=1).is_visible()
    assert not inside.locator("[class*=st-key-plot-]").first.is_visible()
    inside.get_by_role("button", name="Pause").click()
    frame.until("panels.every(p => p.dataset.status === 'paused')")
    assert frame.ask("document.documentElement.scrollWidth <= innerWidth")
