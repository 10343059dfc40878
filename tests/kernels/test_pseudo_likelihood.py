"""The log odds of flips of single units, by free energies."""

import naive
import numpy as np
import pytest

from rbmviz import RBM
from rbmviz.kernels import pseudo_likelihood


@pytest.mark.parametrize(("m", "n"), [(16, 11), (7, 600)])
def test_log_odds_of_flips(m, n):
    rbm, g = naive.random_rbm(m, n, 0.7, 1), np.random.default_rng(2)
    v = g.integers(0, 2, (5, m), dtype=np.uint8)
    units = g.integers(0, m, (5, 3)).astype(np.int32)
    out, x = np.empty(units.shape), v.astype(np.float32) @ rbm.W + rbm.c
    pseudo_likelihood.log_odds(v, units, x, rbm.W, rbm.b, np.float32(1.3), out)
    hot = RBM(1.3 * rbm.W, 1.3 * rbm.b, 1.3 * rbm.c)
    for r, q in np.ndindex(units.shape):
        flipped = v[r].copy()
        flipped[units[r, q]] ^= 1
        assert out[r, q] == pytest.approx(hot.free_energy(v[r]) - hot.free_energy(flipped), abs=2e-4)
    for wrong in (units + m, units[:4]):
        with pytest.raises(ValueError, match="do not fit"):
            pseudo_likelihood.log_odds(v, wrong, x, rbm.W, rbm.b, np.float32(1.3), out)
