"""Many chains in tiles: the bits of chains alone, and the law of the model at each temperature."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import chi2

from rbmviz import RBM, make_sampler, rng
from rbmviz.kernels import chains
from rbmviz.metrics import probabilities
from rbmviz.models import random_model
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


@pytest.mark.compiled
def test_every_chain_has_the_law_of_its_temperature():
    """Chi-square of all states of 4 x 3 units, independent chains; another temperature is refused."""
    rbm, n = random_model(n_visible=4, n_hidden=3, scale=3, seed=1).rbm, 4000
    layers = chains.start(chains.make_layers(rbm.W, rbm.b, rbm.c), np.zeros((n, 4), np.uint8))
    streams = np.stack([rng.kernel_state(3, "chain", c) for c in range(n)])
    betas = np.repeat(np.array([1.0, 0.6], np.float32), n // 2)
    none, mean = np.zeros(4, np.float32), [np.empty((n, size), np.float32) for size in (3, 4)]
    everywhere = layers[0].order, 0, 0, n
    for _ in range(100):
        chains.draw(layers[0], streams, betas, none[:3], mean[0], *everywhere)
        chains.update(layers[1], layers[0].units, 0, n)
        chains.draw(layers[1], streams, betas, none, mean[1], *everywhere)
        chains.update(layers[0], layers[1].units, 0, n)
    codes, limit = layers[1].units[:, :4] @ (8, 4, 2, 1), chi2.ppf(0.999, 15)

    def distance(beta, part):
        want = n / 2 * probabilities(RBM(beta * rbm.W, beta * rbm.b, beta * rbm.c))
        return (((np.bincount(codes[part], minlength=16) - want) ** 2) / want).sum()

    cold, hot = slice(n // 2), slice(n // 2, n)
    assert distance(1.0, cold) < limit < distance(0.8, cold)
    assert distance(0.6, hot) < limit < distance(0.8, hot)
