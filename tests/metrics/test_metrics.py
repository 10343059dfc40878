"""ISL, coverage and exact values against explicit sums."""

import math
import pickle
import subprocess
import sys

import naive
import numpy as np
import pytest

from rbmviz import RBM, BadInput, Statistics
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.kernels import annealing, enumerate, hamming
from rbmviz.metrics import (
    ISL,
    Coverage,
    exact_gradient,
    highest_log_likelihood,
    independent_log_likelihood,
    isl,
    log_likelihood,
    log_z,
    model_statistics,
    probabilities,
    reference,
)
from rbmviz.metrics.isl import CURVE_COUNTS


def bits(seed: int, n: int, width: int = 70) -> np.ndarray:
    g = np.random.default_rng(seed)
    return (g.random((n, width)) < g.random(width)).astype(np.uint8)


def naive_isl(samples, test, beta):
    """The product over pixels for every pair, in float64."""
    total = 0.0
    for t in test:
        kernel = np.prod(
            np.where(t == 1, 1 - beta + (2 * beta - 1) * samples, beta - (2 * beta - 1) * samples), axis=1
        )
        total += np.log(kernel.mean())
    return total / len(test)


@pytest.mark.parametrize("width", [70, 128, 300])  # words that are full and that are not
@pytest.mark.parametrize("n", [0, 1, 63, 65, 128, 129, 600])  # fewer and more samples than lanes and blocks
def test_histograms_count_every_distance(width, n):
    points, samples = bits(1, 37, width), bits(2, n, width)
    histograms = np.zeros((37, width + 1), np.uint32)
    hamming.count_distances(hamming.pack(points), hamming.pack_blocks(samples), n, histograms)
    for point, histogram in zip(points, histograms, strict=True):
        want = np.bincount((point != samples).sum(axis=1), minlength=width + 1)
        np.testing.assert_array_equal(histogram, want)


@pytest.mark.parametrize("beta", [0.6, 0.9, 0.99, 1 - 1e-6, 1 - 1e-9])
def test_isl_is_the_product_over_pixels(beta):
    p, test = np.random.default_rng(0).random((600, 70)), bits(2, 9)
    got = isl(p, test, kernel="mean", beta=beta)
    assert got.isl == pytest.approx(naive_isl(p, test, beta), rel=1e-5)
    binary = isl(bits(1, 40), test, beta=beta)
    assert binary.isl == pytest.approx(naive_isl(bits(1, 40), test, beta), rel=1e-9)
    single = [isl(bits(1, 40), test[i : i + 1], beta=beta).isl for i in range(9)]
    assert binary.std_error == pytest.approx(np.std(single) / 3)


def test_one_beta_scores_as_a_grid_of_one():
    """numpy sums a single column in another order."""
    metric = ISL(bits(7, 1000), bits(8, 300), betas=[0.9])
    assert metric.curve(bits(9, 2048), [2048]) == [metric.value()] == [metric.value(0.9)]


def test_far_samples_do_not_underflow():
    far = isl(np.zeros((3, 3000), np.uint8), np.ones((2, 3000), np.uint8), beta=0.999).isl
    assert far == pytest.approx(3000 * np.log(0.001))


def test_long_runs_get_wider_counters(monkeypatch):
    """The types go by the fullest bin: a chain that sticks fills one, a chain that moves many."""
    test, validation = bits(2, 9), bits(3, 7)
    stuck, moving = bits(1, 1).repeat(300, axis=0), bits(1, 300)
    wanted = [isl(samples, test, validation, beta=0.9) for samples in (stuck, moving)]
    module = sys.modules[ISL.__module__]
    monkeypatch.setattr(module, "COUNTERS", ((150, np.uint16), (250, np.uint32), (2**63, np.int64)))
    for samples, want, expected in zip(
        (stuck, moving), wanted, ([np.uint16, np.uint32, np.int64], [np.uint16] * 3), strict=True
    ):
        metric = ISL(test, validation)
        types = [metric.update(part).histograms().dtype for part in np.array_split(samples, 3)]
        assert types == expected
        assert metric.value(0.9) == want


