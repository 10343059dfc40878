"""Slow reference implementations, written to be read: one for each kernel, and exact enumeration."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from rbmviz import RBM


def random_rbm(m: int, n: int, scale: float, seed: int) -> RBM:
    g = np.random.default_rng(seed)
    return RBM(g.normal(0, scale, (m, n)), g.normal(0, 1, m), g.normal(0, 1, n))


def same_parameters(a: RBM, b: RBM) -> bool:
    """Return whether all weights and biases are equal, bit for bit."""
    return all((getattr(a, name) == getattr(b, name)).all() for name in "Wbc")


def states(n: int) -> np.ndarray:
    """Return all 2^n rows of bits, float64 (2^n, n); the first unit is the most significant bit."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=n)))


def energy(rbm: RBM, v: np.ndarray, h: np.ndarray) -> float:
    """Return E(v, h)."""
    total = 0.0
    for i in range(rbm.n_visible):
        total -= rbm.b[i] * v[i]
        for j in range(rbm.n_hidden):
            total -= v[i] * float(rbm.W[i, j]) * h[j]
    for j in range(rbm.n_hidden):
        total -= rbm.c[j] * h[j]
    return total


def joint(rbm: RBM) -> np.ndarray:
    """Return p(v, h) of all states, float64 (2^n_visible, 2^n_hidden)."""
    weight = np.array(
        [[np.exp(-energy(rbm, v, h)) for h in states(rbm.n_hidden)] for v in states(rbm.n_visible)]
    )
    return weight / weight.sum()


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def uniforms_of(draws: Sequence[int]) -> np.ndarray:
    """Return draws of 32 bits as uniforms, which float32 rounds to even cells from 1/2 on: in (0, 1]."""
    cells = (np.array(draws, np.uint32) >> np.uint32(8)).astype(np.float32)
    return (cells + np.float32(0.5)) * np.float32(2**-24)


class Xoshiro:
    """xoshiro128++ in Python integers, one generator per lane; ``state`` is uint32 (4, lanes)."""

    def __init__(self, state: np.ndarray) -> None:
        self.lanes = [[int(x) for x in state[:, lane]] for lane in range(state.shape[1])]

    def block(self) -> list[int]:
        """Return one draw of 32 bits from each lane."""
        return [self._next(s) for s in self.lanes]

    @staticmethod
    def _next(s: list[int]) -> int:
        def rotl(x: int, k: int) -> int:
            return ((x << k) | (x >> (32 - k))) & 0xFFFFFFFF

        result = (rotl((s[0] + s[3]) & 0xFFFFFFFF, 7) + s[0]) & 0xFFFFFFFF
        t = (s[1] << 9) & 0xFFFFFFFF
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 11)
        return result

    def bernoulli(self, mean: np.ndarray) -> np.ndarray:
        """Return one draw per mean; each call begins a new block, and takes as many blocks as needed."""
        draws: list[int] = []
        while len(draws) < len(mean):
            draws += self.block()
        return (uniforms_of(draws[: len(mean)]) < mean).astype(np.float64)


class FastWeights:
    """A driven chain, dense and in float64, as the paper writes it: it runs under theta + theta_F."""

    def __init__(self, model, stream, v0, rates: bool = True) -> None:
        rbm = model.rbm
        self.theta = [x.astype(np.float64) for x in (rbm.W, rbm.b, rbm.c)]
        R = [x.astype(np.float64) for x in (model.rates.W, model.rates.b, model.rates.c)]
        self.R = R if rates else [np.zeros_like(x) for x in R]
        self.F = [np.zeros_like(x) for x in self.theta]
        self.rng = Xoshiro(stream)
        self.v, self.h = v0.astype(np.float64), np.zeros(rbm.n_hidden)

    def _parameters(self) -> list[np.ndarray]:
        return [t + f for t, f in zip(self.theta, self.F, strict=True)]

    def sweep(self) -> np.ndarray:
        """Draw h, then v; return the mean of v given h."""
        W, b, c = self._parameters()
        self.h = self.rng.bernoulli(sigmoid(c + self.v @ W))
        p = sigmoid(b + W @ self.h)
        self.v = self.rng.bernoulli(p)
        return p

    def climb(self, max_sweeps: int) -> int:
        """Maximise h and v in turn until v no longer changes; return the number of sweeps."""
        W, b, c = self._parameters()
        sweep, before = 0, None
        while sweep < max_sweeps and (before is None or (before != self.v).any()):
            sweep += 1
            self.h = (c + self.v @ W > 0).astype(np.float64)
            before, self.v = self.v, (b + W @ self.h > 0).astype(np.float64)
        return sweep

    def push(self, eps: float, alpha: float, mean_statistics: bool = False) -> float:
        """Set theta_F to alpha theta_F + eps (R - s) and return its norm."""
        h = self.h
        if mean_statistics:
            W, _, c = self._parameters()
            h = sigmoid(c + self.v @ W)
        s = [np.outer(self.v, h), self.v, h]
        self.F = [alpha * f + eps * (r - x) for f, r, x in zip(self.F, self.R, s, strict=True)]
        return float(np.sqrt(sum((f**2).sum() for f in self.F)))


class SharedFastWeights:
    """Driven chains that share one theta_F, which moves by the mean of their statistics."""

    def __init__(self, model, streams, starts, rates: bool = True) -> None:
        self.chains = [FastWeights(model, *of, rates) for of in zip(streams, starts, strict=True)]

    def push(self, eps: float, alpha: float, mean_statistics: bool = False) -> float:
        """Move the shared theta_F and return its norm."""
        before = self.chains[0].F
        moved = []
        for chain in self.chains:  # the update is linear in s, so it is the mean of the chains' own updates
            chain.F = before
            chain.push(eps, alpha, mean_statistics)
            moved.append(chain.F)
        mean = [sum(parts) / len(self.chains) for parts in zip(*moved, strict=True)]
        for chain in self.chains:
            chain.F = mean
        return float(np.sqrt(sum((f**2).sum() for f in mean)))


def effective_size(log_weights: list[float]) -> float:
    """Return 1 / sum of the squared normalised weights."""
    largest = max(log_weights)
    weights = [math.exp(log - largest) for log in log_weights]
    return 1 / sum((weight / sum(weights)) ** 2 for weight in weights)


def held_by_heaviest(log_weights: list[float], count: int) -> float:
    """Return the share of all weight that the ``count`` heaviest hold."""
    weights = sorted(math.exp(log - max(log_weights)) for log in log_weights)
    return sum(weights[len(weights) - count :]) / sum(weights)


def pseudo_likelihood(rbm: RBM, rows: np.ndarray, beta: float) -> float:
    """Return the sum over rows and units of log p(unit | the other units), for the RBM times beta."""
    hot = RBM(beta * rbm.W, beta * rbm.b, beta * rbm.c)
    total = 0.0
    for row in rows:
        for i in range(rbm.n_visible):
            flipped = row.copy()
            flipped[i] = 1 - row[i]
            odds = hot.free_energy(flipped) - hot.free_energy(row)
            total -= math.log1p(math.exp(-odds))
    return total
