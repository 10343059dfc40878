"""The log odds of flips of single units, by free energies."""

import naive
import numpy as np
import pytest

from rbmviz.kernels import pseudo_likelihood


@pytest.mark.parametrize(("m", "n", "scale"), [(16, 11, 0.7), (7, 600, 0.7), (9, 40, 60.0)])
def test_log_odds_of_flips(m, n, scale):
    rbm, g = naive.random_rbm(m, n, scale, 1), np.random.default_rng(2)
    v = g.integers(0, 2, (5, m), dtype=np.uint8)
    units = g.integers(0, m, (5, 3)).astype(np.int32)
    W, b, out = rbm.W.astype(float), rbm.b.astype(float), np.empty(units.shape)
    alone = np.stack([b, -b - W.sum(axis=1)], axis=1)
    p = 1 / (1 + np.exp(-(v @ W + rbm.c)))
    rest = np.stack([1 / (1 + np.exp(v @ W + rbm.c)), p]), np.exp(W), np.abs(W).max(), alone, out
    pseudo_likelihood.log_odds(v, units, *rest)
    for r, q in np.ndindex(units.shape):
        flipped = v[r].copy()
        flipped[units[r, q]] ^= 1
        difference = rbm.free_energy(v[r]) - rbm.free_energy(flipped)
        assert out[r, q] == pytest.approx(difference, rel=1e-9, abs=1e-9)
    for wrong in (units + m, units[:4]):
        with pytest.raises(ValueError, match="do not fit"):
            pseudo_likelihood.log_odds(v, wrong, *rest)
