"""The optimum of R.theta - log Z for the rates R of a pretrained model, by Newton's method.

Parameters are one matrix: rows are the visible units and a 1, columns the hidden units and a 1.
"""

import numpy as np

from .plain import bars_and_stripes, read_safetensors, sigmoid

UNITS = 16
STATES = (np.arange(2**UNITS)[:, None] >> np.arange(UNITS) & 1).astype(np.float64)
WITH_ONE = np.hstack([STATES, np.ones((len(STATES), 1))])
PARAMETERS = (UNITS + 1) ** 2 - 1
"""The last entry of the matrix is none."""


def matrix(arrays: dict[str, np.ndarray], prefix: str = "") -> np.ndarray:
    """Return W, b and c as one matrix."""
    W, b, c = (arrays[prefix + key].astype(np.float64) for key in "Wbc")
    return np.block([[W, b[:, None]], [c[None], np.zeros((1, 1))]])


def log_law(theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the logarithm of the unnormalised probability of every visible state, and log Z."""
    each = WITH_ONE @ theta
    logs = each[:, -1] + np.logaddexp(0, each[:, :-1]).sum(axis=1)
    return logs, float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))


def slope_and_fisher(theta: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient of R.theta - log Z, and the covariance of the statistics."""
    logs, log_z = log_law(theta)
    p = np.exp(logs - log_z)
    kept = p > 1e-13
    p, rows = p[kept], WITH_ONE[kept]
    h = np.hstack([sigmoid(rows @ theta[:, :-1]), np.ones((len(rows), 1))])
    each = (rows[:, :, None] * h[:, None, :]).reshape(len(rows), -1)
    mean = p @ each
    fisher = ((each * p[:, None]).T @ each - np.outer(mean, mean)).reshape(*theta.shape, *theta.shape)
    for j in range(UNITS):
        fisher[:, j, :, j] += (rows * (p * h[:, j] * (1 - h[:, j]))[:, None]).T @ rows
    return (rates.ravel() - mean)[:PARAMETERS], fisher.reshape(mean.size, mean.size)[:PARAMETERS, :PARAMETERS]


def gain(name: str) -> float:
    """Return how many nats a row the optimum gains over a model of Bars and Stripes with 16 hidden units."""
    arrays = read_safetensors(name)
    theta, rates, damping = matrix(arrays), matrix(arrays, "rates."), 1e-3
    places = bars_and_stripes() @ 2 ** np.arange(UNITS)

    def likelihood(theta: np.ndarray) -> float:
        logs, log_z = log_law(theta)
        return float(logs[places.astype(int)].mean()) - log_z

    before = likelihood(theta)
    value = (rates * theta).sum() - log_law(theta)[1]
    slope, fisher = slope_and_fisher(theta, rates)
    while np.abs(slope).max() > 1e-7:
        step = np.linalg.solve(fisher + damping * np.eye(PARAMETERS), slope)
        new = theta + np.append(step, 0).reshape(theta.shape)
        higher = (rates * new).sum() - log_law(new)[1]
        if higher < value - 1e-13:
            damping *= 4
            continue
        theta, value, damping = new, higher, max(damping / 6, 1e-14)
        slope, fisher = slope_and_fisher(theta, rates)
    return likelihood(theta) - before
