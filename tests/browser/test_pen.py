"""A part of an image is drawn, by mouse and by touch, and the samplers complete it."""

import numpy as np
import pytest

from rbmviz.rbm.clamp import as_clamp
from tests.browser.live import LAPTOP, PHONE
from tests.browser.test_accessibility import AXE, RULES, RUN

pytestmark = pytest.mark.browser

STROKE = np.array([(0.38, 0.28), (0.5, 0.2), (0.62, 0.28), (0.6, 0.42), (0.48, 0.55)])
"""The beginning of a two, in shares of the surface."""

HELD = "new URL(location.href).searchParams.get('clamp')"
CELLS = "panels.map(p => [...p.getRootNode().rbmviz.panels.get(Number(p.dataset.key)).picture.cells])"
PIXELS = """(canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data])(
    panels[0].querySelector('canvas.picture'))"""


def places(page):
    """Return the places of the stroke in the window, close to each other."""
    canvas = page.page.get_by_role("img", name="Drawing: ")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    at = np.linspace(0, len(STROKE) - 1, 17)
    shares = [np.interp(at, np.arange(len(STROKE)), axis) for axis in STROKE.T]
    return [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in zip(*shares, strict=True)]


def completed(page):
    """Return the units that are held; all samples have them, and the rest differs."""
    page.until(f"({HELD} ?? '') !== ''")
    units = as_clamp(page.ask(HELD), 784).units
    held = units >= 0
    page.until("panels.every(p => Number(p.dataset.n) >= 49)")
    page.pause()
    for cells in page.ask(CELLS):
        samples = np.reshape(cells, (-1, 784)) // 255
        np.testing.assert_array_equal(samples[:, held], np.tile(units[held], (len(samples), 1)))
        assert len(np.unique(samples[:, ~held], axis=0)) > len(samples) // 2
    return units.reshape(28, 28)


def check_box(units):
    """Check that ink and paper are held in the box around the stroke, and nothing else is."""
    rows, columns = (np.flatnonzero((units >= 0).any(axis=axis)) for axis in (1, 0))
    assert (units[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] >= 0).all()
    assert 30 < (units == 1).sum() < (units >= 0).sum() == len(rows) * len(columns) < 200
    assert all(units[int(28 * y), int(28 * x)] == 1 for x, y in STROKE)


def test_a_drawing_by_mouse_is_completed_marked_and_cleared(live):
    page = live(LAPTOP).open("?p=gibbs&p=rates_fpcd&speed=200")
    page.page.get_by_role("radio", name="draw").click()
    first, *others = places(page)
    page.page.mouse.move(*first)
    page.page.mouse.down()
    for place in others:
        page.page.mouse.move(*place)
    page.page.mouse.up()
    check_box(completed(page))
    assert page.page.get_by_text("not scored: a part is held").count() == 2
    page.page.get_by_text("bars: test images", exact=False).wait_for()
    red, _, blue, _ = np.reshape(page.ask(PIXELS), (-1, 4)).T.astype(int)
    assert ((blue - red) > 40).mean() > 0.05  # the tint of what is held
    page.page.evaluate(AXE)
    assert page.page.evaluate(RUN, RULES) == []
    page.page.get_by_role("button", name="Clear", exact=True).click()
    page.until(f"!{HELD}")
    page.page.get_by_role("button", name="Upper half", exact=True).press("Enter")  # by the keyboard
    page.until(f"({HELD} ?? '') !== ''")
    page.play()
    assert (completed(page) >= 0).sum() == 392


def test_a_drawing_by_touch_is_completed_on_a_phone(live):
    page = live(PHONE, is_mobile=True, has_touch=True).open("?p=rates_fpcd&speed=200&curve=draw")
    stroke, scrolled = places(page), "document.querySelector('[data-testid=stMain]').scrollTop"
    before, finger = page.ask(scrolled), page.page.context.new_cdp_session(page.page)
    for kind, place in zip(["touchStart", *["touchMove"] * 16], stroke, strict=True):
        points = [dict(zip("xy", place, strict=True))]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert page.ask(scrolled) == before  # the finger draws, and does not scroll
    check_box(completed(page))


def test_a_hidden_unit_is_held_by_mouse_and_keyboard(live):
    """The samplers restart with it; it is in the link, and leaves it when it is set free."""
    page = live(LAPTOP).open("?model=bas_pcd&p=gibbs&inside=True")
    units = page.page.get_by_role("slider", name="Hidden units")
    units.click(position={"x": 3, "y": 20})
    units.press("ArrowRight")
    page.page.get_by_text("Hidden unit 2 is free").wait_for()
    page.page.get_by_role("button", name="Hold on").click()
    page.until(f"({HELD} ?? '').includes('.')")
    np.testing.assert_array_equal(as_clamp(page.ask(HELD), 16, 16).hidden, [-1, 1] + 14 * [-1])
    page.page.get_by_role("button", name="Free", exact=True).click()
    page.until(f"!{HELD}")
