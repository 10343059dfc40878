"""Slow oracles, written for reading: one a kernel, and exact enumeration of small models."""

import itertools

import numpy as np

from rbmviz import RBM


def states(n: int) -> np.ndarray:
    """All 2^n rows of bits, float64 (2^n, n); the first unit is the slowest."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=n)))


def energy(rbm: RBM, v: np.ndarray, h: np.ndarray) -> float:
    total = 0.0
    for i in range(rbm.n_visible):
        total -= rbm.b[i] * v[i]
        for j in range(rbm.n_hidden):
            total -= v[i] * float(rbm.W[i, j]) * h[j]
    for j in range(rbm.n_hidden):
        total -= rbm.c[j] * h[j]
    return total


def joint(rbm: RBM) -> np.ndarray:
    """p(v, h), float64 (2^n_visible, 2^n_hidden)."""
    weight = np.array(
        [[np.exp(-energy(rbm, v, h)) for h in states(rbm.n_hidden)] for v in states(rbm.n_visible)]
    )
    return weight / weight.sum()
