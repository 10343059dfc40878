"""The Coupling page in a browser."""

import re

import pytest

pytestmark = pytest.mark.browser

COLUMNS = "[...panels[0].querySelectorAll('.pair-column')]"


PIXELS = """c => [...Array(16).keys()].map(i => {
    const [x, y] = [(i % 4 + 0.5) * c.width / 4, (Math.floor(i / 4) + 0.5) * c.height / 4];
    return String(c.getContext('2d').getImageData(x, y, 1, 1).data);
})"""
"""Colours of the 16 pixels of a picture; two pictures beside each other may differ in width by a hair."""


SMALL = "coupling_visible=16&coupling_hidden=10&c=coupling:scale=1.5"
"""A model whose pairs meet soon, and for which everything is exact."""


def of_columns(page, expression):
    return page.ask(f"{COLUMNS}.map(column => {expression})")


def figures(page, name):
    return of_columns(
        page, f"column.querySelector(`dd[data-readout=${{column.dataset.algorithm}}_{name}]`).textContent"
    )


def test_pairs_meet_and_the_scale_acts(live):
    page = live().open(f"coupling?{SMALL}&coupling_speed=30&coupling_more=true")
    [before] = page.pictures()
    page.until(f"panels[0].querySelector('canvas.picture').toDataURL() !== '{before}'")
    page.until(f"{COLUMNS}.every(column => column.querySelector('dd').textContent.match(/[0-9]/))")
    page.until(f"{COLUMNS}.some(column => column.classList.contains('met'))")
    badges = of_columns(
        page, "column.classList.contains('met') && column.querySelector('.badge').textContent"
    )
    assert all(badge.startswith("met: τ = ") for badge in badges if badge)
    page.until(f"{COLUMNS}.every(column => Number(column.dataset.pair) > 1)")
    page.charts.nth(4).wait_for()
    page.page.get_by_text("The grey curve is exact").wait_for()
    # The mean of many pairs is 18 sweeps or more; the first few may be short.
    page.until(f"{COLUMNS}.every(column => parseFloat(column.querySelector('dd').textContent) > 4)")
    # Hardly any weights: all pairs meet at once. The panel is not built anew.
    slow = [float(x.removesuffix(" sweeps")) for x in figures(page, "mean")]
    page.ask("panels[0].mark = 'the same element'")
    page.set_knob(0, "scale", 0.05, commit=False)
    page.until(
        f"{COLUMNS}.every((column, i) => parseFloat(column.querySelector('dd').textContent) < {slow}[i] - 1)"
    )
    page.set_knob(0, "scale", 0.05)
    page.page.wait_for_url(lambda url: "scale=0.013" in url)
    assert page.ask("panels[0].mark") == "the same element"


def test_step_by_step_to_the_meeting(live):
    page = live().open(f"coupling?{SMALL}&coupling_seed=3")
    page.page.get_by_role("button", name="Pause").click()
    page.until("panels[0].dataset.status === 'paused'")
    page.page.get_by_role("button", name=re.compile("^Reset")).click()
    page.until("panels[0].dataset.n === '0'")
    for n in range(1, 60):
        page.page.get_by_role("button", name="Step").click()
        page.until(f"panels[0].dataset.n === '{n}'")
        if (of_columns(page, "column.dataset.met"))[0] == "true":
            break
    page.until(f"{COLUMNS}[0].classList.contains('met')")
    assert of_columns(page, "column.querySelector('.badge').textContent")[0] == f"met: τ = {n}"
    assert of_columns(page, "column.querySelector('.where').textContent")[0].endswith("0/16 differ")
    first, second = page.ask(f"[...{COLUMNS}[0].querySelectorAll('canvas.picture')].map({PIXELS})")
    assert first == second
    page.page.get_by_role("button", name="Step").click()
    page.until(f"panels[0].dataset.n === '{n + 1}'")
    assert len(set(first)) == 2
    # It is the first sweep of the next pair, which meets at its second.
    assert of_columns(page, "[column.dataset.pair, column.dataset.t]")[0] == ["1", "1"]
    assert not of_columns(page, "column.classList.contains('met')")[0]
