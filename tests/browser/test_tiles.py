"""A picture that the reader points at is shown large, with what there is to say about it."""

import json

import numpy as np
import pytest

import rbmviz
from tests.browser.live import LAPTOP, PHONE
from tests.browser.test_accessibility import AXE, RULES, RUN

pytestmark = pytest.mark.browser

LOUPE = "panels[0].getRootNode().querySelector('.loupe')"
HELD = "panels[0].getRootNode().rbmviz.loupe"
PLACES = "panels.map(p => JSON.stringify(p.getBoundingClientRect()))"
STRIPS = "panels.map(p => p.querySelector('canvas.strip').toDataURL())"
WRITTEN = f"{LOUPE}?.querySelector('.loupe p').textContent.includes('of the data')"
FADES = f"""new Promise(done => {{
    const seen = [], began = performance.now();
    const look = () => {{
        seen.push({HELD}.shown.some(x => x > 0 && x < 255));
        if (performance.now() - began < 1500) requestAnimationFrame(look); else done(seen.some(Boolean));
    }};
    requestAnimationFrame(look);
}})"""
"""Whether the large picture is between two pictures at any time after a step."""


def point(page, panel, slot, act):
    """Point at a cell of a panel of 7 x 7 pictures, or 5 x 5 on a phone, by a function of x and y."""
    box = page.page.locator("canvas.picture").nth(panel).bounding_box()
    side = page.ask("panels[0].getRootNode().rbmviz.side")
    x, y = slot % side + 0.5, slot // side + 0.5
    act(box["x"] + box["width"] * x / side, box["y"] + box["height"] * y / side)


def test_a_tile_under_the_pointer_is_large_and_says_what_the_model_says(live):
    sent = []
    page = live(LAPTOP)
    page.page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.open("?speed=20")
    page.until("panels.every(p => Number(p.dataset.n) > 20)")
    page.pause()
    page.until("panels.every(p => p.querySelector('.loupe') === null)")
    places, strips, n = page.ask(PLACES), page.ask(STRIPS), page.counts()[0]
    assert not any('"sample"' in str(message) for message in sent)  # nobody has pointed
    point(page, 0, 4, page.page.mouse.move)
    page.until(WRITTEN)
    assert page.ask(f"{LOUPE}.querySelector('canvas').getBoundingClientRect().width") == 112
    assert page.ask(PLACES) == places
    assert [a == b for a, b in zip(page.ask(STRIPS), strips, strict=True)] == [False, True, True, True]
    tile = page.ask(f"({{ ...{HELD}.tile, pixels: [...{HELD}.to] }})")
    assert tile["sample"] == max(i for i in range(n) if i % 49 == 4)
    v = np.array([tile["pixels"]], np.uint8) // 255
    assert tile["energy"] == pytest.approx(rbmviz.load_model("mnist_fpcd").rbm.free_energy(v)[0])
    assert f"Sample {tile['sample'] + 1}" in page.ask(f"{LOUPE}.querySelector('strong').textContent")
    page.page.mouse.move(640, 700)
    page.until(f"{LOUPE} === null")
    page.until(f"JSON.stringify({STRIPS}) === {json.dumps(json.dumps(strips, separators=(',', ':')))}")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_newest_tile_fades_from_the_one_before_unless_motion_is_unwanted(live, motion):
    page = live(LAPTOP, reduced_motion=motion)
    page.goto("?p=rates_herding&speed=5")
    page.page.get_by_role("button", name="Step Shortcut").wait_for()
    if motion == "no-preference":
        page.until("Number(panels[0]?.dataset.n) > 0")
        page.pause()
    else:
        page.until("panels[0]?.dataset.status === 'paused'")
        page.page.keyboard.press("s")
    page.until("Number(panels[0].dataset.n) > 0 && panels[0].dataset.status === 'paused'")
    point(page, 0, page.counts()[0] - 1, page.page.mouse.move)
    page.until(f"{HELD}.at?.follows")
    page.page.keyboard.press("s")
    assert page.ask(FADES) == (motion == "no-preference")
    page.until(f"{HELD}.at.slot === Number(panels[0].dataset.n) - 1")


def test_a_tile_is_reached_by_keyboard_and_by_touch(live):
    page = live(LAPTOP).open("?model=bas_pcd&p=gibbs&speed=5")
    page.pause()
    page.page.keyboard.press("Tab")
    page.ask("panels[0].querySelector('canvas.picture').focus({ focusVisible: true })")
    page.until(WRITTEN)
    slider = page.page.get_by_role("slider", name="Live samples of Gibbs")
    newest = int(slider.get_attribute("aria-valuenow"))
    assert newest == page.counts()[0]
    page.page.keyboard.press("ArrowLeft")
    page.until(f"{LOUPE}.ariaLabel.includes('Sample {newest - 1}: ')")
    assert f"Sample {newest - 1}: counts as" in slider.get_attribute("aria-valuetext")
    # All pictures are one stop, also of several panels.
    page.pick("Add a sampler", "rates-FPCD")
    page.until("panels.length === 2 && Number(panels[1].dataset.n) > 0")
    assert page.ask("panels.map(p => p.querySelector('canvas.picture').tabIndex)") == [0, -1]
    page.ask("panels[0].querySelector('canvas.picture').focus({ focusVisible: true })")
    page.page.keyboard.press("Home")
    cells = page.ask("panels[0].getRootNode().rbmviz.side") ** 2
    for _ in range(cells):
        page.page.keyboard.press("ArrowRight")
    page.until(f"{HELD}.at?.panel.key === Number(panels[1].dataset.key) && {HELD}.at.slot === 0")
    page.until(f"{LOUPE}.ariaLabel.includes('Large tile: Sample 1: ')")
    page.page.evaluate(AXE)
    assert page.page.evaluate(RUN, RULES) == []
    page.page.keyboard.press("Escape")
    page.until(f"{LOUPE} === null")

    phone = live(PHONE, is_mobile=True, has_touch=True).open("?speed=20")
    phone.pause()
    point(phone, 1, 0, phone.page.touchscreen.tap)
    phone.until(WRITTEN)
    box = phone.ask(f"{LOUPE}.getBoundingClientRect().toJSON()")
    assert box["left"] >= 0
    assert box["right"] <= PHONE["width"]
    phone.page.touchscreen.tap(60, 600)
    phone.until(f"{LOUPE} === null")


def test_a_text_is_shown_by_its_words(live):
    page = live(LAPTOP).open("?model=newsgroups_fpcd&p=gibbs&speed=5")
    page.pause()
    point(page, 0, 0, page.page.mouse.move)
    page.until(f"{LOUPE}?.textContent.includes('Words: ')")
    assert page.ask(f"{LOUPE}.querySelector('.larges').checkVisibility()") is False
