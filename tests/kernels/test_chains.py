"""Many chains in tiles have the bits of chains alone."""

import dataclasses

import numpy as np
import pytest

from rbmviz import make_sampler, rng
from rbmviz.samplers import interleave


@pytest.mark.parametrize("group", [64, 2])
def test_chains_have_the_bits_of_chains_alone(wide, group, monkeypatch):
    """Through two rebuilds, in groups and steps of any size, with knobs that are turned in between."""
    monkeypatch.setattr(interleave, "GROUP", group)
    sampler, starts = make_sampler("gibbs", n_chains=5), np.random.default_rng(2).integers(0, 2, (5, 70))
    state, alone = sampler.init(wide, 6, starts), []
    for c in range(5):
        alone.append(make_sampler("gibbs").init(wide, 6, starts[c]))
        alone[-1].stream[:] = rng.kernel_state(6, "chain", c)
    first = 0
    for n, knobs in [(700, {}), (3, {}), (901, {"temperature": 1.7}), (0, {}), (7, {"k": 3}), (1404, {})]:
        made = dataclasses.replace(sampler, **knobs).step(state, n)
        for c in range(5):
            turns = slice((c - first) % 5, n, 5)
            knobs_alone = dataclasses.replace(sampler, n_chains=1, **knobs)
            want = knobs_alone.step(alone[c], len(range(n)[turns]))
            np.testing.assert_array_equal(made.v[turns], want.v)
            np.testing.assert_array_equal(made.p[turns], want.p)
        first += n
