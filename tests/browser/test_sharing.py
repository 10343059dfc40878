"""A teacher shares a page: watchers see the same pictures, follow page and knobs, and can turn nothing."""

import pytest

from rbmviz.lessons import load_lesson
from tests.browser.live import PHONE
from tests.browser.test_accessibility import AXE, RULES, RUN

pytestmark = pytest.mark.browser

STICK, STEP = load_lesson("stick"), 4
"""A lesson, and one of its steps that ask."""

CELLS, SIDE, GAP = 6, 4, 2
"""Pictures in a row and in a column of a panel, pixels of a picture in both directions and between two."""

BITS = f"""panels.map(panel => {{
    const canvas = panel.querySelector('canvas.picture'), {{ width, height }} = canvas;
    const {{ data }} = canvas.getContext('2d').getImageData(0, 0, width, height);
    const all = {CELLS} * ({SIDE} + {GAP}) + {GAP}, bits = [];
    // The middle of a pixel.
    const at = i => (Math.floor(i / {SIDE}) * ({SIDE} + {GAP}) + {GAP} + 0.5 + i % {SIDE}) / all;
    for (let y = 0; y < {CELLS} * {SIDE}; y++) for (let x = 0; x < {CELLS} * {SIDE}; x++)
        bits.push(Number(data[4 * (Math.floor(at(y) * height) * width + Math.floor(at(x) * width))] > 128));
    return [panel.dataset.n, bits.join('')];
}})"""
"""Of each panel: its steps, and whether each pixel of its pictures is bright."""


def started(teacher, button="Share"):
    """Share the page of a teacher; return the address for those who watch."""
    if button == "Share":
        teacher.pick(button, "Share this view")
    else:
        teacher.menu(button, teacher.page.locator("[data-testid=stCode]"))
    return teacher.page.locator("[data-testid=stCode]").inner_text().strip()


def test_watchers_see_the_teachers_pictures_follow_him_and_can_change_nothing(live):
    teacher = live().open("?model=bas_pcd&p=gibbs&p=rates_fpcd&cells=6&present=1&speed=5")
    url = started(teacher)
    watchers = [live(PHONE, scheme, another=True) for scheme in ("light", "dark")]
    for watcher in watchers:
        watcher.page.goto(url)
        watcher.until("panels.length === 2 && panels.every(p => Number(p.dataset.n) > 0)")
        assert watcher.page.evaluate("document.documentElement.scrollWidth") == 390
        assert not watcher.page.locator("main :is(input, select, .remove:visible)").count()
        watcher.page.get_by_text("Live", exact=True).wait_for()
    teacher.page.get_by_text("2 browsers are watching.").wait_for()
    teacher.page.keyboard.press("Escape")

    # Paused, the pictures are those of the teacher: bit for bit, by the ink of each cell.
    teacher.pause()
    counts = teacher.counts()
    for watcher in watchers:
        watcher.until(f"JSON.stringify(panels.map(p => Number(p.dataset.n))) === '{counts}'".replace(" ", ""))
        watcher.page.get_by_text("Paused", exact=True).wait_for()
    light = watchers[0]
    # A picture that a watcher points at is large; what there is to say of it comes from the server.
    light.page.locator("canvas.picture").first.hover(position={"x": 20, "y": 20})  # its first sample
    light.page.locator(".loupe figcaption").first.filter(has_text="free energy −").wait_for()
    for watcher in watchers:  # barriers, in both themes
        watcher.page.evaluate(AXE)
        assert watcher.page.evaluate(RUN, RULES) == []
    light.page.mouse.move(0, 0)
    light.page.locator(".loupe").wait_for(state="detached")
    assert light.ask(BITS) == teacher.ask(BITS)
    watchers[1].page.close()  # one is enough for what follows

    # A knob that is let go, and the page that is opened, are followed.
    teacher.set_knob(1, "eps", 0.9)
    shown = teacher.ask("panels[1].querySelector('.knob input.value').value")
    light.until(f"panels[1].querySelector('[data-knob=eps] dd').textContent === '{shown}'")
    teacher.page.get_by_role("link", name="How it works").first.click()
    teacher.page.get_by_text("2 Landscape", exact=True).click()
    light.page.get_by_role("heading", name="Why does avoiding the past", exact=False).wait_for()
    light.until("panels.length === 3 && panels.every(p => Number(p.dataset.n) > 0)")
    light.until("document.querySelectorAll('.chart .plot canvas').length === 1")
    copy = light.page.locator("a.copy").get_attribute("href")
    to = light.page.request.get(light.address + copy, max_redirects=0).headers["location"]
    assert to.startswith("/chain")
    teacher.page.get_by_text("1 Units", exact=True).click()
    light.page.get_by_role("img", name="hidden unit 4", exact=False).wait_for()

    teacher.pick(teacher.page.get_by_role("button", name="Shared"), "Stop sharing")
    light.page.get_by_text("This view is no longer shared", exact=False).first.wait_for()
    light.errors.clear()
    assert light.page.goto(url).status == 404
    assert "no longer shared" in light.page.inner_text("main")
    light.errors.clear()  # Chromium reports the status, which is meant


def test_watchers_vote_and_the_teacher_sees_the_counts(live):
    teacher = live()
    teacher.goto(f"learn?lesson=stick&step={STEP}")
    teacher.page.locator(".st-key-lesson [role=radiogroup]").wait_for()
    url = started(teacher)
    phones = [live(PHONE, another=True) for _ in range(2)]
    for phone in phones:
        phone.page.goto(url)
        phone.page.locator(".ballot button").first.wait_for()
        phone.page.locator(".ballot button").nth(1).click()
        assert phone.page.evaluate("document.documentElement.scrollWidth") == 390
    counts = """[...document.querySelectorAll('.st-key-lesson [role=radiogroup] > *')]
        .map(e => getComputedStyle(e, '::after').content.replaceAll('"', '')).join()"""
    teacher.until(f"{counts} === '0 of 2,2 of 2,0 of 2'")
    phones[0].page.locator(".ballot button").first.click()  # the last one counts
    teacher.until(f"{counts} === '1 of 2,1 of 2,0 of 2'")
    phones[0].page.evaluate(AXE)
    assert phones[0].page.evaluate(RUN, RULES) == []
