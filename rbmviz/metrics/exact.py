"""Exact values by enumeration of the smaller layer: log Z, log-likelihood, probabilities, gradient."""

import numpy as np

from rbmviz import checks, kernels
from rbmviz.budget import check_memory
from rbmviz.errors import BadInput
from rbmviz.model_files import AnyModel, as_rbm
from rbmviz.rbm import RBM, Statistics, sigmoid, softplus
from rbmviz.registry import metric

MAX_UNITS_ENUMERATED = 25
"""Maximum number of units of the smaller layer."""

MAX_PROBABILITIES = 20
"""Maximum number of visible units of ``probabilities``."""

LOG_RANGE = 700.0
"""The exponential of a number up to this is finite in float64."""

STATE_GROUP = 64
"""Maximum number of units that share one logarithm; larger groups are not faster."""

LOW_UNITS = 10
"""Maximum number of units of the inner table, so that the table stays in the processor's cache."""

DURATIONS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "years": 31.6e6, "millennia": 31.6e9}
"""Units of time, in seconds."""


def _states(n: int) -> np.ndarray:
    """Return all states of n units, float64 (2^n, n); the first unit is the most significant bit."""
    return (np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1) & 1).astype(np.float64)


def too_large(rbm: AnyModel) -> str:
    """Return why this model is too large to enumerate, with the estimated time; "" if it is not."""
    rbm = as_rbm(rbm)
    units, others = sorted((rbm.n_visible, rbm.n_hidden))
    if units <= MAX_UNITS_ENUMERATED:
        return ""
    # Measured on one core: seconds per state, and seconds per state and unit of the other layer.
    seconds = 2.0 ** min(units, 1000) * (34e-9 + 0.21e-9 * others)
    states = f"{2.0**units:.3g}" if units <= 1000 else f"10^{int(units * np.log10(2))}"
    duration = next(
        (f"about {seconds / unit:.2g} {name}" for name, unit in DURATIONS.items() if seconds < 99 * unit),
        "more than a hundred millennia",
    )
    return (
        f"This model is too large to enumerate: its smaller layer has {units} units, which makes 2^{units} = "
        f"{states} states and would take {duration}; at most {MAX_UNITS_ENUMERATED} units can be enumerated"
    )


