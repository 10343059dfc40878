"""Numbers behind five verdicts that changed, by plain programs: each value is of one replication."""

from pathlib import Path

import numpy as np

from .fast_weights import distance_counts, isl, rates_fpcd, usps
from .plain import Model, bars_and_stripes, bits, expected_statistics, read_safetensors, shipped, sigmoid
from .population import model_of, negative, positive


def weighted(rbm: Model, v0: np.ndarray, g: np.random.Generator) -> dict[str, np.ndarray]:
    """Return v after one sweep from v0, and log weights by p(v|h) ("visible") and by p(h|v0) ("joint")."""
    h = bits(g, rbm.hidden(v0))
    x = h @ rbm.W.T + rbm.b
    v = bits(g, sigmoid(x))
    up = v0 @ rbm.W + rbm.c
    visible = v @ rbm.b + np.logaddexp(0, v @ rbm.W + rbm.c).sum(axis=1)
    visible -= (v * x - np.logaddexp(0, x)).sum(axis=1)
    joint = h @ rbm.c + np.logaddexp(0, x).sum(axis=1) - (h * up - np.logaddexp(0, up)).sum(axis=1)
    return {"v": v, "visible": visible, "joint": joint}


def joint_over_visible(seed: int) -> float:
    """Return the mean log10 of the ratio of effective sizes of five times 500 samples on `bas_cd1`."""
    g, rbm, rows = np.random.default_rng([2018, seed]), shipped("bas_cd1"), bars_and_stripes()
    logs = []
    for _ in range(5):
        drawn = weighted(rbm, rows[g.integers(32, size=500)], g)
        w = [np.exp(drawn[name] - drawn[name].max()) for name in ("joint", "visible")]
        sizes = [x.sum() ** 2 / (x**2).sum() for x in w]
        logs.append(np.log10(sizes[0] / sizes[1]))
    return float(np.mean(logs))


def turned_by_one_out(rbm: Model, rows: np.ndarray, seed: int, repetitions: int = 500) -> float:
    """Return the squared sine between the mean estimate by (9), 32 samples each, and the exact statistics."""
    g, exact = np.random.default_rng([2019, seed]), expected_statistics(rbm)
    exact /= np.linalg.norm(exact)
    halves = np.zeros((2, len(exact)))
    for i in range(repetitions):
        drawn = weighted(rbm, rows[g.integers(len(rows), size=32)], g)
        w, v = np.exp(drawn["visible"] - drawn["visible"].max()), drawn["v"]
        w = 31 / 32 * w / np.array([np.delete(w, j).sum() for j in range(32)])
        h = rbm.hidden(v)
        halves[i % 2] += np.concatenate([((w[:, None] * v).T @ h).ravel(), w @ v, w @ h])
    along = halves @ exact
    return float((halves[0] @ halves[1] - along[0] * along[1]) / (along[0] * along[1]))


def slope_of_bias(seed: int, populations: tuple[int, ...] = (8, 32, 128, 512), runs: int = 1000) -> float:
    """Return the slope of log squared bias of pop-CD-1's statistics over log samples, on `bas_cd1`."""
    g, rbm, rows = np.random.default_rng([2020, seed]), shipped("bas_cd1"), bars_and_stripes()
    exact, logs = expected_statistics(rbm), []
    for n in populations:
        each = (
            np.array([negative(rbm, rows[g.integers(32, size=n)], 1, True, g) for _ in range(runs)]) - exact
        )
        mean, noise = each.mean(axis=0), each.var(axis=0, ddof=1).sum() / runs
        logs.append(np.log10(mean @ mean - noise))
    return float(np.polyfit(np.log10(populations), logs, 1)[0])


def exact_total(rbm: Model, rows: np.ndarray) -> float:
    """Return the log-likelihood of all rows, by enumeration of the hidden states."""
    n = len(rbm.c)
    h = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
    logs = h @ rbm.c + np.logaddexp(0, h @ rbm.W.T + rbm.b).sum(axis=1)
    own = rows @ rbm.b + np.logaddexp(0, rows @ rbm.W + rbm.c).sum(axis=1)
    return float(own.sum() - len(rows) * np.logaddexp.reduce(logs))


def curve_of_cd1(seed: int) -> np.ndarray:
    """Return the likelihood of Bars and Stripes after 100, 200, ..., 10,000 updates by CD-1, rate 0.1."""
    g, rows = np.random.default_rng([2021, seed]), bars_and_stripes()
    theta, curve = 0.1 * g.standard_normal(16 * 16 + 32), []
    for update in range(1, 10_001):
        rbm = model_of(theta, 16)
        starts = rows[g.integers(32, size=1000)]
        theta += 0.1 * (positive(rbm, rows) - negative(rbm, starts, 1, False, g))
        if update % 100 == 0:
            curve.append(exact_total(model_of(theta, 16), rows))
    return np.array(curve)


def times_as_many(folder: Path, seed: int, n: int = 100, most: int = 20_000) -> float:
    """Return log10 of how many times as many samples of Gibbs have the ISL of n of rates-FPCD on USPS."""
    parts, g = usps(folder), np.random.default_rng([2022, seed])
    v = parts[0][g.integers(len(parts[0]))]
    W, b, c = (read_safetensors("usps_fpcd")[key].astype(np.float32) for key in "Wbc")

    def score(samples: np.ndarray) -> float:
        return isl(*(distance_counts(samples, part) for part in parts))[1]

    goal, chain = score(rates_fpcd(0.1, 1.0, n, v, g)), np.empty((most, len(v)), np.float32)
    for i in range(most):
        chain[i] = v = bits(g, sigmoid(W @ bits(g, sigmoid(v @ W + c)) + b))
    points = np.unique(np.geomspace(n, most, 40).astype(int))
    low, high = 0, len(points) - 1  # scores rise but for noise
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if score(chain[: points[middle]]) >= goal else (middle + 1, high)
    return float(np.log10(points[low] / n))


def falls(curves: np.ndarray) -> np.ndarray:
    """Return how far each of (trainings, points) ends below where the mean over ten points is highest."""
    tens = np.array([np.convolve(curve, np.full(10, 0.1), "valid") for curve in curves])
    return tens[:, np.argmax(tens.mean(axis=0))] - tens[:, -1]
