"""The truth, by enumeration of the smaller layer: log Z, likelihood, probabilities, gradient."""

import numpy as np

from rbmviz import checks
from rbmviz.budget import check_memory
from rbmviz.errors import BadInput
from rbmviz.kernels.enumerate import log_weights
from rbmviz.rbm import RBM, Statistics, sigmoid, softplus
from rbmviz.registry import metric

MAX_UNITS_ENUMERATED = 25
MOST_PROBABILITIES = 20
LOG_RANGE = 700.0
"""exp of at most this is a finite float64."""

STATE_GROUP = 64
"""Most units that share one logarithm; more gain nothing."""

LOW_UNITS = 10
"""Most units of the inner table, whose rows then stay in the cache."""

DURATIONS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "years": 31.6e6, "millennia": 31.6e9}
"""Names of times, in seconds."""


def _states(n: int) -> np.ndarray:
    """Return all states of n units, float64 (2^n, n); the first unit is the slowest bit."""
    return (np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1) & 1).astype(np.float64)


def too_large(rbm: RBM) -> str:
    """Return what enumerating this model would cost, where that is refused; else an empty text."""
    units, others = sorted((rbm.n_visible, rbm.n_hidden))
    if units <= MAX_UNITS_ENUMERATED:
        return ""
    # Measured on one core: so long a state, and so much more for each unit of the other layer.
    seconds = 2.0 ** min(units, 1000) * (34e-9 + 0.21e-9 * others)
    states = f"{2.0**units:.3g}" if units <= 1000 else f"10^{int(units * np.log10(2))}"
    took = next(
        (f"about {seconds / unit:.2g} {name}" for name, unit in DURATIONS.items() if seconds < 99 * unit),
        "more than a hundred millennia",
    )
    return (
        f"This model is too large to enumerate: its smaller layer has {units} units, which makes 2^{units} = "
        f"{states} states and would take {took}; at most {MAX_UNITS_ENUMERATED} units can be done"
    )


