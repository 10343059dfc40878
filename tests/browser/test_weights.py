"""The Weights page in a browser."""

import json

import pytest

pytestmark = pytest.mark.browser


def test_weights_come_in_and_a_slider_changes_them(live):
    panels = "w=pop_cd:n_chains=100&w=pop_cd:n_chains=100,proposal=mixture"
    page = live().open(f"weights?{panels}&weights_model=bas_pcd&weights_pace=30&weights_more=true")
    titles = page.ask("panels.map(p => p.querySelector('h3').title)")
    assert titles == ["pop-CD-1", "pop-CD-1, mixture"]
    strips = "panels.map(p => p.querySelector('canvas.strip').toDataURL())"  # the heaviest may be the same
    before = page.ask(strips)
    page.until("panels.every(p => Number(p.dataset.n) > 20)")
    page.until(f"{strips}.every((strip, i) => strip !== {json.dumps(before)}[i])")
    page.until("panels[0].querySelector('dd[data-readout=truth]').textContent === '66.92'")
    assert page.number(0, "truth_error") == "exact"
    assert 60 < float(page.number(0, "log_z")) < 70
    page.until("panels.every(p => p.querySelectorAll('.shares span').length === 12)")
    # Ten samples a batch: the weights of before are forgotten, the run goes on.
    n = page.counts()[0]
    assert page.number(0, "ess").endswith("/100")
    page.set_knob(0, "n_chains", 0.0, commit=False)
    page.until("panels[0].querySelector('dd[data-readout=ess]').textContent.endsWith('/100') === false")
    assert page.counts()[0] >= n
    page.set_knob(0, "k", 1 / 3)
    page.page.wait_for_url("**k=10**")
    page.until("panels[0].querySelector('h3').title.startsWith('pop-CD-10')")
    page.charts.first.wait_for()


def test_the_page_opens_on_one_weight_its_panels_keep_their_colours_and_presets_are_cards(live):
    page = live().open("weights")
    page.page.wait_for_url("**preset=one-weight-takes-all**")
    tones = "panels.map(p => p.style.getPropertyValue('--accent'))"
    before = page.ask(tones)
    assert len(set(before)) == 4
    page.ask("panels[0].querySelector('.remove').click()")
    page.until("panels.length === 3")
    assert page.ask(tones) == before[1:]
    card = page.page.locator("[data-testid=stPopoverBody] .small-picture").nth(2)
    page.menu("Presets", card)
    assert card.evaluate("image => image.naturalWidth") > 200
    assert card.evaluate("image => image.src.length") < 15_000  # a few kB
    box = card.bounding_box()
    page.page.mouse.click(box["x"] + 30, box["y"] + 30)  # the whole card is its button
    page.page.wait_for_url("**preset=more-sweeps-even-the-weights-out**")
    page.until("panels.length === 4")
    assert page.ask(tones) == before
