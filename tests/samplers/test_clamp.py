"""Clamped units: the free ones follow the exact conditional of the model."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from rbmviz import BadInput, load_dataset, load_model, make_sampler, sample, stream
from rbmviz.cli import main
from rbmviz.metrics import Coverage, probabilities
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.landscape import codes
from rbmviz.rbm import RBM, Model
from rbmviz.rbm.clamp import as_clamp
from rbmviz.samplers import interleave

MODEL = load_model("bas_pcd")
UPPER = np.r_[1, 0, 0, 1, 1, 0, 0, 1, np.full(8, -1)]
"""Two rows of a stripe pattern are held, the lower eight pixels are free."""


def p_value(v, held) -> float:
    """Return the p-value of a chi-square test of rows against p(free | held), enumerated."""
    law = probabilities(MODEL).reshape(256, 256)[codes(held[None, :8])[0]]
    law = law / law.sum()
    counts, rare = np.bincount(codes(v[:, 8:]), minlength=256), law * len(v) < 5
    expected = np.append(law[~rare], law[rare].sum()) * len(v)
    return float(stats.chisquare(np.append(counts[~rare], counts[rare].sum()), expected).pvalue)


@pytest.mark.parametrize("sampler", ["gibbs", "gibbs:n_chains=4", "parallel_tempering:n_replicas=4"])
def test_free_units_follow_the_exact_conditional(sampler):
    v = sample(MODEL, sampler, 100_000, seed=2, clamp=UPPER).v[2000::20]
    assert (v[:, :8] == UPPER[:8]).all()
    assert p_value(v, UPPER) > 1e-3


def test_held_at_other_values_they_follow_another_law():
    """The negative control."""
    other = UPPER.copy()
    other[5] = 1
    assert p_value(sample(MODEL, "gibbs", 100_000, seed=2, clamp=other).v[2000::20], UPPER) < 1e-6


@pytest.mark.parametrize("sampler", ["rates_fpcd", "rates_herding", "sample_penalization"])
def test_every_sampler_completes(sampler):
    """Samples and means hold the clamped values, streamed or not."""
    made = sample(MODEL, sampler, 60, seed=1, clamp=(UPPER >= 0, UPPER))
    assert (made.v[:, :8] == UPPER[:8]).all()
    assert (made.p[:, :8] == UPPER[:8]).all()
    assert len(np.unique(made.v, axis=0)) > 1
    first = next(stream(MODEL, sampler, seed=1, chunk=60, clamp=np.where(UPPER < 0, np.nan, UPPER)))
    np.testing.assert_array_equal(first.v, made.v)


def classes_found(held):
    """Return how many of 20 test digits have the class of most of 300 samples, by the nearest example."""
    digits = load_dataset("mnist5k")
    coverage, found = Coverage(digits, COMPARED_EXAMPLES), 0
    for seed, (image, label) in enumerate(zip(digits.test[::100], digits.test_labels[::100], strict=True)):
        v = sample("mnist_fpcd", "rates_fpcd", 300, seed=seed, init="random", clamp=(held, image)).v
        votes = np.bincount(coverage.labels[coverage.nearest(v)[0]], minlength=10)
        found += int(votes.argmax() == label)
    return found


def test_rates_are_those_of_the_nearest_examples(monkeypatch):
    """Without data on this machine they are the model's, and other samplers load none."""
    clamp, data = as_clamp(UPPER, 16), load_dataset("bas")
    rates = interleave.given(clamp, MODEL, make_sampler("rates_fpcd")).rates
    differ = (data.train[:, :8] != UPPER[:8]).sum(axis=1)
    fewest = data.train[differ <= np.sort(differ)[19], 8:]
    np.testing.assert_allclose(rates.b, fewest.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(rates.c, clamp.rbm(MODEL.rbm).mean_hidden(fewest).mean(axis=0), rtol=1e-5)

    def missing(*_):
        raise BadInput("not on this machine")

    monkeypatch.setattr(interleave, "_examples", missing)
    for sampler in ("rates_fpcd", "gibbs"):
        rates = interleave.given(clamp, MODEL, make_sampler(sampler)).rates
        np.testing.assert_array_equal(rates.b, MODEL.rates.b[8:])


def test_upper_halves_of_digits_are_completed_to_their_class():
    """At least 16 of 20 are (18 are). The negative control: of two rows, which are empty, few are."""
    pixels = np.arange(784)
    assert classes_found(pixels < 392) >= 16
    assert classes_found(pixels < 56) <= 6


@pytest.mark.parametrize("n", [16, 17, 784])
def test_a_clamp_as_text_is_read_back_and_fits_no_other_model(n):
    units = np.random.default_rng(n).integers(-1, 2, n)
    text = as_clamp(units, n).text
    np.testing.assert_array_equal(as_clamp(text, n).units, units)
    others = [(text, n - 9), (text, n + 9), (text[:-2], n), (text + "AA", n), (f"+{text[1:]}", n)]
    for damaged, size in others:
        with pytest.raises(BadInput, match="this drawing does not fit a model"):
            as_clamp(damaged, size)


def test_the_start_is_that_of_the_free_units():
    start = np.tile([1, 0], 8)
    v0 = sample(MODEL, "rates_herding", 1, v0=start, clamp=UPPER).v
    np.testing.assert_array_equal(
        sample(MODEL, "rates_herding", 1, v0=1 - start, clamp=UPPER).v[:, :8], v0[:, :8]
    )
    with pytest.raises(BadInput, match=r"The start has shape \(3,\); the model requires 16"):
        sample(MODEL, "gibbs", 1, v0=np.zeros(3), clamp=UPPER)


@pytest.mark.parametrize(
    ("clamp", "sentence"),
    [
        (np.zeros(16), "all units are held; leave at least one free"),
        (np.full(15, -1), r"clamp has shape \(15,\); the model has 16 visible units"),
        (np.full(16, 0.5), "give 0 or 1 for a clamped unit, and -1 for a free one"),
        ((np.ones(16), np.zeros(15)), r"the mask has shape \(16,\), and the values \(15,\)"),
        ("upper half", "clamp: this drawing does not fit a model with 16 visible units"),
    ],
)
def test_bad_clamps_get_one_sentence(clamp, sentence):
    with pytest.raises(BadInput, match=sentence):
        as_clamp(clamp, 16)


@pytest.mark.parametrize("name", ["held.npy", "held.png"])
def test_the_command_reads_arrays_and_pictures(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if name == "held.npy":
        np.save(name, UPPER)
    else:
        Image.fromarray(np.where(UPPER < 0, 128, 255 * UPPER).astype(np.uint8).reshape(4, 4)).save(name)
    assert main(["sample", "--model", "bas_pcd", "--sampler", "gibbs", "-n", "30", "--clamp", name]) == 0
    with np.load("samples.npz") as file:
        assert (file["v"][:, :8] == UPPER[:8]).all()
        assert json.loads(str(file["meta"]))["clamp"] == UPPER.tolist()
    assert main(["sample", "--model", "bas_pcd", "--out", "other.npz", "--clamp", "nothing.npy"]) != 0
    assert "'nothing.npy' cannot be read as clamped units" in capsys.readouterr().err


SMALL = Model(RBM(*(np.random.default_rng(3).normal(0, 1.5, shape) for shape in ((8, 6), 8, 6))))
"""It mixes at once, so that samples are nearly independent."""

NONE = np.full(8, -1)
HIDDEN = {
    "on": np.r_[NONE, -1, 1, -1, -1, -1, -1],
    "off": np.r_[NONE, -1, 0, -1, -1, -1, -1],
    "several": np.r_[NONE, 1, 1, 0, -1, 0, -1],
    "with pixels": np.r_[1, 0, 0, 1, NONE[:4], -1, 1, 0, -1, -1, -1],
}
"""Clamped units of SMALL, of both layers."""


def p_given(made, units) -> float:
    """Return the p-value of a chi-square test of rows against p(v | clamped units), by enumerating (v, h)."""
    rbm, states = SMALL.rbm, np.arange(2**14)[:, None] >> np.arange(13, -1, -1) & 1
    v, h = np.split(states[((states == units) | (units < 0)).all(axis=1)].astype(float), [8], axis=1)
    p = np.exp(np.einsum("ni,ij,nj->n", v, rbm.W, h) + v @ rbm.b + h @ rbm.c)
    law = np.bincount(codes(v.astype(np.uint8)), p / p.sum(), 256)
    seen = np.bincount(codes(made), minlength=256)
    rare = law * len(made) < 5  # with those that are impossible
    expected = np.append(law[~rare], law[rare].sum()) * len(made)
    return float(stats.chisquare(np.append(seen[~rare], seen[rare].sum()), expected).pvalue)


@pytest.mark.parametrize("ink", [1, 0])
@pytest.mark.parametrize("case", HIDDEN)
def test_given_hidden_units_the_visible_ones_follow_the_exact_conditional(case, ink):
    """Of the model as it is, and recoded. The negative control: not that of the opposite of one unit."""
    units = HIDDEN[case]
    v = sample(SMALL, "gibbs:k=20", 20_000, seed=2, clamp=units, ink=ink).v[100:]
    assert p_given(v, units) > 1e-3
    other = np.where(np.arange(14) == 9, 1 - units, units)
    assert p_given(v, other) < 1e-6


def test_rates_given_hidden_units_are_weighted_by_their_probability():
    """And recoded, they are those of 1 - v."""
    data, units = load_dataset("bas").train, np.full(32, -1)
    units[[19, 23, 28]] = 1, 0, 1
    clamp, h = as_clamp(units, 16, 16), MODEL.rbm.mean_hidden(data).astype(np.float64)
    weights, free = h[:, 3] * (1 - h[:, 7]) * h[:, 12], np.delete(h, [3, 7, 12], axis=1)
    for held in (clamp, as_clamp(np.full(16, -1), 16)):
        recoded, sampler = replace(held, ink=0), make_sampler("rates_fpcd")
        seen, turned = (interleave.given(one, MODEL, sampler) for one in (held, recoded))
        np.testing.assert_allclose(turned.rates.b, 1 - seen.rates.b, atol=1e-6)
        np.testing.assert_allclose(turned.rates.W, seen.rates.c - seen.rates.W, atol=1e-6)
        if held is clamp:
            np.testing.assert_allclose(seen.rates.b, weights @ data / weights.sum(), rtol=1e-4)
            expected = (data.T * weights) @ free / weights.sum()
            np.testing.assert_allclose(seen.rates.W, expected, rtol=1e-4, atol=1e-6)


def test_hidden_units_travel_as_text_and_must_fit():
    units = np.r_[UPPER, np.full(14, -1), 1, 0]
    text = as_clamp(units, 16, 16).text
    assert text.startswith(as_clamp(UPPER, 16).text + ".")
    np.testing.assert_array_equal(as_clamp(text, 16, 16).hidden, units[16:])
    assert as_clamp(np.full(32, -1), 16, 16).text == as_clamp(np.full(16, -1), 16).text
    for damaged, n in ((text + ".", 16), (text[:-2], 16), (text.replace(".", ""), 16), (text, 0)):
        with pytest.raises(BadInput, match="this drawing does not fit a model with"):
            as_clamp(damaged, 16, n)
    with pytest.raises(BadInput, match="all hidden units are held"):
        as_clamp(np.r_[UPPER, np.ones(16)], 16, 16)
    with pytest.raises(BadInput, match="ink = 2: give the value that stands for ink"):
        sample(MODEL, "gibbs", 1, ink=2)
