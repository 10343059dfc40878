"""Persistent contrastive divergence (stochastic maximum likelihood): the chains are never started anew."""

import time
from dataclasses import dataclass

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, check_finite, parts


@dataclass
class State:
    """Parameters, chains, mini-batches, update rule and random stream of one training."""

    theta: parts.Parameters
    chains: np.ndarray
    batches: parts.Batches
    rule: parts.Rule
    rng: np.ndarray
    update: int = 0
    seconds: float = 0.0


@trainer("pcd", label="PCD", paper="Tieleman (2008); rates-FPCD, section 2 (SML)")
class PCD:
    """Negative statistics from persistent chains, k sweeps an update, begun at fair random bits."""

    k: int = parts.k()
    learning_rate: float = parts.learning_rate(0.01)
    schedule: str = parts.schedule("linear")
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()
    n_chains: int = parts.n_chains()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        theta = parts.Parameters(rbm.W.copy(), rbm.b.copy(), rbm.c.copy())
        chains = rng.generator(seed, "chains").integers(0, 2, (self.n_chains, rbm.n_visible))
        batches = parts.Batches(data, self.batch_size, seed)
        state = rng.kernel_state(seed, "chain")
        return State(theta, chains.astype(np.float32), batches, parts.rule_of(self), state)

    def step(self, state: State, n: int) -> Progress:
        """Advance by n updates."""
        begin, theta, size = time.perf_counter(), state.theta, 0.0
        for _ in range(n):
            data = state.batches.next()
            for _ in range(self.k):
                state.chains = parts.sweep(theta, state.chains, state.rng)
            gradient = parts.difference(
                parts.statistics(data, parts.mean_hidden(theta, data)),
                parts.statistics(state.chains, parts.mean_hidden(theta, state.chains)),
            )
            size = parts.norm(gradient)
            state.rule.apply(theta, gradient, state.update)
            state.update += 1
        state.seconds += time.perf_counter() - begin
        check_finite(state.update, *theta)
        stats = {"gradient_norm": size, "weight_norm": float(np.linalg.norm(theta.W))}
        return Progress(state.update, RBM(*theta), stats, state.seconds)