@pytest.mark.parametrize("near", [0.0, 0.02, 0.5, 1.0])
def test_few_betas_are_tried_and_none_that_is_better_is_missed(near):
    """Validation points of two kinds, near the samples and far from them, may have a best beta each."""
    samples, far = bits(1, 600, 60), bits(2, 200, 60)
    validation = np.where(np.arange(200)[:, None] < 200 * near, samples[:200], far)
    for betas in (None, (0.999, 0.6, 0.9, 0.7, 0.99)):
        metric = ISL(bits(4, 50, 60), validation, betas=betas)
        for part in np.array_split(samples, 5):
            metric.update(part)
            assert metric.value() == max(metric._scores(metric.betas), key=lambda score: score.validation)
        other = metric.without_samples()
        assert (
            other.update(samples[:9]).value()
            == ISL(bits(4, 50, 60), validation, betas=betas).update(samples[:9]).value()
        )
        assert metric.n == 600


def test_kept_histograms_are_those_of_all_samples():
    """Columns are kept as far as they are used, and more of them when far samples follow near ones."""
    near, test = bits(1, 3000, 700), bits(2, 200, 700)
    near[:, 300:] = test[:, 300:] = 0
    all_of_them, want = np.concatenate([near, 1 - near]), np.zeros((200, 701), np.uint32)
    hamming.count_distances(hamming.pack(test), hamming.pack_blocks(all_of_them), 6000, want)
    for metric in (ISL(test), ISL(test, counters=np.uint32)):
        for part in np.array_split(all_of_them, 14):
            metric.update(part).value(0.9)
        np.testing.assert_array_equal(metric.histograms(), want)


@pytest.mark.parametrize("kernel", ["binary", "mean"])
def test_memory_of_the_metric_is_bounded(kernel):
    """All that the metric holds, as it would be written; a curve has a point for each count passed."""
    metric, sizes, points = ISL(bits(2, 9), bits(3, 7), kernel=kernel), [], []
    for part in np.array_split(bits(1, 15_000), 3):
        points += metric.curve(part)
        sizes.append(len(pickle.dumps(metric)))
    assert max(sizes) - min(sizes) < 10  # digits of n
    assert [point.n for point in points] == CURVE_COUNTS[CURVE_COUNTS <= 15_000].tolist()
    assert len(CURVE_COUNTS) < 126


@pytest.mark.parametrize("kernel", ["binary", "mean"])
def test_curves_do_not_depend_on_how_updates_are_cut(kernel):
    samples, test, validation = bits(1, 300), bits(2, 9), bits(3, 7)
    whole, other = (ISL(test, validation, kernel=kernel) for _ in range(2))
    curve, cut, counts = whole.curve(samples, (1, 7, 100, 300, 301)), [], (1, 7, 100, 300)
    for part in np.split(samples, [1, 2, 50, 51, 299]):
        cut += other.curve(part, counts)
    assert [score.n for score in curve] == [1, 7, 100, 300]
    assert cut == curve
    assert curve[1] == isl(samples[:7], test, validation, kernel=kernel)
    assert curve[-1] == whole.value()
    for score in curve:
        assert score.isl == pytest.approx(naive_isl(samples[: score.n], test, score.beta), rel=1e-5)


def test_beta_is_chosen_on_the_validation_part_only():
    samples = bits(1, 50)
    near, far = samples[:20], 1 - samples[:20]
    sharp = ISL(far, near).update(samples).value()
    blunt = ISL(near, far).update(samples).value()
    assert sharp.beta > 0.99
    assert blunt.beta < 0.65
    assert blunt.isl < ISL(near, near).update(samples).value().isl


def test_a_score_says_how_it_does_on_the_validation_part():
    samples, test, validation = bits(1, 50), bits(2, 9), bits(3, 7)
    score = isl(samples, test, validation)
    assert score.validation == pytest.approx(naive_isl(samples, validation, score.beta), rel=1e-12)
    assert np.isnan(isl(samples, test, beta=0.9).validation)
    grid = ISL(test, validation).update(samples)
    assert score.validation == max(grid.value(beta).validation for beta in grid.betas)


