"""A part of an image is drawn, by mouse and by touch, and the samplers complete it."""

import re

import numpy as np
import pytest

from rbmviz.rbm.clamp import as_clamp
from tests.browser.live import LAPTOP, PHONE
from tests.browser.test_accessibility import AXE, RULES, RUN

pytestmark = pytest.mark.browser

STROKE = [(0.38, 0.28), (0.5, 0.2), (0.62, 0.28), (0.6, 0.42), (0.48, 0.55)]
"""The beginning of a two, in shares of the surface."""

HELD = "new URL(location.href).searchParams.get('clamp')"
CELLS = "panels.map(p => [...p.getRootNode().rbmviz.panels.get(Number(p.dataset.key)).picture.cells])"
SETTLED = "panels.every(p => Number(p.dataset.n) >= 49)"
PIXELS = """(canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data])(
    panels[0].querySelector('canvas.picture'))"""


def surface(page):
    canvas = page.page.get_by_role("img", name="Drawing: ")
    canvas.scroll_into_view_if_needed()
    return canvas.bounding_box()


def places(box):
    return [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in STROKE]


def draw_by_mouse(page):
    (first, *others), mouse = places(surface(page)), page.page.mouse
    mouse.move(*first)
    mouse.down()
    for place in others:
        mouse.move(*place, steps=5)
    mouse.up()


def draw_by_touch(page):
    first, *others = places(surface(page))
    finger = page.page.context.new_cdp_session(page.page)

    def touch(kind, *where):
        points = [{"x": x, "y": y} for x, y in where]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", first)
    before = first
    for place in others:
        for share in (0.25, 0.5, 0.75, 1):
            touch("touchMove", tuple(np.array(before) + share * (np.array(place) - before)))
        before = place
    touch("touchEnd")


def check_completed(page):
    """Return the units that are held; all samples have them, and the rest differs."""
    page.until(f"({HELD} ?? '') !== ''")
    units = as_clamp(page.ask(HELD), 784).units
    page.until(SETTLED)
    page.pause()
    held = units >= 0
    for cells in page.ask(CELLS):
        samples = np.reshape(cells, (-1, 784)) // 255
        np.testing.assert_array_equal(samples[:, held], np.tile(units[held], (len(samples), 1)))
        assert len(np.unique(samples[:, ~held], axis=0)) > len(samples) // 2
    return units.reshape(28, 28)


def check_box(units):
    """Check that ink and paper are held in the box around the stroke, and nothing else is."""
    rows, columns = (np.flatnonzero((units >= 0).any(axis=axis)) for axis in (1, 0))
    assert (units[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] >= 0).all()
    assert (units >= 0).sum() == len(rows) * len(columns)
    for x, y in STROKE:
        assert units[int(28 * y), int(28 * x)] == 1
    assert 30 < (units == 1).sum() < (units >= 0).sum() < 200


def test_a_drawing_by_mouse_is_completed_marked_and_cleared(live):
    page = live(LAPTOP).open("?p=gibbs&p=rates_fpcd&speed=200")
    page.page.get_by_role("radio", name="draw").click()
    page.page.get_by_text("The samplers complete it", exact=False).wait_for()
    draw_by_mouse(page)
    check_box(check_completed(page))
    assert page.page.get_by_text("not scored: a part is held").count() == 2
    assert page.ask("panels[0].querySelector('dd[data-readout=isl]')") is None
    page.page.get_by_text(re.compile(r"Drawing: free energy −\d+\.\d; bars: test images")).wait_for()
    red, _, blue, _ = np.reshape(page.ask(PIXELS), (-1, 4)).T.astype(int)
    assert ((blue - red) > 40).mean() > 0.05  # the tint of what is held
    page.page.evaluate(AXE)
    assert page.page.evaluate(RUN, RULES) == []
    url = page.url
    page.page.get_by_role("button", name="Clear", exact=True).click()
    page.until(f"!{HELD}")
    page.page.get_by_role("button", name="Upper half", exact=True).press("Enter")  # of the newest sample
    page.until(f"({HELD} ?? '') !== ''")
    page.play()
    assert (check_completed(page) >= 0).sum() == 392
    other = live(LAPTOP)  # the link has the first drawing
    other.open(url.partition("/?")[2] and "?" + url.partition("/?")[2].partition("&paused_at")[0])
    check_box(check_completed(other))


def test_a_drawing_by_touch_is_completed_on_a_phone(live):
    page = live(PHONE, is_mobile=True, has_touch=True).open("?p=rates_fpcd&speed=200&curve=draw")
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    surface(page)
    before = page.ask(scrolled)
    draw_by_touch(page)
    assert page.ask(scrolled) == before  # the finger draws, and does not scroll
    check_box(check_completed(page))
