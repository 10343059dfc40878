"""The live page of the site, from a web server: a stored picture, then models, with the bits of Python."""

import base64
import io
import re
import sys

import numpy as np
import pytest
from PIL import Image
from waiting import wait

import rbmviz
from tests.browser.live import PHONE, ROOT, serving_folder
from tests.browser.test_play_file import Opened

pytestmark = pytest.mark.browser

MODELS = "bas_pcd", "usps_fpcd"


@pytest.fixture(scope="module")
def live_page():
    sys.path.insert(0, str(ROOT / "docs" / "_play"))
    import live_page

    sys.path.pop(0)
    return live_page


@pytest.fixture(scope="module")
def site(live_page, tmp_path_factory):
    """Return the folder and its address; it has the first two models."""
    folder, models = tmp_path_factory.mktemp("site"), dict(live_page.MODELS)
    live_page.MODELS = {name: models[name] for name in MODELS}
    live_page.write_site(folder / "play")
    live_page.MODELS = models
    with serving_folder(folder) as address:
        yield folder / "play", f"{address}play/"


@pytest.fixture
def opened(chromium, site):
    """Return a function that opens the page; it must say no error, and ask nobody else."""
    pages = []

    def make(hash_="", without="", held=None):
        context = chromium.new_context(viewport=PHONE, has_touch=True)
        if without:
            context.route(f"**/{without}", lambda route: route.fulfill(status=404))
        if held is not None:
            context.route(f"**/{MODELS[1]}.bin", lambda route: held.append(route))
        pages.append(Opened(context, site[1] + hash_))
        return pages[-1].page, pages[-1]

    yield make
    for page in pages:
        assert page.said == []
        assert [url for url in page.asked if not url.startswith((site[1], "blob:", "data:"))] == []
        page.page.context.close()


def by_python(live, sampler, n):
    """Return the first n samples of a panel."""
    (seed, v0), *_ = live.starts
    chosen = rbmviz.make_sampler(sampler)
    return chosen.step(chosen.init(live.model, seed, v0), n).v


def shows(evaluate, model):
    pressed = "document.querySelector('.models [aria-pressed=true]').dataset.model"
    wait(lambda: evaluate(f"window.rbmviz?.panels[0]?.n > 60 && {pressed} === '{model}'"), model)


def test_models_follow_each_other_with_the_samples_of_python(opened, live_page, site):
    held = []
    page, evaluate = opened(held=held)
    stored = re.findall(r'src="data:image/png;base64,([^"]*)"', (site[0] / "index.html").read_text())
    for name in MODELS:
        shows(evaluate, name)
        live, _ = live_page.site_page(name)
        for panel, sampler in enumerate(live_page.SAMPLERS):
            v = by_python(live, sampler, 60)
            drawn = evaluate(f"[...rbmviz.panels[{panel}].samples(0, 60)]")
            np.testing.assert_array_equal(np.reshape(drawn, v.shape), v, err_msg=f"{name} {sampler}")
            if name == "bas_pcd":
                with Image.open(io.BytesIO(base64.b64decode(stored[panel]))) as image:
                    ink = np.asarray(image)[..., -1] == live_page.PIXEL_INK
                side = live_page.SIDE
                tiles = ink[1:, 1:].reshape(side, 5, side, 5)[:, :4, :, :4].transpose(0, 2, 1, 3)
                np.testing.assert_array_equal(tiles.reshape(side**2, 16), v[: side**2])
        if held:
            held.pop().continue_()
    page.locator("[data-model=bas_pcd]").click()  # a reader's choice stays, and is in the address
    shows(evaluate, "bas_pcd")
    assert page.url.endswith("#model=bas_pcd")
    assert page.locator("main").count() == 1
    assert evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    first = ("index.html", "page.bin", "engine.bin", "bas_pcd.bin")
    assert sum((site[0] / name).stat().st_size for name in first) < 200_000


def test_an_address_names_model_and_samplers(opened):
    page, evaluate = opened("#model=usps_fpcd,rates_fpcd")
    shows(evaluate, "usps_fpcd")
    assert evaluate("rbmviz.panels.map(panel => panel.sampler)") == ["rates_fpcd"]
    assert page.locator(".knob input.value").first.input_value() == "0.03"  # it is not stuck
    assert not page.locator(".caption").is_visible()  # which speaks of the first panel of four
    page.locator(".transport .play").click()
    page.locator("[data-model=bas_pcd]").click()
    wait(lambda: evaluate("rbmviz.panels[0].n") == 49, "samples of the stored picture, paused")
    assert page.url.endswith("#rates_fpcd,model=bas_pcd")


def test_the_first_drag_frees_a_stuck_chain(opened):
    page, evaluate = opened("#model=usps_fpcd")
    shows(evaluate, "usps_fpcd")
    first = page.locator(".panel").first
    wait(lambda: "5/10" in first.text_content(), "a chain that is stuck")
    slider = first.locator(".knob input.off")
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    wait(lambda: "10/10" in first.text_content(), "all digits")
    assert evaluate("rbmviz.panels[0].sampler") == "rates_fpcd"


def test_without_its_files_the_picture_stays_and_the_page_says_so(opened):
    page, _ = opened(without="page.bin")
    page.get_by_text("the ones that move need a web server").wait_for()
    assert page.locator(".still img").count() == 4
    page, evaluate = opened(without="engine.bin")
    page.locator("[role=alert]").wait_for()
    assert "missing" in evaluate("rbmviz.error")
    assert page.locator(".still img").first.is_visible()