def test_isl_refuses_bad_input():
    with pytest.raises(BadInput, match="no samples yet"):
        ISL(bits(1, 3)).value(0.9)
    with pytest.raises(BadInput, match="no validation part"):
        ISL(bits(1, 3)).update(bits(2, 3)).value()
    for beta in (0.5, 1.0, 1.5, np.nan):
        with pytest.raises(BadInput, match="between 1/2 and 1"):
            ISL(bits(1, 3)).update(bits(2, 3)).value(beta)
    with pytest.raises(BadInput, match=r"beta = \[0.7, 0.8\] is not one number"):
        ISL(bits(1, 3)).update(bits(2, 3)).value([0.7, 0.8])
    with pytest.raises(BadInput, match="counts = 5 is not a sequence"):
        ISL(bits(1, 3), bits(2, 3)).curve(bits(2, 4), 5)
    for wrong, says in (
        ({"betas": []}, "there must be one"),
        ({"counters": "bogus"}, "counters = 'bogus' is not one of uint8, uint16, uint32, int64"),
        ({"validation": np.uint8(1)}, "validation: the shape is"),
    ):
        with pytest.raises(BadInput, match=says):
            ISL(bits(1, 3), **wrong)
    for wrong in (1.5, -0.1, np.nan):
        with pytest.raises(BadInput, match="means from 0 to 1"):
            ISL(bits(1, 3), kernel="mean").update(np.full((2, 70), wrong))


def test_refused_samples_leave_no_trace():
    samples = bits(1, 20)
    samples[15] = 2
    metric = ISL(bits(2, 9))
    with pytest.raises(BadInput, match="0 or 1"):
        metric.update(samples)
    with pytest.raises(BadInput, match="0 or 1"):
        metric.curve(samples, (5,), 0.9)
    assert metric.n == 0
    assert metric.update(samples[:10]).value(0.9) == pytest.approx(
        isl(samples[:10], bits(2, 9), beta=0.9), nan_ok=True
    )


def labelled(**parts) -> Dataset:
    return Dataset(name="toy", binarisation="", source="", classes=("a", "b", "c"), **parts)


def test_coverage_is_the_nearest_example_by_brute_force():
    train, samples, held_out = bits(1, 500), bits(2, 300), bits(3, 60)
    labels = np.random.default_rng(0).integers(0, 3, 500)
    data = labelled(train=train, train_labels=labels, validation=held_out[:20], test=held_out[20:])
    coverage = Coverage(data)
    cut = [coverage.update(part) for part in np.split(samples, [1, 100])]

    def brute(rows):
        d = (rows[:, None] != train).sum(axis=2)
        return d.argmin(axis=1), d.min(axis=1)

    index, distance = brute(samples)
    np.testing.assert_array_equal(coverage.nearest(samples), (index, distance))
    np.testing.assert_array_equal(np.concatenate(cut), labels[index])
    np.testing.assert_array_equal(coverage.occupancy, np.bincount(labels[index], minlength=3))
    np.testing.assert_allclose(coverage.shares, np.bincount(labels[index], minlength=3) / 300)
    np.testing.assert_allclose(coverage.data_shares, [(labels == c).mean() for c in range(3)])
    assert coverage.switches == (np.diff(labels[index]) != 0).sum()
    assert coverage.threshold == np.percentile(brute(held_out)[1], 99)
    assert coverage.spurious == (distance > coverage.threshold).mean()
    assert 0 < coverage.spurious < 1


def test_coverage_of_fewer_examples_and_of_data_without_labels():
    train = bits(1, 500)
    few = Coverage(labelled(train=train, train_labels=None, validation=train[:0], test=train[:0]), 100)
    assert few.examples == 100
    np.testing.assert_array_equal(few.nearest(train[::5])[1], 0)
    assert few.update(train[1:4]).size == 0
    assert np.isnan(few.spurious)
    assert few.switches == 0
    assert few.shares.size == few.data_shares.size == 0


