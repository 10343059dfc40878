"""The newest samples as bits: overlaps, products and sums against matrices made of whole samples."""

import numpy as np
import pytest

from rbmviz.kernels import window as kernels

SPAN = 24


@pytest.fixture(params=[(5, 3), (64, 16), (70, 37), (300, 130)], ids=str)
def filled(request):
    """A window of 24 after 61 samples, faded in between, and the samples that count with their weights."""
    g, sizes = np.random.default_rng(4), request.param
    window, kept = kernels.make_window(*sizes), []
    for n in range(61):
        v, h = (g.integers(0, 2, size, dtype=np.uint8) for size in sizes)
        eps = 0.0 if n == 50 else 0.1 + 0.01 * n
        kernels.fade(window, 0.9, SPAN)
        kernels.remember(window, v, h, eps, n, SPAN)
        kept = [*([0.9 * w, *of] for w, *of in kept[-SPAN + 1 :]), [eps, v, h]]
    weight, v, h = (np.array(x, float) for x in zip(*kept, strict=True))
    return window, weight, v, h


def test_the_sum_is_that_of_the_newest_samples(filled):
    window, weight, v, h = filled
    W, b, c = kernels.sum_of(window)
    m, n = v.shape[1], h.shape[1]
    np.testing.assert_allclose(W[:m, :n], (weight[:, None] * v).T @ h, atol=1e-12)
    np.testing.assert_allclose(b[:m], weight @ v, atol=1e-12)
    np.testing.assert_allclose(c[:n], weight @ h, atol=1e-12)
    assert not W[m:].any()
    assert not W[:, n:].any()


def test_products_are_those_with_the_matrix(filled):
    """At a state of both layers that is none of the samples."""
    window, weight, v, h = filled
    g = np.random.default_rng(5)
    v0, h0 = (g.integers(0, 2, x.shape[1], dtype=np.uint8) for x in (v, h))
    kernels.overlaps(window.visible, v0, SPAN)
    kernels.overlaps(window.hidden, h0, SPAN)
    W, b, c = (weight[:, None] * v).T @ h, weight @ v, weight @ h
    for seen, other, want in (
        (window.visible, window.hidden, v0 @ W + c),
        (window.hidden, window.visible, W @ h0 + b),
    ):
        out = np.ones(other.octets.shape[1], np.float32)
        kernels.subtract_product(window, seen, other, SPAN, out)
        np.testing.assert_allclose(out[: len(want)], 1 - want, rtol=1e-5, atol=1e-5)
        assert (out[len(want) :] == 1).all()
    got = kernels.product_with_seen(window, SPAN)
    assert got == pytest.approx(v0 @ W @ h0 + b @ v0 + c @ h0, rel=1e-12)


def test_rows_and_bias_lose_the_sum(filled):
    window, weight, v, h = filled
    rows = np.zeros((v.shape[1], window.hidden.octets.shape[1]), np.float32)
    kernels.subtract_rows(window, window.visible, window.hidden, SPAN, rows)
    np.testing.assert_allclose(rows[:, : h.shape[1]], -(weight[:, None] * v).T @ h, atol=1e-5)
    bias = np.zeros(window.visible.octets.shape[1], np.float32)
    kernels.subtract_bias(window, window.visible, SPAN, bias)
    np.testing.assert_allclose(bias[: v.shape[1]], -weight @ v, atol=1e-5)


def test_the_newest_sample_overlaps_with_itself():
    window = kernels.make_window(70, 37)
    v, h = np.ones(70, np.uint8), np.zeros(37, np.uint8)
    h[3:20] = 1
    kernels.remember(window, v, h, 0.5, 9, SPAN)
    assert (window.visible.overlap[9], window.hidden.overlap[9]) == (70, 17)


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.3, 0.9, 0.95, 0.98])
def test_a_window_holds_what_counts_and_no_more_than_an_octet_of_the_rest(alpha):
    span = kernels.span_of(alpha)
    assert span % 8 == 0
    assert 8 <= span <= kernels.CAPACITY
    assert alpha**span <= kernels.NEGLIGIBLE
    assert span == 8 or alpha ** (span - 8) > kernels.NEGLIGIBLE


@pytest.mark.parametrize("alpha", [0.984, 0.999, 1.0])
def test_a_longer_memory_fits_no_window(alpha):
    assert kernels.span_of(alpha) == 0
