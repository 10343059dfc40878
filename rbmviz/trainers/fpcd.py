"""Fast persistent contrastive divergence: the chains see fast weights that push them on."""

import time
from dataclasses import dataclass

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, check_finite, parts


@dataclass
class State:
    """Parameters, fast parameters, chains, mini-batches, update rule and random stream of one training."""

    theta: parts.Parameters
    fast: parts.Parameters
    chains: np.ndarray
    batches: parts.Batches
    rule: parts.Rule
    rng: np.ndarray
    update: int = 0
    seconds: float = 0.0


@trainer("fpcd", label="FPCD", paper="Tieleman, Hinton (2009); rates-FPCD, section 2")
class FPCD:
    """PCD whose chains run under theta + theta_F, with theta_F <- alpha theta_F + eps_fast g.

    g is the gradient of the slow update; with eps_fast = 0 this is PCD, bit for bit.
    """

    k: int = parts.k()
    learning_rate: float = parts.learning_rate(0.01)
    schedule: str = parts.schedule("linear")
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()
    n_chains: int = parts.n_chains()
    eps_fast: float = parts.eps_fast()
    alpha: float = parts.alpha()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        theta = parts.Parameters(rbm.W.copy(), rbm.b.copy(), rbm.c.copy())
        chains = rng.generator(seed, "chains").integers(0, 2, (self.n_chains, rbm.n_visible))
        return State(
            theta,
            parts.zeros_like(theta),
            chains.astype(np.float32),
            parts.Batches(data, self.batch_size, seed),
            parts.rule_of(self),
            rng.kernel_state(seed, "chain"),
        )

    def step(self, state: State, n: int) -> Progress:
        """Advance by n updates."""
        begin, theta, size = time.perf_counter(), state.theta, 0.0
        alpha, eps_fast = np.float32(self.alpha), np.float32(self.eps_fast)
        for _ in range(n):
            data = state.batches.next()
            together = parts.plus(theta, state.fast)
            for _ in range(self.k):
                state.chains = parts.sweep(together, state.chains, state.rng)
            gradient = parts.difference(
                parts.statistics(data, parts.mean_hidden(theta, data)),
                parts.statistics(state.chains, parts.mean_hidden(together, state.chains)),
            )
            size = parts.norm(gradient)
            for fast, g in zip(state.fast, gradient, strict=True):
                fast *= alpha
                fast += eps_fast * g
            state.rule.apply(theta, gradient, state.update)
            state.update += 1
        state.seconds += time.perf_counter() - begin
        check_finite(state.update, *theta)
        stats = {
            "gradient_norm": size,
            "weight_norm": float(np.linalg.norm(theta.W)),
            "fast_norm": parts.norm(state.fast),
        }
        return Progress(state.update, RBM(*theta), stats, state.seconds)