def test_blank_samples_are_spurious_and_visit_no_class():
    """A thin 1 is the nearest example of an empty image, which is no 1 all the same."""
    one, eight = np.zeros(70, np.uint8), np.ones(70, np.uint8)
    one[:20] = 1
    train = np.array([one, eight] * 4)
    parts = {"validation": train[:0], "test": np.array([one, eight ^ one])}
    coverage = Coverage(labelled(train=train, train_labels=np.array([0, 1] * 4), **parts))
    assert coverage.blank_below == 10
    empty, few, enough = (np.zeros(70, np.uint8) for _ in range(3))
    few[:9], enough[:10] = 1, 1
    classes = coverage.update(np.array([empty, few, enough, enough]))
    np.testing.assert_array_equal(classes, 0)
    assert (coverage.blank, coverage.spurious) == (0.5, 0.5)
    assert coverage.ink == pytest.approx((0 + 9 + 10 + 10) / (4 * 70))
    assert (coverage.visited, coverage.class_coverage) == (1, 0.5)  # class 0 has half of the data, b the rest
    np.testing.assert_array_equal(coverage.occupancy, [4, 0, 0])
    np.testing.assert_array_equal(coverage.recognised, [2, 0, 0])
    coverage.update(np.array([eight] * 4))
    assert (coverage.visited, coverage.class_coverage) == (2, 0.75)


def test_empty_image_of_the_data_is_not_blank():
    data = load_dataset("bas")
    coverage = Coverage(data)
    assert (coverage.blank_below, coverage.visited) == (0, 0)
    assert np.isnan([coverage.blank, coverage.class_coverage]).all()
    coverage.update(data.train)
    assert (coverage.blank, coverage.spurious, coverage.visited) == (0, 0, 2)
    assert coverage.class_coverage == 15 / 16  # the empty and the full image are in both classes


def test_data_shares_are_those_of_the_whole_training_part():
    train, labels = bits(1, 8), np.array([0, 1, 0, 1, 0, 1, 2, 2])
    data = labelled(train=train, train_labels=labels, validation=train[:0], test=train[:0])
    few = Coverage(data, 2)
    np.testing.assert_array_equal(few.data_shares, [3 / 8, 3 / 8, 2 / 8])
    assert np.isnan(few.shares).all()
    few.update(train[[0, 4, 4, 0]])
    np.testing.assert_array_equal(few.shares, [1, 0, 0])


# Exact values


def test_weights_are_the_products_however_units_are_grouped():
    g = np.random.default_rng(3)
    high, low = g.normal(0, 2, (3, 11, enumerate.HIGH)), g.normal(0, 2, (2, 11, enumerate.LOW))
    biases = g.normal(0, 1, (3, enumerate.HIGH)), g.normal(0, 1, (2, enumerate.LOW))
    x, y, scale = np.exp(high.transpose(0, 2, 1)), np.exp(low.transpose(0, 2, 1)), g.uniform(0.5, 2, 11)
    sums = np.log(scale * x[:, :, None, None] + y).sum(axis=-1)
    want = biases[0][:, :, None, None] + biases[1] + sums
    for group in (1, 3, 11, 64):
        fractions, logs = np.empty((2, *want.shape))
        enumerate.weights(np.exp(high), scale, np.exp(low), group, *biases, fractions, logs)
        assert ((fractions >= 1) & (fractions < 2)).all()
        np.testing.assert_allclose(np.log(fractions) + logs, want, rtol=1e-13)


@pytest.mark.parametrize(("n", "scale"), [(3, 1), (500, 6), (1300, 30)])
def test_sums_of_softplus_are_those_of_float64(n, scale):
    g = np.random.default_rng(4)
    x, bias = g.normal(0, scale, (7, n)).astype(np.float32), g.normal(0, 1, n).astype(np.float32)
    y, out = g.integers(0, 2, (7, n)).astype(np.float32), np.full(7, 2.0)
    annealing.add_softplus(x, bias, y, out)
    softplus = np.logaddexp(0, x.astype(np.float64)).sum(axis=1)
    want = 2 + softplus - (y * (x - bias).astype(np.float64)).sum(axis=1)
    np.testing.assert_allclose(out, want, atol=5e-7 * softplus.max())


