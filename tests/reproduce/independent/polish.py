"""The optimum of R.theta - log Z for the rates R of a pretrained model: what it gains on Bars and Stripes."""

from collections.abc import Callable

import numpy as np

from .plain import Model, bars_and_stripes, expected_statistics, read_safetensors, shipped


def log_likelihood(rbm: Model, rows: np.ndarray) -> float:
    """Return the mean log-likelihood of rows, by enumeration of the hidden states."""
    return float(np.mean(rows @ rbm.b + np.logaddexp(0, rows @ rbm.W + rbm.c).sum(axis=1))) - log_z(rbm)


def log_z(rbm: Model) -> float:
    """Return log Z, by enumeration of the hidden states."""
    n = len(rbm.c)
    h = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
    each = h @ rbm.c + np.logaddexp(0, h @ rbm.W.T + rbm.b).sum(axis=1)
    return float(each.max() + np.log(np.exp(each - each.max()).sum()))


def climb(
    value: Callable[[np.ndarray], float], slope: Callable[[np.ndarray], np.ndarray], x: np.ndarray, steps: int
) -> np.ndarray:
    """Return the place after so many steps of L-BFGS with ten pairs, each step halved until it climbs."""
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    g, at = slope(x), value(x)
    for _ in range(steps):
        d, used = g.copy(), []
        for s, y in reversed(pairs):
            used.append((s @ d) / (s @ y))
            d -= used[-1] * y
        if pairs:
            s, y = pairs[-1]
            d *= (s @ y) / (y @ y)
        for (s, y), a in zip(pairs, reversed(used), strict=True):
            d += (a - (y @ d) / (s @ y)) * s
        t = 1.0 if pairs else 0.1 / np.linalg.norm(g)
        while value(x + t * d) < at + 1e-4 * t * (g @ d):
            t /= 2
        new, at = x + t * d, value(x + t * d)
        g_new = slope(new)
        pairs = [*pairs[-9:], (new - x, g - g_new)]  # of the negative, which is convex
        x, g = new, g_new
    return x


def gain(name: str, steps: int = 120) -> float:
    """Return how many nats a row the optimum gains over a model of Bars and Stripes with 16 hidden units."""
    rbm, arrays, rows = shipped(name), read_safetensors(name), bars_and_stripes()
    rates = np.concatenate([arrays[f"rates.{key}"].astype(np.float64).ravel() for key in "Wbc"])
    m, n = rbm.W.shape

    def model(theta: np.ndarray) -> Model:
        return Model(theta[: m * n].reshape(m, n), theta[m * n : m * n + m], theta[m * n + m :])

    best = climb(
        lambda theta: float(rates @ theta) - log_z(model(theta)),
        lambda theta: rates - expected_statistics(model(theta)),
        np.concatenate([rbm.W.ravel(), rbm.b, rbm.c]),
        steps,
    )
    return log_likelihood(model(best), rows) - log_likelihood(rbm, rows)
