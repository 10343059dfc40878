"""Products of batches of bits: the kernel against its reference, and the choice between kernel and BLAS."""

import numba
import numpy as np
import pytest
from naive import sum_of_rows

from rbmviz import rng
from rbmviz.kernels import batch

SIZES = [(1, 7, 5), (9, 33, 31), (5, 40, 32), (13, 64, 65), (301, 21, 100)]


def random_bits(rows, n, share, seed=0):
    return (rng.generator(seed, "bits").random((rows, n)) < share).astype(np.float32)


def random_matrix(n_in, n_out, seed=0):
    return rng.generator(seed, "matrix").normal(size=(n_in, n_out)).astype(np.float32)


@pytest.fixture
def always(monkeypatch):
    """Take active rows for all bits, even where BLAS is quicker."""
    monkeypatch.setattr(batch, "beats_blas", lambda n_active, *sizes: n_active >= 0)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(("rows", "n_in", "n_out"), SIZES)
def test_sums_of_active_rows(rows, n_in, n_out, share, always):
    """Bit for bit; share 0 is no active bit, 1 all of them."""
    x, matrix = random_bits(rows, n_in, share), random_matrix(n_in, n_out)
    want = np.array([sum_of_rows(matrix, np.flatnonzero(row)) for row in x])
    assert (batch.times(x, matrix) == want).all()
    assert (batch.times_transposed(x, np.ascontiguousarray(matrix.T)) == want).all()
    y = random_matrix(rows, n_out)
    want = np.array([sum_of_rows(y, np.flatnonzero(column)) for column in x.T])
    assert (batch.correlate(x, y) == want).all()
    assert (batch.correlate(x, y, 3) == np.float32(1 / 3) * want).all()


def test_products_of_a_batch_are_the_dense_ones(always):
    """Against float64, also where the first and the last unit are always on, and for memory not in order."""
    x = random_bits(120, 90, 0.15)
    x[:, [0, -1]] = 1
    matrix, y = random_matrix(90, 70), random_matrix(120, 70)
    for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
        for values in (matrix, np.asfortranarray(matrix)):
            np.testing.assert_allclose(batch.times(given, values), x @ matrix.astype(float), atol=2e-5)
            np.testing.assert_allclose(
                batch.times_transposed(given, values.T), x @ matrix.astype(float), atol=2e-5
            )
        np.testing.assert_allclose(batch.correlate(given, y), x.T @ y.astype(float), atol=2e-5)
    frozen = matrix.copy()
    frozen.flags.writeable = False
    assert (batch.times(x, frozen) == batch.times(x, matrix)).all()
    for kernel in (batch.as_bits, batch.list_rows, batch.transpose_lists, batch.sum_listed_rows):
        assert numba.config.DISABLE_JIT or len(kernel.signatures) == 1, kernel


def test_only_bits_have_lists(monkeypatch):
    """Real values, and NaN, are multiplied by BLAS."""
    matrix, asked = random_matrix(300, 200), []
    beats_blas = batch.beats_blas
    monkeypatch.setattr(
        batch, "beats_blas", lambda n_active, *sizes: asked.append(n_active) or beats_blas(n_active, *sizes)
    )
    x = random_bits(256, 300, 0.1)
    for value in (0.5, -1.0, 2.0, np.nan):
        x[255, 299] = value
        np.testing.assert_array_equal(batch.times(x, matrix), x @ matrix)
        np.testing.assert_array_equal(batch.times_transposed(x, matrix.T), x @ matrix)
        np.testing.assert_array_equal(batch.correlate(x, x), x.T @ x)
    assert asked == [0, -1] * 12
    x[255, 299] = 1
    bits = np.empty(x.shape, np.uint8)
    assert batch.as_bits(x, bits) == x.sum()
    assert (bits == x).all()


def test_index_lists_are_used_for_sparse_products():
    """Few active bits in a large product; not dense ones, not small ones, not a single row."""
    assert batch.beats_blas(100 * 784 // 4, 100, 784, 500)
    assert not batch.beats_blas(100 * 784 // 2, 100, 784, 500)
    assert not batch.beats_blas(100 * 16 // 4, 100, 16, 16)
    assert not batch.beats_blas(784 // 4, 1, 784, 500)