@pytest.mark.parametrize(("n", "weight", "bias"), [(6, 0.25, 0), (12, 10, -60), (12, -10, 100)])
def test_log_z_of_the_largest_factors_that_are_multiplied(n, weight, bias):
    """All pre-activations are largest in one state: groups are as long as float64 allows, and not longer."""
    rbm = RBM(np.full((784, n), weight), np.full(784, bias), np.zeros(n))
    sizes = np.arange(n + 1)
    binomials = np.array([math.comb(n, k) for k in sizes])
    want = np.logaddexp.reduce(np.log(binomials) + 784 * np.logaddexp(0, bias + weight * sizes))
    assert log_z(rbm) == pytest.approx(want, rel=1e-13)


def test_log_z_is_the_same_on_any_number_of_threads(monkeypatch):
    g = np.random.default_rng(8)
    rbm = RBM(g.normal(0, 1, (30, 16)), g.normal(0, 1, 30), g.normal(0, 1, 16))
    alone = log_z(rbm)
    monkeypatch.setattr(sys.modules[log_z.__module__], "THREADED_UNITS", 0)
    assert log_z(rbm) == alone


@pytest.fixture(params=[(5, 3), (4, 7)], ids=["wide", "tall"])
def small(request) -> RBM:
    m, n = request.param
    g = np.random.default_rng(5)
    return RBM(g.normal(0, 1, (m, n)), g.normal(0, 1, m), g.normal(0, 1, n))


def test_log_z_and_probabilities_are_the_sums_over_all_states(small):
    weights = [
        -naive.energy(small, v, h)
        for v in naive.states(small.n_visible)
        for h in naive.states(small.n_hidden)
    ]
    assert log_z(small) == pytest.approx(np.logaddexp.reduce(weights), rel=1e-12)
    want = naive.joint(small).sum(axis=1)
    np.testing.assert_allclose(probabilities(small), want, rtol=1e-9)
    v = naive.states(small.n_visible)[[0, 3, 3]].astype(np.uint8)
    assert log_likelihood(small, v) == pytest.approx(np.log(want[[0, 3, 3]]).mean(), rel=1e-9)


def test_log_z_of_huge_weights_does_not_overflow():
    rbm = RBM(np.array([[800.0, -900.0], [300.0, 2.0]]), np.array([5.0, -3.0]), np.array([1.0, 0.0]))
    weights = [-naive.energy(rbm, v, h) for v in naive.states(2) for h in naive.states(2)]
    assert log_z(rbm) == pytest.approx(np.logaddexp.reduce(weights), rel=1e-12)


def test_exact_gradient_is_the_slope_of_the_likelihood(small):
    v = np.random.default_rng(1).integers(0, 2, (20, small.n_visible), dtype=np.uint8)
    gradient, step = exact_gradient(small, v), 1e-2
    for name in "Wbc":
        for place in np.ndindex(getattr(small, name).shape):
            sides = []
            for sign in (1, -1):
                parts = {x: getattr(small, x).copy() for x in "Wbc"}
                parts[name][place] += sign * step
                sides.append(log_likelihood(RBM(**parts), v))
            slope = (sides[0] - sides[1]) / (2 * step)
            assert getattr(gradient, name)[place] == pytest.approx(slope, abs=2e-4)
    assert isinstance(gradient, Statistics)
    assert np.abs(gradient.W).max() > 0.01


def test_more_units_than_the_inner_table_holds(monkeypatch):
    """Units without weights add to log Z one by one, a weight joins a pair."""
    monkeypatch.setattr(sys.modules[log_z.__module__], "LOW_UNITS", 4)
    g = np.random.default_rng(2)
    W, b, c = np.zeros((13, 14)), g.normal(0, 1, 13), g.normal(0, 1, 14)
    W[1, 4], W[12, 9] = 1.5, -2.0  # the slowest bits, and the fastest one
    rbm = RBM(W, b, c)
    want = 0.0
    for i, j in ((1, 4), (12, 9)):
        terms = [b[i] * v + c[j] * h + W[i, j] * v * h for v in (0, 1) for h in (0, 1)]
        want += np.logaddexp.reduce(terms)
    want += np.logaddexp(0, np.delete(b, [1, 12])).sum() + np.logaddexp(0, np.delete(c, [4, 9])).sum()
    assert log_z(rbm) == pytest.approx(want, rel=1e-6)  # the parameters are float32
    h_mean = model_statistics(rbm).c
    alone = np.delete(np.arange(14), [4, 9])
    np.testing.assert_allclose(h_mean[alone], naive.sigmoid(c[alone]), rtol=1e-5)
    terms = np.exp([0, b[12], c[9], b[12] + c[9] - 2.0])
    assert h_mean[9] == pytest.approx(terms[2:].sum() / terms.sum(), rel=1e-5)


