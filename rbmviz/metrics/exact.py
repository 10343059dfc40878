"""Exact values by enumeration of the smaller layer: log Z, probabilities, gradient."""

import threading

import numpy as np

from rbmviz import kernels
from rbmviz.datasets import AnyData, rows_of
from rbmviz.errors import BadInput
from rbmviz.files.budget import check_memory
from rbmviz.rbm import RBM, Statistics, sigmoid, softplus
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric
from rbmviz.support.blas import in_threads, one_blas_thread

MAX_UNITS_ENUMERATED = 25
"""Maximum number of units of the smaller layer."""

MAX_PROBABILITIES = 20
"""Maximum number of visible units of ``probabilities``."""

LOG_RANGE = 700.0
"""The exponential of a number up to this is finite in float64."""

LOW_UNITS, MIDDLE_UNITS = 8, 6
"""Maximum numbers of units of the two inner tables: a job of 2^14 states stays in the processor's cache."""

THREADED_UNITS = 18
"""Units of the smaller layer from which on the jobs are done on several threads."""

DURATIONS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "years": 31.6e6, "millennia": 31.6e9}
"""Units of time, in seconds."""


def _states(n: int) -> np.ndarray:
    """Return all states of n units, float64 (2^n, n); the first unit is the most significant bit."""
    return (np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1) & 1).astype(np.float64)


def too_large(rbm: AnyModel) -> str:
    """Return why this model is too large to enumerate, with the estimated time; "" if it is not.

    rbm : RBM, Model, name or file; raises BadInput if there is none
    """
    rbm = as_rbm(rbm)
    units, others = sorted((rbm.n_visible, rbm.n_hidden))
    if units <= MAX_UNITS_ENUMERATED:
        return ""
    # Measured on one core: seconds per state, and seconds per state and unit of the other layer.
    seconds = 2.0 ** min(units, 1000) * (4e-9 + 0.05e-9 * others)
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
    check_memory(
        "Enumerating this model",
        8
        * (
            4 * 2 ** min(len(own), LOW_UNITS) * (len(other) + 1)
            + 2 ** (LOW_UNITS + MIDDLE_UNITS)
            + 4 * W.size
        ),
        "choose one with a smaller layer, or estimate log Z by annealed importance sampling (AIS)",
    )
    return np.ascontiguousarray(W), own, other


