"""Rates-FPCD: what decay costs (figure 3, left).

Only numpy. The model is ``usps_fpcd``; the data are USPS, binarised at 0.3 of full ink.
"""

from pathlib import Path

import numpy as np

from .plain import bits, read_safetensors, sigmoid

MODEL = "usps_fpcd"
EPS = (0.003, 0.01, 0.03, 0.1, 0.3)
BETAS = np.linspace(0.55, 0.995, 400)


def usps(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the validation and the test part of USPS, as floats 0 and 1."""
    with np.load(folder / "usps.npz") as file:
        held_out, test = file["x_train"][6291:], file["x_test"]
    return tuple((x.reshape(len(x), -1) > 0.3 * 255).astype(np.float32) for x in (held_out, test))


def rates_fpcd(eps: float, alpha: float, n: int, v: np.ndarray, g: np.random.Generator) -> np.ndarray:
    """Return n samples of one chain that starts at v: one sweep a sample, fast parameters all in memory."""
    arrays = {name: x.astype(np.float32) for name, x in read_safetensors(MODEL).items()}
    W, b, c = (arrays[key] for key in "Wbc")
    rates = [arrays[f"rates.{key}"] for key in "Wbc"]
    fast = [np.zeros_like(x) for x in rates]
    samples = np.empty((n, len(b)), np.float32)
    for i in range(n):
        h = bits(g, sigmoid(v @ (W + fast[0]) + c + fast[2]))
        v = bits(g, sigmoid((W + fast[0]) @ h + b + fast[1]))
        samples[i] = v
        for f, rate, s in zip(fast, rates, (np.outer(v, h), v, h), strict=True):
            f *= np.float32(alpha)
            f += np.float32(eps) * (rate - s)
    return samples


def distance_counts(samples: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """Return how many samples are at each Hamming distance from each example, (examples, visible + 1)."""
    width = samples.shape[1]
    counts = np.zeros((len(examples), width + 1))
    first = np.arange(len(examples))[:, None] * (width + 1)
    for at in range(0, len(samples), 2000):
        some = samples[at : at + 2000].astype(np.float32)
        apart = examples.sum(axis=1)[:, None] + some.sum(axis=1) - 2 * (examples @ some.T)
        places = (first + np.rint(apart).astype(np.int64)).ravel()
        counts += np.bincount(places, minlength=counts.size).reshape(counts.shape)
    return counts


def scores(counts: np.ndarray, betas: np.ndarray) -> np.ndarray:
    """Return the ISL for each beta: the mean log of a mixture of product Bernoulli kernels."""
    d = np.arange(counts.shape[1])
    with np.errstate(divide="ignore"):
        log_share = np.log(counts / counts.sum(axis=1, keepdims=True))
    found = []
    for beta in betas:
        terms = log_share + (counts.shape[1] - 1 - d) * np.log(beta) + d * np.log(1 - beta)
        top = terms.max(axis=1, keepdims=True)
        found.append((top[:, 0] + np.log(np.exp(terms - top).sum(axis=1))).mean())
    return np.array(found)


def best_beta(counts: np.ndarray) -> float:
    """Return the beta with the best score, from a coarse and then a fine grid."""
    at = int(np.argmax(scores(counts, BETAS[::20]))) * 20
    near = BETAS[max(at - 20, 0) : at + 21]
    return float(near[np.argmax(scores(counts, near))])


def isl(validation: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    """Return the ISL of the validation and of the test part at the beta that is best for the first."""
    beta = np.array([best_beta(validation)])
    return float(scores(validation, beta)[0]), float(scores(test, beta)[0])


def decay(
    folder: Path, n: int, seeds: int, steps: dict[float, tuple[float, ...]]
) -> dict[tuple[float, float], list[tuple[float, float]]]:
    """Return the ISL (validation, test) of each seed's chain, by decay and step size.

    ``steps`` names the step sizes to try with each decay.
    """
    validation, test = usps(folder)
    found: dict[tuple[float, float], list[tuple[float, float]]] = {}
    for alpha, sizes in steps.items():
        for eps in sizes:
            for seed in range(seeds):
                g = np.random.default_rng([2011, seed, int(1000 * eps), int(100 * alpha)])
                start = validation[g.integers(len(validation))]
                samples = rates_fpcd(eps, alpha, n, start, g)
                one = isl(distance_counts(samples, validation), distance_counts(samples, test))
                found.setdefault((alpha, eps), []).append(one)
    return found


def gains(found: dict[tuple[float, float], list[tuple[float, float]]]) -> np.ndarray:
    """Return, by seed, the ISL without decay less that with decay, each at its best step size."""
    tests = []
    for alpha in (1.0, 0.95):
        own = {eps: np.array(values) for (a, eps), values in found.items() if a == alpha}
        best = max(own, key=lambda eps, own=own: own[eps][:, 0].mean())
        tests.append(own[best][:, 1])
    return tests[0] - tests[1]