def _smaller(rbm: RBM) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return W (enumerated, summed out) and the two biases, float64, the smaller layer first."""
    W, b, c = (x.astype(np.float64) for x in (rbm.W, rbm.b, rbm.c))
    W, own, other = (W, b, c) if rbm.n_visible <= rbm.n_hidden else (W.T, c, b)
    if len(own) > MAX_UNITS_ENUMERATED:
        raise BadInput(
            f"{too_large(rbm)}; estimate log Z by annealed importance sampling (AIS): metrics.ais_log_z, or "
            "'rbmviz log-z --method ais'."
        )
    n_high = _high_units(len(own))
    states = 2**n_high + 4 * 2 ** (len(own) - n_high)
    check_memory(
        "Enumerating this model",
        8 * (states * (len(other) + 1) + 4 * W.size),
        "choose one with a smaller layer, or estimate log Z by annealed importance sampling (AIS)",
    )
    return np.ascontiguousarray(W), own, other


def _high_units(n: int) -> int:
    """Return how many of n units the outer table takes."""
    return max(n // 2, n - LOW_UNITS)


def _log_weight_blocks(W: np.ndarray, own: np.ndarray, other: np.ndarray):  # type: ignore[no-untyped-def]
    """Yield (first state, log p~ of consecutive states of the enumerated layer)."""
    n_high = _high_units(len(own))
    high, low = _states(n_high), _states(len(own) - n_high)
    low_sum, low_bias = low @ W[n_high:], low @ own[n_high:]
    largest = (np.abs(W).sum(axis=0) + np.abs(other)).max()
    group = min(int(LOG_RANGE / largest), STATE_GROUP) if largest > 0 else STATE_GROUP
    if group:
        low_factor, out = np.exp(np.ascontiguousarray(low_sum.T)), np.empty(len(low))
    for i, state in enumerate(high):
        activation, bias = other + state @ W[:n_high], low_bias + state @ own[:n_high]
        if group:
            log_weights(bias, np.exp(activation), low_factor, group, out)
            yield i * len(low), out
        else:
            yield i * len(low), bias + softplus(activation + low_sum).sum(axis=1)


@metric("log_z")
def log_z(rbm: RBM) -> float:
    """Return log Z by enumerating the smaller layer (at most 25 units), in nats, float64 throughout.

    Examples
    --------
    A model without weights gives all 8 states of (v, h) the same probability.

    >>> import numpy as np
    >>> rbm = rbmviz.RBM(np.zeros((2, 1)), np.zeros(2), np.zeros(1))
    >>> round(float(np.exp(rbmviz.metrics.log_z(rbm))), 6)
    8.0
    """
    total = -np.inf
    for _, logs in _log_weight_blocks(*_smaller(rbm)):
        total = np.logaddexp(total, np.logaddexp.reduce(logs))
    return float(total)


@metric("log_likelihood")
def log_likelihood(rbm: RBM, v: np.ndarray) -> float:
    """Return the exact mean log-likelihood of rows v (n, n_visible), in nats a row."""
    v = checks.bits("The data", v, rbm.n_visible)
    return float(-rbm.free_energy(v).mean()) - log_z(rbm)


def highest_log_likelihood(v: np.ndarray) -> float:
    """Return the mean log-likelihood of rows v that no model can pass, in nats: minus their entropy."""
    counts = np.unique(checks.bits("The data", v), axis=0, return_counts=True)[1]
    shares = counts / counts.sum()
    return float((shares * np.log(shares)).sum())


def attainable_log_likelihood(v: np.ndarray) -> float | None:
    """Return ``highest_log_likelihood`` of rows v, or None where only rote learning could reach it.

    Rows of more than ``MOST_PROBABILITIES`` units hardly repeat.
    """
    return highest_log_likelihood(v) if v.shape[1] <= MOST_PROBABILITIES else None


def probabilities(rbm: RBM) -> np.ndarray:
    """Return p(v) of all 2^n_visible states, float64; the first unit is the slowest bit. n_visible <= 20."""
    if rbm.n_visible > MOST_PROBABILITIES:
        raise BadInput(
            f"All 2^{rbm.n_visible} probabilities would not fit; at most {MOST_PROBABILITIES} visible units."
        )
    logs = -rbm.free_energy(_states(rbm.n_visible))
    return np.exp(logs - np.logaddexp.reduce(logs))


def model_statistics(rbm: RBM) -> Statistics:
    """Return the exact <v h'>, <v>, <h> under the model, summed over all states of the smaller layer."""
    W, own, other = _smaller(rbm)
    n_high = _high_units(len(own))
    high, low = _states(n_high), _states(len(own) - n_high)
    low_sum = low @ W[n_high:]
    # Sums over the low states for each high one, and over the high ones for each low one, all of them
    # relative to the largest weight so far.
    peak, of_high, of_low = (
        -np.inf,
        np.zeros((len(high), len(other) + 1)),
        np.zeros((len(low), len(other) + 1)),
    )
    means = np.ones_like(of_low)  # the last column stays 1: it counts the states themselves
    for i, (_, logs) in enumerate(_log_weight_blocks(W, own, other)):
        if logs.max() > peak:
            scale = np.exp(peak - logs.max())
            of_high *= scale
            of_low *= scale
            peak = logs.max()
        p = np.exp(logs - peak)
        means[:, :-1] = sigmoid(low_sum + (other + high[i] @ W[:n_high]))
        of_high[i] = p @ means
        of_low += p[:, None] * means
    sums = np.vstack([high.T @ of_high, low.T @ of_low]) / of_high[:, -1].sum()
    mean_W, mean_own = sums[:, :-1], sums[:, -1]
    mean_other = of_high[:, :-1].sum(axis=0) / of_high[:, -1].sum()
    if rbm.n_visible <= rbm.n_hidden:
        return Statistics(mean_W, mean_own, mean_other)
    return Statistics(mean_W.T, mean_other, mean_own)


@metric("exact_gradient")
def exact_gradient(rbm: RBM, v: np.ndarray) -> Statistics:
    """Return the exact gradient of the mean log-likelihood of rows v: <s>_data - <s>_model."""
    data, model = rbm.rates(v), model_statistics(rbm)
    return Statistics(data.W - model.W, data.b - model.b, data.c - model.c)
