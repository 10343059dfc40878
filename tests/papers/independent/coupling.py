"""Unbiased CD: meeting times of two couplings (figure 5), and what cutting pairs off costs (theorem 1).

Only numpy. Many pairs advance side by side; a pair that has met is put aside.
"""

from typing import NamedTuple

import numpy as np

from .plain import Model, bars_and_stripes, bits, expected_statistics, shipped, sigmoid, statistics


class Pairs(NamedTuple):
    """Meeting times (0: cut off), and the estimates of the model's statistics, (pairs, parameters)."""

    tau: np.ndarray
    estimate: np.ndarray | None


def log_density(v: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return log p(v) of each row, for independent bits with logits x."""
    return (v * x - np.logaddexp(0, x)).sum(axis=1)


def residual(
    x: np.ndarray, other: np.ndarray, g: np.random.Generator, draw: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return a proposal from logits x, and which rows are accepted as draws from what p has above q."""
    v = (draw < sigmoid(x)).astype(np.float64) if draw is not None else bits(g, sigmoid(x))
    return v, np.log(g.random(len(x))) > log_density(v, other) - log_density(v, x)


def couple_visible(
    x: np.ndarray, y: np.ndarray, specialised: bool, g: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a maximal coupling of bits with logits x and of bits with logits y, and which rows are equal.

    What follows if a row is not equal: in algorithm 1 the first draw stays, and the other is independent;
    in algorithm 3 both are drawn again, from the same uniform numbers as long as both are open.
    """
    v = bits(g, sigmoid(x))
    met = np.log(g.random(len(x))) <= log_density(v, y) - log_density(v, x)
    other = v.copy()
    if specialised:
        open_v, open_other = np.flatnonzero(~met), np.flatnonzero(~met)
        while len(open_v) or len(open_other):
            rows = np.union1d(open_v, open_other)
            draw = np.empty((len(x), x.shape[1]))
            draw[rows] = g.random((len(rows), x.shape[1]))
            new, good = residual(x[open_v], y[open_v], g, draw[open_v])
            v[open_v[good]] = new[good]
            open_v = open_v[~good]
            new, good = residual(y[open_other], x[open_other], g, draw[open_other])
            other[open_other[good]] = new[good]
            open_other = open_other[~good]
    else:
        rows = np.flatnonzero(~met)
        while len(rows):
            new, good = residual(y[rows], x[rows], g)
            other[rows[good]] = new[good]
            rows = rows[~good]
    return v, other, met


def couple(
    rbm: Model, v0: np.ndarray, specialised: bool, most: int, g: np.random.Generator, estimate: bool = False
) -> Pairs:
    """Run pairs until they meet or have made ``most`` sweeps: algorithm 3 if specialised, or algorithm 1."""
    n = len(v0)
    h_behind = bits(g, rbm.hidden(v0))  # eta_0 = xi_0
    v = bits(g, rbm.visible(h_behind))
    h = bits(g, rbm.hidden(v))  # xi_1
    tau = np.zeros(n, int)
    total = statistics(v, rbm.hidden(v)) if estimate else None
    active = np.arange(n)
    for t in range(2, most + 1):
        v, v_behind, met = couple_visible(h @ rbm.W.T + rbm.b, h_behind @ rbm.W.T + rbm.b, specialised, g)
        tau[active[met]] = t
        go = ~met
        active, v, v_behind = active[go], v[go], v_behind[go]
        if not len(active):
            break
        p, q = rbm.hidden(v), rbm.hidden(v_behind)
        z = g.random(p.shape)
        h = (z < p).astype(np.float64)
        h_behind = ((z if specialised else g.random(q.shape)) < q).astype(np.float64)
        if total is not None and t < most:
            total[active] += statistics(v, p) - statistics(v_behind, q)
    return Pairs(tau, total)


def shares_met(specialised: bool, seed: int, pairs: int = 400, most: int = 1000) -> tuple[float, float]:
    """Return the shares of pairs that meet within 10 sweeps, and not in ``most``, on one random model."""
    g = np.random.default_rng([2020, seed])
    rbm = Model(*(g.normal(0, 0.1, shape) for shape in ((500, 100), 500, 100)))
    v0 = g.integers(0, 2, (pairs, 500)).astype(np.float64)
    tau = couple(rbm, v0, specialised, most, g).tau
    return float(((tau > 0) & (tau <= 10)).mean()), float((tau == 0).mean())


def distance_in_errors(most: int, seed: int, pairs: int = 4000) -> tuple[float, float, float]:
    """Return how far the mean estimate on ``bas_cd1`` is from the exact statistics, in standard errors.

    After it come the squared bias a parameter, less its noise, and the share of pairs that were cut off.
    """
    g = np.random.default_rng([2020, most, seed])
    rbm, rows = shipped("bas_cd1"), bars_and_stripes()
    found = couple(rbm, rows[g.integers(len(rows), size=pairs)], True, most, g, estimate=True)
    errors = found.estimate - expected_statistics(rbm)
    mean, noise = errors.mean(axis=0), errors.var(axis=0, ddof=1) / pairs
    z = np.sqrt((mean**2).sum() / noise.sum())
    return float(z), float(((mean**2).sum() - noise.sum()) / len(mean)), float((found.tau == 0).mean())
