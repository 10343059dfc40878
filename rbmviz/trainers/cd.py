"""Contrastive divergence: the negative chains start at the mini-batch itself."""

import time
from dataclasses import dataclass

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, check_finite, parts


@dataclass
class State:
    """Parameters, mini-batches, update rule and random stream of one training."""

    theta: parts.Parameters
    batches: parts.Batches
    rule: parts.Rule
    rng: np.ndarray
    update: int = 0
    seconds: float = 0.0


@trainer("cd", label="CD-k", paper="Hinton (2002); population CD, section 2")
class CD:
    """Negative statistics from k Gibbs sweeps that start at the mini-batch."""

    k: int = parts.k()
    learning_rate: float = parts.learning_rate()
    schedule: str = parts.schedule()
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        theta = parts.Parameters(rbm.W.copy(), rbm.b.copy(), rbm.c.copy())
        batches = parts.Batches(data, self.batch_size, seed)
        return State(theta, batches, parts.rule_of(self), rng.kernel_state(seed, "chain"))

    def step(self, state: State, n: int) -> Progress:
        """Advance by n updates."""
        begin, theta, size = time.perf_counter(), state.theta, 0.0
        for _ in range(n):
            data = state.batches.next()
            v = data
            for _ in range(self.k):
                v = parts.sweep(theta, v, state.rng)
            gradient = parts.difference(
                parts.statistics(data, parts.mean_hidden(theta, data)),
                parts.statistics(v, parts.mean_hidden(theta, v)),
            )
            size = parts.norm(gradient)
            state.rule.apply(theta, gradient, state.update)
            state.update += 1
        state.seconds += time.perf_counter() - begin
        check_finite(state.update, *theta)
        stats = {"gradient_norm": size, "weight_norm": float(np.linalg.norm(theta.W))}
        return Progress(state.update, RBM(*theta), stats, state.seconds)
