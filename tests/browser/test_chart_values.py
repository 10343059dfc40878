"""A chart in frames: its values are read with the pointer and with the keys, without a run of the script."""

import re

import pytest
from waiting import wait

from tests.browser.live import LAPTOP

pytestmark = pytest.mark.browser


def test_the_values_of_a_chart_are_read_with_the_pointer_and_the_keys(live):
    page = live(LAPTOP).open("?p=gibbs&p=rates_fpcd&speed=60")
    page.until("panels.every(p => Number(p.dataset.n) > 30)")
    chart = page.page.get_by_role("slider", name="ISL against samples")
    runs = page.page.evaluate(
        """() => {
            window.runs = 0;
            const app = document.querySelector('[data-testid=stApp]');
            new MutationObserver(() => { window.runs += app.dataset.testScriptState === 'running'; })
                .observe(app, { attributes: true, attributeFilter: ['data-test-script-state'] });
            return window.runs;
        }"""
    )
    before = int(chart.get_attribute("aria-valuemax"))
    wait(lambda: int(chart.get_attribute("aria-valuemax")) > before + 10, "new points of both curves")
    assert page.page.evaluate("window.runs") == runs
    page.pause()
    tip, box = page.page.locator(".place .plot .tip").first, chart.bounding_box()
    assert not tip.is_visible()
    for share in range(5, 100, 5):  # down the right half, until a curve is near
        page.page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + share / 100 * box["height"])
        if tip.is_visible():
            break
    tip.wait_for()
    assert tip.inner_text().startswith(("Gibbs\nSamples: ", "rates-FPCD\nSamples: "))
    page.page.mouse.move(box["x"] + 20, box["y"] - 60)
    tip.wait_for(state="hidden")
    chart.focus()
    assert chart.get_attribute("aria-valuetext") == "Press an arrow key to read the values"
    said = [press(page, chart, key) for key in ("ArrowLeft", "ArrowLeft", "ArrowUp", "Home")]
    first, second, other, start = said
    assert first.startswith("Gibbs, Samples: ")
    assert second.startswith("Gibbs, Samples: ")
    assert second != first
    assert other.startswith("rates-FPCD, Samples: ")
    assert start.startswith("rates-FPCD, Samples: 5, ")
    assert press(page, chart, "Escape") == "Press an arrow key to read the values"


def test_the_fold_of_a_panel_has_charts_of_the_samples_that_were_looked_at(live):
    """Their values are read with the keys, and agree with the sentence below."""
    page = live(LAPTOP).open("?p=gibbs&p=rates_fpcd&model=bas_pcd&speed=200")
    page.until("panels.every(p => p.querySelector('.trust').textContent.slice(1) !== 'too early')")
    page.pause()
    panel = page.page.locator(".panel").first
    panel.locator(".more > summary").click()
    charts = panel.locator(".look").get_by_role("slider")
    titles = ["Free energy, by class", "Autocorrelation", "From class (row) to class"]
    wait(lambda: [one.get_attribute("aria-label") for one in charts.all()] == titles, "charts")
    energy, correlation, jumps = charts.all()
    energy.focus()
    assert re.match(r"\S.*, Sample: \d+, Free energy: −?[\d.]+$", press(page, energy, "End"))
    correlation.focus()
    press(page, correlation, "Home")
    assert press(page, correlation, "Home") == "Lag (samples): 0, Autocorrelation: 1"
    jumps.focus()
    press(page, jumps, "Home")
    cells = [press(page, jumps, "Home")]
    while (cell := press(page, jumps, "ArrowRight")) != cells[-1]:
        cells.append(cell)
    read = [re.fullmatch(r"to: (.+), from: (.+): ([\d,]+)", cell).groups() for cell in cells]
    counts = {(start, end): int(n.replace(",", "")) for end, start, n in read}
    changes = sum(n for (start, end), n in counts.items() if start != end)
    said = panel.locator(".look > :not([hidden]) .notes").last.text_content()
    assert said.startswith(f"{changes:,} changes in {sum(counts.values()):,} samples. A stay lasts")
    for name in {start for start, _ in counts}:
        stays = sum(n for (start, _), n in counts.items() if start == name)
        left = stays - counts.get((name, name), 0)
        assert f"{name}: {f'{stays / left:.3g}' if left else f'over {stays:,}'}" in said


def press(page, chart, key):
    """Press a key in a chart; return the value that screen readers then read."""
    page.page.keyboard.press(key)
    return chart.get_attribute("aria-valuetext")
