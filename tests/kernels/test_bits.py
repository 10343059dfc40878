"""Packed bits: words of units and lists of changed units, against lists made unit by unit."""

import numpy as np
import pytest

from rbmviz.kernels import bits, layers
from rbmviz.kernels._jit import kernel

SIZES = [1, 63, 64, 65, 127, 200, 784]


@kernel
def words_of(x, out):
    for w in range(out.shape[0]):
        out[w] = bits.word(x, 64 * w)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_words_are_the_bits_lowest_first(n, share):
    """Also of a row amid others: what lies beyond the end is not read into the word."""
    rows = np.ones((3, n), np.uint8)
    rows[1] = np.random.default_rng(n).random(n) < share
    found = np.zeros(-(-n // 64), np.uint64)
    words_of(rows[1], found)
    want = [sum(int(x) << i for i, x in enumerate(rows[1][at : at + 64])) for at in range(0, n, 64)]
    assert found.tolist() == want


@pytest.mark.parametrize("n", SIZES)
def test_flips_are_those_found_one_by_one(n):
    g = np.random.default_rng(n)
    flips, before = layers.make_flips(n), np.zeros(n, np.uint8)
    for share in (0.4, 0.0, 0.02, 1.0, 1.0, 0.5):
        x = before ^ (g.random(n) < share)
        layers.find_flips(flips, x)
        n_on, n_off, n_active, listed = flips.counts[0].item()
        assert flips.on[:n_on].tolist() == [i for i in range(n) if x[i] and not before[i]]
        assert flips.off[:n_off].tolist() == [i for i in range(n) if before[i] and not x[i]]
        assert (n_active, listed) == (x.sum(), 0)
        assert (flips.input == x).all()
        layers.list_active(flips)
        assert flips.active[:n_active].tolist() == [i for i in range(n) if x[i]]
        before = x
