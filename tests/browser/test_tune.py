"""The Tune page in a browser: a sweep fills the map, keys move a chain and open settings."""

import pytest

from tests.browser.live import PHONE, SIZE

pytestmark = pytest.mark.browser

SMALL = "tune?tune_models=bas_pcd&tune_x_n=3&tune_y_n=2&tune_y_from=0.9&tune_n=200&tune_seeds=2"

MAP = "panels.find(p => p.querySelector('.map'))"
POINT = f"String({MAP}?.querySelector('#map-point')?.ariaValueText)"
CHAINS = "panels.filter(p => !p.querySelector('.map'))"
RUNS = f"{CHAINS}.every(p => Number(p.dataset.n) > 0)"


def test_a_sweep_fills_the_map_and_its_cells_come_alive(live):
    page = live()
    page.goto(f"{SMALL}")
    page.until(f"{MAP} && {CHAINS}.length === 1 && {RUNS}")
    page.page.get_by_role("button", name="Start").click()
    page.until(f"{MAP}.querySelector('.state').textContent.startsWith('12 of 12 runs, complete')")
    page.until(f"{MAP}.querySelector('.verdict').textContent.startsWith('After 200 samples: ')")
    assert page.ask(POINT) == "200 samples"
    # The last column, the lower row: the chain takes its knobs and goes on.
    chart = page.page.locator(".map")
    chart.focus()
    for key in ("Home", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        chart.press(key)
    page.until(f"{MAP}.querySelector('.cell-name').textContent === 'Step size 1, Decay 0.9'")
    page.until(f"{CHAINS}[0].querySelector('.knob .value').value === '1'")
    chart.press("Enter")
    page.until(f"{CHAINS}.length === 2 && {RUNS}")
    # Another point of the curves, moved by hand, and another unit of cost.
    for control, value, event in (
        ("#map-point", "200", "input"),
        ('select[aria-label="What is equal"]', "sweeps", "change"),
    ):
        page.ask(f"""(control => {{
            control.value = '{value}';
            control.dispatchEvent(new Event('{event}'));
        }})({MAP}.querySelector('{control}'))""")
        if event == "input":
            page.until(f"{MAP}.querySelector('.verdict').textContent.startsWith('After 45 samples')")
            page.charts.first.wait_for()
    page.until(f"{POINT}.endsWith(' Gibbs sweeps')")
    address = page.url
    again = live(another=True)  # the sweep is found by the address, and is not its own
    again.page.goto(address)
    again.until(f"{MAP} && {MAP}.querySelector('.state').textContent.startsWith('12 of 12')")
    assert again.page.get_by_role("button", name="Delete").count() == 0
    page.page.get_by_role("button", name="Delete").click()
    page.until(f"{MAP}.querySelector('.state').textContent.includes('press Start')")


def test_trainers_have_a_map_alone_and_chains_come_back(live):
    page = live()
    page.goto(f"{SMALL}")
    page.until(f"{MAP} && {CHAINS}.length === 1 && {RUNS}")
    page.pick("Presets", "Trainers fall away")
    page.until(f"{CHAINS}.length === 0 && {POINT}.endsWith(' updates')")
    page.pick("Presets", "Large steps win early")
    page.page.get_by_role("button", name="Open in Sample").wait_for()
    page.until(f"{POINT}.endsWith(' samples') && {CHAINS}.length === 1")
    assert page.page.get_by_text("BidiComponent Error").count() == 0


def test_each_cell_of_two_samplers_is_reached_by_keys_and_the_pointer_can_be_closed(live):
    """Gibbs has one cell, beside the row of no other. On a phone the chain is right below the map."""
    page = live(PHONE)
    page.goto(f"{SMALL}&tune_samplers=rates_fpcd&tune_samplers=gibbs")
    page.until(f"{MAP} && {CHAINS}.length === 1 && {RUNS}")
    gap = f"{CHAINS}[0].getBoundingClientRect().top - {MAP}.getBoundingClientRect().bottom"
    assert 0 <= page.ask(gap) < 100
    page.page.set_viewport_size(SIZE)
    chart = page.page.locator(".map")
    chart.focus()
    for key in ("ArrowRight",) * 4:
        chart.press(key)
    page.until(f"{MAP}.querySelector('.cell-name').textContent === 'Gibbs'")
    chart.press("Alt+ArrowLeft")  # the browser's own
    page.until(f"{MAP}.querySelector('.cell-name').textContent === 'Gibbs'")
    chart.press("ArrowLeft")
    page.until(f"{MAP}.querySelector('.cell-name').textContent.startsWith('rates-FPCD, Step size 1')")
    page.until(f"{CHAINS}[0].dataset.n > 200")
    page.ask(f"{CHAINS}[0].querySelector('.remove').click()")
    page.until(f"{CHAINS}.length === 1 && {CHAINS}[0].dataset.n > 0 && {CHAINS}[0].dataset.n < 200")
    page.page.get_by_text("follows cells of rates-FPCD only").wait_for()
    page.set_knob(1, "eps", 0)  # a knob that is turned by hand stands in the address
    page.page.wait_for_url("**m=rates_fpcd:eps=0.0,**")
    assert page.page.locator("[data-testid=stException]").count() == 0
