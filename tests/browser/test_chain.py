"""The page How it works in a browser."""

import re

import pytest
from waiting import wait

pytestmark = pytest.mark.browser


def test_the_valley_fills_up_and_knobs_act(live):
    # In a window in which the sentence of the preset has two lines.
    page = live(viewport={"width": 800, "height": 1000}).open("chain?preset=the-valley-fills-up")
    page.page.wait_for_url("**land_depth=12**")
    caption = page.page.get_by_text("crosses by luck")
    caption.wait_for()
    assert page.ask("panels.map(p => p.querySelector('h3').textContent)") == [
        "Gibbs",
        "rates-FPCD",
        "Sample penalization",
    ]
    before = page.pictures()
    page.until("panels.every(p => Number(p.dataset.n) > 30)")
    wait(lambda: all(a != b for a, b in zip(before, page.pictures(), strict=True)), "other pictures")
    assert page.number(0, "raised") == "+0.00"
    assert float(page.number(2, "bent")) > 0.05
    page.page.evaluate("document.fonts.ready")  # until then lines above may break elsewhere
    height = page.ask("panels[0].getBoundingClientRect().y")
    # Without pushes and with full decay the ground is the model's again: rates-FPCD is Gibbs.
    page.set_knob(1, "eps", 0.0)
    page.set_knob(1, "alpha", 0.0)
    page.until("panels[1].querySelector('dd[data-readout=bent]').textContent === '0.000'")
    page.page.wait_for_url("**rates_fpcd:eps=0.0**")
    caption.wait_for(state="hidden")
    assert page.ask("panels[0].getBoundingClientRect().y") == height  # its place stays
    page.page.wait_for_url(lambda url: "preset=" not in url and "land_depth=12" in url)
    page.charts.first.wait_for()


def test_steps_reset_and_another_landscape(live):
    page = live().open("chain?l=gibbs&l=rates_fpcd:eps=0.3")
    page.pause()
    page.page.get_by_role("button", name=re.compile("^Reset")).click()
    page.until("panels.every(p => p.dataset.n === '0')")
    page.page.get_by_role("button", name="Step").click()
    page.until("panels.every(p => p.dataset.n === '1' && p.dataset.status === 'paused')")
    assert page.number(0, "bent") == "0.000"
    assert float(page.number(1, "bent")) > 0.1
    # With another panel the server sends all states again: they are not drawn twice.
    page.pick("Add a sampler", "Sample penalization")
    page.until("panels.length === 3 && panels[2].dataset.n === '1'")
    trails = "[...panels[0].getRootNode().rbmviz.panels.values()].map(p => p.trail.length)"
    assert page.ask(trails) == [1, 1, 1]
    page.ask("panels[0].mark = 'the same element'")
    page.choose("Landscape", "letters L T X")
    page.page.wait_for_url("**land=letters**")
    page.until("panels.every(p => p.dataset.n === '0')")
    assert page.ask("panels[0].mark") == "the same element"


def test_units_draw_an_image_by_themselves_and_lead_to_digits(live):
    opened = live()
    page = opened.page
    opened.goto("chain?little=units")
    page.locator(".made > svg").wait_for()
    play = page.locator(".made").get_by_role("button", name="Play")
    play.click()
    said = page.locator(".chance span")
    said.filter(has_text="h3: ").wait_for()  # three units, without a further click
    page.locator(".made").get_by_role("button", name="Pause").click()
    found = page.locator(".line").evaluate(
        "line => { const [filled, dot] = line.children; "
        "return [parseFloat(dot.style.left) < parseFloat(filled.style.width), dot.matches('.on')]; }"
    )
    assert found[0] == found[1]
    page.get_by_role("button", name="Reset").click()
    for i in range(12):
        assert not page.get_by_role("button", name="Now 784 pixels").count()
        page.get_by_role("button", name="Sweep", exact=True).click()
        page.locator(".kept svg").nth(i).wait_for()
    pixels = "e => [...e.querySelectorAll('.pixel')].map(p => p.matches('.on'))"
    image = page.locator(".made > svg").evaluate(pixels)
    assert page.locator(".kept svg").last.evaluate(pixels) == image
    units = "e => [...e.querySelectorAll('[data-unit^=visible]')].map(u => u.matches('.on'))"
    assert page.locator(".host > svg").evaluate(units) == image
    page.get_by_role("button", name="Now 784 pixels").click()
    page.wait_for_url("**/?*model=mnist_fpcd*")


def test_a_dot_walks_over_the_states_of_each_chain_unless_motion_is_unwanted(live):
    opened = live()
    page = opened.page
    opened.goto("chain?little=matrix&chain_matrix=two wells")
    said = page.locator(".walk text").filter(has_text="moved")
    said.nth(1).filter(has_text="of 4").wait_for()
    page.locator(".walk").get_by_role("button", name="Pause").click()
    before = said.all_text_contents()
    assert len({text.split(" of ")[1] for text in before}) == 1  # both have made the same steps
    page.wait_for_timeout(1000)
    assert said.all_text_contents() == before
    slider = page.get_by_role("slider", name="Taken from the diagonal")
    slider.evaluate("input => { input.value = 100; input.dispatchEvent(new Event('input')); }")
    said.first.wait_for(state="detached")  # another chain: nothing has moved yet
    page.locator(".walk").get_by_role("button", name="Walk").click()
    said.nth(1).filter(has_text="of 1").wait_for()

    calm = live(reduced_motion="reduce")
    calm.goto("chain?little=matrix")
    calm.page.locator(".walk").get_by_role("button", name="Walk").wait_for()
    calm.page.wait_for_timeout(1000)
    assert not calm.page.locator(".walk text").filter(has_text="moved").count()


CHARTS = """[...document.querySelectorAll('[class*=st-key-plot-] *')]
    .flatMap(node => [...node.shadowRoot?.querySelectorAll('.plot canvas') ?? []])"""


def test_lambda_is_dragged_and_the_table_is_edited_by_hand(live):
    opened = live()
    page = opened.page
    opened.goto("chain?little=matrix")
    page.get_by_text("0.9333").wait_for()
    page.wait_for_function(f"{CHARTS}.length === 3")
    pictures = f"{CHARTS}.map(c => c.toDataURL())"
    before = page.evaluate(pictures)
    slider = page.get_by_role("slider", name="Taken from the diagonal")
    slider.evaluate("input => { input.value = 1000; input.dispatchEvent(new Event('input')); }")  # not let go
    page.get_by_text("it is periodic").wait_for()
    page.wait_for_function(
        f"before => {pictures}.every((picture, i) => i === 0 || picture !== before[i])", arg=before
    )
    assert page.evaluate(pictures)[0] == before[0]  # A itself stays
    box = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
    page.mouse.dblclick(box["x"] + 220, box["y"] + 55)  # from 1 to 2
    editor = page.locator("#portal input, #portal textarea")
    editor.fill("0.5")
    editor.press("Enter")
    page.get_by_text("Row 1 sums to 1.32").wait_for()
    page.get_by_text("it is periodic").wait_for()  # the figures are those of the chain before
    page.get_by_role("button", name="Make every row sum to 1").click()
    page.get_by_text("Row 1 sums to 1.32").wait_for(state="hidden")
    page.wait_for_function(f"before => {CHARTS}[0]?.toDataURL() !== before[0]", arg=before)
