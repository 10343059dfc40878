"""Colours are told apart by protan, deutan and tritan eyes, and stand out from both backgrounds."""

from itertools import combinations, pairwise

import pytest
from colour_vision import ciede2000, contrast, distance

from rbmviz.charts.style import (
    COUPLING_COLOURS,
    GREY,
    MAX_SHADES,
    RAMP,
    SPARE_COLOURS,
    colour,
    dashes,
    ramp,
    shades,
)
from rbmviz.registry import samplers, trainers
from rbmviz.samplers import list_samplers
from rbmviz_app.pages.chain.matrix_charts import CHAIN_COLOURS
from rbmviz_app.pages.coupling.charts import STYLES

APART = 10
"""Smallest distance CIEDE2000 of two algorithms."""

NEIGHBOURS = 5
"""Smallest distance of two neighbours on one ramp."""

BACKGROUNDS = {"light": "#ffffff", "dark": "#171614"}

TOGETHER = {
    "samplers": [*(colour(name) for name in samplers if samplers[name].colour), *SPARE_COLOURS[:2]],
    "trainers": [*(colour(name) for name in trainers if trainers[name].colour), SPARE_COLOURS[0]],
    "couplings": [*COUPLING_COLOURS.values(), colour("cd"), GREY],
    "matrices": list(CHAIN_COLOURS),
    "ramp": [RAMP[0], RAMP[-1]],
}
"""Colours of curves that may be in one chart. Those that declare none share spare ones; dashes differ."""


def test_the_distance_is_the_published_one():
    assert ciede2000((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert ciede2000((50, 2.5, 0), (73, 25, -18)) == pytest.approx(27.1492, abs=1e-4)
    assert ciede2000((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619)) == pytest.approx(
        2.0373, abs=1e-4
    )
    # Okabe and Ito's reddish purple and sky blue are apart; red and green are not, to deutan eyes.
    assert distance("#cc79a7", "#56b4e9") > APART > distance("#8f7b00", "#a66f00")


@pytest.mark.parametrize("chart", TOGETHER)
def test_algorithms_of_one_chart_are_told_apart(chart):
    near = [
        (one, other, distance(one, other))
        for one, other in combinations(TOGETHER[chart], 2)
        if distance(one, other) < APART
    ]
    assert near == []


@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_every_colour_stands_out_from_the_background(theme):
    """WCAG 2.2, 1.4.11: lines, bars and symbols have a contrast of 3."""
    faint = {
        shown: contrast(shown, BACKGROUNDS[theme])
        for shown in {*RAMP, *(c for colours in TOGETHER.values() for c in colours)}
        if contrast(shown, BACKGROUNDS[theme]) < 3
    }
    assert faint == {}


def test_neighbours_of_a_ramp_are_told_apart():
    for n in range(2, len(RAMP) + 1):
        assert len(ramp(n)) == n
        assert min(distance(one, other) for one, other in pairwise(ramp(n))) >= 1.9 * NEIGHBOURS
        assert min(distance(one, other) for one, other in combinations(ramp(n), 2)) >= 1.8 * NEIGHBOURS


def test_colour_is_never_the_only_code():
    """What shares a chart differs in dashes, or in shape where there are no lines."""
    assert len({tuple(dash) for dash in dashes(range(8))}) == 8
    assert len({style.dash for name, style in STYLES.items() if not name.startswith("UCD")}) == 5


@pytest.mark.parametrize("name", list_samplers())
def test_shades_of_one_sampler_are_told_apart(name):
    for n in range(2, MAX_SHADES + 1):
        found = shades(colour(name), n)
        assert min(distance(one, other) for one, other in pairwise(found)) >= NEIGHBOURS
        assert min(contrast(one, back) for one in found for back in BACKGROUNDS.values()) >= 3
