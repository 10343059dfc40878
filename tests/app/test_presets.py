"""Presets: what they claim is so, they set every control, and their caption goes when the screen differs."""

from pathlib import Path

import pytest
from page_settings import race_of, settings_of

from rbmviz import make_trainer
from tests.app.preset_runs import claims_of, live_pages, measured
from tests.lessons.doing import EVERYWHERE, data_of

LIVE = live_pages()
PRESETS = [(name, preset) for name, live in LIVE.items() for preset in live.presets]
TEXTS = ("tune_knobs", "sweep", "on", "clamp")
"""Settings that may be empty."""


def named(values):
    return [f"{name}-{preset.slug}" for name, preset in values]


@pytest.mark.claims
@pytest.mark.parametrize(("name", "preset"), PRESETS, ids=named(PRESETS))
def test_claims_of_a_preset_hold(name, preset):
    """At its own seed, after as many steps as a visitor sees; and it is not so of the panel beside it."""
    live = LIVE[name]
    claims = claims_of(live, preset)
    assert claims
    controls = [claim.of_control() for claim in claims if claim.control is not None]
    for found in measured(live, preset, [*claims, *controls]):
        assert found.holds == (found.claim not in controls), found


@pytest.mark.parametrize(("name", "preset"), PRESETS, ids=named(PRESETS))
def test_a_preset_can_be_read_and_needs_no_download(name, preset):
    live = LIVE[name]
    assert set(preset.settings) <= set(live.settings)
    values = live.values_of(preset)
    assert values[live.speed.key] in live.speed.spec.allowed
    lists = {name: value for name, value in values.items() if name not in TEXTS}
    assert "" not in lists.values()  # a list whose first entry is another one for other panels
    assert claims_of(live, preset)
    for text in (preset.panels, preset.variants):
        if values.get("tune_what") == "trainers":  # settings of a sweep, beside which no panel runs
            assert all(map(make_trainer, text))
        else:
            assert live.read(text)[1] == []
    assert data_of(values) <= EVERYWHERE


def test_the_documentation_lists_every_claim():
    """In the order of the pages; ``preset_runs`` writes the rows."""
    rows = (Path(__file__).parents[2] / "docs" / "presets.md").read_text().split("| --- |\n")[-1]
    listed = [tuple(row.split(" | ")[:2]) for row in rows.splitlines()]
    claims = [
        (f"| {name}: {preset.label}", claim.text)
        for name, preset in PRESETS
        for claim in claims_of(LIVE[name], preset)
    ]
    assert listed == claims, "docs/presets.md: 'python -m tests.app.preset_runs 5 PAGE' prints its rows"


def shown(test, name, preset):
    """Return whether the caption of a preset stands above the panels of a page."""
    return LIVE[name].caption(race_of(test, name)) == [preset.caption]


CHOSEN = {
    "sample": ("gibbs-sticks", lambda test: test.number_input(key="seed").set_value(3)),
    "train": ("the-yardstick", lambda test: test.select_slider(key="pace").set_value(50)),
    "coupling": ("modes-keep-them-apart", lambda test: test.toggle(key="tau_log").set_value(False)),
    "weights": ("a-better-proposal", lambda test: test.number_input(key="weights_seed").set_value(1)),
    "chain": ("moments-fall-as-1-t", lambda test: test.slider(key="land_depth").set_value(7.0)),
    "tune": ("trainers-fall-away", lambda test: test.number_input(key="tune_seeds").set_value(4)),
}
"""Of each page a preset, and another value for a control that it sets."""


@pytest.mark.parametrize("name", CHOSEN)
def test_a_link_opens_a_preset_and_a_control_withdraws_it(page, address_of, name):
    slug, turn = CHOSEN[name]
    live = LIVE[name]
    preset = next(preset for preset in live.presets if preset.slug == slug)
    other = next(preset for preset in live.presets if preset.slug != slug)
    test = page(name, preset=slug)
    race = race_of(test, name)
    assert not test.warning
    assert shown(test, name, preset)
    assert address_of(test)["preset"] == [slug]
    assert [panel.algorithm for panel in race.panels] == live.read(preset.panels)[0]
    assert race.setup == live.setup_of(live.values_of(preset))
    assert race.rate == live.values_of(preset)[live.speed.key]
    turn(test).run()
    assert not shown(test, name, preset)
    assert address_of(test)["preset"] == []
    # The menu sets every control back, that of another preset included.
    test.button(key=f"{name} preset {other.label}").click().run()
    assert not test.exception
    assert shown(test, name, other)
    assert address_of(test)["preset"] == [other.slug]
    wanted = live.values_of(other)
    assert {key: settings_of(test)[key] for key in wanted} == wanted


def test_parameters_of_a_link_override_its_preset(page):
    test = page("chain", preset="decay-hurts", land_depth="5.0", l="gibbs")
    race = race_of(test, "chain")
    assert [panel.algorithm.name for panel in race.panels] == ["gibbs"]
    assert settings_of(test)["land_depth"] == 5.0
    assert (settings_of(test)["land"], race.rate) == ("letters L T X", 100)
    [warning] = page("chain", preset="no<b>such").warning
    assert warning.value.startswith(
        r"The link names an unknown preset 'no\<b\>such'; there are two-valleys, the-valley-fills-up"
    )


@pytest.mark.parametrize(
    ("name", "slug", "knob", "turned"),
    [("sample", "set-it-free", "eps", 0.02), ("coupling", "weights-grow", "scale", 0.3)],
)
def test_caption_goes_with_the_turn_that_it_asks_for(page, address_of, name, slug, knob, turned):
    [preset] = [preset for preset in LIVE[name].presets if preset.slug == slug]
    test = page(name, preset=slug)
    race = test.session_state["races"][name]
    panel = next(panel for panel in race.panels if hasattr(panel.algorithm, knob))
    race.apply_knobs(panel.key, **{knob: turned})
    assert not shown(test.run(), name, preset)
    parts = address_of(test)
    assert parts["preset"] == []
    again = page(name, **parts)
    assert not shown(again, name, preset)
    assert [panel.algorithm for panel in again.session_state["races"][name].panels] == [
        panel.algorithm for panel in race.panels
    ]
