"""Lists of changed units, against lists made unit by unit."""

import numpy as np
import pytest

from rbmviz.kernels import layers

SIZES = [1, 63, 64, 65, 127, 200, 784]


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