def _table(W: np.ndarray, own: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return exp(state @ W) and state @ own of all states of some units, in blocks of ``width`` states.

    They are float64 (blocks, other units, width) and (blocks, width); fewer states than a block are repeated.
    """
    states = np.resize(_states(len(own)), (max(2 ** len(own) // width, 1), width, len(own)))
    sums = W.T @ states.transpose(0, 2, 1)
    return np.exp(sums, out=sums), states @ own


class _Enumeration:
    """The states of the smaller layer, as jobs of up to 2^(LOW_UNITS + MIDDLE_UNITS) consecutive states.

    The first unit is the most significant bit of a state. A job fixes the first units; tables have the
    exponentials of the sums over the middle and over the last units, see ``kernels.enumerate``.
    """

    def __init__(self, W: np.ndarray, own: np.ndarray, other: np.ndarray) -> None:
        self.W, self.own, self.other = W, own, other
        self._n_middle = min(MIDDLE_UNITS, len(own))
        self._n_low = min(LOW_UNITS, len(own) - self._n_middle)
        self._n_top = len(own) - self._n_low - self._n_middle
        self.tops = _states(self._n_top)
        largest = (np.abs(W).sum(axis=0) + np.abs(other)).max()
        # No factor is more than 1 + exp(largest), and none less than exp(-largest).
        self._group = int(LOG_RANGE / np.logaddexp(0, largest)) if largest < LOG_RANGE else 0
        top_and_middle = self._n_top + self._n_middle
        if self._group:
            middle = slice(self._n_top, top_and_middle)
            self._high, self._high_bias = _table(W[middle], own[middle], kernels.enumerate.HIGH)
            low = W[top_and_middle:]
            low_bias = own[top_and_middle:] + low.sum(axis=1)
            self._low, self._low_bias = _table(-low, low_bias, kernels.enumerate.LOW)

    def weights(self, top: np.ndarray) -> np.ndarray:
        """Return x and y, float64 (2, states); x exp(y) is p~ of the states that begin with ``top``."""
        activation, bias = self.other + top @ self.W[: self._n_top], top @ self.own[: self._n_top]
        if not self._group:
            states = _states(self._n_middle + self._n_low)
            sums, biases = states @ self.W[self._n_top :], states @ self.own[self._n_top :]
            logs = bias + biases + softplus(activation + sums).sum(axis=1)
            return np.stack([np.ones_like(logs), logs])
        high_bias, low_bias, scale = self._high_bias + bias, self._low_bias, np.exp(activation)
        out = np.empty((2, *high_bias.shape, *low_bias.shape))
        kernels.enumerate.weights(self._high, scale, self._low, self._group, high_bias, low_bias, *out)
        return out.reshape(2, high_bias.size, -1)[:, : 2**self._n_middle, : 2**self._n_low].reshape(2, -1)


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
    with one_blas_thread():
        states = _Enumeration(*_smaller(as_rbm(rbm)))

    def log_sum(top: np.ndarray, _: threading.Event) -> float:
        fractions, logs = states.weights(top)
        peak = logs.max()
        return float(peak + np.log((fractions * np.exp(logs - peak)).sum()))

    workers = None if len(states.own) >= THREADED_UNITS else 1
    return float(np.logaddexp.reduce(list(in_threads(log_sum, states.tops, workers))))


def highest_log_likelihood(v: AnyData) -> float:
    """Return the highest mean log-likelihood of data under any model: minus their entropy, in nats.

    Parameters
    ----------
    v : uint8 (n, n_visible), or a data set, name or file
        Rows of 0 and 1; of a data set its training part.

    Raises
    ------
    BadInput
        If the data are not rows of 0 and 1.
    """
    counts = np.unique(rows_of("The data", v, None, "train"), axis=0, return_counts=True)[1]
    shares = counts / counts.sum()
    return float((shares * np.log(shares)).sum())


def independent_log_likelihood(v: AnyData) -> float:
    """Return the highest mean log-likelihood that a model of independent units can give to data, in nats.

    An RBM without weights reaches it, with the log odds of the units as visible biases. A trained model
    that does not exceed it has learned nothing about dependencies between units.

    Parameters
    ----------
    v : uint8 (n, n_visible), or a data set, name or file
        Rows of 0 and 1; of a data set its training part.

    Raises
    ------
    BadInput
        If the data are not rows of 0 and 1.
    """
    p = rows_of("The data", v, None, "train").mean(axis=0)
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
        float32 W (n_visible, n_hidden), b (n_visible,), c (n_hidden,).

    Raises
    ------
    BadInput
        If the model is too large to enumerate.
    """
    rbm = as_rbm(rbm)
    W, own, other = _smaller(rbm)
    enumeration = _Enumeration(W, own, other)
    n_high = len(own) - min(LOW_UNITS, len(own))
    high, low = _states(n_high), _states(len(own) - n_high)
    low_sum = low @ W[n_high:]
    # Sums over the low states for each high state, and over the high states for each low state, all
    # relative to the largest weight so far.
    peak = -np.inf
    of_high = np.zeros((len(high), len(other) + 1))
    of_low = np.zeros((len(low), len(other) + 1))
    means = np.ones_like(of_low)  # the last column stays 1: it sums the weights themselves
    parts = (enumeration.weights(top).reshape(2, -1, len(low)) for top in enumeration.tops)
    for i, (fractions, logs) in enumerate(row for part in parts for row in part.transpose(1, 0, 2)):
        if logs.max() > peak:
            scale = np.exp(peak - logs.max())
            of_high *= scale
            of_low *= scale
            peak = logs.max()
        p = fractions * np.exp(logs - peak)
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
def exact_gradient(rbm: AnyModel, v: AnyData) -> Statistics:
    """Return the exact gradient of the mean log-likelihood of data: <s>_data - <s>_model.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with at most 25 units in its smaller layer.
    v : uint8 (n, n_visible), or a data set, name or file
        Rows of 0 and 1; of a data set its training part.

    Returns
    -------
    Statistics
        float32 W (n_visible, n_hidden), b (n_visible,), c (n_hidden,).

    Raises
    ------
    BadInput
        If the data do not fit the model, or the model is too large to enumerate.
    """
    rbm = as_rbm(rbm)
    data, model = rbm.rates(rows_of("The data", v, rbm.n_visible, "train")), model_statistics(rbm)
    return Statistics(data.W - model.W, data.b - model.b, data.c - model.c)
