"""A sweep by hand: the numbers shown are those of the model, and the draws follow its conditionals."""

import numpy as np
import pytest
from naive import energy

from rbmviz.session.unit_by_unit import UnitByUnit


def test_probabilities_are_those_of_the_energy():
    """P(on) is the share of e^-E of the two states that differ in this unit alone."""
    state = UnitByUnit.begin(3).sweep().sweep()
    for layer, units in (("hidden", state.h), ("visible", state.v)):
        for i in range(len(units)):
            both = []
            for on in (0, 1):
                v, h = state.v.copy(), state.h.copy()
                (h if layer == "hidden" else v)[i] = on
                both.append(np.exp(-energy(state.rbm, v, h)))
            assert state.probabilities(layer)[i] == pytest.approx(both[1] / sum(both))
    assert state.energy == pytest.approx(energy(state.rbm, state.v, state.h))


def test_a_draw_says_all_its_numbers():
    state = UnitByUnit.begin()
    assert state.next_unit == ("hidden", 0)
    after = state.draw("hidden", 0)
    last = after.last
    assert (last.activation, round(last.p, 2), last.on) == (4.0, 0.98, last.u < last.p)
    assert (last.energy_before, last.energy) == (state.energy, after.energy) == (3.0, -1.0)
    assert after.next_unit == ("hidden", 1)
    assert state.h.sum() == 0  # as it was
    assert after.draw("visible", 5).next_unit == ("hidden", 0)
    assert after.sweep().draws == 10
    assert after.sweep().v.tolist() == UnitByUnit.begin().sweep().v.tolist()
    with pytest.raises(IndexError):
        state.draw("visible", 6)


def test_units_are_on_as_often_as_their_probabilities_say():
    """Draws less their chances add up to nothing, and within each half of the chances."""
    state, drawn = UnitByUnit.begin(1), []
    for _ in range(1500):
        state = state.draw(*state.next_unit)
        drawn.append((state.last.p, state.last.on))
    p, on = np.transpose(drawn).astype(float)
    for some in (p <= 0.5, p > 0.5):
        error = np.sqrt((p * (1 - p))[some].sum())
        assert abs((on - p)[some].sum()) < 4 * error
        assert abs((on - p**2)[some].sum()) > 4 * error  # as if the lesser of two uniforms counted
