"""The history of the newest samples as bits: overlaps, products and sums against dense matrices."""

import numpy as np
import pytest

from rbmviz.kernels.fast_weights import history as kernels

HISTORY_LENGTH = 24


@pytest.fixture(params=[(5, 3), (64, 16), (70, 37), (300, 130)], ids=str)
def filled(request):
    """A history of 24 after 61 samples, decayed in between, and the samples that count with their weights."""
    g, sizes = np.random.default_rng(4), request.param
    history, kept = kernels.make_history(*sizes), []
    for n in range(61):
        v, h = (g.integers(0, 2, size, dtype=np.uint8) for size in sizes)
        eps = 0.0 if n == 50 else 0.1 + 0.01 * n
        kernels.decay_weights(history, 0.9, HISTORY_LENGTH)
        kernels.append(history, v, h, eps, n, HISTORY_LENGTH)
        kept = [*([0.9 * w, *of] for w, *of in kept[-HISTORY_LENGTH + 1 :]), [eps, v, h]]
    weight, v, h = (np.array(x, float) for x in zip(*kept, strict=True))
    return history, weight, v, h


def test_the_sum_is_that_of_the_newest_samples(filled):
    history, weight, v, h = filled
    W, b, c = kernels.sum_of_history(history)
    m, n = v.shape[1], h.shape[1]
    np.testing.assert_allclose(W[:m, :n], (weight[:, None] * v).T @ h, atol=1e-12)
    np.testing.assert_allclose(b[:m], weight @ v, atol=1e-12)
    np.testing.assert_allclose(c[:n], weight @ h, atol=1e-12)
    assert not W[m:].any()
    assert not W[:, n:].any()


def test_products_are_those_with_the_matrix(filled):
    """At a state of both layers that is none of the samples."""
    history, weight, v, h = filled
    g = np.random.default_rng(5)
    v0, h0 = (g.integers(0, 2, x.shape[1], dtype=np.uint8) for x in (v, h))
    kernels.update_overlaps(history.visible, v0, HISTORY_LENGTH)
    kernels.update_overlaps(history.hidden, h0, HISTORY_LENGTH)
    W, b, c = (weight[:, None] * v).T @ h, weight @ v, weight @ h
    for input_history, output_history, want in (
        (history.visible, history.hidden, v0 @ W + c),
        (history.hidden, history.visible, W @ h0 + b),
    ):
        out = np.ones(output_history.packed_samples.shape[1], np.float32)
        kernels.subtract_product(history, input_history, output_history, HISTORY_LENGTH, out)
        np.testing.assert_allclose(out[: len(want)], 1 - want, rtol=1e-5, atol=1e-5)
        assert (out[len(want) :] == 1).all()
    got = kernels.product_with_state(history, HISTORY_LENGTH)
    assert got == pytest.approx(v0 @ W @ h0 + b @ v0 + c @ h0, rel=1e-12)


def test_rows_and_bias_lose_the_sum(filled):
    history, weight, v, h = filled
    rows = np.zeros((v.shape[1], history.hidden.packed_samples.shape[1]), np.float32)
    kernels.subtract_rows(history, history.visible, history.hidden, HISTORY_LENGTH, rows)
    np.testing.assert_allclose(rows[:, : h.shape[1]], -(weight[:, None] * v).T @ h, atol=1e-5)
    bias = np.zeros(history.visible.packed_samples.shape[1], np.float32)
    kernels.subtract_bias(history, history.visible, HISTORY_LENGTH, bias)
    np.testing.assert_allclose(bias[: v.shape[1]], -weight @ v, atol=1e-5)


def test_the_newest_sample_overlaps_with_itself():
    history = kernels.make_history(70, 37)
    v, h = np.ones(70, np.uint8), np.zeros(37, np.uint8)
    h[3:20] = 1
    kernels.append(history, v, h, 0.5, 9, HISTORY_LENGTH)
    assert (history.visible.overlap[9], history.hidden.overlap[9]) == (70, 17)


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.3, 0.9, 0.95, 0.98])
def test_a_history_holds_what_counts_and_at_most_eight_of_the_rest(alpha):
    history_length = kernels.history_length_of(alpha)
    assert history_length % 8 == 0
    assert 8 <= history_length <= kernels.CAPACITY
    assert alpha**history_length <= kernels.NEGLIGIBLE
    assert history_length == 8 or alpha ** (history_length - 8) > kernels.NEGLIGIBLE


@pytest.mark.parametrize("alpha", [0.984, 0.999, 1.0])
def test_a_longer_memory_fits_no_history(alpha):
    assert kernels.history_length_of(alpha) == 0
