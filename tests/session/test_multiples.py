"""Panels beside one: other values of a knob, added or instead of all others, with Undo."""

import pytest
from waiting import wait

from rbmviz.knobs import knobs_of
from rbmviz.samplers import list_samplers, make_sampler
from rbmviz.session import SamplingSetup
from rbmviz.session.multiples import four_values, multiples_of, with_knob


@pytest.mark.parametrize("name", list_samplers())
def test_all_that_is_offered_can_be_made_and_differs(name):
    algorithm = make_sampler(name)
    for knob, values, instead in multiples_of(algorithm):
        now = getattr(algorithm, knob)
        assert now not in values
        assert len(values) == len(set(values)) <= (3 if instead else 1)
        assert [getattr(other, knob) for other in with_knob(algorithm, knob, values)] == list(values)


@pytest.mark.parametrize(
    ("knob", "value", "found"),
    [
        ("eps", 0.03, [0.01, 0.03, 0.09, 0.27]),
        ("eps", 0.03162, [0.0105, 0.03162, 0.0949, 0.285]),  # a value of an axis has four digits
        ("eps", 1.0, [0.037, 0.111, 0.333, 1.0]),
        ("eps", 0.0, [0.0, 0.037, 0.111, 0.333]),
        ("alpha", 0.95, [0.0, 0.333, 0.667, 0.95]),
        ("k", 100, [4, 11, 33, 100]),
    ],
)
def test_four_values_lie_around_the_one_that_is_there(knob, value, found):
    assert four_values(knobs_of(make_sampler("rates_fpcd"))[knob], value) == found


def test_panels_beside_one_begin_with_all_others_and_can_be_undone(open_race, model, toy):
    samplers = make_sampler("gibbs"), make_sampler("rates_fpcd")
    race = open_race(SamplingSetup(model, toy, seed=4), *samplers, rate=1000.0)
    race.step(200)
    wait(lambda: [s.n for _, s in race.poll()] == [200, 200], "steps")
    before, key = race.panels, race.panels[1].key
    others = with_knob(samplers[1], "eps", [0.01, 0.09, 0.27])
    for instead, shown in ((False, [*samplers, *others]), (True, [others[0], samplers[1], *others[1:]])):
        race.add_beside(key, others, instead=instead)
        assert [panel.algorithm for panel in race.panels] == shown
        assert [s.n for _, s in race.poll()] == [0] * len(shown)
        race.step(30)
        wait(lambda: all(s.n == 30 for _, s in race.poll()), "steps of all")
        assert race.undo()
        assert race.panels == before
        assert [(s.n, s.run) for _, s in race.poll()] == [(200, 1), (200, 1)]
    race.add_beside(99, others)  # the panel has gone meanwhile
    assert race.panels == before
