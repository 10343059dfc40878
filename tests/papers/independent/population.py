"""Population CD: bias and variance of the gradient estimates of CD and pop-CD.

Only numpy. Models are trained here, by CD-1 of this file; the exact gradient is enumerated.
"""

import numpy as np

from .plain import Model, bars_and_stripes, bits, expected_statistics, statistics

HIDDEN = 16
BATCH = {"bas": 32, "modes": 500}


def artificial_modes(g: np.random.Generator) -> np.ndarray:
    """Return 10,000 noisy copies of four prototypes of 16 bits; a bit is flipped with probability 0.001."""
    half = np.repeat([0, 1], 8)
    prototypes = np.array([np.zeros(16), np.ones(16), half, 1 - half], int)
    rows = prototypes[np.arange(10_000) % 4]
    return (rows ^ (g.random(rows.shape) < 0.001)).astype(np.float64)


def batches(g: np.random.Generator, rows: np.ndarray, size: int):
    """Yield mini-batches without end, in whole epochs."""
    while True:
        order = g.permutation(len(rows))
        for at in range(0, len(rows) - size + 1, size):
            yield rows[order[at : at + size]]


def negative(rbm: Model, v: np.ndarray, k: int, weigh: bool, g: np.random.Generator) -> np.ndarray:
    """Return the negative statistics of CD-k, or of pop-CD-k (equation 8)."""
    for _ in range(k):
        h = bits(g, rbm.hidden(v))
        v = bits(g, rbm.visible(h))
    w = np.full(len(v), 1 / len(v))
    if weigh:
        x = h @ rbm.W.T + rbm.b  # log p~(v) - log p(v | h)
        log_w = v @ rbm.b + np.logaddexp(0, v @ rbm.W + rbm.c).sum(axis=1)
        log_w -= (v * x - np.logaddexp(0, x)).sum(axis=1)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
    weighted, mean_h = w[:, None] * v, rbm.hidden(v)
    return np.concatenate([(weighted.T @ mean_h).ravel(), weighted.sum(axis=0), w @ mean_h])


def positive(rbm: Model, v: np.ndarray) -> np.ndarray:
    """Return the mean statistics of the rows."""
    h = rbm.hidden(v)
    return np.concatenate([(v.T @ h / len(v)).ravel(), v.mean(axis=0), h.mean(axis=0)])


def train_cd1(rows: np.ndarray, batch: int, updates: int, g: np.random.Generator) -> Model:
    """Return a model after CD-1 at the rate 0.1; half of the data's bits are 1, so that biases begin at 0."""
    m = rows.shape[1]
    theta = np.concatenate([0.01 * g.standard_normal(m * HIDDEN), np.zeros(m + HIDDEN)])
    source = batches(g, rows, batch)
    for _ in range(updates):
        rbm = model_of(theta, m)
        v = next(source)
        theta += 0.1 * (positive(rbm, v) - negative(rbm, v, 1, False, g))
    return model_of(theta, m)


def model_of(theta: np.ndarray, m: int) -> Model:
    """Return the parameters in their three arrays."""
    n = m * HIDDEN
    return Model(theta[:n].reshape(m, HIDDEN), theta[n : n + m], theta[n + m :])


def quality(
    rbm: Model, rows: np.ndarray, batch: int, k: int, weigh: bool, n: int, g: np.random.Generator
) -> tuple[float, float, float]:
    """Return squared bias (less its noise), its standard error, and variance; all a parameter.

    There are 20 runs, each with epochs of its own; the mean product of errors of two different runs has no
    noise in its expectation.
    """
    exact = statistics(rows, rbm.hidden(rows)).mean(axis=0) - expected_statistics(rbm)
    runs, squares = [], []
    for _ in range(20):
        source = batches(g, rows, batch)
        each = []
        for _ in range(n // 20):
            v = next(source)
            each.append(positive(rbm, v) - negative(rbm, v, k, weigh, g))
        errors = np.array(each) - exact
        runs.append(errors.mean(axis=0))
        squares.append((errors**2).sum(axis=1).mean())
    means = np.array(runs)
    products = means @ means.T / len(exact)

    def between(keep: np.ndarray) -> float:
        part = products[np.ix_(keep, keep)]
        return float((part.sum() - np.trace(part)) / (len(part) * (len(part) - 1)))

    everybody = np.arange(20)
    without = [between(np.delete(everybody, i)) for i in everybody]
    error = np.sqrt(19 * np.var(without))
    centre = means.mean(axis=0)
    variance = (np.mean(squares) - centre @ centre) / len(exact) * n / (n - 1)
    return between(everybody), float(error), float(variance)


def ratios(data: str, k: int, seed: int, n: int = 400, updates: int = 10_000) -> dict[str, float]:
    """Return log10 of CD's bias and variance over those of pop-CD, and of CD's bias itself, on one model."""
    g = np.random.default_rng([2017, seed, len(data)])
    rows = bars_and_stripes() if data == "bas" else artificial_modes(g)
    rbm = train_cd1(rows, BATCH[data], updates, g)
    cd = quality(rbm, rows, BATCH[data], k, False, n, g)
    pop = quality(rbm, rows, BATCH[data], k, True, n, g)
    # A bias that is lost in its noise counts as the noise.
    return {
        "bias": float(np.log10(cd[0] / max(pop[0], 2 * pop[1]))),
        "variance": float(np.log10(cd[2] / pop[2])),
        "of_cd": float(np.log10(cd[0])),
    }