def _smaller(rbm: RBM) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return W (enumerated units, summed-out units) and the two biases in this order, float64."""
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
    """Return how many of the n units are in the outer table."""
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
            kernels.enumerate.log_weights(bias, np.exp(activation), low_factor, group, out)
            yield i * len(low), out
        else:
            yield i * len(low), bias + softplus(activation + low_sum).sum(axis=1)


@metric("log_z")
def log_z(rbm: AnyModel) -> float:
    """Return log Z in nats, by enumerating the smaller layer in float64.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with at most 25 units in its smaller layer.

    Raises
    ------
    BadInput
        If the smaller layer has more units, or the tables need more than the memory budget.

    Examples
    --------
    A model without weights gives all 8 states of (v, h) the same probability.

    >>> import numpy as np
    >>> rbm = rbmviz.RBM(np.zeros((2, 1)), np.zeros(2), np.zeros(1))
    >>> round(float(np.exp(rbmviz.metrics.log_z(rbm))), 6)
    8.0
    """
    rbm = as_rbm(rbm)
    total = -np.inf
    for _, logs in _log_weight_blocks(*_smaller(rbm)):
        total = np.logaddexp(total, np.logaddexp.reduce(logs))
    return float(total)


@metric("log_likelihood")
def log_likelihood(rbm: AnyModel, v: np.ndarray) -> float:
    """Return the exact mean log-likelihood of data, in nats per row.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with at most 25 units in its smaller layer.
    v : uint8 (n, n_visible)
        Rows of 0 and 1.

    Raises
    ------
    BadInput
        If the data do not fit the model, or the model is too large to enumerate.
    """
    rbm = as_rbm(rbm)
    v = checks.bits("The data", v, rbm.n_visible)
    return float(-rbm.free_energy(v).mean()) - log_z(rbm)


def highest_log_likelihood(v: np.ndarray) -> float:
    """Return the highest mean log-likelihood of data under any model: minus their entropy, in nats.

    Parameters
    ----------
    v : uint8 (n, n_visible)
        Rows of 0 and 1.

    Raises
    ------
    BadInput
        If the data are not rows of 0 and 1.
    """
    counts = np.unique(checks.bits("The data", v), axis=0, return_counts=True)[1]
    shares = counts / counts.sum()
    return float((shares * np.log(shares)).sum())


def independent_log_likelihood(v: np.ndarray) -> float:
    """Return the highest mean log-likelihood that a model of independent units can give to data, in nats.

    An RBM without weights reaches it, with the log odds of the units as visible biases. A trained model
    that does not exceed it has learned nothing about dependencies between units.

    Parameters
    ----------
    v : uint8 (n, n_visible)
        Rows of 0 and 1.

    Raises
    ------
    BadInput
        If the data are not rows of 0 and 1.
    """
    p = checks.bits("The data", v).mean(axis=0)
    p = p[(p > 0) & (p < 1)]
    return float((p * np.log(p) + (1 - p) * np.log1p(-p)).sum())


def attainable_log_likelihood(v: np.ndarray) -> float | None:
    """Return ``highest_log_likelihood`` of rows v, or None if only memorising could reach it.

    Rows of more than ``MAX_PROBABILITIES`` units rarely repeat.
    """
    return highest_log_likelihood(v) if v.shape[1] <= MAX_PROBABILITIES else None


def probabilities(rbm: AnyModel) -> np.ndarray:
    """Return p(v) of all visible states, float64 (2^n_visible,).

    The first unit is the most significant bit of a state's index.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with at most 20 visible units.

    Raises
    ------
    BadInput
        If the model has more visible units.
    """
    rbm = as_rbm(rbm)
    if rbm.n_visible > MAX_PROBABILITIES:
        raise BadInput(
            f"{rbm.n_visible} visible units have 2^{rbm.n_visible} probabilities, too many to compute: "
            f"choose a model of at most {MAX_PROBABILITIES} visible units."
        )
    logs = -rbm.free_energy(_states(rbm.n_visible))
    return np.exp(logs - np.logaddexp.reduce(logs))


def model_statistics(rbm: AnyModel) -> Statistics:
    """Return the exact <v h'>, <v> and <h> under the model.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with at most 25 units in its smaller layer.

    Returns
    -------
    Statistics
        float64 W (n_visible, n_hidden), b (n_visible,), c (n_hidden,).

    Raises
    ------
    BadInput
        If the model is too large to enumerate.
    """
    rbm = as_rbm(rbm)
    W, own, other = _smaller(rbm)
    n_high = _high_units(len(own))
    high, low = _states(n_high), _states(len(own) - n_high)
    low_sum = low @ W[n_high:]
    # Sums over the low states for each high state, and over the high states for each low state, all
    # relative to the largest weight so far.
    peak, of_high, of_low = (
        -np.inf,
        np.zeros((len(high), len(other) + 1)),
        np.zeros((len(low), len(other) + 1)),
    )
    means = np.ones_like(of_low)  # the last column stays 1: it sums the weights themselves
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
def exact_gradient(rbm: AnyModel, v: np.ndarray) -> Statistics:
    """Return the exact gradient of the mean log-likelihood of data: <s>_data - <s>_model.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with at most 25 units in its smaller layer.
    v : uint8 (n, n_visible)
        Rows of 0 and 1.

    Returns
    -------
    Statistics
        float64 W (n_visible, n_hidden), b (n_visible,), c (n_hidden,).

    Raises
    ------
    BadInput
        If the data do not fit the model, or the model is too large to enumerate.
    """
    rbm = as_rbm(rbm)
    data, model = rbm.rates(v), model_statistics(rbm)
    return Statistics(data.W - model.W, data.b - model.b, data.c - model.c)