def test_each_kernel_compiles_once():
    """Live use in a fresh process: no kernel may meet a second signature (wide counters aside)."""
    code = """
import numpy as np
from rbmviz import RBM
from rbmviz.datasets import Dataset
from rbmviz.kernels import annealing, enumerate, hamming
from rbmviz.metrics import ISL, Coverage, ais_log_z, log_z, model_statistics
for width, n in ((20, 1), (70, 300)):
    rows = np.random.default_rng(0).integers(0, 2, (n, width), dtype=np.uint8)
    frozen = rows.copy()
    frozen.flags.writeable = False
    for x in (rows, frozen, rows[::-1], np.asfortranarray(rows)):
        ISL(x, x).update(x).value()
        ISL(x, x, counters=np.uint32).update(x).value()
        ISL(x).update(x).value(0.9)
        Coverage(Dataset("toy", np.vstack([x, 1 - x]), x, x, "", "")).update(x)
for m, n in ((9, 4), (4, 9), (13, 12)):
    rbm = RBM(np.zeros((m, n)), np.zeros(m), np.zeros(n))
    log_z(rbm)
    model_statistics(rbm)
    ais_log_z(rbm, n_chains=2, betas=3)
    ais_log_z(rbm, rows[:, :m], n_chains=2, betas=np.array([0, 1]))
kernels = hamming.count_distances, hamming.nearest, hamming.log_mixtures
for kernel in (*kernels, enumerate.weights, annealing.anneal):
    assert len(kernel.signatures) == 1, (kernel, kernel.signatures)
assert len(hamming.add_counts.signatures) == 3  # counters of 8, 16 and 32 bits
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_no_model_passes_the_entropy_of_the_data():
    """Bars and Stripes: 28 patterns once and 2 twice of 32."""
    rows = load_dataset("bas").train
    want = 28 / 32 * np.log(1 / 32) + 4 / 32 * np.log(2 / 32)
    assert highest_log_likelihood(rows) == pytest.approx(want, abs=1e-12)


def test_no_model_of_independent_units_gives_the_data_more():
    """An RBM without weights reaches it with the log odds of the units, and with no other biases."""
    rows = np.random.default_rng(3).integers(0, 2, (40, 5), dtype=np.uint8)
    rows[:, 1] = rows[:, 0]
    p = rows.mean(axis=0)

    def without_weights(p):
        return log_likelihood(RBM(np.zeros((5, 2)), np.log(p / (1 - p)), np.zeros(2)), rows)

    best = independent_log_likelihood(rows)
    assert best == pytest.approx(without_weights(p), abs=1e-6)
    assert best > without_weights(p + 0.05) + 1e-3
    assert best < highest_log_likelihood(rows)
    # A unit that never changes costs nothing, and two that are alike are counted as two.
    always = np.hstack([rows, np.ones((40, 1), np.uint8), np.zeros((40, 1), np.uint8)])
    assert independent_log_likelihood(always) == pytest.approx(best, abs=1e-12)


def test_the_training_set_of_means_is_smoothed_by_the_model():
    """Its rows are means like those of samples; without weights they are all the same."""
    data, parts = load_dataset("digits"), (load_dataset("digits").test, load_dataset("digits").validation)
    rbm = RBM(np.zeros((64, 2)), np.random.default_rng(3).normal(size=64), np.zeros(2))
    rows = np.repeat(rbm.mean_visible(np.zeros((1, 2), np.float32)), len(data.train), axis=0)
    means, own = (reference(data.train, *parts, kernel="mean", rbm=each) for each in (rbm, None))
    assert means.isl == pytest.approx(isl(rows, *parts, kernel="mean").isl)
    assert own.isl == isl(data.train, *parts, kernel="mean").isl != means.isl
    with pytest.raises(BadInput, match="'binary' does not take"):
        reference(data.train, *parts, rbm=rbm)
