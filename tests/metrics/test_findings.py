"""Findings and the effective temperature: broken chains are found, exact draws are left alone."""

import numpy as np
import pytest

from rbmviz import RBM, BadInput, load_model, sample
from rbmviz.metrics import effective_temperature, findings, probabilities


def drawn(name, n, seed):
    """Independent draws from the model, uint8 (n, n_visible), by enumeration."""
    p, m = probabilities(load_model(name)), load_model(name).rbm.n_visible
    state = np.random.default_rng(seed).choice(len(p), n, p=p / p.sum())
    return (state[:, None] >> np.arange(m - 1, -1, -1) & 1).astype(np.uint8)


def names(samples, model="bas_pcd", data="bas"):
    return {finding.name for finding in findings(samples, model, data)}


@pytest.mark.parametrize("n", [300, 3000])
def test_exact_draws_raise_few_alarms(n):
    """At most one of twenty runs, all findings together: more than 5 of 40 would be once in 30 such tests."""
    alarms = [names(drawn(model, n, seed), model, data) for model, data in MODELS for seed in range(20)]
    assert sum(map(bool, alarms)) <= 5, alarms


MODELS = (("bas_pcd", "bas"), ("modes_pcd", "modes"))


@pytest.mark.parametrize("model", MODELS)
def test_broken_chains_are_found(model):
    """Each is broken in one way; the finding that is made for it is among those that are made."""
    name, data = model
    exact = drawn(name, 10_000, 1)
    frozen = exact.copy()
    frozen[:, 3] = 0
    noise = np.random.default_rng(2).integers(0, 2, exact.shape, dtype=np.uint8)
    settling = np.concatenate([noise[:1500], exact[1500:]])
    assert "units" in names(frozen, name, data)
    assert {"spurious", "temperature"} <= names(noise, name, data)
    assert "drift" in names(settling, name, data)
    assert "repeats" in names(exact[np.arange(10_000) % 17], name, data)
    assert "rhat" in names(np.stack([exact[:5000], noise[5000:]]), name, data)
    hot = sample(name, "gibbs:temperature=1.5,k=5", n=10_000, seed=0)
    assert "temperature" in names(hot, name, data)


def test_a_chain_that_sticks_is_found():
    stuck = sample("bas_pcd", "gibbs", n=2000, seed=0)
    found = findings(stuck, "bas_pcd", "bas")
    assert "one_class" in {finding.name for finding in found}
    assert found.looked_at[0] == "R-hat"
    assert all(finding.sentence.endswith(".") and finding.source for finding in found)
    assert "Nothing was found" in repr(findings(drawn("bas_pcd", 2000, 3), "bas_pcd", "bas"))


@pytest.mark.parametrize("beta", [0.7, 1.0, 1.4])
def test_the_interval_covers_the_temperature_of_correlated_chains(beta):
    """95 %; fewer than 25 of 30 would be once in 200 such tests. The interval at twice beta is a control."""
    covered = wrong = 0
    for seed in range(30):
        g = np.random.default_rng(seed)
        rbm = RBM(g.normal(0, 0.8, (9, 5)), g.normal(0, 0.3, 9), g.normal(0, 0.3, 5))
        samples = sample(rbm, f"gibbs:temperature={1 / beta}", n=1500, seed=seed)
        low, high = effective_temperature(samples, rbm).interval
        covered += low < beta < high
        wrong += low < 1.3 * beta < high
    assert covered >= 25 > 12 > wrong


def test_samples_that_cannot_tell_say_so():
    rbm = RBM(np.zeros((4, 3)), np.zeros(4), np.zeros(3))  # the same at all temperatures
    assert np.isnan(effective_temperature(np.eye(8, 4, dtype=np.uint8), rbm).beta)
    with pytest.raises(BadInput, match="8 or more draws"):
        findings(np.zeros((5, 4), np.uint8), rbm)
    with pytest.raises(BadInput, match=r"\(n, 4\)"):
        findings(np.zeros((50, 5), np.uint8), rbm)
    with pytest.raises(BadInput, match="0 or 1"):
        findings(np.full((50, 4), 2), rbm)
